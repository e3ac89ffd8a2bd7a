//! Anomalies in a model's output, reported next to the result.

use serde::{Deserialize, Serialize};

/// The kind of anomaly. The names are part of the JSON interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// The output ended inside a call.
    CallCutOff,
    /// A call's body violates its syntax; the call keeps the arguments so far.
    CallBroken,
    /// Bytes inside an announced call, or in a message's header, that their syntax cannot place.
    UnplacedText,
    /// Arguments that should be JSON are not. They pass through verbatim.
    NotJson,
    /// The function is not among the request's tools. The call still goes out.
    UnknownFunction,
    /// A call's opener without a call; its text stays where it stood.
    NoCallFollows,
    /// A call that was dropped because the request allows only one.
    CallFiltered,
    /// A call that `incomplete_calls: drop` withholds from the client.
    CallDropped,
    /// Text removed by a filter of the format (citation marks).
    TextFiltered,
    /// A limit was reached; the rest is plain text or data.
    LimitReached,
    /// Bytes that are not UTF-8; each ill-formed sequence became U+FFFD.
    InvalidUtf8,
    /// A token id that the vocabulary does not have.
    UnknownToken,
    /// Parts of the called function's JSON schema cannot be used; the parser ignores them.
    BadSchema,
    /// The output ended inside a thought.
    ThoughtCutOff,
    /// The model got the syntax slightly wrong, and the parser repaired it: it read `text` (empty if a marker was
    /// missing) as [`Diagnostic::read`] (empty if it left the text out).
    Repaired,
}

impl DiagnosticKind {
    /// Whether the text of such a diagnostic may be output that appears nowhere else. For [`Self::Repaired`] that holds
    /// only if the text was left out; see [`Diagnostic::is_output`].
    #[must_use]
    pub fn is_output(self) -> bool {
        matches!(self, Self::UnplacedText | Self::CallDropped | Self::CallCutOff | Self::TextFiltered)
    }
}

/// One anomaly: its kind, position and text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The kind of anomaly.
    pub kind: DiagnosticKind,
    /// Its byte offset in the output (decoded to UTF-8).
    pub offset: u64,
    /// The text in question. If it appears nowhere else (see [`Diagnostic::is_output`]) it is complete, up to
    /// [`Limits::arguments`](crate::Limits::arguments); otherwise it is cut after 256 bytes.
    pub text: String,
    /// What a repair read instead of `text`, cut after 256 bytes; `None` for every other kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// One sentence for people.
    pub message: String,
}

impl Diagnostic {
    /// Maximum text that a diagnostic quotes, in bytes, if the text appears elsewhere too.
    pub const TEXT_LIMIT: usize = 256;

    /// Creates a diagnostic. Cuts its text to [`Self::TEXT_LIMIT`] at a character boundary, unless the text appears
    /// nowhere else.
    #[must_use]
    pub fn new(kind: DiagnosticKind, offset: u64, text: &str, message: impl Into<String>) -> Self {
        let text = if kind.is_output() { text } else { &text[..border(text, Self::TEXT_LIMIT)] };
        Self { kind, offset, text: text.to_owned(), read: None, message: message.into() }
    }

    /// Creates a repair: `text` at `offset` was read as `read`. Text that was left out is complete.
    #[must_use]
    pub fn repaired(offset: u64, text: &str, read: &str, message: impl Into<String>) -> Self {
        let text = if read.is_empty() { text } else { &text[..border(text, Self::TEXT_LIMIT)] };
        let read = read[..border(read, Self::TEXT_LIMIT)].to_owned();
        Self {
            kind: DiagnosticKind::Repaired,
            offset,
            text: text.to_owned(),
            read: Some(read),
            message: message.into(),
        }
    }

    /// Whether the text is output that appears nowhere else.
    #[must_use]
    pub fn is_output(&self) -> bool {
        self.kind.is_output() || self.read.as_deref() == Some("")
    }
}

/// The last character boundary in the first `most` bytes.
pub(crate) fn border(text: &str, most: usize) -> usize {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
