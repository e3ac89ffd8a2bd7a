//! Random messages: plausible reasoning, a sentence, and calls whose arguments match the tools' schemas.
//!
//! For tests, and for a backend that replaces a model. The same seed gives the same messages on every machine.
//!
//! ```
//! use unspool::sample::{Parts, Sampler};
//!
//! let tools = serde_json::json!([{"type": "function", "function": {
//!     "name": "tide",
//!     "parameters": {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]},
//! }}]);
//! let message = Sampler::new(7).message_of(&tools, Parts { reasoning: true, content: false, calls: 1 });
//! assert!(!message.reasoning.is_empty());
//! assert_eq!(message.tool_calls[0].name, "tide");
//! assert!(message.tool_calls[0].arguments.starts_with("{\"port\": \""));
//! ```

pub(crate) mod pattern;
mod schema;

use serde_json::Value;

use crate::message::{Message, ToolCall};

use crate::random::Random;

/// Generates messages.
#[derive(Debug, Clone)]
pub struct Sampler {
    random: Random,
}

/// The parts of a generated message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Reasoning.
    pub reasoning: bool,
    /// Content.
    pub content: bool,
    /// Number of calls; none if there are no tools.
    pub calls: usize,
}

const SUBJECTS: &[&str] = &["The user", "This question", "The harbour log", "A careful answer", "The second part"];
const VERBS: &[&str] = &["asks for", "needs", "mentions", "depends on", "leaves out", "should begin with"];
const OBJECTS: &[&str] = &[
    "the tide table",
    "two keels on one slip",
    "an early start",
    "the depth at low water",
    "the ferry's new berth",
    "a spare mooring",
    "Tuesday's forecast",
];
const ANSWERS: &[&str] = &[
    "I will look that up.",
    "The slip is free on Tuesday, from seven to nine.",
    "There are 3 berths left; the outer one is 2.5 m deep.",
    "That depends on the wind, so let me check.",
    "Yes: the ferry leaves at 08:40 and is back by noon.",
    "Looe has no fuel berth, but Fowey does.",
];

impl Sampler {
    /// A sampler that always generates the same messages from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed) }
    }

    /// A message with random parts. `tools`: as in OpenAI's API, nested or flat; null or empty: no calls.
    pub fn message(&mut self, tools: &Value) -> Message {
        let parts = self.parts(tools);
        self.message_of(tools, parts)
    }

    /// A message with these parts.
    pub fn message_of(&mut self, tools: &Value, parts: Parts) -> Message {
        Message {
            reasoning: if parts.reasoning { self.thought() } else { String::new() },
            content: if parts.content { self.sentence() } else { String::new() },
            tool_calls: self.calls(tools, parts.calls),
            ..Message::default()
        }
    }

    /// Typical parts: usually reasoning, calls in about half of the messages if there are tools.
    pub fn parts(&mut self, tools: &Value) -> Parts {
        let has_tools = functions(tools).next().is_some();
        let calls = if has_tools && self.random.chance(1, 2) { 1 + self.random.below(3) } else { 0 };
        Parts { reasoning: self.random.chance(3, 4), content: calls == 0 || self.random.chance(1, 3), calls }
    }

    /// Reasoning of one to three sentences.
    pub fn thought(&mut self) -> String {
        let count = 1 + self.random.below(3);
        let sentences: Vec<String> = (0..count)
            .map(|_| {
                let (subject, verb) = (self.random.pick(SUBJECTS), self.random.pick(VERBS));
                format!("{subject} {verb} {}.", self.random.pick(OBJECTS))
            })
            .collect();
        sentences.join(if self.random.chance(1, 4) { "\n" } else { " " })
    }

    /// One sentence of an answer.
    pub fn sentence(&mut self) -> String {
        self.random.pick(ANSWERS).to_owned()
    }

    /// A number of calls of random tools.
    pub fn calls(&mut self, tools: &Value, count: usize) -> Vec<ToolCall> {
        let all: Vec<&Value> = functions(tools).collect();
        (0..count)
            .filter_map(|_| {
                let tool = self.random.any(&all).copied()?;
                self.call(tool)
            })
            .collect()
    }

    /// A call of one tool, nested or flat; `None` if it has no name.
    pub fn call(&mut self, tool: &Value) -> Option<ToolCall> {
        let function = function(tool)?;
        let name = function.get("name")?.as_str()?.to_owned();
        let parameters = function.get("parameters").or_else(|| function.get("input_schema")).unwrap_or(&Value::Null);
        let arguments = self.arguments(parameters);
        Some(ToolCall { id: format!("call_{:016x}", self.random.next()), name, arguments, complete: true })
    }

    /// JSON text of arguments that match a parameter schema.
    pub fn arguments(&mut self, parameters: &Value) -> String {
        match self.value(parameters) {
            value @ Value::Object(_) => json_text(&value),
            _ => "{}".to_owned(),
        }
    }

    /// A number less than `end`; 0 if that is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.random.below(end)
    }

    /// A value that matches a schema: types, `enum`, `const`, unions, `allOf`, local `$ref`, required and some optional
    /// members, limits of numbers, lists and strings, patterns, common string formats.
    pub fn value(&mut self, schema: &Value) -> Value {
        schema::Maker { random: &mut self.random, root: schema }.value(schema, 0)
    }
}

/// The functions among tools.
fn functions(tools: &Value) -> impl Iterator<Item = &Value> {
    tools
        .as_array()
        .into_iter()
        .flatten()
        .filter(|t| function(t).and_then(|f| f.get("name")).is_some_and(Value::is_string))
}

fn function(tool: &Value) -> Option<&Value> {
    tool.get("function").filter(|f| f.is_object()).or(Some(tool)).filter(|f| f.is_object())
}

/// JSON as most models write it: a blank after each comma and colon.
pub(crate) fn json_text(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(json_text).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(k, v)| format!("{}: {}", Value::from(k.as_str()), json_text(v))).collect();
            format!("{{{}}}", members.join(", "))
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
