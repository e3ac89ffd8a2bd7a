//! Where in the output something stands.

use serde::{Deserialize, Serialize};

/// A half-open range of bytes of the output as UTF-8: the texts of all deltas joined, or the decoded text if there are ids alone.
/// `Diagnostic::offset` counts as it does.
///
/// - A text event has the range it was read from. Ranges of one field ascend and never overlap; markers, and white space that is
///   dropped, lie in none.
/// - A piece of arguments has the range of the text that it was read from. JSON that the parser writes itself (quotes, commas,
///   braces, the names of parameters) has an empty range where the arguments stand. A value that waits until its type is known has the range of its text.
/// - White space that comes back where two pieces of a field meet has the range of the edge it came from.
/// - A `CallStart` has the range of the call's header, a `CallEnd` that of all the call took.
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
        Self { start, end: start.saturating_add(text.len() as u64) }
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
