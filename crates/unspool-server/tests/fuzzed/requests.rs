//! Law: whatever bytes a client sends, reading them ends in a request that the gateway can answer, or in an error of the client's that
//! says what is wrong; never in a panic.
//!
//! The first byte chooses the API, the second what this server allows; the rest are the body, or say which fields one is put together
//! from.

use serde_json::{Map, Value, json};
use unspool_server::api::{ApiKind, chat_request};
use unspool_server::request::ToolRules;

/// Bytes before the body.
const HEAD: usize = 2;
/// Deepest nesting of a body that is put together.
const DEEPEST: usize = 5;

/// Runs one input; a panic is a broken law.
pub(crate) fn run(data: &[u8]) {
    let Some((&[api, rules], rest)) = data.split_first_chunk::<HEAD>() else { return };
    let api = ApiKind::ALL[usize::from(api) % ApiKind::ALL.len()];
    let rules = ToolRules { has_parser: rules & 1 == 0, auto: rules & 2 == 0 };
    check(api, rest, rules);
    let body = Words { bytes: rest, at: 0 }.body();
    check(api, body.to_string().as_bytes(), rules);
}

fn check(api: ApiKind, body: &[u8], rules: ToolRules) {
    match chat_request(api, body, rules) {
        Ok(request) => {
            assert!(!request.messages.is_empty() && (1..=128).contains(&request.n), "{:?}", request.messages);
            assert!(request.tools.len() >= request.parse.tools.names().count());
            assert!(!request.demands_calls() || rules.has_parser && !request.parse.tools.is_empty());
        }
        Err(error) => {
            assert!(error.status.is_client_error(), "{error:?}");
            assert!(!error.message.is_empty() && error.message.len() < 64 << 10, "{error:?}");
        }
    }
}

/// Bytes that are read as choices; behind the last one all choices are the first.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Fields of the three APIs, and words that stand in them.
const FIELDS: &[&str] = &[
    "messages",
    "input",
    "role",
    "content",
    "tools",
    "type",
    "text",
    "function",
    "name",
    "parameters",
    "tool_choice",
    "tool_calls",
    "model",
    "max_tokens",
    "stream",
    "stream_options",
    "response_format",
    "json_schema",
    "schema",
    "system",
    "instructions",
    "thinking",
    "budget_tokens",
    "stop",
    "n",
    "id",
    "tool_call_id",
    "tool_use_id",
    "arguments",
    "output",
    "call_id",
    "strict",
    "input_schema",
    "reasoning",
    "effort",
    "reasoning_effort",
    "chat_template_kwargs",
    "structured_outputs",
    "format",
    "seed",
    "temperature",
    "include_usage",
    "image_url",
    "url",
    "description",
    "namespace",
    "min_tokens",
    "parallel_tool_calls",
    "stop_sequences",
    "signature",
];
const WORDS: &[&str] = &[
    "user",
    "assistant",
    "system",
    "tool",
    "text",
    "function",
    "auto",
    "required",
    "none",
    "any",
    "json_schema",
    "json_object",
    "save",
    "tool_use",
    "tool_result",
    "thinking",
    "function_call",
    "function_call_output",
    "message",
    "input_text",
    "output_text",
    "custom",
    "{}",
    "{\"a\": 1}",
    "[",
    "high",
    "enabled",
    "disabled",
    "grammar",
    "image_url",
    "reasoning",
    "developer",
    "",
    "ä\u{1}\"",
];

impl Words<'_> {
    fn choice(&mut self, of: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % of
    }

    /// A body that most checks let pass, and what the bytes say besides.
    fn body(&mut self) -> Value {
        let mut body = Map::new();
        if self.choice(8) != 1 {
            let tool = json!({"type": "function", "name": "save", "input_schema": {"type": "object"},
                "function": {"name": "save", "parameters": {"type": "object"}}});
            let usual = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "input": "x", "tools": [tool]});
            body.extend(usual.as_object().cloned().unwrap_or_default());
        }
        for _ in 0..1 + self.choice(5) {
            let (key, value) = self.member(0);
            body.insert(key, value);
        }
        Value::Object(body)
    }

    fn member(&mut self, depth: usize) -> (String, Value) {
        let key = FIELDS[self.choice(FIELDS.len())].to_owned();
        (key, self.value(depth + 1))
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.choice(if depth < DEEPEST { 14 } else { 8 }) {
            0..=2 => WORDS[self.choice(WORDS.len())].into(),
            3 => [0, 1, -1, 128, 129, 1024, i64::MIN, i64::MAX][self.choice(8)].into(),
            4 => (self.choice(2) == 0).into(),
            5 => [0.5, 1e300, -0.0, 3.0_f64][self.choice(4)].into(),
            6 => Value::Null,
            7 => json!({}),
            8..=10 => (0..self.choice(4)).map(|_| self.value(depth + 1)).collect(),
            _ => (0..1 + self.choice(5)).map(|_| self.member(depth)).collect::<Map<_, _>>().into(),
        }
    }
}
