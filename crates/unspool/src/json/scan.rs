//! Scans JSON incrementally, in any pieces, and finds where it ends or becomes invalid.

use serde::{Deserialize, Serialize};

/// Scans one JSON value, byte by byte or in long runs; pieces may be split anywhere, even inside a character.
///
/// It stores no text and does not allocate: its state is a position and one bit per level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JsonScan {
    state: State,
    /// The current string is a key.
    key: bool,
    depth: u8,
    /// One bit per open container, the innermost lowest: set for an object.
    objects: [u64; 2],
}

/// The last token, or what the next byte may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    Value,
    /// After `[`: a value or the end.
    FirstValue,
    Key,
    /// After `{`: a key or the end.
    FirstKey,
    Colon,
    /// After a value in a container.
    After,
    Text,
    Escape,
    /// After `\u`.
    Hex4,
    Hex3,
    Hex2,
    Hex1,
    Minus,
    Zero,
    Digits,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    /// Inside a word: its missing rest.
    Rue,
    Ue,
    E,
    Alse,
    Lse,
    Se,
    Ull,
    Ll,
    L,
    /// The value is complete.
    Over,
}

/// Why a scan stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All bytes are read and the value is incomplete.
    More,
    /// The value ends just before this position.
    End,
    /// The byte at this position is invalid (or nests too deep): from here on it is not JSON.
    Bad,
    /// The byte at this position is a raw control character inside a string. JSON forbids it, but models write it: it
    /// counts as read, and the scan continues after it.
    Control,
    /// This many bytes before this position, a backslash and the following text, are not a JSON escape. Models write
    /// them in paths and patterns and mean a backslash: they count as text, and the scan continues at this position.
    Escape(usize),
}

/// The result of a scan: `len` bytes, and why it stopped there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub(crate) len: usize,
    pub(crate) stop: Stop,
}

impl Default for JsonScan {
    fn default() -> Self {
        Self { state: State::Value, key: false, depth: 0, objects: [0; 2] }
    }
}

impl JsonScan {
    /// Maximum nesting that a scan can follow, whatever the limit.
    pub(crate) const DEEPEST: usize = 128;

    /// Continues as far as the value extends. `depth`: maximum nesting.
    #[inline]
    pub(crate) fn scan(&mut self, bytes: &[u8], depth: usize) -> Scanned {
        // A copy can live in registers.
        let mut here = self.clone();
        let scanned = here.run(bytes, depth.min(Self::DEEPEST));
        *self = here;
        scanned
    }

    #[inline(always)]
    fn run(&mut self, bytes: &[u8], depth: usize) -> Scanned {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let fits = match self.state {
                State::Text => {
                    at += plain(&bytes[at..]);
                    match (bytes.get(at), bytes.get(at + 1)) {
                        (None, _) => break,
                        // The most frequent case, two bytes at once.
                        (Some(b'"'), Some(b':')) if self.key => {
                            self.state = State::Value;
                            at += 1;
                        }
                        (Some(b'\\'), Some(b'n' | b'"' | b'\\' | b't' | b'/' | b'r' | b'b' | b'f')) => at += 1,
                        (Some(b'"'), _) => self.end_text(),
                        (Some(b'\\'), _) => self.state = State::Escape,
                        (Some(_), _) => return Scanned { len: at, stop: Stop::Control },
                    }
                    true
                }
                State::Over => break,
                State::Colon | State::Value | State::After | State::Key | State::FirstKey | State::FirstValue => {
                    if byte == b' ' {
                        at += 1;
                        continue;
                    }
                    matches!(byte, b'\n' | b'\t' | b'\r') || self.structure(byte, depth)
                }
                state => match state.next(byte) {
                    Some(State::Over) => {
                        self.end_value();
                        true
                    }
                    Some(next) => {
                        self.state = next;
                        true
                    }
                    None if state.ends_number() => {
                        self.end_value();
                        continue;
                    }
                    None if state.escape() > 0 => {
                        self.state = State::Text;
                        return Scanned { len: at, stop: Stop::Escape(state.escape()) };
                    }
                    None => false,
                },
            };
            if !fits {
                return Scanned { len: at, stop: Stop::Bad };
            }
            at += 1;
        }
        Scanned { len: at, stop: if self.is_over() { Stop::End } else { Stop::More } }
    }

    /// Scans a value that is not written anywhere.
    pub(crate) fn skip(&mut self, bytes: &[u8], depth: usize) -> Scanned {
        let mut at = 0;
        loop {
            let Scanned { len, stop } = self.scan(&bytes[at..], depth);
            at += len;
            match stop {
                Stop::Control => at += 1,
                Stop::Escape(_) => {}
                Stop::More | Stop::End | Stop::Bad => return Scanned { len: at, stop },
            }
        }
    }

    /// Whether the value is complete.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Whether the value is complete if nothing follows: it has ended, or it is a number.
    pub(crate) fn may_end(&self) -> bool {
        self.is_over() || self.depth == 0 && self.state.ends_number()
    }

    /// Number of bytes read of an incomplete escape.
    pub(crate) fn escape(&self) -> usize {
        self.state.escape()
    }

    #[inline(always)]
    fn in_object(&self) -> bool {
        self.objects[0] & 1 == 1
    }

    #[inline(always)]
    fn open(&mut self, object: bool, depth: usize) -> bool {
        if usize::from(self.depth) >= depth {
            return false;
        }
        let [low, high] = self.objects;
        self.objects = [low << 1 | u64::from(object), high << 1 | low >> 63];
        self.depth += 1;
        self.state = if object { State::FirstKey } else { State::FirstValue };
        true
    }

    #[inline(always)]
    fn close(&mut self) -> bool {
        let [low, high] = self.objects;
        self.objects = [low >> 1 | high << 63, high >> 1];
        self.depth = self.depth.saturating_sub(1);
        self.end_value();
        true
    }

    #[inline(always)]
    fn end_value(&mut self) {
        self.state = if self.depth == 0 { State::Over } else { State::After };
    }

    #[inline(always)]
    fn end_text(&mut self) {
        if self.key {
            self.state = State::Colon;
        } else {
            self.end_value();
        }
    }

    /// Consumes a byte between strings, numbers and words, other than white space.
    #[inline(always)]
    fn structure(&mut self, byte: u8, depth: usize) -> bool {
        match (self.state, byte) {
            (State::After, b',') => self.state = if self.in_object() { State::Key } else { State::Value },
            (State::After | State::FirstKey, b'}') => return self.in_object() && self.close(),
            (State::After | State::FirstValue, b']') => return !self.in_object() && self.close(),
            (State::Colon, b':') => self.state = State::Value,
            (State::Key | State::FirstKey, b'"') => {
                self.key = true;
                self.state = State::Text;
            }
            (State::Value | State::FirstValue, _) => return self.value(byte, depth),
            _ => return false,
        }
        true
    }

    /// Consumes the first byte of a value.
    #[inline(always)]
    fn value(&mut self, byte: u8, depth: usize) -> bool {
        self.state = match byte {
            b'"' => {
                self.key = false;
                State::Text
            }
            b'{' => return self.open(true, depth),
            b'[' => return self.open(false, depth),
            b'-' => State::Minus,
            b'0' => State::Zero,
            b'1'..=b'9' => State::Digits,
            b't' => State::Rue,
            b'f' => State::Alse,
            b'n' => State::Ull,
            _ => return false,
        };
        true
    }
}

impl State {
    /// The next state in an escape, a number or a word; `Over` if that ends a word.
    #[inline]
    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Digits, b'0'..=b'9') => Self::Digits,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => Self::ExponentDigits,
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') => Self::Digits,
            (Self::Zero | Self::Digits, b'.') => Self::Point,
            (Self::Zero | Self::Digits | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
            (Self::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Self::Text,
            (Self::Escape, b'u') => Self::Hex4,
            (Self::Hex4, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => Self::Hex3,
            (Self::Hex3, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => Self::Hex2,
            (Self::Hex2, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => Self::Hex1,
            (Self::Hex1, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => Self::Text,
            (Self::Rue, b'r') => Self::Ue,
            (Self::Alse, b'a') => Self::Lse,
            (Self::Lse, b'l') => Self::Se,
            (Self::Se, b's') | (Self::Ue, b'u') => Self::E,
            (Self::Ull, b'u') => Self::Ll,
            (Self::Ll, b'l') => Self::L,
            (Self::E, b'e') | (Self::L, b'l') => Self::Over,
            _ => return None,
        })
    }

    /// Number of bytes read of an escape.
    #[inline]
    fn escape(self) -> usize {
        match self {
            Self::Escape => 1,
            Self::Hex4 => 2,
            Self::Hex3 => 3,
            Self::Hex2 => 4,
            Self::Hex1 => 5,
            _ => 0,
        }
    }

    /// Whether a number may end here.
    #[inline]
    fn ends_number(self) -> bool {
        matches!(self, Self::Zero | Self::Digits | Self::Fraction | Self::ExponentDigits)
    }
}

/// Bytes that end a run inside a string: quote, backslash, control characters.
const ENDS_RUN: [bool; 256] = {
    let mut table = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = true;
        control += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

/// The number of bytes before the first quote, backslash or control character.
#[inline]
pub(crate) fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        // Eight bytes at once: a byte below `n` borrows in `word - n`, and so sets its high bit. A borrow may extend
        // into the bytes above, but the lowest set bit is correct, and only that one is used.
        let word = u64::from_le_bytes(*word);
        let below = |x: u64, n: u64| x.wrapping_sub(ONES * n) & !x;
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        let found = (below(word, 0x20) | below(quote, 1) | below(backslash, 1)) & HIGH;
        if found != 0 {
            return i * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let short = rest.iter().position(|b| ENDS_RUN[usize::from(*b)]).unwrap_or(rest.len());
    words.len() * 8 + short
}

#[cfg(test)]
mod tests;
