//! Decodes a JSON string incrementally.

use memchr::memchr2;
use serde::{Deserialize, Serialize};

use super::scan::{Scanned, Stop};

/// Decodes the inside of a JSON string, split anywhere. Raw control characters are text, and so is a backslash that
/// begins no escape.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unescape {
    state: State,
    /// The first half of a surrogate pair whose second half has not come yet.
    high: Option<u16>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    #[default]
    Plain,
    Escape,
    /// After `\u` and this many digits.
    Hex {
        len: u8,
        digits: [u8; 4],
    },
}

/// A piece of a string's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Verbatim text of the input.
    Text(&'a str),
    /// The character of an escape.
    Escaped(&'a str),
    /// A backslash and the following text, which is not an escape.
    Stray(&'a str),
    /// One half of a surrogate pair: JSON can write it, text cannot.
    Half(u16),
}

impl Unescape {
    /// Continues. `write` receives the end of each piece in the input. `End`: the closing quote is read; never `Bad`.
    pub(crate) fn read(&mut self, input: &str, write: &mut impl FnMut(usize, Piece<'_>)) -> Scanned {
        let bytes = input.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                State::Plain => {
                    let run = memchr2(b'"', b'\\', &bytes[at..]).unwrap_or(bytes.len() - at);
                    if run > 0 {
                        self.lone_half(at, write);
                        write(at + run, Piece::Text(&input[at..at + run]));
                        at += run;
                        continue;
                    }
                    if byte == b'"' {
                        self.lone_half(at, write);
                        return Scanned { len: at + 1, stop: Stop::End };
                    }
                    self.state = State::Escape;
                }
                State::Escape => {
                    if let Some(c) = escaped(byte) {
                        self.lone_half(at + 1, write);
                        write(at + 1, Piece::Escaped(c));
                        self.state = State::Plain;
                    } else if byte == b'u' {
                        self.state = State::Hex { len: 0, digits: [0; 4] };
                    } else {
                        self.stray(at, write);
                        continue;
                    }
                }
                State::Hex { len, mut digits } => {
                    if !byte.is_ascii_hexdigit() {
                        self.stray(at, write);
                        continue;
                    }
                    digits[usize::from(len & 3)] = byte;
                    if len < 3 {
                        self.state = State::Hex { len: len + 1, digits };
                    } else {
                        self.state = State::Plain;
                        self.unit(at + 1, number(&digits), write);
                    }
                }
            }
            at += 1;
        }
        Scanned { len: at, stop: Stop::More }
    }

    /// The text of an incomplete escape as written (except the case of a surrogate's digits).
    pub(crate) fn unfinished(&self) -> String {
        let mut text = self.high.map_or_else(String::new, |high| format!("\\u{high:04x}"));
        text.push_str(&self.state.written());
        text
    }

    /// The current escape is invalid: it is text.
    #[cold]
    fn stray(&mut self, at: usize, write: &mut impl FnMut(usize, Piece<'_>)) {
        self.lone_half(at, write);
        let state = std::mem::take(&mut self.state);
        write(at, Piece::Stray(&state.written()));
    }

    /// Takes a UTF-16 unit: a character, or one half of one.
    fn unit(&mut self, end: usize, unit: u16, write: &mut impl FnMut(usize, Piece<'_>)) {
        if let (Some(high), 0xdc00..=0xdfff) = (self.high, unit) {
            self.high = None;
            let code = 0x10000 + (u32::from(high & 0x3ff) << 10) + u32::from(unit & 0x3ff);
            return character(end, code, write);
        }
        self.lone_half(end, write);
        match unit {
            0xd800..=0xdbff => self.high = Some(unit),
            0xdc00..=0xdfff => write(end, Piece::Half(unit)),
            _ => character(end, u32::from(unit), write),
        }
    }

    fn lone_half(&mut self, end: usize, write: &mut impl FnMut(usize, Piece<'_>)) {
        if let Some(high) = self.high.take() {
            write(end, Piece::Half(high));
        }
    }
}

impl State {
    /// The escape so far.
    fn written(self) -> String {
        match self {
            Self::Plain => String::new(),
            Self::Escape => "\\".to_owned(),
            Self::Hex { len, digits } => {
                let digits = digits.iter().take(usize::from(len)).map(|digit| char::from(*digit));
                "\\u".chars().chain(digits).collect()
            }
        }
    }
}

/// The number of four hexadecimal digits.
fn number(digits: &[u8; 4]) -> u16 {
    // Four digits of four bits fit, so the cast is lossless.
    digits.iter().fold(0, |number, digit| number << 4 | char::from(*digit).to_digit(16).unwrap_or(0) as u16)
}

fn escaped(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'"' => "\"",
        b'\\' => "\\",
        b'/' => "/",
        b'b' => "\u{8}",
        b'f' => "\u{c}",
        b'n' => "\n",
        b'r' => "\r",
        b't' => "\t",
        _ => return None,
    })
}

fn character(end: usize, code: u32, write: &mut impl FnMut(usize, Piece<'_>)) {
    let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    write(end, Piece::Escaped(c.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    use super::{Piece, Scanned, Stop, Unescape};

    /// The text of a string's inside (its closing quote included), halves as `<d83d>`, and the result.
    fn read(pieces: &[&str]) -> (String, usize, Stop) {
        let mut unescape = Unescape::default();
        let mut text = String::new();
        let mut done = 0;
        for piece in pieces {
            let Scanned { len, stop } = unescape.read(piece, &mut |_, p| match p {
                Piece::Text(t) | Piece::Escaped(t) => text.push_str(t),
                Piece::Stray(t) => text.push_str(&format!("<{t}>")),
                Piece::Half(h) => text.push_str(&format!("<{h:x}>")),
            });
            if stop != Stop::More {
                return (text, done + len, stop);
            }
            done += len;
        }
        (text, done, Stop::More)
    }

    #[test]
    fn a_string_means_the_same_at_every_cut() {
        for (inside, text, stop) in [
            (r#"plain é茶"#, "plain é茶", Stop::More),
            (r#"a\"b\\c\/\b\f\n\r\t""#, "a\"b\\c/\u{8}\u{c}\n\r\t", Stop::End),
            (r#"\u0041\u00e9\u8336""#, "Aé茶", Stop::End),
            (r#"\ud83c\udf75 \uD83C\uDF75x""#, "🍵 🍵x", Stop::End),
            (r#"\ud83cx\udf75\ud83c\ud83c\udf75\ud83c\n\ud83c""#, "<d83c>x<df75><d83c>🍵<d83c>\n<d83c>", Stop::End),
            ("raw\nline\u{1}\"", "raw\nline\u{1}", Stop::End),
            (r#"a\x""#, r"a<\>x", Stop::End),
            (r#"a\u1Fg\u\\""#, r"a<\u1F>g<\u>\", Stop::End),
            (r#"\ud83c\'"#, r"<d83c><\>'", Stop::More),
            (r#"\ud83c"#, "", Stop::More),
        ] {
            let whole = read(&[inside]);
            assert_eq!((whole.0.as_str(), whole.2), (text, stop), "{inside:?}");
            for (cut, _) in inside.char_indices() {
                assert_eq!(read(&[&inside[..cut], &inside[cut..]]), whole, "{inside:?} cut at {cut}");
            }
            let chars: Vec<String> = inside.chars().map(String::from).collect();
            assert_eq!(read(&chars.iter().map(String::as_str).collect::<Vec<_>>()), whole, "{inside:?} char by char");
        }
    }
}
