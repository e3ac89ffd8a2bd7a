//! Failures of a backend, and the resulting errors for the client.

use std::fmt;

use axum::http::StatusCode;

use crate::error::{ApiError, Overflow};

/// The kind of a backend's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendFault {
    /// It cannot be reached.
    Unreachable,
    /// It was silent for too long.
    TimedOut,
    /// It answered with this HTTP status.
    Refused(u16),
    /// It disconnected during an answer.
    Died,
    /// Its answer is invalid.
    BadAnswer,
    /// It has no recording for this request.
    Exhausted,
    /// The format cannot express the answer.
    CannotWrite,
}

impl BackendFault {
    /// Whether another server may succeed.
    #[must_use]
    pub fn is_the_servers(self) -> bool {
        match self {
            Self::Unreachable | Self::TimedOut | Self::Died | Self::BadAnswer => true,
            Self::Refused(status) => matches!(status, 429 | 500 | 502 | 503 | 504),
            Self::Exhausted | Self::CannotWrite => false,
        }
    }
}

/// A backend's failure with its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendError {
    /// Its kind.
    pub fault: BackendFault,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
    /// The request has more tokens than the model accepts.
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

    /// Adds a hint.
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

/// The client's status for a backend's refusal. A refusal is passed on if the client can fix it. Errors of the
/// gateway's credentials, or internal to the backend, are the gateway's fault from the client's view.
fn passed_on(status: u16) -> StatusCode {
    match status {
        400 | 404 | 413 | 422 | 429 | 503 => StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY),
        _ => StatusCode::BAD_GATEWAY,
    }
}
