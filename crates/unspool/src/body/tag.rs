//! Closing tags, and how models misspell them.

use crate::scan::{Literal, Match, blanks, is_blank, prefix};

/// Maximum attribute text in a closing tag, in bytes.
const LONGEST_ATTRIBUTE: usize = 256;

/// A closer that is a tag: `</parameter>`, `</｜DSML｜parameter>`, `]<]minimax[>[</invoke>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClosingTag {
    /// The complete closer.
    literal: Literal,
    name: Box<str>,
    /// The name without its sign or namespace.
    bare: Box<str>,
    /// Something precedes the tag.
    signed: bool,
}

/// A tag in text, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// None of these names.
    Other,
    /// More bytes are needed.
    Partial,
    Opens,
    Closes,
}

impl ClosingTag {
    /// Parses a closer as a tag.
    pub(crate) fn of(literal: &Literal) -> Option<Self> {
        let (sign, tag) = literal.text().split_once("</")?;
        let name = tag.strip_suffix('>').filter(|name| !name.is_empty() && !name.contains(['<', '>', '=', ' ']))?;
        let is_sign = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        let bare = name.rsplit(is_sign).next().filter(|bare| !bare.is_empty())?;
        Some(Self { literal: literal.clone(), name: name.into(), bare: bare.into(), signed: !sign.is_empty() })
    }

    /// The correct closer.
    pub(super) fn literal(&self) -> &Literal {
        &self.literal
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn bare(&self) -> &str {
        &self.bare
    }

    /// Whether `input` begins with the tag in another spelling: without its sign or namespace, or with an attribute or
    /// `=…` after its name.
    pub(crate) fn misspelled(&self, input: &[u8]) -> Match {
        let named = |name: &str, plain: bool| closing(name, plain, input);
        let has_bare = self.signed || self.bare != self.name;
        match named(&self.name, self.signed) {
            Match::No if has_bare => named(&self.bare, true),
            found => found,
        }
    }
}

/// Whether `input` begins with `</name>`, if `plain`, or `</name …>` or `</name=…>`.
fn closing(name: &str, plain: bool, input: &[u8]) -> Match {
    let at = match (prefix(b"</", input), input.get(2..)) {
        (Match::Full(n), Some(rest)) => match prefix(name.as_bytes(), rest) {
            Match::Full(m) => n + m,
            other => return other,
        },
        (other, _) => return other,
    };
    match input.get(at) {
        None => Match::Partial,
        Some(b'>') if plain => Match::Full(at + 1),
        Some(byte) if *byte == b'=' || is_blank(*byte) => {
            let attribute = &input[at..input.len().min(at + LONGEST_ATTRIBUTE)];
            match attribute.iter().position(|b| matches!(b, b'<' | b'>' | b'\n')) {
                Some(n) if attribute[n] == b'>' => Match::Full(at + n + 1),
                None if attribute.len() < LONGEST_ATTRIBUTE => Match::Partial,
                _ => Match::No,
            }
        }
        Some(_) => Match::No,
    }
}

/// Whether `input` begins with `</name>`, with optional blanks before `>`.
pub(super) fn closes(name: &str, input: &[u8]) -> Match {
    let at = match (prefix(b"</", input), input.get(2..)) {
        (Match::Full(n), Some(rest)) => match prefix(name.as_bytes(), rest) {
            Match::Full(m) => n + m,
            other => return other,
        },
        (other, _) => return other,
    };
    let at = at + blanks(&input[at..input.len().min(at + 8)]);
    match input.get(at) {
        None => Match::Partial,
        Some(b'>') => Match::Full(at + 1),
        Some(_) => Match::No,
    }
}

/// Whether `input` begins with a tag of this name: `<name` or `</name` before `>`, `=`, `/` or white space.
pub(super) fn tag(name: &str, input: &[u8]) -> Tag {
    let is_closing = input.get(1) == Some(&b'/');
    let start = if is_closing { 2 } else { 1 };
    if prefix(b"<", input) == Match::No {
        return Tag::Other;
    }
    match prefix(name.as_bytes(), input.get(start..).unwrap_or_default()) {
        Match::No => Tag::Other,
        Match::Partial => Tag::Partial,
        Match::Full(n) => match input.get(start + n) {
            None => Tag::Partial,
            Some(b) if is_blank(*b) || matches!(b, b'>' | b'=' | b'/') => {
                if is_closing {
                    Tag::Closes
                } else {
                    Tag::Opens
                }
            }
            Some(_) => Tag::Other,
        },
    }
}

/// The number of tags with a closer's name that `text` opens and does not close.
pub(crate) fn unclosed(text: &str, closer: &Literal) -> usize {
    let Some(closer) = ClosingTag::of(closer) else { return 0 };
    text.match_indices('<').fold(0, |open, (at, _)| match tag(closer.name(), &text.as_bytes()[at..]) {
        Tag::Opens => open + 1,
        Tag::Closes => open.saturating_sub(1),
        Tag::Other | Tag::Partial => open,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closer_is_known_in_its_other_spellings() {
        let dsml = ClosingTag::of(&Literal::new("</｜DSML｜parameter>", false)).unwrap();
        let m3 = ClosingTag::of(&Literal::new("]<]minimax[>[</invoke>", false)).unwrap();
        let plain = ClosingTag::of(&Literal::new("</parameter>", false)).unwrap();
        for (closer, text, found) in [
            (&dsml, "</parameter> x", Match::Full(12)),
            (&dsml, "</｜DSML｜parameter name=\"a\">", Match::Full(31)),
            (&dsml, "</｜DSML｜parameter>", Match::No),
            (&dsml, "</para", Match::Partial),
            (&m3, "</invoke>", Match::Full(9)),
            (&plain, "</parameter=body>", Match::Full(17)),
            (&plain, "</parameter>", Match::No),
            (&plain, "</parameter \n", Match::No),
            (&plain, "</parameters>", Match::No),
        ] {
            assert_eq!(closer.misspelled(text.as_bytes()), found, "{text}");
        }
        assert!(ClosingTag::of(&Literal::new("<|tool_call_end|>", false)).is_none());
    }

    #[test]
    fn tags_are_told_by_what_stands_behind_their_name() {
        for (text, found) in [
            ("<body>", Tag::Opens),
            ("<body/>", Tag::Opens),
            ("<body=1", Tag::Opens),
            ("</body>", Tag::Closes),
            ("<bodyguard>", Tag::Other),
            ("<bo", Tag::Partial),
            ("<", Tag::Partial),
            ("<i>", Tag::Other),
        ] {
            assert_eq!(tag("body", text.as_bytes()), found, "{text}");
        }
    }
}
