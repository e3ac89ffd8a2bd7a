//! `POST /v1/completions`: raw output. A backend with this API answers itself; for the others the raw output is passed
//! through, without a parser.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream::{self, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::service::json_response;
use super::{answer_id, checked, event_stream, raw_body};
use crate::app::App;
use crate::backend::{BackendError, BackendFault, Job, Piece, Pieces, StopReason, Tokens};
use crate::bounds::BodyBounds;
use crate::error::ApiError;
use crate::hash::request_hash;
use crate::request::read_text;
use crate::request::{ChatRequest, OneOrMany, Sampling, StreamOptions, answers, count, stops};
use crate::unique;

/// Default maximum number of tokens, as in OpenAI's API.
const DEFAULT_MAX_TOKENS: u64 = 16;

/// The field that makes log probabilities write tokens as `token_id:ID`.
const TOKEN_IDS: &str = "return_tokens_as_token_ids";

/// The fields of a raw completion that the gateway reads.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct CompletionBody {
    model: Option<String>,
    /// One text; a backend with this API may accept more.
    #[schema(value_type = Option<Value>)]
    prompt: Option<Box<RawValue>>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    n: Option<i64>,
    max_tokens: Option<i64>,
    seed: Option<i64>,
    stop: Option<OneOrMany>,
    /// Whether log probabilities write tokens as ids, if the backend has this API.
    return_tokens_as_token_ids: Option<bool>,
}

/// Answers a completions request.
#[utoipa::path(
    post, path = "/v1/completions", tag = "OpenAI", operation_id = "create_completion", request_body = CompletionBody,
    responses(
        (status = 200, description = "The raw output, with no parser in between"),
        (status = "4XX", description = "The request is refused; the error says why, and which field"),
        (status = "5XX", description = "The backend or the gateway failed"),
    ),
)]
pub(super) async fn serve(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let raw = raw_body(&headers, body)?;
    // The rest stays text: a prompt may be a million ids.
    let parsed: CompletionBody = read_text(&raw)?;
    let model = app.model_name(parsed.model.as_deref())?;
    if app.backend().forwards() {
        BodyBounds::check_depth(&raw)?;
        let asked = if app.answers().return_tokens_as_token_ids { with_token_ids(raw, &parsed) } else { raw };
        return match app.backend().forward(asked).await {
            Some(answer) => Ok(answer?),
            None => Err(BackendError::new(BackendFault::Unreachable, "there is no backend to ask").into()),
        };
    }
    let body = checked(&app, &raw)?;
    drop(raw);
    if answers(parsed.n)? != 1 {
        return Err(ApiError::bad_field("n", "raw completions are given one at a time"));
    }
    let Some(Value::String(prompt)) = body.get("prompt").cloned() else {
        return Err(ApiError::bad_field("prompt", "`prompt` must be one text"));
    };
    let sampling = Sampling {
        max_tokens: count("max_tokens", parsed.max_tokens, 1)?.or(Some(DEFAULT_MAX_TOKENS)),
        seed: parsed.seed,
        stop: stops(parsed.stop),
        ..Sampling::default()
    };
    app.check_stops(&sampling.stop)?;
    let hash = body.as_object().map(request_hash).unwrap_or_default();
    let request = Arc::new(ChatRequest::of_prompt(prompt, sampling, hash));
    let prompt = Arc::new(app.prompt(&request).await?);
    let pieces = app.backend().start(Job { request, prompt, choice: 0, form: Arc::default() }).await?;
    let frame = RawFrame { id: answer_id("cmpl", &headers), created: unique::now(), model };
    if parsed.stream == Some(true) {
        let usage = parsed.stream_options.is_some_and(|options| options.include_usage == Some(true));
        return Ok(frame.stream(pieces, usage));
    }
    frame.whole(pieces).await
}

/// Adds the field for token ids to the body, unless the body sets it.
fn with_token_ids(raw: Bytes, parsed: &CompletionBody) -> Bytes {
    let Some(fields) = raw.trim_ascii_end().strip_suffix(b"}") else { return raw };
    if parsed.return_tokens_as_token_ids.is_some() {
        return raw;
    }
    // If a field occurs twice, as null and as this, the last one counts.
    let comma = if fields.trim_ascii().ends_with(b"{") { "" } else { "," };
    [fields, format!("{comma}\"{TOKEN_IDS}\":true}}").as_bytes()].concat().into()
}

struct RawFrame {
    id: String,
    created: u64,
    model: String,
}

impl RawFrame {
    fn body(&self, choices: &Value) -> Value {
        json!({"id": self.id, "object": "text_completion", "created": self.created, "model": self.model, "choices": choices})
    }

    async fn whole(self, mut pieces: Pieces) -> Result<Response, ApiError> {
        let (mut all, mut usage, mut ending) = (String::new(), Value::Null, (Value::Null, Value::Null));
        while let Some(piece) = pieces.next().await {
            match piece? {
                Piece::Tokens(tokens) => all.push_str(&tokens.text),
                Piece::Stopped { reason, at } => ending = (word(reason), at.unwrap_or_default()),
                Piece::Usage { prompt, completion, .. } => usage = counts(prompt, completion),
                Piece::Prompt(_) | Piece::PromptProbabilities(_) | Piece::Native(_) => {}
            }
        }
        let (reason, at) = ending;
        let choice = json!([{"index": 0, "text": all, "logprobs": null, "finish_reason": reason, "stop_reason": at}]);
        let mut body = self.body(&choice);
        body["usage"] = usage;
        Ok(json_response(&body))
    }

    fn stream(self, pieces: Pieces, with_usage: bool) -> Response {
        let events = pieces.filter_map(move |piece| {
            let event = self.event(piece, with_usage).map(|event| Ok::<_, Infallible>(format!("data: {event}\n\n")));
            async { event }
        });
        let done = stream::iter([Ok("data: [DONE]\n\n".to_owned())]);
        event_stream(Body::from_stream(events.chain(done)))
    }

    fn event(&self, piece: Result<Piece, BackendError>, with_usage: bool) -> Option<Value> {
        Some(match piece {
            Ok(Piece::Tokens(tokens)) if tokens.text.is_empty() => return None,
            Ok(Piece::Tokens(Tokens { text, .. })) => {
                self.body(&json!([{"index": 0, "text": text, "logprobs": null, "finish_reason": null}]))
            }
            Ok(Piece::Stopped { reason, at }) => self.body(&json!([
                {"index": 0, "text": "", "logprobs": null, "finish_reason": word(reason), "stop_reason": at}
            ])),
            Ok(Piece::Prompt(_) | Piece::PromptProbabilities(_) | Piece::Native(_)) => return None,
            Ok(Piece::Usage { .. }) if !with_usage => return None,
            Ok(Piece::Usage { prompt, completion, .. }) => {
                let mut body = self.body(&json!([]));
                body["usage"] = counts(prompt, completion);
                body
            }
            Err(error) => ApiError::from(error).body(),
        })
    }
}

fn word(reason: StopReason) -> Value {
    Value::String(match reason {
        StopReason::Stop => "stop".to_owned(),
        StopReason::Length => "length".to_owned(),
        StopReason::Other(word) => word,
    })
}

fn counts(prompt: u64, completion: u64) -> Value {
    let total = prompt.saturating_add(completion);
    json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total})
}
