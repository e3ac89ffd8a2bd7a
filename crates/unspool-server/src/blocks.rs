//! Converts events to consecutive blocks, for the APIs with content blocks and output items.

use std::collections::VecDeque;

use crate::probability::TokenProbability;
use crate::reply::{Field, ReplyEvent};

/// The kind of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Reasoning.
    Thought,
    /// A part of the content.
    Text,
    /// A call.
    Call {
        /// Its id.
        id: String,
        /// Its function.
        name: String,
    },
}

/// An event of the open block.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockEvent {
    /// A block opens; no other one is open.
    Open(Block),
    /// More of its text, or of the JSON text of its arguments. Never empty.
    More(String),
    /// The log probabilities of the following text.
    Probabilities(Vec<TokenProbability>),
    /// It ends.
    Close {
        /// False for a call with incomplete arguments.
        complete: bool,
    },
}

/// Orders the events of a reply into consecutive blocks. A call stays open until it ends; events that belong elsewhere
/// wait, and nothing is lost.
#[derive(Debug, Default)]
pub struct Blocks {
    open: Option<Place>,
    waiting: VecDeque<ReplyEvent>,
}

/// The destination of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Thought,
    Text,
    Call(usize),
}

impl Blocks {
    /// Takes the next events of a reply, and returns their effects on the blocks.
    pub fn take(&mut self, events: Vec<ReplyEvent>) -> Vec<BlockEvent> {
        let mut out = Vec::new();
        for event in events {
            self.one(event, &mut out);
        }
        out
    }

    /// The reply ends: closes the open block, and emits what waits.
    pub fn finish(&mut self) -> Vec<BlockEvent> {
        let mut out = Vec::new();
        while let Some(place) = self.open {
            let complete = !matches!(place, Place::Call(_));
            self.close(complete, &mut out);
        }
        out
    }

    fn one(&mut self, event: ReplyEvent, out: &mut Vec<BlockEvent>) {
        let Some(place) = place(&event) else { return };
        match self.open {
            Some(open) if open == place => {}
            Some(Place::Call(_)) => return self.waiting.push_back(event),
            Some(_) => {
                self.open = None;
                out.push(BlockEvent::Close { complete: true });
            }
            None => {}
        }
        match event {
            ReplyEvent::Reasoning(text) => self.text(place, Block::Thought, text, out),
            ReplyEvent::Content(text) => self.text(place, Block::Text, text, out),
            ReplyEvent::CallStart { id, name, .. } => {
                self.open = Some(place);
                out.push(BlockEvent::Open(Block::Call { id, name }));
            }
            // Only events of the open call get here.
            ReplyEvent::CallArguments { json, .. } if self.open.is_some() => out.push(BlockEvent::More(json)),
            ReplyEvent::CallEnd { complete, .. } if self.open.is_some() => self.close(complete, out),
            ReplyEvent::Probabilities { tokens, .. } if self.open.is_some() => {
                let at = out.len() - usize::from(matches!(out.last(), Some(BlockEvent::More(_))));
                out.insert(at, BlockEvent::Probabilities(tokens));
            }
            _ => {}
        }
    }

    fn text(&mut self, place: Place, block: Block, text: String, out: &mut Vec<BlockEvent>) {
        if self.open.is_none() {
            self.open = Some(place);
            out.push(BlockEvent::Open(block));
        }
        out.push(BlockEvent::More(text));
    }

    fn close(&mut self, complete: bool, out: &mut Vec<BlockEvent>) {
        self.open = None;
        out.push(BlockEvent::Close { complete });
        // Events for a further call queue up again, in order.
        for event in std::mem::take(&mut self.waiting) {
            self.one(event, out);
        }
    }
}

/// The destination of an event, unless it is empty.
fn place(event: &ReplyEvent) -> Option<Place> {
    match event {
        ReplyEvent::Reasoning(text) => (!text.is_empty()).then_some(Place::Thought),
        ReplyEvent::Content(text) => (!text.is_empty()).then_some(Place::Text),
        ReplyEvent::CallArguments { index, json } => (!json.is_empty()).then_some(Place::Call(*index)),
        ReplyEvent::CallStart { index, .. } | ReplyEvent::CallEnd { index, .. } => Some(Place::Call(*index)),
        ReplyEvent::Probabilities { field: Field::Reasoning, .. } => Some(Place::Thought),
        ReplyEvent::Probabilities { field: Field::Content, .. } => Some(Place::Text),
        ReplyEvent::Probabilities { field: Field::Call(index), .. } => Some(Place::Call(*index)),
        ReplyEvent::Probabilities { field: Field::Markup, .. } | ReplyEvent::Note(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(index: usize) -> ReplyEvent {
        ReplyEvent::CallStart { index, id: format!("i{index}"), name: format!("f{index}") }
    }

    fn arguments(index: usize, json: &str) -> ReplyEvent {
        ReplyEvent::CallArguments { index, json: json.into() }
    }

    fn end(index: usize) -> ReplyEvent {
        ReplyEvent::CallEnd { index, complete: true }
    }

    /// The blocks in short: `(` and `)` around each, `!` after one that is incomplete.
    fn row(events: Vec<ReplyEvent>) -> String {
        let mut blocks = Blocks::default();
        let mut row = blocks.take(events);
        row.extend(blocks.finish());
        let show = |event| match event {
            BlockEvent::Open(Block::Thought) => "thought(".to_owned(),
            BlockEvent::Open(Block::Text) => "text(".to_owned(),
            BlockEvent::Open(Block::Call { name, .. }) => format!("{name}("),
            BlockEvent::More(text) => text,
            BlockEvent::Probabilities(_) => String::new(),
            BlockEvent::Close { complete } => if complete { ")" } else { ")!" }.to_owned(),
        };
        row.into_iter().map(show).collect()
    }

    #[test]
    fn blocks_follow_each_other() {
        let say = |text: &str| ReplyEvent::Content(text.into());
        let events = vec![
            ReplyEvent::Reasoning("hm".into()),
            say("a"),
            say(""),
            say("b"),
            start(0),
            arguments(0, "{}"),
            end(0),
            say("c"),
        ];
        assert_eq!(row(events), "thought(hm)text(ab)f0({})text(c)");
        assert_eq!(row(Vec::new()), "");
    }

    #[test]
    fn what_comes_inside_a_call_waits_for_its_end() {
        let events = vec![
            start(0),
            start(1),
            arguments(1, "[1"),
            arguments(0, "[0"),
            ReplyEvent::Content("said".into()),
            arguments(1, "]"),
            end(1),
            arguments(0, "]"),
            end(0),
        ];
        assert_eq!(row(events), "f0([0])f1([1])text(said)");
        let cut = vec![start(0), arguments(0, "{"), start(1), arguments(1, "[")];
        assert_eq!(row(cut), "f0({)!f1([)!");
    }
}
