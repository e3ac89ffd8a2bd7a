//! The limit on diagnostics: all diagnostics pass through here and are counted.

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::event::{Event, Sink};
use crate::span::Span;

/// Passes events on, but only as many diagnostics as the limit allows. A last one says that there are more.
pub(crate) struct Bounded<'a, S: ?Sized> {
    pub(crate) sink: &'a mut S,
    /// Number of diagnostics so far.
    pub(crate) told: usize,
    pub(crate) most: usize,
}

impl<S: ?Sized> Bounded<'_, S> {
    /// Whether a further diagnostic would go out, possibly as the one that says that there are more.
    pub(crate) fn is_heard(&self) -> bool {
        self.told <= self.most
    }
}

impl<S: Sink + ?Sized> Sink for Bounded<'_, S> {
    #[inline]
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Diagnostic(note) => self.report(note),
            other => self.sink.event(other),
        }
    }

    #[inline]
    fn event_at(&mut self, event: Event<'_>, span: Span) {
        match event {
            Event::Diagnostic(note) => self.report(note),
            other => self.sink.event_at(other, span),
        }
    }
}

impl<S: Sink + ?Sized> Bounded<'_, S> {
    fn report(&mut self, note: Diagnostic) {
        if self.told < self.most {
            self.told += 1;
            let span = Span::of(note.offset, &note.text);
            self.sink.event_at(Event::Diagnostic(note), span);
        } else if self.told == self.most {
            self.told += 1;
            let message = "there are more diagnostics than the limit allows; they are not told";
            let last = Diagnostic::new(DiagnosticKind::LimitReached, note.offset, "", message);
            self.sink.event_at(Event::Diagnostic(last), Span::empty(note.offset));
        }
    }
}
