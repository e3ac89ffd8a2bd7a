//! The servers with raw output, each with its own request and response format.

mod chat;
mod completions;
mod llamacpp;
mod sglang;
mod tgi;

use serde_json::{Map, Value, json};
use unspool::Pair;

use super::http::words;
use crate::backend::{BackendError, BackendFault, Job, Piece, ServerFacts};
use crate::capabilities::Capabilities;
use crate::config::RemoteKind;
use crate::prompt::RenderedPrompt;
use crate::request::ChatRequest;

/// The common settings of all requests of a gateway.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    /// The formats that parse the answers.
    pub(super) pair: Pair,
    /// Default maximum tokens.
    pub(super) max_tokens: u64,
    /// Model name for the server; `None`: the name in the request.
    pub(super) model: Option<String>,
    /// Ids of the tokens that end a turn.
    pub(super) end_tokens: Vec<u32>,
    /// Texts of the format that may be single tokens.
    pub(super) markers: Vec<String>,
    /// The text that the server's tokenizer prepends to every prompt.
    pub(super) sequence_start: Option<String>,
    /// Chat servers do not get tools.
    pub(super) omits_tools: bool,
    /// Send vLLM's own fields, however a server identifies.
    pub(super) extended: bool,
}

impl Asking {
    /// Whether parsing the answer requires its special tokens, whatever the client requested.
    fn needs_special_tokens(&self, job: &Job) -> bool {
        self.pair.needs(&job.request.parse).special_tokens
    }

    /// Whether a server with these facts accepts fields that OpenAI's API does not have.
    fn extends(&self, facts: &ServerFacts) -> bool {
        self.extended || facts.is("vllm") || facts.is("sglang")
    }
}

/// The protocol of one kind of server.
pub(super) trait Dialect: Send + Sync {
    /// The server's capabilities.
    fn capabilities(&self) -> Capabilities;

    /// The path for raw output.
    fn path(&self) -> &'static str;

    /// The path of the health check.
    fn health(&self) -> &'static str {
        "/health"
    }

    /// The paths for the server's identity and limits.
    fn facts(&self) -> &'static [&'static str] {
        &["/v1/models", "/version"]
    }

    /// The body of a request to a server with these facts.
    fn body(&self, job: &Job, asking: &Asking, facts: &ServerFacts) -> Map<String, Value>;

    /// Reads the events of one answer.
    fn reader(&self, job: &Job, asking: &Asking) -> Box<dyn Reader>;

    /// The request for rendering a prompt at the server; `None`: the server does not render.
    fn rendering(&self, request: &ChatRequest, asking: &Asking) -> Option<Question> {
        let _ = (request, asking);
        None
    }

    /// Takes the answer to such a request; returns a further request if necessary.
    fn rendered(&self, answer: &[u8], prompt: &mut RenderedPrompt) -> Result<Option<Question>, BackendError> {
        let _ = (answer, prompt);
        Ok(None)
    }
}

/// A path and a body.
pub(super) type Question = (&'static str, Map<String, Value>);

/// The parts of a conversation that a server needs for rendering, with the chat API's names.
fn conversation(request: &ChatRequest) -> Map<String, Value> {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    set("messages", json!(request.raw_messages));
    if !request.tools.is_empty() {
        set("tools", json!(request.tools));
    }
    // An effort is among the arguments already.
    if !request.parse.chat_template_kwargs.is_empty() {
        set("chat_template_kwargs", json!(request.parse.chat_template_kwargs));
    }
    set("add_generation_prompt", json!(request.generation_prompt && !request.continue_final));
    set("continue_final_message", json!(request.continue_final));
    body
}

/// Reads the events of one answer, in order.
pub(super) trait Reader: Send {
    /// The pieces in the data of one event.
    fn read(&mut self, data: &[u8], take: &mut dyn FnMut(Piece)) -> Result<(), BackendError>;
}

/// The dialect of a kind of server.
pub(super) fn of(kind: RemoteKind) -> Box<dyn Dialect> {
    match kind {
        RemoteKind::OpenAi => Box::new(completions::Completions { ids: false }),
        RemoteKind::Vllm => Box::new(completions::Completions { ids: true }),
        RemoteKind::Sglang => Box::new(sglang::Sglang),
        RemoteKind::LlamaCpp => Box::new(llamacpp::LlamaCpp),
        RemoteKind::Tgi => Box::new(tgi::Tgi),
        RemoteKind::Chat => Box::new(chat::Chat),
    }
}

/// The prompt in the most exact form available: ids, else text.
fn prompt(job: &Job) -> Value {
    if job.prompt.encoded.is_empty() { json!(job.prompt.text) } else { json!(job.prompt.ids()) }
}

/// The seed of one answer: several answers to one request must differ even if they are reproducible.
fn seed(job: &Job) -> Option<i64> {
    job.sampling().seed.map(|seed| seed.saturating_add(i64::try_from(job.choice).unwrap_or(0)))
}

/// Copies fields between two APIs with different names.
fn copy(from: &Map<String, Value>, names: &[(&str, &str)], to: &mut Map<String, Value>) {
    for (theirs, ours) in names {
        if let Some(value) = from.get(*ours) {
            to.insert((*theirs).to_owned(), value.clone());
        }
    }
}

/// The JSON schema of the answer, if the request has one.
fn schema(job: &Job) -> Option<Value> {
    let others = &job.sampling().others;
    if let Some(schema) = others.get("structured_outputs").and_then(|outputs| outputs.get("json")) {
        return Some(match schema.as_str().map(serde_json::from_str) {
            Some(Ok(read)) => read,
            _ => schema.clone(),
        });
    }
    match job.request.response_format_kind()? {
        "json_schema" => job.request.response_format.as_ref()?.pointer("/json_schema/schema").cloned(),
        _ => Some(json!({"type": "object"})),
    }
}

/// The stop tokens: those of the request and those of the checkpoint.
fn stop_tokens(job: &Job, asking: &Asking) -> Vec<u64> {
    let others = &job.sampling().others;
    let own = others.get("stop_token_ids").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64);
    let mut ids: Vec<u64> = own.collect();
    if others.get("ignore_eos").and_then(Value::as_bool) != Some(true) {
        ids.extend(
            asking.end_tokens.iter().map(|id| u64::from(*id)).filter(|id| !ids.contains(id)).collect::<Vec<_>>(),
        );
    }
    ids
}

/// The error for invalid data.
fn unreadable(error: &serde_json::Error) -> BackendError {
    BackendError::new(BackendFault::BadAnswer, format!("the backend sent an event that cannot be read: {error}"))
}

/// The error in an event, if it has one.
fn broken_off(error: Option<&Value>) -> Result<(), BackendError> {
    match error.filter(|error| !error.is_null()) {
        None => Ok(()),
        Some(error) => {
            let message = error_message(error).map_or_else(|| "no reason given".to_owned(), |text| words(&text));
            Err(BackendError::new(BackendFault::Died, format!("the backend broke off: {message}")))
        }
    }
}

/// The field that an error body names.
pub(super) fn error_param(error: &Value) -> Option<String> {
    let param = error.get("error").unwrap_or(error).get("param")?.as_str()?;
    let fits = !param.is_empty() && param.len() < 80 && param.chars().all(|letter| letter.is_ascii_graphic());
    fits.then(|| param.to_owned())
}

/// The message in an error body, in the shapes that servers use.
pub(super) fn error_message(error: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    text(error)
        .or_else(|| error.get("message").and_then(text))
        .or_else(|| error.get("error").and_then(error_message))
        .or_else(|| error.get("detail").map(|detail| text(detail).unwrap_or_else(|| detail.to_string())))
}
