//! The settings of a pair, and the errors of its creation.

use std::fmt;

use serde_json::Value;

use crate::format::source::FileError;
use crate::limits::Limits;
use crate::request::{CallIds, IncompleteCalls, RequestError};

pub use crate::vocabulary::{TokenBytes, Vocabulary};

/// The settings of a pair.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Name of the reasoning parser.
    pub reasoning_parser: Option<String>,
    /// Name of the tool-call parser.
    pub tool_parser: Option<String>,
    /// The checkpoint's `model_type`; some select a format whatever the names.
    pub model_type: Option<String>,
    /// The tokenizer's vocabulary.
    pub vocabulary: Vocabulary,
    /// `tokenizer_config.json`, for settings of a format (`token_suffix`, `response_template`, `chat_template`).
    pub tokenizer_config: Value,
    /// What happens to calls that never complete.
    pub incomplete_calls: IncompleteCalls,
    /// For a single half of a format whose halves belong together: everything that it does not parse is content,
    /// verbatim, markers included, for another parser. So two parsers can run one after the other, the first with only
    /// [`Setup::reasoning_parser`], the second with only [`Setup::tool_parser`] and
    /// [`Prompt::Content`](crate::Prompt::Content). One pair with both is better, because it knows what a call's
    /// arguments are. Without this setting, and for other formats, content is always parsed.
    pub raw_rest: bool,
    /// The turn syntax, in a format that has several ([`Registry::flavours`](crate::Registry::flavours)).
    pub flavour: Option<String>,
    /// The shape of generated call ids.
    pub call_ids: CallIds,
    /// The limits.
    pub limits: Limits,
}

/// Kinds of [`SetupError`]; the names are part of the JSON interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupErrorKind {
    /// No format has this name.
    UnknownName,
    /// The format file cannot be read or used.
    BadFormat,
    /// The two halves cannot work together.
    BadPair,
    /// The checkpoint lacks what the format needs (a `response_template`).
    BadCheckpoint,
    /// The vocabulary lacks tokens that the format needs ([`Pair::check_vocabulary`](crate::Pair::check_vocabulary)).
    MissingTokens,
    /// The checkpoint's files do not say which format it writes ([`Registry::detect`](crate::Registry::detect)).
    Unsure,
}

/// Why a pair cannot be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupError {
    /// The kind of error.
    pub kind: SetupErrorKind,
    /// What is wrong, and where.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SetupError {}

/// A warning about a pair that works but is probably wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupWarning {
    /// What is probably wrong.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
}

/// A half of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Half {
    /// `--reasoning-parser`
    Reasoning,
    /// `--tool-call-parser`
    Tools,
}

impl Half {
    /// The flag that names this half.
    #[must_use]
    pub fn flag(self) -> &'static str {
        match self {
            Self::Reasoning => "--reasoning-parser",
            Self::Tools => "--tool-call-parser",
        }
    }

    /// The other half.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Reasoning => Self::Tools,
            Self::Tools => Self::Reasoning,
        }
    }

    /// The name of a parser of this kind.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning parser",
            Self::Tools => "tool-call parser",
        }
    }
}

impl From<FileError> for SetupError {
    fn from(error: FileError) -> Self {
        let message = error.placed();
        Self { kind: SetupErrorKind::BadFormat, message, hint: Some(error.hint) }
    }
}

/// A request's switch that makes the format unusable.
impl From<SetupError> for RequestError {
    fn from(error: SetupError) -> Self {
        Self { message: error.message, hint: error.hint }
    }
}
