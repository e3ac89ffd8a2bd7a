//! The report of a diagnosis.

use serde::Serialize;

use super::input::Kind;
use super::rank::Entry;
use crate::border;

/// A complete diagnosis; its JSON is a public interface.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The input.
    pub input: Given,
    /// The nine checks.
    pub checks: Vec<Check>,
    /// How well the formats parse the outputs, the best first.
    pub ranking: Vec<Entry>,
    /// The verdict.
    pub verdict: Verdict,
}

impl Report {
    /// Whether anything is wrong.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        let fails = self.checks.iter().any(|check| check.result == Outcome::Fail);
        fails || !matches!(self.verdict.kind, Cause::Ok | Cause::NoCall)
    }
}

/// The input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Given {
    /// Its kind.
    pub kind: Kind,
    /// Number of answers.
    pub outputs: usize,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing is wrong.
    Pass,
    /// Something is wrong.
    Fail,
    /// Undecided.
    Unknown,
}

/// The checks, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Both parsers are named.
    Flags,
    /// The names are known, and right for the model.
    Names,
    /// Template and parsers agree.
    Template,
    /// The two halves work together.
    Pair,
    /// A stream gives the same result as a complete answer.
    Streaming,
    /// The finish reason.
    FinishReason,
    /// The client receives no markup.
    RawText,
    /// The server kept special tokens.
    SpecialTokens,
    /// The markers are spelled with the right characters.
    CodePoints,
}

impl Subject {
    /// A description of the check.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Flags => "both flags",
            Self::Names => "names",
            Self::Template => "template",
            Self::Pair => "pair",
            Self::Streaming => "streaming",
            Self::FinishReason => "finish reason",
            Self::RawText => "raw text",
            Self::SpecialTokens => "special tokens",
            Self::CodePoints => "code points",
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The check.
    pub check: Subject,
    /// Its result.
    pub result: Outcome,
    /// The reason, as a sentence.
    pub message: String,
    /// The evidence.
    pub evidence: Vec<Evidence>,
}

impl Check {
    pub(super) fn new(check: Subject, result: Outcome, message: impl Into<String>) -> Self {
        Self { check, result, message: message.into(), evidence: Vec::new() }
    }

    pub(super) fn with(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence.into_iter().take(MOST_EVIDENCE));
        self
    }
}

/// Maximum pieces of evidence for one check.
const MOST_EVIDENCE: usize = 10;
/// Maximum size of a quoted text, in bytes.
const QUOTED: usize = 160;

/// Evidence for a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Its location: a field, a file, a flag.
    #[serde(rename = "where")]
    pub place: String,
    /// Its byte offset there.
    pub offset: Option<usize>,
    /// Its line there, from 1.
    pub line: Option<usize>,
    /// The text, truncated.
    pub text: String,
}

impl Evidence {
    pub(super) fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text = text.into();
        if text.len() > QUOTED {
            text.truncate(border::floor(&text, QUOTED));
            text.push('…');
        }
        Self { place: place.into(), offset: None, line: None, text }
    }

    /// A part of a text.
    pub(super) fn at(place: impl Into<String>, whole: &str, offset: usize, length: usize) -> Self {
        let end = border::ceil(whole, whole.len().min(offset + length));
        let line = whole[..offset].matches('\n').count() + 1;
        Self { offset: Some(offset), line: Some(line), ..Self::new(place, &whole[offset..end]) }
    }
}

/// The cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Nothing is wrong.
    Ok,
    /// A parser is missing, or another one parses the output.
    WrongParser,
    /// The template teaches the model another format.
    WrongTemplate,
    /// The two halves do not work together.
    UnknownPair,
    /// The server omits special tokens.
    StrippedMarkers,
    /// Markers are spelled with other characters.
    LookAlikes,
    /// The answer was cut off.
    CutOff,
    /// The client reads another field.
    ClientField,
    /// The prompt opens or closes the thought, but the parser does not know.
    PromptSideThought,
    /// The model made no call.
    NoCall,
    /// No known format parses the output.
    NoFormat,
}

/// The verdict of a diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The cause.
    pub kind: Cause,
    /// A sentence.
    pub message: String,
    /// The flags for the server; empty: no change.
    pub flags: Vec<String>,
    /// Further advice.
    pub hint: Option<String>,
}
