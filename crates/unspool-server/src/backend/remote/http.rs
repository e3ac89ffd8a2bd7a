//! The HTTP client: its settings, bodies of bounded size, and its errors.

use std::time::{Duration, Instant};

use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;

use crate::backend::{BackendError, BackendFault};
use crate::config::ServeConfig;
use crate::error::StartupError;

/// Timeout for connecting.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long to keep an idle connection. Servers of these kinds close one after five seconds, and a request that meets
/// the closing would be lost.
const IDLE_TIME: Duration = Duration::from_secs(4);
/// How soon a connection that was kept open breaks if the server has closed it.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Maximum size of an error body, a list of models or a rendered prompt, in bytes.
const LONGEST_BODY: usize = 16 << 20;

/// Maximum number of characters of a server's message to pass on.
const MOST_WORDS: usize = 1000;

/// The HTTP client, and the servers' key.
#[derive(Clone)]
pub(super) struct Http {
    client: reqwest::Client,
    key: Option<String>,
    /// Maximum silence of a server.
    silence: Duration,
}

impl Http {
    pub(super) fn new(config: &ServeConfig) -> Result<Self, StartupError> {
        // If a provider is already installed, it stays, so a second gateway in the same process works.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIME)
            // Prompts and the key must reach only the configured servers.
            .redirect(Policy::none())
            .pool_idle_timeout(IDLE_TIME)
            .read_timeout(Duration::from_secs(config.backend_timeout))
            .build()
            .map_err(|error| StartupError::new(format!("cannot set up the HTTP client: {error}")))?;
        let key = config.chat.key(config.backend_api_key.as_ref())?;
        Ok(Self { client, key, silence: Duration::from_secs(config.backend_timeout) })
    }

    /// Maximum silence of a server.
    pub(super) fn silence(&self) -> Duration {
        self.silence
    }

    pub(super) fn get(&self, base: &str, path: &str) -> reqwest::RequestBuilder {
        self.signed(self.client.get(format!("{base}{path}")))
    }

    pub(super) fn post(&self, base: &str, path: &str, body: impl Into<reqwest::Body>) -> reqwest::RequestBuilder {
        let request = self.client.post(format!("{base}{path}")).header(CONTENT_TYPE, "application/json").body(body);
        self.signed(request)
    }

    /// Sends a request. If the connection breaks at once, sends it again: the server may just have closed a connection that was
    /// kept open. A server that has worked on the request for a while is not asked twice.
    pub(super) async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, BackendError> {
        let (again, began) = (request.try_clone(), Instant::now());
        match (request.send().await, again) {
            (Err(error), Some(again)) if broke(&error) && began.elapsed() < AT_ONCE => {
                again.send().await.map_err(|error| fault(&error))
            }
            (sent, _) => sent.map_err(|error| fault(&error)),
        }
    }

    fn signed(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }
}

/// Reads a body of bounded size.
pub(super) async fn read_limited(mut response: reqwest::Response) -> Result<Vec<u8>, BackendError> {
    let mut out = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| fault(&error))? {
        if out.len() + chunk.len() > LONGEST_BODY {
            return Err(BackendError::new(BackendFault::BadAnswer, "the backend's answer is too long"));
        }
        out.extend_from_slice(&chunk);
    }
    Ok(out)
}

/// Whether the connection was closed in the place of an answer.
fn broke(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout() && !error.is_builder()
}

/// Converts a transport error. Omits the address, which may contain a secret.
pub(super) fn fault(error: &reqwest::Error) -> BackendError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if error.is_connect() || error.is_builder() {
        return BackendError::new(BackendFault::Unreachable, format!("the backend cannot be reached: {cause}"))
            .hint("check the address in --backend, and that the server runs");
    }
    if error.is_timeout() {
        return silent();
    }
    BackendError::new(BackendFault::Died, format!("the connection to the backend broke: {cause}"))
}

/// The error for a server that was silent for too long.
pub(super) fn silent() -> BackendError {
    BackendError::new(BackendFault::TimedOut, "the backend was silent for too long")
        .hint("--backend-timeout sets how long to wait")
}

/// A server's message, truncated and on one line.
pub(super) fn words(text: &str) -> String {
    let mut words: String = text.chars().take(MOST_WORDS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST_WORDS).is_some() {
        words.push('…');
    }
    words
}
