//! Where a pattern may begin: found by the byte of each pattern that is rare in text.
//!
//! Most markers begin with a byte that text seldom has, such as `<`. White space and letters are in all text: a marker that
//! begins so is found by its first other byte, and what must stand before that byte is compared then.

use crate::scan::FirstBytes;

use super::scanset::Pattern;

/// Finds the places where one of some patterns may begin.
#[derive(Debug, Clone)]
pub(super) struct Finder {
    /// The byte by which each pattern is found.
    bytes: FirstBytes,
    /// What stands before that byte, where it is not the pattern's first.
    before: Vec<Before>,
    /// The bytes by which some pattern is found that nothing precedes.
    first: [bool; 256],
}

/// What stands in a pattern before the byte by which it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Before {
    byte: u8,
    text: Box<[u8]>,
}

/// Whether text is full of this byte.
fn is_common(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace()
}

impl Finder {
    pub(super) fn new<'p>(patterns: impl Iterator<Item = &'p Pattern> + Clone) -> Self {
        let mut bytes = Vec::new();
        let mut before: Vec<Before> = Vec::new();
        let mut first = [false; 256];
        for pattern in patterns.clone() {
            let Some(rare) = pattern.literal.rare_byte(is_common) else { continue };
            let (byte, own) = (pattern.literal.text().as_bytes()[rare], &pattern.literal.text().as_bytes()[..rare]);
            bytes.push(byte);
            first[usize::from(byte)] |= rare == 0;
            for text in [[pattern.lead.as_bytes(), own].concat(), own.to_vec()] {
                let known = before.iter().any(|b| b.byte == byte && *b.text == text[..]);
                if !text.is_empty() && !known {
                    before.push(Before { byte, text: text.into() });
                }
            }
        }
        // The longest first: a pattern begins where what precedes its byte does.
        before.sort_by_key(|b| std::cmp::Reverse(b.text.len()));
        let bytes_found = FirstBytes::new(bytes.iter().copied());
        if before.iter().any(|b| bytes_found.find(&b.text, 0).is_some()) {
            return Self::by_first_bytes(patterns);
        }
        Self { bytes: bytes_found, before, first }
    }

    /// Patterns that stand in each other's way are found by the bytes with which they begin.
    fn by_first_bytes<'p>(patterns: impl Iterator<Item = &'p Pattern>) -> Self {
        let firsts = patterns.flat_map(|p| [p.lead.bytes().next(), p.literal.first_byte()]).flatten();
        Self { bytes: FirstBytes::new(firsts), before: Vec::new(), first: [true; 256] }
    }

    /// The first place at or after `from` where a pattern may begin.
    #[inline]
    pub(super) fn find(&self, input: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(found) = self.bytes.find(input, at) {
            if self.before.is_empty() {
                return Some(found);
            }
            if let Some(start) = self.start(input, from, found) {
                return Some(start);
            }
            at = found + 1;
        }
        if self.before.is_empty() { None } else { self.begun(input, from) }
    }

    /// Where the pattern begins that is found by the byte at `found`; `None`: none does.
    fn start(&self, input: &[u8], from: usize, found: usize) -> Option<usize> {
        let byte = input[found];
        let ahead = &input[from..found];
        let longest = self.before.iter().find(|b| b.byte == byte && ahead.ends_with(&b.text));
        match longest {
            Some(before) => Some(found - before.text.len()),
            None => self.first[usize::from(byte)].then_some(found),
        }
    }

    /// Where the end of the input may begin a pattern whose byte has not come.
    fn begun(&self, input: &[u8], from: usize) -> Option<usize> {
        let rest = &input[from..];
        let most = |b: &Before| (1..=b.text.len().min(rest.len())).rev().find(|n| rest.ends_with(&b.text[..*n]));
        self.before.iter().filter_map(most).max().map(|n| input.len() - n)
    }
}
