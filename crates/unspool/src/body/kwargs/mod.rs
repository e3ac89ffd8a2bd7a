//! Python keyword arguments: `port='Cuxhaven', days=3` becomes `{"port": "Cuxhaven", "days": 3}`.
//!
//! The input begins after the `(` of a call. The `)` belongs to the template: the machine ends before it. Strings are
//! written as they are read. A number waits for its end, and the first item in `(` or `{` waits until it is clear
//! whether that is a tuple, a set or a dict.

mod lookahead;
mod number;
mod string;
pub(super) mod text;
mod value;

use serde::{Deserialize, Serialize};

use self::text::Quotes;
use self::value::start;
use super::{Cx, Eof, Follow, Out, Status, Step};
use crate::explanation::Explanation;
use crate::format::file::Tools;
use crate::json::write::string_of;
use crate::keyword::keyword;
use crate::scan::{Literal, Match, is_blank};

/// The format's settings for the machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct KwargsSpec {
    call_close: Vec<Literal>,
    block_close: Vec<Literal>,
    call_open: Vec<Literal>,
    between: Vec<Literal>,
}

impl KwargsSpec {
    /// The machine of a format, with what may follow a call.
    pub(crate) fn new(tools: &Tools, follow: Follow) -> Result<Self, Explanation> {
        let Follow { call_close, block_close, call_open } = follow;
        if call_close.is_empty() || !call_close.iter().all(|l| l.text().starts_with(')')) {
            return Err(Explanation::new("`{kwargs}` must stand in brackets", "write `{name}({kwargs})`"));
        }
        let separators = tools.between.iter().map(|text| text.trim());
        let between = separators.filter(|text| !text.is_empty()).map(|text| Literal::new(text, false)).collect();
        Ok(Self { call_close, block_close, call_open, between })
    }
}

/// An open bracket. `at`: start of its JSON in the held text.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Frame {
    List,
    Tuple,
    Set,
    /// A dict, at a key.
    Key,
    /// A dict, at a value.
    Value,
    /// `(`: a value in brackets, or a tuple.
    Paren {
        at: usize,
    },
    /// `{`: a dict or a set.
    Brace {
        at: usize,
    },
}

/// The position of the machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
enum State {
    /// Before the first argument.
    #[default]
    Begin,
    /// After a comma between arguments.
    Argument,
    /// In a bracket, before an item or the closer.
    Item {
        first: bool,
    },
    /// Before a required value.
    Value,
    Number(String),
    Text(Quotes),
    /// Between two pieces of one string.
    Join,
    /// After a value.
    After,
}

/// JSON that is written, or held while the kind of a bracket is unknown.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Writer {
    held: String,
    /// Number of open brackets of unknown kind.
    unknown: usize,
}

impl Writer {
    fn put(&mut self, out: &mut dyn Out, json: &str) {
        self.put_of(out, json, "");
    }

    /// Writes JSON made from a slice of the input.
    fn put_of(&mut self, out: &mut dyn Out, json: &str, text: &str) {
        if self.unknown == 0 {
            out.args_of(json, text);
        } else {
            self.held.push_str(json);
        }
    }

    /// A bracket's kind is known: inserts `json` where it began.
    fn decide(&mut self, out: &mut dyn Out, at: usize, json: &str) {
        if self.held.is_char_boundary(at) {
            self.held.insert_str(at, json);
        }
        self.unknown = self.unknown.saturating_sub(1);
        if self.unknown == 0 && !self.held.is_empty() {
            out.args(&self.held);
            self.held.clear();
        }
    }
}

/// One move of the machine; the numbers are offsets in the step's input.
enum Move {
    /// Everything before this offset is consumed.
    Go(usize),
    /// The same, and more bytes are needed.
    More(usize),
    /// The call is over.
    Done(usize, bool),
    /// The byte there does not fit.
    Broken(usize),
}

/// The machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Kwargs {
    state: State,
    frames: Vec<Frame>,
    writer: Writer,
    /// Whether an argument has been written.
    opened: bool,
    /// Whether it is in a comment, which ends with the line.
    comment: bool,
    /// Buffer for the next number.
    #[serde(skip)]
    room: String,
}

/// The input and context of a step.
struct Reader<'a, 'c> {
    spec: &'a KwargsSpec,
    cx: &'a mut Cx<'c>,
    input: &'a str,
}

impl Reader<'_, '_> {
    fn rest(&self, at: usize) -> &[u8] {
        self.input.as_bytes().get(at..).unwrap_or_default()
    }

    fn at_end(&self) -> bool {
        self.cx.eof != Eof::No
    }

    /// Reports bytes without a place in the arguments.
    fn unplaced(&mut self, at: usize, text: &str) {
        super::unplaced(self.cx.out, at, text);
    }
}

impl Kwargs {
    /// See [`super::BodyMachine::passes`].
    #[inline]
    pub(crate) fn passes(&self, text: &str) -> bool {
        let State::Text(quotes) = self.state else { return false };
        self.writer.unknown == 0 && quotes.find(text.as_bytes()).is_none()
    }

    /// Continues.
    pub(crate) fn step(&mut self, spec: &KwargsSpec, cx: &mut Cx<'_>, input: &str) -> Step {
        let mut reader = Reader { spec, cx, input };
        let mut at = 0;
        loop {
            match self.turn(&mut reader, at) {
                Move::Go(next) => at = next,
                Move::More(at) if !reader.at_end() => return Step { consumed: at, status: Status::More },
                Move::More(at) => {
                    let complete = self.end(&mut reader, at);
                    return Step { consumed: input.len(), status: Status::Done { complete } };
                }
                Move::Done(at, complete) => {
                    self.settle(reader.cx.out);
                    return Step { consumed: at, status: Status::Done { complete } };
                }
                Move::Broken(at) => {
                    self.settle(reader.cx.out);
                    return Step { consumed: at, status: Status::Broken };
                }
            }
        }
    }

    fn turn(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> Move {
        if let State::Text(quotes) = self.state {
            return self.text(reader, at, quotes);
        }
        if let State::Number(_) = self.state {
            return self.number(reader, at);
        }
        if self.comment {
            let Some(line) = memchr::memchr(b'\n', reader.rest(at)) else { return Move::More(reader.input.len()) };
            self.comment = false;
            return Move::Go(at + line);
        }
        let at = at + reader.rest(at).iter().take_while(|b| is_blank(**b)).count();
        let Some(&byte) = reader.rest(at).first() else { return Move::More(at) };
        if byte == b'#' {
            reader.unplaced(at, "#");
            self.comment = true;
            return Move::Go(at + 1);
        }
        match self.state {
            State::Begin | State::Argument => self.argument(reader, at, byte),
            State::Item { first } => self.item(reader, at, first),
            State::Value | State::Join => self.begin(reader, at, start(reader, at)),
            State::After => self.after(reader, at, byte),
            State::Number(_) | State::Text(_) => Move::Go(at),
        }
    }

    /// A keyword and its `=`, or the end of the arguments.
    fn argument(&mut self, reader: &mut Reader<'_, '_>, at: usize, byte: u8) -> Move {
        if byte == b')' {
            return self.close_call(reader, at);
        }
        let n = match keyword(reader.rest(at), reader.at_end(), reader.cx.limits) {
            Match::Full(n) => n,
            Match::Partial => return Move::More(at),
            Match::No => return Move::Broken(at),
        };
        let name = reader.input.get(at..at + n).unwrap_or_default().trim_end();
        let out = &mut *reader.cx.out;
        out.args(if self.opened { ", \"" } else { "{\"" });
        string_of(name, |piece, from| out.args_of(piece, from));
        out.args("\": ");
        self.opened = true;
        self.state = State::Value;
        Move::Go(at + n + 1)
    }

    fn close_call(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> Move {
        reader.cx.out.args(if self.opened { "}" } else { "{}" });
        Move::Done(at, true)
    }

    /// Writes held text although the kind of a bracket is unknown: `(` becomes a tuple, `{` a dict.
    fn settle(&mut self, out: &mut dyn Out) {
        for frame in self.frames.iter_mut().rev() {
            let (at, kind, json) = match *frame {
                Frame::Paren { at } => (at, Frame::Tuple, "["),
                Frame::Brace { at } => (at, Frame::Key, "{"),
                _ => continue,
            };
            *frame = kind;
            self.writer.decide(out, at, json);
        }
    }

    /// The output ends; unconsumed bytes begin at `at`. Returns whether the arguments are complete.
    fn end(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> bool {
        let stopped = reader.cx.eof == Eof::Stop;
        let left = reader.input.get(at..).unwrap_or_default();
        let blank = left.bytes().all(is_blank);
        if !blank {
            reader.unplaced(at, left);
        }
        if let State::Number(text) = &mut self.state {
            if stopped {
                self.finish_number(reader, at);
            } else {
                let text = std::mem::take(text);
                reader.unplaced(at, &text);
            }
        }
        self.settle(reader.cx.out);
        let between = matches!(self.state, State::Begin | State::Argument | State::After);
        let complete = stopped && blank && between && self.frames.is_empty();
        if complete {
            self.close_call(reader, at);
        }
        complete
    }
}

impl Frame {
    /// The byte that closes it, in Python.
    fn closer(&self) -> u8 {
        match self {
            Self::List => b']',
            Self::Tuple | Self::Paren { .. } => b')',
            Self::Set | Self::Brace { .. } | Self::Key | Self::Value => b'}',
        }
    }
}

#[cfg(test)]
mod tests;
