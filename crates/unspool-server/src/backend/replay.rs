//! Replays recorded outputs.
//!
//! A recording is a JSON Lines file. Each line is one output, as text or as tokens:
//!
//! ```json
//! {"text": "<think>\nTwo keels.\n</think>\n\nBook the morning.", "finish_reason": "stop"}
//! {"tokens": [[151667, "<think>"], [198, "\n"], [7, null, "e282"], [8, null, "ac"]], "match": "price"}
//! ```
//!
//! A token that is no text by itself has `null` and its bytes in hexadecimal. `finish_reason` is `stop` (default) or
//! `length`; `prompt_tokens` is a number. An output with `request_hash` answers only the request with that hash (the
//! gateway sends the hash of every request back in the header `x-unspool-request-hash`), one with `match` only a
//! request whose last message contains that text. All others are played in order, and again from the beginning after
//! the last. A line may instead describe the vocabulary: `{"special_tokens": {"<think>": 151667},
//! "hidden_special_tokens": []}`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use unspool::Vocabulary;
use unspool_text::{Cutter, Rng, Utf8Decoder};

use super::script::{Script, Token};
use super::{Backend, BackendError, BackendFault, Job, Pieces, StopReason};
use crate::capabilities::{Capabilities, NOTHING_BUT_WRITE};
use crate::error::{ApiError, StartupError};
use crate::prompt::RenderedPrompt;
use crate::prompt::{self, NoPrompt, PromptRenderer};
use crate::request::{ChatMessage, ChatRequest};

/// The backend that replays recorded outputs.
#[derive(Debug)]
pub struct Replay {
    prompts: Arc<dyn PromptRenderer>,
    outputs: Vec<Output>,
    vocabulary: Vocabulary,
    next: AtomicUsize,
}

#[derive(Debug)]
struct Output {
    script: Script,
    wanted_by: WantedBy,
    played: AtomicUsize,
}

/// The requests that an output answers.
#[derive(Debug, PartialEq, Eq)]
enum WantedBy {
    Anyone,
    Hash(u64),
    Saying(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: Option<String>,
    tokens: Option<Vec<LineToken>>,
    request_hash: Option<String>,
    r#match: Option<String>,
    finish_reason: Option<String>,
    prompt_tokens: Option<u64>,
    special_tokens: Option<HashMap<String, u32>>,
    #[serde(default)]
    hidden_special_tokens: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum LineToken {
    Text(u32, String),
    Bytes(u32, Option<String>, String),
}

impl Replay {
    /// Reads a recording.
    ///
    /// # Errors
    /// The file cannot be read, or a line is invalid.
    pub fn open(path: &Path) -> Result<Self, StartupError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            StartupError::new(format!("cannot read the recording {}: {error}", path.display()))
                .hint("check the path in --backend replay:FILE; --log-raw DIR writes such files")
        })?;
        Self::read(&text, &path.display().to_string())
    }

    /// Reads a recording's text; `name` is for messages.
    ///
    /// # Errors
    /// A line is invalid, or there are none.
    pub fn read(text: &str, name: &str) -> Result<Self, StartupError> {
        const HINT: &str = "a line is {\"text\": \"…\"} or {\"tokens\": [[id, \"text\"], …]}, one output a line";
        let mut out = Self {
            prompts: Arc::new(NoPrompt),
            outputs: Vec::new(),
            vocabulary: Vocabulary::default(),
            next: AtomicUsize::new(0),
        };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let fault =
                |message: String| StartupError::new(format!("{name}, line {}: {message}", number + 1)).hint(HINT);
            let line: Line = serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
            out.add(line).map_err(fault)?;
        }
        if out.outputs.is_empty() {
            return Err(StartupError::new(format!("{name} holds no output")).hint(HINT));
        }
        Ok(out)
    }

    /// Sets the source of prompts, which determine where the recorded replies begin.
    #[must_use]
    pub fn with_prompts(self, prompts: Arc<dyn PromptRenderer>) -> Self {
        Self { prompts, ..self }
    }

    /// The vocabulary in the recording.
    #[must_use]
    pub fn vocabulary(&self) -> Vocabulary {
        self.vocabulary.clone()
    }

    fn add(&mut self, line: Line) -> Result<(), String> {
        let tokens = match (line.text, line.tokens, line.special_tokens) {
            (Some(text), None, None) => {
                // The tokens are unknown, so the text is split as if it were generated live.
                let pieces = Cutter::new(&text, &[], Rng::new(self.outputs.len() as u64));
                pieces.map(|piece| Token { text: piece.to_owned(), id: None }).collect()
            }
            (None, Some(tokens), None) => decode(tokens)?,
            (None, None, Some(special)) => {
                self.vocabulary.special.extend(special);
                self.vocabulary.hidden.extend(line.hidden_special_tokens);
                return Ok(());
            }
            _ => return Err("exactly one of `text`, `tokens` and `special_tokens` is needed".to_owned()),
        };
        let stop = match line.finish_reason.as_deref() {
            None => StopReason::Stop,
            Some(word) => StopReason::of_word(word),
        };
        let wanted_by = match (line.request_hash, line.r#match) {
            (None, None) => WantedBy::Anyone,
            (Some(hash), None) => WantedBy::Hash(
                u64::from_str_radix(&hash, 16)
                    .map_err(|_| format!("`request_hash` {hash:?} is no hexadecimal number"))?,
            ),
            (None, Some(text)) => WantedBy::Saying(text),
            (Some(_), Some(_)) => return Err("`request_hash` and `match` cannot both be there".to_owned()),
        };
        let script = Script { tokens, stop, prompt_tokens: line.prompt_tokens.unwrap_or_default() };
        self.outputs.push(Output { script, wanted_by, played: AtomicUsize::new(0) });
        Ok(())
    }

    /// The output for a request: a specific one (the least played), else the next general one.
    fn choose(&self, request: &ChatRequest) -> Option<&Output> {
        let last = request.messages.last().map(ChatMessage::text).unwrap_or_default();
        let meant = self.outputs.iter().filter(|output| match &output.wanted_by {
            WantedBy::Anyone => false,
            WantedBy::Hash(hash) => *hash == request.hash,
            WantedBy::Saying(text) => last.contains(text.as_str()),
        });
        if let Some(output) = meant.min_by_key(|output| output.played.load(Ordering::Relaxed)) {
            output.played.fetch_add(1, Ordering::Relaxed);
            return Some(output);
        }
        let open: Vec<&Output> = self.outputs.iter().filter(|output| output.wanted_by == WantedBy::Anyone).collect();
        if open.is_empty() {
            return None;
        }
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        open.get(turn % open.len()).copied()
    }
}

/// Tokens with their bytes joined to characters: a token that ends inside one has no text yet, but its id.
fn decode(tokens: Vec<LineToken>) -> Result<Vec<Token>, String> {
    let mut decoder = Utf8Decoder::default();
    let mut out = Vec::with_capacity(tokens.len());
    for token in tokens {
        let mut text = String::new();
        let id = match token {
            LineToken::Text(id, piece) | LineToken::Bytes(id, Some(piece), _) => {
                decoder.push(piece.as_bytes(), &mut text);
                id
            }
            LineToken::Bytes(id, None, hex) => {
                decoder.push(&bytes(&hex)?, &mut text);
                id
            }
        };
        out.push(Token { text, id: Some(id) });
    }
    if let Some(last) = out.last_mut() {
        decoder.finish(&mut last.text);
    }
    Ok(out)
}

fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> =
        hex.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            Ok(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
        }
        _ => Err(format!("{hex:?} are no bytes in hexadecimal")),
    }
}

/// The data of recordings besides text.
pub(super) const CAPABILITIES: Capabilities = Capabilities { token_ids: true, ..NOTHING_BUT_WRITE };

impl Backend for Replay {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn prompt<'a>(&'a self, request: &'a Arc<ChatRequest>) -> BoxFuture<'a, Result<RenderedPrompt, ApiError>> {
        Box::pin(prompt::render(&self.prompts, request))
    }

    fn start(&self, job: Job) -> BoxFuture<'_, Result<Pieces, BackendError>> {
        let script = self.choose(&job.request).map(|output| output.script.clone());
        Box::pin(async move {
            let script = script.ok_or_else(|| {
                BackendError::new(BackendFault::Exhausted, "the recording holds no output for this request")
                    .hint("an output without `request_hash` and `match` answers any request")
            })?;
            Ok(script.play(job.sampling(), 0.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str, hash: u64) -> ChatRequest {
        ChatRequest { messages: vec![ChatMessage::user(text.to_owned())], hash, ..ChatRequest::default() }
    }

    fn first_text(replay: &Replay, request: &ChatRequest) -> String {
        let output = replay.choose(request).expect("there is an output");
        output.script.tokens.iter().map(|token| token.text.as_str()).collect()
    }

    #[test]
    fn outputs_come_in_order_or_to_whom_they_are_meant() {
        let lines = r#"
            {"text": "one"}
            {"text": "for ff", "request_hash": "00000000000000ff"}
            {"text": "for boats", "match": "boat"}
            {"text": "two"}"#;
        let replay = Replay::read(lines, "test").expect("the recording is well formed");
        let plain = request("hello", 1);
        assert_eq!(first_text(&replay, &plain), "one");
        assert_eq!(first_text(&replay, &request("hello", 0xff)), "for ff");
        assert_eq!(first_text(&replay, &request("my boat", 2)), "for boats");
        assert_eq!(first_text(&replay, &plain), "two");
        assert_eq!(first_text(&replay, &plain), "one", "after the last comes the first");
    }

    #[test]
    fn half_characters_wait_for_their_other_half() {
        let lines = r#"{"special_tokens": {"<think>": 5}}
            {"tokens": [[5, "<think>"], [7, null, "e282"], [8, null, "ac"], [9, null, "c3"]]}"#;
        let replay = Replay::read(lines, "test").expect("the recording is well formed");
        assert_eq!(replay.vocabulary().special.get("<think>"), Some(&5));
        let tokens = &replay.outputs[0].script.tokens;
        let pairs: Vec<_> = tokens.iter().map(|token| (token.id, token.text.as_str())).collect();
        assert_eq!(pairs, [(Some(5), "<think>"), (Some(7), ""), (Some(8), "€"), (Some(9), "\u{fffd}")]);
    }

    #[test]
    fn faults_name_the_line() {
        for (lines, what) in [
            ("", "holds no output"),
            ("{\"text\": \"a\"}\n{\"text\": 3}", "line 2"),
            ("{\"text\": \"a\", \"tokens\": []}", "exactly one"),
            ("{\"tokens\": [[1, null, \"0x\"]]}", "hexadecimal"),
            ("{\"txt\": \"a\"}", "unknown field"),
        ] {
            let error = Replay::read(lines, "rec.jsonl").expect_err("the recording is broken");
            assert!(error.message.contains(what) && error.message.contains("rec.jsonl"), "{error}");
        }
    }
}
