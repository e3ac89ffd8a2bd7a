//! Checks whether an entire text is JSON, and of which kind. Accepts raw control characters inside strings and
//! backslashes that begin no escape, which are repaired when written.

use super::Spelled;
use crate::json::copy::{JsonCopy, JsonOut};
use crate::json::scan::JsonScan;
use crate::schema::Kinds;

/// The kind of JSON value that `text` is, entirely; `None` if it is not JSON, or nested too deep.
pub(super) fn kind(text: &str, depth: usize) -> Option<Kinds> {
    let mut check = Check { bytes: text.as_bytes(), at: 0 };
    let kind = check.values(depth.min(JsonScan::DEEPEST))?;
    (check.at == text.len()).then_some(kind)
}

/// JSON text as it is emitted: raw control characters inside its strings become escapes, and a backslash that begins no
/// escape is doubled.
pub(super) fn passed_on(json: &str) -> Spelled<'_> {
    if !json.bytes().any(|byte| byte < 0x20 || byte == b'\\') {
        return Spelled::known(json);
    }
    let mut out = Out { json: String::with_capacity(json.len() + 16), doubled: false };
    JsonCopy::default().copy(json, JsonScan::DEEPEST, &mut out);
    Spelled { json: out.json.into(), known: !out.doubled }
}

struct Out {
    json: String,
    doubled: bool,
}

impl JsonOut for Out {
    fn json(&mut self, text: &str) {
        self.json.push_str(text);
    }

    fn doubled(&mut self, _: isize, _: &str) {
        self.doubled = true;
    }
}

struct Check<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Check<'_> {
    /// Scans one value with its contents. `open` has an entry for each open container: whether it is an object.
    fn values(&mut self, depth: usize) -> Option<Kinds> {
        let mut open: Vec<bool> = Vec::new();
        let mut top = None;
        loop {
            let kind = self.value_start()?;
            top = top.or(Some(kind));
            if kind == Kinds::OBJECT || kind == Kinds::ARRAY {
                if open.len() >= depth {
                    return None;
                }
                let is_object = kind == Kinds::OBJECT;
                self.blanks();
                if !self.take(if is_object { b'}' } else { b']' }) {
                    open.push(is_object);
                    if is_object {
                        self.key()?;
                    }
                    continue;
                }
            }
            loop {
                let Some(&is_object) = open.last() else { return top };
                self.blanks();
                if self.take(b',') {
                    if is_object {
                        self.blanks();
                        self.key()?;
                    }
                    break;
                }
                self.take(if is_object { b'}' } else { b']' }).then_some(())?;
                open.pop();
            }
        }
    }

    fn value_start(&mut self) -> Option<Kinds> {
        self.blanks();
        match *self.bytes.get(self.at)? {
            b'{' => self.step(Kinds::OBJECT),
            b'[' => self.step(Kinds::ARRAY),
            b'"' => self.string(),
            b't' => self.word("true", Kinds::BOOLEAN),
            b'f' => self.word("false", Kinds::BOOLEAN),
            b'n' => self.word("null", Kinds::NULL),
            _ => self.number(),
        }
    }

    fn step(&mut self, kind: Kinds) -> Option<Kinds> {
        self.at += 1;
        Some(kind)
    }

    fn key(&mut self) -> Option<()> {
        self.string()?;
        self.blanks();
        self.take(b':').then_some(())
    }

    fn blanks(&mut self) {
        self.at += crate::scan::blanks(&self.bytes[self.at..]);
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn word(&mut self, word: &str, kind: Kinds) -> Option<Kinds> {
        self.bytes[self.at..].starts_with(word.as_bytes()).then(|| {
            self.at += word.len();
            kind
        })
    }

    fn string(&mut self) -> Option<Kinds> {
        self.take(b'"').then_some(())?;
        loop {
            self.at += memchr::memchr2(b'"', b'\\', &self.bytes[self.at..])?;
            if self.take(b'"') {
                return Some(Kinds::STRING);
            }
            // An invalid escape is text after its backslash; only a quote and a backslash matter here.
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'"' | b'\\')) {
                self.at += 1;
            }
        }
    }

    fn digits(&mut self) -> Option<()> {
        let n = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += n;
        (n > 0).then_some(())
    }

    fn number(&mut self) -> Option<Kinds> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        let mut kind = Kinds::INTEGER;
        if self.take(b'.') {
            self.digits()?;
            kind = Kinds::NUMBER;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
            kind = Kinds::NUMBER;
        }
        Some(kind)
    }
}
