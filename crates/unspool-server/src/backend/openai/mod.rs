//! Any raw `/v1/completions` server as a backend. It gets the prompt as text and gives text; ids are not asked for.

mod answer;
mod sse;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Map, Value, json};
use unspool::Pair;

use super::{Backend, BackendError, BackendFault, Job, Pieces, RenderedPrompt};
use crate::api::chat::ChatRequest;
use crate::config::ServeConfig;
use crate::error::{ApiError, StartupError};
use crate::prompt::PromptRenderer;

/// Time for the connection to come about.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Most bytes of an error body or of a list of models.
const LONGEST_BODY: usize = 1 << 20;

/// The backend in front of a completions server.
pub struct OpenAi {
    client: reqwest::Client,
    base: String,
    key: Option<String>,
    model: Option<String>,
    default_max_tokens: u64,
    renderer: Arc<dyn PromptRenderer>,
    pair: Pair,
}

impl OpenAi {
    /// A backend for the server at `url` (with or without `/v1`), whose prompts `renderer` makes and whose output `pair` reads.
    ///
    /// # Errors
    /// The address is none, or the HTTP client cannot be set up.
    pub fn new(
        url: &str,
        config: &ServeConfig,
        renderer: Arc<dyn PromptRenderer>,
        pair: Pair,
    ) -> Result<Self, StartupError> {
        if let Err(error) = reqwest::Url::parse(url) {
            return Err(StartupError::new(format!("the backend's address cannot be used: {error}"))
                .hint("write --backend openai:http://HOST:PORT"));
        }
        // The first provider that is installed stays, so a second gateway in the same process is no error.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIME)
            .read_timeout(Duration::from_secs(config.backend_timeout))
            .build()
            .map_err(|error| StartupError::new(format!("cannot set up the HTTP client: {error}")))?;
        let trimmed = url.trim_end_matches('/');
        let trimmed = trimmed.strip_suffix("/completions").unwrap_or(trimmed);
        let base = if trimmed.ends_with("/v1") { trimmed.to_owned() } else { format!("{trimmed}/v1") };
        Ok(Self {
            client,
            base,
            key: config.backend_api_key.as_ref().map(|key| key.reveal().to_owned()).filter(|key| !key.is_empty()),
            model: config.backend_model.clone(),
            default_max_tokens: config.default_max_tokens,
            renderer,
            pair,
        })
    }

    fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let builder = self.client.request(method, format!("{}{path}", self.base));
        match &self.key {
            Some(key) => builder.bearer_auth(key),
            None => builder,
        }
    }

    fn body(&self, job: &Job) -> Map<String, Value> {
        let sampling = job.sampling();
        let mut body = sampling.others.clone();
        let mut set = |key: &str, value: Value| {
            body.insert(key.to_owned(), value);
        };
        if let Some(model) = self.model.as_ref().or(job.request.model.as_ref()) {
            set("model", json!(model));
        }
        set("prompt", json!(job.prompt.text));
        set("stream", json!(true));
        set("stream_options", json!({"include_usage": true}));
        set("max_tokens", json!(sampling.max_tokens.unwrap_or(self.default_max_tokens)));
        if sampling.min_tokens > 0 {
            set("min_tokens", json!(sampling.min_tokens));
        }
        if let Some(seed) = sampling.seed {
            // Answers to one request must differ also where they are reproducible.
            set("seed", json!(seed.saturating_add(i64::try_from(job.choice).unwrap_or(0))));
        }
        if !sampling.stop.is_empty() {
            set("stop", json!(sampling.stop));
        }
        if self.pair.needs(&job.request.parse).special_tokens {
            // Whatever the client asked for: without its special tokens the output cannot be read. Servers that do not know
            // the words pass over them.
            set("skip_special_tokens", json!(false));
            set("spaces_between_special_tokens", json!(false));
        }
        body
    }

    async fn open(&self, job: &Job) -> Result<Pieces, BackendError> {
        let request = self.request(reqwest::Method::POST, "/completions").header(ACCEPT, "text/event-stream");
        let body = Value::Object(self.body(job)).to_string();
        let response =
            request.header(CONTENT_TYPE, "application/json").body(body).send().await.map_err(|e| fault(&e))?;
        if response.status().is_success() {
            return Ok(stream::pieces(response));
        }
        let status = response.status().as_u16();
        let text = read_limited(response).await.unwrap_or_default();
        let words = serde_json::from_slice(&text).ok().as_ref().and_then(answer::error_message);
        let words = words.unwrap_or_else(|| String::from_utf8_lossy(&text).chars().take(300).collect());
        let error = BackendError::new(BackendFault::Refused(status), format!("the backend answered {status}: {words}"));
        Err(match status {
            401 | 403 => error.hint("the gateway's key for the backend is set with --backend-api-key"),
            _ => error,
        })
    }
}

impl Backend for OpenAi {
    fn prompt(&self, request: &ChatRequest) -> Result<RenderedPrompt, ApiError> {
        self.renderer.render(request)
    }

    fn start(&self, job: Job) -> BoxFuture<'_, Result<Pieces, BackendError>> {
        Box::pin(async move { self.open(&job).await })
    }

    fn models(&self) -> BoxFuture<'_, Option<Result<Value, BackendError>>> {
        Box::pin(async {
            let list = async {
                let response = self.request(reqwest::Method::GET, "/models").send().await.map_err(|e| fault(&e))?;
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

    fn forward(&self, body: Bytes) -> BoxFuture<'_, Option<Result<Response, BackendError>>> {
        Box::pin(async move {
            let request = self.request(reqwest::Method::POST, "/completions").header(CONTENT_TYPE, "application/json");
            Some(request.body(body).send().await.map(pass_back).map_err(|error| fault(&error)))
        })
    }
}

/// The backend's answer as it is, without the headers that concern the connection.
fn pass_back(response: reqwest::Response) -> Response {
    let status = StatusCode::from_u16(response.status().as_u16()).unwrap_or(StatusCode::BAD_GATEWAY);
    let kind = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes().to_vec());
    let chunks = stream::bytes(response);
    let mut answer = (status, Body::from_stream(chunks)).into_response();
    if let Some(kind) = kind.and_then(|kind| HeaderValue::from_bytes(&kind).ok()) {
        answer.headers_mut().insert(CONTENT_TYPE, kind);
    }
    answer
}

/// A body of reasonable length.
async fn read_limited(mut response: reqwest::Response) -> Result<Vec<u8>, BackendError> {
    let mut out = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| fault(&error))? {
        if out.len() + chunk.len() > LONGEST_BODY {
            return Err(BackendError::new(BackendFault::BadAnswer, "the backend's answer is too long"));
        }
        out.extend_from_slice(&chunk);
    }
    Ok(out)
}

/// A transport error in words. The address is left out: it may hold a secret.
fn fault(error: &reqwest::Error) -> BackendError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if error.is_timeout() {
        return BackendError::new(BackendFault::TimedOut, "the backend was silent for too long")
            .hint("--backend-timeout sets how long to wait");
    }
    if error.is_connect() || error.is_builder() {
        return BackendError::new(BackendFault::Unreachable, format!("the backend cannot be reached: {cause}"))
            .hint("check the address in --backend, and that the server runs");
    }
    BackendError::new(BackendFault::Died, format!("the connection to the backend broke: {cause}"))
}
