//! The settings of a pair, and the errors of its creation.

use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::format::source::FileError;
use crate::limits::Limits;
use crate::request::{CallIds, IncompleteCalls};

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

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        let place = format!("{}:{}", error.path, error.line);
        Self::new(ErrorKind::BadFormat, error.placed()).hint(error.hint).at(place)
    }
}
