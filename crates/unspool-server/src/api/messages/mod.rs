//! `POST /v1/messages` and `/v1/messages/count_tokens`, as in Anthropic's API. A request is translated into a chat
//! request; the answer is the same event stream, grouped into blocks.

mod changes;
mod convert;
pub(crate) mod error;
mod history;
mod stream;
mod types;
mod whole;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use self::convert::Terms;
use self::types::MessagesBody;
use super::chat;
use super::service::json_response;
use super::{answer_id, json_body, sse};
use crate::app::App;
use crate::bounds::BodyBounds;
use crate::error::ApiError;
use crate::hosted::Ignored;
use crate::metrics::Surface;
use crate::reply::{ABORTED, Ending, Notes, TokenCounts};
use crate::request::ChatRequest;
use crate::request::read_body;

/// The common data of all parts of an answer.
struct Frame {
    id: String,
    model: String,
    notes: Notes,
    /// Omitted tools of the request.
    ignored_tools: Option<Value>,
}

/// Whether errors of a path have the format of Anthropic's API.
pub(crate) fn in_shape_of_messages(path: &str) -> bool {
    path.starts_with("/v1/messages")
}

/// Answers a Messages request.
#[utoipa::path(
    post, path = "/v1/messages", tag = "Anthropic", operation_id = "create_message", request_body = MessagesBody,
    responses(
        (status = 200, description = "The message: JSON, or named events under `stream: true`"),
        (status = "4XX", description = "The request is refused; the error says why, and which field"),
        (status = "5XX", description = "The backend or the gateway failed"),
    ),
)]
pub(super) async fn serve(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    answer(&app, &headers, body).await.unwrap_or_else(|error| error::response(&convert::in_own_words(error).noted()))
}

/// Counts the tokens of a Messages request's prompt.
#[utoipa::path(
    post, path = "/v1/messages/count_tokens", tag = "Anthropic", request_body = MessagesBody,
    responses(
        (status = 200, description = "The number of tokens of the prompt"),
        (status = "4XX", description = "The request is refused; the error says why, and which field"),
        (status = "5XX", description = "The backend or the gateway failed"),
    ),
)]
pub(super) async fn count_tokens(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    count(&app, &headers, body).await.unwrap_or_else(|error| error::response(&convert::in_own_words(error).noted()))
}

async fn answer(
    app: &Arc<App>,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let (request, streamed, ignored) = read(app, headers, body, true)?;
    let request = ChatRequest { merges_system: true, ..request.streamed(streamed) };
    let model = app.model_name(request.model.as_deref())?;
    let (id, notes) = (answer_id("msg", headers), Notes::new(request.diagnostics));
    let frame = Frame { id, model, notes, ignored_tools: ignored.told() };
    let hash = request.hash;
    let reply = chat::reply(app, request, Surface::Messages).await?;
    let mut response = match streamed {
        true => sse::answer(reply, stream::Writer::new(frame), app.http().keep_alive()),
        false => whole::answer(frame, reply).await?,
    };
    chat::name_request(&mut response, hash);
    Ok(response)
}

async fn count(app: &Arc<App>, headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Response, ApiError> {
    let (request, ..) = read(app, headers, body, false)?;
    let request = ChatRequest { merges_system: true, ..request };
    app.model_name(request.model.as_deref())?;
    Ok(json_response(&json!({"input_tokens": app.count_tokens(request).await?})))
}

/// The equivalent chat request, whether the answer is streamed, and the omitted tools.
fn read(
    app: &App,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    answered: bool,
) -> Result<(ChatRequest, bool, Ignored), ApiError> {
    let body = json_body(app, headers, body)?;
    let parsed: MessagesBody = read_body(&body)?;
    let Value::Object(object) = body else { return Err(ApiError::bad_body("the body must be a JSON object")) };
    if parsed.model.as_deref().unwrap_or_default().is_empty() {
        return Err(ApiError::bad_field("model", "`model` is missing; the Messages API requires it"));
    }
    let streamed = parsed.stream == Some(true);
    let without_thought = parsed.thinking.as_ref().is_some_and(|thinking| thinking.kind == "disabled");
    let thinks = parsed.thinking.is_some();
    let terms = Terms { answered, images: app.takes_images(), most_tools: app.http().bounds().tools };
    let (mut chat, ignored) = convert::chat_body(object, parsed, &terms)?;
    if let Some(chat) = chat.as_object_mut().filter(|_| thinks && !app.continuations().markers().are_known()) {
        // Clients of this API always send one; a model that does not think ignores it.
        chat.remove("thinking_token_budget");
    }
    if !without_thought {
        return Ok((app.chat_request(chat)?, streamed, ignored));
    }
    let request = app.chat_request(chat.clone())?;
    // A format that cannot switch thinking off keeps it short, as in vLLM.
    if app.pair().parser(&request.parse, unspool::Prompt::Unknown).is_ok() {
        return Ok((request, streamed, ignored));
    }
    chat["reasoning_effort"] = "low".into();
    Ok((app.chat_request(chat)?, streamed, ignored))
}

/// The equivalent chat request as a body.
pub(super) fn chat_body(body: Value) -> Result<Value, ApiError> {
    let parsed: MessagesBody = read_body(&body)?;
    let Value::Object(object) = body else { return Err(ApiError::bad_body("the body must be a JSON object")) };
    let terms = Terms { answered: true, images: false, most_tools: BodyBounds::default().tools };
    Ok(convert::chat_body(object, parsed, &terms)?.0)
}

/// The stop reason in Anthropic's terms, and the stop sequence that matched. The client runs a complete call, but not
/// one that was cut off.
fn stop_reason(ending: &Ending, calls: Calls) -> (Value, Value) {
    let stop = ending.stopped_at.as_ref().and_then(Value::as_str);
    match (ending.reason.as_str(), stop) {
        // An answer that the backend aborted is cut off as well.
        ("length" | ABORTED, _) => (json!("max_tokens"), Value::Null),
        ("content_filter", _) => (json!("refusal"), Value::Null),
        ("stop" | "tool_calls", _) if calls == Calls::Complete => (json!("tool_use"), Value::Null),
        ("stop" | "tool_calls", Some(stop)) => (json!("stop_sequence"), json!(stop)),
        ("stop" | "tool_calls", None) => (json!("end_turn"), Value::Null),
        _ => (Value::Null, Value::Null),
    }
}

/// The state of an answer's calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Calls {
    /// There are none.
    #[default]
    None,
    /// All are complete.
    Complete,
    /// At least one is cut off or broken.
    Partial,
}

impl Calls {
    /// Adds a call.
    fn and(self, complete: bool) -> Self {
        if complete && self != Self::Partial { Self::Complete } else { Self::Partial }
    }
}

/// The usage. Prompt tokens from the backend's cache do not count as input here.
fn usage(tokens: TokenCounts) -> Value {
    let input = tokens.prompt.saturating_sub(tokens.cached.unwrap_or_default());
    let mut usage = json!({"input_tokens": input, "output_tokens": tokens.completion});
    if let Some(cached) = tokens.cached {
        usage["cache_read_input_tokens"] = cached.into();
    }
    usage
}

/// Whether a call can be run: its arguments are an object, or empty.
fn is_object(arguments: &str) -> bool {
    arguments.is_empty() || matches!(serde_json::from_str(arguments), Ok(Value::Object(_)))
}

/// The signature of a thinking block. It proves nothing, but clients store it with the reasoning and require one.
fn signature() -> String {
    format!("{:016x}{:016x}", crate::unique::number(), crate::unique::number())
}
