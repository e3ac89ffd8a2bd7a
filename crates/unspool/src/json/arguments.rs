//! Arguments that a model writes as JSON: passed through verbatim, incrementally.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::copy::{JsonCopy, JsonOut};
use super::scan::{JsonScan, Scanned, Stop};
use super::unescape::{Piece, Unescape};
use crate::limits::Limits;
use crate::scan::{blanks, is_blank};

/// One value that is the arguments of a call.
///
/// It passes through as in [`JsonCopy`]. Two forms have another meaning: `null` is no arguments, and a string that
/// contains JSON is that JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Arguments {
    /// Only white space so far.
    #[default]
    Start,
    /// This many letters of `null`.
    Null(u8),
    /// A value that passes through.
    Verbatim(JsonCopy),
    /// A string that may contain JSON.
    OpenString(Box<OpenString>),
    /// A string that contains JSON.
    Quoted(Box<Quoted>),
}

/// How arguments ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A complete value was written.
    Whole,
    /// `null`, or an empty string: nothing was written, `{}` is meant.
    Nothing,
    /// A string that begins like JSON but is not; its text was written verbatim.
    NoJson,
}

/// The result of a step over arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// They continue.
    More,
    /// They end.
    End(Ending),
    /// The next byte is not valid JSON; everything read is written.
    Bad,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenString {
    /// As the model wrote it, including its opening quote.
    raw: String,
    /// Number of letters of `null` so far, with white space around them.
    letters: u8,
    unescape: Unescape,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quoted {
    unescape: Unescape,
    copy: JsonCopy,
    /// The string's contents are not JSON (any more).
    stray: bool,
}

impl Arguments {
    /// Whether undecided text is held.
    pub(crate) fn holds(&self) -> bool {
        matches!(self, Self::OpenString(_) | Self::Null(_))
    }

    /// Whether anything but white space has come.
    pub(crate) fn begun(&self) -> bool {
        !matches!(self, Self::Start)
    }

    /// Whether this text continues them unchanged; if so, it is consumed. See [`JsonCopy::passes`].
    #[inline]
    pub(crate) fn passes(&mut self, text: &str, depth: usize) -> bool {
        match self {
            Self::Verbatim(copy) => copy.passes(text, depth),
            _ => false,
        }
    }

    /// Passes through a value that needs nothing more, as in most steps; `None` if this one may. [`Self::step`] handles
    /// what follows `More`.
    #[inline]
    pub(crate) fn steady(&mut self, input: &str, limits: &Limits, out: &mut impl JsonOut) -> Option<Scanned> {
        match self {
            Self::Verbatim(copy) => Some(copy.copy(input, limits.depth, out)),
            _ => None,
        }
    }

    /// Continues: returns the number of bytes consumed, and the result.
    pub(crate) fn step(&mut self, input: &str, limits: &Limits, out: &mut impl JsonOut) -> (usize, Progress) {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            let (len, progress) = match self {
                Self::Verbatim(copy) => {
                    let Scanned { len, stop } =
                        copy.copy(rest, limits.depth, &mut Behind { out, base: at.cast_signed() });
                    (len, Progress::of(stop, Ending::Whole))
                }
                Self::Start => {
                    at += blanks(rest.as_bytes());
                    *self = match input.as_bytes().get(at) {
                        None => return (at, Progress::More),
                        Some(b'n') => Self::Null(0),
                        Some(b'"') => Self::OpenString(Box::default()),
                        Some(_) => Self::Verbatim(JsonCopy::default()),
                    };
                    continue;
                }
                Self::Null(read) => null(read, rest, out),
                Self::OpenString(opened) => {
                    let (len, holds) = opened.read(rest, limits.blank);
                    match holds {
                        Holds::Unclear => (len, Progress::More),
                        Holds::Nothing => (len, Progress::End(Ending::Nothing)),
                        Holds::Text | Holds::Json(_) => {
                            at += len;
                            *self = opened.decide(holds, limits, &mut Behind { out, base: at.cast_signed() });
                            if let Self::Verbatim(copy) = self
                                && copy.is_over()
                            {
                                return (at, Progress::End(Ending::Whole));
                            }
                            continue;
                        }
                    }
                }
                Self::Quoted(quoted) => quoted.step(rest, limits.depth, &mut Behind { out, base: at.cast_signed() }),
            };
            return (at + len, progress);
        }
    }

    /// The output ends: writes held text. Returns whether the arguments are complete.
    pub(crate) fn finish(&self, out: &mut impl JsonOut) -> bool {
        match self {
            Self::Start => false,
            Self::Quoted(quoted) => {
                quoted.copy.finish(out);
                out.json(&quoted.unescape.unfinished());
                false
            }
            Self::Null(read) => {
                out.json(&"null"[..usize::from(*read).min(4)]);
                false
            }
            Self::Verbatim(copy) => copy.finish(out),
            Self::OpenString(opened) => {
                let mut copy = JsonCopy::default();
                copy.copy(&opened.raw, JsonScan::DEEPEST, &mut Behind { out, base: -opened.raw.len().cast_signed() });
                copy.finish(out);
                false
            }
        }
    }
}

/// Shifts positions by a number of bytes from the start of the input.
struct Behind<'a, O> {
    out: &'a mut O,
    base: isize,
}

impl<O: JsonOut> JsonOut for Behind<'_, O> {
    #[inline]
    fn json(&mut self, text: &str) {
        self.out.json(text);
    }

    #[inline]
    fn json_at(&mut self, text: &str, place: Range<isize>) {
        self.out.json_at(text, self.base + place.start..self.base + place.end);
    }

    fn doubled(&mut self, at: isize, escape: &str) {
        self.out.doubled(self.base + at, escape);
    }
}

impl Progress {
    fn of(stop: Stop, ending: Ending) -> Self {
        match stop {
            Stop::More | Stop::Control | Stop::Escape(_) => Self::More,
            Stop::End => Self::End(ending),
            Stop::Bad => Self::Bad,
        }
    }
}

fn null(read: &mut u8, input: &str, out: &mut impl JsonOut) -> (usize, Progress) {
    let missing = &"null"[usize::from(*read).min(4)..];
    let same = missing.bytes().zip(input.bytes()).take_while(|(a, b)| a == b).count();
    // At most four, so the cast is lossless.
    *read += same as u8;
    if same == missing.len() {
        return (same, Progress::End(Ending::Nothing));
    }
    if same == input.len() {
        return (same, Progress::More);
    }
    out.json(&"null"[..usize::from(*read).min(4)]);
    (same, Progress::Bad)
}

/// The contents of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Unclear,
    Nothing,
    /// JSON, which begins with this bracket.
    Json(char),
    Text,
}

impl OpenString {
    /// Reads character by character until the contents are decided.
    fn read(&mut self, input: &str, limit: usize) -> (usize, Holds) {
        for (at, c) in input.char_indices() {
            let end = at + c.len_utf8();
            if self.raw.is_empty() {
                self.raw.push(c);
                continue;
            }
            let mut holds = Holds::Unclear;
            let letters = &mut self.letters;
            let Scanned { stop, .. } = self.unescape.read(&input[at..end], &mut |_, piece| match piece {
                Piece::Text(text) | Piece::Escaped(text) => text.chars().for_each(|c| holds = holds.and(c, letters)),
                Piece::Stray(_) | Piece::Half(_) => holds = Holds::Text,
            });
            self.raw.push(c);
            if holds == Holds::Unclear {
                holds = match stop {
                    Stop::End if matches!(self.letters, 0 | 4) => Holds::Nothing,
                    Stop::End => Holds::Text,
                    _ if self.raw.len() > limit => Holds::Text,
                    _ => continue,
                };
            }
            return (end, holds);
        }
        (input.len(), Holds::Unclear)
    }

    /// `out` counts from the end of what was read of the string.
    fn decide(&mut self, holds: Holds, limits: &Limits, out: &mut impl JsonOut) -> Arguments {
        if let Holds::Json(bracket) = holds {
            let mut quoted = Quoted { unescape: std::mem::take(&mut self.unescape), ..Quoted::default() };
            quoted.take(bracket.encode_utf8(&mut [0; 4]), limits.depth, &mut Behind { out, base: 0 });
            return Arguments::Quoted(Box::new(quoted));
        }
        let mut copy = JsonCopy::default();
        copy.copy(&self.raw, limits.depth, &mut Behind { out, base: -self.raw.len().cast_signed() });
        Arguments::Verbatim(copy)
    }
}

impl Holds {
    /// The contents with one more character. `letters`: how much of `null` there is so far.
    fn and(self, c: char, letters: &mut u8) -> Self {
        match c {
            _ if self != Self::Unclear => self,
            ' ' | '\n' | '\r' | '\t' if matches!(letters, 0 | 4) => self,
            '{' | '[' if *letters == 0 => Self::Json(c),
            _ if "null".as_bytes().get(usize::from(*letters)).is_some_and(|l| char::from(*l) == c) => {
                *letters += 1;
                self
            }
            _ => Self::Text,
        }
    }
}

impl Quoted {
    fn step(&mut self, input: &str, depth: usize, out: &mut impl JsonOut) -> (usize, Progress) {
        let mut unescape = std::mem::take(&mut self.unescape);
        let Scanned { len, stop } = unescape.read(input, &mut |end, piece| {
            // An escape stands for one or more bytes: diagnostics about it are at its end in every split.
            let inside = |text: &str| end.cast_signed() - text.len().cast_signed();
            match piece {
                Piece::Text(text) | Piece::Escaped(text) | Piece::Stray(text) => {
                    self.take(text, depth, &mut Behind { out, base: inside(text) });
                }
                Piece::Half(unit) => {
                    let text = format!("\\u{unit:04x}");
                    self.take(&text, depth, &mut Behind { out, base: inside(&text) });
                }
            }
        });
        self.unescape = unescape;
        let ending = if self.copy.is_over() && !self.stray { Ending::Whole } else { Ending::NoJson };
        (len, Progress::of(stop, ending))
    }

    /// Writes a piece of the string's contents.
    fn take(&mut self, text: &str, depth: usize, out: &mut Behind<'_, impl JsonOut>) {
        let mut rest = text;
        if !self.stray {
            let Scanned { len, stop } = self.copy.copy(text, depth, out);
            rest = text[len..].trim_start_matches(|c: char| c.is_ascii() && is_blank(c as u8));
            if stop == Stop::More || rest.is_empty() {
                return;
            }
            self.stray = true;
        }
        out.json(rest);
    }
}
