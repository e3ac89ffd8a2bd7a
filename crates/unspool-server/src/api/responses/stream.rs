//! A streamed answer.

use serde_json::{Value, json};

use super::items::Items;
use super::tools::Tools;
use super::{Frame, Outcome};
use crate::api::sse::{self, event};
use crate::backend::BackendError;
use crate::blocks::{BlockEvent, Blocks};
use crate::error::ApiError;
use crate::reply::{Step, TokenCounts};

/// Writes an answer as events of the Responses API.
pub(super) struct Writer {
    frame: Frame,
    blocks: Blocks,
    items: Items,
    tokens: TokenCounts,
    number: u64,
}

impl Writer {
    pub(super) fn new(frame: Frame, tools: Tools) -> Self {
        let (blocks, items) = (Blocks::default(), Items::new(tools, frame.sealed));
        Self { frame, blocks, items, tokens: TokenCounts::default(), number: 0 }
    }

    fn items(&mut self, events: Vec<BlockEvent>, cut: bool, out: &mut Vec<u8>) {
        let Self { items, number, .. } = self;
        for what in events {
            items.take(what, cut, &mut |name: &str, data: Value| write(out, number, name, data));
        }
    }

    fn state(&mut self, name: &str, outcome: &Outcome, out: &mut Vec<u8>) {
        let tokens = (*outcome != Outcome::Running).then_some(self.tokens);
        let response = self.frame.response(outcome, self.items.done(), tokens);
        write(out, &mut self.number, name, json!({"response": response}));
    }

    fn end(&mut self, outcome: &Outcome, out: &mut Vec<u8>) {
        let open = self.blocks.finish();
        self.items(open, *outcome != Outcome::Completed, out);
        self.state(outcome.status(), outcome, out);
    }
}

impl sse::Writer for Writer {
    const COUNTS_FIRST: bool = false;

    /// Clients that time the events do not count comments.
    fn silence(&mut self, out: &mut Vec<u8>) {
        self.state("in_progress", &Outcome::Running, out);
    }

    fn begin(&mut self, _: TokenCounts, out: &mut Vec<u8>) {
        self.state("created", &Outcome::Running, out);
        self.state("in_progress", &Outcome::Running, out);
    }

    fn step(&mut self, step: Step, out: &mut Vec<u8>) {
        self.tokens = step.tokens;
        self.frame.notes.take(&step.events);
        self.frame.tokens.ids.extend(step.ids);
        let events = self.blocks.take(step.events);
        self.items(events, false, out);
        if let Some(ending) = step.ending {
            self.end(&Outcome::of(&ending.reason), out);
        }
    }

    fn fail(&mut self, error: BackendError, out: &mut Vec<u8>) {
        self.end(&Outcome::Failed(ApiError::from(error).text()), out);
    }
}

/// Writes an event with its name and number.
fn write(out: &mut Vec<u8>, number: &mut u64, name: &str, mut data: Value) {
    let name = format!("response.{name}");
    data["type"] = name.as_str().into();
    data["sequence_number"] = (*number).into();
    *number += 1;
    event(out, &name, &data);
}
