//! The conversations that a template is tried with.

use serde_json::{Value, json};

/// A turn of the assistant, and what comes before it.
pub(super) struct Case {
    /// What the turn is, for people.
    pub(super) name: &'static str,
    /// The messages before it.
    pub(super) before: Vec<Value>,
    /// Its thought.
    pub(super) reasoning: &'static str,
    /// Its text.
    pub(super) content: &'static str,
    /// Its calls: names and arguments.
    pub(super) calls: Vec<(&'static str, Value)>,
}

/// The text of a turn that nothing else writes.
pub(super) const ANSWER: &str = "High water is at a quarter past six.";
const THOUGHT: &str = "The harbour is known, so its table can be asked.";

impl Case {
    fn new(name: &'static str) -> Self {
        Self { name, before: vec![question()], reasoning: "", content: "", calls: Vec::new() }
    }

    /// The turn as a message of the chat API.
    pub(super) fn message(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = json!(self.reasoning);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().enumerate().map(|(at, call)| written(at, call)).collect();
        }
        message
    }
}

fn question() -> Value {
    json!({"role": "user", "content": "When is high water?"})
}

fn written(at: usize, (name, arguments): &(&str, Value)) -> Value {
    // Some templates take ids of nine letters and digits only.
    json!({"id": format!("callnr{at:03}"), "type": "function",
        "function": {"name": name, "arguments": arguments.to_string()}})
}

/// The tools of all conversations.
pub(super) fn tools() -> Vec<Value> {
    let tide = json!({"type": "object", "properties": {
        "harbour": {"type": "string"}, "day": {"type": "string"}, "depth": {"type": "number"},
        "marks": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object", "properties": {"spring": {"type": "boolean"}, "unit": {"type": "string"}}},
    }, "required": ["harbour"]});
    let nothing = json!({"type": "object", "properties": {}});
    vec![
        json!({"type": "function", "function": {"name": "tide_table", "description": "Times of high water", "parameters": tide}}),
        json!({"type": "function", "function": {"name": "list_harbours", "description": "All harbours", "parameters": nothing}}),
    ]
}

/// All of them.
pub(super) fn cases() -> Vec<Case> {
    let whitby = || ("tide_table", json!({"harbour": "Whitby"}));
    let odd = json!({"harbour": "the \"Old\" one\nby C:\\pier", "day": "007", "depth": 1.5, "marks": [1, 20],
        "options": {"spring": true, "unit": ""}});
    let asked = Case { calls: vec![whitby()], ..Case::new("") };
    let result = json!({"role": "tool", "tool_call_id": "callnr000", "name": "tide_table", "content": "18:15"});
    vec![
        Case { content: ANSWER, ..Case::new("an answer") },
        Case { reasoning: THOUGHT, content: ANSWER, ..Case::new("a thought and an answer") },
        Case { calls: vec![whitby()], ..Case::new("a call") },
        Case { reasoning: THOUGHT, calls: vec![whitby()], ..Case::new("a thought and a call") },
        Case { content: "Let me look.", calls: vec![whitby()], ..Case::new("text and a call") },
        Case {
            calls: vec![whitby(), ("tide_table", json!({"harbour": "Hull", "depth": 2}))],
            ..Case::new("two calls")
        },
        Case { calls: vec![("list_harbours", json!({}))], ..Case::new("a call without arguments") },
        Case { calls: vec![("tide_table", odd)], ..Case::new("a call with odd arguments") },
        Case {
            before: vec![question(), asked.message(), result],
            content: ANSWER,
            ..Case::new("an answer after a result")
        },
    ]
}
