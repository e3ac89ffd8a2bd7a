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
//! | [`error`], [`bounds`], [`capabilities`], [`config`] | errors; how much a body may hold; what a kind of backend can do; the settings, which are also the arguments of `unspool serve` |
//! | `hosted` | tools that only the providers of the APIs have |
//! | [`mod@line`] | one line of the log for each request |
//! | [`probability`] | what a request may ask of tokens |
//! | [`request`] | a chat request: its body, and what is left of it when it has been checked |
//! | [`prompt`], [`model`] | from a conversation to the text that a raw model is given; the model's own tokenizer and chat template |
//! | `gbnf` | expressions as grammars of llama.cpp |
//! | [`constraint`] | what holds an answer to a form, in the backend's words |
//! | [`budget`] | how long the reasoning may be |
//! | [`backend`] | who writes the raw output |
//! | [`raw_log`] | its raw output, written down |
//! | [`reply`], [`blocks`], [`metrics`] | the events of an answer; the same as blocks that follow each other; what is counted of it |
//! | [`hints`] | what is told of answers in which markup is left |
//! | [`continuation`] | answers that are broken off and gone on with: reasoning that must end, constraints that wait for its end |
//! | [`natives`] | what a chat server has taken apart already |
//! | [`engine`] | one answer while it is written |
//! | [`app`] | everything that is settled at start-up |
//! | [`api`] | the HTTP surfaces, folds of one event stream |
//! | [`connection`], [`tls`] | how long clients may take; https |
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
