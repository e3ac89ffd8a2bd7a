//! The one error of the library.

use std::fmt;

/// Why something was refused before any output was read. Output itself is never an error: what is odd about it is a
/// [`Diagnostic`](crate::Diagnostic).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// What kind of error.
    pub kind: ErrorKind,
    /// What is wrong and where, as one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where, for programs: the line of a file (`mine.toml:12`), a field of a request (`tools`), a value of a message
    /// (`tool_calls[0].name`), a setting (`limits`).
    pub place: Option<String>,
}

/// Kinds of [`Error`]. Their names in JSON are those of [`ErrorKind::as_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No format has this name.
    UnknownName,
    /// A format file cannot be read or used.
    BadFormat,
    /// The two halves cannot work together.
    BadPair,
    /// The checkpoint lacks what the format needs (a `response_template`).
    BadCheckpoint,
    /// The vocabulary lacks tokens that the format needs ([`Pair::check_vocabulary`](crate::Pair::check_vocabulary)).
    MissingTokens,
    /// The checkpoint's files do not say which format it writes ([`Registry::detect`](crate::Registry::detect)).
    Unsure,
    /// No limit has this name, or it cannot have this value.
    BadLimit,
    /// The request asks for what the format cannot do, or cannot be read.
    BadRequest,
    /// There is no grammar for the request, or it would exceed its limit.
    NoGrammar,
    /// The format cannot write the message.
    CannotRender,
    /// A snapshot is damaged, of another version, or of another pair.
    BadSnapshot,
}

impl ErrorKind {
    /// Its name in JSON and in Python.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownName => "unknown_name",
            Self::BadFormat => "bad_format",
            Self::BadPair => "bad_pair",
            Self::BadCheckpoint => "bad_checkpoint",
            Self::MissingTokens => "missing_tokens",
            Self::Unsure => "unsure",
            Self::BadLimit => "limit",
            Self::BadRequest => "request",
            Self::NoGrammar => "grammar",
            Self::CannotRender => "render",
            Self::BadSnapshot => "snapshot",
        }
    }
}

impl Error {
    /// An error without a hint and a place.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, place: None }
    }

    /// An error of a request.
    #[must_use]
    pub fn request(message: &str) -> Self {
        Self::new(ErrorKind::BadRequest, message)
    }

    /// An error of a request for a grammar.
    pub(crate) fn grammar(message: &str) -> Self {
        Self::new(ErrorKind::NoGrammar, message).at("tools")
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds where it is.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
