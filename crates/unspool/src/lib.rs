//! unspool takes the raw output of a language model apart into reasoning, content and tool calls: live, token by token,
//! and with exactly the same answer when it gets the whole text at once.

mod align;
mod body;
pub mod budget;
mod checkpoint;
pub mod detect;
pub mod diagnostic;
pub mod event;
mod filter;
mod flow;
pub mod format;
pub mod gate;
pub mod grammar;
mod head;
mod json;
mod lag;
pub mod limits;
pub mod message;
mod needs;
mod pair;
pub mod parser;
mod plan;
mod prompt;
mod registry;
pub mod render;
pub mod request;
mod response_template;
pub mod sample;
pub mod scan;
pub mod schema;
pub mod setup;
mod told;
mod typing;
mod utf8;
mod vocabulary;

pub use detect::{Checkpoint, Detected};
pub use diagnostic::{Diagnostic, DiagnosticKind};
pub use event::{Event, Sink};
pub use gate::{Bounds, Gate, ReasoningEnd};
pub use limits::{Limit, LimitError, Limits};
pub use message::{Message, ToolCall};
pub use parser::{Delta, Finish, FinishReason, Parser, Snapshot};
pub use request::{IncompleteCalls, Prompt, PromptToken, Request, ToolChoice};
pub use schema::ToolSet;
pub use setup::{Half, Needs, Pair, Registry, Setup, SetupError, SetupWarning, TokenBytes, Vocabulary};
