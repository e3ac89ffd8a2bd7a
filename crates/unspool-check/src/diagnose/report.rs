//! What a diagnosis says.

use serde::Serialize;

use super::input::Kind;
use super::rank::Entry;
use crate::border;

/// A whole diagnosis; its JSON is an interface.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// What was given.
    pub input: Given,
    /// The nine checks.
    pub checks: Vec<Check>,
    /// How well the formats read the outputs, the best first.
    pub ranking: Vec<Entry>,
    /// What it comes to.
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

/// What was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Given {
    /// What it is.
    pub kind: Kind,
    /// How many answers it holds.
    pub outputs: usize,
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing is wrong.
    Pass,
    /// Something is.
    Fail,
    /// It cannot be told.
    Unknown,
}

/// The checks, in the order in which they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Both parsers are named.
    Flags,
    /// Their names are known, and the model's.
    Names,
    /// The template writes what the parsers read.
    Template,
    /// The two halves go together.
    Pair,
    /// A stream says what a whole answer says.
    Streaming,
    /// Why the answer ended.
    FinishReason,
    /// No markup is left in what the client gets.
    RawText,
    /// The server kept special tokens.
    SpecialTokens,
    /// The marks are written with the right characters.
    CodePoints,
}

impl Subject {
    /// What is checked, in words.
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
    /// What is checked.
    pub check: Subject,
    /// How it came out.
    pub result: Outcome,
    /// Why, in a sentence.
    pub message: String,
    /// What shows it.
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

/// Most pieces of evidence for one check.
const MOST_EVIDENCE: usize = 10;
/// Most bytes of a text that is quoted.
const QUOTED: usize = 160;

/// What shows a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Where it stands: a field, a file, a flag.
    #[serde(rename = "where")]
    pub place: String,
    /// At which byte of it.
    pub offset: Option<usize>,
    /// In which line of it, from 1.
    pub line: Option<usize>,
    /// The text, cut.
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

    /// A stretch of a text.
    pub(super) fn at(place: impl Into<String>, whole: &str, offset: usize, length: usize) -> Self {
        let end = border::ceil(whole, whole.len().min(offset + length));
        let line = whole[..offset].matches('\n').count() + 1;
        Self { offset: Some(offset), line: Some(line), ..Self::new(place, &whole[offset..end]) }
    }
}

/// What it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Nothing is wrong.
    Ok,
    /// A parser is missing, or another one reads the output.
    WrongParser,
    /// The template teaches the model another format.
    WrongTemplate,
    /// The two halves do not go together.
    UnknownPair,
    /// The server leaves special tokens out.
    StrippedMarkers,
    /// Marks are written with other characters.
    LookAlikes,
    /// The answer was cut off.
    CutOff,
    /// The client reads another field.
    ClientField,
    /// The prompt opens or closes the thought, and the parser does not know.
    PromptSideThought,
    /// The model did not call.
    NoCall,
    /// No format here reads the output.
    NoFormat,
}

/// The end of a diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What it is.
    pub kind: Cause,
    /// In a sentence.
    pub message: String,
    /// The flags to start the server with; empty: they stay as they are.
    pub flags: Vec<String>,
    /// What else to do.
    pub hint: Option<String>,
}
