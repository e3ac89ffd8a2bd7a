//! Folds streams of the three APIs into their answers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::input::{MOST_OUTPUTS, Output, ending, taken};

/// The answers of a stream, and its error.
#[derive(Debug, Default)]
pub(super) struct Folded {
    pub(super) outputs: Vec<Output>,
    pub(super) error: Option<Value>,
}

/// Whether a text is a log of server-sent events.
pub(super) fn is_stream(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with(':'));
    lines.next().is_some_and(|line| {
        let field = line.strip_prefix("data:").or(line.strip_prefix("event:"));
        field.is_some_and(|value| {
            value.trim() == "[DONE]" || value.trim_start().starts_with('{') || !line.starts_with('d')
        })
    })
}

/// Folds a log of events. Skips events that do not belong to an answer.
pub(super) fn fold(text: &str) -> Folded {
    let data = text.lines().filter_map(|line| line.trim_start().strip_prefix("data:"));
    fold_values(data.filter_map(|data| serde_json::from_str(data.trim()).ok()))
}

/// Folds events; each answer is identified by its stream's id and its index.
pub(super) fn fold_values(events: impl Iterator<Item = Value>) -> Folded {
    let mut answers: BTreeMap<(usize, u64), Answer> = BTreeMap::new();
    let mut streams: Vec<String> = Vec::new();
    let mut error = None;
    for event in events {
        if let Some(told) = event.get("error").filter(|told| !told.is_null()) {
            error.get_or_insert_with(|| told.clone());
            continue;
        }
        let id = event.get("id").and_then(Value::as_str).unwrap_or_default();
        let stream = match streams.iter().position(|known| known == id) {
            Some(at) => at,
            None if streams.len() < MOST_OUTPUTS => {
                streams.push(id.to_owned());
                streams.len() - 1
            }
            None => continue,
        };
        let pieces = pieces(&event);
        // The events of Responses and Messages have no id of their answer.
        let stream = if pieces.iter().any(|piece| piece.index.is_none()) { 0 } else { stream };
        for piece in pieces {
            let answer = answers.entry((stream, piece.index.unwrap_or(0))).or_default();
            answer.add(piece, &event);
        }
    }
    Folded { outputs: answers.into_values().map(Answer::output).collect(), error }
}

/// A part of an answer.
#[derive(Default)]
struct Piece<'a> {
    /// The choice of a chat or text completion; `None`: another API.
    index: Option<u64>,
    reasoning: &'a str,
    field: Option<&'a str>,
    content: &'a str,
    text: bool,
    /// The index or id of its call.
    call: Option<String>,
    finish: Option<String>,
}

#[derive(Default)]
struct Answer {
    output: Output,
    text: bool,
    calls: Vec<String>,
}

impl Answer {
    fn add(&mut self, piece: Piece<'_>, event: &Value) {
        let output = &mut self.output;
        output.reasoning += piece.reasoning;
        output.content += piece.content;
        self.text |= piece.text;
        if let Some(field) = piece.field.filter(|_| !piece.reasoning.is_empty())
            && !output.reasoning_fields.0.iter().any(|known| known == field)
        {
            output.reasoning_fields.0.push(field.to_owned());
        }
        if let Some(call) = piece.call.filter(|call| !self.calls.contains(call)) {
            self.calls.push(call);
        }
        output.finish_reason = piece.finish.or(output.finish_reason.take());
        if let Some(model) = event.get("model").and_then(Value::as_str) {
            output.model.get_or_insert_with(|| model.to_owned());
        }
    }

    fn output(self) -> Output {
        let Self { mut output, text, calls } = self;
        output.calls = calls.len();
        output.parsed = !text;
        (output.raw, output.place) = if text {
            (std::mem::take(&mut output.content), "the text".to_owned())
        } else {
            taken(&output.reasoning, &output.content)
        };
        output
    }
}

/// The parts of answers in an event.
fn pieces(event: &Value) -> Vec<Piece<'_>> {
    if let Some(choices) = event.get("choices").and_then(Value::as_array) {
        let chunk = choices.iter().filter(|choice| choice.get("delta").is_some() || is_text_chunk(choice, event));
        return chunk.flat_map(of_choice).collect();
    }
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
            vec![Piece { reasoning: text("delta"), ..Piece::default() }]
        }
        "response.output_text.delta" => vec![Piece { content: text("delta"), ..Piece::default() }],
        "response.function_call_arguments.delta" | "response.function_call_arguments.done" => {
            vec![Piece { call: Some(text("item_id").to_owned()), ..Piece::default() }]
        }
        "response.completed" | "response.incomplete" => {
            let response = &event["response"];
            let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
            vec![Piece { finish: reason.or(response["status"].as_str()).map(ending), ..Piece::default() }]
        }
        "content_block_start" if event["content_block"]["type"] == "tool_use" => {
            vec![Piece { call: Some(event["index"].to_string()), ..Piece::default() }]
        }
        "content_block_delta" => {
            let delta = |key: &str| event["delta"].get(key).and_then(Value::as_str).unwrap_or_default();
            vec![Piece { reasoning: delta("thinking"), content: delta("text"), ..Piece::default() }]
        }
        "message_delta" => {
            vec![Piece { finish: event["delta"]["stop_reason"].as_str().map(ending), ..Piece::default() }]
        }
        _ => Vec::new(),
    }
}

/// Whether a choice with a text is a chunk rather than a complete body.
fn is_text_chunk(choice: &Value, event: &Value) -> bool {
    choice.get("text").is_some() && event.get("usage").is_none_or(Value::is_null)
}

fn of_choice(choice: &Value) -> Vec<Piece<'_>> {
    let index = choice.get("index").and_then(Value::as_u64).or(Some(0));
    let finish = choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
    let Some(delta) = choice.get("delta") else {
        let content = choice.get("text").and_then(Value::as_str).unwrap_or_default();
        return vec![Piece { index, content, text: true, finish, ..Piece::default() }];
    };
    let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
    let field = ["reasoning", "reasoning_content", "thinking"].into_iter().find(|key| !text(key).is_empty());
    let reasoning = field.map(text).unwrap_or_default();
    let mut out = vec![Piece { index, reasoning, field, content: text("content"), finish, ..Piece::default() }];
    for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        out.push(Piece { index, call: Some(call["index"].to_string()), ..Piece::default() });
    }
    out
}
