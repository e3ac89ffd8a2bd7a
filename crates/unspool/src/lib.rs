//! unspool parses the raw output of a language model into reasoning, content and tool calls, token by token or all at
//! once, with the same result.
//!
//! A [`Registry`] knows the formats by the names that vLLM gives them. A [`Setup`] chooses a reasoning parser and a
//! tool-call parser; together they make a [`Pair`], once for a model. For each reply, [`Pair::parser`] makes a [`Parser`]
//! from the request and the end of the prompt. [`Parser::push`] takes the output as it comes and passes events to a
//! [`Sink`]; [`Parser::finish`] ends the reply.
//!
//! ```
//! use unspool::{Delta, FinishReason, Message, Prompt, Registry, Request, Setup};
//!
//! let pair = Registry::builtin().pair(&Setup {
//!     reasoning_parser: Some("qwen3".into()),
//!     tool_parser: Some("hermes".into()),
//!     ..Setup::default()
//! })?;
//! let request = Request::from_openai(&serde_json::json!({
//!     "tools": [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}],
//! }))?;
//!
//! let mut parser = pair.parser(&request, Prompt::Text("<think>\n"))?;
//! let mut message = Message::default();
//! // The borders of the deltas change nothing: a marker may be cut anywhere.
//! for delta in ["They ask for the tide.</th", "ink><tool_", "call>{\"name\": \"tide\", \"argum", "ents\": {}}</tool_call>"] {
//!     parser.push(Delta::text(delta), &mut message);
//! }
//! let finish = parser.finish(Some(FinishReason::Stop), &mut message);
//!
//! assert_eq!(message.reasoning, "They ask for the tide.");
//! assert_eq!(message.tool_calls[0].name, "tide");
//! assert_eq!(finish.reason, FinishReason::ToolCalls);
//! # Ok::<(), unspool::Error>(())
//! ```
//!
//! Model output is never an error: what is odd about it becomes a [`Diagnostic`], and the parse goes on. Everything that
//! is refused before any output is an [`Error`] with a kind, a message, a hint and a place.
//!
//! # Features
//!
//! All are on by default.
//!
//! | Feature | What it adds |
//! |---|---|
//! | `detect` | [`Registry::detect`]: the format that a checkpoint's files point to |
//! | `grammar` | [`Pair::grammar`]: constraints for structured outputs; brings `render` and `sample` |
//! | `render` | [`Pair::render`]: a message, written as the model writes it |
//! | `response-template` | the parser `hf`, for checkpoints that describe their output themselves |
//! | `sample` | [`sample::Sampler`]: plausible values and messages for tests and mock servers |

// Code that only one feature uses is unused without it.
#![cfg_attr(
    not(all(feature = "detect", feature = "grammar", feature = "response-template")),
    allow(dead_code, unused_imports, unused_mut, unused_variables, unreachable_code)
)]

mod align;
mod aligner;
mod body;
pub mod budget;
mod call_header;
mod checkpoint;
#[cfg(feature = "detect")]
pub mod detect;
pub mod diagnostic;
mod diagnostic_limit;
pub mod error;
pub mod event;
mod explanation;
mod filter;
mod flow;
pub mod format;
pub mod gate;
#[cfg(feature = "grammar")]
pub mod grammar;
mod json;
mod keyword;
pub mod limits;
mod marks;
pub mod message;
pub mod models;
mod needs;
mod pair;
pub mod parser;
mod plan;
mod prompt;
mod random;
mod registry;
#[cfg(feature = "render")]
pub mod render;
pub mod request;
#[cfg(feature = "response-template")]
mod response_template;
#[cfg(not(feature = "response-template"))]
#[path = "response_template/absent.rs"]
mod response_template;
#[cfg(feature = "sample")]
pub mod sample;
pub mod scan;
pub mod schema;
pub mod setup;
pub mod span;
pub mod spans;
mod special;
pub mod suggest;
mod switches;
mod typing;
mod unaligned;
mod utf8;
mod vocabulary;

pub use aligner::Aligner;
#[cfg(feature = "detect")]
pub use detect::{Checkpoint, Detected};
pub use diagnostic::{Diagnostic, DiagnosticKind};
pub use error::{Error, ErrorKind};
pub use event::{Event, OwnedEvent, Sink};
pub use format::file::{Level, Required};
pub use gate::{Bounds, EndTokens, Gate};
pub use limits::{Limit, Limits};
pub use message::{Message, ToolCall};
pub use models::Models;
pub use needs::Needs;
pub use pair::Pair;
pub use parser::{Delta, Finish, FinishReason, Parser, ReasoningEnd, Snapshot, Standing};
pub use registry::Registry;
pub use request::{CallIds, IncompleteCalls, Prompt, PromptToken, Request, ToolChoice};
pub use schema::ToolSet;
pub use setup::{Half, Setup, SetupWarning, TokenBytes, Vocabulary};
pub use span::Span;
pub use spans::{CallSpans, Spans, TokenKind};

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
