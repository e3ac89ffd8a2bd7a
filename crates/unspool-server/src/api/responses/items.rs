//! The output items of a response, and the events that build them. A complete answer has the same items.

use serde_json::{Value, json};

use super::custom::CustomInput;
use super::tools::{Own, Tools};
use crate::api::envelope;
use crate::blocks::{Block, BlockEvent};
use crate::unique;

/// Takes events: a name after `response.`, and the data without name and number.
pub(super) trait Sink: FnMut(&str, Value) {}

impl<F: FnMut(&str, Value)> Sink for F {}

/// The items so far.
pub(super) struct Items {
    tools: Tools,
    /// Whether reasoning also comes in envelopes, for clients that keep nothing else of it.
    sealed: bool,
    done: Vec<Value>,
    open: Option<Open>,
}

/// The current item.
struct Open {
    id: String,
    kind: Kind,
    text: String,
    /// The log probabilities of its tokens, and those of the next text.
    logprobs: Vec<Value>,
    next: Vec<Value>,
}

enum Kind {
    Thought,
    Text,
    Call { call_id: String, own: Own },
    Custom { call_id: String, own: Own, input: CustomInput },
}

impl Items {
    pub(super) fn new(tools: Tools, sealed: bool) -> Self {
        Self { tools, sealed, done: Vec::new(), open: None }
    }

    /// Discards everything.
    pub(super) fn forget(&mut self) {
        self.done.clear();
        self.open = None;
    }

    /// The finished items.
    pub(super) fn done(&self) -> &[Value] {
        &self.done
    }

    /// Handles an event of a block. `cut`: whether the answer ends before the model did.
    pub(super) fn take(&mut self, event: BlockEvent, cut: bool, sink: &mut impl Sink) {
        match event {
            BlockEvent::Open(block) => self.begin(block, sink),
            BlockEvent::More(text) => self.more(&text, sink),
            BlockEvent::Probabilities(tokens) => {
                let text = self.open.as_mut().filter(|open| matches!(open.kind, Kind::Text));
                text.into_iter().for_each(|open| open.next.extend(tokens.iter().map(|token| json!(token))));
            }
            BlockEvent::Close { complete } => self.close(complete && !cut, sink),
        }
    }

    fn begin(&mut self, block: Block, sink: &mut impl Sink) {
        let (prefix, kind) = match block {
            Block::Thought => ("rs", Kind::Thought),
            Block::Text => ("msg", Kind::Text),
            Block::Call { id: call_id, name } => match self.tools.own(&name) {
                own if own.custom => ("ctc", Kind::Custom { call_id, own, input: CustomInput::default() }),
                own => ("fc", Kind::Call { call_id, own }),
            },
        };
        let id = format!("{prefix}_{:016x}", unique::number());
        let open = Open { id, kind, text: String::new(), logprobs: Vec::new(), next: Vec::new() };
        let index = self.done.len();
        sink("output_item.added", json!({"output_index": index, "item": open.item("in_progress", true)}));
        if let Some(part) = open.part() {
            sink("content_part.added", open.placed(index, "part", part));
        }
        self.open = Some(open);
    }

    fn more(&mut self, text: &str, sink: &mut impl Sink) {
        let index = self.done.len();
        let Some(open) = &mut self.open else { return };
        let (name, delta) = match &mut open.kind {
            Kind::Thought => ("reasoning_text.delta", text.to_owned()),
            Kind::Text => ("output_text.delta", text.to_owned()),
            Kind::Call { .. } => ("function_call_arguments.delta", text.to_owned()),
            Kind::Custom { input, .. } => ("custom_tool_call_input.delta", input.push(text)),
        };
        if delta.is_empty() {
            return;
        }
        open.text.push_str(&delta);
        let mut data = open.placed(index, "delta", delta.into());
        if !open.next.is_empty() {
            data["logprobs"] = json!(open.next);
            open.logprobs.append(&mut open.next);
        }
        sink(name, data);
    }

    fn close(&mut self, complete: bool, sink: &mut impl Sink) {
        let index = self.done.len();
        let Some(mut open) = self.open.take() else { return };
        if let Kind::Custom { input, .. } = &mut open.kind {
            let (rest, all) = std::mem::take(input).finish();
            open.text = all;
            if !rest.is_empty() {
                sink("custom_tool_call_input.delta", open.placed(index, "delta", rest.into()));
            }
        }
        let text = Value::from(open.text.as_str());
        let (name, key) = match &open.kind {
            Kind::Thought => ("reasoning_text.done", "text"),
            Kind::Text => ("output_text.done", "text"),
            Kind::Call { .. } => ("function_call_arguments.done", "arguments"),
            Kind::Custom { .. } => ("custom_tool_call_input.done", "input"),
        };
        let mut data = open.placed(index, key, text);
        if !open.logprobs.is_empty() {
            data["logprobs"] = json!(open.logprobs);
        }
        if let Kind::Call { own, .. } = &open.kind {
            data["name"] = own.name.as_str().into();
        }
        sink(name, data);
        if let Some(part) = open.part() {
            sink("content_part.done", open.placed(index, "part", part));
        }
        let mut item = open.item(if complete { "completed" } else { "incomplete" }, false);
        if self.sealed && matches!(open.kind, Kind::Thought) {
            item["encrypted_content"] = envelope::thought(&open.text).into();
        }
        sink("output_item.done", json!({"output_index": index, "item": item}));
        self.done.push(item);
    }
}

impl Open {
    /// The item; at its beginning without its content.
    fn item(&self, status: &str, beginning: bool) -> Value {
        let content = || if beginning { json!([]) } else { self.part().into_iter().collect() };
        let id = &self.id;
        match &self.kind {
            Kind::Thought => {
                json!({"id": id, "type": "reasoning", "summary": [], "content": content(), "status": status})
            }
            Kind::Text => {
                json!({"id": id, "type": "message", "role": "assistant", "content": content(), "status": status})
            }
            Kind::Call { call_id, own } => {
                let mut item = json!({
                    "id": id, "type": "function_call", "call_id": call_id, "name": own.name, "arguments": self.text,
                    "status": status,
                });
                if let Some(namespace) = &own.namespace {
                    item["namespace"] = namespace.as_str().into();
                }
                item
            }
            Kind::Custom { call_id, own, .. } => {
                let mut item = json!({
                    "id": id, "type": "custom_tool_call", "call_id": call_id, "name": own.name, "input": self.text,
                    "status": status,
                });
                if let Some(namespace) = &own.namespace {
                    item["namespace"] = namespace.as_str().into();
                }
                item
            }
        }
    }

    /// The only part of the item's content, if it has parts.
    fn part(&self) -> Option<Value> {
        match self.kind {
            Kind::Thought => Some(json!({"type": "reasoning_text", "text": self.text})),
            Kind::Text => {
                Some(json!({"type": "output_text", "text": self.text, "annotations": [], "logprobs": self.logprobs}))
            }
            Kind::Call { .. } | Kind::Custom { .. } => None,
        }
    }

    /// The data of an event about this item.
    fn placed(&self, index: usize, key: &str, value: Value) -> Value {
        let mut data = json!({"item_id": self.id, "output_index": index});
        if matches!(self.kind, Kind::Thought | Kind::Text) {
            data["content_index"] = 0.into();
        }
        data[key] = value;
        if matches!(self.kind, Kind::Text) && key != "part" {
            data["logprobs"] = json!([]);
        }
        data
    }
}
