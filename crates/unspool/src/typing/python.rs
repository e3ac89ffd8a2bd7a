//! Python literals as JSON text.

use super::number;
use crate::json::write::string_piece;

/// Maximum nesting, because the parser is recursive.
const DEEPEST: usize = 128;

/// A Python literal.
pub(super) struct Literal {
    /// Its JSON text.
    pub(super) json: String,
    /// It has a spelling specific to Python: single quotes, `None`, `True`, a tuple or a set. `[1,]` has none.
    pub(super) is_pythons: bool,
}

/// Parses all of `text` as a Python literal.
pub(super) fn literal(text: &str, depth: usize) -> Option<Literal> {
    let mut reader = Reader { text, at: 0, depth: depth.min(DEEPEST), out: String::new(), is_pythons: false };
    reader.value()?;
    reader.blanks();
    (reader.at == text.len()).then_some(Literal { json: reader.out, is_pythons: reader.is_pythons })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Levels left.
    depth: usize,
    out: String,
    /// See [`Literal::is_pythons`].
    is_pythons: bool,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn value(&mut self) -> Option<()> {
        self.blanks();
        match self.peek()? {
            b'[' => self.nested(|r| r.sequence(b']', false)),
            b'(' => self.nested(|r| r.sequence(b')', true)),
            b'{' => self.nested(Self::braces),
            b'\'' | b'"' => self.strings(),
            b'r' | b'R' | b'u' | b'U' if self.string_prefix().is_some() => self.strings(),
            _ => self.word(),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        self.at += 1;
        read(self)?;
        self.depth += 1;
        Some(())
    }

    /// The rest of a list or, with `tuple`, of a tuple; `(1)` is just 1.
    fn sequence(&mut self, close: u8, tuple: bool) -> Option<()> {
        self.is_pythons |= tuple;
        let start = self.out.len();
        self.out.push('[');
        let mut commas = 0;
        let mut items = 0;
        loop {
            self.blanks();
            if self.take(close) {
                break;
            }
            if items > commas {
                return None;
            }
            if items > 0 {
                self.out.push_str(", ");
            }
            self.value()?;
            items += 1;
            self.blanks();
            commas += usize::from(self.take(b','));
        }
        if tuple && items == 1 && commas == 0 {
            self.out.remove(start);
        } else {
            self.out.push(']');
        }
        Some(())
    }

    /// The rest of a dict or a set.
    fn braces(&mut self) -> Option<()> {
        let start = self.out.len();
        self.out.push('{');
        let mut is_set = None;
        let mut is_open = true;
        loop {
            self.blanks();
            if self.take(b'}') {
                break;
            }
            if !is_open {
                return None;
            }
            if is_set.is_some() {
                self.out.push_str(", ");
            }
            let key = self.out.len();
            self.value()?;
            self.blanks();
            let is_item = !self.take(b':');
            if *is_set.get_or_insert(is_item) != is_item {
                return None;
            }
            if !is_item {
                self.as_key(key)?;
                self.out.push_str(": ");
                self.value()?;
                self.blanks();
            }
            is_open = self.take(b',');
        }
        let is_set = is_set == Some(true);
        self.is_pythons |= is_set;
        if is_set {
            self.out.replace_range(start..=start, "[");
        }
        self.out.push(if is_set { ']' } else { '}' });
        Some(())
    }

    /// The text written from `start` on becomes a member's name.
    fn as_key(&mut self, start: usize) -> Option<()> {
        match *self.out.as_bytes().get(start)? {
            b'"' => Some(()),
            b'[' | b'{' => None,
            _ => {
                self.out.insert(start, '"');
                self.out.push('"');
                Some(())
            }
        }
    }

    fn word(&mut self) -> Option<()> {
        let is_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-');
        let len = self.rest().bytes().take_while(|b| is_word(*b)).count();
        let word = &self.rest()[..len];
        self.is_pythons |= matches!(word, "None" | "True" | "False");
        match word {
            "None" | "null" => self.out.push_str("null"),
            "True" | "true" => self.out.push_str("true"),
            "False" | "false" => self.out.push_str("false"),
            _ => {
                // Python has no `007`; an id like that stays text.
                let digits = word.trim_start_matches(['+', '-']);
                if digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                let json =
                    number::integer(word).or_else(|| number::number(word)).or_else(|| number::with_base(word))?;
                self.out.push_str(&json);
            }
        }
        self.at += len;
        Some(())
    }

    /// Whether a string begins here, and whether it is raw.
    fn string_prefix(&self) -> Option<(usize, bool)> {
        let bytes = self.rest().as_bytes();
        match (bytes.first()?, bytes.get(1)) {
            (b'\'' | b'"', _) => Some((0, false)),
            (b'r' | b'R', Some(b'\'' | b'"')) => Some((1, true)),
            (b'u' | b'U', Some(b'\'' | b'"')) => Some((1, false)),
            _ => None,
        }
    }

    /// One string, or several in a row, which Python joins.
    fn strings(&mut self) -> Option<()> {
        self.out.push('"');
        while let Some((prefix, raw)) = self.string_prefix() {
            self.at += prefix;
            self.string(raw)?;
            let end = self.at;
            self.blanks();
            if self.string_prefix().is_none() {
                self.at = end;
                break;
            }
        }
        self.out.push('"');
        Some(())
    }

    fn string(&mut self, raw: bool) -> Option<()> {
        let quote = &self.rest()[..1];
        self.is_pythons |= quote == "'";
        let triple = self.rest().get(..3).filter(|q| q.bytes().all(|b| b == quote.as_bytes()[0]));
        let close = triple.unwrap_or(quote);
        self.at += close.len();
        loop {
            let rest = self.rest();
            let run = rest.find(['\\', char::from(quote.as_bytes()[0])])?;
            string_piece(&rest[..run], |piece| self.out.push_str(piece));
            self.at += run;
            if self.rest().starts_with(close) {
                self.at += close.len();
                return Some(());
            }
            if self.take(b'\\') {
                self.escape(raw)?;
            } else {
                self.at += 1;
                string_piece(quote, |piece| self.out.push_str(piece));
            }
        }
    }

    /// The text after a backslash.
    fn escape(&mut self, raw: bool) -> Option<()> {
        let next = self.rest().chars().next()?;
        let simple = match next {
            '\n' => "",
            '\r' if self.rest().starts_with("\r\n") && !raw => {
                self.at += 1;
                ""
            }
            '\r' => "",
            '\\' => "\\",
            '\'' => "'",
            '"' => "\"",
            'a' => "\u{7}",
            'b' => "\u{8}",
            'f' => "\u{c}",
            'n' => "\n",
            'r' => "\r",
            't' => "\t",
            'v' => "\u{b}",
            'x' if !raw => return self.code(2),
            'u' if !raw => return self.code(4),
            'U' if !raw => return self.code(8),
            '0'..='7' if !raw => return self.octal(),
            _ => return self.kept(next),
        };
        if raw {
            return self.kept(next);
        }
        self.at += next.len_utf8();
        string_piece(simple, |piece| self.out.push_str(piece));
        Some(())
    }

    /// An invalid escape: the backslash is text.
    fn kept(&mut self, next: char) -> Option<()> {
        self.at += next.len_utf8();
        self.out.push_str("\\\\");
        string_piece(next.encode_utf8(&mut [0; 4]), |piece| self.out.push_str(piece));
        Some(())
    }

    fn code(&mut self, digits: usize) -> Option<()> {
        let escape = self.rest().get(..=digits)?;
        let value = u32::from_str_radix(&escape[1..], 16).ok().filter(|_| !escape[1..].starts_with('+'))?;
        self.at += escape.len();
        // A value that is not a character in JSON stays as written.
        self.push_code(value).or_else(|| {
            self.out.push_str("\\\\");
            self.out.push_str(escape);
            Some(())
        })
    }

    fn octal(&mut self) -> Option<()> {
        let len = self.rest().bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
        let value = u32::from_str_radix(&self.rest()[..len], 8).ok()?;
        self.at += len;
        self.push_code(value)
    }

    fn push_code(&mut self, value: u32) -> Option<()> {
        if let Some(c) = char::from_u32(value) {
            string_piece(c.encode_utf8(&mut [0; 4]), |piece| self.out.push_str(piece));
            return Some(());
        }
        // Half a surrogate pair is a character in Python. JSON has only complete pairs: the other half must follow.
        let high = value.checked_sub(0xd800).filter(|high| *high < 0x400)?;
        let low = self.rest().strip_prefix("\\u").and_then(|rest| rest.get(..4))?;
        let low = u32::from_str_radix(low, 16).ok()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        self.at += 6;
        self.push_code(0x1_0000 + (high << 10) + low)
    }
}
