//! A streamed answer.

use serde_json::{Value, json};

use super::{Calls, Frame, error, is_object, signature, stop_reason, usage};
use crate::api::envelope;
use crate::api::sse::{self, event};
use crate::backend::BackendError;
use crate::blocks::{Block, BlockEvent, Blocks};
use crate::hosted::tell;
use crate::reply::{Ending, Step, TokenCounts};

/// Writes an answer as Anthropic's events. Blocks never overlap.
pub(super) struct Writer {
    frame: Frame,
    blocks: Blocks,
    open: Option<Block>,
    /// The index of the open block, or of the next one.
    index: usize,
    calls: Calls,
    /// The arguments of the open call.
    arguments: String,
}

impl Writer {
    pub(super) fn new(frame: Frame) -> Self {
        Self {
            frame,
            blocks: Blocks::default(),
            open: None,
            index: 0,
            calls: Calls::default(),
            arguments: String::new(),
        }
    }

    fn block(&mut self, what: BlockEvent, out: &mut Vec<u8>) {
        match what {
            BlockEvent::Open(block) => {
                let shown = match &block {
                    Block::Thought => json!({"type": "thinking", "thinking": "", "signature": ""}),
                    Block::Text => json!({"type": "text", "text": ""}),
                    Block::Call { id, name } => {
                        json!({"type": "tool_use", "id": envelope::id(id), "name": name, "input": {}})
                    }
                };
                self.open = Some(block);
                self.event("content_block_start", "content_block", &shown, out);
            }
            BlockEvent::More(text) => {
                let delta = match self.open {
                    Some(Block::Thought) => json!({"type": "thinking_delta", "thinking": text}),
                    Some(Block::Call { .. }) => {
                        self.arguments.push_str(&text);
                        json!({"type": "input_json_delta", "partial_json": text})
                    }
                    Some(Block::Text) | None => json!({"type": "text_delta", "text": text}),
                };
                self.delta(&delta, out);
            }
            // This API has no field for them.
            BlockEvent::Probabilities(_) => {}
            BlockEvent::Close { complete } => {
                match self.open.take() {
                    Some(Block::Thought) => {
                        self.delta(&json!({"type": "signature_delta", "signature": signature()}), out);
                    }
                    Some(Block::Call { .. }) => {
                        let arguments = std::mem::take(&mut self.arguments);
                        self.calls = self.calls.and(complete && is_object(&arguments));
                    }
                    Some(Block::Text) | None => {}
                }
                event(out, "content_block_stop", &json!({"type": "content_block_stop", "index": self.index}));
                self.index += 1;
            }
        }
    }

    fn delta(&self, delta: &Value, out: &mut Vec<u8>) {
        self.event("content_block_delta", "delta", delta, out);
    }

    fn event(&self, name: &str, key: &str, value: &Value, out: &mut Vec<u8>) {
        event(out, name, &json!({"type": name, "index": self.index, key: value}));
    }

    fn end(&mut self, ending: &Ending, tokens: TokenCounts, out: &mut Vec<u8>) {
        for what in self.blocks.finish() {
            self.block(what, out);
        }
        if self.index == 0 {
            // An empty answer has one empty text.
            self.block(BlockEvent::Open(Block::Text), out);
            self.block(BlockEvent::Close { complete: true }, out);
        }
        let (reason, sequence) = stop_reason(ending, self.calls);
        let delta = json!({"stop_reason": reason, "stop_sequence": sequence});
        let mut last = json!({"type": "message_delta", "delta": delta, "usage": usage(tokens)});
        if let Some(notes) = self.frame.notes.told() {
            last["diagnostics"] = notes;
        }
        event(out, "message_delta", &last);
        event(out, "message_stop", &json!({"type": "message_stop"}));
    }
}

impl sse::Writer for Writer {
    const COUNTS_FIRST: bool = true;

    fn silence(&mut self, out: &mut Vec<u8>) {
        event(out, "ping", &json!({"type": "ping"}));
    }

    fn begin(&mut self, tokens: TokenCounts, out: &mut Vec<u8>) {
        let mut message = json!({
            "id": self.frame.id, "type": "message", "role": "assistant", "model": self.frame.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage(tokens),
        });
        tell(self.frame.ignored_tools.as_ref(), &mut message);
        event(out, "message_start", &json!({"type": "message_start", "message": message}));
    }

    fn step(&mut self, step: Step, out: &mut Vec<u8>) {
        self.frame.notes.take(&step.events);
        for what in self.blocks.take(step.events) {
            self.block(what, out);
        }
        if let Some(ending) = step.ending {
            self.end(&ending, step.tokens, out);
        }
    }

    fn fail(&mut self, error: BackendError, out: &mut Vec<u8>) {
        event(out, "error", &error::body(&error.into()));
    }
}
