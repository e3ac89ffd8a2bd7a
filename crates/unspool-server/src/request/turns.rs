//! Turns of the assistant that are told as several messages, so that thoughts, texts and calls keep their order.

use serde_json::Value;

use super::ChatRequest;

impl ChatRequest {
    /// Whether messages of the assistant follow each other.
    #[must_use]
    pub fn has_split_turns(&self) -> bool {
        self.raw_messages.windows(2).any(|two| two.iter().all(is_assistants))
    }

    /// Makes one message of those that follow each other, for templates that take no two: the thoughts, then the texts, then the
    /// calls.
    pub fn join_turns(&mut self) {
        let mut joined: Vec<Value> = Vec::with_capacity(self.raw_messages.len());
        for message in &self.raw_messages {
            match joined.last_mut().filter(|last| is_assistants(last) && is_assistants(message)) {
                Some(last) => join(last, message),
                None => joined.push(message.clone()),
            }
        }
        let read = joined.iter().map(|message| serde_json::from_value(message.clone())).collect();
        // What was read once can be read again.
        if let Ok(messages) = read {
            (self.messages, self.raw_messages) = (messages, joined);
        }
    }
}

fn is_assistants(message: &Value) -> bool {
    message["role"] == "assistant"
}

fn join(last: &mut Value, more: &Value) {
    for key in ["reasoning", "content", "tool_calls"] {
        let Some(value) = more.get(key).filter(|value| !value.is_null()) else { continue };
        // In place: a conversation may have thousands of short messages behind a long one.
        match (&mut last[key], value) {
            (Value::String(text), Value::String(more)) => {
                text.push('\n');
                text.push_str(more);
            }
            (Value::Array(own), value) => own.extend(parts(value.clone())),
            (own @ Value::Null, value) => *own = value.clone(),
            (own, value) => *own = parts(own.take()).into_iter().chain(parts(value.clone())).collect(),
        }
    }
}

/// A text or a list as a list.
fn parts(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        text => vec![serde_json::json!({"type": "text", "text": text})],
    }
}
