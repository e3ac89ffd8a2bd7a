//! Texts and structural tags for another judge: `judge.py` in this directory asks xgrammar itself.

use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::{Value, json};

/// What one grammar accepts and rejects, written as a line of JSON to the file that `GRAMMAR_DUMP` names.
pub(crate) struct Dump {
    name: String,
    tag: Value,
    loose: bool,
    pub(crate) accepted: Vec<String>,
    pub(crate) rejected: Vec<String>,
}

impl Dump {
    pub(crate) fn new(loose: bool, name: &str, tag: Value) -> Self {
        Self { name: name.to_owned(), tag, loose, accepted: Vec::new(), rejected: Vec::new() }
    }
}

impl Dump {
    /// Whether anybody asked for it.
    pub(crate) fn is_wanted() -> bool {
        std::env::var_os("GRAMMAR_DUMP").is_some()
    }

    /// Adds a random text, if a structural tag admits all that the other grammar does.
    pub(crate) fn sampled(&mut self, text: &str) {
        if !self.loose {
            self.accepted.push(text.to_owned());
        }
    }
}

impl Drop for Dump {
    fn drop(&mut self) {
        let Some(path) = std::env::var_os("GRAMMAR_DUMP") else { return };
        let line = json!({"name": self.name, "tag": self.tag, "accepted": self.accepted, "rejected": self.rejected});
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}
