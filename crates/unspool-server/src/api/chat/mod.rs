//! `POST /v1/chat/completions`, as vLLM has it, with two additions: the request field `include_diagnostics: true` brings
//! a list `diagnostics` beside each choice (in a stream, in the chunks where they arise), and the answer's header
//! `x-unspool-request-hash` names the request, so that a recording can be bound to it.

mod chunk;
mod request;
mod stream;
mod tools;
mod types;
mod whole;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use futures_util::future::try_join_all;

pub use self::request::{ChatRequest, Delivery, Sampling};
pub(crate) use self::request::{answers, count, stops};
pub use self::tools::ToolRules;
pub use self::types::{
    CalledFunction, ChatBody, ChatMessage, ContentPart, MessageCall, MessageContent, OneOrMany, StreamOptions,
};
use super::{answer_id, json_body};
use crate::app::App;
use crate::backend::Job;
use crate::engine::Reply;
use crate::error::ApiError;
use crate::unique;

/// What all chunks and the whole answer have in common.
struct Frame {
    id: String,
    created: u64,
    model: String,
    /// Whether oddities of the output are told.
    diagnostics: bool,
    /// Whether the counts name the tokens of the thought, as vLLM's do under `--reasoning-parser`.
    counts_reasoning: bool,
}

/// Answers a chat request.
pub(super) async fn serve(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let (_, body) = json_body(&headers, body)?;
    let request = Arc::new(app.chat_request(&body)?);
    drop(body);
    let frame = Frame {
        id: answer_id("chatcmpl", &headers),
        created: unique::now(),
        model: app.model_name(request.model.as_deref())?,
        diagnostics: request.diagnostics,
        counts_reasoning: app.has_reasoning_parser(),
    };
    let replies = replies(&app, &request).await?;
    let mut response = match request.delivery {
        Delivery::Whole => whole::answer(&frame, replies).await?,
        Delivery::Stream { usage, continuous } => stream::answer(frame, replies, stream::Counts { usage, continuous }),
    };
    if let Ok(hash) = HeaderValue::from_str(&format!("{:016x}", request.hash)) {
        response.headers_mut().insert(HeaderName::from_static("x-unspool-request-hash"), hash);
    }
    Ok(response)
}

/// Begins all answers to a request. Whatever is wrong until their first byte is an error of the request.
async fn replies(app: &Arc<App>, request: &Arc<ChatRequest>) -> Result<Vec<Reply>, ApiError> {
    let prompt = Arc::new(app.prompt(request).await?);
    let parser = || app.pair().parser(&request.parse, prompt.tail());
    let parsers = (0..request.n).map(|_| parser()).collect::<Result<Vec<_>, _>>()?;
    let job = |choice| Job { request: Arc::clone(request), prompt: Arc::clone(&prompt), choice };
    let pieces = try_join_all((0..request.n).map(|choice| app.backend().start(job(choice)))).await?;
    let prompt_tokens = prompt.tokens.unwrap_or_default();
    let replies = parsers.into_iter().zip(pieces).map(|(parser, pieces)| Reply::new(parser, pieces, prompt_tokens));
    Ok(replies.collect())
}
