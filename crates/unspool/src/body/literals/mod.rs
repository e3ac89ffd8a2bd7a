//! Gemma literals: `{leaf:<|"|>oolong<|"|>,minutes:4}` becomes `{"leaf": "oolong", "minutes": 4}`.
//!
//! A delimited value is a string, or a text that the schema types, as the format says. A bare value has the schema's
//! type or, without one, the type of its spelling. Plain quotes, `=` for the colon and `(` for the outer brace are
//! accepted. Commas and white space between items are framing. The machine begins at the opening bracket and ends after
//! the closing one.

mod lookahead;
mod text;
mod value;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use self::lookahead::{Lookahead, first_of};
use self::value::Pending;
use super::{Cx, Eof, Follow, Repair, Status, Step};
use crate::diagnostic::DiagnosticKind;
use crate::explanation::Explanation;
use crate::format::file::{Delimited, Silent, Tools};
use crate::json::write::string_of;
use crate::scan::{FirstBytes, Literal, Match, blanks, is_blank};
use crate::schema::TypeId;
use crate::typing::Rules;

/// The format's settings for the machine.
#[derive(Debug, Clone)]
pub(crate) struct LiteralsSpec {
    /// String delimiters.
    open: Literal,
    close: Literal,
    delimited: Delimited,
    python: bool,
    follow: Follow,
    /// Bytes that may end a delimited value, or the call around it.
    stops: FirstBytes,
    /// The same for a bare value.
    bare_stops: FirstBytes,
    /// The same for a string in plain quotes.
    quoted_stops: FirstBytes,
}

impl LiteralsSpec {
    /// The machine of a format, with what may follow a call.
    pub(crate) fn new(tools: &Tools, follow: Follow) -> Result<Self, Explanation> {
        let words = &tools.literals;
        let (open, close) = match &words.string[..] {
            [both] => (both, both),
            [open, close] => (open, close),
            _ => {
                return Err(Explanation::new(
                    "`tools.literals.string` must be one delimiter, or an opener and a closer",
                    "write the token that stands around a string, such as `string = [\"<|\\\"|>\"]`",
                ));
            }
        };
        if open.is_empty() || close.is_empty() {
            return Err(Explanation::new(
                "`tools.literals.string` has an empty delimiter",
                "write the token that stands around a string",
            ));
        }
        let closers = || follow.call_close.iter().filter_map(|l| l.text().bytes().next()).chain(close.bytes().next());
        Ok(Self {
            open: Literal::new(open, false),
            close: Literal::new(close, false),
            delimited: words.delimited,
            python: tools.python,
            stops: FirstBytes::new(closers().chain(*b"})")),
            bare_stops: FirstBytes::new(closers().chain(*b",})]")),
            quoted_stops: FirstBytes::new(closers().chain(*b"\"'})")),
            follow,
        })
    }

    fn rules(&self, depth: usize) -> Rules {
        Rules { silent: Silent::Json, python: self.python, depth }
    }
}

/// An open bracket.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Frame {
    /// `{`, or the `(` of the arguments.
    Object { of: Option<TypeId>, paren: bool, empty: bool },
    /// `[`, and its number of items.
    List { of: Option<TypeId>, items: usize },
}

impl Frame {
    fn closer(&self) -> u8 {
        match self {
            Self::Object { paren: false, .. } => b'}',
            Self::Object { paren: true, .. } => b')',
            Self::List { .. } => b']',
        }
    }

    /// Whether `byte` separates a key from its value.
    fn separates(byte: u8) -> bool {
        matches!(byte, b':' | b'=')
    }
}

/// The position of the machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
enum State {
    /// Before the opening bracket.
    #[default]
    Begin,
    /// Before a key, an item, or the closer.
    Item,
    /// Before a required value.
    Value(Option<TypeId>),
    /// In a delimited string.
    Delimited,
    /// In a delimited value that gets its type from the schema.
    Untyped(Pending),
    /// In plain quotes.
    Quoted(u8),
    Bare(Pending),
    /// After a value.
    After,
}

/// One move of the machine; numbers are offsets in the input of the step.
enum Move {
    /// Everything before this offset is consumed.
    Go(usize),
    /// The same, and more bytes are needed.
    More(usize),
    /// The call ends.
    Done(usize, bool),
    /// The byte there is invalid.
    Broken(usize),
}

/// The machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Literals {
    state: State,
    frames: Vec<Frame>,
    /// Buffer for the next held value.
    #[serde(skip)]
    room: [String; 2],
}

/// The input and context of a step.
struct Reader<'a, 'c> {
    spec: &'a LiteralsSpec,
    cx: &'a mut Cx<'c>,
    input: &'a str,
}

impl<'a> Reader<'a, '_> {
    fn rest(&self, at: usize) -> &'a [u8] {
        self.input.as_bytes().get(at..).unwrap_or_default()
    }

    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.input.get(from..to).unwrap_or_default()
    }

    /// The position in the step's input of a slice of it.
    fn place(&self, text: &str) -> isize {
        text.as_ptr().addr().wrapping_sub(self.input.as_ptr().addr()).cast_signed()
    }

    /// Bytes of the character at `at`.
    fn char_len(&self, at: usize) -> usize {
        self.input.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    }

    fn at_end(&self) -> bool {
        self.cx.eof != Eof::No
    }

    fn put(&mut self, json: &str) {
        self.cx.out.args(json);
    }

    fn put_string(&mut self, text: &str) {
        let out = &mut *self.cx.out;
        string_of(text, |json, from| out.args_of(json, from));
    }

    /// Reports that `text` at `at` was read as `read`.
    fn repaired(&mut self, at: usize, text: &str, read: &str) {
        let message = "this is not how the format writes it; it is read as what it stands for";
        self.cx.out.repaired(Repair { at: at.cast_signed(), text, read, message });
    }

    /// Reports bytes without a place in the arguments.
    fn unplaced(&mut self, at: usize, text: &str) {
        super::unplaced(self.cx.out, at, text);
    }
}

impl Literals {
    /// See [`super::BodyMachine::passes`].
    #[inline]
    pub(crate) fn passes(&mut self, spec: &LiteralsSpec, text: &str) -> bool {
        let (stops, pending) = match &mut self.state {
            State::Delimited => (&spec.stops, None),
            State::Quoted(_) => (&spec.quoted_stops, None),
            State::Untyped(pending) => (&spec.stops, Some(pending)),
            State::Bare(pending) => (&spec.bare_stops, Some(pending)),
            _ => return false,
        };
        stops.find(text.as_bytes(), 0).is_none() && pending.is_none_or(|pending| pending.passes(text))
    }

    /// Continues.
    pub(crate) fn step(&mut self, spec: &LiteralsSpec, cx: &mut Cx<'_>, input: &str) -> Step {
        let mut reader = Reader { spec, cx, input };
        let mut at = 0;
        loop {
            let (consumed, status) = match self.turn(&mut reader, at) {
                Move::Go(next) => {
                    at = next;
                    continue;
                }
                Move::More(at) if !reader.at_end() => (at, Status::More),
                Move::More(at) => (input.len(), Status::Done { complete: self.end(&mut reader, at) }),
                Move::Done(at, complete) => (at, Status::Done { complete }),
                Move::Broken(at) => (at, Status::Broken),
            };
            if matches!(status, Status::Done { complete: false } | Status::Broken) {
                self.give_up(&mut reader, consumed);
            }
            return Step { consumed, status };
        }
    }

    fn turn(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> Move {
        match self.state {
            State::Delimited | State::Untyped(_) => return self.delimited(reader, at),
            State::Quoted(quote) => return self.quoted(reader, at, quote),
            State::Bare(_) => return self.bare(reader, at),
            _ => {}
        }
        let at = at + blanks(reader.rest(at));
        let Some(&byte) = reader.rest(at).first() else { return Move::More(at) };
        match first_of(&reader.spec.follow.call_close, reader.rest(at)) {
            Match::Full(_) => return self.call_ends(reader, at),
            Match::Partial if !reader.at_end() => return Move::More(at),
            _ => {}
        }
        match self.state {
            State::Begin => self.open(reader, at, byte, None),
            State::Value(of) => self.value(reader, at, of),
            State::After if byte == b',' => {
                self.state = State::Item;
                Move::Go(at + 1)
            }
            // Commas between items are framing: any number is allowed.
            State::Item if byte == b',' => Move::Go(at + 1),
            _ if self.frames.last().is_some_and(|frame| frame.closer() == byte) => self.close(reader, at),
            _ => self.item(reader, at),
        }
    }

    /// The call's closer stands where the arguments would continue. Only the last bracket is closed on the model's
    /// behalf.
    fn call_ends(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> Move {
        let between = matches!(self.state, State::Item | State::After);
        let complete = between && matches!(self.frames[..], [Frame::Object { .. }]);
        if complete {
            reader.put("}");
        }
        Move::Done(at, complete)
    }

    fn open(&mut self, reader: &mut Reader<'_, '_>, at: usize, byte: u8, of: Option<TypeId>) -> Move {
        let (frame, json) = match byte {
            b'[' if !self.frames.is_empty() => (Frame::List { of, items: 0 }, "["),
            b'{' => (Frame::Object { of, paren: false, empty: true }, "{"),
            b'(' if self.frames.is_empty() => (Frame::Object { of, paren: true, empty: true }, "{"),
            _ => return Move::Broken(at),
        };
        if self.frames.len() >= reader.cx.limits.depth {
            reader.cx.out.report(DiagnosticKind::LimitReached, at, "", "the arguments are nested too deeply");
            return Move::Broken(at);
        }
        if byte == b'(' {
            reader.repaired(at, "(", "{");
        }
        self.frames.push(frame);
        reader.put(json);
        self.state = State::Item;
        Move::Go(at + 1)
    }

    /// The closer of the innermost bracket.
    fn close(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> Move {
        let json = if matches!(self.frames.last(), Some(Frame::List { .. })) { "]" } else { "}" };
        if self.frames.len() > 1 {
            self.frames.pop();
            reader.put(json);
            self.state = State::After;
            return Move::Go(at + 1);
        }
        let extra = match self.lookahead(reader).extra_bracket(reader.rest(at + 1)) {
            Match::Partial => return Move::More(at),
            Match::Full(n) => n,
            Match::No => 0,
        };
        if extra > 0 {
            reader.unplaced(at + 1, reader.slice(at + 1, at + 1 + extra).trim());
        }
        self.frames.pop();
        reader.put(json);
        Move::Done(at + 1 + extra, true)
    }

    /// The next item of a list, or a key and its separator.
    fn item(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> Move {
        let schema = reader.cx.schema;
        let top = self.frames.len() == 1;
        match self.frames.last_mut() {
            None => Move::Broken(at),
            Some(Frame::List { of, items }) => {
                if *items > 0 {
                    reader.put(", ");
                }
                let of = schema.zip(*of).and_then(|(schema, of)| schema.get(of)?.item(*items));
                *items += 1;
                self.state = State::Value(of);
                Move::Go(at)
            }
            Some(Frame::Object { of, empty, .. }) => {
                let (name, len) = match key(reader, at) {
                    Key::Found(name, len) => (name, len),
                    Key::More => return Move::More(at),
                    Key::Bad => return Move::Broken(at),
                };
                let of = match (schema, *of) {
                    (Some(schema), _) if top => schema.parameter(&name),
                    (Some(schema), Some(of)) => schema.get(of).and_then(|of| of.member(&name)),
                    _ => None,
                };
                reader.put(if *empty { "\"" } else { ", \"" });
                *empty = false;
                reader.put_string(&name);
                reader.put("\": ");
                self.state = State::Value(of);
                let separator = at + len - 1;
                if reader.rest(separator).first() == Some(&b'=') {
                    reader.repaired(separator, "=", ":");
                }
                Move::Go(at + len)
            }
        }
    }

    fn lookahead<'a>(&'a self, reader: &'a Reader<'_, '_>) -> Lookahead<'a> {
        let (limits, schema, eof) = (reader.cx.limits, reader.cx.schema, reader.cx.eof);
        Lookahead { spec: reader.spec, frames: &self.frames, limits, schema, eof }
    }

    /// The output ends; unconsumed bytes begin at `at`. Returns whether the arguments are complete.
    fn end(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> bool {
        let stopped = reader.cx.eof == Eof::Stop;
        let left = reader.slice(at, reader.input.len());
        let blank = left.bytes().all(is_blank);
        if !blank {
            reader.unplaced(at, left);
        }
        if stopped && blank && matches!(self.state, State::Bare(_)) {
            self.finish_bare(reader, reader.input.len());
        }
        let complete = stopped
            && blank
            && match self.state {
                State::Begin => true,
                State::Item | State::After => self.frames.len() == 1,
                _ => false,
            };
        if complete {
            reader.put(if self.frames.is_empty() { "{}" } else { "}" });
        }
        complete
    }

    /// The call ends before its arguments do: held text has no place in them.
    fn give_up(&mut self, reader: &mut Reader<'_, '_>, at: usize) {
        if let State::Bare(pending) | State::Untyped(pending) = &self.state
            && !pending.held().is_empty()
        {
            reader.unplaced(at, pending.held());
        }
    }
}

/// The text at the position of a key.
enum Key<'a> {
    /// A key; the length includes its separator.
    Found(Cow<'a, str>, usize),
    More,
    Bad,
}

/// Reads a key and its separator: delimited, in plain quotes, or bare.
fn key<'a>(reader: &Reader<'a, '_>, at: usize) -> Key<'a> {
    let rest = reader.rest(at);
    let most = reader.cx.limits.name;
    match reader.spec.open.at(rest) {
        Match::Full(n) => return enclosed_key(reader, (at, n), reader.spec.close.text()),
        Match::Partial => return Key::More,
        Match::No => {}
    }
    match rest.first() {
        Some(b'"') => return enclosed_key(reader, (at, 1), "\""),
        Some(b'\'') => return enclosed_key(reader, (at, 1), "'"),
        _ => {}
    }
    let ends = |b: &u8| Frame::separates(*b) || matches!(b, b',' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'<');
    match rest.iter().take(most + 1).position(ends) {
        Some(n) if n > 0 && Frame::separates(rest[n]) => Key::Found(reader.slice(at, at + n).trim_end().into(), n + 1),
        Some(_) => Key::Bad,
        None if rest.len() > most => Key::Bad,
        None => Key::More,
    }
}

/// Reads a key between an opener (its position and length) and a closer before the separator.
fn enclosed_key<'a>(reader: &Reader<'a, '_>, opener: (usize, usize), closer: &str) -> Key<'a> {
    let start = opener.0 + opener.1;
    let text = reader.slice(start, reader.input.len());
    for (n, _) in text.match_indices(closer) {
        if n > reader.cx.limits.name {
            return Key::Bad;
        }
        let behind = &text.as_bytes()[n + closer.len()..];
        let gap = blanks(behind);
        match behind.get(gap) {
            _ if gap > reader.cx.limits.blank => return Key::Bad,
            None => return Key::More,
            Some(b) if Frame::separates(*b) => {
                return Key::Found(text.get(..n).unwrap_or_default().into(), opener.1 + n + closer.len() + gap + 1);
            }
            Some(_) => {}
        }
    }
    if text.len() > reader.cx.limits.name + closer.len() { Key::Bad } else { Key::More }
}

#[cfg(test)]
mod tests;
