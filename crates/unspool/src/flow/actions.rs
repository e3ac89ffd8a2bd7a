//! The action of each pattern.

use crate::span::Span;

use super::Flow;
use super::scanset::{Action, Found, Pattern};
use super::state::{Late, Mode, Place};
use super::tables::Raw;

impl Flow<'_> {
    /// Applies a pattern at `at`; the white space from `pos` to there is undecided.
    pub(crate) fn apply(&mut self, at: usize, found: Found) {
        let tables = self.tables;
        let pattern = &tables.set(self.s.place).patterns[found.pattern];
        let last = self.s.marker.take();
        if let Action::Open(call_header) = pattern.action {
            self.open(call_header, at + found.lead, at + found.len);
            return;
        }
        let marker = at + found.lead;
        let end = at + found.len;
        if self.s.place == Place::Broken {
            self.tell_unplaced();
        }
        if let Some(form) = self.s.closer_is_text.take()
            && tables.forms[form].closers.contains(&pattern.literal)
        {
            self.begin_text(end);
            return;
        }
        let is_doubled = self.is_doubled(pattern, last, marker);
        match pattern.action {
            // A second body marker would begin another message.
            Action::Body | Action::BodyAgain if is_doubled => self.pos = end,
            Action::BodyAgain => {
                self.s.fresh = false;
                self.give(end);
            }
            Action::OpenThought => {
                if self.s.place == Place::Reason && !is_doubled && !self.tables.words.into_content {
                    let text = pattern.literal.text();
                    self.repaired(self.offset(marker), text, "", "this opener stands inside the thought that is open");
                }
                self.open_thought(pattern, marker, end);
            }
            Action::CloseThought => self.close_thought(pattern, marker, end),
            Action::EndThoughtKeep | Action::EndThoughtDrop => self.end_thought(pattern, marker, end),
            Action::OpenFrame | Action::CloseFrame => self.frame(pattern, marker, end),
            Action::DropCloser if self.s.opener_is_text => self.begin_text(end),
            Action::Drop | Action::DropCloser => self.drop_marker(marker, end),
            Action::Header => {
                self.lead(marker, true);
                self.pos = end;
                self.s.place = Place::Header;
                self.s.seen = 0;
            }
            Action::CloseBlock | Action::CloseCall if self.closes_nothing(pattern.action) => {
                self.lone_closer(pattern, marker, end);
            }
            Action::CloseBlock | Action::CloseCall => self.closer(pattern, end),
            Action::Body => {
                if self.s.place != Place::Header {
                    self.end_message(marker, marker);
                }
                self.open_message(marker, end);
            }
            Action::EndMessage => self.end_message(marker, end),
            Action::NextMessage => self.next_message(pattern.id.is_some(), marker, end),
            Action::Open(_) => {}
        }
    }

    /// Whether a marker that counts once repeats at `marker`, directly after itself. If so, reports it.
    fn is_doubled(&mut self, pattern: &Pattern, last: Option<usize>, marker: usize) -> bool {
        let tables = self.tables;
        if !pattern.action.is_single() || self.s.place == Place::Raw {
            return false;
        }
        self.s.marker = tables.single.iter().position(|single| **single == *pattern.literal.text());
        // What passes through verbatim keeps its markers as they are. Only of a body's own is it known whose text it is.
        let thinks = self.s.place.thinks();
        let verbatim = match tables.words.raw {
            Raw::Nothing => false,
            Raw::Answers => !thinks || pattern.action != Action::BodyAgain,
            Raw::Thoughts => thinks || pattern.action != Action::BodyAgain,
        };
        if last.is_none() || last != self.s.marker || tables.words.into_content || verbatim {
            return false;
        }
        self.repeated(self.offset(marker), pattern.literal.text());
        true
    }

    /// The place where the answer's text continues.
    pub(crate) fn answer_place(&self) -> Place {
        if self.tables.words.one_block && self.s.thought_done { Place::After } else { Place::Content }
    }

    /// The place after a call.
    pub(crate) fn gap_place(&self) -> Place {
        if self.tables.words.one_block && self.s.thought_done { Place::GapAfter } else { Place::Gap }
    }

    /// White space before a marker: part of the thought or the answer, or dropped.
    pub(crate) fn lead(&mut self, to: usize, goes: bool) {
        if to < self.pos {
            return;
        }
        if self.has_edges() && !goes {
            self.drop_trailing(to);
            return;
        }
        self.s.pending.clear();
        let w = self.w;
        let text = &w[self.pos..to];
        if self.tables.words.into_content && self.s.place.thinks() {
            self.text_at = self.offset(self.pos);
            self.content(text);
        } else if self.s.place.thinks() {
            self.tokens.reason(self.offset(self.pos), self.offset(to));
            if !goes {
                self.s.reasoning_gap_at.grow(self.s.reasoning_gap.is_empty(), Span::of(self.offset(self.pos), text));
                self.s.reasoning_gap.push_str(text);
            }
        } else if !goes && !matches!(self.s.place, Place::Gap | Place::GapAfter | Place::Block) {
            self.content_gap(text, self.offset(self.pos));
        }
        self.pos = to;
    }

    fn behind(&mut self, pattern: &Pattern, end: usize) {
        self.pos = end;
        self.s.behind = true;
        if self.tables.words.into_content {
            self.s.fresh = false;
            return;
        }
        self.s.fresh = true;
        self.s.seen = 0;
        self.s.strip = pattern.trail.map(|t| (t, 0));
    }

    fn open_thought(&mut self, pattern: &Pattern, marker: usize, end: usize) {
        if self.s.place.thinks() {
            // A repeated opener is dropped, and so is white space between the two at the very start.
            if self.s.place == Place::Reason {
                self.give(marker);
            }
            self.pos = end;
        } else {
            self.lead(marker, false);
            self.s.place = Place::ReasonFresh;
            self.s.in_block = false;
        }
        self.keep_marker(marker, end);
        self.behind(pattern, end);
    }

    /// `into = content`: thoughts stay in content, so a thinking marker stays in place.
    fn keep_marker(&mut self, marker: usize, end: usize) {
        if self.tables.words.into_content {
            let w = self.w;
            self.text_at = self.offset(marker);
            self.content(&w[marker..end]);
        }
    }

    fn close_thought(&mut self, pattern: &Pattern, marker: usize, end: usize) {
        let thinking = self.s.place.thinks();
        let empty = self.s.place == Place::Wait;
        if thinking && !pattern.lead_of_marker {
            self.lead(marker, false);
        } else if thinking {
            self.pos = marker;
        } else if empty || !self.has_edges() {
            self.lead(marker, empty);
        } else {
            self.vanish(marker);
        }
        self.keep_marker(marker, end);
        let waits = self.tables.words.wait_after && (thinking || self.s.place == Place::Wait);
        if thinking {
            self.s.thought_done = true;
        }
        if thinking || self.s.place == Place::Wait {
            self.s.place = if waits { Place::Wait } else { self.answer_place() };
        }
        if !waits {
            self.tokens.open_gate(self.offset(end), self.offset(end));
        }
        if thinking {
            self.behind(pattern, end);
        } else {
            // A stray closer is dropped, and the text around it is one run. If no run has begun, it ends an empty
            // thought.
            self.s.behind |= empty;
            self.pos = end;
            self.s.seen = 0;
        }
    }

    fn end_thought(&mut self, pattern: &Pattern, marker: usize, end: usize) {
        self.lead(marker, false);
        self.s.thought_done = true;
        self.s.place = self.answer_place();
        let content = if pattern.action == Action::EndThoughtKeep { marker } else { end };
        self.tokens.open_gate(self.offset(content), self.offset(end));
        if pattern.action == Action::EndThoughtKeep {
            self.s.fresh = false;
            self.s.behind = false;
            self.give(end);
        } else {
            self.behind(pattern, end);
        }
    }

    fn frame(&mut self, pattern: &Pattern, marker: usize, end: usize) {
        let opens = pattern.action == Action::OpenFrame;
        self.lead(marker, true);
        if self.s.place.thinks() {
            self.s.thought_done = true;
        }
        if opens || self.s.place == Place::Header {
            self.s.place = self.answer_place();
            self.s.in_block = false;
            self.tokens.open_gate(self.offset(marker), self.offset(end));
        }
        self.behind(pattern, end);
        // A frame's white space belongs to it.
        self.s.behind = false;
    }

    fn drop_marker(&mut self, marker: usize, end: usize) {
        self.vanish(marker);
        self.pos = end;
        self.s.seen = 0;
    }

    /// Drops a marker and keeps the white space next to it.
    pub(crate) fn vanish(&mut self, marker: usize) {
        if !self.s.fresh {
            self.give(marker);
        } else if self.has_edges() {
            self.keep_pending(marker);
        } else {
            self.lead(marker, false);
        }
    }

    /// Whether a closer belongs to no call: text precedes it, or the call and its block are already closed.
    fn closes_nothing(&self, action: Action) -> bool {
        match (self.s.place, action) {
            (Place::Block, Action::CloseBlock) | (Place::Raw | Place::Broken, _) => false,
            (_, Action::CloseCall) => !self.s.fresh || self.s.late < Late::Call,
            _ => !self.s.fresh || self.s.late < Late::Block,
        }
    }

    /// A closer without a call is text, unless it is a special token.
    fn lone_closer(&mut self, pattern: &Pattern, marker: usize, end: usize) {
        if self.tables.special.iter().any(|special| special == pattern.literal.text()) && !self.s.opener_is_text {
            self.drop_marker(marker, end);
        } else {
            self.begin_text(end);
        }
    }

    /// A run of text begins after a call, whatever happens to thoughts.
    fn behind_closer(&mut self, pattern: &Pattern, end: usize) {
        self.behind(pattern, end);
        self.s.fresh = true;
        self.s.seen = 0;
    }

    fn closer(&mut self, pattern: &Pattern, end: usize) {
        match self.s.place {
            Place::Raw => {
                self.s.place = self.answer_place();
                self.s.fresh = false;
                self.give(end);
            }
            Place::Broken if pattern.action == Action::CloseCall => {
                self.behind_closer(pattern, end);
                self.s.place = if self.s.in_block { Place::Block } else { self.gap_place() };
            }
            _ => {
                self.behind_closer(pattern, end);
                if pattern.action == Action::CloseBlock {
                    self.s.in_block = false;
                    self.s.place = self.gap_place();
                } else if self.s.in_block {
                    self.s.place = Place::Block;
                } else {
                    self.s.place = self.gap_place();
                }
            }
        }
        let goes_on = pattern.action == Action::CloseCall || self.tables.half_closers.contains(&pattern.literal);
        self.s.late = if goes_on { Late::Block } else { Late::Nothing };
        let blocks = &self.tables.follow.block_close;
        let closer = blocks.iter().position(|literal| *literal == pattern.literal);
        self.s.mode = match closer.filter(|_| pattern.action == Action::CloseBlock) {
            Some(closer) => Mode::BlockClosed { closer },
            None => Mode::Text,
        };
    }
}
