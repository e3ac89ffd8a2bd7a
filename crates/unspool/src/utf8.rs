//! Bytes to text: a character may span several tokens.

use serde::{Deserialize, Serialize};

/// Joins bytes to characters; holds at most three bytes of an incomplete one.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Assembler {
    pending: Vec<u8>,
}

/// The replaced sequences.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Odd {
    /// Ill-formed sequences that became U+FFFD.
    pub(crate) replaced: usize,
    /// Length of the text minus length of its bytes.
    pub(crate) grown: i64,
}

impl Assembler {
    /// Appends the characters that are now complete.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut String) -> Odd {
        if self.pending.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            out.push_str(text);
            return Odd::default();
        }
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        let mut odd = Odd::default();
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            out.push_str(chunk.valid());
            let bad = chunk.invalid();
            // At the end, more bytes may complete a character.
            let mut is_open =
                || chunks.peek().is_none() && std::str::from_utf8(bad).is_err_and(|e| e.error_len().is_none());
            if !bad.is_empty() && is_open() {
                self.pending = bad.to_vec();
            } else if !bad.is_empty() {
                out.push(char::REPLACEMENT_CHARACTER);
                odd.replaced += 1;
                odd.grown += 3 - bad.len() as i64;
            }
        }
        odd
    }

    /// Whether these bytes begin another character, so that the incomplete one stays incomplete.
    pub(crate) fn is_cut_off_by(&self, bytes: &[u8]) -> bool {
        !self.pending.is_empty() && bytes.first().is_some_and(|byte| byte & 0xC0 != 0x80)
    }

    /// Replaces the incomplete character by U+FFFD, because no more bytes of it will come.
    pub(crate) fn flush(&mut self, out: &mut String) -> Odd {
        let len = std::mem::take(&mut self.pending).len();
        if len == 0 {
            return Odd::default();
        }
        out.push(char::REPLACEMENT_CHARACTER);
        Odd { replaced: 1, grown: 3 - len as i64 }
    }
}
