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
//! | [`config`] | the settings, which are also the arguments of `unspool serve` |
//! | [`app`] | everything that is settled at start-up |
//! | [`api`] | the HTTP surfaces, folds of one event stream |
//! | [`engine`] | one answer while it is written |
//! | [`constraint`] | what holds an answer to a form, in the backend's words |
//! | [`steering`] | thoughts that must end, constraints that wait for the end of a thought |
//! | [`blocks`] | its events as blocks that follow each other |
//! | [`metrics`] | what is counted of it |
//! | [`raw_log`] | its raw output, written down |
//! | [`tls`] | https |
//! | [`backend`] | who writes the raw output |
//! | [`model`] | the model's own files: tokenizer and chat template |
//! | [`prompt`] | from a conversation to the text that a raw model is given |
//!
//! There is no queue anywhere: a client that takes its time is not read for, and one that goes away drops its answer, and
//! with it the request to the backend.

pub mod api;
pub mod app;
mod auth;
pub mod backend;
pub mod blocks;
pub mod config;
pub mod constraint;
pub mod engine;
pub mod error;
pub mod hash;
pub mod metrics;
pub mod model;
pub mod prompt;
pub mod raw_log;
mod serve;
pub mod steering;
pub mod tls;
mod unique;

pub use app::App;
pub use config::{
    AnswerConfig, BackendSpec, ConstraintConfig, ContentFormatOption, GrammarBackend, HttpConfig, LevelOption,
    RemoteKind, Secret, ServeConfig, Switch, TextConfig,
};
pub use error::{ApiError, StartupError};
pub use serve::{run, run_blocking, serve};
