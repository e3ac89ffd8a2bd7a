//! Mistral's `tekken.json`.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::TextError;
use super::ranks::RankTokenizer;

/// The special tokens of files that do not list theirs, by id; the others are named by their number.
const OLDER_SPECIAL: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

/// Maximum number of special tokens; published files have a thousand.
const MOST_SPECIAL: u32 = 1 << 16;

#[derive(Deserialize)]
struct File {
    config: Config,
    vocab: Vec<Entry>,
    #[serde(default)]
    special_tokens: Option<Vec<Special>>,
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    default_vocab_size: u32,
    default_num_special_tokens: u32,
}

#[derive(Deserialize)]
struct Entry {
    rank: u32,
    token_bytes: String,
}

#[derive(Deserialize)]
struct Special {
    rank: u32,
    token_str: String,
    #[serde(default = "yes")]
    is_control: bool,
}

fn yes() -> bool {
    true
}

impl RankTokenizer {
    /// Reads a `tekken.json`. The ids of ordinary entries follow those of the special ones.
    ///
    /// # Errors
    /// The text is not such a file.
    pub fn tekken(text: &str) -> Result<Self, TextError> {
        let file: File =
            serde_json::from_str(text).map_err(|error| TextError::new(format!("this is no tekken.json: {error}")))?;
        let reserved = file.config.default_num_special_tokens;
        if reserved > MOST_SPECIAL {
            return Err(TextError::new(format!(
                "`default_num_special_tokens` is {reserved}, more than {MOST_SPECIAL}"
            )));
        }
        let most = file.config.default_vocab_size.saturating_sub(reserved);
        let mut ordinary = Vec::with_capacity(file.vocab.len());
        for entry in file.vocab.iter().filter(|entry| entry.rank < most) {
            let bytes = STANDARD.decode(&entry.token_bytes).map_err(|error| {
                TextError::new(format!("the bytes of the entry of rank {} are no base64: {error}", entry.rank))
            })?;
            ordinary.push((bytes.into_boxed_slice(), entry.rank + reserved));
        }
        let listed = file.special_tokens.unwrap_or_else(|| {
            let older = |(rank, text): (u32, &&str)| Special { rank, token_str: (*text).to_owned(), is_control: true };
            (0..).zip(&OLDER_SPECIAL).map(older).collect()
        });
        let mut added: Vec<_> =
            listed.into_iter().map(|token| (token.token_str, token.rank, token.is_control)).collect();
        let listed: HashSet<u32> = added.iter().map(|(_, id, _)| *id).collect();
        let unnamed = (0..reserved).filter(|id| !listed.contains(id));
        added.extend(unnamed.map(|id| (format!("<SPECIAL_{id}>"), id, true)));
        let mut made = Self::assemble(ordinary, &added, &file.config.pattern)?;
        made.first = made.entries.added.get("<s>").copied();
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tokenizer::Tokenizer as _;

    #[test]
    fn ordinary_ids_begin_behind_the_special_ones() {
        let mut entries: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        entries.extend([b"ti".to_vec(), b"de".to_vec(), b"tide".to_vec(), b"beyond".to_vec()]);
        let vocab: Vec<_> = entries
            .iter()
            .enumerate()
            .map(|(rank, bytes)| json!({"rank": rank, "token_bytes": STANDARD.encode(bytes), "token_str": null}))
            .collect();
        let config = json!({"pattern": r"\p{L}+|\s+|[^\p{L}\s]+", "num_vocab_tokens": 260, "default_vocab_size": 289,
            "default_num_special_tokens": 30, "version": "v3"});
        let file = json!({"config": config, "vocab": vocab, "special_tokens": null}).to_string();
        let tokenizer = RankTokenizer::tekken(&file).expect("it is well formed");
        let ids = tokenizer.encode("[INST]tide![/INST]", true).expect("all bytes have entries");
        assert_eq!(ids, [1, 3, 30 + 258, 30 + u32::from(b'!'), 4]);
        let entries = tokenizer.entries();
        assert_eq!(entries.bytes(29), Some("<SPECIAL_29>".as_bytes()));
        assert_eq!(
            (entries.bytes(289), entries.size()),
            (None, 289),
            "what lies beyond the vocabulary's size is no entry"
        );
    }
}
