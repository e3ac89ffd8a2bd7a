//! A chat request, parsed and checked as in vLLM's API, under this server's settings.

mod body;
mod form;
pub(crate) mod images;
mod offered;
mod tools;
mod turns;

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use unspool::{Request, ToolChoice, budget};

pub use self::body::{
    CalledFunction, ChatBody, ChatMessage, ContentPart, MessageCall, MessageContent, OneOrMany, StreamOptions,
};
pub(crate) use self::form::Asked;
pub use self::tools::ToolRules;
use crate::bounds::not_json;
use crate::error::ApiError;
use crate::hash::request_hash;
use crate::hosted::Ignored;
use crate::probability::TokenWishes;

/// Maximum number of answers to one request.
const MOST_ANSWERS: i64 = 128;

/// A request that has passed the checks.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// Name of the model, as the client wrote it.
    pub model: Option<String>,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// The unparsed conversation, for templates.
    pub raw_messages: Vec<Value>,
    /// A verbatim prompt, if the request is not a conversation.
    pub raw_prompt: Option<String>,
    /// A chat template from the request.
    pub template: Option<String>,
    /// Documents for a template.
    pub documents: Option<Value>,
    /// Whether the tokenizer adds the special tokens around the prompt; templates usually write them themselves.
    pub add_special_tokens: bool,
    /// The tools, unchanged.
    pub tools: Vec<Value>,
    /// The omitted tools.
    pub(crate) ignored: Ignored,
    /// The parser's request.
    pub parse: Request,
    /// The form of the answer.
    pub response_format: Option<Value>,
    /// The sampling parameters.
    pub sampling: Sampling,
    /// Whether the model continues the last message.
    pub continue_final: bool,
    /// Whether the prompt ends with the beginning of an answer.
    pub generation_prompt: bool,
    /// Number of answers.
    pub n: usize,
    /// How the answers are delivered.
    pub delivery: Delivery,
    /// Whether to return diagnostics.
    pub diagnostics: bool,
    /// Tokens per step of the answer; 0: not set.
    pub stream_interval: u64,
    /// The hash of the request.
    pub hash: u64,
    /// Whether the beginning of a conversation that is too long may be dropped.
    pub may_drop: bool,
    /// Whether system messages may be merged into the first, if the template takes none after it.
    pub merges_system: bool,
}

/// Sampling parameters.
#[derive(Debug, Clone, Default)]
pub struct Sampling {
    /// Maximum tokens.
    pub max_tokens: Option<u64>,
    /// The request says so under the older name, `max_tokens`.
    pub by_older_name: bool,
    /// Minimum tokens.
    pub min_tokens: u64,
    /// Makes it reproducible.
    pub seed: Option<i64>,
    /// Stop sequences.
    pub stop: Vec<String>,
    /// Maximum reasoning tokens.
    pub thinking_budget: Option<u64>,
    /// Requested token data.
    pub wishes: TokenWishes,
    /// Further fields, for the backend.
    pub others: Map<String, Value>,
}

impl Sampling {
    /// How many of the prompt's `tokens` the backend keeps, if the request truncates it (`truncate_prompt_tokens`; -1:
    /// the model's length).
    #[must_use]
    pub fn kept_of_prompt(&self, tokens: u64, longest: u64) -> u64 {
        match self.others.get("truncate_prompt_tokens").and_then(Value::as_i64) {
            Some(-1) => tokens.min(longest.saturating_sub(1)),
            Some(kept) => u64::try_from(kept).map_or(tokens, |kept| kept.min(tokens)),
            None => tokens,
        }
    }
}

/// How answers are delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Complete.
    #[default]
    Whole,
    /// Streamed.
    Stream {
        /// A last chunk with usage.
        usage: bool,
        /// Usage in every chunk.
        continuous: bool,
    },
}

/// Fields that the gateway handles itself; all others go to the backend.
const OWN_FIELDS: [&str; 38] = [
    "thinking_token_budget",
    "chat_template",
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "functions",
    "function_call",
    "stream",
    "stream_options",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
    "seed",
    "stop",
    "include_reasoning",
    "include_diagnostics",
    "return_diagnostics",
    "stream_interval",
    "return_tokens_as_token_ids",
    "return_token_ids",
    "prompt_logprobs",
    "request_id",
    "reasoning_effort",
    "chat_template_kwargs",
    "documents",
    "add_generation_prompt",
    "continue_final_message",
    "add_special_tokens",
    "logprobs",
    "top_logprobs",
    "echo",
    "store",
    "metadata",
    "modalities",
    "service_tier",
];

/// A field that vLLM refuses without a flag that this gateway lacks, and the reason.
const REFUSED: [(&str, &str); 1] = [("mm_processor_kwargs", "processor arguments in the request are not allowed here")];

/// The values of `reasoning_effort`.
const EFFORTS: [&str; 8] = ["auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"];

impl ChatRequest {
    /// Whether a call is required.
    #[must_use]
    pub fn demands_calls(&self) -> bool {
        matches!(self.parse.tool_choice, ToolChoice::Required | ToolChoice::Named(_))
    }

    /// Parses and checks a body.
    ///
    /// # Errors
    /// What vLLM refuses, with the field in question.
    pub fn read(mut body: Value, rules: ToolRules) -> Result<Self, ApiError> {
        let ignored = offered::tidy(&mut body)?;
        // Tools and raw messages can be most of a body, so they are not copied.
        let tools = body.get_mut("tools").filter(|tools| tools.is_array()).map(Value::take);
        let parsed: ChatBody = read_body(&body)?;
        if let (Some(tools), Some(place)) = (tools, body.get_mut("tools")) {
            *place = tools;
        }
        let parse = {
            let object = body.as_object().ok_or_else(|| ApiError::bad_body("the body must be a JSON object"))?;
            refuse(object, &parsed)?;
            tools::read(&body, &parsed, rules)?
        };
        let Value::Object(mut object) = body else { return Err(ApiError::bad_body("the body must be a JSON object")) };
        let list = |value: Option<Value>| match value {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let mut request = Self {
            hash: request_hash(&object),
            ignored,
            tools: list(object.get_mut("tools").map(Value::take)),
            raw_messages: list(object.get_mut("messages").map(Value::take)),
            documents: object.get_mut("documents").map(Value::take).filter(|value| !value.is_null()),
            sampling: sampling(&parsed, object)?,
            n: answers(parsed.n)?,
            delivery: delivery(&parsed)?,
            diagnostics: parsed.return_diagnostics.or(parsed.include_diagnostics) == Some(true),
            stream_interval: count("stream_interval", parsed.stream_interval, 1)?.unwrap_or_default(),
            continue_final: parsed.continue_final_message == Some(true),
            generation_prompt: parsed.add_generation_prompt != Some(false),
            model: parsed.model,
            messages: parsed.messages,
            raw_prompt: None,
            template: parsed.chat_template.filter(|template| !template.is_empty()),
            add_special_tokens: parsed.add_special_tokens == Some(true),
            response_format: parsed.response_format,
            parse,
            may_drop: false,
            merges_system: false,
        };
        if matches!(request.parse.tool_choice, ToolChoice::Required | ToolChoice::Named(_)) {
            // A call is required, so the form of the answer does not apply; vLLM ignores it too.
            request.response_format = None;
            request.sampling.others.remove("response_format");
        }
        form::check(&request)?;
        request.parse.calls_before = request.messages.iter().map(|message| message.calls().len()).sum();
        Ok(request)
    }

    /// Replaces images by a text.
    pub fn hide_images(&mut self) {
        images::hide(self);
    }

    /// Sets whether the answer is streamed, for an API with its own field.
    #[must_use]
    pub fn streamed(self, streamed: bool) -> Self {
        let delivery = if streamed { Delivery::Stream { usage: false, continuous: false } } else { Delivery::Whole };
        Self { delivery, ..self }
    }

    /// The first message with a call whose arguments are not a JSON object: a model wrote them, or a client cut them
    /// off.
    #[must_use]
    pub fn odd_arguments(&self) -> Option<usize> {
        let is_odd = |call: &MessageCall| {
            let text = call.function.arguments.as_deref().unwrap_or_default();
            !text.is_empty()
                && (!text.trim_start().starts_with('{') || serde_json::from_str::<IgnoredAny>(text).is_err())
        };
        self.messages.iter().position(|message| message.calls().iter().any(is_odd))
    }

    /// Whether there is a system message after the beginning, or more than one.
    #[must_use]
    pub fn has_late_system(&self) -> bool {
        self.messages.iter().skip(1).any(is_system)
    }

    /// Merges system messages into one at the beginning.
    pub fn merge_system(&mut self) {
        if self.messages.len() != self.raw_messages.len() {
            return;
        }
        let said: Vec<String> =
            self.messages.iter().filter(|message| is_system(message)).map(|m| m.text().into_owned()).collect();
        let text = said.join("\n\n");
        let mut system = self.messages.iter().map(is_system).collect::<Vec<_>>().into_iter();
        self.raw_messages.retain(|_| !system.next().unwrap_or_default());
        self.messages.retain(|message| !is_system(message));
        self.raw_messages.insert(0, serde_json::json!({"role": "system", "content": text}));
        let content = Some(MessageContent::Text(text));
        self.messages.insert(0, ChatMessage { role: "system".to_owned(), content, ..ChatMessage::default() });
    }

    /// Drops about this share of the conversation from its beginning, up to a user message; returns whether anything
    /// was dropped. System messages and the last user message stay.
    pub fn drop_beginning(&mut self, share: f64) -> bool {
        let role = |message: &ChatMessage| message.role.clone();
        let first = self.messages.iter().position(|m| !matches!(role(m).as_str(), "system" | "developer"));
        let Some(first) = first.filter(|_| self.messages.len() == self.raw_messages.len()) else { return false };
        let count = self.messages.len() - first;
        let least = (share.clamp(0.0, 1.0) * count as f64).ceil() as usize;
        let starts = || (first + 1..self.messages.len()).filter(|at| self.messages[*at].role == "user");
        // The entire share, or as much as possible.
        let Some(end) = starts().find(|at| at - first >= least).or_else(|| starts().next_back()) else { return false };
        self.messages.drain(first..end);
        self.raw_messages.drain(first..end);
        true
    }

    /// Frees the conversation after rendering. Its last message stays for backends that generate answers themselves.
    pub fn forget_conversation(&mut self) {
        self.raw_messages = Vec::new();
        self.documents = None;
        let last = self.messages.pop();
        self.messages = last.into_iter().collect();
    }

    /// The form of the answer, if it is not plain text: `json_object` or `json_schema`.
    #[must_use]
    pub fn response_format_kind(&self) -> Option<&str> {
        let kind = self.response_format.as_ref()?.get("type")?.as_str()?;
        ["json_object", "json_schema"].contains(&kind).then_some(kind)
    }

    /// A request with one text and no tools.
    #[must_use]
    pub fn of_prompt(prompt: String, sampling: Sampling, hash: u64) -> Self {
        let parse = Request { tool_choice: ToolChoice::None, tools: Arc::default(), ..Request::default() };
        let raw_messages = vec![serde_json::json!({"role": "user", "content": prompt})];
        let messages = vec![ChatMessage::user(prompt.clone())];
        Self {
            messages,
            raw_messages,
            raw_prompt: Some(prompt),
            parse,
            sampling,
            hash,
            n: 1,
            generation_prompt: true,
            ..Self::default()
        }
    }
}

fn is_system(message: &ChatMessage) -> bool {
    matches!(message.role.as_str(), "system" | "developer")
}

fn refuse(object: &Map<String, Value>, body: &ChatBody) -> Result<(), ApiError> {
    if body.messages.is_empty() {
        return Err(ApiError::bad_field("messages", "`messages` must hold one message at least"));
    }
    for (field, why) in REFUSED {
        if object.get(field).is_some_and(|value| !value.is_null()) {
            return Err(ApiError::bad_field(field, why));
        }
    }
    if let Some(index) = body.messages.iter().position(|message| message.role == "user" && message.content.is_none()) {
        let message = "a user's message needs a `content`, a text or a list of parts";
        return Err(ApiError::bad_field(&format!("messages[{index}].content"), message));
    }
    if let Some(effort) = object.get("reasoning_effort").and_then(Value::as_str).filter(|own| !EFFORTS.contains(own)) {
        let message = format!("`reasoning_effort` is `{effort}`; it must be one of {}", EFFORTS.join(", "));
        return Err(ApiError::bad_field("reasoning_effort", message));
    }
    if body.continue_final_message == Some(true) && body.add_generation_prompt == Some(true) {
        let message = "`continue_final_message` and `add_generation_prompt` cannot both be true";
        return Err(ApiError::bad_field("continue_final_message", message));
    }
    in_range("temperature", body.temperature, |t| t >= 0.0, "0 or more")?;
    in_range("top_p", body.top_p, |p| p > 0.0 && p <= 1.0, "more than 0 and at most 1")
}

fn in_range(field: &str, value: Option<f64>, fits: fn(f64) -> bool, range: &str) -> Result<(), ApiError> {
    match value {
        Some(value) if !fits(value) => {
            Err(ApiError::bad_field(field, format!("`{field}` is {value}; it must be {range}")))
        }
        _ => Ok(()),
    }
}

/// A count of at least `least`.
pub(crate) fn count(field: &str, value: Option<i64>, least: u64) -> Result<Option<u64>, ApiError> {
    let Some(value) = value else { return Ok(None) };
    match u64::try_from(value) {
        Ok(count) if count >= least => Ok(Some(count)),
        _ => Err(ApiError::bad_field(field, format!("`{field}` is {value}; it must be {least} or more"))),
    }
}

/// The requested number of answers.
pub(crate) fn answers(n: Option<i64>) -> Result<usize, ApiError> {
    match n {
        None => Ok(1),
        Some(n @ 1..=MOST_ANSWERS) => Ok(usize::try_from(n).unwrap_or(1)),
        Some(n) => Err(ApiError::bad_field("n", format!("`n` is {n}; it must be from 1 to {MOST_ANSWERS}"))),
    }
}

/// The stop sequences.
pub(crate) fn stops(stop: Option<OneOrMany>) -> Vec<String> {
    stop.map(OneOrMany::texts).unwrap_or_default()
}

fn sampling(body: &ChatBody, object: Map<String, Value>) -> Result<Sampling, ApiError> {
    let older = count("max_tokens", body.max_tokens, 1)?;
    let newer = count("max_completion_tokens", body.max_completion_tokens, 1)?;
    let (max_tokens, by_older_name) = (newer.or(older), newer.is_none() && older.is_some());
    let mut min_tokens = count("min_tokens", body.min_tokens, 0)?.unwrap_or(0);
    if let Some(max) = max_tokens
        && min_tokens > max
    {
        let message = format!("`min_tokens` is {min_tokens}; it must not be more than the most tokens, {max}");
        return Err(ApiError::bad_field("min_tokens", message));
    }
    if body.ignore_eos == Some(true) {
        min_tokens = max_tokens.unwrap_or(min_tokens);
    }
    let thinking_budget = thinking_budget(&object)?;
    let wishes = TokenWishes::read(
        (body.logprobs, body.top_logprobs),
        (body.return_tokens_as_token_ids, body.return_token_ids),
        (body.prompt_logprobs, body.stream == Some(true)),
    )?;
    let others =
        object.into_iter().filter(|(key, value)| !OWN_FIELDS.contains(&key.as_str()) && !value.is_null()).collect();
    let (seed, stop) = (body.seed, stops(body.stop.clone()));
    Ok(Sampling { max_tokens, by_older_name, min_tokens, seed, stop, thinking_budget, wishes, others })
}

fn thinking_budget(object: &Map<String, Value>) -> Result<Option<u64>, ApiError> {
    const FIELD: &str = "thinking_token_budget";
    let field = serde_json::json!({FIELD: object.get(FIELD)});
    budget::of_request(&field).map_err(|error| ApiError { param: Some(FIELD.to_owned()), ..ApiError::from(error) })
}

fn delivery(body: &ChatBody) -> Result<Delivery, ApiError> {
    let options = body.stream_options.unwrap_or_default();
    if body.stream != Some(true) {
        return match body.stream_options {
            Some(_) => Err(ApiError::bad_field("stream_options", "`stream_options` needs `stream: true`")),
            None => Ok(Delivery::Whole),
        };
    }
    let usage = options.include_usage == Some(true);
    Ok(Delivery::Stream { usage, continuous: usage && options.continuous_usage_stats == Some(true) })
}

/// The fields of a body. An error has the path of the invalid field.
pub(crate) fn read_body<'de, T: Deserialize<'de>>(body: &'de Value) -> Result<T, ApiError> {
    if !body.is_object() {
        return Err(ApiError::bad_body("the body must be a JSON object"));
    }
    serde_path_to_error::deserialize(body)
        .map_err(|error| misfit(&error.path().to_string(), &error.inner().to_string()))
}

/// The fields of a body's text; unknown fields are not stored.
pub(crate) fn read_text<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, ApiError> {
    let not_json = |error: serde_json::Error| not_json(&error);
    let mut json = serde_json::Deserializer::from_slice(body);
    // serde would accept a list for a struct.
    if body.trim_ascii_start().first() != Some(&b'{') {
        IgnoredAny::deserialize(&mut json).and_then(|_| json.end()).map_err(not_json)?;
        return Err(ApiError::bad_body("the body must be a JSON object"));
    }
    let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.into_inner());
        if !inner.is_data() {
            return not_json(inner);
        }
        let words = inner.to_string();
        misfit(&path, words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words))
    })?;
    json.end().map_err(not_json)?;
    Ok(read)
}

/// The error for an invalid field.
fn misfit(path: &str, words: &str) -> ApiError {
    let param = (path != ".").then(|| path.to_owned());
    let message = match &param {
        Some(path) => format!("`{path}` does not fit: {words}"),
        None => words.to_owned(),
    };
    let error = ApiError { param, ..ApiError::bad_body(message) };
    match path {
        "tools" => error.hint("`tools` is a list, of one tool too"),
        _ => error,
    }
}
