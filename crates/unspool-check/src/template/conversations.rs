//! The conversations for testing templates.

use serde_json::{Value, json};

/// An assistant turn, and the messages before it.
pub(super) struct Case {
    /// A description of the turn.
    pub(super) name: &'static str,
    /// The messages before it.
    pub(super) before: Vec<Value>,
    /// Its reasoning.
    pub(super) reasoning: &'static str,
    /// Its text.
    pub(super) content: &'static str,
    /// Its calls: names and arguments.
    pub(super) calls: Vec<(&'static str, Value)>,
    /// Whether a template must support it.
    pub(super) needed: bool,
}

/// A text that occurs only in this turn.
pub(super) const ANSWER: &str = "High water is at a quarter past six.";
pub(super) const THOUGHT: &str = "The harbour is known, so its table can be asked.";
/// The name of the tool in most calls.
pub(super) const TOOL: &str = "tide_table";

impl Case {
    fn new(name: &'static str) -> Self {
        Self { name, before: vec![question()], reasoning: "", content: "", calls: Vec::new(), needed: false }
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

    /// The conversation with the turn at its end.
    pub(super) fn messages(&self) -> Vec<Value> {
        let mut messages = self.before.clone();
        messages.push(self.message());
        messages
    }
}

pub(super) fn question() -> Value {
    json!({"role": "user", "content": "When is high water?"})
}

/// An instruction before a question, for templates that show tools nowhere else.
pub(super) fn instruction() -> Value {
    json!({"role": "system", "content": "Answer in one sentence."})
}

fn written(at: usize, (name, arguments): &(&str, Value)) -> Value {
    // Some templates only accept ids of nine letters and digits.
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
        json!({"type": "function", "function": {"name": TOOL, "description": "Times of high water", "parameters": tide}}),
        json!({"type": "function", "function": {"name": "list_harbours", "description": "All harbours", "parameters": nothing}}),
    ]
}

fn result(at: usize, content: &str) -> Value {
    json!({"role": "tool", "tool_call_id": format!("callnr{at:03}"), "name": TOOL, "content": content})
}

/// The reference turn.
pub(super) fn answer() -> Case {
    Case { content: ANSWER, needed: true, ..Case::new("an answer") }
}

/// All of them.
pub(super) fn cases() -> Vec<Case> {
    let whitby = || (TOOL, json!({"harbour": "Whitby"}));
    let odd = json!({"harbour": "the \"Old\" one\nby C:\\pier", "day": "007", "depth": 1.5, "marks": [1, 20],
        "options": {"spring": true, "unit": ""}});
    let asked = Case { calls: vec![whitby()], ..Case::new("") };
    vec![
        answer(),
        Case { reasoning: THOUGHT, content: ANSWER, needed: true, ..Case::new("a thought and an answer") },
        Case { calls: vec![whitby()], needed: true, ..Case::new("a call") },
        Case { reasoning: THOUGHT, calls: vec![whitby()], needed: true, ..Case::new("a thought and a call") },
        Case { content: "Let me look.", calls: vec![whitby()], ..Case::new("text and a call") },
        Case { calls: vec![whitby(), (TOOL, json!({"harbour": "Hull", "depth": 2}))], ..Case::new("two calls") },
        Case { calls: vec![("list_harbours", json!({}))], ..Case::new("a call without arguments") },
        Case { calls: vec![(TOOL, odd)], ..Case::new("a call with odd arguments") },
        Case {
            before: vec![question(), asked.message(), result(0, "18:15")],
            content: ANSWER,
            needed: true,
            ..Case::new("an answer after a result")
        },
    ]
}

/// A conversation of several rounds that begins with an instruction.
pub(super) fn long() -> Case {
    let asked =
        Case { calls: vec![(TOOL, json!({"harbour": "Whitby"}))], reasoning: THOUGHT, ..Case::new("") }.message();
    let before = vec![
        instruction(),
        question(),
        asked,
        result(0, "18:15"),
        json!({"role": "assistant", "content": ANSWER, "reasoning_content": THOUGHT}),
        json!({"role": "user", "content": "And tomorrow?"}),
    ];
    Case { before, content: "At seven.", ..Case::new("several rounds") }
}
