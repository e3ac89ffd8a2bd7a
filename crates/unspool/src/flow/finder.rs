//! Finds where a pattern may begin, by a byte of each pattern that is rare in text.
//!
//! Most markers begin with a byte that is rare in text, such as `<`. White space and letters are common: a marker that
//! begins with one is found by its first other byte, and then the bytes before it are compared.

use crate::scan::FirstBytes;

use super::scanset::Pattern;

/// Finds the positions where one of several patterns may begin.
#[derive(Debug, Clone)]
pub(super) struct Finder {
    /// The search byte of each pattern.
    bytes: FirstBytes,
    /// The text before that byte, if it is not the pattern's first.
    before: Vec<Before>,
    /// The search bytes of patterns that begin with them.
    first: [bool; 256],
}

/// The text of a pattern before its search byte.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Before {
    byte: u8,
    text: Box<[u8]>,
}

/// Whether this byte is common in text.
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
        // The longest first: a pattern begins where the text before its byte does.
        before.sort_by_key(|b| std::cmp::Reverse(b.text.len()));
        let bytes_found = FirstBytes::new(bytes.iter().copied());
        if before.iter().any(|b| bytes_found.find(&b.text, 0).is_some()) {
            return Self::by_first_bytes(patterns);
        }
        Self { bytes: bytes_found, before, first }
    }

    /// Patterns that interfere with each other are found by their first bytes.
    fn by_first_bytes<'p>(patterns: impl Iterator<Item = &'p Pattern>) -> Self {
        let firsts = patterns.flat_map(|p| [p.lead.bytes().next(), p.literal.first_byte()]).flatten();
        Self { bytes: FirstBytes::new(firsts), before: Vec::new(), first: [true; 256] }
    }

    /// The first position at or after `from` where a pattern may begin.
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

    /// The start of the pattern that has the byte at `found`; `None`: there is none.
    fn start(&self, input: &[u8], from: usize, found: usize) -> Option<usize> {
        let byte = input[found];
        let ahead = &input[from..found];
        let longest = self.before.iter().find(|b| b.byte == byte && ahead.ends_with(&b.text));
        match longest {
            Some(before) => Some(found - before.text.len()),
            None => self.first[usize::from(byte)].then_some(found),
        }
    }

    /// The position where the end of the input may begin a pattern whose search byte has not come yet.
    fn begun(&self, input: &[u8], from: usize) -> Option<usize> {
        let rest = &input[from..];
        let most = |b: &Before| (1..=b.text.len().min(rest.len())).rev().find(|n| rest.ends_with(&b.text[..*n]));
        self.before.iter().filter_map(most).max().map(|n| input.len() - n)
    }
}
