//! Errors of a request, in the API's format, and of the startup.

use std::fmt;

use crate::line;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use unspool::Error;

/// An error response: a status and a body in the format of OpenAI's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The HTTP status, also the body's `code`.
    pub status: StatusCode,
    /// The body's `type`, with vLLM's names.
    pub kind: &'static str,
    /// What is wrong, and where.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
    /// The request field in question.
    pub param: Option<String>,
    /// The request has more tokens than the model accepts.
    pub overflow: Option<Box<Overflow>>,
}

/// More tokens than the model accepts, with the known counts. Clients shorten their history if the error has their
/// API's wording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overflow {
    /// Maximum tokens of prompt and answer.
    pub longest: Option<u64>,
    /// Tokens of the prompt.
    pub prompt: Option<u64>,
    /// Requested tokens of the answer, if those are too many.
    pub asked: Option<u64>,
}

impl Overflow {
    /// In the wording of OpenAI's API.
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

    /// The excess share of the prompt, if known.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        match (self.longest, self.prompt, self.asked) {
            (Some(longest), Some(prompt), None) if prompt >= longest => Some(1.0 - longest as f64 / prompt as f64),
            _ => None,
        }
    }

    /// In the wording of Anthropic's API.
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
    /// An error with this status, and the status's own type name.
    #[must_use]
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, kind: kind(status), message: message.into(), hint: None, param: None, overflow: None }
    }

    /// A field has an invalid value.
    #[must_use]
    pub fn bad_field(param: &str, message: impl Into<String>) -> Self {
        Self { param: Some(param.to_owned()), ..Self::new(StatusCode::BAD_REQUEST, message) }
    }

    /// Prompt and answer have more tokens than the model accepts.
    #[must_use]
    pub fn too_many_tokens(param: &str, overflow: Overflow) -> Self {
        Self { overflow: Some(overflow.into()), ..Self::bad_field(param, overflow.words()) }
            .hint("shorten the conversation or ask for fewer tokens")
    }

    /// The body violates the schema.
    #[must_use]
    pub fn bad_body(message: impl Into<String>) -> Self {
        Self { kind: "Bad Request", ..Self::new(StatusCode::BAD_REQUEST, message) }
    }

    /// The log's description: the kind and the field, and none of the request's contents.
    fn reason(&self) -> String {
        let kind = if self.overflow.is_some() { "context_length_exceeded" } else { self.kind };
        match self.param.as_deref().filter(|param| param.len() < 80 && param.chars().all(|c| c.is_ascii_graphic())) {
            Some(param) => format!("{kind} {param}"),
            None => kind.to_owned(),
        }
    }

    /// Records it for the request's log line.
    pub(crate) fn noted(self) -> Self {
        line::note(|line| line.reason = Some(self.reason()));
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The message, followed by the hint on its own line.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.hint {
            None => self.message.clone(),
            Some(hint) => format!("{}\nhint: {hint}", self.message),
        }
    }

    /// The body: `{"error": {"message", "type", "param", "code"}}`. The code is the status, as in vLLM, except for
    /// codes that clients look for by name.
    #[must_use]
    pub fn body(&self) -> Value {
        let code = match self.overflow {
            Some(_) => json!("context_length_exceeded"),
            None => json!(self.status.as_u16()),
        };
        json!({"error": {"message": self.text(), "type": self.kind, "param": self.param, "code": code}})
    }
}

/// vLLM's `type` for a status.
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
    /// How to fix it.
    pub hint: Option<String>,
}

impl StartupError {
    /// An error without a hint.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds a hint.
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
