//! The key check in front of the API, with vLLM's scope: only the API's own paths. A key comes as `Authorization:
//! Bearer`, or as `x-api-key`, which Anthropic's clients send.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::messages::{error, in_shape_of_messages};
use crate::error::ApiError;

/// The paths that need a key. vLLM leaves those of tokens open; here they are guarded, because they cost as much as a
/// prompt.
const GUARDED: [&str; 6] = ["/v1", "/v2", "/inference", "/cohere", "/tokenize", "/detokenize"];

/// Lets a request pass if no key is set, its path is open, or it has one of the keys.
pub(super) async fn check(State(keys): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let guarded = GUARDED.iter().any(|prefix| path.starts_with(prefix)) && request.method() != Method::OPTIONS;
    if keys.is_empty() || !guarded || brings_key(&request, &keys) {
        return next.run(request).await;
    }
    if in_shape_of_messages(path) {
        return error::response(&ApiError::new(StatusCode::UNAUTHORIZED, "the API key is missing or wrong"));
    }
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::WWW_AUTHENTICATE, "Bearer")];
    // A string rather than an object, as in vLLM.
    (StatusCode::UNAUTHORIZED, headers, r#"{"error":"Unauthorized"}"#).into_response()
}

fn brings_key(request: &Request, keys: &[String]) -> bool {
    let headers = request.headers();
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.as_bytes().split_at_checked("Bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"Bearer ").then_some(key)
    });
    let plain = headers.get("x-api-key").map(HeaderValue::as_bytes);
    // Compares with every key, each to its end, so that the timing reveals nothing.
    let known = |key: &[u8]| keys.iter().fold(false, |found, own| same(own.as_bytes(), key) | found);
    bearer.is_some_and(known) || plain.is_some_and(known)
}

fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}
