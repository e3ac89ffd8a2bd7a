//! The renderer's output for each format, compared with texts written by hand.

mod channels;
mod envelope;
mod files;
mod header_and_json;
mod literals;
mod parameters;
mod refusals;
mod thinking;

use serde_json::{Value, json};

use super::{RenderError, render};
use crate::format::file::FormatFile;
use crate::format::syntax::Format;
use crate::limits::Limits;
use crate::message::{Message, ToolCall};
use crate::request::Request;
use crate::setup::Half;

/// A call.
fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall { name: name.to_owned(), arguments: arguments.to_owned(), complete: true, ..ToolCall::default() }
}

/// The two calls in most texts.
fn two_calls() -> Vec<ToolCall> {
    vec![call("tide", r#"{"port": "Looe", "days": 3}"#), call("ping", "{}")]
}

/// A request with the tools that the tests call; `fields` are further fields of it.
fn request(fields: Value) -> Request {
    let parameters = json!({
        "type": "object",
        "properties": {
            "port": {"type": "string"},
            "days": {"type": "integer"},
            "wet": {"type": "boolean"},
            "note": {"type": ["string", "null"]},
            "marks": {"type": "array", "items": {"type": "string"}},
            "boat": {"type": "object", "properties": {"name": {"type": "string"}, "feet": {"type": "number"}}},
        },
    });
    let mut all = json!({"tools": [
        {"type": "function", "function": {"name": "tide", "parameters": parameters}},
        {"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}},
    ]});
    if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
        all.extend(fields);
    }
    Request::from_openai(&all).unwrap()
}

/// A pair of names and a message to render.
#[derive(Clone)]
struct Case {
    reasoning: Option<String>,
    tools: Option<String>,
    message: Message,
    fields: Value,
    words: fn(&mut FormatFile),
    limits: Limits,
}

/// The case of one name for each half that has it.
fn of(reasoning: &str, tools: &str) -> Case {
    let half = |name: &str| Some(name.to_owned()).filter(|n| !n.is_empty());
    Case {
        reasoning: half(reasoning),
        tools: half(tools),
        message: Message::default(),
        fields: json!({}),
        words: |_| {},
        limits: Limits::default(),
    }
}

impl Case {
    fn thought(mut self, text: &str) -> Self {
        self.message.reasoning = text.to_owned();
        self
    }

    fn answer(mut self, text: &str) -> Self {
        self.message.content = text.to_owned();
        self
    }

    fn calls(mut self, calls: Vec<ToolCall>) -> Self {
        self.message.tool_calls = calls;
        self
    }

    fn call(self, name: &str, arguments: &str) -> Self {
        self.calls(vec![call(name, arguments)])
    }

    fn with(mut self, fields: Value) -> Self {
        self.fields = fields;
        self
    }

    /// Changes the format's keys.
    fn words(mut self, words: fn(&mut FormatFile)) -> Self {
        self.words = words;
        self
    }

    /// Sets the parser's limits.
    fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    fn result(&self) -> Result<String, RenderError> {
        let request = request(self.fields.clone());
        let kwargs = &request.chat_template_kwargs;
        let file = |half: Half, name: &str| {
            let mut file = files::named(half, name, kwargs);
            (self.words)(&mut file);
            Format::new(file).unwrap()
        };
        let reasoning = self.reasoning.as_deref().map(|n| file(Half::Reasoning, n));
        let tools = self.tools.as_deref().map(|n| file(Half::Tools, n));
        render((reasoning.as_ref(), tools.as_ref()), &self.limits, &self.message, &request)
    }

    /// The rendered text.
    fn text(&self) -> String {
        self.result().unwrap_or_else(|e| panic!("refused: {e}"))
    }

    /// The path of the refused value.
    fn refused(&self) -> String {
        match self.result() {
            Ok(text) => panic!("written: {text:?}"),
            Err(e) => e.place,
        }
    }
}
