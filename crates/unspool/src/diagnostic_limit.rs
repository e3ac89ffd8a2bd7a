//! The bound on diagnostics: whoever has one to tell tells it, and here they are counted.

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::event::{Event, Sink};

/// Passes events on, and of the diagnostics so many as the limit allows. A last one says that there are more.
pub(crate) struct Bounded<'a, S> {
    pub(crate) sink: &'a mut S,
    /// Diagnostics that came so far.
    pub(crate) told: usize,
    pub(crate) most: usize,
}

impl<S> Bounded<'_, S> {
    /// Whether a further diagnostic would be told, or that there are more.
    pub(crate) fn is_heard(&self) -> bool {
        self.told <= self.most
    }
}

impl<S: Sink> Sink for Bounded<'_, S> {
    #[inline]
    fn text_at(&mut self, offset: u64) {
        self.sink.text_at(offset);
    }

    #[inline]
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Diagnostic(note) => self.report(note),
            other => self.sink.event(other),
        }
    }
}

impl<S: Sink> Bounded<'_, S> {
    fn report(&mut self, note: Diagnostic) {
        if self.told < self.most {
            self.told += 1;
            self.sink.event(Event::Diagnostic(note));
        } else if self.told == self.most {
            self.told += 1;
            let message = "there are more diagnostics than the limit allows; they are not told";
            self.sink.event(Event::Diagnostic(Diagnostic::new(DiagnosticKind::LimitReached, note.offset, "", message)));
        }
    }
}
