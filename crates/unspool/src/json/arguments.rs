//! Arguments that a model writes as JSON: passed on as they are, bit by bit.

use serde::{Deserialize, Serialize};

use super::scan::{JsonScan, Scanned, Stop};
use super::unescape::{Piece, Unescape};
use super::write::control;
use crate::limits::Limits;
use crate::scan::{blanks, is_blank};

/// One value that is the arguments of a call.
///
/// It is passed on verbatim, but for raw control characters in strings, which are escaped. Two forms mean something else
/// than they are: `null` is no arguments, and a string that holds JSON is that JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Arguments {
    /// Nothing but white space has come.
    #[default]
    Start,
    /// So many letters of `null`.
    Null(u8),
    /// A value that is passed on.
    Verbatim(JsonScan),
    /// A string of which it is not known yet whether it holds JSON.
    Opened(Box<Opened>),
    /// A string that holds JSON.
    Quoted(Box<Quoted>),
}

/// How arguments ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A whole value was written.
    Whole,
    /// `null`, or a string with nothing in it: nothing was written, `{}` is meant.
    Nothing,
    /// A string that begins like JSON but holds none; its text was written as it is.
    NoJson,
}

/// Where a step over arguments came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// They go on.
    More,
    /// They are over.
    End(Ending),
    /// The next byte makes them no JSON; what was read is written.
    Bad,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opened {
    /// As the model wrote it, from its opening quote on.
    raw: String,
    /// What it says so far: white space, and letters of `null`.
    text: String,
    unescape: Unescape,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quoted {
    unescape: Unescape,
    scan: JsonScan,
    /// What the string says is no JSON (any more).
    stray: bool,
}

impl JsonScan {
    /// Reads on and writes what is read: as it is, raw control characters in strings as escapes.
    #[inline]
    pub(crate) fn copy(&mut self, input: &str, depth: usize, write: &mut impl FnMut(&str)) -> Scanned {
        let bytes = input.as_bytes();
        let mut from = 0;
        loop {
            let Scanned { len, stop } = self.scan(&bytes[from..], depth);
            if len > 0 {
                write(&input[from..from + len]);
            }
            from += len;
            if stop != Stop::Control {
                return Scanned { len: from, stop };
            }
            control(bytes[from], write);
            from += 1;
        }
    }
}

impl Arguments {
    /// Whether anything but white space has come.
    pub(crate) fn begun(&self) -> bool {
        !matches!(self, Self::Start)
    }

    /// Reads on: how many bytes were taken, and where that came to.
    pub(crate) fn step(&mut self, input: &str, limits: &Limits, write: &mut impl FnMut(&str)) -> (usize, Progress) {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            let (len, progress) = match self {
                Self::Verbatim(scan) => {
                    let Scanned { len, stop } = scan.copy(rest, limits.depth, write);
                    (len, Progress::of(stop, Ending::Whole))
                }
                Self::Start => {
                    at += blanks(rest.as_bytes());
                    *self = match input.as_bytes().get(at) {
                        None => return (at, Progress::More),
                        Some(b'n') => Self::Null(0),
                        Some(b'"') => Self::Opened(Box::default()),
                        Some(_) => Self::Verbatim(JsonScan::default()),
                    };
                    continue;
                }
                Self::Null(read) => null(read, rest, write),
                Self::Opened(opened) => {
                    let (len, decided) = opened.read(rest, limits.blank);
                    match decided {
                        None => (len, Progress::More),
                        Some(Holds::Nothing) => (len, Progress::End(Ending::Nothing)),
                        Some(holds) => {
                            at += len;
                            *self = opened.decide(holds, limits, write);
                            if let Self::Verbatim(scan) = self
                                && scan.is_over()
                            {
                                return (at, Progress::End(Ending::Whole));
                            }
                            continue;
                        }
                    }
                }
                Self::Quoted(quoted) => quoted.step(rest, limits.depth, write),
            };
            return (at + len, progress);
        }
    }

    /// The output is over: writes what is still held. Whether the arguments are whole.
    pub(crate) fn finish(&self, write: &mut impl FnMut(&str)) -> bool {
        match self {
            Self::Start | Self::Quoted(_) => false,
            Self::Null(read) => {
                write(&"null"[..usize::from(*read).min(4)]);
                false
            }
            Self::Verbatim(scan) => scan.may_end(),
            Self::Opened(opened) => {
                write(&opened.raw);
                false
            }
        }
    }
}

impl Progress {
    fn of(stop: Stop, ending: Ending) -> Self {
        match stop {
            Stop::More | Stop::Control => Self::More,
            Stop::End => Self::End(ending),
            Stop::Bad => Self::Bad,
        }
    }
}

fn null(read: &mut u8, input: &str, write: &mut impl FnMut(&str)) -> (usize, Progress) {
    let missing = &"null"[usize::from(*read).min(4)..];
    let same = missing.bytes().zip(input.bytes()).take_while(|(a, b)| a == b).count();
    // At most four, so the cast loses nothing.
    *read += same as u8;
    if same == missing.len() {
        return (same, Progress::End(Ending::Nothing));
    }
    if same == input.len() {
        return (same, Progress::More);
    }
    write(&"null"[..usize::from(*read).min(4)]);
    (same, Progress::Bad)
}

/// What a string holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    Json,
    Text,
}

impl Opened {
    /// Reads one character after the other until it is plain what the string holds.
    fn read(&mut self, input: &str, limit: usize) -> (usize, Option<Holds>) {
        for (at, c) in input.char_indices() {
            if self.raw.is_empty() {
                self.raw.push(c);
                continue;
            }
            let text = &mut self.text;
            let end = at + c.len_utf8();
            let Scanned { stop, .. } = self.unescape.read(&input[at..end], &mut |piece| match piece {
                Piece::Text(t) => text.push_str(t),
                Piece::Half(_) => text.push(char::REPLACEMENT_CHARACTER),
            });
            if stop == Stop::Bad {
                return (at, Some(Holds::Text));
            }
            self.raw.push(c);
            let word = self.text.trim_matches(|c: char| c.is_ascii() && is_blank(c as u8));
            let holds = match word {
                "" | "null" if stop == Stop::End => Holds::Nothing,
                _ if stop == Stop::End || self.raw.len() > limit => Holds::Text,
                w if w.starts_with(['{', '[']) => Holds::Json,
                w if "null".starts_with(w) => continue,
                _ => Holds::Text,
            };
            return (end, Some(holds));
        }
        (input.len(), None)
    }

    fn decide(&mut self, holds: Holds, limits: &Limits, write: &mut impl FnMut(&str)) -> Arguments {
        if holds == Holds::Json {
            let mut quoted = Quoted { unescape: std::mem::take(&mut self.unescape), ..Quoted::default() };
            quoted.take(self.text.trim_ascii_start(), limits.depth, write);
            return Arguments::Quoted(Box::new(quoted));
        }
        let mut scan = JsonScan::default();
        scan.copy(&self.raw, limits.depth, write);
        Arguments::Verbatim(scan)
    }
}

impl Quoted {
    fn step(&mut self, input: &str, depth: usize, write: &mut impl FnMut(&str)) -> (usize, Progress) {
        let mut unescape = std::mem::take(&mut self.unescape);
        let Scanned { len, stop } = unescape.read(input, &mut |piece| match piece {
            Piece::Text(text) => self.take(text, depth, write),
            Piece::Half(unit) => self.take(&format!("\\u{unit:04x}"), depth, write),
        });
        if stop == Stop::Bad {
            write(&unescape.unfinished());
        }
        self.unescape = unescape;
        let ending = if self.scan.is_over() && !self.stray { Ending::Whole } else { Ending::NoJson };
        (len, Progress::of(stop, ending))
    }

    /// Writes a piece of what the string says.
    fn take(&mut self, text: &str, depth: usize, write: &mut impl FnMut(&str)) {
        let mut rest = text;
        if !self.stray {
            let Scanned { len, stop } = self.scan.copy(text, depth, write);
            rest = text[len..].trim_start_matches(|c: char| c.is_ascii() && is_blank(c as u8));
            if stop == Stop::More || rest.is_empty() {
                return;
            }
            self.stray = true;
        }
        write(rest);
    }
}
