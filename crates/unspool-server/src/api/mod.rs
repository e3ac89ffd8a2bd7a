//! The HTTP APIs.

mod alias;
mod auth;
pub mod chat;
mod completions;
mod envelope;
mod layers;
pub(crate) mod messages;
mod openapi;
mod responses;
mod service;
mod sse;
mod text;

use std::any::Any;
use std::error::Error;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::DefaultBodyLimit;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::Value;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::trace::TraceLayer;

use crate::app::App;
use crate::bounds::{self, BodyBounds};
use crate::error::ApiError;
use crate::request::{ChatRequest, ToolRules};

/// The APIs in which a conversation is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiKind {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
}

impl ApiKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::Responses];
}

/// Parses the body of a request, within the default limits, as the equivalent chat request. Ignores a server's model
/// and backend.
///
/// # Errors
/// The body is not JSON, exceeds a limit, or is refused; the error has the reason and the field.
pub fn chat_request(api: ApiKind, body: &[u8], rules: ToolRules) -> Result<ChatRequest, ApiError> {
    BodyBounds::default().check(body)?;
    let body: Value = serde_json::from_slice(body).map_err(|error| bounds::not_json(&error))?;
    let chat = match api {
        ApiKind::Chat => body,
        ApiKind::Messages => messages::chat_body(body)?,
        ApiKind::Responses => responses::chat_body(&body)?,
    };
    ChatRequest::read(chat, rules)
}

/// Maximum length of an `X-Request-Id` in the ids of answers, in bytes.
const LONGEST_REQUEST_ID: usize = 128;

/// All routes of the gateway.
pub fn router(app: Arc<App>) -> Router {
    let keys: Arc<[String]> = app.keys().into();
    let http = app.http().clone();
    let metrics = Arc::clone(app.metrics());
    let mut router = Router::new()
        .route("/v1/chat/completions", post(chat::serve))
        .route("/v1/completions", post(completions::serve))
        .route("/v1/messages", post(messages::serve))
        .route("/v1/messages/count_tokens", post(messages::count_tokens))
        .route("/v1/responses", post(responses::serve))
        .route("/v1/responses/input_tokens", post(responses::input_tokens))
        .route("/v1/responses/{id}", get(responses::kept).delete(responses::kept))
        .route("/v1/responses/{id}/cancel", post(responses::kept))
        .route("/v1/chat/completions/render", post(text::render))
        .route("/tokenize", post(text::tokenize))
        .route("/detokenize", post(text::detokenize))
        .route("/v1/models", get(service::models))
        .route("/v1/models/{*id}", get(service::model))
        .route("/", get(service::page))
        .route("/ready", get(service::ready))
        .route("/health", get(service::health))
        .route("/ping", get(service::health).post(service::health))
        .route("/version", get(service::version))
        .route("/metrics", get(service::metrics))
        .route("/openapi.json", get(openapi::document))
        .route("/docs", get(openapi::page))
        .fallback(no_such_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(http.max_body_size))
        .layer(middleware::from_fn_with_state(http.max_body_size, layers::announced));
    if let Some(interval) = http.keep_alive() {
        router = router.layer(middleware::from_fn_with_state(interval, layers::keep_alive));
    }
    router = router
        .layer(middleware::from_fn_with_state(keys, auth::check))
        .layer(middleware::from_fn_with_state(metrics, layers::count))
        .layer(middleware::from_fn(layers::log));
    if http.enable_request_id_headers {
        router = router.layer(middleware::from_fn(layers::request_id));
    }
    if let Some(cors) = layers::cors(&http) {
        router = router.layer(cors);
    }
    let router = router
        .layer(CatchPanicLayer::custom(panicked))
        .layer(TraceLayer::new_for_http().make_span_with(layers::span))
        .with_state(app);
    match http.root() {
        // A proxy may keep or strip its prefix.
        Some(root) => Router::new().nest(root, router.clone()).fallback_service(router),
        None => router,
    }
}

async fn no_such_path(uri: Uri) -> Response {
    shaped(&uri, ApiError::new(StatusCode::NOT_FOUND, format!("there is nothing at `{}`", uri.path())))
}

async fn wrong_method(method: Method, uri: Uri) -> Response {
    shaped(&uri, ApiError::new(StatusCode::METHOD_NOT_ALLOWED, format!("`{}` does not take {method}", uri.path())))
}

/// An error in the format that the clients of a path expect.
fn shaped(uri: &Uri, error: ApiError) -> Response {
    if messages::in_shape_of_messages(uri.path()) { messages::error::response(&error) } else { error.into_response() }
}

/// A bug must not look like a dropped connection.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the gateway failed on this request").into_response()
}

/// A JSON body within the limits of this server. Frees its text.
fn json_body(app: &App, headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Value, ApiError> {
    checked(app, &raw_body(headers, body)?)
}

/// The value of a body within the limits of this server.
fn checked(app: &App, body: &[u8]) -> Result<Value, ApiError> {
    app.http().bounds().check(body)?;
    serde_json::from_slice(body).map_err(|error| bounds::not_json(&error))
}

/// The error for a body that was not read.
fn unread(rejection: &BytesRejection) -> ApiError {
    let mut cause: Option<&dyn Error> = Some(rejection);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body of the request took too long")
                .hint("the server's --request-timeout sets how long a client may pause");
        }
        cause = error.source();
    }
    ApiError::new(rejection.status(), rejection.body_text())
}

/// The error for a body beyond the maximum size.
fn too_long(longest: usize) -> ApiError {
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body of the request is longer than {longest} bytes"))
        .hint("the server's --max-body-size sets how long it may be")
}

/// A JSON body, unparsed.
fn raw_body(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Bytes, ApiError> {
    let body = body.map_err(|rejection| unread(&rejection))?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence != "application/json" && !(essence.starts_with("application/") && essence.ends_with("+json")) {
        return Err(
            ApiError::bad_body("the body must be JSON").hint("send the header `Content-Type: application/json`")
        );
    }
    // A byte order mark, which some clients write, is no part of the JSON.
    Ok(if body.starts_with(b"\xef\xbb\xbf") { body.slice(3..) } else { body })
}

/// The id of an answer, derived from the client's request id if it sent one.
fn answer_id(prefix: &str, headers: &HeaderMap) -> String {
    let own = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    match own.filter(|id| !id.is_empty() && id.len() <= LONGEST_REQUEST_ID) {
        Some(id) => format!("{prefix}-{id}"),
        None => format!("{prefix}-{:016x}", crate::unique::number()),
    }
}

/// A stream of server-sent events.
fn event_stream(frames: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        // Makes buffering proxies forward each event at once.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, frames).into_response()
}
