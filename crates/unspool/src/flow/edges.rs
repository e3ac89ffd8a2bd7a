//! White space next to markup: what a piece of a field loses at its edges, and what comes back where two pieces meet.
//!
//! A thought loses its outer white space. A piece of the answer loses white space before a call or a thought, and after
//! one everything up to the last line break, inclusive. Messages, frames, and thoughts that are content keep theirs.

use crate::scan::is_blank;
use crate::span::Span;

use super::Flow;
use super::scanset::Action;
use super::state::Place;

/// Maximum number of line breaks between two pieces.
const MOST_BREAKS: usize = 2;

/// The separator of two pieces of a field: the white space dropped from both edges, or only line breaks.
pub(super) fn between(before: &str, behind: &str) -> String {
    let breaks = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    match breaks(before).max(breaks(behind)) {
        0 => [before, behind].concat(),
        most => "\n".repeat(most.min(MOST_BREAKS)),
    }
}

impl Flow<'_> {
    /// Whether a piece of text in this place loses white space at its edges.
    #[inline]
    pub(crate) fn has_edges(&self) -> bool {
        self.tables.words.edges && self.s.place.has_edges()
    }

    /// Whether text before a marker ends in an edge, so that its white space is dropped.
    pub(crate) fn ends_piece(&self, action: Action) -> bool {
        match action {
            Action::Open(call_header) => !self.opens_message(call_header),
            Action::OpenThought => !self.s.place.thinks(),
            Action::CloseThought => self.s.place.thinks(),
            Action::EndThoughtKeep | Action::EndThoughtDrop | Action::CloseBlock | Action::CloseCall => true,
            _ => false,
        }
    }

    /// The start of the white space before `at` that may be dropped; a run beyond the limit is text.
    pub(crate) fn edge(&self, at: usize) -> usize {
        let text = &self.w.as_bytes()[self.pos..at];
        let run = text.iter().rev().take(self.limits.blank + 1).take_while(|byte| is_blank(**byte)).count();
        let goes_on = run == text.len() && self.s.long_run;
        if run > self.limits.blank || goes_on { at } else { at - run }
    }

    /// The white space before a marker, up to `to`, is the edge of the piece that ends here; white space alone is not a
    /// piece.
    pub(crate) fn drop_trailing(&mut self, to: usize) {
        let w = self.w;
        let text = &w[self.pos..to];
        if self.s.place.thinks() {
            self.tokens.reason(self.offset(self.pos), self.offset(to));
        }
        self.keep_edge(self.s.place, self.s.fresh, (text, self.offset(self.pos)));
        self.s.pending.clear();
        self.pos = to;
    }

    /// Stores the edge of a piece until the field's next piece.
    pub(crate) fn keep_edge(&mut self, place: Place, fresh: bool, (text, offset): (&str, u64)) {
        if fresh {
            return;
        }
        let (said, gap, at) = self.gap(place.thinks());
        if said {
            gap.clear();
            gap.push_str(text);
            *at = Span::of(offset, text);
        }
    }

    /// Text begins at `at`: drops the part of the white space before it that belongs to the edge.
    pub(crate) fn drop_leading(&mut self, at: usize) {
        let w = self.w;
        let here = &w[self.pos..at];
        let thinks = self.s.place.thinks();
        let pending = std::mem::take(&mut self.s.pending);
        let goes = |text: &str| match text.rfind('\n') {
            _ if thinks => text.len(),
            Some(last) if self.s.behind => last + 1,
            _ => 0,
        };
        let of_here = goes(here);
        // A line break here takes all white space before it.
        let of_pending = if of_here > 0 { pending.len() } else { goes(&pending) };
        if thinks {
            self.tokens.reason(self.offset(self.pos), self.offset(self.pos + of_here));
        }
        let dropped = [&pending[..of_pending], &here[..of_here]].concat();
        let start = if of_pending > 0 { self.s.pending_at.start } else { self.offset(self.pos) };
        let end = if of_here > 0 { self.offset(self.pos + of_here) } else { start.saturating_add(of_pending as u64) };
        self.join(thinks, &dropped, Span::new(start, end));
        self.s.pending_at.start = self.s.pending_at.start.saturating_add(of_pending as u64);
        self.pending_text(&pending[of_pending..]);
        self.pos += of_here;
        self.s.behind = false;
    }

    /// Joins white space dropped from the start of a piece with that of the previous piece.
    fn join(&mut self, thinks: bool, behind: &str, behind_at: Span) {
        let (said, gap, at) = self.gap(thinks);
        if said {
            let breaks = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
            if gap.is_empty() || breaks(behind) > breaks(gap) {
                *at = behind_at;
            }
            *gap = between(gap, behind);
        }
    }

    /// Whether a field has text, the white space that comes back before more of it, and its range.
    fn gap(&mut self, thinks: bool) -> (bool, &mut String, &mut Span) {
        let s = &mut *self.s;
        match thinks {
            true => (s.reasoning_said, &mut s.reasoning_gap, &mut s.reasoning_gap_at),
            false => (s.content_said, &mut s.content_gap, &mut s.content_gap_at),
        }
    }

    /// Emits waiting white space as text.
    pub(crate) fn pending_text(&mut self, text: &str) {
        let span = self.s.pending_at;
        self.text_of_place(text, span.start);
    }

    /// The output ends in white space from `pos` on, and nothing else has come since the last marker.
    pub(crate) fn end_fresh(&mut self) {
        let end = self.w.len();
        if self.s.place.thinks() {
            self.tokens.reason(self.offset(self.pos), self.offset(end));
        } else if !self.s.behind {
            // At the very beginning of the output it is content.
            let pending = std::mem::take(&mut self.s.pending);
            self.held_content(&pending, self.s.pending_at);
            self.give(end);
        }
        self.pos = end;
    }

    /// The output ends: a thought that is cut off loses its outer white space.
    pub(crate) fn end_piece(&mut self) {
        if self.has_edges() && self.s.place.thinks() {
            let edge = self.edge(self.w.len());
            self.give(edge);
            self.tokens.reason(self.offset(edge), self.offset(self.w.len()));
            self.pos = self.w.len();
        }
    }

    /// White space before a dropped marker stays and waits for the text after it.
    pub(crate) fn keep_pending(&mut self, to: usize) {
        let w = self.w;
        let text = &w[self.pos..to];
        self.s.pending_at.grow(self.s.pending.is_empty(), Span::of(self.offset(self.pos), text));
        self.s.pending.push_str(text);
        if self.s.place.thinks() {
            self.tokens.reason(self.offset(self.pos), self.offset(to));
        }
        self.pos = to;
        if self.s.pending.len() > self.limits.blank {
            self.s.behind = false;
            let pending = std::mem::take(&mut self.s.pending);
            self.pending_text(&pending);
            self.begin_text(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn edges_meet_with_as_many_line_breaks_as_the_one_with_more() {
        for (before, behind, found) in [
            ("", "", ""),
            (" ", "", " "),
            (" ", "\t", " \t"),
            ("\n", "", "\n"),
            (" \n", "\n\n  \n", "\n\n"),
            ("\r\n", " ", "\n"),
        ] {
            assert_eq!(between(before, behind), found, "{before:?} {behind:?}");
        }
    }
}
