//! Unplaced text between parameters: it goes to a diagnostic, up to the next structure.

use serde::{Deserialize, Serialize};

use super::{Next, State, Turn, at_the_end};
use crate::body::ends::first_match;
use crate::diagnostic::DiagnosticKind;
use crate::scan::Match;

/// A run of unplaced text.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Skip {
    /// Its diagnostic was emitted, and its first bytes were consumed.
    noted: bool,
    /// Number of bytes of the rest in which no structure begins.
    scanned: usize,
}

impl Skip {
    /// A run whose first bytes were read and are not structure.
    pub(super) fn behind(read: usize) -> Self {
        Self { scanned: read, ..Self::default() }
    }

    pub(super) fn read(&mut self, turn: &mut Turn<'_, '_, '_>) -> Next {
        let bytes = turn.rest().as_bytes();
        // The bytes that led here are not structure, whatever they look like.
        let mut from = if self.noted { self.scanned } else { self.scanned.max(1) };
        let (end, found) = loop {
            let Some(at) = turn.spec.in_skip.find(bytes, from.min(bytes.len())) else { break (bytes.len(), None) };
            match first_match(&turn.spec.structure, &bytes[at..]) {
                Match::No => from = at + 1,
                found => break (at, Some(found)),
            }
        };
        let is_over = found == Some(Match::Partial) && turn.is_last() || matches!(found, Some(Match::Full(_)));
        if !self.noted && (is_over || turn.is_last() || end >= turn.cx.limits.arguments.saturating_add(4)) {
            self.noted = true;
            turn.object.unplaced();
            let text = &turn.rest()[..end];
            turn.report(DiagnosticKind::UnplacedText, text, "text between parameters");
        }
        self.scanned = if self.noted { 0 } else { end };
        if self.noted {
            turn.at += end;
        }
        match found {
            _ if is_over => Next::To(State::default()),
            None if turn.is_last() => at_the_end(turn),
            _ => Next::Wait,
        }
    }
}
