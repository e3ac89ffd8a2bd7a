//! Values outside strings: numbers, words, and brackets with their separators and closers.

use super::lookahead::WORDS;
use super::number::to_json;
use super::text::{Quotes, StringStart, string_start};
use super::{Frame, Kwargs, Move, Reader, State};
use crate::body::Out;
use crate::diagnostic::DiagnosticKind;
use crate::scan::{Match, prefix};

/// The beginning of a value.
#[derive(Clone, Copy)]
pub(super) enum Start {
    Text(Quotes, usize),
    /// A word; its JSON.
    Word(&'static str, usize),
    Number,
    Bracket(u8),
    More,
    Bad,
}

pub(super) fn start(reader: &Reader<'_, '_>, at: usize) -> Start {
    let rest = reader.rest(at);
    match rest.first() {
        None => return Start::More,
        Some(byte @ (b'[' | b'(' | b'{')) => return Start::Bracket(*byte),
        Some(b'0'..=b'9' | b'.' | b'+' | b'-') => return Start::Number,
        Some(_) => {}
    }
    match string_start(rest, reader.at_end()) {
        StringStart::Text(quotes, n) => return Start::Text(quotes, n),
        StringStart::More => return Start::More,
        StringStart::No => {}
    }
    let mut found = Start::Bad;
    for (word, json) in WORDS {
        match prefix(word.as_bytes(), rest) {
            Match::No => {}
            Match::Partial => found = Start::More,
            Match::Full(n) => match rest.get(n) {
                None if !reader.at_end() => found = Start::More,
                Some(b) if b.is_ascii_alphanumeric() || *b == b'_' => {}
                _ => return Start::Word(json, n),
            },
        }
    }
    found
}

/// Whether `byte` continues the number `text`.
fn number_goes_on(text: &str, byte: u8) -> bool {
    match byte {
        b'+' | b'-' => {
            let unsigned = text.trim_start_matches(['+', '-']);
            let radix = unsigned.starts_with("0x") || unsigned.starts_with("0X");
            text.is_empty() || text.ends_with(['e', 'E']) && !radix
        }
        _ => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'),
    }
}

impl Kwargs {
    /// An item of a bracket, or its closer.
    pub(super) fn item(&mut self, reader: &mut Reader<'_, '_>, at: usize, first: bool) -> Move {
        if let Some(frame) = self.frames.last().filter(|frame| reader.rest(at).first() == Some(&frame.closer())) {
            let empty = match frame {
                Frame::Brace { .. } => Frame::Key,
                Frame::Paren { .. } => Frame::Tuple,
                known => known.clone(),
            };
            self.decide(reader.cx.out, empty);
            self.close(reader.cx.out);
            return Move::Go(at + 1);
        }
        match start(reader, at) {
            Start::More => Move::More(at),
            Start::Bad => Move::Broken(at),
            start => {
                self.writer.put(reader.cx.out, if first { "" } else { ", " });
                self.begin(reader, at, start)
            }
        }
    }

    /// A value begins.
    pub(super) fn begin(&mut self, reader: &mut Reader<'_, '_>, at: usize, start: Start) -> Move {
        match start {
            Start::More => Move::More(at),
            Start::Bad => Move::Broken(at),
            Start::Text(quotes, n) => {
                if !matches!(self.state, State::Join) {
                    self.writer.put(reader.cx.out, "\"");
                }
                self.state = State::Text(quotes);
                Move::Go(at + n)
            }
            _ if matches!(self.state, State::Join) => Move::Broken(at),
            Start::Word(json, n) => {
                self.scalar(reader.cx.out, json);
                Move::Go(at + n)
            }
            Start::Number => {
                self.state = State::Number(std::mem::take(&mut self.room));
                Move::Go(at)
            }
            Start::Bracket(byte) => self.open(reader, at, byte),
        }
    }

    fn open(&mut self, reader: &mut Reader<'_, '_>, at: usize, byte: u8) -> Move {
        match self.frames.last() {
            Some(Frame::Key) => return Move::Broken(at),
            Some(Frame::Brace { .. }) => self.decide(reader.cx.out, Frame::Set),
            _ => {}
        }
        if self.frames.len() >= reader.cx.limits.depth {
            reader.cx.out.report(DiagnosticKind::LimitReached, at, "", "the arguments are nested too deeply");
            return Move::Broken(at);
        }
        let place = self.writer.held.len();
        self.frames.push(match byte {
            b'(' => Frame::Paren { at: place },
            b'{' => Frame::Brace { at: place },
            _ => Frame::List,
        });
        if byte == b'[' {
            self.writer.put(reader.cx.out, "[");
        } else {
            self.writer.unknown += 1;
        }
        self.state = State::Item { first: true };
        Move::Go(at + 1)
    }

    /// Sets the kind of the innermost bracket if it is unknown.
    fn decide(&mut self, out: &mut dyn Out, kind: Frame) {
        let Some(frame) = self.frames.last_mut() else { return };
        let (Frame::Paren { at } | Frame::Brace { at }) = *frame else { return };
        let bare_key = matches!(kind, Frame::Key)
            && self.writer.held.get(at..).is_some_and(|k| !k.is_empty() && !k.starts_with('"'));
        let json = match (&kind, bare_key) {
            (Frame::Key, true) => "{\"",
            (Frame::Key, false) => "{",
            _ => "[",
        };
        if bare_key {
            self.writer.held.push('"');
        }
        *frame = kind;
        self.writer.decide(out, at, json);
    }

    /// Writes the closer of the innermost bracket, whose kind is known.
    fn close(&mut self, out: &mut dyn Out) {
        match self.frames.pop() {
            Some(Frame::Key | Frame::Value) => self.writer.put(out, "}"),
            Some(_) => self.writer.put(out, "]"),
            None => {}
        }
        self.state = State::After;
    }

    /// Writes a value that is neither a string nor a bracket; quotes it as a key.
    fn scalar(&mut self, out: &mut dyn Out, json: &str) {
        let quote = if matches!(self.frames.last(), Some(Frame::Key)) && !json.starts_with('"') { "\"" } else { "" };
        for piece in [quote, json, quote] {
            self.writer.put(out, piece);
        }
        self.state = State::After;
    }

    /// After a value: a separator or a closer.
    pub(super) fn after(&mut self, reader: &mut Reader<'_, '_>, at: usize, byte: u8) -> Move {
        let out = &mut *reader.cx.out;
        let Some(frame) = self.frames.last() else {
            return match byte {
                b',' => {
                    self.state = State::Argument;
                    Move::Go(at + 1)
                }
                b')' => self.close_call(reader, at),
                _ => Move::Broken(at),
            };
        };
        let closes = byte == frame.closer();
        match (frame, byte) {
            (Frame::Key, b':') => {}
            (Frame::Brace { .. }, b':') => self.decide(out, Frame::Key),
            (Frame::Key, _) => return Move::Broken(at),
            (Frame::Paren { at: place }, b')') => {
                let place = *place;
                self.frames.pop();
                self.writer.decide(out, place, "");
                return Move::Go(at + 1);
            }
            (Frame::Paren { .. }, b',') => self.decide(out, Frame::Tuple),
            (Frame::Brace { .. }, b',' | b'}') => self.decide(out, Frame::Set),
            _ => {}
        }
        match byte {
            b':' if matches!(self.frames.last(), Some(Frame::Key)) => {
                self.writer.put(out, ": ");
                self.turn_dict(Frame::Value);
                self.state = State::Value;
            }
            b',' => {
                if matches!(self.frames.last(), Some(Frame::Value)) {
                    self.turn_dict(Frame::Key);
                }
                self.state = State::Item { first: false };
            }
            _ if closes => self.close(out),
            _ => return Move::Broken(at),
        }
        Move::Go(at + 1)
    }

    /// A dict continues at a key or a value.
    fn turn_dict(&mut self, to: Frame) {
        if let Some(frame) = self.frames.last_mut() {
            *frame = to;
        }
    }

    pub(super) fn number(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> Move {
        let State::Number(text) = &mut self.state else { return Move::Go(at) };
        let rest = reader.input.as_bytes().get(at..).unwrap_or_default();
        let mut n = 0;
        let is_short = |text: &String| text.len() <= reader.cx.limits.argument;
        while let Some(&byte) = rest.get(n).filter(|b| is_short(text) && number_goes_on(text, **b)) {
            text.push(char::from(byte));
            n += 1;
        }
        let end = at + n;
        if !is_short(text) {
            reader.cx.out.report(DiagnosticKind::LimitReached, end, "", "a number of the arguments is too long");
        } else if n == rest.len() {
            return Move::More(end);
        }
        if self.finish_number(reader, end) { Move::Go(end) } else { Move::Broken(end) }
    }

    /// Writes a number whose end is known. False: it is not a number.
    pub(super) fn finish_number(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> bool {
        let State::Number(text) = &mut self.state else { return true };
        let mut text = std::mem::take(text);
        let json = if text.len() > reader.cx.limits.argument { None } else { to_json(&text) };
        match json {
            Some(json) => self.scalar(reader.cx.out, &json),
            None => reader.unplaced(at, &text),
        }
        text.clear();
        self.room = text;
        matches!(self.state, State::After)
    }
}
