//! Errors: of a request, in the API's shape, and of the start-up.

use std::fmt;

use crate::line;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use unspool::Error;

/// Why a request gets no answer: a status and a body in the shape of OpenAI's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The HTTP status, also the body's `code`.
    pub status: StatusCode,
    /// The body's `type`, with vLLM's names.
    pub kind: &'static str,
    /// What is wrong, and where.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The request field in question.
    pub param: Option<String>,
    /// It has more tokens than the model takes.
    pub overflow: Option<Box<Overflow>>,
}

/// More tokens than the model takes, as far as it is known how many. Clients shorten their history where they read the words
/// that their API has for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overflow {
    /// Most tokens of prompt and answer together.
    pub longest: Option<u64>,
    /// Tokens of the prompt.
    pub prompt: Option<u64>,
    /// Tokens of the answer that were asked for, where those are too many.
    pub asked: Option<u64>,
}

impl Overflow {
    /// In the words of OpenAI's API.
    fn words(&self) -> String {
        let longest = match self.longest {
            Some(longest) => format!("This model's maximum context length is {longest} tokens."),
            None => "This model's maximum context length is exceeded.".to_owned(),
        };
        match (self.prompt, self.asked) {
            (Some(prompt), Some(asked)) => {
                format!("{longest} The prompt has {prompt} tokens, and {asked} are asked for in the answer.")
            }
            (Some(prompt), None) => format!("{longest} The prompt has {prompt} tokens."),
            (None, Some(asked)) => format!("{longest} {asked} are asked for in the answer alone."),
            (None, None) => longest,
        }
    }

    /// The share of the prompt that is too much, as far as that is known.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        match (self.longest, self.prompt, self.asked) {
            (Some(longest), Some(prompt), None) if prompt >= longest => Some(1.0 - longest as f64 / prompt as f64),
            _ => None,
        }
    }

    /// In the words of Anthropic's API.
    #[must_use]
    pub fn words_of_messages(&self) -> String {
        match *self {
            Self { longest: Some(longest), prompt: Some(prompt), asked: Some(asked) } => {
                format!("input length and `max_tokens` exceed context limit: {prompt} + {asked} > {longest}")
            }
            Self { longest: Some(longest), prompt: Some(prompt), asked: None } => {
                format!("prompt is too long: {prompt} tokens > {longest} maximum")
            }
            Self { longest: Some(longest), prompt: None, asked: Some(asked) } => {
                format!("input length and `max_tokens` exceed context limit: {asked} > {longest}")
            }
            _ => "prompt is too long".to_owned(),
        }
    }
}

impl ApiError {
    /// An error of this status, with the status' own type name.
    #[must_use]
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, kind: kind(status), message: message.into(), hint: None, param: None, overflow: None }
    }

    /// A field has a value that cannot be.
    #[must_use]
    pub fn bad_field(param: &str, message: impl Into<String>) -> Self {
        Self { param: Some(param.to_owned()), ..Self::new(StatusCode::BAD_REQUEST, message) }
    }

    /// Prompt and answer have more tokens than the model takes.
    #[must_use]
    pub fn too_many_tokens(param: &str, overflow: Overflow) -> Self {
        Self { overflow: Some(overflow.into()), ..Self::bad_field(param, overflow.words()) }
            .hint("shorten the conversation or ask for fewer tokens")
    }

    /// The body is not what the schema says.
    #[must_use]
    pub fn bad_body(message: impl Into<String>) -> Self {
        Self { kind: "Bad Request", ..Self::new(StatusCode::BAD_REQUEST, message) }
    }

    /// What the log says of it: its kind and the field, and nothing of what the request holds.
    fn reason(&self) -> String {
        let kind = if self.overflow.is_some() { "context_length_exceeded" } else { self.kind };
        match self.param.as_deref().filter(|param| param.len() < 80 && param.chars().all(|c| c.is_ascii_graphic())) {
            Some(param) => format!("{kind} {param}"),
            None => kind.to_owned(),
        }
    }

    /// Notes it for the request's line of the log.
    pub(crate) fn noted(self) -> Self {
        line::note(|line| line.reason = Some(self.reason()));
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What is wrong, and on a line of its own what to do about it.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.hint {
            None => self.message.clone(),
            Some(hint) => format!("{}\nhint: {hint}", self.message),
        }
    }

    /// The body: `{"error": {"message", "type", "param", "code"}}`. The code is the status, as in vLLM, but for what clients look
    /// for by name.
    #[must_use]
    pub fn body(&self) -> Value {
        let code = match self.overflow {
            Some(_) => json!("context_length_exceeded"),
            None => json!(self.status.as_u16()),
        };
        json!({"error": {"message": self.text(), "type": self.kind, "param": self.param, "code": code}})
    }
}

/// The `type` that vLLM gives to a status.
fn kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        404 => "NotFoundError",
        405 => "MethodNotAllowedError",
        408 => "RequestTimeoutError",
        413 => "RequestTooLargeError",
        422 => "UnprocessableEntityError",
        429 => "RateLimitError",
        501 => "NotImplementedError",
        503 => "Service Unavailable",
        502 | 504 => "BackendError",
        500..=599 => "InternalServerError",
        _ => "BadRequestError",
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = self.noted();
        let content_type = [(header::CONTENT_TYPE, "application/json")];
        (error.status, content_type, error.body().to_string()).into_response()
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self { hint: error.hint, ..Self::new(StatusCode::BAD_REQUEST, error.message) }
    }
}

/// Why the gateway does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartupError {
    /// What is wrong, and where.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl StartupError {
    /// An error without a hint.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for StartupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StartupError {}

impl From<Error> for StartupError {
    fn from(error: Error) -> Self {
        Self { message: error.message, hint: error.hint }
    }
}
