//! `POST /v1/responses`, as in OpenAI's API. A request is translated into a chat request; the answer is the same event
//! stream, grouped into items. Nothing is stored: each request has the entire conversation.

mod convert;
mod custom;
mod input;
mod items;
mod stream;
mod tools;
mod types;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};

use self::items::Items;
use self::tools::Tools;
use self::types::ResponsesBody;
use super::chat;
use super::service::json_response;
use super::{answer_id, json_body, sse};
use crate::app::App;
use crate::blocks::Blocks;
use crate::engine::Reply;
use crate::error::ApiError;
use crate::metrics::Surface;
use crate::reply::{ABORTED, Notes, TokenCounts};
use crate::request::read_body;
use crate::unique;

/// Answers a Responses request.
#[utoipa::path(
    post, path = "/v1/responses", tag = "OpenAI", operation_id = "create_response", request_body = ResponsesBody,
    responses(
        (status = 200, description = "The response: JSON, or named and numbered events under `stream: true`"),
        (status = "4XX", description = "The request is refused; the error says why, and which field"),
        (status = "5XX", description = "The backend or the gateway failed"),
    ),
)]
pub(super) async fn serve(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    answer(&app, &headers, body).await.unwrap_or_else(|error| refused(&convert::in_own_words(error).noted()))
}

/// An error in this API's format, whose code is a text or null.
fn refused(error: &ApiError) -> Response {
    let mut body = error.body();
    if body["error"]["code"].is_number() {
        body["error"]["code"] = Value::Null;
    }
    (error.status, json_response(&body)).into_response()
}

/// Counts the tokens of a Responses request's prompt.
#[utoipa::path(
    post, path = "/v1/responses/input_tokens", tag = "OpenAI", operation_id = "count_input_tokens", request_body = ResponsesBody,
    responses(
        (status = 200, description = "The number of tokens of the prompt"),
        (status = "4XX", description = "The request is refused; the error says why, and which field"),
        (status = "5XX", description = "The backend or the gateway failed"),
    ),
)]
pub(super) async fn input_tokens(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    count(&app, &headers, body).await.unwrap_or_else(|error| refused(&convert::in_own_words(error).noted()))
}

async fn count(app: &Arc<App>, headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Response, ApiError> {
    let body = json_body(app, headers, body)?;
    let parsed: ResponsesBody = read_body(&body)?;
    let object = body.as_object().ok_or_else(|| ApiError::bad_body("the body must be a JSON object"))?;
    let mut request = app.chat_request(convert::chat_body(object, &parsed, app.takes_images())?.0)?;
    request.merges_system = true;
    app.model_name(request.model.as_deref())?;
    let tokens = app.count_tokens(request).await?;
    Ok(json_response(&json!({"object": "response.input_tokens", "input_tokens": tokens})))
}

/// The equivalent chat request as a body.
pub(super) fn chat_body(body: &Value) -> Result<Value, ApiError> {
    let parsed: ResponsesBody = read_body(body)?;
    let object = body.as_object().ok_or_else(|| ApiError::bad_body("the body must be a JSON object"))?;
    Ok(convert::chat_body(object, &parsed, false)?.0)
}

/// `GET`, `DELETE` and `POST …/cancel` of a response.
pub(super) async fn kept(Path(id): Path<String>) -> ApiError {
    let id = id.split('/').next().unwrap_or_default();
    ApiError::new(StatusCode::NOT_FOUND, format!("there is no response `{id}`: responses are not kept here"))
}

async fn answer(
    app: &Arc<App>,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body = json_body(app, headers, body)?;
    let parsed: ResponsesBody = read_body(&body)?;
    let object = body.as_object().ok_or_else(|| ApiError::bad_body("the body must be a JSON object"))?;
    let (chat, tools) = convert::chat_body(object, &parsed, app.takes_images())?;
    let mut request = app.chat_request(chat)?.streamed(parsed.stream == Some(true));
    request.merges_system = true;
    request.may_drop = parsed.truncation.as_deref() == Some("auto");
    let model = app.model_name(request.model.as_deref())?;
    let fixed = Frame::fixed(&answer_id("resp", headers), &model, object, &parsed);
    let asks = |what: &str| parsed.include.iter().flatten().any(|asked| asked == what);
    let sealed = asks("reasoning.encrypted_content");
    let mut fixed = fixed;
    if let Some(ignored) = tools.ignored().told() {
        fixed.insert("ignored_tools".to_owned(), ignored);
    }
    let mut frame = Frame { fixed, notes: Notes::new(request.diagnostics), sealed, tokens: Told::default() };
    let hash = request.hash;
    let mut reply = chat::reply(app, request, Surface::Responses).await?;
    frame.tokens.prompt_ids = reply.prompt_ids();
    let mut response = if parsed.stream == Some(true) {
        sse::answer(reply, stream::Writer::new(frame, tools), app.http().keep_alive())
    } else {
        whole(frame, tools, reply).await?
    };
    chat::name_request(&mut response, hash);
    Ok(response)
}

/// Waits for the answer and returns it.
async fn whole(mut frame: Frame, tools: Tools, mut reply: Reply) -> Result<Response, ApiError> {
    let (mut blocks, mut items) = (Blocks::default(), Items::new(tools, frame.sealed));
    let mut nobody = |_: &str, _: Value| {};
    let mut outcome = Outcome::Running;
    while let Some(step) = reply.next().await {
        let step = step?;
        if step.anew {
            blocks = Blocks::default();
            items.forget();
            frame.tokens.ids.clear();
            frame.notes.forget();
        }
        frame.notes.take(&step.events);
        frame.tokens.ids.extend(step.ids);
        for event in blocks.take(step.events) {
            items.take(event, false, &mut nobody);
        }
        if let Some(ending) = step.ending {
            outcome = Outcome::of(&ending.reason);
        }
    }
    for event in blocks.finish() {
        items.take(event, outcome != Outcome::Completed, &mut nobody);
    }
    frame.tokens.prompt_logprobs = reply.prompt_probabilities();
    Ok(json_response(&frame.response(&outcome, items.done(), Some(reply.tokens()))))
}

/// The state of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Running,
    Completed,
    /// Cut, with the reason.
    Incomplete(&'static str),
    /// The backend failed, with the message.
    Failed(String),
}

impl Outcome {
    fn of(reason: &str) -> Self {
        match reason {
            "length" => Self::Incomplete("max_output_tokens"),
            "content_filter" => Self::Incomplete("content_filter"),
            ABORTED => Self::Incomplete(ABORTED),
            _ => Self::Completed,
        }
    }

    fn status(&self) -> &'static str {
        match self {
            Self::Running => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Failed(_) => "failed",
        }
    }
}

/// The common data of all states of a response.
struct Frame {
    fixed: Map<String, Value>,
    notes: Notes,
    /// Whether reasoning also comes in envelopes.
    sealed: bool,
    /// Data of tokens besides the items.
    tokens: Told,
}

/// Data of a response's tokens, if requested.
#[derive(Default)]
struct Told {
    /// The ids of the prompt, or null; set if ids are requested.
    prompt_ids: Option<Value>,
    ids: Vec<u32>,
    /// The log probabilities of the prompt.
    prompt_logprobs: Option<Value>,
}

impl Frame {
    /// The constant fields: the response's own, and those that echo the request.
    fn fixed(id: &str, model: &str, body: &Map<String, Value>, parsed: &ResponsesBody) -> Map<String, Value> {
        let given = |key: &str| body.get(key).cloned().unwrap_or_default();
        let or = |key: &str, default: Value| body.get(key).filter(|value| !value.is_null()).cloned().unwrap_or(default);
        let format = parsed.text.as_ref().and_then(|text| text.format.clone()).unwrap_or(json!({"type": "text"}));
        let fields = json!({
            "id": id.replacen('-', "_", 1),
            "object": "response",
            "created_at": unique::now(),
            "model": model,
            "instructions": parsed.instructions,
            "max_output_tokens": parsed.max_output_tokens,
            "max_tool_calls": given("max_tool_calls"),
            "metadata": parsed.metadata.clone().unwrap_or_default(),
            "parallel_tool_calls": parsed.parallel_tool_calls.unwrap_or(true),
            "previous_response_id": null,
            "reasoning": or("reasoning", json!({"effort": null, "summary": null})),
            "background": false,
            "service_tier": or("service_tier", json!("auto")),
            // Whatever the request says.
            "store": false,
            "temperature": parsed.temperature,
            "text": {"format": format},
            "tool_choice": or("tool_choice", json!("auto")),
            "tools": parsed.tools.clone().unwrap_or_default(),
            "top_logprobs": parsed.top_logprobs.unwrap_or_default(),
            "top_p": parsed.top_p,
            "truncation": parsed.truncation.as_deref().unwrap_or("disabled"),
            "user": given("user"),
        });
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// The response object.
    fn response(&self, outcome: &Outcome, output: &[Value], tokens: Option<TokenCounts>) -> Value {
        let mut response = self.fixed.clone();
        let (incomplete, error) = match outcome {
            Outcome::Incomplete(reason) => (json!({"reason": reason}), Value::Null),
            Outcome::Failed(message) => (Value::Null, json!({"code": "server_error", "message": message})),
            Outcome::Running | Outcome::Completed => (Value::Null, Value::Null),
        };
        response.insert("status".to_owned(), outcome.status().into());
        response.insert("error".to_owned(), error);
        response.insert("incomplete_details".to_owned(), incomplete);
        response.insert("output".to_owned(), output.into());
        response.insert("usage".to_owned(), tokens.map(usage).unwrap_or_default());
        if let Some(prompt) = self.tokens.prompt_ids.as_ref().filter(|_| *outcome != Outcome::Running) {
            response.insert("prompt_token_ids".to_owned(), prompt.clone());
            response.insert("token_ids".to_owned(), json!(self.tokens.ids));
        }
        if let Some(told) = &self.tokens.prompt_logprobs {
            response.insert("prompt_logprobs".to_owned(), told.clone());
        }
        if let Some(notes) = self.notes.told().filter(|_| *outcome != Outcome::Running) {
            response.insert("diagnostics".to_owned(), notes);
        }
        Value::Object(response)
    }
}

fn usage(tokens: TokenCounts) -> Value {
    json!({
        "input_tokens": tokens.prompt,
        "input_tokens_details": {"cached_tokens": tokens.cached.unwrap_or_default(), "cache_write_tokens": 0},
        "output_tokens": tokens.completion,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.prompt.saturating_add(tokens.completion),
    })
}
