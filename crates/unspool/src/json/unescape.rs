//! Reads what a JSON string means, piece by piece.

use memchr::memchr2;
use serde::{Deserialize, Serialize};

use super::scan::{Scanned, Stop};

/// Reads the inside of a JSON string, cut anywhere, and gives its text. Raw control characters are text.
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
    /// Behind `\u` and so many digits of a number.
    Hex {
        digits: u8,
        unit: u16,
    },
}

/// A piece of a string's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text.
    Text(&'a str),
    /// One half of a surrogate pair without the other: JSON can write it, text cannot.
    Half(u16),
}

impl Unescape {
    /// Reads on. `End`: the closing quote is read. `Bad`: the byte there belongs to no escape.
    pub(crate) fn read(&mut self, input: &str, write: &mut impl FnMut(Piece<'_>)) -> Scanned {
        let bytes = input.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                State::Plain => {
                    let run = memchr2(b'"', b'\\', &bytes[at..]).unwrap_or(bytes.len() - at);
                    if run > 0 {
                        self.lone_half(write);
                        write(Piece::Text(&input[at..at + run]));
                        at += run;
                        continue;
                    }
                    if byte == b'"' {
                        self.lone_half(write);
                        return Scanned { len: at + 1, stop: Stop::End };
                    }
                    self.state = State::Escape;
                }
                State::Escape => {
                    if let Some(c) = escaped(byte) {
                        self.lone_half(write);
                        write(Piece::Text(c));
                        self.state = State::Plain;
                    } else if byte == b'u' {
                        self.state = State::Hex { digits: 0, unit: 0 };
                    } else {
                        return Scanned { len: at, stop: Stop::Bad };
                    }
                }
                State::Hex { digits, unit } => {
                    let Some(digit) = char::from(byte).to_digit(16) else {
                        return Scanned { len: at, stop: Stop::Bad };
                    };
                    // Four digits of four bits fill the unit, so the cast loses nothing.
                    let unit = unit << 4 | digit as u16;
                    if digits < 3 {
                        self.state = State::Hex { digits: digits + 1, unit };
                    } else {
                        self.state = State::Plain;
                        self.unit(unit, write);
                    }
                }
            }
            at += 1;
        }
        Scanned { len: at, stop: Stop::More }
    }

    /// What has been read of an escape that is not over, as it was written (but for the case of its digits).
    pub(crate) fn unfinished(&self) -> String {
        let mut text = self.high.map_or_else(String::new, |high| format!("\\u{high:04x}"));
        match self.state {
            State::Plain => {}
            State::Escape => text.push('\\'),
            State::Hex { digits: 0, .. } => text.push_str("\\u"),
            State::Hex { digits, unit } => text.push_str(&format!("\\u{unit:0width$x}", width = usize::from(digits))),
        }
        text
    }

    /// Takes a UTF-16 unit: a character, or one half of one.
    fn unit(&mut self, unit: u16, write: &mut impl FnMut(Piece<'_>)) {
        if let (Some(high), 0xdc00..=0xdfff) = (self.high, unit) {
            self.high = None;
            let code = 0x10000 + (u32::from(high & 0x3ff) << 10) + u32::from(unit & 0x3ff);
            return character(code, write);
        }
        self.lone_half(write);
        match unit {
            0xd800..=0xdbff => self.high = Some(unit),
            0xdc00..=0xdfff => write(Piece::Half(unit)),
            _ => character(u32::from(unit), write),
        }
    }

    fn lone_half(&mut self, write: &mut impl FnMut(Piece<'_>)) {
        if let Some(high) = self.high.take() {
            write(Piece::Half(high));
        }
    }
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

fn character(code: u32, write: &mut impl FnMut(Piece<'_>)) {
    let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    write(Piece::Text(c.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    use super::{Piece, Scanned, Stop, Unescape};

    /// The text of a string's inside (its closing quote included), halves as `<d83d>`, and how the reading ended.
    fn read(pieces: &[&str]) -> (String, usize, Stop) {
        let mut unescape = Unescape::default();
        let mut text = String::new();
        let mut done = 0;
        for piece in pieces {
            let Scanned { len, stop } = unescape.read(piece, &mut |p| match p {
                Piece::Text(t) => text.push_str(t),
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
            (r#"a\x"#, "a", Stop::Bad),
            (r#"a\u12g"#, "a", Stop::Bad),
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
