//! Where in the output something stands.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Sink};

/// A half-open range of bytes of the output as UTF-8: the texts of all deltas joined, or the decoded text if there are ids alone.
/// [`Diagnostic::offset`](crate::Diagnostic::offset) counts as it does.
///
/// - A text event has the range it was read from. Ranges of one field ascend and never overlap; markers, and white space that is
///   dropped, lie in none.
/// - A piece of arguments has the range of the text that it was read from. JSON that the parser writes itself (quotes, commas,
///   braces, the names of parameters) has an empty range where the arguments stand. A value that waits until its type is known has the range of its text.
/// - White space that comes back where two pieces of a field meet has the range of the edge it came from.
/// - A [`CallStart`](Event::CallStart) has the range of the call's header, a [`CallEnd`](Event::CallEnd) that of all the call took.
/// - A format's filter (citations, backslashes) leaves the range of the text before it was filtered.
///
/// Neighbouring ranges of one field, joined, do not depend on how the output was cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// The byte behind the last.
    pub end: u64,
}

impl Span {
    /// The range between two offsets.
    #[must_use]
    pub fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// The range of so many bytes from `start` on.
    #[must_use]
    pub(crate) fn of(start: u64, text: &str) -> Self {
        Self { start, end: start + text.len() as u64 }
    }

    /// No byte, at `at`.
    #[must_use]
    pub(crate) fn empty(at: u64) -> Self {
        Self { start: at, end: at }
    }

    /// Whether it holds no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Appends more of a text that is held; the range then reaches to the end of the new piece.
    pub(crate) fn grow(&mut self, was_empty: bool, more: Self) {
        if was_empty {
            *self = more;
        } else {
            self.end = more.end;
        }
    }
}

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
