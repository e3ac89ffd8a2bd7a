//! The parts of an answer for every API: events, steps, token counts, its ending.

use serde_json::{Value, json};
use unspool::Diagnostic;

use crate::probability::TokenProbability;

/// A parser's event, owned.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEvent {
    /// More reasoning.
    Reasoning(String),
    /// More content.
    Content(String),
    /// A call begins.
    CallStart {
        /// Its position, from 0.
        index: usize,
        /// Its id.
        id: String,
        /// Its function.
        name: String,
    },
    /// More of a call's arguments.
    CallArguments {
        /// The call's position.
        index: usize,
        /// A piece of JSON text.
        json: String,
    },
    /// A call ends.
    CallEnd {
        /// The call's position.
        index: usize,
        /// Whether its arguments are complete.
        complete: bool,
    },
    /// An anomaly in the output.
    Note(Diagnostic),
    /// The log probabilities of the preceding text's tokens, if the request asks for them.
    Probabilities {
        /// Their field.
        field: Field,
        /// The tokens.
        tokens: Vec<TokenProbability>,
    },
}

/// The field of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Reasoning.
    Reasoning,
    /// Content.
    Content,
    /// The call with this index.
    Call(usize),
    /// None: it is only markup.
    Markup,
}

/// Token counts so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// In the prompt.
    pub prompt: u64,
    /// In the answer.
    pub completion: u64,
    /// In reasoning. Without token ids this is an estimate: the number of pieces with reasoning.
    pub reasoning: u64,
    /// Prompt tokens from the backend's cache; `None`: not reported.
    pub cached: Option<u64>,
}

/// The finish reason of an answer that the backend aborted.
pub const ABORTED: &str = "abort";

/// The end of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// `stop`, `length`, `tool_calls`, or the backend's own reason.
    pub reason: String,
    /// The stop sequence or token that matched.
    pub stopped_at: Option<Value>,
}

/// The result of one or more pieces of output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// The events, in order; neighbours of the same kind are joined.
    pub events: Vec<ReplyEvent>,
    /// The token counts so far.
    pub tokens: TokenCounts,
    /// Set in the last step.
    pub ending: Option<Ending>,
    /// The answer was restarted: discard everything before. Happens only if nothing goes out before the end.
    pub anew: bool,
    /// The ids of the tokens since the last step, if the request asks for them.
    pub ids: Vec<u32>,
}

/// The diagnostics of an answer, for the APIs that return them at its end.
#[derive(Debug, Clone, Default)]
pub struct Notes {
    wanted: bool,
    all: Vec<Diagnostic>,
}

impl Notes {
    /// Collects them if `wanted`.
    #[must_use]
    pub fn new(wanted: bool) -> Self {
        Self { wanted, all: Vec::new() }
    }

    /// Takes those in a step's events.
    pub fn take(&mut self, events: &[ReplyEvent]) {
        if !self.wanted {
            return;
        }
        self.all.extend(events.iter().filter_map(|event| match event {
            ReplyEvent::Note(note) => Some(note.clone()),
            _ => None,
        }));
    }

    /// Discards everything.
    pub fn forget(&mut self) {
        self.all.clear();
    }

    /// All of them as a JSON list; `None`: they are not wanted.
    #[must_use]
    pub fn told(&self) -> Option<Value> {
        self.wanted.then(|| json!(self.all))
    }
}
