//! The library's error type.

use std::fmt;

/// The reason for a refusal before any output is read. Output itself is never an error: a problem in it is a
/// [`Diagnostic`](crate::Diagnostic).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// What is wrong, and where, as one sentence without a full stop.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
    /// The location, for programs: a line of a file (`mine.toml:12`), a field of a request (`tools`), a value of a
    /// message (`tool_calls[0].name`), or a setting (`limits`).
    pub place: Option<String>,
}

/// Kinds of [`Error`]. [`ErrorKind::as_str`] gives their names in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No format has this name.
    UnknownName,
    /// A format file cannot be read or used.
    BadFormat,
    /// The two halves of a pair cannot work together.
    BadPair,
    /// The checkpoint lacks what the format needs (a `response_template`).
    BadCheckpoint,
    /// The vocabulary lacks tokens that the format needs ([`Pair::check_vocabulary`](crate::Pair::check_vocabulary)).
    MissingTokens,
    /// The checkpoint's files do not identify its format ([`Registry::detect`](crate::Registry::detect)).
    Unsure,
    /// No limit has this name, or the value is out of range.
    BadLimit,
    /// The request is unreadable, or asks for something the format does not support.
    BadRequest,
    /// The request has no grammar, or its grammar would exceed the limit.
    NoGrammar,
    /// The format cannot write the message.
    CannotRender,
    /// A snapshot is damaged, or belongs to another version or pair.
    BadSnapshot,
}

impl ErrorKind {
    /// The name in JSON and in Python.
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
    /// Creates an error without hint and place.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, place: None }
    }

    /// Creates an error about a request.
    #[must_use]
    pub fn request(message: &str) -> Self {
        Self::new(ErrorKind::BadRequest, message)
    }

    /// Creates an error about a request for a grammar.
    pub(crate) fn grammar(message: &str) -> Self {
        Self::new(ErrorKind::NoGrammar, message).at("tools")
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds the location.
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
