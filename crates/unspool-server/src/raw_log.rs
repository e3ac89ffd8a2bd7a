//! `--log-raw`: the raw output of every answer, in the form that the `replay` backend reads.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use unspool::Vocabulary;

use crate::backend::{Piece, StopReason};
use crate::error::StartupError;
use crate::unique;

/// A file that takes raw outputs, one line each, as they end.
#[derive(Debug)]
pub struct RawLog {
    file: Mutex<File>,
}

impl RawLog {
    /// A new file in `folder`, which is made if it is not there. What is known of the vocabulary stands first.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub fn create(folder: &Path, vocabulary: &Vocabulary) -> Result<Self, StartupError> {
        let fault = |error: std::io::Error| {
            StartupError::new(format!("--log-raw: cannot write into {}: {error}", folder.display()))
                .hint("it must be a folder that the gateway may write into; it is made if it is not there")
        };
        std::fs::create_dir_all(folder).map_err(fault)?;
        let name = format!("raw-{}-{:08x}.jsonl", unique::now(), unique::number() & 0xffff_ffff);
        let file = OpenOptions::new().append(true).create_new(true).open(folder.join(name)).map_err(fault)?;
        let log = Self { file: Mutex::new(file) };
        if !vocabulary.special.is_empty() || !vocabulary.hidden.is_empty() {
            log.write(&json!({"special_tokens": vocabulary.special, "hidden_special_tokens": vocabulary.hidden}))
                .map_err(fault)?;
        }
        Ok(log)
    }

    /// Records one output, which is written down when the recorder is dropped.
    #[must_use]
    pub fn recorder(self: &Arc<Self>, hash: u64) -> Recorder {
        Recorder { log: Arc::clone(self), hash, tokens: Vec::new(), stop: None, prompt_tokens: None }
    }

    fn write(&self, line: &Value) -> std::io::Result<()> {
        // One write per line, so that lines of several answers do not mix. A panic elsewhere leaves the file whole.
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(format!("{line}\n").as_bytes())
    }
}

/// One output, written down when it is dropped.
#[derive(Debug)]
pub struct Recorder {
    log: Arc<RawLog>,
    hash: u64,
    tokens: Vec<(Vec<u32>, String)>,
    stop: Option<StopReason>,
    prompt_tokens: Option<u64>,
}

impl Recorder {
    /// Takes the next piece of it.
    pub fn take(&mut self, piece: &Piece) {
        match piece {
            Piece::Tokens { text, ids } => self.tokens.push((ids.clone(), text.clone())),
            Piece::Stopped { reason, .. } => self.stop = Some(reason.clone()),
            Piece::Usage { prompt, .. } => self.prompt_tokens = Some(*prompt),
        }
    }

    fn line(&mut self) -> Value {
        let mut line = Map::new();
        if self.tokens.iter().all(|(ids, _)| !ids.is_empty()) {
            line.insert("tokens".to_owned(), self.tokens.drain(..).flat_map(tokens).collect());
        } else {
            let text: String = self.tokens.drain(..).map(|(_, text)| text).collect();
            line.insert("text".to_owned(), text.into());
        }
        let stop = match self.stop.take() {
            Some(StopReason::Length) => "length".to_owned(),
            Some(StopReason::Other(word)) => word,
            Some(StopReason::Stop) | None => "stop".to_owned(),
        };
        line.insert("finish_reason".to_owned(), stop.into());
        if let Some(tokens) = self.prompt_tokens {
            line.insert("prompt_tokens".to_owned(), tokens.into());
        }
        line.insert("request_hash".to_owned(), format!("{:016x}", self.hash).into());
        Value::Object(line)
    }
}

/// A piece as tokens: the text of several ids stands with the last one, before which nothing was certain.
fn tokens((ids, text): (Vec<u32>, String)) -> Vec<Value> {
    let last = ids.len().saturating_sub(1);
    let text_of = |at| if at == last { text.as_str() } else { "" };
    ids.iter().enumerate().map(|(at, id)| json!([id, text_of(at)])).collect()
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.tokens.is_empty() && self.stop.is_none() {
            return;
        }
        let line = self.line();
        if let Err(error) = self.log.write(&line) {
            tracing::warn!(%error, "a raw output cannot be written down");
        }
    }
}
