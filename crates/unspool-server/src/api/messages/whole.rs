//! A complete answer.

use axum::response::Response;
use serde_json::{Value, json};

use super::{Calls, Frame, is_object, signature, stop_reason, usage};
use crate::api::envelope;
use crate::api::service::json_response;
use crate::backend::BackendError;
use crate::blocks::{Block, BlockEvent, Blocks};
use crate::engine::Reply;
use crate::hosted::tell;

/// Waits for the answer and returns it.
pub(super) async fn answer(mut frame: Frame, mut reply: Reply) -> Result<Response, BackendError> {
    let (mut blocks, mut row, mut last) = (Blocks::default(), Vec::new(), None);
    while let Some(step) = reply.next().await {
        let step = step?;
        if step.anew {
            (blocks, row) = (Blocks::default(), Vec::new());
            frame.notes.forget();
        }
        frame.notes.take(&step.events);
        row.extend(blocks.take(step.events));
        last = step.ending.map(|ending| (ending, step.tokens)).or(last);
    }
    row.extend(blocks.finish());
    let mut content = Content::default();
    row.into_iter().for_each(|event| content.take(event));
    if content.blocks.is_empty() {
        content.blocks.push(json!({"type": "text", "text": ""}));
    }
    let (reason, sequence, usage) = match last {
        Some((ending, tokens)) => {
            let (reason, sequence) = stop_reason(&ending, content.calls);
            (reason, sequence, usage(tokens))
        }
        None => (Value::Null, Value::Null, usage(reply.tokens())),
    };
    let mut message = json!({
        "id": frame.id, "type": "message", "role": "assistant", "model": frame.model, "content": content.blocks,
        "stop_reason": reason, "stop_sequence": sequence, "usage": usage,
    });
    tell(frame.ignored_tools.as_ref(), &mut message);
    if let Some(notes) = frame.notes.told() {
        message["diagnostics"] = notes;
    }
    Ok(json_response(&message))
}

/// The blocks, folded.
#[derive(Default)]
struct Content {
    blocks: Vec<Value>,
    open: Option<(Block, String)>,
    calls: Calls,
}

impl Content {
    fn take(&mut self, event: BlockEvent) {
        match (event, &mut self.open) {
            (BlockEvent::Open(block), open) => *open = Some((block, String::new())),
            (BlockEvent::More(more), Some((_, text))) => text.push_str(&more),
            (BlockEvent::More(_), None) | (BlockEvent::Probabilities(_), _) => {}
            (BlockEvent::Close { complete }, open) => {
                let Some((block, text)) = open.take() else { return };
                self.blocks.push(match block {
                    Block::Thought => json!({"type": "thinking", "thinking": text, "signature": signature()}),
                    Block::Text => json!({"type": "text", "text": text}),
                    Block::Call { id, name } => {
                        self.calls = self.calls.and(complete && is_object(&text));
                        json!({"type": "tool_use", "id": envelope::id(&id), "name": name, "input": input(&text)})
                    }
                });
            }
        }
    }
}

/// The arguments as the object that the API requires. Anything else, such as the arguments of a call that was cut off,
/// is not guessed: it stays verbatim under a key of its own.
fn input(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => object,
        _ if text.is_empty() => json!({}),
        _ => json!({"unparsed_arguments": text}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_never_guessed() {
        assert_eq!(input("{\"a\": 1}"), json!({"a": 1}));
        assert_eq!(input(""), json!({}));
        assert_eq!(input("{\"a\": "), json!({"unparsed_arguments": "{\"a\": "}));
        assert_eq!(input("[1]"), json!({"unparsed_arguments": "[1]"}));
    }
}
