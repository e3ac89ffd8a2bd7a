//! The special tokens of a vocabulary.

use std::collections::HashMap;

/// A token that is a single entry of the vocabulary.
#[derive(Debug, Clone)]
pub(crate) struct Special {
    pub(crate) text: String,
    /// It never shows.
    pub(crate) hidden: bool,
    /// The format uses it, so the parser restores its text if a backend omits it.
    pub(crate) used: bool,
}

/// The special tokens of a vocabulary, by id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Specials {
    by_id: HashMap<u32, Special>,
    /// One bit per id up to the highest special one.
    bits: Vec<u64>,
}

impl Specials {
    pub(crate) fn new(by_id: HashMap<u32, Special>) -> Self {
        let most = by_id.keys().filter(|id| **id < 1 << 24).max().map_or(0, |m| *m as usize / 64 + 1);
        let mut bits = vec![0; most];
        for id in by_id.keys() {
            if let Some(word) = bits.get_mut(*id as usize / 64) {
                *word |= 1 << (id % 64);
            }
        }
        Self { by_id, bits }
    }

    #[inline]
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.bits.get(id as usize / 64).is_some_and(|word| word & (1 << (id % 64)) != 0)
    }

    pub(crate) fn text(&self, id: u32) -> Option<&Special> {
        if self.contains(id) { self.by_id.get(&id) } else { None }
    }
}
