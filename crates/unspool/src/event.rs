//! What a parser says: borrowed events, and the sink that takes them.

use crate::diagnostic::Diagnostic;

/// One step of a reply, as soon as it is certain.
///
/// Text and JSON are slices of the input wherever they can be; a slice lives as long as the call to the sink.
/// The concatenation of all events of a kind is the message, whatever the cuts of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// More of the thought.
    Reasoning(&'a str),
    /// More of the answer.
    Content(&'a str),
    /// A call begins: its function's name is complete.
    CallStart {
        /// Position of the call in the reply, from 0.
        index: usize,
        /// The id that the model wrote, or one made for it.
        id: &'a str,
        /// Name of the function.
        name: &'a str,
    },
    /// More of the JSON text of a call's arguments.
    CallArguments {
        /// Position of the call in the reply, from 0.
        index: usize,
        /// A piece of JSON text.
        json: &'a str,
    },
    /// A call is over.
    CallEnd {
        /// Position of the call in the reply, from 0.
        index: usize,
        /// False if the output ended, or the body broke, before the arguments were complete.
        complete: bool,
    },
    /// Something odd in the output; the parse goes on.
    Note(Diagnostic),
}

/// Takes events. Any `FnMut(Event<'_>)` is one.
pub trait Sink {
    /// Takes one event.
    fn event(&mut self, event: Event<'_>);

    /// Where in the output (in bytes) the text event that comes next begins. Only a format's own filters ask.
    #[doc(hidden)]
    fn text_at(&mut self, offset: u64) {
        let _ = offset;
    }
}

impl<F: FnMut(Event<'_>)> Sink for F {
    #[inline]
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}
