//! The spans of a complete reply.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Sink};
use crate::span::Span;

/// The spans of a reply: the fold of its events' spans, as [`Message`](crate::Message) is of their texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    /// Of the reasoning; neighbours are joined.
    pub reasoning: Vec<Span>,
    /// Of the content.
    pub content: Vec<Span>,
    /// Of the calls, in order.
    pub calls: Vec<CallSpans>,
}

/// The ranges of one call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSpans {
    /// The entire call: its header, its arguments, and what its body consumed after them. Closers of its block lie
    /// outside.
    pub whole: Span,
    /// Of the texts of its arguments.
    pub arguments: Vec<Span>,
}

/// The kind of an output token, as a small number for masks over ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum TokenKind {
    /// Markers and dropped white space.
    #[default]
    Markup = 0,
    /// Reasoning.
    Reasoning = 1,
    /// Content.
    Content = 2,
    /// An entire call: its header, its arguments and their markup.
    Call = 3,
}

impl Spans {
    /// All spans with their kinds, in the order of the output.
    pub(crate) fn by_kind(&self) -> Vec<(Span, TokenKind)> {
        let of = |spans: &[Span], kind| spans.iter().map(|span| (*span, kind)).collect::<Vec<_>>();
        let mut all = of(&self.reasoning, TokenKind::Reasoning);
        all.extend(of(&self.content, TokenKind::Content));
        all.extend(self.calls.iter().map(|call| (call.whole, TokenKind::Call)));
        all.sort_by_key(|(span, _)| (span.start, span.end));
        all
    }
}

/// Adds a span; joins it to the last one if they touch, and ignores an empty one.
fn add(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut() {
        _ if span.is_empty() => {}
        Some(last) if last.end == span.start => last.end = span.end,
        _ => spans.push(span),
    }
}

impl Sink for Spans {
    /// An event without a span changes nothing.
    fn event(&mut self, _: Event<'_>) {}

    fn event_at(&mut self, event: Event<'_>, span: Span) {
        match event {
            Event::Reasoning(_) => add(&mut self.reasoning, span),
            Event::Content(_) => add(&mut self.content, span),
            Event::CallStart { .. } => self.calls.push(CallSpans { whole: span, arguments: Vec::new() }),
            Event::CallArguments { index, .. } => {
                if let Some(call) = self.calls.get_mut(index) {
                    call.whole.end = call.whole.end.max(span.end);
                    add(&mut call.arguments, span);
                }
            }
            Event::CallEnd { index, .. } => {
                if let Some(call) = self.calls.get_mut(index) {
                    call.whole = span;
                }
            }
            Event::Diagnostic(_) => {}
        }
    }
}

/// Passes each event to two sinks, such as a [`Message`](crate::Message) and its [`Spans`].
#[derive(Debug, Clone, Default)]
pub struct Both<A, B>(pub A, pub B);

impl<A: Sink, B: Sink> Sink for Both<A, B> {
    fn event(&mut self, event: Event<'_>) {
        self.0.event(event.clone());
        self.1.event(event);
    }

    fn event_at(&mut self, event: Event<'_>, span: Span) {
        self.0.event_at(event.clone(), span);
        self.1.event_at(event, span);
    }
}
