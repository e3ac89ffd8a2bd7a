//! The conversation of a Responses request, as chat messages.

use serde_json::{Map, Value, json};

use super::tools::{flat, wrapped};
use crate::api::envelope;
use crate::error::ApiError;
use crate::hosted::tells_of_hosted;
use crate::request::images;

/// The chat messages of `instructions` and `input`.
pub(super) struct Conversation {
    pub(super) messages: Vec<Value>,
    /// Whether the model continues the last message.
    pub(super) open: bool,
    /// Whether images are allowed.
    images: bool,
}

/// Reads the conversation.
///
/// # Errors
/// An item that cannot be expressed as text, or of an unknown kind.
pub(super) fn read(instructions: Option<&str>, input: Option<&Value>, images: bool) -> Result<Conversation, ApiError> {
    let mut out = Conversation { messages: Vec::new(), open: false, images };
    if let Some(text) = instructions.filter(|text| !text.is_empty()) {
        out.messages.push(json!({"role": "system", "content": text}));
    }
    match input {
        Some(Value::String(text)) => out.messages.push(json!({"role": "user", "content": text})),
        Some(Value::Array(items)) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                out.item(item, &format!("input[{index}]"))?;
            }
        }
        Some(Value::Array(_)) => return Err(ApiError::bad_field("input", "`input` holds no item")),
        _ => return Err(ApiError::bad_field("input", "`input` must be a text or a list of items")),
    }
    Ok(out)
}

impl Conversation {
    fn item(&mut self, item: &Value, place: &str) -> Result<(), ApiError> {
        let Some(fields) = item.as_object() else {
            return Err(ApiError::bad_field(place, "an item must be an object"));
        };
        let unfinished = matches!(text(fields, "status"), "in_progress" | "incomplete");
        self.open = false;
        match (text(fields, "type"), text(fields, "role")) {
            ("message" | "", "assistant") => {
                let content = self.content(fields, place)?;
                self.assistant("content", content);
                self.open = unfinished;
            }
            ("message" | "", role @ ("user" | "system" | "developer")) => {
                self.messages.push(json!({"role": role, "content": self.content(fields, place)?}));
            }
            ("message" | "", role) => {
                let message =
                    format!("a message has the role `{role}`; it must be user, assistant, system or developer");
                return Err(ApiError::bad_field(&format!("{place}.role"), message));
            }
            ("reasoning", _) => {
                let thought = thought(fields, place)?;
                self.assistant("reasoning", thought.into());
            }
            ("function_call", _) => self.call(fields, text(fields, "arguments"), place)?,
            ("custom_tool_call", _) => self.call(fields, &wrapped(text(fields, "input")), place)?,
            ("function_call_output" | "custom_tool_call_output", _) => {
                let (output, shown) = self.output(fields, place)?;
                self.messages.push(json!({"role": "tool", "tool_call_id": text(fields, "call_id"), "content": output}));
                if !shown.is_empty() {
                    // A tool result is text for models; images in it follow.
                    self.messages.push(json!({"role": "user", "content": shown}));
                }
            }
            // The model never saw it.
            (kind, _) if tells_of_hosted(kind) => {}
            (kind, _) => {
                let error = ApiError::bad_field(place, format!("`{place}` has the type `{kind}`, which is not served"));
                return Err(match kind {
                    "item_reference" => error.hint("responses are not kept; send the item itself"),
                    _ => error,
                });
            }
        }
        Ok(())
    }

    /// The assistant message for a field: the last one, if it is an assistant's and has neither the field nor a later
    /// one.
    fn assistant(&mut self, field: &str, value: Value) {
        let takes = |last: &Value| {
            let has = |key: &str| last.get(key).is_some();
            last["role"] == "assistant"
                && !has("tool_calls")
                && !has(field)
                && (field != "reasoning" || !has("content"))
        };
        if !self.messages.last().is_some_and(takes) {
            self.messages.push(json!({"role": "assistant"}));
        }
        if let Some(last) = self.messages.last_mut() {
            last[field] = value;
        }
    }

    fn call(&mut self, fields: &Map<String, Value>, arguments: &str, place: &str) -> Result<(), ApiError> {
        let name = text(fields, "name");
        if name.is_empty() {
            return Err(ApiError::bad_field(&format!("{place}.name"), "a call needs a `name`"));
        }
        let namespace = Some(text(fields, "namespace")).filter(|namespace| !namespace.is_empty());
        let function = json!({"name": flat(namespace, name), "arguments": arguments});
        let call = json!({"id": text(fields, "call_id"), "type": "function", "function": function});
        match self.messages.last_mut() {
            Some(last) if last["role"] == "assistant" => match last["tool_calls"].as_array_mut() {
                Some(calls) => calls.push(call),
                None => last["tool_calls"] = json!([call]),
            },
            _ => self.messages.push(json!({"role": "assistant", "tool_calls": [call]})),
        }
        Ok(())
    }
}

impl Conversation {
    /// The content of a message as chat parts.
    fn content(&self, fields: &Map<String, Value>, place: &str) -> Result<Value, ApiError> {
        match fields.get("content") {
            Some(text @ Value::String(_)) => Ok(text.clone()),
            Some(Value::Array(parts)) => Ok(self.parts(parts, &format!("{place}.content"))?.into()),
            _ => Err(ApiError::bad_field(
                &format!("{place}.content"),
                "a message's content must be a text or a list of parts",
            )),
        }
    }

    /// A tool's result; several parts become lines. Its images are returned separately.
    fn output(&self, fields: &Map<String, Value>, place: &str) -> Result<(String, Vec<Value>), ApiError> {
        let place = format!("{place}.output");
        match fields.get("output") {
            Some(Value::String(text)) => Ok((text.clone(), Vec::new())),
            Some(Value::Array(parts)) => {
                let (texts, shown): (Vec<Value>, Vec<Value>) =
                    self.parts(parts, &place)?.into_iter().partition(|part| part["type"] == "text");
                let lines: Vec<&str> = texts.iter().filter_map(|part| part["text"].as_str()).collect();
                Ok((lines.join("\n"), shown))
            }
            _ => Err(ApiError::bad_field(&place, "a tool's output must be a text or a list of parts")),
        }
    }

    fn parts(&self, parts: &[Value], place: &str) -> Result<Vec<Value>, ApiError> {
        let part = |(index, part): (usize, &Value)| {
            let field = |name: &str| part.get(name).and_then(Value::as_str);
            match (field("type").unwrap_or_default(), field("text"), field("refusal")) {
                ("input_text" | "output_text" | "text" | "summary_text", Some(text), _)
                | ("refusal", _, Some(text)) => Ok(json!({"type": "text", "text": text})),
                ("input_image", ..) if self.images && field("image_url").is_some() => {
                    Ok(images::part(field("image_url").unwrap_or_default()))
                }
                (kind, ..) => {
                    let place = format!("{place}[{index}]");
                    Err(ApiError::bad_field(&place, format!("`{place}` is a part of the type `{kind}`"))
                        .hint("this gateway takes text only, no images, sounds or files"))
                }
            }
        };
        parts.iter().enumerate().map(part).collect()
    }
}

/// The text of a reasoning item: its own, or that in its envelope, or its summary.
fn thought(fields: &Map<String, Value>, place: &str) -> Result<String, ApiError> {
    let sealed = match text(fields, "encrypted_content") {
        "" if fields.get("encrypted_content").is_none_or(|content| content.is_null() || content == "") => String::new(),
        sealed => envelope::thought_in(sealed).ok_or_else(|| {
            let message = "encrypted reasoning can be read by those only who made it";
            ApiError::bad_field(&format!("{place}.encrypted_content"), message)
        })?,
    };
    let joined = |key: &str| {
        let parts = fields.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        parts.iter().map(|part| part.get("text").and_then(Value::as_str).unwrap_or_default()).collect::<String>()
    };
    let said = [joined("content"), sealed, joined("summary")];
    Ok(said.into_iter().find(|text| !text.is_empty()).unwrap_or_default())
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}
