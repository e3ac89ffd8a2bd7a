//! Python string literals: their openers and escapes.

use memchr::memchr3;
use serde::{Deserialize, Serialize};

/// The kind of an open string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::body) struct Quotes {
    /// `'` or `"`.
    pub(in crate::body) quote: u8,
    /// Three of them.
    pub(in crate::body) triple: bool,
    /// `r`: a backslash is data.
    pub(in crate::body) raw: bool,
    /// `f`: braces are doubled.
    pub(in crate::body) braces: bool,
}

/// What begins at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::body) enum StringStart {
    /// A string; its text begins after this many bytes.
    Text(Quotes, usize),
    /// More bytes are needed.
    More,
    /// Not a string.
    No,
}

/// Whether a string, prefix included, opens at the start of `rest`.
pub(in crate::body) fn string_start(rest: &[u8], eof: bool) -> StringStart {
    let prefix = rest.iter().take(2).take_while(|b| b.is_ascii_alphabetic()).count();
    let letters: [u8; 2] = std::array::from_fn(|i| if i < prefix { rest[i].to_ascii_lowercase() } else { 0 });
    let (raw, braces) = match letters {
        [0, 0] | [b'u', 0] => (false, false),
        [b'r', 0] => (true, false),
        [b'f', 0] => (false, true),
        [b'r', b'f'] | [b'f', b'r'] => (true, true),
        _ => return StringStart::No,
    };
    let quote = match rest.get(prefix) {
        Some(q @ (b'\'' | b'"')) => *q,
        None if !eof => return StringStart::More,
        _ => return StringStart::No,
    };
    let run = rest[prefix..].iter().take(3).take_while(|b| **b == quote).count();
    if run == 2 && prefix + run == rest.len() && !eof || run == 1 && prefix + run == rest.len() && !eof {
        return StringStart::More;
    }
    let triple = run == 3;
    StringStart::Text(Quotes { quote, triple, raw, braces }, prefix + if triple { 3 } else { 1 })
}

/// What a backslash begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::body) enum Escape {
    /// An escape for a character, of this length.
    Char(char, usize),
    /// A line continuation, of this length.
    Nothing(usize),
    /// No escape: these bytes are plain data.
    Data(usize),
    /// More bytes are needed.
    More,
}

impl Quotes {
    /// The next byte of an open string that may be more than data: quote, backslash, brace, or the `)` of a call.
    pub(in crate::body) fn find(self, text: &[u8]) -> Option<usize> {
        if self.braces {
            return text.iter().position(|b| *b == self.quote || matches!(b, b'\\' | b'{' | b'}' | b')'));
        }
        memchr3(self.quote, b'\\', b')', text)
    }

    /// Parses the escape at the start of `rest`.
    pub(in crate::body) fn escape(self, rest: &[u8]) -> Escape {
        let Some(&next) = rest.get(1) else { return Escape::More };
        if self.raw {
            return Escape::Data(if next == self.quote || next == b'\\' { 2 } else { 1 });
        }
        let plain = match next {
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'a' => '\x07',
            b'b' => '\x08',
            b'f' => '\x0c',
            b'v' => '\x0b',
            b'\\' | b'\'' | b'"' => char::from(next),
            b'\n' => return Escape::Nothing(2),
            b'\r' => {
                return match rest.get(2) {
                    None => Escape::More,
                    Some(b'\n') => Escape::Nothing(3),
                    Some(_) => Escape::Nothing(2),
                };
            }
            b'0'..=b'7' => return octal(rest),
            b'x' => return hex(rest, 2),
            b'u' => return hex(rest, 4),
            b'U' => return hex(rest, 8),
            _ => return Escape::Data(1),
        };
        Escape::Char(plain, 2)
    }
}

/// `\1` to `\777`.
fn octal(rest: &[u8]) -> Escape {
    let digits = rest[1..].iter().take(3).take_while(|b| matches!(b, b'0'..=b'7')).count();
    if digits < 3 && rest.len() == 1 + digits {
        return Escape::More;
    }
    let value = rest[1..=digits].iter().fold(0, |value, digit| value * 8 + u32::from(digit - b'0'));
    char::from_u32(value).map_or(Escape::Data(1), |c| Escape::Char(c, 1 + digits))
}

/// The number in exactly `digits` hexadecimal digits; an error is the end of the input.
fn hex_digits(text: &[u8], digits: usize) -> Result<Option<u32>, ()> {
    let found = text.iter().take(digits).take_while(|b| b.is_ascii_hexdigit()).count();
    if found < digits {
        return if found == text.len() { Err(()) } else { Ok(None) };
    }
    let value = std::str::from_utf8(&text[..digits]).ok().and_then(|t| u32::from_str_radix(t, 16).ok());
    Ok(value)
}

/// `\x41`, `\u0041`, `\U00000041`; two halves of a surrogate pair are one character. An invalid one is data.
fn hex(rest: &[u8], digits: usize) -> Escape {
    let len = 2 + digits;
    let value = match hex_digits(&rest[2..], digits) {
        Err(()) => return Escape::More,
        Ok(None) => return Escape::Data(1),
        Ok(Some(value)) => value,
    };
    if let Some(c) = char::from_u32(value) {
        return Escape::Char(c, len);
    }
    if digits != 4 || value >= 0xDC00 {
        return Escape::Data(1);
    }
    let second = &rest[len..];
    let start = second.len().min(2);
    if second[..start] != b"\\u"[..start] {
        return Escape::Data(1);
    }
    if start < 2 {
        return Escape::More;
    }
    match hex_digits(&second[2..], 4) {
        Err(()) => Escape::More,
        Ok(Some(low @ 0xDC00..=0xDFFF)) => {
            let joined = 0x1_0000 + ((value - 0xD800) << 10) + (low - 0xDC00);
            char::from_u32(joined).map_or(Escape::Data(1), |c| Escape::Char(c, len + 6))
        }
        Ok(_) => Escape::Data(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Quotes = Quotes { quote: b'\'', triple: false, raw: false, braces: false };

    #[test]
    fn openings() {
        let text = |prefix: &str| match string_start(prefix.as_bytes(), false) {
            StringStart::Text(q, n) => Some((q.triple, q.raw, q.braces, n)),
            _ => None,
        };
        assert_eq!(text("'a'"), Some((false, false, false, 1)));
        assert_eq!(text("''a"), Some((false, false, false, 1)));
        assert_eq!(text("'''a"), Some((true, false, false, 3)));
        assert_eq!(text("Rf\"\"\"a"), Some((true, true, true, 5)));
        assert_eq!(text("u'a"), Some((false, false, false, 2)));
        for more in ["", "r", "rf", "'", "''", "f\""] {
            assert_eq!(string_start(more.as_bytes(), false), StringStart::More, "{more}");
        }
        for no in ["b'x'", "rb'x'", "True", "x", "ff'"] {
            assert_eq!(string_start(no.as_bytes(), false), StringStart::No, "{no}");
        }
        assert_eq!(string_start(b"''", true), StringStart::Text(PLAIN, 1));
    }

    #[test]
    fn escapes() {
        for (text, escape) in [
            (r"\n", Escape::Char('\n', 2)),
            (r"\'", Escape::Char('\'', 2)),
            (r"\x41", Escape::Char('A', 4)),
            (r"\u00e9", Escape::Char('é', 6)),
            (r"\U0001F6B2", Escape::Char('🚲', 10)),
            (r"\ud83d\udeb2", Escape::Char('🚲', 12)),
            (r"\101z", Escape::Char('A', 4)),
            (r"\0'", Escape::Char('\0', 2)),
            ("\\\n", Escape::Nothing(2)),
            ("\\\r\n", Escape::Nothing(3)),
            (r"\d", Escape::Data(1)),
            (r"\xg1", Escape::Data(1)),
            (r"\ud83dx", Escape::Data(1)),
            (r"\udeb2", Escape::Data(1)),
            (r"\U00110000", Escape::Data(1)),
            (r"\x4", Escape::More),
            (r"\u00", Escape::More),
            (r"\ud83d\u", Escape::More),
            (r"\10", Escape::More),
            (r"\", Escape::More),
        ] {
            assert_eq!(PLAIN.escape(text.as_bytes()), escape, "{text}");
        }
        let raw = Quotes { raw: true, ..PLAIN };
        assert_eq!(raw.escape(br"\'"), Escape::Data(2));
        assert_eq!(raw.escape(br"\n"), Escape::Data(1));
    }
}
