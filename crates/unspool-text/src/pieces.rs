//! Splits text into pieces like those of a tokenizer.

use crate::rng::Rng;

/// Maximum length of an ordinary piece, in characters.
const LONGEST: usize = 9;

/// Splits text into pieces of varying size. Single vocabulary entries stay whole; everything else is split between any
/// two characters, often but not always at a word boundary. Concatenated, the pieces are the text.
#[derive(Debug, Clone)]
pub struct Cutter<'a> {
    rest: &'a str,
    single: &'a [String],
    rng: Rng,
}

impl<'a> Cutter<'a> {
    /// Splits `text`; each text in `single` is one piece wherever it occurs.
    #[must_use]
    pub fn new(text: &'a str, single: &'a [String], rng: Rng) -> Self {
        Self { rest: text, single, rng }
    }

    fn single_at(&self, text: &str) -> Option<usize> {
        self.single.iter().filter(|entry| !entry.is_empty() && text.starts_with(entry.as_str())).map(String::len).max()
    }

    fn ordinary(&mut self) -> usize {
        let longest = 1 + self.rng.below(LONGEST);
        let word_border = !self.rng.one_in(4);
        let mut before: Option<char> = None;
        for (count, (at, c)) in self.rest.char_indices().enumerate() {
            let at_border = word_border && before.is_some_and(|b| b.is_alphanumeric() && !c.is_alphanumeric());
            if count > 0 && (count == longest || at_border || self.single_at(&self.rest[at..]).is_some()) {
                return at;
            }
            before = Some(c);
        }
        self.rest.len()
    }
}

impl<'a> Iterator for Cutter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let length = self.single_at(self.rest).unwrap_or_else(|| self.ordinary());
        let (piece, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_the_text() {
        let text = "<think>\nDrei Kähne, vier 🛶.\n</think>\n\n{\"n\": 12345678901234567890}";
        let single = ["<think>".to_owned(), "</think>".to_owned()];
        for seed in 0..200 {
            let pieces: Vec<_> = Cutter::new(text, &single, Rng::new(seed)).collect();
            assert_eq!(pieces.concat(), text);
            assert!(pieces.contains(&"<think>") && pieces.contains(&"</think>"), "{pieces:?}");
            assert!(pieces.iter().all(|piece| piece.chars().count() <= LONGEST), "{pieces:?}");
        }
    }

    #[test]
    fn seeds_cut_differently() {
        let text = "The quick brown fox jumps over the lazy dog.";
        let cut = |seed| Cutter::new(text, &[], Rng::new(seed)).collect::<Vec<_>>();
        assert_ne!(cut(1), cut(2));
        assert_eq!(cut(3), cut(3));
    }
}
