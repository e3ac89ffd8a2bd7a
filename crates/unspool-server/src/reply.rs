//! What an answer is made of, for every surface: events, steps, counts, its ending.

use serde_json::{Value, json};
use unspool::Diagnostic;

use crate::probability::TokenProbability;

/// What a parser says, owned.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEvent {
    /// More of the thought.
    Reasoning(String),
    /// More of the answer.
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
    /// A call is over.
    CallEnd {
        /// The call's position.
        index: usize,
        /// Whether its arguments are complete.
        complete: bool,
    },
    /// Something odd in the output.
    Note(Diagnostic),
    /// The log probabilities of the tokens that went into the text before, where the request asks for them.
    Probabilities {
        /// Where they went.
        field: Field,
        /// The tokens.
        tokens: Vec<TokenProbability>,
    },
}

/// Where a token went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Into the thought.
    Reasoning,
    /// Into the answer.
    Content,
    /// Into the call at this position.
    Call(usize),
    /// Nowhere: it is markup alone.
    Markup,
}

/// How many tokens so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// In the prompt.
    pub prompt: u64,
    /// In the answer.
    pub completion: u64,
    /// In the thought. Without token ids it is an estimate: the pieces that brought thought.
    pub reasoning: u64,
    /// Those of the prompt that the backend had computed before; `None`: it does not say.
    pub cached: Option<u64>,
}

/// The reason of an answer that the backend gave up.
pub const ABORTED: &str = "abort";

/// The end of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// `stop`, `length`, `tool_calls`, or the backend's own word.
    pub reason: String,
    /// The stop text or token that was met.
    pub stopped_at: Option<Value>,
}

/// What one or more pieces of output brought.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// The events, in order; neighbours of a kind are one.
    pub events: Vec<ReplyEvent>,
    /// The tokens until here.
    pub tokens: TokenCounts,
    /// Set in the last step.
    pub ending: Option<Ending>,
    /// The answer was begun anew: what came before is void. Only where nobody sees it before its end.
    pub anew: bool,
    /// The ids of the tokens since the last step, if the request asks for them.
    pub ids: Vec<u32>,
}

/// The oddities of an answer, for the surfaces that show them behind it.
#[derive(Debug, Clone, Default)]
pub struct Notes {
    wanted: bool,
    all: Vec<Diagnostic>,
}

impl Notes {
    /// Keeps them if they are `wanted`.
    #[must_use]
    pub fn new(wanted: bool) -> Self {
        Self { wanted, all: Vec::new() }
    }

    /// Takes those among a step's events.
    pub fn take(&mut self, events: &[ReplyEvent]) {
        if !self.wanted {
            return;
        }
        self.all.extend(events.iter().filter_map(|event| match event {
            ReplyEvent::Note(note) => Some(note.clone()),
            _ => None,
        }));
    }

    /// All that came is void.
    pub fn forget(&mut self) {
        self.all.clear();
    }

    /// All of them as a JSON list; `None`: they are not wanted.
    #[must_use]
    pub fn told(&self) -> Option<Value> {
        self.wanted.then(|| json!(self.all))
    }
}
