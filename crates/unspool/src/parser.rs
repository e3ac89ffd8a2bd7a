//! The parser of one reply: `push` deltas, then `finish`.

use serde::{Deserialize, Serialize};

use crate::event::Sink;

/// A piece of output: text with ids, text alone, or ids alone (with a vocabulary of bytes).
#[derive(Debug, Clone, Copy, Default)]
pub struct Delta<'a> {
    /// The text; `None`: it is made from the ids.
    pub text: Option<&'a str>,
    /// The tokens' ids; empty: not known.
    pub ids: &'a [u32],
}

impl<'a> Delta<'a> {
    /// Text alone.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        Self { text: Some(text), ids: &[] }
    }

    /// Ids alone.
    #[must_use]
    pub fn ids(ids: &'a [u32]) -> Self {
        Self { text: None, ids }
    }
}

/// Why the engine stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// By itself.
    #[default]
    Stop,
    /// The output was cut.
    Length,
    /// It calls tools (or says so).
    ToolCalls,
}

/// What is known of a reply when it is over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finish {
    /// For the client: `stop`, `length`, `tool_calls`.
    pub reason: FinishReason,
    /// Output tokens of the thought; `None` without ids.
    pub reasoning_tokens: Option<u64>,
    /// Index of the output token after which reasoning was over; -1: before the output; `None`: never, or no ids.
    pub gate_step: Option<i64>,
}

/// Parses one reply.
#[derive(Debug)]
pub struct Parser {}

/// A parser's state, to go on elsewhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Snapshot {
    /// Version of the layout; [`Parser::restore`] refuses another one.
    pub version: u32,
}

impl Parser {
    pub(crate) fn stub() -> Self {
        Self {}
    }

    /// Takes the next piece of output. Never fails.
    pub fn push(&mut self, delta: Delta<'_>, sink: &mut impl Sink) {
        let _ = (delta, sink);
    }

    /// The output is over; gives out what was held. `reason`: what the engine said, if anything.
    pub fn finish(&mut self, reason: Option<FinishReason>, sink: &mut impl Sink) -> Finish {
        let _ = sink;
        Finish { reason: reason.unwrap_or_default(), ..Finish::default() }
    }

    /// Whether reasoning is over (or never was): from here on a grammar applies.
    #[must_use]
    pub fn reasoning_ended(&self) -> bool {
        true
    }

    /// The state after the last delta.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { version: 1 }
    }

    /// Goes on from a snapshot that a parser of the same pair and request made.
    ///
    /// # Errors
    /// The snapshot is of another version or does not fit.
    pub fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        let _ = snapshot;
        Ok(())
    }
}
