//! Detects the kind of input: raw output, or a server's response.

use serde::Serialize;
use serde_json::Value;

use super::events::{self, Folded};

/// Maximum number of outputs of one input to check.
pub(super) const MOST_OUTPUTS: usize = 200;

/// The kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The model's raw output.
    Raw,
    /// The body of `/v1/chat/completions`, or its message.
    ChatCompletion,
    /// The body of `/v1/completions`.
    Completion,
    /// The body of `/v1/responses`.
    Response,
    /// The body of `/v1/messages`.
    Message,
    /// A log of server-sent events, of any of these.
    EventStream,
    /// Bodies, one per line.
    JsonLines,
    /// A file of recorded outputs, as the gateway writes and replays them.
    Replay,
}

impl Kind {
    /// Its description.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Raw => "raw output",
            Self::ChatCompletion => "the body of a chat completion",
            Self::Completion => "the body of a completion",
            Self::Response => "the body of a response",
            Self::Message => "the body of a message",
            Self::EventStream => "a log of server-sent events",
            Self::JsonLines => "JSON lines",
            Self::Replay => "recorded outputs",
        }
    }
}

/// One answer of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// The assumed raw output.
    pub raw: String,
    /// Its location: `raw output`, `content`, `text`, …
    pub place: String,
    /// Whether a server has parsed it.
    pub parsed: bool,
    /// The reasoning that a server returned.
    pub reasoning: String,
    /// Fields with reasoning, and empty fields for it.
    pub reasoning_fields: (Vec<String>, Vec<String>),
    /// The content that it returned.
    pub content: String,
    /// The number of calls that it returned.
    pub calls: usize,
    /// The finish reason.
    pub finish_reason: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The prompt, if included.
    pub prompt: Option<String>,
}

/// The detected input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its kind.
    pub kind: Kind,
    /// Its answers; at least one.
    pub outputs: Vec<Output>,
}

/// Why an input has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub hint: &'static str,
}

impl Input {
    /// Reads a file.
    ///
    /// # Errors
    /// It is empty, or a server's error.
    pub fn read(text: &str) -> Result<Self, InputError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Err(InputError {
                message: "the input is empty".to_owned(),
                hint: "give the raw output of a model, or what a server answered",
            });
        }
        if let Ok(value) = serde_json::from_str::<Value>(text)
            && let Some(input) = of_value(&value)?
        {
            return Ok(input);
        }
        if events::is_stream(text) {
            let Folded { outputs, error } = events::fold(text);
            return match (outputs.is_empty(), error) {
                (true, Some(error)) => Err(of_server(&error)),
                (true, None) => Err(InputError {
                    message: "the log of events holds no answer".to_owned(),
                    hint: "give all of the stream, `data:` lines as the server sent them",
                }),
                (false, _) => Ok(Self { kind: Kind::EventStream, outputs: limited(outputs) }),
            };
        }
        match of_lines(text)? {
            Some(input) => Ok(input),
            None => Ok(Self { kind: Kind::Raw, outputs: vec![raw(text)] }),
        }
    }
}

/// A raw output.
pub(super) fn raw(text: &str) -> Output {
    Output { raw: text.to_owned(), place: "raw output".to_owned(), ..Output::default() }
}

fn limited(mut outputs: Vec<Output>) -> Vec<Output> {
    outputs.truncate(MOST_OUTPUTS);
    outputs
}

fn of_server(error: &Value) -> InputError {
    let text = error["message"].as_str().or(error.as_str()).unwrap_or("it does not say why");
    InputError {
        message: format!("the input is the error of a server, no answer: {text}"),
        hint: "the request has to be right before the answer can be",
    }
}

/// A file that is one JSON value; `None`: the value is itself the output.
fn of_value(value: &Value) -> Result<Option<Input>, InputError> {
    if let Value::Array(all) = value {
        let chunks: Vec<&Value> = all.iter().collect();
        return of_values(&chunks);
    }
    if let Some(error) = value.get("error").filter(|error| !error.is_null() && value.get("choices").is_none()) {
        return Err(of_server(error));
    }
    let Some((kind, outputs)) = body(value) else { return Ok(None) };
    Ok(Some(Input { kind, outputs: limited(outputs) }))
}

/// A sequence of values: the chunks of a stream, or bodies.
fn of_values(values: &[&Value]) -> Result<Option<Input>, InputError> {
    let folded = events::fold_values(values.iter().map(|value| (*value).clone()));
    if !folded.outputs.is_empty() {
        return Ok(Some(Input { kind: Kind::EventStream, outputs: limited(folded.outputs) }));
    }
    let (mut outputs, mut kinds) = (Vec::new(), Vec::new());
    for value in values {
        match body(value) {
            Some((kind, more)) => {
                kinds.push(kind);
                outputs.extend(more);
            }
            // A replay file's line about the vocabulary.
            None if value.get("special_tokens").is_some() || value.get("hidden_special_tokens").is_some() => {}
            None if value.get("error").is_some_and(|error| !error.is_null()) => {}
            None => return Ok(None),
        }
    }
    if outputs.is_empty() {
        let error = values.iter().find_map(|value| value.get("error"));
        return error.map_or(Ok(None), |error| Err(of_server(error)));
    }
    let kind = if kinds.iter().all(|kind| *kind == Kind::Replay) { Kind::Replay } else { Kind::JsonLines };
    Ok(Some(Input { kind, outputs: limited(outputs) }))
}

fn of_lines(text: &str) -> Result<Option<Input>, InputError> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let values: Option<Vec<Value>> =
        lines.map(|line| serde_json::from_str(line).ok().filter(Value::is_object)).collect();
    let Some(values) = values.filter(|values| values.len() > 1) else { return Ok(None) };
    of_values(&values.iter().collect::<Vec<_>>())
}

/// A body of one of the APIs, or a line of a replay file; `None`: neither.
fn body(value: &Value) -> Option<(Kind, Vec<Output>)> {
    let model = value.get("model").and_then(Value::as_str).map(str::to_owned);
    let named = |output: Output| Output { model: model.clone(), ..output };
    if let Some(choices) = value.get("choices").and_then(Value::as_array) {
        let whole = |choice: &Value| choice.get("message").map(|own| message(own, choice));
        let outputs: Vec<Output> = choices.iter().filter_map(whole).map(named).collect();
        if !outputs.is_empty() {
            return Some((Kind::ChatCompletion, outputs));
        }
        let texts: Vec<Output> = choices.iter().filter_map(completion).map(named).collect();
        return (!texts.is_empty()).then_some((Kind::Completion, texts));
    }
    if let Some(items) = value.get("output").and_then(Value::as_array) {
        return Some((Kind::Response, vec![named(response(items, value))]));
    }
    if value.get("type").is_some_and(|kind| kind == "message") && value.get("content").is_some_and(Value::is_array) {
        return Some((Kind::Message, vec![named(blocks(value))]));
    }
    if value.get("role").is_some_and(|role| role == "assistant") {
        return Some((Kind::ChatCompletion, vec![named(message(value, &Value::Null))]));
    }
    if value.get("message").is_some_and(|message| message.get("role").is_some()) {
        return Some((Kind::ChatCompletion, vec![named(message(&value["message"], value))]));
    }
    recorded(value).map(|output| (Kind::Replay, vec![named(output)]))
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// A message of the chat API. The tokens of `logprobs` are the raw output.
fn message(own: &Value, choice: &Value) -> Output {
    let (mut reasoning, mut fields) = (String::new(), (Vec::new(), Vec::new()));
    for name in ["reasoning", "reasoning_content", "thinking"] {
        let Some(field) = own.get(name) else { continue };
        let text = text_of(field);
        let list = if text.is_empty() { &mut fields.1 } else { &mut fields.0 };
        list.push(name.to_owned());
        if reasoning.is_empty() {
            reasoning = text;
        }
    }
    let content = text_of(&own["content"]);
    let calls = own.get("tool_calls").and_then(Value::as_array).map_or(0, Vec::len);
    let calls = calls + usize::from(own.get("function_call").is_some_and(Value::is_object));
    let (raw, place) = match choice.pointer("/logprobs/content").and_then(written) {
        Some(text) => (text, "the tokens of `logprobs`".to_owned()),
        None => taken(&reasoning, &content),
    };
    Output {
        raw,
        place,
        parsed: true,
        reasoning,
        reasoning_fields: fields,
        content,
        calls,
        finish_reason: choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned),
        ..Output::default()
    }
}

/// The rest of the raw output after a server has parsed it: reasoning with markup in it, and content.
pub(super) fn taken(reasoning: &str, content: &str) -> (String, String) {
    let in_thought = reasoning.contains(['<', '[']) || content.is_empty();
    match (reasoning.is_empty(), in_thought) {
        (true, _) | (false, false) => (content.to_owned(), "the content".to_owned()),
        (false, true) if content.is_empty() => (reasoning.to_owned(), "the reasoning".to_owned()),
        (false, true) => (format!("{reasoning}{content}"), "the reasoning and the content".to_owned()),
    }
}

/// The text of tokens with log probabilities; `None`: special tokens are missing, or there are none.
fn written(tokens: &Value) -> Option<String> {
    let tokens = tokens.as_array().filter(|tokens| !tokens.is_empty())?;
    let mut bytes = Vec::new();
    for token in tokens {
        match token.get("bytes").and_then(Value::as_array) {
            Some(own) if !own.is_empty() => bytes.extend(own.iter().filter_map(Value::as_u64).map(|b| b as u8)),
            _ => bytes.extend(token.get("token")?.as_str()?.bytes()),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn completion(choice: &Value) -> Option<Output> {
    let text = choice.get("text")?.as_str()?.to_owned();
    Some(Output {
        raw: text,
        place: "the text".to_owned(),
        finish_reason: choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned),
        ..Output::default()
    })
}

fn response(items: &[Value], body: &Value) -> Output {
    let mut out = Output { parsed: true, ..Output::default() };
    for item in items {
        let texts = |key: &str| item.get(key).map(text_of).unwrap_or_default();
        match item["type"].as_str() {
            Some("reasoning") => out.reasoning += &(texts("content") + &texts("summary")),
            Some("message") => out.content += &texts("content"),
            Some("function_call") => out.calls += 1,
            _ => {}
        }
    }
    let cut = body.pointer("/incomplete_details/reason").and_then(Value::as_str);
    out.finish_reason = cut.or(body.get("status").and_then(Value::as_str)).map(ending);
    (out.raw, out.place) = taken(&out.reasoning, &out.content);
    out
}

fn blocks(body: &Value) -> Output {
    let mut out = Output { parsed: true, ..Output::default() };
    for block in body["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("thinking") => out.reasoning += block["thinking"].as_str().unwrap_or_default(),
            Some("text") => out.content += block["text"].as_str().unwrap_or_default(),
            Some("tool_use") => out.calls += 1,
            _ => {}
        }
    }
    out.finish_reason = body.get("stop_reason").and_then(Value::as_str).map(ending);
    (out.raw, out.place) = taken(&out.reasoning, &out.content);
    out
}

/// Maps the APIs' finish reasons to those of chat completions.
pub(super) fn ending(word: &str) -> String {
    match word {
        "max_tokens" | "max_output_tokens" | "incomplete" => "length",
        "end_turn" | "stop_sequence" | "completed" => "stop",
        "tool_use" => "tool_calls",
        other => other,
    }
    .to_owned()
}

/// A line of a replay file: its text, or its tokens.
fn recorded(value: &Value) -> Option<Output> {
    let fields = value.as_object()?;
    // An object with a name is a call.
    if fields.contains_key("name") || fields.contains_key("arguments") || fields.contains_key("parameters") {
        return None;
    }
    let text = match (fields.get("text"), fields.get("tokens")) {
        (Some(Value::String(text)), _) => text.clone(),
        (_, Some(Value::Array(tokens))) => tokens_text(tokens)?,
        _ => return None,
    };
    let word = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Output {
        raw: text,
        place: "the recorded text".to_owned(),
        finish_reason: word("finish_reason").or(word("finish")),
        prompt: word("prompt").or(word("prompt_tail")),
        ..Output::default()
    })
}

/// Tokens as `[id, text]` or `[id, null, hex]`.
fn tokens_text(tokens: &[Value]) -> Option<String> {
    let mut bytes = Vec::new();
    for token in tokens {
        match (token.get(1)?, token.get(2).and_then(Value::as_str)) {
            (_, Some(hex)) => {
                let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
                bytes.extend(digits.chunks(2).map(|pair| pair.iter().fold(0_u8, |byte, digit| byte << 4 | digit)));
            }
            (Value::String(text), None) => bytes.extend(text.bytes()),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
