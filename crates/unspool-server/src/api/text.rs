//! Text and tokens for clients: `/tokenize`, `/detokenize`, and the rendered prompt of a chat request. All three need
//! `--model-dir`; for rendering `--chat-template` is enough.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use unspool_text::TextError;
use utoipa::ToSchema;

use super::service::json_response;
use super::{answer_id, json_body};
use crate::app::App;
use crate::blocking;
use crate::error::ApiError;
use crate::prompt::RenderedPrompt;
use crate::request::read_body;
use crate::request::{ChatRequest, ToolRules};

/// A text or a conversation whose tokens to count.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct TokenizeBody {
    model: Option<String>,
    prompt: Option<String>,
    messages: Option<Value>,
    add_special_tokens: Option<bool>,
    return_token_strs: Option<bool>,
}

/// `POST /tokenize`, for a text (`prompt`) or a conversation (`messages`, with the template's fields).
#[utoipa::path(
    post, path = "/tokenize", tag = "Text", request_body = TokenizeBody,
    responses((status = 200, description = "The ids of the tokens, and their number"), (status = 501, description = "The gateway has no model folder")),
)]
pub(super) async fn tokenize(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body = json_body(&app, &headers, body)?;
    let asked: TokenizeBody = read_body(&body)?;
    app.model_name(asked.model.as_deref())?;
    let tokenizer = Arc::clone(app.model().tokenizer()?);
    let ids = match (asked.prompt, &asked.messages) {
        (Some(text), None) => {
            drop(body);
            let (own, add_special) = (Arc::clone(&app), asked.add_special_tokens != Some(false));
            blocking::in_turn(app.model().turns(), move || own.model().tokenize(&text, add_special, "prompt")).await?
        }
        // No tool is called here, so it does not matter whether the model may.
        (None, Some(_)) => rendered(&app, body.clone(), ToolRules { has_parser: true, auto: true }).await?.1.ids(),
        _ => return Err(ApiError::bad_body("exactly one of `prompt` and `messages` is needed")),
    };
    app.backend().learn().await;
    let spelled = asked.return_token_strs == Some(true);
    let answer = Tokenized {
        count: ids.len(),
        max_model_len: app.longest_context(asked.model.as_deref()),
        token_strs: spelled.then(|| ids.iter().map(|id| tokenizer.spelling(*id)).collect()),
        tokens: ids,
    };
    let text = serde_json::to_string(&answer).map_err(|error| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the tokens cannot be told: {error}"))
    })?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// The tokens of a text, serialised directly: as JSON values they would take eight times the memory.
#[derive(Serialize)]
struct Tokenized {
    count: usize,
    max_model_len: Option<u64>,
    tokens: Vec<u32>,
    token_strs: Option<Vec<Option<String>>>,
}

/// Ids to decode.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct DetokenizeBody {
    #[serde(default)]
    model: Option<String>,
    tokens: Vec<u32>,
}

/// `POST /detokenize`: the text of ids, special tokens included.
#[utoipa::path(
    post, path = "/detokenize", tag = "Text", request_body = DetokenizeBody,
    responses((status = 200, description = "The text"), (status = 501, description = "The gateway has no model folder")),
)]
pub(super) async fn detokenize(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body = json_body(&app, &headers, body)?;
    let asked: DetokenizeBody = read_body(&body)?;
    app.model_name(asked.model.as_deref())?;
    drop(body);
    let tokenizer = Arc::clone(app.model().tokenizer()?);
    let told = |error: TextError| ApiError { hint: error.hint, ..ApiError::bad_field("tokens", error.message) };
    let text = blocking::in_turn(app.model().turns(), move || tokenizer.decode(&asked.tokens).map_err(told)).await?;
    Ok(json_response(&json!({"prompt": text})))
}

/// `POST /v1/chat/completions/render`: the prompt of a chat request, and whether the reply begins after the thought.
/// Returns those fields of vLLM's render endpoint that are known here, and the prompt as text.
#[utoipa::path(
    post, path = "/v1/chat/completions/render", tag = "Text", request_body = crate::request::ChatBody,
    responses((status = 200, description = "The prompt, its tokens, and how the answer is made"), (status = 501, description = "The gateway has no model folder")),
)]
pub(super) async fn render(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body = json_body(&app, &headers, body)?;
    let (request, prompt) = rendered(&app, body, app.tool_rules()).await?;
    let model = app.model_name(request.model.as_deref())?;
    let parser = app.pair().parser(&request.parse, prompt.tail())?;
    let sampling = &request.sampling;
    let mut params = sampling.others.clone();
    params.insert("max_tokens".to_owned(), json!(sampling.max_tokens));
    params.insert("min_tokens".to_owned(), json!(sampling.min_tokens));
    params.insert("n".to_owned(), json!(request.n));
    params.insert("seed".to_owned(), json!(sampling.seed));
    params.insert("stop".to_owned(), json!(sampling.stop));
    params.insert("stop_token_ids".to_owned(), json!(app.model().end_tokens()));
    if app.pair().needs(&request.parse).special_tokens {
        params.insert("skip_special_tokens".to_owned(), json!(false));
        params.insert("spaces_between_special_tokens".to_owned(), json!(false));
    }
    if let Some(budget) = sampling.thinking_budget {
        params.insert("thinking_token_budget".to_owned(), json!(budget));
    }
    let (own, asked, start) = (Arc::clone(&app), Arc::clone(&request), parser.standing());
    blocking::run(move || own.constrainer().form(&asked, start)).await?.constraint.put(&mut params);
    let ids = prompt.tokens.is_some().then(|| prompt.ids());
    Ok(json_response(&json!({
        "request_id": answer_id("chatcmpl", &headers),
        "model": model,
        "prompt": prompt.text,
        "token_ids": ids,
        "sampling_params": params,
        "reasoning_ended": parser.reasoning_ended(),
        "reasoning_parser_kwargs": {"chat_template_kwargs": request.parse.chat_template_kwargs},
    })))
}

/// A chat request and its prompt.
async fn rendered(
    app: &Arc<App>,
    body: Value,
    rules: ToolRules,
) -> Result<(Arc<ChatRequest>, RenderedPrompt), ApiError> {
    let request = Arc::new(app.chat_request_under(body, rules)?);
    if !app.model().renders(&request) {
        return Err(ApiError::new(StatusCode::NOT_IMPLEMENTED, "this gateway has no chat template to render with")
            .hint("start it with --model-dir, or with --chat-template"));
    }
    let (own, asked) = (Arc::clone(app), Arc::clone(&request));
    let prompt = blocking::in_turn(app.model().turns(), move || own.model().render(&asked)).await?;
    Ok((request, prompt))
}
