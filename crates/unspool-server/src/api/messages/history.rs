//! The conversation of a Messages request, as chat messages.

use serde_json::{Map, Value, json};

use super::changes::is_change;
use super::types::InputMessage;
use crate::api::envelope::own_id;
use crate::error::ApiError;
use crate::hosted::tells_of_hosted;
use crate::request::images;

/// The system text and the conversation.
pub(super) fn messages(
    system: Option<&Value>,
    messages: &[InputMessage],
    images: bool,
) -> Result<Vec<Value>, ApiError> {
    let mut out = Vec::with_capacity(messages.len() + 1);
    if let Some(system) = system {
        add_system(system, "system", &mut out)?;
    }
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}].content");
        match message.role.as_str() {
            "system" => add_system(&message.content, &place, &mut out)?,
            // Some clients write the last two.
            "user" | "ctx" | "msg" => user(&message.content, &place, images, &mut out)?,
            "assistant" => assistant(&message.content, &place, &mut out)?,
            role => {
                let message = format!("a message has the role `{role}`; it must be user, assistant or system");
                return Err(ApiError::bad_field(&format!("messages[{index}].role"), message));
            }
        }
    }
    Ok(out)
}

fn add_system(content: &Value, place: &str, out: &mut Vec<Value>) -> Result<(), ApiError> {
    let mut text = String::new();
    for block in blocks(content, place)? {
        match block.kind {
            // Some clients put a line there that changes with each request, so that no prompt would share a prefix.
            "text" if block.text("text").starts_with("x-anthropic-billing-header") => {}
            "text" => text.push_str(block.text("text")),
            kind if is_change(kind) => {}
            _ => return Err(block.refused("a system text")),
        }
    }
    if !text.is_empty() {
        out.push(json!({"role": "system", "content": text}));
    }
    Ok(())
}

fn user(content: &Value, place: &str, images: bool, out: &mut Vec<Value>) -> Result<(), ApiError> {
    let mut parts = Vec::new();
    for block in blocks(content, place)? {
        match block.kind {
            "text" => parts.push(json!({"type": "text", "text": block.text("text")})),
            "search_result" | "document" => parts.push(json!({"type": "text", "text": document(&block)?})),
            "image" if images => parts.push(image(&block)?),
            "tool_result" => {
                // To models a result is text; its images follow it.
                let mut shown = Vec::new();
                let content = result_text(&block, images, &mut shown)?;
                parts.append(&mut shown);
                out.push(
                    json!({"role": "tool", "tool_call_id": own_id(block.text("tool_use_id")), "content": content}),
                );
            }
            kind if tells_of_hosted(kind) || is_change(kind) => {}
            _ => return Err(block.refused("a user's message")),
        }
    }
    if !parts.is_empty() {
        out.push(json!({"role": "user", "content": parts}));
    }
    Ok(())
}

/// An image as a part of a chat message.
fn image(block: &Block<'_>) -> Result<Value, ApiError> {
    let field = |name: &str| block.fields?.get("source")?.get(name)?.as_str();
    match (field("type"), field("url"), field("media_type"), field("data")) {
        (Some("url"), Some(url), ..) => Ok(images::part(url)),
        (Some("base64"), _, Some(kind), Some(data)) => Ok(images::part(&format!("data:{kind};base64,{data}"))),
        _ => {
            let message = "an image's `source` must be of the type base64 or url";
            Err(ApiError::bad_field(&format!("{}.source", block.place), message))
        }
    }
}

/// The text of a tool's result; several text blocks become lines. Images go to `shown`.
fn result_text(result: &Block<'_>, images: bool, shown: &mut Vec<Value>) -> Result<String, ApiError> {
    let Some(content) = result.fields.and_then(|fields| fields.get("content")).filter(|content| !content.is_null())
    else {
        return Ok(String::new());
    };
    let mut lines = Vec::new();
    for block in blocks(content, &format!("{}.content", result.place))? {
        lines.push(match block.kind {
            "image" if images => {
                shown.push(image(&block)?);
                continue;
            }
            "text" => block.text("text").to_owned(),
            "search_result" | "document" => document(&block)?,
            // A tool found by a tool search.
            "tool_reference" => block.text("tool_name").to_owned(),
            _ => return Err(block.refused("a tool's result")),
        });
    }
    Ok(lines.join("\n"))
}

/// A search result or a document as text: title, source and context before its contents.
fn document(block: &Block<'_>) -> Result<String, ApiError> {
    let field = |name: &str| block.fields.and_then(|fields| fields.get(name));
    let mut lines: Vec<String> = ["title", "context"]
        .iter()
        .map(|name| block.text(name))
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect();
    let content = match field("source") {
        Some(Value::String(source)) => {
            lines.push(source.clone());
            field("content")
        }
        Some(source) => match source.get("type").and_then(Value::as_str) {
            Some("text") => source.get("data"),
            Some("content") => source.get("content"),
            _ => return Err(block.refused("the conversation")),
        },
        None => field("content"),
    };
    for inner in blocks(content.unwrap_or(&Value::Null), &format!("{}.content", block.place))? {
        if inner.kind != "text" {
            return Err(inner.refused("a document"));
        }
        lines.push(inner.text("text").to_owned());
    }
    Ok(lines.join("\n"))
}

fn assistant(content: &Value, place: &str, out: &mut Vec<Value>) -> Result<(), ApiError> {
    let mut turn = Turn::default();
    let first = out.len();
    for block in blocks(content, place)? {
        match block.kind {
            "text" => {
                turn.give(!turn.calls.is_empty(), out);
                turn.parts.push(json!({"type": "text", "text": block.text("text")}));
            }
            "thinking" => {
                turn.give(!turn.calls.is_empty() || !turn.parts.is_empty(), out);
                turn.reasoning.push_str(block.text("thinking"));
            }
            // Only Anthropic can read its contents.
            "redacted_thinking" => {}
            "tool_use" => turn.calls.push(call(&block)?),
            kind if tells_of_hosted(kind) => {}
            _ => return Err(block.refused("an assistant's message")),
        }
    }
    // An empty message is one, too.
    let is_left = out.len() == first || !turn.reasoning.is_empty() || !turn.parts.is_empty() || !turn.calls.is_empty();
    turn.give(is_left, out);
    Ok(())
}

/// A message of the assistant: a thought, a text, calls, in this order.
#[derive(Default)]
struct Turn {
    reasoning: String,
    parts: Vec<Value>,
    calls: Vec<Value>,
}

impl Turn {
    /// Gives the message if it is `over`: what comes next stands behind what it has.
    fn give(&mut self, over: bool, out: &mut Vec<Value>) {
        if !over {
            return;
        }
        let Self { reasoning, parts, calls } = std::mem::take(self);
        let mut message = json!({"role": "assistant"});
        if !parts.is_empty() {
            message["content"] = parts.into();
        }
        if !reasoning.is_empty() {
            message["reasoning"] = reasoning.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        out.push(message);
    }
}

fn call(block: &Block<'_>) -> Result<Value, ApiError> {
    let name = block.text("name");
    if name.is_empty() {
        return Err(ApiError::bad_field(&format!("{}.name", block.place), "a `tool_use` block needs a `name`"));
    }
    let arguments = match block.fields.and_then(|fields| fields.get("input")) {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(input @ Value::Object(_)) => input.to_string(),
        Some(_) => {
            let message = "the `input` of a `tool_use` block must be an object";
            return Err(ApiError::bad_field(&format!("{}.input", block.place), message));
        }
    };
    Ok(json!({"id": own_id(block.text("id")), "type": "function", "function": {"name": name, "arguments": arguments}}))
}

/// A content block and its path.
struct Block<'a> {
    kind: &'a str,
    fields: Option<&'a Map<String, Value>>,
    plain: &'a str,
    place: String,
}

impl<'a> Block<'a> {
    /// A text field; for a plain text content, its only field.
    fn text(&self, field: &str) -> &'a str {
        match self.fields {
            None => self.plain,
            Some(fields) => fields.get(field).and_then(Value::as_str).unwrap_or_default(),
        }
    }

    fn refused(&self, whose: &str) -> ApiError {
        let kind = self.kind;
        let error = ApiError::bad_field(&self.place, format!("{whose} holds a block of the type `{kind}`"));
        match kind {
            "image" | "document" => error.hint("this gateway takes text only, no images or documents"),
            _ => error,
        }
    }
}

/// The blocks of a content; a text counts as one.
fn blocks<'a>(content: &'a Value, place: &str) -> Result<Vec<Block<'a>>, ApiError> {
    let block = |(index, block): (usize, &'a Value)| {
        let place = format!("{place}[{index}]");
        let fields = block.as_object();
        match fields.and_then(|fields| fields.get("type")).and_then(Value::as_str) {
            Some(kind) => Ok(Block { kind, fields, plain: "", place }),
            None => Err(ApiError::bad_field(&place, "a content block must be an object with a `type`")),
        }
    };
    match content {
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Block { kind: "text", fields: None, plain: text, place: place.to_owned() }]),
        Value::Array(list) => list.iter().enumerate().map(block).collect(),
        _ => Err(ApiError::bad_field(place, "a content must be a text or a list of blocks")),
    }
}
