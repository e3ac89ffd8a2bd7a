//! What is measured: messages whose content, thought or arguments are what models write.

use serde_json::{Value, json};
use unspool::{Message, ToolCall};

/// One column of the tables.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The message, of about this many bytes.
    make: fn(usize) -> Message,
}

/// Where most of an input's bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Thought and content.
    Text,
    /// The arguments of few calls.
    Arguments,
    /// Many short calls.
    Calls,
}

impl Input {
    pub(crate) fn message(&self, bytes: usize) -> Message {
        (self.make)(bytes)
    }
}

const PROSE: &str = include_str!("../texts/prose.txt");
const MARKDOWN: &str = include_str!("../texts/markdown.md");
const RUST: &str = include_str!("../texts/code.rs");
const PYTHON: &str = include_str!("../texts/code.py");
const TYPESCRIPT: &str = include_str!("../texts/code.tsx");
const CHINESE: &str = include_str!("../texts/chinese.md");
const JSON: &str = include_str!("../texts/json.md");
const TABLE: &str = include_str!("../texts/table.md");

/// All inputs, in the order of the columns.
pub(crate) const INPUTS: &[Input] = &[
    Input { name: "turn", kind: Kind::Text, make: turn },
    Input { name: "prose", kind: Kind::Text, make: |bytes| answer(PROSE, bytes) },
    Input { name: "markdown", kind: Kind::Text, make: |bytes| answer(MARKDOWN, bytes) },
    Input { name: "thought", kind: Kind::Text, make: thought },
    Input { name: "rust", kind: Kind::Text, make: |bytes| code("Rust", RUST, bytes) },
    Input { name: "python", kind: Kind::Text, make: |bytes| code("Python", PYTHON, bytes) },
    Input { name: "tsx", kind: Kind::Text, make: |bytes| code("TypeScript", TYPESCRIPT, bytes) },
    Input { name: "chinese", kind: Kind::Text, make: |bytes| answer(CHINESE, bytes) },
    Input { name: "json", kind: Kind::Text, make: |bytes| answer(JSON, bytes) },
    Input { name: "table", kind: Kind::Text, make: |bytes| answer(TABLE, bytes) },
    Input { name: "args: text", kind: Kind::Arguments, make: |bytes| written("note.txt", PROSE, bytes) },
    Input { name: "args: code", kind: Kind::Arguments, make: |bytes| written("highest.rs", RUST, bytes) },
    Input { name: "args: numbers", kind: Kind::Arguments, make: numbers },
    Input { name: "calls", kind: Kind::Calls, make: short_calls },
];

const THOUGHT: &str = "They want it done properly, so I check the details first and then answer.";
const ANSWER: &str = "Here it is.";

/// The tools of every request.
pub(crate) fn tools() -> Value {
    let parameters = [
        ("write_file", "Writes a file into the project, and makes its folders.", write_file_parameters()),
        ("plot", "Draws levels as a line and shows the picture.", plot_parameters()),
        ("tide", "High and low water at a harbour.", tide_parameters()),
    ];
    parameters
        .into_iter()
        .map(|(name, description, parameters)| {
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
        })
        .collect()
}

fn write_file_parameters() -> Value {
    json!({"type": "object", "required": ["path", "content"], "additionalProperties": false, "properties": {
        "path": {"type": "string", "description": "Where, from the project's root."},
        "content": {"type": "string", "description": "The whole text."},
        "mode": {"type": "string", "enum": ["create", "replace", "append"], "default": "create"},
        "executable": {"type": "boolean"}}})
}

fn plot_parameters() -> Value {
    json!({"type": "object", "required": ["values"], "properties": {
        "title": {"type": "string"},
        "values": {"type": "array", "items": {"type": "number"}, "minItems": 1},
        "axis": {"type": "object", "properties": {
            "unit": {"type": "string"},
            "from": {"type": ["number", "null"]},
            "to": {"anyOf": [{"type": "number"}, {"type": "null"}]}}}}})
}

fn tide_parameters() -> Value {
    json!({"type": "object", "required": ["harbour"], "properties": {
        "harbour": {"type": "string", "description": "Its name, as on the chart."},
        "date": {"type": "string", "format": "date"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14}}})
}

/// The sample again and again, without a cut in the middle.
fn repeated(sample: &str, bytes: usize) -> String {
    let times = bytes.div_ceil(sample.len()).max(1);
    vec![sample.trim(); times].join("\n\n")
}

fn call(name: &str, arguments: &Value) -> ToolCall {
    ToolCall { name: name.into(), arguments: arguments.to_string(), complete: true, ..ToolCall::default() }
}

fn answer(sample: &str, bytes: usize) -> Message {
    Message { reasoning: THOUGHT.into(), content: repeated(sample, bytes), ..Message::default() }
}

fn thought(bytes: usize) -> Message {
    Message { reasoning: repeated(MARKDOWN, bytes), content: ANSWER.into(), ..Message::default() }
}

fn code(language: &str, sample: &str, bytes: usize) -> Message {
    let fence = language.to_lowercase();
    let block = format!("In {language} it would be:\n\n```{fence}\n{}\n```", sample.trim());
    answer(&block, bytes)
}

/// A third thought, a third content, a third in the arguments of two calls.
fn turn(bytes: usize) -> Message {
    let file = |path| call("write_file", &json!({"path": path, "content": repeated(&PROSE[..450], bytes / 6)}));
    Message {
        reasoning: repeated(&PROSE[..450], bytes / 3),
        content: repeated(MARKDOWN, bytes / 3),
        tool_calls: vec![file("a.txt"), file("b.txt")],
        ..Message::default()
    }
}

fn calling(tool_calls: Vec<ToolCall>) -> Message {
    Message { reasoning: THOUGHT.into(), content: ANSWER.into(), tool_calls, ..Message::default() }
}

fn written(path: &str, sample: &str, bytes: usize) -> Message {
    calling(vec![call("write_file", &json!({"path": path, "content": repeated(sample, bytes)}))])
}

/// Numbers as a gauge gives them; about six bytes each.
fn numbers(bytes: usize) -> Message {
    let level = |at: usize| ((at * 7919 % 1000) as f64 - 400.0) / 100.0;
    let values: Vec<f64> = (0..bytes / 6).map(level).collect();
    calling(vec![call("plot", &json!({"title": "Levels", "values": values}))])
}

/// Parallel calls of about fifty bytes each.
fn short_calls(bytes: usize) -> Message {
    let harbours = ["Looe", "Fowey", "Polperro", "Mevagissey"];
    let short = |at: usize| call("tide", &json!({"harbour": harbours[at % harbours.len()], "days": at % 14 + 1}));
    calling((0..bytes.div_ceil(50)).map(short).collect())
}
