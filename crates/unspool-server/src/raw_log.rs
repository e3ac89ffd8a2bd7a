//! `--log-raw`: the raw output of every answer, in the form that the `replay` backend reads.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use unspool::Vocabulary;

use crate::backend::{Piece, StopReason};
use crate::error::StartupError;
use crate::unique;

/// Files for raw outputs, one line each, written when they end.
#[derive(Debug)]
pub struct RawLog {
    folder: PathBuf,
    /// The known vocabulary: the first line of each file.
    head: Option<String>,
    /// Size at which the next file starts; 0: never.
    longest: u64,
    current: Mutex<Current>,
}

/// The current file.
#[derive(Debug)]
struct Current {
    path: PathBuf,
    file: File,
    /// The last line may be incomplete.
    broken: bool,
}

impl RawLog {
    /// Creates a file in `folder`, which is created if missing. The next file starts at `longest` bytes (0: never). The
    /// known vocabulary comes first.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub fn create(folder: &Path, vocabulary: &Vocabulary, longest: u64) -> Result<Self, StartupError> {
        let fault = |error: io::Error| {
            StartupError::new(format!("--log-raw: cannot write into {}: {error}", folder.display()))
                .hint("it must be a folder that the gateway may write into; it is made if it is not there")
        };
        std::fs::create_dir_all(folder).map_err(fault)?;
        let known = !vocabulary.special.is_empty() || !vocabulary.hidden.is_empty();
        let head = json!({"special_tokens": vocabulary.special, "hidden_special_tokens": vocabulary.hidden});
        let head = known.then(|| format!("{head}\n"));
        let current = Current::create(new_path(folder), head.as_deref()).map_err(fault)?;
        Ok(Self { folder: folder.to_owned(), head, longest, current: Mutex::new(current) })
    }

    /// Records one output, which is written when the recorder is dropped.
    #[must_use]
    pub fn recorder(self: &Arc<Self>, hash: u64) -> Recorder {
        Recorder { log: Arc::clone(self), hash, tokens: Vec::new(), stop: None, prompt_tokens: None }
    }

    fn write(&self, line: &Value) -> io::Result<()> {
        let line = format!("{line}\n");
        // A panic elsewhere leaves the file intact.
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let metadata = current.file.metadata()?;
        if !current.is_at_its_place(&metadata) {
            *current = Current::create(current.path.clone(), self.head.as_deref())?;
        } else if self.longest > 0 && metadata.len() >= self.longest {
            *current = Current::create(new_path(&self.folder), self.head.as_deref())?;
        }
        current.write(&line)
    }
}

fn new_path(folder: &Path) -> PathBuf {
    folder.join(format!("raw-{}-{:08x}.jsonl", unique::now(), unique::number() & 0xffff_ffff))
}

impl Current {
    /// Creates a file that only its owner may read, because it contains what users and models say.
    fn create(path: PathBuf, head: Option<&str>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut current = Self { file: options.open(&path)?, path, broken: false };
        match head {
            Some(head) => current.write(head).map(|()| current),
            None => Ok(current),
        }
    }

    /// Whether the file is still the one at its path, and was neither removed nor renamed.
    #[cfg(unix)]
    fn is_at_its_place(&self, own: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata(&self.path).is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino()))
    }

    /// Other systems do not remove open files.
    #[cfg(not(unix))]
    fn is_at_its_place(&self, _: &Metadata) -> bool {
        true
    }

    /// Writes a line; after an incomplete one, on a new line. A single write keeps lines of several processes apart.
    fn write(&mut self, line: &str) -> io::Result<()> {
        let before = self.file.metadata()?.len();
        let written = match self.broken {
            true => self.file.write_all(format!("\n{line}").as_bytes()),
            false => self.file.write_all(line.as_bytes()),
        };
        self.broken = match &written {
            Ok(()) => false,
            Err(_) => self.broken || self.file.metadata().map_or(true, |metadata| metadata.len() > before),
        };
        written
    }
}

/// One output, written when dropped.
#[derive(Debug)]
pub struct Recorder {
    log: Arc<RawLog>,
    hash: u64,
    tokens: Vec<(Vec<u32>, String)>,
    stop: Option<StopReason>,
    prompt_tokens: Option<u64>,
}

impl Recorder {
    /// Adds the next piece.
    pub fn take(&mut self, piece: &Piece) {
        match piece {
            Piece::Tokens(tokens) => match self.tokens.last_mut() {
                // Text that arrives after its tokens.
                Some((ids, text)) if !ids.is_empty() && tokens.ids.is_empty() => text.push_str(&tokens.text),
                _ => self.tokens.push((tokens.ids.clone(), tokens.text.clone())),
            },
            Piece::Stopped { reason, .. } => self.stop = Some(reason.clone()),
            // Not raw output: the server has parsed it.
            Piece::Native(_) | Piece::PromptProbabilities(_) => {}
            Piece::Usage { prompt, .. } | Piece::Prompt(prompt) => self.prompt_tokens = Some(*prompt),
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

/// A piece as tokens: the text of several ids belongs to the last one, before which nothing is certain.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a log that says `say` so often, and their lines.
    fn lines(folder: &Path) -> Vec<(PathBuf, Vec<String>)> {
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(&path).expect("it can be read");
            (path, text.lines().map(str::to_owned).collect())
        };
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        entries.map(|entry| read(entry.expect("an entry").path())).collect()
    }

    fn log(longest: u64) -> (RawLog, PathBuf) {
        let folder = std::env::temp_dir().join(format!("unspool-raw-{:016x}", unique::number()));
        let vocabulary = Vocabulary { special: [("<a>".to_owned(), 1)].into(), ..Vocabulary::default() };
        (RawLog::create(&folder, &vocabulary, longest).expect("a temporary folder"), folder)
    }

    #[test]
    #[cfg(unix)]
    fn a_file_is_for_its_owner_and_made_anew_where_it_was_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        let (log, folder) = log(0);
        log.write(&json!(1)).expect("there is room");
        let path = lines(&folder)[0].0.clone();
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::remove_file(&path).expect("it is ours");
        log.write(&json!(2)).expect("there is room");
        let files = lines(&folder);
        assert!(files.len() == 1 && files[0].1[0].contains("special_tokens") && files[0].1[1] == "2", "{files:?}");
        std::fs::rename(&path, folder.join("older")).expect("it is ours");
        log.write(&json!(3)).expect("there is room");
        assert_eq!(lines(&folder).len(), 2);
        std::fs::remove_dir_all(folder).expect("it is ours");
    }

    #[test]
    fn a_long_file_is_followed_by_another() {
        let (log, folder) = log(100);
        (0..20).for_each(|number| log.write(&json!(format!("{number:>30}"))).expect("there is room"));
        let files = lines(&folder);
        assert!(files.len() > 5, "{} files", files.len());
        assert!(files.iter().all(|(_, lines)| lines.len() > 1 && lines[0].contains("special_tokens")), "{files:?}");
        assert_eq!(files.iter().map(|(_, lines)| lines.len() - 1).sum::<usize>(), 20);
        std::fs::remove_dir_all(folder).expect("it is ours");
    }

    #[test]
    fn a_line_behind_half_a_line_stands_by_itself() {
        let (log, folder) = log(0);
        {
            let mut current = log.current.lock().expect("nobody else has it");
            current.file.write_all(b"{\"text\": \"hal").expect("there is room");
            current.broken = true;
        }
        log.write(&json!(1)).expect("there is room");
        log.write(&json!(2)).expect("there is room");
        assert_eq!(lines(&folder)[0].1[1..], ["{\"text\": \"hal", "1", "2"]);
        std::fs::remove_dir_all(folder).expect("it is ours");
    }
}
