//! Errors: of a request, in the API's shape, and of the start-up.

use std::fmt;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use unspool::request::RequestError;
use unspool::setup::SetupError;

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
}

impl ApiError {
    /// An error of this status, with the status' own type name.
    #[must_use]
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, kind: kind(status), message: message.into(), hint: None, param: None }
    }

    /// A field has a value that cannot be.
    #[must_use]
    pub fn bad_field(param: &str, message: impl Into<String>) -> Self {
        Self { param: Some(param.to_owned()), ..Self::new(StatusCode::BAD_REQUEST, message) }
    }

    /// The body is not what the schema says.
    #[must_use]
    pub fn bad_body(message: impl Into<String>) -> Self {
        Self { kind: "Bad Request", ..Self::new(StatusCode::BAD_REQUEST, message) }
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

    /// The body: `{"error": {"message", "type", "param", "code"}}`.
    #[must_use]
    pub fn body(&self) -> Value {
        json!({"error": {"message": self.text(), "type": self.kind, "param": self.param, "code": self.status.as_u16()}})
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
        let content_type = [(header::CONTENT_TYPE, "application/json")];
        (self.status, content_type, self.body().to_string()).into_response()
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
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

impl From<SetupError> for StartupError {
    fn from(error: SetupError) -> Self {
        Self { message: error.message, hint: error.hint }
    }
}
