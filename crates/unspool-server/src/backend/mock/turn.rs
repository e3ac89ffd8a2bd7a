//! The turn of the mock model.

use serde::Serialize;
use serde_json::{Value, json};
use unspool::{Message, Request, ToolCall, ToolChoice};
use unspool_text::Rng;

use super::values::ValueMaker;
use super::words;
use crate::request::ChatRequest;

/// Number of calls in a turn that may have several.
const PARALLEL: usize = 2;
/// Minimum bytes of text per token, for requests with a minimum length.
const BYTES_PER_TOKEN: u64 = 10;
/// Maximum bytes for a minimum length.
const LONGEST_CONTENT: u64 = 1 << 20;

/// How much of a turn the syntax should express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plainness {
    /// All of it.
    Full,
    /// Without text before calls.
    Silent,
    /// Also with single words as values.
    PlainValues,
    /// Also with only one call.
    OneCall,
    /// Also without a thought.
    Bare,
}

/// From the full turn to the plainest.
pub(super) const PLAINNESS: [Plainness; 5] =
    [Plainness::Full, Plainness::Silent, Plainness::PlainValues, Plainness::OneCall, Plainness::Bare];

/// Generates the turn for a request.
pub(super) struct Writer<'a> {
    request: &'a ChatRequest,
    thinks: bool,
    rng: &'a mut Rng,
}

impl<'a> Writer<'a> {
    pub(super) fn new(request: &'a ChatRequest, thinks: bool, rng: &'a mut Rng) -> Self {
        Self { request, thinks, rng }
    }

    pub(super) fn parse(&self) -> &'a Request {
        &self.request.parse
    }

    /// A turn: a thought, one or more sentences, and calls if the request has tools that have not answered yet.
    pub(super) fn turn(&mut self, plainness: Plainness) -> Message {
        let answered = self.answered();
        let tool_calls = if self.calls_wanted() { self.calls(plainness) } else { Vec::new() };
        let calling = !tool_calls.is_empty();
        let bare = plainness == Plainness::Bare;
        let reasoning = if self.thinks && !bare { self.thought(calling, answered) } else { String::new() };
        let content = match (self.formatted(), calling) {
            (Some(value), false) => value,
            (_, true) if plainness != Plainness::Full => String::new(),
            (_, true) => self.say(words::BEFORE_CALLS),
            (None, false) => self.answer(answered),
        };
        Message { reasoning, content, tool_calls, diagnostics: Vec::new() }
    }

    fn answered(&self) -> bool {
        self.request.messages.last().is_some_and(|message| message.role == "tool")
    }

    /// Whether the turn has calls.
    pub(super) fn calls_wanted(&self) -> bool {
        match self.request.parse.tool_choice {
            ToolChoice::None => false,
            ToolChoice::Auto => {
                !self.request.tools.is_empty() && !self.answered() && self.request.response_format_kind().is_none()
            }
            ToolChoice::Required | ToolChoice::Named(_) => true,
        }
    }

    fn thought(&mut self, calling: bool, answered: bool) -> String {
        let first = self.say(words::THOUGHTS);
        let second = match (calling, answered) {
            (true, _) => self.say(words::TOOL_THOUGHTS),
            (false, true) => self.say(words::RESULT_THOUGHTS),
            (false, false) => return first,
        };
        format!("{first} {second}")
    }

    fn answer(&mut self, answered: bool) -> String {
        let mut text = if answered { self.say(words::AFTER_RESULTS) } else { self.say(words::ANSWERS) };
        let least = self.request.sampling.min_tokens.saturating_mul(BYTES_PER_TOKEN).min(LONGEST_CONTENT);
        let least = usize::try_from(least).unwrap_or(0);
        let more = 1 + self.rng.below(2);
        for number in 0.. {
            if number >= more && text.len() >= least {
                break;
            }
            text.push(' ');
            text.push_str(&self.say(words::ANSWERS));
        }
        text
    }

    fn say(&mut self, sentences: &[&str]) -> String {
        self.rng.pick(sentences).copied().unwrap_or_default().to_owned()
    }

    /// The answer in the requested form.
    fn formatted(&mut self) -> Option<String> {
        let schema = match self.request.response_format_kind()? {
            "json_schema" => self.request.response_format.as_ref()?.pointer("/json_schema/schema")?.clone(),
            "json_object" => {
                json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]})
            }
            _ => return None,
        };
        let value = ValueMaker::new(&schema, self.rng, false).value(&schema, "answer", 0);
        Some(spaced(&value))
    }

    fn calls(&mut self, plainness: Plainness) -> Vec<ToolCall> {
        let named = match &self.request.parse.tool_choice {
            ToolChoice::Named(name) => Some(name.as_str()),
            _ => None,
        };
        let functions: Vec<(&str, Option<&Value>)> = self.request.tools.iter().filter_map(function).collect();
        let mut fitting: Vec<_> =
            functions.iter().filter(|(name, _)| named.is_none_or(|wanted| wanted == *name)).copied().collect();
        let alone = named.is_some()
            || self.request.parse.parallel_tool_calls == Some(false)
            || matches!(plainness, Plainness::OneCall | Plainness::Bare);
        if fitting.is_empty() {
            return Vec::new();
        }
        let start = self.rng.below(fitting.len());
        fitting.rotate_left(start);
        let count = if alone { 1 } else { PARALLEL };
        let plain = !matches!(plainness, Plainness::Full | Plainness::Silent);
        fitting.iter().cycle().take(count).map(|(name, schema)| self.call(name, *schema, plain)).collect()
    }

    fn call(&mut self, name: &str, schema: Option<&Value>, plain: bool) -> ToolCall {
        let none = Value::Null;
        let arguments = ValueMaker::new(schema.unwrap_or(&none), self.rng, plain).arguments();
        ToolCall {
            id: String::new(),
            name: name.to_owned(),
            arguments: spaced(&Value::Object(arguments)),
            complete: true,
        }
    }
}

fn function(tool: &Value) -> Option<(&str, Option<&Value>)> {
    let function = tool.get("function")?;
    Some((function.get("name")?.as_str()?, function.get("parameters")))
}

/// JSON in the style of most models: a space after each comma and colon.
fn spaced(value: &Value) -> String {
    let mut out = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut out, Spaced);
    match value.serialize(&mut writer) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => value.to_string(),
    }
}

struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}
