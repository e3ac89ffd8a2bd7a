//! The places of a whole reply.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Sink};
use crate::span::Span;

/// The ranges of a reply: the fold of its events' places, as [`Message`](crate::Message) is of their texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    /// Of the thought; neighbours are joined.
    pub reasoning: Vec<Span>,
    /// Of the answer.
    pub content: Vec<Span>,
    /// Of the calls, in order.
    pub calls: Vec<CallSpans>,
}

/// The ranges of one call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSpans {
    /// All that the call took: its header, its arguments, and what its body took behind them. Closers of its block lie outside.
    pub whole: Span,
    /// Of the texts that are its arguments.
    pub arguments: Vec<Span>,
}

/// What a token of the output is, as one small number for masks over ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum TokenKind {
    /// Markers, and white space that is dropped.
    #[default]
    Markup = 0,
    /// The thought.
    Reasoning = 1,
    /// The answer.
    Content = 2,
    /// All that a call took: its header, its arguments and their markup.
    Call = 3,
}

impl Spans {
    /// All ranges with what they hold, in the order of the output.
    pub(crate) fn by_kind(&self) -> Vec<(Span, TokenKind)> {
        let of = |spans: &[Span], kind| spans.iter().map(|span| (*span, kind)).collect::<Vec<_>>();
        let mut all = of(&self.reasoning, TokenKind::Reasoning);
        all.extend(of(&self.content, TokenKind::Content));
        all.extend(self.calls.iter().map(|call| (call.whole, TokenKind::Call)));
        all.sort_by_key(|(span, _)| (span.start, span.end));
        all
    }
}

/// Adds a range; one that touches the last is joined to it, an empty one says nothing.
fn add(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut() {
        _ if span.is_empty() => {}
        Some(last) if last.end == span.start => last.end = span.end,
        _ => spans.push(span),
    }
}

impl Sink for Spans {
    /// An event without a place changes nothing.
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

/// Passes each event on to two sinks, as to a [`Message`](crate::Message) and its [`Spans`].
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
