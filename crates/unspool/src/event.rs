//! The output of a parser: borrowed events, and the sink that takes them.

use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// One step of a reply, as soon as it is certain.
///
/// Text and JSON are slices of the input if possible; a slice lives only during the call to the sink. Joined by kind,
/// the events form the message, however the input is split.
///
/// The list is exhaustive on purpose: who leaves out a kind of output loses text, so a new kind is to break the build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// More reasoning.
    Reasoning(&'a str),
    /// More content.
    Content(&'a str),
    /// A call begins: the name of its function is complete.
    CallStart {
        /// Position of the call in the reply, from 0.
        index: usize,
        /// The id that the model wrote, or a generated one.
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
    /// A call ends.
    CallEnd {
        /// Position of the call in the reply, from 0.
        index: usize,
        /// False if the output ended, or the body broke, before the arguments were complete.
        complete: bool,
    },
    /// An anomaly in the output; parsing continues.
    Diagnostic(Diagnostic),
}

/// An [`Event`] that owns its data, to keep or send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedEvent {
    /// More reasoning.
    Reasoning(String),
    /// More content.
    Content(String),
    /// A call begins: the name of its function is complete.
    CallStart {
        /// Position of the call in the reply, from 0.
        index: usize,
        /// The id that the model wrote, or a generated one.
        id: String,
        /// Name of the function.
        name: String,
    },
    /// More of the JSON text of a call's arguments.
    CallArguments {
        /// Position of the call in the reply, from 0.
        index: usize,
        /// A piece of JSON text.
        json: String,
    },
    /// A call ends.
    CallEnd {
        /// Position of the call in the reply, from 0.
        index: usize,
        /// False if the output ended, or the body broke, before the arguments were complete.
        complete: bool,
    },
    /// An anomaly in the output; parsing continues.
    Diagnostic(Diagnostic),
}

impl Event<'_> {
    /// The event with its own copies of all texts.
    #[must_use]
    pub fn into_owned(self) -> OwnedEvent {
        match self {
            Self::Reasoning(text) => OwnedEvent::Reasoning(text.to_owned()),
            Self::Content(text) => OwnedEvent::Content(text.to_owned()),
            Self::CallStart { index, id, name } => {
                OwnedEvent::CallStart { index, id: id.to_owned(), name: name.to_owned() }
            }
            Self::CallArguments { index, json } => OwnedEvent::CallArguments { index, json: json.to_owned() },
            Self::CallEnd { index, complete } => OwnedEvent::CallEnd { index, complete },
            Self::Diagnostic(diagnostic) => OwnedEvent::Diagnostic(diagnostic),
        }
    }
}

impl OwnedEvent {
    /// The borrowed event, for a [`Sink`].
    #[must_use]
    pub fn as_event(&self) -> Event<'_> {
        match self {
            Self::Reasoning(text) => Event::Reasoning(text),
            Self::Content(text) => Event::Content(text),
            Self::CallStart { index, id, name } => Event::CallStart { index: *index, id, name },
            Self::CallArguments { index, json } => Event::CallArguments { index: *index, json },
            Self::CallEnd { index, complete } => Event::CallEnd { index: *index, complete: *complete },
            Self::Diagnostic(diagnostic) => Event::Diagnostic(diagnostic.clone()),
        }
    }
}

/// Collects the events in order.
impl Sink for Vec<OwnedEvent> {
    fn event(&mut self, event: Event<'_>) {
        self.push(event.into_owned());
    }
}

/// Takes events. Any `FnMut(Event<'_>)` is one.
pub trait Sink {
    /// Takes one event.
    fn event(&mut self, event: Event<'_>);

    /// Takes one event and the range of output from which it was read; see [`Span`]. The parser calls this method. A
    /// sink that does not need spans implements only [`Sink::event`].
    #[inline]
    fn event_at(&mut self, event: Event<'_>, span: Span) {
        let _ = span;
        self.event(event);
    }
}

impl<F: FnMut(Event<'_>)> Sink for F {
    #[inline]
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}
