//! Servers with raw output, over HTTP: one or several of one kind.
//!
//! | kind | asked at | prompt | gives |
//! |---|---|---|---|
//! | `openai` | `/v1/completions` | text | text |
//! | `vllm` | `/v1/completions` | ids, else text | text and ids |
//! | `sglang` | `/generate` | ids, else text | text and ids, cumulative or not |
//! | `llamacpp` | `/completion` | ids, else text | text and ids; special tokens blank |
//! | `tgi` | `/generate_stream` | text | text and ids |
//! | `chat` | `/v1/chat/completions` | the conversation | text, and what the server has taken apart |
//!
//! With several servers, the least busy healthy one gets the request. An unreachable server is skipped until it is
//! healthy again, and its requests go to another one, as long as nothing of the answer has gone out.

mod dialect;
mod http;
mod overflow;
mod pool;
mod sse;
mod stream;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self as streams, StreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;
use serde_json::value::RawValue;
use unspool::Pair;

use self::dialect::{Asking, Dialect};
use self::http::{Http, read_limited};
use self::pool::{Lease, Pool};
use super::markers::markers;
use super::{Backend, BackendError, BackendFault, Job, Pieces, ServerState};
use crate::capabilities::Capabilities;
use crate::config::{ChatStart, ChatTools, RemoteKind, ServeConfig, TemplateChoice};
use crate::constraint::Constraint;
use crate::error::{ApiError, StartupError};
use crate::line;
use crate::model::Model;
use crate::prompt::RenderedPrompt;
use crate::prompt::{self, PromptRenderer};
use crate::request::ChatRequest;

/// A backend with servers of one kind.
pub struct Remote {
    pool: Arc<Pool>,
    http: Http,
    dialect: Box<dyn Dialect>,
    asking: Asking,
    renderer: Arc<dyn PromptRenderer>,
    start: Option<ChatStart>,
    /// Whether the server renders prompts that the gateway does not.
    asks_for_prompts: bool,
}

/// The capabilities of a kind of server.
pub(super) fn capabilities(kind: RemoteKind) -> Capabilities {
    dialect::of(kind).capabilities()
}

impl Remote {
    /// A backend for the servers at `urls` (each with or without `/v1`), with prompts from `renderer`.
    ///
    /// # Errors
    /// An invalid address, or the HTTP client cannot be set up.
    pub fn new(
        (kind, urls): (RemoteKind, &[String]),
        config: &ServeConfig,
        (model, pair): (&Model, &Pair),
        renderer: Arc<dyn PromptRenderer>,
    ) -> Result<Self, StartupError> {
        let bases = urls.iter().map(|url| base(url, kind)).collect::<Result<Vec<_>, _>>()?;
        let http = Http::new(config)?;
        let dialect = dialect::of(kind);
        let asking = Asking {
            pair: pair.clone(),
            max_tokens: config.default_max_tokens,
            model: config.backend_model.clone(),
            end_tokens: model.end_tokens().to_vec(),
            sequence_start: model.sequence_start(),
            markers: markers(pair),
            omits_tools: config.chat.chat_tools == ChatTools::Omit,
            extended: config.chat.backend_extensions,
        };
        let interval = Duration::from_secs(config.backend_health_interval);
        let pool = Arc::new(Pool::new(bases, (dialect.health(), dialect.facts()), interval));
        let unsaid = TemplateChoice::of(config.chat_template.as_deref()) == TemplateChoice::Unsaid;
        let start = config.chat.chat_start;
        Ok(Self { pool, http, dialect, asking, renderer, start, asks_for_prompts: unsaid })
    }

    /// Begins an answer at one server.
    async fn open(&self, job: &Job, lease: &Lease) -> Result<Pieces, BackendError> {
        let body = Value::Object(self.dialect.body(job, &self.asking, &lease.facts())).to_string();
        let request = self.http.post(lease.base(), self.dialect.path(), body).header(ACCEPT, "text/event-stream");
        let response = self.http.send(request).await.map_err(|error| constrained(error, job))?;
        if response.status().is_success() {
            return Ok(stream::pieces(response, self.dialect.reader(job, &self.asking), self.http.silence()));
        }
        Err(constrained(refusal(response).await, job))
    }

    /// The prompt as the server renders it with the model's own template, if servers of this kind do.
    async fn rendered_there(&self, request: &ChatRequest) -> Result<Option<RenderedPrompt>, BackendError> {
        let mut rendering = self.dialect.rendering(request, &self.asking);
        let Some(lease) = self.pool.lease(&[]).filter(|_| rendering.is_some()) else { return Ok(None) };
        let mut prompt = RenderedPrompt { turn: Some(0), complete: true, ..RenderedPrompt::default() };
        while let Some((path, body)) = rendering {
            let request = self.http.post(lease.base(), path, Value::Object(body).to_string());
            let response = self.http.send(request).await?;
            if matches!(response.status().as_u16(), 404 | 405 | 501) {
                tracing::warn!("the backend has no `{path}`, so that it makes no prompts");
                return Ok(None);
            }
            if !response.status().is_success() {
                return Err(refusal(response).await);
            }
            let answer = read_limited(response).await?;
            rendering = self.dialect.rendered(&answer, &mut prompt)?;
        }
        Ok(Some(prompt))
    }

    /// Begins an answer; tries another server if one fails before the first piece.
    async fn open_somewhere(&self, job: &Job) -> Result<Pieces, BackendError> {
        let mut tried = Vec::new();
        let mut last = None;
        while let Some(lease) = self.pool.lease(&tried) {
            let others = self.pool.len() > tried.len() + 1;
            let opened = match self.open(job, &lease).await {
                Ok(pieces) if others => first_piece(pieces).await,
                opened => opened,
            };
            match opened {
                Ok(pieces) => {
                    line::note(|line| line.backend = Some(lease.index() + 1));
                    return Ok(leased(pieces, lease));
                }
                Err(error) if error.fault.is_the_servers() => {
                    lease.failed(error.fault);
                    if others {
                        // Its message may quote the prompt.
                        tracing::warn!(fault = ?error.fault, "a backend failed before its answer began, another is asked");
                    }
                    tried.push(lease.index());
                    last = Some(error);
                }
                Err(error) => {
                    if error.overflow.is_some() {
                        // The server may have been replaced by one with other limits.
                        lease.doubt();
                    }
                    return Err(error);
                }
            }
        }
        Err(last.unwrap_or_else(|| BackendError::new(BackendFault::Unreachable, "there is no backend to ask")))
    }
}

/// The error for an unsuccessful status.
async fn refusal(response: reqwest::Response) -> BackendError {
    let status = response.status().as_u16();
    let text = read_limited(response).await.unwrap_or_default();
    let body: Option<Value> = serde_json::from_slice(&text).ok();
    let words = body.as_ref().and_then(dialect::error_message);
    let words = words.map_or_else(|| http::words(&String::from_utf8_lossy(&text)), |text| http::words(&text));
    let mut error = BackendError::new(BackendFault::Refused(status), format!("the backend answered {status}: {words}"));
    if matches!(status, 400 | 413 | 422) {
        error.overflow = overflow::told(body.as_ref(), &words).map(Box::new);
        error.param = body.as_ref().and_then(dialect::error_param);
    }
    match status {
        401 | 403 => error.hint("the gateway's key for the backend is set with --backend-api-key"),
        _ => error,
    }
}

/// The error for a request with a constraint of the gateway, which the server may not accept.
fn constrained(error: BackendError, job: &Job) -> BackendError {
    let flag = "--structured-outputs-config.backend";
    match (&job.form.constraint, error.fault) {
        (Constraint::AsSent | Constraint::Free, _) => error,
        (Constraint::Lark(_), BackendFault::Died | BackendFault::Unreachable) => error.hint(format!(
            "a llama.cpp that is built without LLAMA_LLGUIDANCE ends when it is sent a grammar; leave {flag} out for it"
        )),
        (_, BackendFault::Refused(400 | 422 | 500)) => error.hint(format!(
            "the request had a grammar that the backend may not take: {flag} names what it reads, `none` sends it nothing"
        )),
        _ => error,
    }
}

/// Waits for the first piece, to detect an earlier failure.
async fn first_piece(mut pieces: Pieces) -> Result<Pieces, BackendError> {
    match pieces.next().await {
        Some(Ok(piece)) => Ok(streams::iter([Ok(piece)]).chain(pieces).boxed()),
        Some(Err(error)) => Err(error),
        None => Ok(pieces),
    }
}

/// The pieces with the server's lease, which ends with them. A failure during the answer is recorded.
fn leased(pieces: Pieces, lease: Lease) -> Pieces {
    let next = |(mut pieces, lease): (Pieces, Lease)| async {
        let piece = pieces.next().await?;
        if let Err(error) = &piece {
            lease.failed(error.fault);
        }
        Some((piece, (pieces, lease)))
    };
    streams::unfold((pieces, lease), next).boxed()
}

/// The address without the beginning of the kind's paths.
fn base(url: &str, kind: RemoteKind) -> Result<String, StartupError> {
    if let Err(error) = reqwest::Url::parse(url) {
        return Err(StartupError::new(format!("the backend's address cannot be used: {error}"))
            .hint(format!("write --backend {kind}:http://HOST:PORT")));
    }
    let trimmed = url.trim_end_matches('/');
    let trimmed = trimmed.strip_suffix("/completions").unwrap_or(trimmed);
    let trimmed = trimmed.strip_suffix("/chat").unwrap_or(trimmed);
    Ok(trimmed.strip_suffix("/v1").unwrap_or(trimmed).to_owned())
}

impl Backend for Remote {
    fn capabilities(&self) -> Capabilities {
        self.dialect.capabilities()
    }

    fn prompt<'a>(&'a self, request: &'a Arc<ChatRequest>) -> BoxFuture<'a, Result<RenderedPrompt, ApiError>> {
        Box::pin(async move {
            if self.dialect.capabilities().chats {
                return Ok(RenderedPrompt { begins: self.start, ..RenderedPrompt::default() });
            }
            if self.asks_for_prompts && !self.renderer.is_exact(request) && request.raw_prompt.is_none() {
                match self.rendered_there(request).await {
                    Ok(Some(prompt)) => return Ok(prompt),
                    Ok(None) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            prompt::render(&self.renderer, request).await
        })
    }

    fn start(&self, job: Job) -> BoxFuture<'_, Result<Pieces, BackendError>> {
        pool::watch(&self.pool, &self.http);
        Box::pin(async move { self.open_somewhere(&job).await })
    }

    fn has_several(&self) -> bool {
        self.pool.len() > 1
    }

    fn learn(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.pool.learn(&self.http))
    }

    fn longest_context(&self, model: Option<&str>) -> Option<u64> {
        let model = self.asking.model.as_deref().or(model);
        // A request may go to any of them.
        self.pool.facts().filter_map(|facts| facts.longest_context(model)).min()
    }

    fn model_name(&self) -> Option<String> {
        let facts = self.pool.facts().next()?;
        facts.models.first().map(|(id, _)| id.clone())
    }

    fn servers(&self) -> BoxFuture<'_, Vec<ServerState>> {
        Box::pin(async {
            self.pool.learn(&self.http).await;
            self.pool.states(&self.http).await
        })
    }

    fn models(&self) -> BoxFuture<'_, Option<Result<Value, BackendError>>> {
        Box::pin(async {
            let lease = self.pool.lease(&[])?;
            let list = async {
                let response = self.http.send(self.http.get(lease.base(), "/v1/models")).await?;
                let body = read_limited(response).await?;
                serde_json::from_slice(&body).map_err(|error| {
                    BackendError::new(
                        BackendFault::BadAnswer,
                        format!("the backend's list of models cannot be read: {error}"),
                    )
                })
            };
            Some(list.await)
        })
    }

    fn forwards(&self) -> bool {
        true
    }

    fn forward(&self, body: Bytes) -> BoxFuture<'_, Option<Result<Response, BackendError>>> {
        Box::pin(async move {
            let lease = self.pool.lease(&[])?;
            let body = match &self.asking.model {
                Some(model) => with_model(&body, model),
                None => body,
            };
            let request = self.http.post(lease.base(), "/v1/completions", body);
            Some(self.http.send(request).await.map(|response| pass_back(response, lease)))
        })
    }
}

/// The body with its model name replaced. The rest stays verbatim.
fn with_model(body: &Bytes, model: &str) -> Bytes {
    let Ok(mut fields) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(body) else { return body.clone() };
    let Ok(name) = serde_json::value::to_raw_value(model) else { return body.clone() };
    fields.insert("model".to_owned(), name);
    serde_json::to_vec(&fields).map_or_else(|_| body.clone(), Bytes::from)
}

/// The backend's answer without the headers of the connection.
fn pass_back(response: reqwest::Response, lease: Lease) -> Response {
    let status = StatusCode::from_u16(response.status().as_u16()).unwrap_or(StatusCode::BAD_GATEWAY);
    let kind = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes().to_vec());
    let chunks = stream::bytes(response).map(move |chunk| {
        let _ = &lease;
        chunk
    });
    let mut answer = (status, Body::from_stream(chunks)).into_response();
    if let Some(kind) = kind.and_then(|kind| HeaderValue::from_bytes(&kind).ok()) {
        answer.headers_mut().insert(CONTENT_TYPE, kind);
    }
    answer
}
