//! Emits text: which field, what is held back, what waits.

use crate::diagnostic::{Diagnostic, DiagnosticKind, border};
use crate::event::Event;
use crate::span::Span;

use super::Flow;
use super::state::Place;

impl Flow<'_> {
    /// Emits the window's text up to `to` in the field of the place.
    #[inline]
    pub(crate) fn give(&mut self, to: usize) {
        if to <= self.pos {
            return;
        }
        let w = self.w;
        let from = self.pos;
        self.pos = to;
        self.s.long_run = crate::scan::is_blank(w.as_bytes()[to - 1]);
        self.text_of_place(&w[from..to], self.offset(from));
    }

    /// Emits text in the field of the place.
    pub(crate) fn text_of_place(&mut self, text: &str, offset: u64) {
        self.text_at = offset;
        if self.s.marker.is_some() && !text.trim().is_empty() {
            self.s.marker = None;
        }
        match self.s.place {
            Place::Reason | Place::ReasonFresh => self.reasoning(text, offset),
            Place::Broken | Place::Dropped => self.unplaced(text, offset),
            _ => self.content(text),
        }
    }

    /// Emits a piece of reasoning.
    pub(crate) fn reasoning(&mut self, text: &str, offset: u64) {
        if text.is_empty() {
            return;
        }
        if self.tables.words.into_content {
            self.content(text);
            return;
        }
        self.tokens.reason(offset, offset + text.len() as u64);
        if !self.s.reasoning_gap.is_empty() {
            let gap = std::mem::take(&mut self.s.reasoning_gap);
            if self.s.reasoning_said {
                self.reasoning_event(&gap, self.s.reasoning_gap_at);
            }
        }
        self.s.reasoning_said = true;
        self.reasoning_event(text, Span::of(offset, text));
    }

    fn reasoning_event(&mut self, text: &str, span: Span) {
        if let Some(held) = &mut self.s.undecided {
            self.s.undecided_at.grow(held.is_empty(), span);
            held.push_str(text);
            if held.len() > self.limits.thought {
                self.decide_thought();
            }
            return;
        }
        if !self.request_options.hide_reasoning {
            self.sink.event_at(Event::Reasoning(text), span);
        }
    }

    /// A thought whose field was undecided is reasoning.
    pub(crate) fn decide_thought(&mut self) {
        if let Some(held) = self.s.undecided.take()
            && !held.is_empty()
            && !self.request_options.hide_reasoning
        {
            self.sink.event_at(Event::Reasoning(&held), self.s.undecided_at);
        }
    }

    /// Emits a piece of content.
    pub(crate) fn content(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.s.undecided.is_some() && !text.trim().is_empty() {
            self.decide_thought();
        }
        if self.s.opener_due {
            self.s.opener_due = false;
            let tables = self.tables;
            self.sink.event_at(Event::Content(&tables.words.opener), Span::empty(self.text_at));
        }
        if !self.s.content_gap.is_empty() {
            let gap = std::mem::take(&mut self.s.content_gap);
            if self.s.content_said {
                self.sink.event_at(Event::Content(&gap), self.s.content_gap_at);
            }
        }
        self.s.content_said = true;
        let span = Span::of(self.text_at, text);
        self.sink.event_at(Event::Content(text), span);
        self.text_at = span.end;
    }

    /// Emits held text as content; it was read from `span`.
    pub(crate) fn held_content(&mut self, text: &str, span: Span) {
        if !text.is_empty() {
            self.text_at = span.start;
            self.content(text);
        }
    }

    /// White space before a marker: content only if more content follows.
    pub(crate) fn content_gap(&mut self, text: &str, offset: u64) {
        if self.s.content_said && self.s.content_gap.len() < self.limits.blank {
            self.s.content_gap_at.grow(self.s.content_gap.is_empty(), Span::of(offset, text));
            self.s.content_gap.push_str(text);
        }
    }

    /// Text that goes only to a diagnostic.
    fn unplaced(&mut self, text: &str, offset: u64) {
        if self.s.unplaced.is_empty() {
            self.s.unplaced_at = offset;
        }
        let room = self.limits.arguments.saturating_sub(self.s.unplaced.len());
        let kept = if self.s.unplaced_full { "" } else { &text[..border(text, room)] };
        self.s.unplaced_full |= kept.len() < text.len();
        self.s.unplaced.push_str(kept);
    }

    /// Reports the unplaced text of a broken call, or of a dropped message.
    pub(crate) fn tell_unplaced(&mut self) {
        let text = std::mem::take(&mut self.s.unplaced);
        self.s.unplaced_full = false;
        if !text.trim().is_empty() {
            let at = self.s.unplaced_at;
            let why = match self.s.place {
                Place::Dropped => "the format leaves messages to this recipient out",
                _ => "this text of a broken call has no place in its syntax",
            };
            self.report(DiagnosticKind::UnplacedText, at, &text, why);
        }
    }

    /// Reports an anomaly.
    pub(crate) fn report(&mut self, kind: DiagnosticKind, offset: u64, text: &str, message: &str) {
        let text = &text[..border(text, self.limits.arguments)];
        self.sink.event(Event::Diagnostic(Diagnostic::new(kind, offset, text, message)));
    }

    /// Reports a repair: `text` at `offset` was read as `read`.
    pub(crate) fn repaired(&mut self, offset: u64, text: &str, read: &str, message: &str) {
        let text = &text[..border(text, self.limits.arguments)];
        self.sink.event(Event::Diagnostic(Diagnostic::repaired(offset, text, read, message)));
    }

    /// Reports that a marker or a header repeats and counts once.
    pub(crate) fn repeated(&mut self, offset: u64, text: &str) {
        self.repaired(offset, text, "", "this stands there again and counts once");
    }

    /// The output ends: emits held text where it belongs.
    pub(crate) fn end(&mut self) {
        self.end_piece();
        self.give(self.w.len());
        self.tell_unplaced();
        if self.s.place.thinks() && self.offset(self.pos) > 0 {
            self.report(DiagnosticKind::ThoughtCutOff, self.offset(self.pos), "", "the output ended inside a thought");
        }
        if let Some(held) = self.s.undecided.take() {
            self.sink.event_at(Event::Content(&held), self.s.undecided_at);
        }
        if self.s.opener_due {
            self.s.opener_due = false;
            let tables = self.tables;
            self.sink.event_at(Event::Content(&tables.words.opener), Span::empty(self.offset(self.pos)));
        }
    }
}
