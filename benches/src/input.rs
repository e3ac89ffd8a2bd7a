//! What is measured: one long turn in each syntax, and the text of the turn in pieces.

use serde_json::{Value, json};
use unspool::Pair;
use unspool::{Message, Registry, Request, Setup, ToolCall};

/// One row of the table: a pair of names, and what the others call the same format.
pub(crate) struct Format {
    /// How the arguments are written.
    pub(crate) syntax: &'static str,
    pub(crate) reasoning: &'static str,
    pub(crate) tools: &'static str,
    /// Reasoning parser and tool parser of smg.
    pub(crate) smg: Option<(&'static str, &'static str)>,
    /// Unified family of dynamo-parsers-v2.
    pub(crate) dynamo: Option<&'static str>,
}

macro_rules! formats {
    ($($syntax:literal $reasoning:literal $tools:literal $smg:expr, $dynamo:expr;)*) => {
        &[$(Format { syntax: $syntax, reasoning: $reasoning, tools: $tools, smg: $smg, dynamo: $dynamo }),*]
    };
}

/// At least one name of every syntax, and those that others support too.
pub(crate) const FORMATS: &[Format] = formats! {
    "JSON envelope" "qwen3" "hermes" Some(("qwen3", "qwen")), None;
    "JSON envelope" "mistral" "mistral" None, None;
    "raw JSON" "deepseek_r1" "deepseek_v3" Some(("deepseek_r1", "deepseek")), None;
    "raw JSON" "kimi_k2" "kimi_k2" Some(("kimi_thinking", "kimik2")), Some("kimi_k2");
    "bare JSON" "qwen3" "llama3_json" Some(("qwen3", "llama")), None;
    "parameters" "qwen3" "qwen3_coder" Some(("qwen3", "qwen_xml")), Some("qwen3");
    "parameters" "glm45" "glm47" Some(("glm45", "glm47_moe")), Some("glm47");
    "parameters" "deepseek_v4" "deepseek_v4" Some(("deepseek_v4", "deepseek_v4")), Some("deepseek_v4");
    "parameters" "minimax_m2" "minimax_m2" Some(("minimax", "minimax_m2")), None;
    "nested elements" "minimax_m3" "minimax_m3" Some(("minimax_m3", "minimax_m3")), Some("minimax_m3");
    "keyword arguments" "olmo3" "olmo3" None, None;
    "literals" "gemma4" "gemma4" Some(("gemma4", "gemma4")), Some("gemma4");
    "channels" "openai_gptoss" "openai" None, Some("harmony");
};

impl Format {
    pub(crate) fn pair(&self) -> Pair {
        let setup = Setup {
            reasoning_parser: Some(self.reasoning.into()),
            tool_parser: Some(self.tools.into()),
            ..Setup::default()
        };
        Registry::builtin().pair(&setup).expect("built-in names")
    }
}

/// The one tool of every request.
pub(crate) fn parameters() -> Value {
    json!({"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}})
}

pub(crate) fn request() -> Request {
    let body = json!({"tools": [{"type": "function", "function": {"name": "save", "parameters": parameters()}}]});
    Request::from_openai(&body).expect("a good request")
}

fn prose(bytes: usize) -> String {
    let words = "the keel lies on its slip and waits for spring tide; ";
    words.repeat(bytes / words.len() + 1).trim().to_owned()
}

fn call(bytes: usize, n: usize) -> ToolCall {
    let arguments = json!({"text": prose(bytes), "n": n}).to_string();
    ToolCall { name: "save".into(), arguments, complete: true, ..ToolCall::default() }
}

/// A full turn: a third thought, a third content, a third in the arguments of two calls.
pub(crate) fn turn(tokens: usize) -> Message {
    let third = tokens * 4 / 3;
    let tool_calls = vec![call(third / 2, 1), call(third / 2, 2)];
    Message { reasoning: prose(third), content: prose(third), tool_calls, ..Message::default() }
}

/// Thought and content alone.
pub(crate) fn text_alone(tokens: usize) -> Message {
    Message { reasoning: prose(tokens * 2), content: prose(tokens * 2), ..Message::default() }
}

/// One call and next to nothing else.
pub(crate) fn arguments_alone(tokens: usize) -> Message {
    Message { reasoning: prose(1), content: prose(1), tool_calls: vec![call(tokens * 4, 1)], ..Message::default() }
}

/// The text in tokens of about four bytes. A tag, or what else tokenizers have as one entry, is one token, as it is in every
/// model's output: parsers that find a marker only if it comes whole find it.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let len = tag(rest).unwrap_or_else(|| {
            let end = rest.ceil_char_boundary(4.min(rest.len()));
            let first = rest.chars().next().map_or(0, char::len_utf8);
            rest[first..end].find(['<', '[']).map_or(end, |at| first + at)
        });
        let (piece, behind) = rest.split_at(len);
        out.push(piece);
        rest = behind;
    }
    out
}

/// Length of the tag at the start: `<name>`, `</name>`, `<|name|>`, `<｜name｜>`, `[NAME]`.
fn tag(text: &str) -> Option<usize> {
    let (closer, inside): (char, fn(char) -> bool) = match text.chars().next()? {
        '<' => ('>', |c| c.is_ascii_alphanumeric() || "/|_:-｜▁".contains(c)),
        '[' => (']', |c| c.is_ascii_uppercase() || c == '_'),
        _ => return None,
    };
    let end = text[1..].find(|c| !inside(c)).map(|at| at + 1)?;
    (end > 1 && text[end..].starts_with(closer)).then_some(end + 1)
}
