//! Literals, and a search for all literals of one state in one pass.

use memchr::{memchr, memchr2, memchr3};

/// A literal of a format, without white space at its edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    text: Box<str>,
    loose: bool,
    /// The text between its white space.
    segments: Box<[Box<[u8]>]>,
}

/// The result of comparing a literal with the text at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// The literal is not there.
    No,
    /// The text ends before that is decided.
    Partial,
    /// The literal is there, with this length in bytes.
    Full(usize),
}

/// Maximum number of consecutive blanks at one boundary of a loose literal.
const LOOSE_BLANKS: usize = 32;

impl Literal {
    /// A literal; `loose` allows blanks around its punctuation (`< parameter = `). White space inside the text, and the
    /// boundary of two tags (`><`), match any run of white space, including none.
    #[must_use]
    pub fn new(text: &str, loose: bool) -> Self {
        let segments: Vec<Box<[u8]>> = cuts(text)
            .into_iter()
            .filter_map(|cut| match cut {
                Cut::Literal(l) => Some(l.as_bytes().into()),
                Cut::Space(_) => None,
            })
            .collect();
        Self { text: text.into(), loose: loose && text.bytes().any(is_tag_punctuation), segments: segments.into() }
    }

    /// A literal that matches exactly as written, white space included.
    #[must_use]
    pub fn exact(text: &str) -> Self {
        Self { text: text.into(), loose: false, segments: [text.as_bytes().into()].into() }
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The maximum number of bytes that it can match.
    pub(crate) fn longest(&self) -> usize {
        let borders = if self.loose { 2 * self.text.len() } else { self.segments.len() };
        self.text.len() + borders * LOOSE_BLANKS
    }

    /// Its first byte.
    pub(crate) fn first_byte(&self) -> Option<u8> {
        self.segments.first().and_then(|s| s.first()).copied()
    }

    /// The position of the first byte in its text that is not `common`, before white space of variable length. A
    /// literal without one is found by its first byte.
    pub(crate) fn rare_byte(&self, common: impl Fn(u8) -> bool) -> Option<usize> {
        let first = self.segments.first().filter(|segment| !segment.is_empty())?;
        let rare = first.iter().position(|byte| !common(*byte)).filter(|_| !self.loose);
        Some(rare.unwrap_or(0))
    }

    /// Whether `input` begins with the literal.
    #[must_use]
    pub fn at(&self, input: &[u8]) -> Match {
        if self.loose {
            return self.loose_at(input);
        }
        let mut at = 0;
        for (i, segment) in self.segments.iter().enumerate() {
            if i > 0 {
                at += blanks(&input[at..(at + LOOSE_BLANKS).min(input.len())]);
            }
            match prefix(segment, &input[at..]) {
                Match::Full(n) => at += n,
                other => return other,
            }
        }
        Match::Full(at)
    }

    /// The number of bytes of `input` after which the match is still undecided.
    pub(crate) fn reach(&self, input: &[u8]) -> usize {
        let most = (self.text.len() + LOOSE_BLANKS).min(input.len());
        for n in 1..=most {
            match self.at(&input[..n]) {
                Match::No | Match::Full(_) => return n - 1,
                Match::Partial => {}
            }
        }
        most
    }

    fn loose_at(&self, input: &[u8]) -> Match {
        let mut at = 0;
        let mut last = 0;
        for (n, segment) in self.segments.iter().enumerate() {
            for (i, &byte) in segment.iter().enumerate() {
                if (n > 0 && i == 0) || (n + i > 0 && (is_tag_punctuation(byte) || is_tag_punctuation(last))) {
                    let most = (at + LOOSE_BLANKS).min(input.len());
                    at += blanks(&input[at..most]);
                }
                match input.get(at) {
                    None => return Match::Partial,
                    Some(&b) if b == byte => at += 1,
                    Some(_) => return Match::No,
                }
                last = byte;
            }
        }
        Match::Full(at)
    }
}

fn is_tag_punctuation(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'/' | b'=')
}

/// Whether `input` begins with `literal`.
///
/// Most candidates differ at once, so the first bytes are compared before any call. An empty comparison does not call
/// `memcmp` either: for zero bytes at a dangling address it costs about 75 ns with glibc on current processors.
#[inline]
#[must_use]
pub fn prefix(literal: &[u8], input: &[u8]) -> Match {
    let (Some(first), Some(start)) = (literal.first(), input.first()) else {
        return if literal.is_empty() { Match::Full(0) } else { Match::Partial };
    };
    if first != start {
        return Match::No;
    }
    let n = literal.len().min(input.len());
    if literal[..n] != input[..n] {
        Match::No
    } else if n == literal.len() {
        Match::Full(n)
    } else {
        Match::Partial
    }
}

/// The prefix of `text` that decides about a hold of at most `most` bytes: it ends with the first character beyond
/// them. A decision on this prefix does not depend on how many bytes have arrived.
#[must_use]
pub(crate) fn deciding(text: &str, most: usize) -> &str {
    let mut end = most.saturating_add(1).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    &text[..end]
}

/// The number of white-space bytes (blank, tab, line break, carriage return) at the start of `input`.
#[must_use]
pub fn blanks(input: &[u8]) -> usize {
    input.iter().take_while(|b| is_blank(**b)).count()
}

/// Whether a byte is white space that can be framing: blank, tab, line break, carriage return.
#[must_use]
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Finds bytes that may begin a literal.
#[derive(Debug, Clone)]
pub(crate) struct FirstBytes {
    table: Box<[bool; 256]>,
    few: Vec<u8>,
}

impl FirstBytes {
    pub(crate) fn new(bytes: impl Iterator<Item = u8>) -> Self {
        let mut table = Box::new([false; 256]);
        let mut few = Vec::new();
        for b in bytes {
            if !table[usize::from(b)] {
                table[usize::from(b)] = true;
                few.push(b);
            }
        }
        Self { table, few }
    }

    /// First position at or after `from` whose byte may begin a literal.
    #[inline]
    pub(crate) fn find(&self, input: &[u8], from: usize) -> Option<usize> {
        /// Below this length a table look-up per byte beats setting up a vector search.
        const SHORT: usize = 32;
        let rest = &input[from..];
        if rest.len() > SHORT {
            let found = match self.few[..] {
                [] => None,
                [a] => memchr(a, rest),
                [a, b] => memchr2(a, b, rest),
                [a, b, c] => memchr3(a, b, c, rest),
                _ => rest.iter().position(|b| self.table[usize::from(*b)]),
            };
            return found.map(|i| from + i);
        }
        rest.iter().position(|b| self.table[usize::from(*b)]).map(|i| from + i)
    }
}

/// A piece of literal text: split at white space, and between two tags (`><`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut<'a> {
    /// White space, exactly as the template writes it; empty between two tags.
    Space(&'a str),
    /// A literal without white space.
    Literal(&'a str),
}

/// Splits a template's literal text.
#[must_use]
pub fn cuts(text: &str) -> Vec<Cut<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let blank = rest.len() - rest.trim_start().len();
        if blank > 0 {
            out.push(Cut::Space(&rest[..blank]));
            rest = &rest[blank..];
            continue;
        }
        let end = end_at_bracket(rest, end_of_literal(rest));
        out.push(Cut::Literal(&rest[..end]));
        if rest[end..].chars().next().is_some_and(|c| !c.is_whitespace()) {
            out.push(Cut::Space(""));
        }
        rest = &rest[end..];
    }
    out
}

/// The end of the literal at the start of `text`. A blank inside a tag belongs to it, so `<a b>` does not begin like
/// `<a c>`.
fn end_of_literal(text: &str) -> usize {
    let mut in_tag = false;
    let mut last = ' ';
    for (i, c) in text.char_indices() {
        if c.is_whitespace() && !(in_tag && c == ' ') || last == '>' && c == '<' {
            return i;
        }
        in_tag = c == '<' || in_tag && c != '>';
        last = c;
    }
    text.trim_end().len()
}

/// The bracket of a list stands by itself: after a tag at the end of a text, before a tag at its start.
fn end_at_bracket(text: &str, end: usize) -> usize {
    let literal = &text[..end];
    if literal.starts_with("]<") && !literal.starts_with("]<]") {
        return 1;
    }
    match literal.strip_suffix('[') {
        Some(tag) if tag.ends_with('>') && !tag.ends_with("[>") => tag.len(),
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_blanks_and_between_tags() {
        assert_eq!(
            cuts("\n<a><b>x c"),
            vec![
                Cut::Space("\n"),
                Cut::Literal("<a>"),
                Cut::Space(""),
                Cut::Literal("<b>x"),
                Cut::Space(" "),
                Cut::Literal("c")
            ]
        );
    }

    #[test]
    fn a_blank_inside_a_tag_is_no_cut() {
        assert_eq!(
            cuts("< calls>\n</ calls> a <b "),
            vec![
                Cut::Literal("< calls>"),
                Cut::Space("\n"),
                Cut::Literal("</ calls>"),
                Cut::Space(" "),
                Cut::Literal("a"),
                Cut::Space(" "),
                Cut::Literal("<b"),
                Cut::Space(" ")
            ]
        );
    }
}
