//! Errors in the format of Anthropic's API.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::error::ApiError;

/// The body: `{"type": "error", "error": {"type", "message"}}`.
pub(crate) fn body(error: &ApiError) -> Value {
    let message = error.overflow.as_ref().map_or_else(|| error.text(), |overflow| overflow.words_of_messages());
    json!({"type": "error", "error": {"type": kind(error.status), "message": message}})
}

/// The error response to a request.
pub(crate) fn response(error: &ApiError) -> Response {
    (error.status, [(header::CONTENT_TYPE, "application/json")], body(error).to_string()).into_response()
}

/// The name of a status in Anthropic's API.
fn kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 => "overloaded_error",
        504 => "timeout_error",
        500..=599 => "api_error",
        _ => "invalid_request_error",
    }
}
