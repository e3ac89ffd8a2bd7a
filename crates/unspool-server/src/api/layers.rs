//! What stands around all endpoints: counting, request ids, keep-alive comments, cross-origin rules.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::stream::{self, StreamExt as _};
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

use super::sse::KeepsAlive;
use crate::config::HttpConfig;
use crate::metrics::{Metrics, Surface};
use crate::unique;

/// A comment in a stream of events, which every client skips.
const COMMENT: &[u8] = b": keep-alive\n\n";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What the log says of a request: its path, and no query, which may hold what nobody should read there.
pub(super) fn span(request: &Request) -> tracing::Span {
    tracing::debug_span!("request", method = %request.method(), path = request.uri().path())
}

/// Counts the requests of the API's surfaces.
pub(super) async fn count(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let surface = Surface::of_path(request.uri().path());
    let response = next.run(request).await;
    if let Some(surface) = surface {
        metrics.request(surface, response.status().as_u16());
    }
    response
}

/// Refuses a body by its announced length, before a client that waits to be asked for it is asked.
pub(super) async fn announced(State(longest): State<usize>, request: Request, next: Next) -> Response {
    let length: Option<u64> =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    match length {
        Some(length) if length > longest as u64 => super::shaped(request.uri(), super::too_long(longest)),
        _ => next.run(request).await,
    }
}

/// Answers with the request's id, or a new one.
pub(super) async fn request_id(mut request: Request, next: Next) -> Response {
    let own = request.headers().get(REQUEST_ID).cloned();
    let id = own.or_else(|| HeaderValue::from_str(&format!("{:016x}{:016x}", unique::number(), unique::number())).ok());
    if let Some(id) = &id {
        // The ids of answers are made of it.
        request.headers_mut().insert(REQUEST_ID, id.clone());
    }
    let mut response = next.run(request).await;
    if let Some(id) = id {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Puts a comment into a stream of events that is silent for `interval`, if it does not say itself that it goes on.
pub(super) async fn keep_alive(State(interval): State<Duration>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if response.extensions().get::<KeepsAlive>().is_some() {
        return response;
    }
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    if !kind.starts_with(b"text/event-stream") {
        return response;
    }
    response.map(|body| Body::from_stream(with_comments(body, interval)))
}

fn with_comments(body: Body, interval: Duration) -> impl stream::Stream<Item = Result<Bytes, axum::Error>> {
    // A comment may only stand between events; before the first one is between events, too.
    stream::unfold((body.into_data_stream(), true), move |(mut frames, mut between)| async move {
        let frame = loop {
            match tokio::time::timeout(interval, frames.next()).await {
                Ok(frame) => break frame?,
                Err(_) if between => break Ok(Bytes::from_static(COMMENT)),
                Err(_) => {}
            }
        };
        if let Ok(bytes) = &frame {
            between = bytes.ends_with(b"\n\n");
        }
        Some((frame, (frames, between)))
    })
}

/// The rules for web pages of other origins; `None` if there are no such pages.
pub(super) fn cors(config: &HttpConfig) -> Option<CorsLayer> {
    if config.allowed_origins.0.is_empty() {
        return None;
    }
    let origins = if config.allowed_origins.is_all() {
        // With credentials a browser takes no `*`.
        if config.allow_credentials { AllowOrigin::mirror_request() } else { AllowOrigin::any() }
    } else {
        AllowOrigin::list(config.allowed_origins.0.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()))
    };
    let methods = if config.allowed_methods.is_all() {
        AllowMethods::mirror_request()
    } else {
        AllowMethods::list(config.allowed_methods.0.iter().filter_map(|method| method.parse::<Method>().ok()))
    };
    let headers = if config.allowed_headers.is_all() {
        AllowHeaders::mirror_request()
    } else {
        AllowHeaders::list(config.allowed_headers.0.iter().filter_map(|name| name.parse::<HeaderName>().ok()))
    };
    let layer = CorsLayer::new().allow_origin(origins).allow_methods(methods).allow_headers(headers);
    Some(layer.allow_credentials(config.allow_credentials))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn comments_stand_between_events_only() {
        let frames = [("data: a\n\n", 0), ("data: ", 5), ("b\n\n", 5)];
        let body = Body::from_stream(stream::iter(frames).then(|(text, seconds)| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok::<_, Infallible>(text)
        }));
        let read: Vec<_> = with_comments(body, Duration::from_secs(2)).collect().await;
        let read: Vec<_> = read.into_iter().map(|frame| frame.expect("nothing fails")).collect();
        let text = read.concat();
        assert_eq!(text, b"data: a\n\n: keep-alive\n\n: keep-alive\n\ndata: b\n\n");
    }
}
