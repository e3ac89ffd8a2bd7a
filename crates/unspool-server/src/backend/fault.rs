//! What goes wrong with a backend, and what the client is told of it.

use std::fmt;

use axum::http::StatusCode;

use crate::error::{ApiError, Overflow};

/// What went wrong with a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendFault {
    /// It cannot be reached.
    Unreachable,
    /// It was silent for too long.
    TimedOut,
    /// It answered with this HTTP status.
    Refused(u16),
    /// It went away in the middle of an answer.
    Died,
    /// What it sent cannot be understood.
    BadAnswer,
    /// It has nothing to play for this request.
    Exhausted,
    /// The format cannot say what is to be said.
    CannotWrite,
}

impl BackendFault {
    /// Whether it is the server's own, so that another one may do better.
    #[must_use]
    pub fn is_the_servers(self) -> bool {
        match self {
            Self::Unreachable | Self::TimedOut | Self::Died | Self::BadAnswer => true,
            Self::Refused(status) => matches!(status, 429 | 500 | 502 | 503 | 504),
            Self::Exhausted | Self::CannotWrite => false,
        }
    }
}

/// A backend's fault, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendError {
    /// Its kind.
    pub fault: BackendFault,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The request had more tokens than the model takes.
    pub overflow: Option<Box<Overflow>>,
    /// The field of the request that the backend names.
    pub param: Option<String>,
}

impl BackendError {
    /// An error without a hint.
    #[must_use]
    pub fn new(fault: BackendFault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), hint: None, overflow: None, param: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BackendError {}

impl From<BackendError> for ApiError {
    fn from(error: BackendError) -> Self {
        let status = match error.fault {
            BackendFault::Unreachable | BackendFault::Exhausted => StatusCode::SERVICE_UNAVAILABLE,
            BackendFault::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            BackendFault::Died | BackendFault::BadAnswer => StatusCode::BAD_GATEWAY,
            BackendFault::CannotWrite => StatusCode::UNPROCESSABLE_ENTITY,
            BackendFault::Refused(status) => passed_on(status),
        };
        match error.overflow {
            Some(overflow) => {
                let told = Self::too_many_tokens("messages", *overflow);
                Self { message: format!("{} ({})", told.message, error.message), ..told }
            }
            None => Self { hint: error.hint, param: error.param, ..Self::new(status, error.message) },
        }
    }
}

/// A backend's refusal is the client's if the client can do something about it. What concerns the gateway's own
/// credentials or the backend's inside is the gateway's fault in the client's eyes.
fn passed_on(status: u16) -> StatusCode {
    match status {
        400 | 404 | 413 | 422 | 429 | 503 => StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY),
        _ => StatusCode::BAD_GATEWAY,
    }
}
