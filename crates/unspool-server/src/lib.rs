//! The unspool gateway: the APIs of OpenAI and Anthropic in front of a source of raw model output.
//!
//! ```text
//! client ── api ── engine ── backend
//!            │        │         └ mock: no model · replay: recordings · remote: vLLM, SGLang, llama.cpp, TGI, any completions server
//!            │        └ one event stream for every answer: pieces of output through `unspool::Parser`
//!            └ chat completions, responses, messages (streamed and whole), completions, models, health, metrics
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`error`], [`bounds`], [`capabilities`], [`config`] | errors; limits of a body's structure; what each kind of backend supports; the settings, which are also the arguments of `unspool serve` |
//! | `hosted` | tools that only the providers of the APIs run |
//! | [`mod@line`] | one log line per request |
//! | [`probability`] | what a request may ask about tokens, such as log probabilities |
//! | [`request`] | a chat request: its body, and the request after validation |
//! | [`prompt`], [`model`] | from a conversation to the prompt of a raw model; the model's own tokenizer and chat template |
//! | `gbnf` | expressions as llama.cpp grammars |
//! | [`constraint`] | structured outputs in the backend's terms |
//! | [`budget`] | limits of the reasoning's length |
//! | [`backend`] | the sources of raw output |
//! | [`raw_log`] | a log of the raw output |
//! | [`reply`], [`blocks`], [`metrics`] | the events of an answer; the same as consecutive blocks; metrics |
//! | [`hints`] | warnings about answers that still contain markup |
//! | [`continuation`] | answers that are interrupted and resumed: reasoning over its budget, constraints that begin after the reasoning |
//! | [`natives`] | answers that a chat server has already parsed |
//! | [`engine`] | one answer while it is generated |
//! | [`app`] | everything that is fixed at start-up |
//! | [`api`] | the HTTP APIs, each built from the same event stream |
//! | [`connection`], [`tls`] | client timeouts; https |
//!
//! A module uses only those above it in this table.
//!
//! There are no queues: backpressure reaches from a slow client to the backend, and a client that disconnects cancels
//! its answer and the request to the backend.

pub mod api;
pub mod app;
pub mod backend;
mod blocking;
pub mod blocks;
pub mod bounds;
pub mod budget;
pub mod capabilities;
pub mod config;
pub mod connection;
pub mod constraint;
pub mod continuation;
pub mod engine;
pub mod error;
mod gbnf;
pub mod hash;
pub mod hints;
mod hosted;
pub mod line;
pub mod metrics;
pub mod model;
pub mod natives;
pub mod probability;
pub mod prompt;
pub mod raw_log;
pub mod reply;
pub mod request;
mod serve;
pub mod tls;
mod unique;

pub use app::App;
pub use config::{
    AnswerConfig, BackendSpec, ChatConfig, ChatStart, ChatTools, ConstraintConfig, ContentFormatOption, GrammarBackend,
    HttpConfig, ImagePolicy, LevelOption, RemoteKind, Secret, ServeConfig, Switch, TemplateChoice, TextConfig,
};
pub use error::{ApiError, StartupError};
pub use serve::{run, run_blocking, serve};
