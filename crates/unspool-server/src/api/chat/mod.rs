//! `POST /v1/chat/completions`, as in vLLM, with two additions. The request field `return_diagnostics: true` adds a
//! list `diagnostics` to each choice (in a stream, to the choice's last chunk). The answer's header
//! `x-unspool-request-hash` identifies the request, so that a recording can be bound to it.

mod chunk;
mod stream;
mod whole;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::future::try_join_all;
use serde_json::Value;
use unspool::{Parser, Prompt};

use super::{answer_id, json_body};
use crate::app::App;
use crate::backend::Job;
use crate::blocking;
use crate::config::ReasoningField;
use crate::constraint::Start;
use crate::continuation::Source;
use crate::engine::{Again, Reply, Tracker};
use crate::error::ApiError;
use crate::hints::Watch;
use crate::metrics::{Observer, Surface};
use crate::natives::Natives;
use crate::request::{ChatBody, ChatRequest, Delivery};
use crate::unique;

/// The common data of all chunks and of the complete answer.
struct Frame {
    id: String,
    created: u64,
    model: String,
    /// Whether to report diagnostics.
    diagnostics: bool,
    /// Whether usage includes reasoning tokens, as in vLLM with `--reasoning-parser`.
    counts_reasoning: bool,
    /// The role of the answers.
    role: String,
    /// The field for reasoning.
    reasoning_field: ReasoningField,
    /// Omitted tools of the request.
    ignored_tools: Option<Value>,
    /// The prompt's token ids or null, if token ids are requested.
    prompt_ids: Option<Value>,
}

/// Answers a chat request.
#[utoipa::path(
    post, path = "/v1/chat/completions", tag = "OpenAI", operation_id = "create_chat_completion", request_body = ChatBody,
    responses(
        (status = 200, description = "The answer: JSON, or events that end with `[DONE]` under `stream: true`"),
        (status = "4XX", description = "The request is refused; the error says why, and which field"),
        (status = "5XX", description = "The backend or the gateway failed"),
    ),
)]
pub(super) async fn serve(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let request = app.chat_request(json_body(&app, &headers, body)?)?;
    let mut frame = Frame {
        id: answer_id("chatcmpl", &headers),
        created: unique::now(),
        model: app.model_name(request.model.as_deref())?,
        diagnostics: request.diagnostics,
        counts_reasoning: app.has_reasoning_parser(),
        role: role(&app, &request),
        reasoning_field: app.answers().reasoning_field,
        ignored_tools: request.ignored.told(),
        prompt_ids: None,
    };
    let (delivery, hash) = (request.delivery, request.hash);
    let mut replies = replies(&app, request, Surface::Chat).await?;
    frame.prompt_ids = replies.first_mut().and_then(Reply::prompt_ids);
    let mut response = match delivery {
        Delivery::Whole => whole::answer(&frame, replies).await?,
        Delivery::Stream { usage, continuous } => stream::answer(frame, replies, stream::Counts { usage, continuous }),
    };
    name_request(&mut response, hash);
    Ok(response)
}

/// The role of an answer, as in vLLM: the configured one or, if the model continues the last message, that message's.
fn role(app: &App, request: &ChatRequest) -> String {
    match request.messages.last() {
        Some(last) if !request.generation_prompt => last.role.clone(),
        _ => app.answers().response_role.clone(),
    }
}

/// Adds the request's hash to its answer.
pub(super) fn name_request(response: &mut Response, hash: u64) {
    if let Ok(hash) = HeaderValue::from_str(&format!("{hash:016x}")) {
        response.headers_mut().insert(HeaderName::from_static("x-unspool-request-hash"), hash);
    }
}

/// Begins the only answer to a request of another API.
pub(super) async fn reply(app: &Arc<App>, request: ChatRequest, surface: Surface) -> Result<Reply, ApiError> {
    let mut replies = replies(app, ChatRequest { n: 1, ..request }, surface).await?;
    replies.pop().ok_or_else(|| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no answer was begun"))
}

/// Begins all answers to a request. Anything that fails before their first byte is an error of the request.
async fn replies(app: &Arc<App>, request: ChatRequest, surface: Surface) -> Result<Vec<Reply>, ApiError> {
    let mut request = Arc::new(request);
    let observers: Vec<_> = (0..request.n).map(|_| Observer::new(Arc::clone(app.metrics()), surface)).collect();
    let prompt = Arc::new(app.prompt_that_fits(&mut request).await?);
    // There is no other owner, so nothing is copied.
    let chats = app.backend().capabilities().chats;
    if !chats {
        Arc::make_mut(&mut request).forget_conversation();
    }
    let parser = || app.pair().parser(&request.parse, prompt.tail());
    let parsers = (0..request.n).map(|_| parser()).collect::<Result<Vec<_>, _>>()?;
    let start = parsers.first().map_or(Start::Answering, Parser::standing);
    let (own, asked) = (Arc::clone(app), Arc::clone(&request));
    let form = Arc::new(blocking::run(move || own.constrainer().form(&asked, start)).await?);
    let job =
        |choice| Job { request: Arc::clone(&request), prompt: Arc::clone(&prompt), choice, form: Arc::clone(&form) };
    let start = |(choice, parser)| app.continuations().start(job(choice), parser);
    let sources = try_join_all(parsers.iter().enumerate().map(start)).await?;
    let recorder = || app.raw_log().map(|log| log.recorder(request.hash));
    let prompt_tokens = prompt.tokens.unwrap_or_default();
    let interval = request.stream_interval.max(app.answers().stream_interval);
    let unseen = request.delivery == Delivery::Whole && app.backend().has_several();
    let replies = parsers.into_iter().zip(sources).zip(observers).enumerate();
    let reply = |(choice, ((parser, source), observer)): (_, ((Parser, Source), _))| {
        let again = unseen.then(|| Again {
            parser: parser.clone(),
            job: job(choice),
            continuations: Arc::clone(app.continuations()),
            log: app.raw_log().cloned(),
        });
        let reply = Reply::new(parser, source.recorded(recorder()), prompt_tokens).begun_anew_by(again);
        let content = || app.pair().parser(&request.parse, Prompt::Content).ok();
        let reply = if chats { reply.of_chat_server(Natives::new(&request.parse, content())) } else { reply };
        // Tokens must not reveal reasoning that the client must not see.
        let hides = request.parse.include_reasoning == Some(false);
        let tracker = Tracker::new(request.sampling.wishes, hides, chats);
        let ids = (!prompt.encoded.is_empty()).then(|| prompt.ids());
        let reply = if request.sampling.wishes.any() { reply.tracked(tracker, ids.as_deref()) } else { reply };
        let watch = request.parse.wants_calls().then(|| Watch::new(Arc::clone(app.hints())));
        reply.observed(observer).watched(watch).in_steps_of(interval)
    };
    Ok(replies.map(reply).collect())
}
