//! Ranges of the output.

use serde::{Deserialize, Serialize};

/// A half-open range of bytes of the output as UTF-8: of the joined texts of all deltas, or of the decoded text if
/// there are only ids. `Diagnostic::offset` counts the same bytes.
///
/// - A text event has the range from which it was read. Ranges of one field ascend and never overlap; markers and
///   dropped white space lie in none.
/// - A piece of arguments has the range of the text from which it was read. JSON that the parser writes itself (quotes,
///   commas, braces, parameter names) has an empty range where the arguments stand. A value that waits for its type has
///   the range of its text.
/// - White space that comes back where two pieces of a field meet has the range of the edge it came from.
/// - A `CallStart` has the range of the call's header, a `CallEnd` that of the entire call.
/// - With a format's filter (citations, backslashes) the range is that of the text before the filter.
///
/// Neighbouring ranges of one field, joined, do not depend on how the output is split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

impl Span {
    /// The range between two offsets.
    #[must_use]
    pub fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// The range of a number of bytes from `start` on.
    #[must_use]
    pub(crate) fn of(start: u64, text: &str) -> Self {
        Self { start, end: start.saturating_add(text.len() as u64) }
    }

    /// An empty range at `at`.
    #[must_use]
    pub(crate) fn empty(at: u64) -> Self {
        Self { start: at, end: at }
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Adds more of a held text; the range then extends to the end of the new piece.
    pub(crate) fn grow(&mut self, was_empty: bool, more: Self) {
        if was_empty {
            *self = more;
        } else {
            self.end = more.end;
        }
    }
}
