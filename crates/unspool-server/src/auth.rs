//! The key check in front of the API, with vLLM's scope: only the API's own paths, only `Authorization: Bearer`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The paths that a key guards.
const GUARDED: [&str; 4] = ["/v1", "/v2", "/inference", "/cohere"];

/// Lets a request pass if no key is set, its path is open, or it brings one of the keys.
pub(crate) async fn check(State(keys): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let guarded = GUARDED.iter().any(|prefix| path.starts_with(prefix)) && request.method() != Method::OPTIONS;
    if keys.is_empty() || !guarded || brings_key(&request, &keys) {
        return next.run(request).await;
    }
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::WWW_AUTHENTICATE, "Bearer")];
    // A string and no object, as vLLM answers here.
    (StatusCode::UNAUTHORIZED, headers, r#"{"error":"Unauthorized"}"#).into_response()
}

fn brings_key(request: &Request, keys: &[String]) -> bool {
    let Some(value) = request.headers().get(header::AUTHORIZATION) else { return false };
    let Some((scheme, key)) = value.as_bytes().split_at_checked("Bearer ".len()) else { return false };
    // Every key is compared, and each to its end, so that the time tells nothing about them.
    let found = keys.iter().fold(false, |found, own| same(own.as_bytes(), key) | found);
    scheme.eq_ignore_ascii_case(b"Bearer ") && found
}

fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}
