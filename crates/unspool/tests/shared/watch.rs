//! Runs pieces through a parser, watches its events and folds them.

use std::time::{Duration, Instant};

use unspool::span::{Span, Spans};
use unspool::{Delta, Event, Finish, FinishReason, Message, Parser, Sink, Snapshot};

use crate::cuts::Piece;

/// What came out of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// The text of a refusal before any output.
    pub(crate) refused: Option<String>,
    pub(crate) message: Message,
    /// Where in the output its fields stand.
    pub(crate) spans: Spans,
    /// Each piece of reasoning or content with its place.
    pub(crate) texts: Vec<(Span, String)>,
    pub(crate) finish: Finish,
    /// Kinds of the parts in their order, neighbours of a kind joined.
    pub(crate) parts: Vec<&'static str>,
    /// Index of each call as it started.
    pub(crate) indices: Vec<usize>,
    /// Events that break the rules of the stream, and snapshots that cannot be read again.
    pub(crate) faults: Vec<String>,
    /// Argument events before the last delta.
    pub(crate) early_arguments: usize,
    /// Index of the first delta after which reasoning was over; -1: before any; `None`: never.
    pub(crate) gate: Option<i64>,
    pub(crate) took: Duration,
}

/// One run: the pieces in their order, and what the engine said at the end.
pub(crate) struct Run<'a> {
    pub(crate) pieces: &'a [Piece],
    pub(crate) finish: Option<FinishReason>,
    /// Save the state after every piece and go on with a new parser, which this makes.
    pub(crate) reload: Option<&'a dyn Fn() -> Parser>,
}

impl Run<'_> {
    pub(crate) fn with(&self, mut parser: Parser) -> Answer {
        let start = Instant::now();
        let mut watcher = Watcher::default();
        let mut gate = parser.reasoning_ended().then_some(-1);
        for (step, piece) in self.pieces.iter().enumerate() {
            watcher.last_delta = step + 1 == self.pieces.len();
            parser.push(Delta { text: piece.text.as_deref(), ids: &piece.ids }, &mut watcher);
            if gate.is_none() && parser.reasoning_ended() {
                gate = Some(step as i64);
            }
            if gate.is_some() && !parser.reasoning_ended() {
                watcher.answer.faults.push(format!("the gate shuts again at step {step}"));
            }
            match self.reload.map(|fresh| reload(&parser, fresh)) {
                None => {}
                Some(Ok(reloaded)) => parser = reloaded,
                Some(Err(fault)) => watcher.answer.faults.push(fault),
            }
        }
        watcher.last_delta = true;
        let finish = parser.finish(self.finish, &mut watcher);
        if gate.is_none() && parser.reasoning_ended() {
            // What was held to the end decided it.
            gate = Some(self.pieces.len() as i64 - 1);
        }
        Answer { finish, gate, took: start.elapsed(), ..watcher.answer() }
    }
}

/// Saves the state as JSON and goes on with a new parser.
fn reload(parser: &Parser, fresh: &dyn Fn() -> Parser) -> Result<Parser, String> {
    let saved = serde_json::to_string(&parser.snapshot()).map_err(|e| format!("snapshot: {e}"))?;
    let snapshot: Snapshot = serde_json::from_str(&saved).map_err(|e| format!("snapshot read again: {e}"))?;
    let mut parser = fresh();
    parser.restore(snapshot).map_err(|e| format!("restore: {e}"))?;
    Ok(parser)
}

/// State of a call as its events tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    Open,
    Over,
}

/// Folds events into a message of its own, and checks their order.
#[derive(Debug, Default)]
struct Watcher {
    answer: Answer,
    calls: Vec<CallState>,
    last_delta: bool,
}

impl Watcher {
    /// What was seen; every call must be over by now.
    fn answer(mut self) -> Answer {
        if let Some(open) = self.calls.iter().position(|state| *state == CallState::Open) {
            self.answer.faults.push(format!("call {open} has no end"));
        }
        self.answer
    }

    fn part(&mut self, kind: &'static str, text: &str) {
        if text.is_empty() {
            self.answer.faults.push(format!("empty {kind} event"));
        }
        if !text.trim().is_empty() && self.answer.parts.last() != Some(&kind) {
            self.answer.parts.push(kind);
        }
    }

    fn call_must_be_open(&mut self, index: usize, what: &str) {
        if self.calls.get(index) != Some(&CallState::Open) {
            self.answer.faults.push(format!("{what} of call {index}, which is not open"));
        }
    }

    fn call_start(&mut self, index: usize, id: &str) {
        self.answer.parts.push("tool_call");
        self.answer.indices.push(index);
        if index != self.calls.len() {
            self.answer.faults.push(format!("call {index} starts as number {}", self.calls.len()));
        }
        if id.is_empty() {
            self.answer.faults.push(format!("call {index} has no id"));
        }
        self.calls.push(CallState::Open);
    }

    fn watch(&mut self, event: &Event<'_>) {
        match event {
            Event::Reasoning(text) => self.part("reasoning", text),
            Event::Content(text) => self.part("content", text),
            Event::CallStart { index, id, .. } => self.call_start(*index, id),
            Event::CallArguments { index, json } => {
                self.call_must_be_open(*index, "arguments");
                if json.is_empty() {
                    self.answer.faults.push(format!("empty arguments event of call {index}"));
                }
                self.answer.early_arguments += usize::from(!self.last_delta);
            }
            Event::CallEnd { index, .. } => {
                self.call_must_be_open(*index, "end");
                if let Some(state) = self.calls.get_mut(*index) {
                    *state = CallState::Over;
                }
            }
            Event::Diagnostic(_) => {}
        }
    }
}

impl Watcher {
    /// Places of one field ascend and do not overlap.
    fn place(&mut self, event: &Event<'_>, span: Span) {
        let (what, before) = match event {
            Event::Reasoning(_) => ("reasoning", self.answer.spans.reasoning.last()),
            Event::Content(_) => ("content", self.answer.spans.content.last()),
            Event::CallArguments { index, .. } => {
                ("arguments", self.answer.spans.calls.get(*index).and_then(|call| call.arguments.last()))
            }
            Event::CallStart { .. } => ("call", self.answer.spans.calls.last().map(|call| &call.whole)),
            _ => return,
        };
        let least = before.map_or(0, |before| before.end);
        if span.start < least || span.end < span.start {
            self.answer.faults.push(format!("{what} is at {span:?}, behind a piece that ends at {least}"));
        }
        if let Event::Reasoning(text) | Event::Content(text) = event {
            self.answer.texts.push((span, (*text).to_owned()));
        }
    }
}

impl Sink for Watcher {
    fn event(&mut self, event: Event<'_>) {
        self.answer.faults.push(format!("{event:?} has no place"));
    }

    fn event_at(&mut self, event: Event<'_>, span: Span) {
        self.watch(&event);
        self.place(&event, span);
        self.answer.spans.event_at(event.clone(), span);
        self.answer.message.event_at(event, span);
    }
}
