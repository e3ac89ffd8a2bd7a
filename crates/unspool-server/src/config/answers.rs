//! The settings of answers, with vLLM's names where vLLM has the same thing.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use unspool::IncompleteCalls;

use crate::error::StartupError;

/// Settings of answers.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Answers"))]
pub struct AnswerConfig {
    /// Field for reasoning in chat answers: `reasoning`, `reasoning_content` or `both`
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", default_value_t = ReasoningField::Reasoning))]
    pub reasoning_field: ReasoningField,

    /// Role in chat answers
    #[cfg_attr(feature = "clap", arg(long, value_name = "ROLE", default_value = "assistant"))]
    pub response_role: String,

    /// Send usage in every chunk of every stream, whether the request asks or not
    #[cfg_attr(feature = "clap", arg(long))]
    pub enable_force_include_usage: bool,

    /// What happens to a call that never completes: `stream` (a call with the arguments so far), `text` (its raw text
    /// is content), `drop` (its raw text goes only to a diagnostic)
    #[cfg_attr(feature = "clap", arg(long, value_name = "HOW", default_value_t = Incomplete::default()))]
    pub incomplete_calls: Incomplete,

    /// Tokens per chunk of a stream; the first one goes out at once. A request can ask for more with `stream_interval`
    #[cfg_attr(feature = "clap", arg(long, value_name = "TOKENS", default_value_t = 1))]
    pub stream_interval: u64,

    /// Add diagnostics to every answer, whether the request sets `return_diagnostics` or not
    #[cfg_attr(feature = "clap", arg(long))]
    pub return_diagnostics: bool,

    /// Have tokens among log probabilities written as `token_id:ID`; for --backend vllm and openai
    #[cfg_attr(feature = "clap", arg(long))]
    pub return_tokens_as_token_ids: bool,

    /// Maximum tokens of prompt and answer, such as 4096, 32k (thousand) or 32K (of 1,024); none: from the backend or
    /// the model's files
    #[cfg_attr(feature = "clap", arg(long, value_name = "TOKENS", value_parser = token_count))]
    pub max_model_len: Option<u64>,

    /// Maximum stop sequences in a request
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER", default_value_t = MOST_STOPS))]
    pub max_stops: usize,

    /// Folder for files with the raw output of every answer, for `--backend replay:FILE`
    #[cfg_attr(feature = "clap", arg(long, value_name = "DIR"))]
    pub log_raw: Option<PathBuf>,

    /// Start a new such file after this many bytes; 0: never
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES", default_value_t = RAW_LOG_SIZE))]
    pub log_raw_size: u64,
}

/// Maximum number of stop sequences, as in vLLM.
const MOST_STOPS: usize = 4;

/// Size of a file of raw outputs, in bytes, after which the next one starts.
const RAW_LOG_SIZE: u64 = 1 << 30;

impl Default for AnswerConfig {
    fn default() -> Self {
        Self {
            reasoning_field: ReasoningField::Reasoning,
            response_role: "assistant".to_owned(),
            enable_force_include_usage: false,
            incomplete_calls: Incomplete::default(),
            stream_interval: 1,
            return_diagnostics: false,
            return_tokens_as_token_ids: false,
            max_model_len: None,
            max_stops: MOST_STOPS,
            log_raw: None,
            log_raw_size: RAW_LOG_SIZE,
        }
    }
}

impl AnswerConfig {
    /// Checks the settings without opening anything.
    ///
    /// # Errors
    /// A value out of range.
    pub fn check(&self) -> Result<(), StartupError> {
        if self.max_model_len == Some(0) {
            return Err(StartupError::new("--max-model-len is 0; it must be 1 or more")
                .hint("leave it out: the model's own files say it where there is --model-dir"));
        }
        if self.stream_interval == 0 {
            return Err(
                StartupError::new("--stream-interval is 0; it must be 1 or more").hint("1 sends every token by itself")
            );
        }
        if self.response_role.is_empty() {
            return Err(StartupError::new("--response-role is empty").hint("the usual one is `assistant`"));
        }
        Ok(())
    }
}

/// Parses a number of tokens as vLLM does: `k`, `m` and `g` are powers of 1,000 and allow decimal fractions; `K`, `M`
/// and `G` are powers of 1,024.
///
/// # Errors
/// The text is not such a number.
pub fn token_count(text: &str) -> Result<u64, String> {
    const UNITS: [(char, u64); 6] =
        [('k', 1000), ('m', 1_000_000), ('g', 1_000_000_000), ('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30)];
    let fault = || "it must be a number of tokens such as 4096, 25.6k or 32K".to_owned();
    let Some((unit, factor)) = UNITS.into_iter().find(|(unit, _)| text.ends_with(*unit)) else {
        return text.parse().map_err(|_| fault());
    };
    let number = text.trim_end_matches(unit);
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(fault);
    }
    match number.parse::<f64>() {
        Ok(number) if unit.is_lowercase() && (0.0..1e9).contains(&number) => {
            Ok((number * factor as f64).round() as u64)
        }
        _ => Err(fault()),
    }
}

/// The field for reasoning. vLLM writes `reasoning`; SGLang, llama.cpp, DeepSeek and others write `reasoning_content`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReasoningField {
    /// `reasoning`
    #[default]
    Reasoning,
    /// `reasoning_content`
    ReasoningContent,
    /// The same text in both.
    Both,
}

impl ReasoningField {
    /// Whether to write `reasoning`.
    #[must_use]
    pub fn new_name(self) -> bool {
        self != Self::ReasoningContent
    }

    /// Whether to write `reasoning_content`.
    #[must_use]
    pub fn old_name(self) -> bool {
        self != Self::Reasoning
    }
}

impl fmt::Display for ReasoningField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reasoning => "reasoning",
            Self::ReasoningContent => "reasoning_content",
            Self::Both => "both",
        })
    }
}

impl FromStr for ReasoningField {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Reasoning, Self::ReasoningContent, Self::Both]
            .into_iter()
            .find(|field| field.to_string() == text)
            .ok_or_else(|| "it must be reasoning, reasoning_content or both".to_owned())
    }
}

/// [`IncompleteCalls`] as a flag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Incomplete(pub IncompleteCalls);

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            IncompleteCalls::Stream => "stream",
            IncompleteCalls::Text => "text",
            IncompleteCalls::Drop => "drop",
        })
    }
}

impl FromStr for Incomplete {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [IncompleteCalls::Stream, IncompleteCalls::Text, IncompleteCalls::Drop]
            .map(Self)
            .into_iter()
            .find(|how| how.to_string() == text)
            .ok_or_else(|| "it must be stream, text or drop".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_written_alike() {
        for word in ["reasoning", "reasoning_content", "both"] {
            assert_eq!(word.parse::<ReasoningField>().map(|field| field.to_string()).as_deref(), Ok(word));
        }
        for word in ["stream", "text", "drop"] {
            assert_eq!(word.parse::<Incomplete>().map(|how| how.to_string()).as_deref(), Ok(word));
        }
        for (text, number) in [("4096", 4096), ("25.6k", 25_600), ("32K", 32_768), ("1m", 1_000_000), ("2G", 2 << 30)] {
            assert_eq!(token_count(text), Ok(number), "{text}");
        }
        for text in ["", "k", "1.5K", "-1", "12q", "99999999999999999999"] {
            assert!(token_count(text).is_err(), "{text}");
        }
        assert!("thoughts".parse::<ReasoningField>().is_err() && "keep".parse::<Incomplete>().is_err());
        assert!(AnswerConfig { max_model_len: Some(0), ..AnswerConfig::default() }.check().is_err());
    }
}
