//! tiktoken's files: one entry per line, with its bytes in base64 and its rank.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::ranks::RankTokenizer;
use super::{TextError, pattern};

impl RankTokenizer {
    /// Reads a tiktoken file. The added texts and the class, which determines how text is split, come from
    /// `tokenizer_config.json`.
    ///
    /// # Errors
    /// An invalid line, or an unknown class.
    pub fn tiktoken(ranks: &str, config: &Value) -> Result<Self, TextError> {
        let mut ordinary = Vec::new();
        for (number, line) in ranks.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let entry = line.split_once(' ').and_then(|(bytes, rank)| {
                let bytes = STANDARD.decode(bytes).ok().filter(|bytes| !bytes.is_empty())?;
                Some((bytes.into_boxed_slice(), rank.trim().parse().ok()?))
            });
            ordinary.push(entry.ok_or_else(|| {
                TextError::new(format!("line {}: this is no entry of a tiktoken file", number + 1))
                    .hint("a line is the entry's bytes in base64, a blank, and its rank")
            })?);
        }
        let class = config.get("tokenizer_class").and_then(Value::as_str);
        let pattern = pattern::of_class(class).ok_or_else(|| {
            TextError::new(format!("no way to cut text is known for the tokenizer class {}", class.unwrap_or("(none)")))
                .hint("a tokenizer.json beside it says how; most checkpoints have one or can be converted to have one")
        })?;
        let added = super::hub::added_tokens(config);
        let mut made = Self::assemble(ordinary, &added, pattern)?;
        let begins = config.get("add_bos_token").and_then(Value::as_bool) == Some(true);
        let first = super::hub::token_text(config.get("bos_token")).filter(|_| begins);
        made.first = first.and_then(|text| made.entries.added.get(&text).copied());
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tokenizer::Tokenizer as _;

    fn file() -> String {
        let mut entries: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        entries.extend(["th", "e", " th", " the", "ti", "de", "tide"].iter().map(|text| text.as_bytes().to_vec()));
        entries.dedup();
        let line = |(rank, bytes): (usize, &Vec<u8>)| format!("{} {rank}\n", STANDARD.encode(bytes));
        entries.iter().enumerate().map(line).collect()
    }

    #[test]
    fn a_vocabulary_is_read() {
        let config = json!({"tokenizer_class": "TikTokenTokenizer", "bos_token": "[BOS]", "add_bos_token": true,
            "added_tokens_decoder": {"300": {"content": "[BOS]", "special": true}, "301": {"content": "<think>", "special": false}}});
        let tokenizer = RankTokenizer::tiktoken(&file(), &config).expect("it is well formed");
        let ids = tokenizer.encode("the tide<think>é", true).expect("all bytes have entries");
        let entries = tokenizer.entries();
        assert_eq!((ids.first(), ids[ids.len() - 3..].to_vec()), (Some(&300), vec![301, 0xc3, 0xa9]));
        let bytes: Vec<u8> = ids[1..].iter().flat_map(|id| entries.bytes(*id).unwrap_or_default().to_vec()).collect();
        assert_eq!(String::from_utf8_lossy(&bytes), "the tide<think>é");
        let plain = tokenizer.encode_plain("<think>").expect("all bytes have entries");
        assert!(plain.len() > 1 && !plain.contains(&301), "{plain:?}");
        assert_eq!((entries.special(), entries.added().len(), entries.size()), (&["[BOS]".to_owned()][..], 2, 302));
    }

    #[test]
    fn faults_name_the_line_or_the_class() {
        let config = json!({"tokenizer_class": "QWenTokenizer"});
        let error = RankTokenizer::tiktoken("YQ== 0\nYg== x\n", &config).expect_err("the rank is none");
        assert!(error.message.contains("line 2"), "{error}");
        let error = RankTokenizer::tiktoken("YQ== 0\n", &json!({})).expect_err("there is no class");
        assert!(error.hint.is_some(), "{error}");
    }
}
