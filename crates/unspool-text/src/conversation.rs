//! Brings a conversation of the chat API into the shape that chat templates read, by vLLM's rules.

use serde_json::{Map, Value, json};

use crate::error::TextError;
use crate::template::{ChatTemplate, ContentFormat};

/// Types of text parts, and the field with the text.
const TEXT_PARTS: [(&str, &str); 5] = [
    ("text", "text"),
    ("input_text", "text"),
    ("output_text", "text"),
    ("refusal", "refusal"),
    ("thinking", "thinking"),
];

/// The messages for a template that reads content in `format`: call arguments are objects, reasoning is under both of
/// its names, tool results are text, and nothing is `null` where a template expects content.
///
/// # Errors
/// A message without a role, a part that is not text, or a call that is not a function's; the message says which.
pub fn messages(messages: &[Value], format: ContentFormat) -> Result<Vec<Value>, TextError> {
    let prepared = messages.iter().enumerate().map(|(index, message)| {
        self::message(message, format).map_err(|error| error.at(&format!("messages[{index}]")))
    });
    prepared.collect()
}

fn message(message: &Value, format: ContentFormat) -> Result<Value, TextError> {
    let role = message.get("role").and_then(Value::as_str).ok_or_else(|| TextError::new("a message needs a `role`"))?;
    let mut out = Map::new();
    out.insert("role".to_owned(), json!(role));
    let mut said = parts(message.get("content"))?;
    if role == "system" {
        without_billing(&mut said);
    }
    out.insert("content".to_owned(), shown(said, format));
    if let Some(name) = message.get("name").filter(|name| name.is_string()) {
        out.insert("name".to_owned(), name.clone());
    }
    match role {
        "assistant" => assistant(message, &mut out)?,
        "tool" => {
            if let Some(id) = message.get("tool_call_id") {
                out.insert("tool_call_id".to_owned(), id.clone());
            }
            flatten(&mut out);
        }
        "developer" => {
            out.insert("tools".to_owned(), message.get("tools").cloned().unwrap_or_default());
        }
        _ => {}
    }
    Ok(Value::Object(out))
}

fn assistant(message: &Value, out: &mut Map<String, Value>) -> Result<(), TextError> {
    if let Some(calls) = message.get("tool_calls").and_then(Value::as_array).filter(|calls| !calls.is_empty()) {
        let calls = calls.iter().map(call).collect::<Result<Vec<_>, _>>()?;
        out.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    let said = |key: &str| message.get(key).filter(|value| !value.is_null());
    if let Some(reasoning) = said("reasoning").or_else(|| said("reasoning_content")) {
        out.insert("reasoning".to_owned(), reasoning.clone());
        out.insert("reasoning_content".to_owned(), reasoning.clone());
    }
    Ok(())
}

/// A call with its arguments as an object. Anything else counts as no arguments: the text is in the past of the
/// conversation, and refusing it would also refuse every further turn.
fn call(call: &Value) -> Result<Value, TextError> {
    let kind = call.get("type").map_or(Some("function"), Value::as_str);
    if kind != Some("function") || !call.get("function").is_some_and(Value::is_object) {
        return Err(TextError::new("a call in `tool_calls` must be of the type `function` and name one"));
    }
    let mut call = call.clone();
    let arguments = match &call["function"]["arguments"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        other => other.clone(),
    };
    call["function"]["arguments"] = if arguments.is_object() { arguments } else { json!({}) };
    Ok(call)
}

fn parts(content: Option<&Value>) -> Result<Vec<Value>, TextError> {
    Ok(match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
        Some(Value::Array(parts)) => {
            parts.iter().map(part).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
        }
        Some(_) => return Err(TextError::new("`content` must be text or a list of parts")),
    })
}

fn shown(parts: Vec<Value>, format: ContentFormat) -> Value {
    if format == ContentFormat::OpenAi {
        return Value::Array(parts);
    }
    let texts = parts.iter().filter_map(|part| part.get("text").or_else(|| part.get("name"))?.as_str());
    Value::String(texts.collect::<Vec<_>>().join("\n"))
}

/// Removes a line that some clients put before the system message. It changes with each request, so no prompt would
/// share its prefix with the previous one.
fn without_billing(parts: &mut Vec<Value>) {
    const LINE: &str = "x-anthropic-billing-header";
    parts.retain_mut(|part| {
        let Some(text) = part["text"].as_str().filter(|text| text.starts_with(LINE)) else { return true };
        let rest = text.split_once('\n').map_or("", |(_, rest)| rest).to_owned();
        part["text"] = Value::String(rest);
        part["text"] != ""
    });
}

/// A part as a template reads it; omits a part without content.
fn part(part: &Value) -> Result<Option<Value>, TextError> {
    if let Some(text) = part.as_str() {
        return Ok(Some(json!({"type": "text", "text": text})));
    }
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
    if kind == "tool_reference" {
        return Ok(part.get("name").map(|name| json!({"type": "tool_reference", "name": name})));
    }
    let Some((_, field)) = TEXT_PARTS.iter().find(|(known, _)| *known == kind) else {
        return Err(TextError::new(format!("a part of the type `{kind}` cannot be put into a prompt"))
            .hint("only text can be rendered here: text, input_text, output_text, refusal, thinking"));
    };
    Ok(part.get(field).filter(|text| text.is_string()).map(|text| json!({"type": "text", "text": text})))
}

/// A tool's result as text, unless it contains other parts.
fn flatten(message: &mut Map<String, Value>) {
    let Some(Value::Array(parts)) = message.get("content") else { return };
    if parts.iter().all(|part| part["type"] == "text") {
        let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        let text = texts.join("\n");
        message.insert("content".to_owned(), Value::String(text));
    }
}

/// For a template without the role `developer`: these messages become system messages, and all system messages are
/// merged into one at the start, because many templates allow no other.
pub fn without_developer(messages: &mut Vec<Value>, template: &ChatTemplate) {
    if template.knows_developer() || !messages.iter().any(|message| message["role"] == "developer") {
        return;
    }
    for message in messages.iter_mut().filter(|message| message["role"] == "developer") {
        message["role"] = json!("system");
        if let Some(message) = message.as_object_mut() {
            message.shift_remove("tools");
        }
    }
    let systems = messages.iter().filter(|message| message["role"] == "system");
    let texts: Vec<String> =
        systems.clone().map(|message| text(&message["content"])).filter(|t| !t.is_empty()).collect();
    if systems.count() == 1 && messages[0]["role"] == "system" {
        return;
    }
    messages.retain(|message| message["role"] != "system");
    messages.insert(0, json!({"role": "system", "content": texts.join("\n\n")}));
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// A tool as vLLM passes it to templates: only known fields, in a fixed order, with null for a missing description or
/// missing parameters.
#[must_use]
pub fn tool(tool: &Value) -> Value {
    let function = &tool["function"];
    let mut shown = Map::new();
    for key in ["name", "description", "parameters"] {
        shown.insert(key.to_owned(), function.get(key).cloned().unwrap_or_default());
    }
    for key in ["strict", "defer_loading"] {
        if let Some(value) = function.get(key).or_else(|| tool.get(key)).filter(|value| !value.is_null()) {
            shown.insert(key.to_owned(), value.clone());
        }
    }
    json!({"type": "function", "function": shown})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_put_into_shape() {
        let said = [
            json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            json!({"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": [2]}"}},
                {"id": "2", "type": "function", "function": {"name": "g", "arguments": "[1]"}},
                {"id": "3", "function": {"name": "h"}}]}),
            json!({"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}),
            json!({"role": "assistant", "content": "done", "tool_calls": []}),
        ];
        let text = messages(&said, ContentFormat::String).expect("all of it is text");
        assert_eq!(text[0]["content"], "a\nb");
        assert_eq!(
            (&text[1]["content"], &text[1]["reasoning"], &text[1]["reasoning_content"]),
            (&json!(""), &json!("r"), &json!("r"))
        );
        let arguments: Vec<String> =
            (0..3).map(|at| text[1]["tool_calls"][at]["function"]["arguments"].to_string()).collect();
        assert_eq!(arguments, ["{\"b\":1,\"a\":[2]}", "{}", "{}"]);
        assert_eq!((&text[2]["content"], &text[2]["tool_call_id"]), (&json!("x\ny"), &json!("1")));
        assert!(text[3].get("tool_calls").is_none() && text[3].get("reasoning").is_none());
        let parts = messages(&said, ContentFormat::OpenAi).expect("all of it is text");
        assert_eq!((&parts[1]["content"], &parts[2]["content"]), (&json!([]), &json!("x\ny")));
        assert_eq!(parts[3]["content"], json!([{"type": "text", "text": "done"}]));
    }

    #[test]
    fn a_billing_line_is_no_instruction() {
        let said = |text: &str| json!({"role": "system", "content": [{"type": "text", "text": text}, {"type": "text", "text": "b"}]});
        let shown =
            |text: &str| messages(&[said(text)], ContentFormat::String).map(|shown| shown[0]["content"].clone());
        assert_eq!(shown("x-anthropic-billing-header: cch=1\na"), Ok(json!("a\nb")));
        assert_eq!(shown("x-anthropic-billing-header: cch=1"), Ok(json!("b")));
        assert_eq!(shown("a"), Ok(json!("a\nb")));
    }

    #[test]
    fn faults_name_the_message() {
        let picture = json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]});
        let error =
            messages(&[json!({"role": "user", "content": ""}), picture], ContentFormat::String).expect_err("no text");
        assert!(error.message.starts_with("messages[1]: ") && error.message.contains("image_url"), "{error}");
        assert!(messages(&[json!({"content": "x"})], ContentFormat::String).is_err());
        let call = json!({"role": "assistant", "tool_calls": [{"type": "custom", "custom": {}}]});
        assert!(messages(&[call], ContentFormat::String).is_err());
    }

    #[test]
    fn developers_become_one_system_message() {
        let template = ChatTemplate::new("{{ messages[0].content }}").expect("it is Jinja");
        let mut said = vec![
            json!({"role": "system", "content": "one"}),
            json!({"role": "user", "content": "u"}),
            json!({"role": "developer", "content": "two", "tools": null}),
        ];
        without_developer(&mut said, &template);
        assert_eq!(said, [json!({"role": "system", "content": "one\n\ntwo"}), json!({"role": "user", "content": "u"})]);
        let knowing = ChatTemplate::new("{% if messages[0].role == 'developer' %}{% endif %}").expect("it is Jinja");
        let mut said = vec![json!({"role": "user"}), json!({"role": "developer", "content": "d"})];
        without_developer(&mut said, &knowing);
        assert_eq!(said[1]["role"], "developer");
    }

    #[test]
    fn tools_have_one_shape() {
        let shown = tool(
            &json!({"function": {"parameters": {"b": 1, "a": 2}, "name": "f", "more": 1, "strict": true}, "type": "function"}),
        );
        let expected = r#"{"type":"function","function":{"name":"f","description":null,"parameters":{"b":1,"a":2},"strict":true}}"#;
        assert_eq!(shown.to_string(), expected);
    }
}
