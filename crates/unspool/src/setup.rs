//! What a pair is made from, and why it cannot be made.

use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::format::source::FileError;
use crate::limits::Limits;
use crate::request::{CallIds, IncompleteCalls};

pub use crate::vocabulary::{TokenBytes, Vocabulary};

/// What a pair is made from.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Name of the reasoning parser.
    pub reasoning_parser: Option<String>,
    /// Name of the tool-call parser.
    pub tool_parser: Option<String>,
    /// The checkpoint's `model_type`; some are always read in one format, whatever the names.
    pub model_type: Option<String>,
    /// The tokenizer's vocabulary.
    pub vocabulary: Vocabulary,
    /// `tokenizer_config.json`, for what a format reads from it (`token_suffix`, `response_template`, `chat_template`).
    pub tokenizer_config: Value,
    /// What becomes of calls that never complete.
    pub incomplete_calls: IncompleteCalls,
    /// One half of a format whose halves belong together, alone: what it does not read is content as it stands, markers included,
    /// for another parser to read. So two parsers can stand one behind the other, the first with [`Setup::reasoning_parser`]
    /// alone, the second with [`Setup::tool_parser`] alone and [`Prompt::Content`](crate::Prompt::Content). One pair with both is
    /// better: it knows what a call's arguments are. Without this, and for other formats, content is always read.
    pub raw_rest: bool,
    /// Which of the ways of writing turns, in a format that has several ([`Registry::flavours`](crate::Registry::flavours)).
    pub flavour: Option<String>,
    /// The shape of the ids that calls are given.
    pub call_ids: CallIds,
    /// The bounds.
    pub limits: Limits,
}

/// Something that is likely wrong, and that does not keep a pair from working.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupWarning {
    /// What is likely wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Which half of a format.
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

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Reasoning => Self::Tools,
            Self::Tools => Self::Reasoning,
        }
    }

    /// What a parser of this half is called.
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
