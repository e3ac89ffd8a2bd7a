//! Counts the characters before a byte of the output.

use serde::{Deserialize, Serialize};

use crate::span::Span;

/// The characters of the text so far, as runs of characters of equal length: one run for a text that is all ASCII.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Chars {
    runs: Vec<Run>,
    /// Bytes and characters so far.
    end: (u64, u64),
}

/// Characters of `width` bytes each.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Run {
    byte: u64,
    character: u64,
    width: u64,
}

impl Chars {
    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) {
        if text.is_ascii() {
            self.extend(1, text.len() as u64);
            return;
        }
        text.chars().for_each(|c| self.extend(c.len_utf8() as u64, 1));
    }

    /// Adds a number of characters.
    fn extend(&mut self, width: u64, count: u64) {
        if count == 0 {
            return;
        }
        if self.runs.last().is_none_or(|run| run.width != width) {
            self.runs.push(Run { byte: self.end.0, character: self.end.1, width });
        }
        self.end.0 += width * count;
        self.end.1 += count;
    }

    /// Converts a range of bytes to characters. A boundary inside a character becomes the one before it.
    pub(crate) fn range(&self, span: Span) -> (u64, u64) {
        (self.before(span.start), self.before(span.end))
    }

    fn before(&self, byte: u64) -> u64 {
        let byte = byte.min(self.end.0);
        let behind = self.runs.partition_point(|run| run.byte <= byte);
        let Some(run) = behind.checked_sub(1).and_then(|at| self.runs.get(at)) else { return 0 };
        // A restored state may have any numbers.
        run.character.saturating_add(byte.saturating_sub(run.byte) / run.width.max(1)).min(self.end.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_as_characters() {
        let text = "ab→←é!𝄞x";
        let mut whole = Chars::default();
        whole.push(text);
        let mut cut = Chars::default();
        text.chars().for_each(|c| cut.push(c.encode_utf8(&mut [0; 4])));
        for (nth, (at, _)) in text.char_indices().enumerate() {
            for chars in [&whole, &cut] {
                assert_eq!(chars.before(at as u64), nth as u64, "{at}");
            }
        }
        assert_eq!(whole.range(Span::new(2, text.len() as u64 + 9)), (2, 8));
        assert_eq!(whole.runs.len(), cut.runs.len());
        assert_eq!(Chars::default().range(Span::new(3, 4)), (0, 0));
    }
}
