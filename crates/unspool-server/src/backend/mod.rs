//! Sources of raw output. A backend produces the output for a request piece by piece and knows nothing about parsers.
//! Drop its stream to stop it.

mod facts;
mod fault;
mod markers;
pub mod mock;
pub mod remote;
pub mod replay;
mod script;

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;

pub use self::facts::{ServerFacts, ServerState};
pub use self::fault::{BackendError, BackendFault};
use crate::capabilities::Capabilities;
use crate::config::BackendSpec;
use crate::constraint::Form;
use crate::error::ApiError;
use crate::probability::TokenProbability;
use crate::prompt::RenderedPrompt;
use crate::request::{ChatRequest, Sampling};

/// A source of raw output.
pub trait Backend: Send + Sync {
    /// Its capabilities; by default it only writes.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// The prompt of a request, requested once for all of its answers.
    ///
    /// # Errors
    /// A conversation that this backend does not support.
    fn prompt<'a>(&'a self, request: &'a Arc<ChatRequest>) -> BoxFuture<'a, Result<RenderedPrompt, ApiError>>;

    /// Begins an answer. Returns errors that occur before its first byte.
    fn start(&self, job: Job) -> BoxFuture<'_, Result<Pieces, BackendError>>;

    /// Whether it has several servers, so that an answer of a dead one can be restarted on another.
    fn has_several(&self) -> bool {
        false
    }

    /// The backend's own answer to `GET /v1/models`, if it has one.
    fn models(&self) -> BoxFuture<'_, Option<Result<Value, BackendError>>> {
        Box::pin(async { None })
    }

    /// Queries its servers' facts, if they are not known yet.
    fn learn(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Maximum tokens of prompt and answer together, as its servers report it for a model.
    fn longest_context(&self, model: Option<&str>) -> Option<u64> {
        let _ = model;
        None
    }

    /// The servers' name of their model, if they all have one.
    fn model_name(&self) -> Option<String> {
        None
    }

    /// The state of each of its servers; empty: it is not a server.
    fn servers(&self) -> BoxFuture<'_, Vec<ServerState>> {
        Box::pin(async { Vec::new() })
    }

    /// Whether it has its own `/v1/completions`.
    fn forwards(&self) -> bool {
        false
    }

    /// Forwards a body to the backend's own `/v1/completions`, if it has that, and returns its answer.
    fn forward(&self, body: Bytes) -> BoxFuture<'_, Option<Result<Response, BackendError>>> {
        let _ = body;
        Box::pin(async { None })
    }
}

/// The capabilities of the configured backend.
#[must_use]
pub fn capabilities(spec: &BackendSpec) -> Capabilities {
    match spec {
        BackendSpec::Mock => mock::CAPABILITIES,
        BackendSpec::Replay(_) => replay::CAPABILITIES,
        BackendSpec::Remote { kind, .. } => remote::capabilities(*kind),
    }
}

/// The task of a backend.
#[derive(Debug, Clone)]
pub struct Job {
    /// The request.
    pub request: Arc<ChatRequest>,
    /// The prompt that this backend rendered for it.
    pub prompt: Arc<RenderedPrompt>,
    /// The index of the answer, from 0.
    pub choice: usize,
    /// The structured output of the answer.
    pub form: Arc<Form>,
}

impl Job {
    /// The sampling parameters.
    #[must_use]
    pub fn sampling(&self) -> &Sampling {
        &self.request.sampling
    }
}

/// The pieces of one answer, in order. The stream ends after the last one or after an error.
pub type Pieces = BoxStream<'static, Result<Piece, BackendError>>;

/// A piece of raw output.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Output.
    Tokens(Tokens),
    /// The model stopped.
    Stopped {
        /// The reason.
        reason: StopReason,
        /// The stop sequence or token that matched.
        at: Option<Value>,
    },
    /// The backend's token counts.
    Usage {
        /// In the prompt.
        prompt: u64,
        /// In the answer.
        completion: u64,
        /// Prompt tokens from the backend's cache; `None`: not reported.
        cached: Option<u64>,
    },
    /// The number of prompt tokens, reported before the end.
    Prompt(u64),
    /// The log probabilities of the prompt's tokens, in the server's own form.
    PromptProbabilities(Value),
    /// Output that a chat server has parsed already.
    Native(Native),
}

/// A piece of output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tokens {
    /// Its text.
    pub text: String,
    /// Its token ids; empty: unknown.
    pub ids: Vec<u32>,
    /// The log probabilities of its tokens; empty: not requested, or unknown.
    pub probabilities: Vec<TokenProbability>,
}

impl Tokens {
    /// Text with its ids.
    #[must_use]
    pub fn new(text: impl Into<String>, ids: impl Into<Vec<u32>>) -> Self {
        Self { text: text.into(), ids: ids.into(), probabilities: Vec::new() }
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.ids.is_empty() && self.probabilities.is_empty()
    }
}

/// A part of an answer that needs no parser.
#[derive(Debug, Clone, PartialEq)]
pub enum Native {
    /// Reasoning.
    Reasoning(String),
    /// A call begins.
    CallStart {
        /// Its id; may be empty.
        id: String,
        /// Its function.
        name: String,
    },
    /// The log probabilities of the preceding reasoning.
    Probabilities(Vec<TokenProbability>),
    /// More of a call's arguments.
    CallArguments {
        /// The index of the server's call, from 0.
        call: usize,
        /// A piece of JSON text.
        json: String,
    },
}

/// Why a backend stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model ended its turn.
    Stop,
    /// The answer has reached its maximum length.
    Length,
    /// Another reason, as the backend spells it.
    Other(String),
}

impl StopReason {
    /// Parses the finish reason of an OpenAI-compatible API.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        match word {
            "stop" | "eos" | "eos_token" | "stop_sequence" => Self::Stop,
            "length" | "limit" => Self::Length,
            other => Self::Other(other.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConstraintConfig, GrammarBackend, RemoteKind};
    use crate::error::StartupError;

    fn check_of(config: &ConstraintConfig, kind: RemoteKind) -> Result<(), StartupError> {
        let spec = BackendSpec::Remote { kind, urls: vec!["http://a".to_owned()] };
        config.check_backend(&spec, &capabilities(&spec))
    }

    #[test]
    fn a_backend_is_not_sent_what_it_cannot_read() {
        let check = |named, kind| {
            let config = ConstraintConfig { structured_outputs_backend: named, ..ConstraintConfig::default() };
            check_of(&config, kind)
        };
        for kind in RemoteKind::ALL {
            assert_eq!(check(GrammarBackend::Auto, kind), Ok(()));
            assert_eq!(check(GrammarBackend::None, kind), Ok(()));
        }
        assert_eq!(check(GrammarBackend::Guidance, RemoteKind::LlamaCpp), Ok(()));
        for (named, kind) in [
            (GrammarBackend::Xgrammar, RemoteKind::LlamaCpp),
            (GrammarBackend::Guidance, RemoteKind::Tgi),
            (GrammarBackend::Outlines, RemoteKind::OpenAi),
        ] {
            assert!(check(named, kind).is_err_and(|error| error.hint.is_some()), "{named} {kind}");
        }
        let waits = ConstraintConfig { backend_reasoning_parser: true, ..ConstraintConfig::default() };
        assert_eq!(check_of(&waits, RemoteKind::Sglang), Ok(()));
        assert!(check_of(&waits, RemoteKind::Tgi).is_err_and(|error| error.hint.is_some()));
    }
}
