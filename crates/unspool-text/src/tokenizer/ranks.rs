//! Tokenizers of ranked byte strings, as in OpenAI's tiktoken.

use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use fancy_regex::Regex;

use super::merge::{self, Ranks};
use super::{Entries, STRETCH, Tokenizer};
use crate::error::TextError;
use crate::work;

/// A tokenizer that splits text by a pattern and merges the bytes of each piece by rank.
pub struct RankTokenizer {
    pub(super) ranks: Ranks,
    pub(super) pattern: Regex,
    pub(super) entries: Entries,
    /// Finds the added texts.
    finder: AhoCorasick,
    /// Their ids.
    added: Vec<u32>,
    /// The token that `add_special` prepends.
    pub(super) first: Option<u32>,
}

impl RankTokenizer {
    /// Builds a tokenizer from its ordinary entries (bytes, id) and its added texts.
    pub(super) fn assemble(
        ordinary: Vec<(Box<[u8]>, u32)>,
        added: &[(String, u32, bool)],
        pattern: &str,
    ) -> Result<Self, TextError> {
        let pattern = Regex::new(pattern)
            .map_err(|error| TextError::new(format!("the tokenizer's pattern cannot be read: {error}")))?;
        let mut entries = Entries::default();
        let mut ranks = Ranks::with_capacity(ordinary.len());
        for (bytes, id) in ordinary {
            entries.set(id, &bytes)?;
            ranks.insert(bytes, id);
        }
        for (text, id, special) in added {
            entries.add(*id, text, *special)?;
        }
        let added: Vec<(&str, u32)> = added.iter().map(|(text, id, _)| (text.as_str(), *id)).collect();
        let texts = added.iter().map(|(text, _)| text).filter(|text| !text.is_empty());
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts);
        let finder =
            finder.map_err(|error| TextError::new(format!("the added tokens cannot be looked for: {error}")))?;
        let added = added.iter().filter(|(text, _)| !text.is_empty()).map(|(_, id)| *id).collect();
        Ok(Self { ranks, pattern, entries, finder, added, first: None })
    }

    fn ordinary(&self, text: &str, out: &mut Vec<u32>) -> Result<(), TextError> {
        for (count, piece) in self.pattern.find_iter(text).enumerate() {
            if count % STRETCH == 0 {
                work::check()?;
            }
            let piece = piece.map_err(|error| TextError::new(format!("the text cannot be cut: {error}")))?.as_str();
            merge::merge(&self.ranks, piece.as_bytes(), out)
                .ok_or_else(|| TextError::new(format!("the vocabulary has no entries for all bytes of {piece:?}")))?;
        }
        Ok(())
    }
}

impl Tokenizer for RankTokenizer {
    fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, TextError> {
        let mut out: Vec<u32> = self.first.filter(|_| add_special).into_iter().collect();
        let mut done = 0;
        for found in self.finder.find_iter(text) {
            self.ordinary(&text[done..found.start()], &mut out)?;
            out.extend(self.added.get(found.pattern().as_usize()));
            done = found.end();
        }
        self.ordinary(&text[done..], &mut out)?;
        Ok(out)
    }

    fn encode_plain(&self, text: &str) -> Result<Vec<u32>, TextError> {
        let mut out = Vec::new();
        self.ordinary(text, &mut out)?;
        Ok(out)
    }

    fn entries(&self) -> &Entries {
        &self.entries
    }
}

impl fmt::Debug for RankTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankTokenizer").field("entries", &self.entries.size()).finish_non_exhaustive()
    }
}
