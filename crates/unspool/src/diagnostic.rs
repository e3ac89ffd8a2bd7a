//! Oddities of a model's output, told beside the result.

use serde::{Deserialize, Serialize};

/// What is odd. The names are part of the JSON interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// The output ended inside a call.
    CallCutOff,
    /// A call's body is not what its syntax allows; the call keeps the arguments it has.
    CallBroken,
    /// Bytes inside an announced call, or of a message's header, that their syntax cannot place.
    UnplacedText,
    /// Arguments that the model wrote as JSON are not JSON. They are passed on as they are.
    NotJson,
    /// The function is not among the request's tools. The call is given all the same.
    UnknownFunction,
    /// A call's opener that no call follows; its text went back to where it stood.
    NoCallFollows,
    /// A call that was filtered because the request allows one only.
    CallFiltered,
    /// A call that `incomplete_calls: drop` keeps from the client.
    CallDropped,
    /// Text removed by a filter of the format (marks of citations).
    TextFiltered,
    /// A limit was reached; what follows is treated as plain text or data.
    LimitReached,
    /// Bytes that are not UTF-8; each ill-formed sequence became U+FFFD.
    InvalidUtf8,
    /// A token id that the vocabulary does not have.
    UnknownToken,
    /// The called function's JSON schema cannot be used as a whole; what it does not say is as if it said nothing.
    BadSchema,
    /// The output ended inside a thought.
    ThoughtCutOff,
    /// The model got the syntax slightly wrong, and it was read as what was meant: `text` is what stood there, empty where a
    /// marker was missing, and [`Diagnostic::read`] what it was read as, empty where it was left out.
    Repaired,
}

impl DiagnosticKind {
    /// Whether the text of such a diagnostic is output that may be given nowhere else. That of [`Self::Repaired`] is so where
    /// it was left out; see [`Diagnostic::is_output`].
    #[must_use]
    pub fn is_output(self) -> bool {
        matches!(self, Self::UnplacedText | Self::CallDropped | Self::CallCutOff | Self::TextFiltered)
    }
}

/// One oddity: what, where, and the text in question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// What is odd.
    pub kind: DiagnosticKind,
    /// Byte offset in the output (decoded to UTF-8) where it stands.
    pub offset: u64,
    /// The text in question. Where it stands in for output that is given nowhere else (see [`Diagnostic::is_output`]) it
    /// is whole, up to [`Limits::arguments`](crate::Limits::arguments); elsewhere it is cut after 256 bytes.
    pub text: String,
    /// What a repair read in the place of `text`, cut after 256 bytes; `None` in every other kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// One sentence for people.
    pub message: String,
}

impl Diagnostic {
    /// Longest text that a diagnostic quotes, in bytes, where the text is given elsewhere too.
    pub const TEXT_LIMIT: usize = 256;

    /// A diagnostic with its text cut to [`Self::TEXT_LIMIT`] at a character border, unless it stands in for output.
    #[must_use]
    pub fn new(kind: DiagnosticKind, offset: u64, text: &str, message: impl Into<String>) -> Self {
        let text = if kind.is_output() { text } else { &text[..border(text, Self::TEXT_LIMIT)] };
        Self { kind, offset, text: text.to_owned(), read: None, message: message.into() }
    }

    /// A repair: `text` stood at `offset` and was read as `read`. What was left out altogether is kept whole.
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

    /// Whether the text is output that is given nowhere else.
    #[must_use]
    pub fn is_output(&self) -> bool {
        self.kind.is_output() || self.read.as_deref() == Some("")
    }
}

/// The last character border in the first `most` bytes.
pub(crate) fn border(text: &str, most: usize) -> usize {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
