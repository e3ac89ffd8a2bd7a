//! Who writes the raw output. A backend is asked for the output to a request and gives it piece by piece; it knows nothing
//! of parsers. To stop one, drop what it gave.

mod markers;
pub mod mock;
pub mod remote;
pub mod replay;
mod script;

use std::fmt;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;
use unspool::PromptToken;

use crate::api::chat::{ChatRequest, Sampling};
use crate::constraint::Form;
use crate::error::ApiError;

/// A source of raw output.
pub trait Backend: Send + Sync {
    /// What the model is given for a request. Asked once for all answers to it.
    ///
    /// # Errors
    /// A conversation that this backend cannot be given.
    fn prompt<'a>(&'a self, request: &'a Arc<ChatRequest>) -> BoxFuture<'a, Result<RenderedPrompt, ApiError>>;

    /// Begins an answer. Errors that come before its first byte are told here.
    fn start(&self, job: Job) -> BoxFuture<'_, Result<Pieces, BackendError>>;

    /// The backend's own answer to `GET /v1/models`, if it has one.
    fn models(&self) -> BoxFuture<'_, Option<Result<Value, BackendError>>> {
        Box::pin(async { None })
    }

    /// Passes a body on to the backend's own `/v1/completions`, if it has that, and its answer back.
    fn forward(&self, body: Bytes) -> BoxFuture<'_, Option<Result<Response, BackendError>>> {
        let _ = body;
        Box::pin(async { None })
    }
}

/// What a backend is asked to write.
#[derive(Debug, Clone)]
pub struct Job {
    /// The request.
    pub request: Arc<ChatRequest>,
    /// The prompt that this backend made for it.
    pub prompt: Arc<RenderedPrompt>,
    /// Which of its answers, from 0.
    pub choice: usize,
    /// What holds the answer to a form.
    pub form: Arc<Form>,
}

impl Job {
    /// How the answer is made.
    #[must_use]
    pub fn sampling(&self) -> &Sampling {
        &self.request.sampling
    }
}

/// A prompt, as far as it is known here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedPrompt {
    /// What the model is given.
    pub text: String,
    /// Where in it the turn begins that the model writes; `None`: the prompt says nothing about how the reply begins.
    pub turn: Option<usize>,
    /// Number of its tokens.
    pub tokens: Option<u64>,
    /// The tokens themselves; empty: not known. Their bytes are empty if only their ids are known.
    pub encoded: Vec<PromptToken>,
    /// Whether the text begins with the special tokens that begin a sequence, so that nobody must add them.
    pub complete: bool,
}

impl RenderedPrompt {
    /// The ids of its tokens; empty: not known.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        self.encoded.iter().map(|token| token.id).collect()
    }

    /// The part that says where the reply begins.
    #[must_use]
    pub fn tail(&self) -> unspool::Prompt<'_> {
        match self.turn.and_then(|at| self.text.get(at..)) {
            // Ids alone say nothing about what stands there.
            Some(_) if self.encoded.iter().any(|token| !token.bytes.is_empty()) => {
                unspool::Prompt::Tokens(&self.encoded)
            }
            Some(tail) => unspool::Prompt::Text(tail),
            None => unspool::Prompt::Unknown,
        }
    }
}

/// The pieces of one answer, in order. The stream ends after the last one or after an error.
pub type Pieces = BoxStream<'static, Result<Piece, BackendError>>;

/// A piece of raw output.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Output.
    Tokens {
        /// Its text.
        text: String,
        /// Its token ids; empty: not known.
        ids: Vec<u32>,
    },
    /// The model stopped.
    Stopped {
        /// Why.
        reason: StopReason,
        /// The stop text or token that it met.
        at: Option<Value>,
    },
    /// How many tokens the backend counted.
    Usage {
        /// In the prompt.
        prompt: u64,
        /// In the answer.
        completion: u64,
    },
}

/// Why a backend stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model ended its turn.
    Stop,
    /// The answer is as long as it may be.
    Length,
    /// Something else, in the backend's own word.
    Other(String),
}

impl StopReason {
    /// From the word of an OpenAI-like API.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        match word {
            "stop" | "eos" | "eos_token" | "stop_sequence" => Self::Stop,
            "length" | "limit" => Self::Length,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// What went wrong with a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendFault {
    /// It cannot be reached.
    Unreachable,
    /// It was silent for too long.
    TimedOut,
    /// It answered with this HTTP status.
    Refused(u16),
    /// It went away in the middle of an answer.
    Died,
    /// What it sent cannot be understood.
    BadAnswer,
    /// It has nothing to play for this request.
    Exhausted,
    /// The format cannot say what is to be said.
    CannotWrite,
}

/// A backend's fault, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendError {
    /// Its kind.
    pub fault: BackendFault,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl BackendError {
    /// An error without a hint.
    #[must_use]
    pub fn new(fault: BackendFault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BackendError {}
