//! Middleware of all endpoints: counting, request ids, keep-alive comments, cross-origin rules.

use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
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
use crate::line;
use crate::metrics::{Metrics, Surface};
use crate::unique;

/// A comment in an event stream, which every client skips.
const COMMENT: &[u8] = b": keep-alive\n\n";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The log's span of a request: its path without the query, which may be confidential.
pub(super) fn span(request: &Request) -> tracing::Span {
    tracing::debug_span!("request", method = %request.method(), path = request.uri().path())
}

/// Counts the requests of the APIs.
pub(super) async fn count(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let surface = Surface::of_path(request.uri().path());
    let response = next.run(request).await;
    if let Some(surface) = surface {
        metrics.request(surface, response.status().as_u16());
    }
    response
}

/// Writes one log line for each API request, when its answer ends or its client disconnects. Requests for the gateway's
/// state are logged at the level `debug`.
pub(super) async fn log(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let written = line::begin();
    let response = line::during(Arc::clone(&written), next.run(request)).await;
    let told = Told { method, path, status: response.status().as_u16(), line: written };
    response.map(|body| Body::new(Logged { body, _told: told }))
}

/// A body that writes a request's log line at its end.
struct Logged {
    body: Body,
    _told: Told,
}

impl http_body::Body for Logged {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

/// Writes a request's log line when dropped.
struct Told {
    method: Method,
    path: String,
    status: u16,
    line: line::Shared,
}

impl Drop for Told {
    fn drop(&mut self) {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        // An unknown path is arbitrary client input.
        let known = Surface::of_path(&self.path).is_some() || self.method == Method::POST && self.status < 400;
        let path = if known { self.path.as_str() } else { "(other)" };
        let (method, status, duration_ms) = (&self.method, self.status, ms(line.elapsed()));
        let (first_ms, finish, backend) = (line.first.map(ms), line.finish, line.backend);
        let reason = line.reason.as_deref();
        if self.method == Method::POST {
            tracing::info!(
                %method, path, status, prompt_tokens = line.prompt, completion_tokens = line.completion, first_ms,
                duration_ms, finish, backend, reason, "request"
            );
        } else {
            tracing::debug!(%method, path = self.path, status, duration_ms, "request");
        }
    }
}

/// Refuses a body by its announced length, before a client that waits for `100 Continue` sends it.
pub(super) async fn announced(State(longest): State<usize>, request: Request, next: Next) -> Response {
    let length: Option<u64> =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    match length {
        Some(length) if length > longest as u64 => super::shaped(request.uri(), super::too_long(longest)),
        _ => next.run(request).await,
    }
}

/// Adds the request's id, or a new one, to the answer.
pub(super) async fn request_id(mut request: Request, next: Next) -> Response {
    let own = request.headers().get(REQUEST_ID).cloned();
    let id = own.or_else(|| HeaderValue::from_str(&format!("{:016x}{:016x}", unique::number(), unique::number())).ok());
    if let Some(id) = &id {
        // The ids of answers derive from it.
        request.headers_mut().insert(REQUEST_ID, id.clone());
    }
    let mut response = next.run(request).await;
    if let Some(id) = id {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Adds a comment to an event stream that is silent for `interval`, unless the stream has its own keep-alive.
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
    // A comment is only allowed between events, or before the first.
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

/// The CORS rules; `None` if no origin is allowed.
pub(super) fn cors(config: &HttpConfig) -> Option<CorsLayer> {
    if config.allowed_origins.0.is_empty() {
        return None;
    }
    let origins = if config.allowed_origins.is_all() {
        // With credentials, browsers do not accept `*`.
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
