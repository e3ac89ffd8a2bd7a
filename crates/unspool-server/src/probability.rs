//! Token data that a request can ask for: ids and log probabilities.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::capabilities::Capabilities;
use crate::error::ApiError;

/// Maximum number of alternatives per token.
const MOST_OTHERS: i64 = 100;

/// The logarithm of probability zero, because JSON has no infinity.
const FLOOR: f64 = -9999.0;

/// A token that was or could have been chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its text, or `token_id:ID`.
    pub token: String,
    /// The logarithm of its probability.
    #[serde(default, deserialize_with = "or_floor")]
    pub logprob: f64,
    /// Its bytes, if known.
    #[serde(default)]
    pub bytes: Option<Vec<u8>>,
}

/// A token of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenProbability {
    /// The token itself.
    #[serde(flatten)]
    pub chosen: Candidate,
    /// The most likely alternatives.
    #[serde(default)]
    pub top_logprobs: Vec<Candidate>,
}

/// The token data that a request asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenWishes {
    /// The log probabilities of the answer's tokens, with this number of alternatives.
    pub top: Option<usize>,
    /// Write tokens as ids there.
    pub as_ids: bool,
    /// The ids of prompt and answer.
    pub ids: bool,
    /// The log probabilities of the prompt's tokens, with this number of alternatives; -1: all.
    pub prompt: Option<i64>,
}

impl Candidate {
    /// A token with its text and bytes, as its id if requested.
    #[must_use]
    pub fn new((id, logprob): (Option<u32>, f64), (text, bytes): (&str, Option<&[u8]>), wishes: TokenWishes) -> Self {
        let token = match id.filter(|_| wishes.as_ids) {
            Some(id) => format!("token_id:{id}"),
            None => text.to_owned(),
        };
        Self { token, logprob: floored(logprob), bytes: Some(bytes.unwrap_or(text.as_bytes()).to_vec()) }
    }
}

impl TokenProbability {
    /// A token and the requested number of alternatives, the most likely first.
    #[must_use]
    pub fn new(chosen: Candidate, mut others: Vec<Candidate>, wishes: TokenWishes) -> Self {
        others.sort_by(|a, b| b.logprob.total_cmp(&a.logprob));
        others.truncate(wishes.top.unwrap_or_default());
        Self { chosen, top_logprobs: others }
    }

    /// Length of its text.
    #[must_use]
    pub fn length(&self) -> usize {
        self.chosen.bytes.as_ref().map_or(self.chosen.token.len(), Vec::len)
    }
}

impl TokenWishes {
    /// Reads the fields of a chat request.
    ///
    /// # Errors
    /// Invalid numbers, or contradictory fields.
    pub fn read(
        (logprobs, top): (Option<bool>, Option<i64>),
        (as_ids, ids): (Option<bool>, Option<bool>),
        (prompt, streams): (Option<i64>, bool),
    ) -> Result<Self, ApiError> {
        let wanted = logprobs == Some(true);
        let top = top.unwrap_or_default();
        let refused = |field: &str, message: String| Err(ApiError::bad_field(field, message));
        if !(0..=MOST_OTHERS).contains(&top) {
            return refused("top_logprobs", format!("`top_logprobs` is {top}; it must be from 0 to {MOST_OTHERS}"));
        }
        if top > 0 && !wanted {
            return refused("top_logprobs", "`top_logprobs` needs `logprobs: true`".to_owned());
        }
        match prompt {
            Some(..-1) => return refused("prompt_logprobs", "`prompt_logprobs` must be -1, 0 or more".to_owned()),
            Some(_) if streams => {
                return refused("prompt_logprobs", "`prompt_logprobs` are not there under `stream: true`".to_owned());
            }
            _ => {}
        }
        let top = wanted.then(|| usize::try_from(top).unwrap_or_default());
        Ok(Self { top, as_ids: as_ids == Some(true), ids: ids == Some(true), prompt })
    }

    /// Checks that the backend supports the request.
    ///
    /// # Errors
    /// It does not.
    pub fn check(self, can: &Capabilities) -> Result<(), ApiError> {
        let asked = [
            ("logprobs", self.top.is_some() && !can.probabilities, "log probabilities"),
            ("prompt_logprobs", self.prompt.is_some() && !can.prompt_probabilities, "log probabilities of prompts"),
            ("return_token_ids", self.ids && !can.token_ids, "token ids"),
        ];
        match asked.into_iter().find(|(_, missing, _)| *missing) {
            Some((field, _, what)) => {
                let message = format!("`{field}` is refused: the backend tells no {what}");
                Err(ApiError::bad_field(field, message).hint("docs/gateway.md says which kinds of servers do"))
            }
            None => Ok(()),
        }
    }

    /// Whether data of each token of the answer are requested.
    #[must_use]
    pub fn any(self) -> bool {
        self.ids || self.top.is_some()
    }
}

fn floored(logprob: f64) -> f64 {
    if logprob.is_finite() { logprob.max(FLOOR) } else { FLOOR }
}

fn or_floor<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    Ok(floored(Value::deserialize(value)?.as_f64().unwrap_or(FLOOR)))
}
