//! Values without a written type: held while they may be something other than a string.

use serde::{Deserialize, Serialize};

use super::lookahead::{Place, first_of};
use super::{Literals, Move, Reader, State};
use crate::body::{give, give_string};
use crate::format::file::Delimited;
use crate::scan::{Match, is_blank};
use crate::schema::{Type, TypeId};
use crate::typing::{Converted, Forms, Guess, Want, convert, spells_scalar};

/// An open value.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pending {
    of: Option<TypeId>,
    forms: Forms,
    guess: Guess,
    /// Whether white space at its edges is framing.
    trims: bool,
    /// Its text so far; once it is a string, only the trailing white space.
    text: String,
    /// Whether it is a string, whose opening quote is written.
    opened: bool,
    /// It continues a run of white space that is too long to be framing.
    in_long_run: bool,
    /// Its first bytes, while they may be a number, a boolean or null; `None` once they cannot.
    scalar: Option<String>,
}

/// Maximum length of a bare number, boolean or null, in bytes.
const LONGEST_SCALAR: usize = 64;

fn type_of<'c>(reader: &Reader<'_, 'c>, of: Option<TypeId>) -> Option<&'c Type> {
    reader.cx.schema?.get(of?)
}

impl Pending {
    /// `room`: buffers for its texts.
    fn new(reader: &Reader<'_, '_>, of: Option<TypeId>, trims: bool, [text, scalar]: [String; 2]) -> Self {
        let want = Want::Schema(type_of(reader, of));
        let forms = Forms::of(want, reader.spec.rules(reader.cx.limits.depth));
        let guess = if forms.is_string_only() { Guess::String } else { Guess::Start };
        let scalar = trims.then_some(scalar);
        Self { of, forms, guess, trims, text, opened: false, in_long_run: false, scalar }
    }

    /// The held text that belongs to the value.
    pub(super) fn held(&self) -> &str {
        if self.opened { "" } else { &self.text }
    }

    /// Whether the value is a string that continues with this text, with nothing held.
    pub(super) fn passes(&mut self, text: &str) -> bool {
        let ends_blank = text.as_bytes().last().is_none_or(|byte| is_blank(*byte));
        let passes = self.opened && self.scalar.is_none() && self.text.is_empty() && !(self.trims && ends_blank);
        self.in_long_run &= !passes;
        passes
    }

    /// Takes a piece of the value.
    pub(super) fn push(&mut self, reader: &mut Reader<'_, '_>, piece: &str) {
        if piece.is_empty() {
            return;
        }
        if let Some(scalar) = &mut self.scalar {
            scalar.push_str(piece);
            if scalar.len() > LONGEST_SCALAR {
                self.scalar = None;
            }
        }
        let at = reader.place(piece);
        if self.opened {
            self.write(reader, piece, at);
            return;
        }
        self.text.push_str(piece);
        self.guess = self.guess.after(self.forms, piece, self.text.len());
        if self.guess == Guess::String || self.text.len() > reader.cx.limits.argument {
            reader.put("\"");
            self.opened = true;
            let text = std::mem::take(&mut self.text);
            let begins = at - (text.len() - piece.len()).cast_signed();
            self.write(reader, &text, begins);
        }
    }

    /// Writes more of a string and holds white space that may be at its end.
    fn write(&mut self, reader: &mut Reader<'_, '_>, piece: &str, at: isize) {
        if !self.trims {
            give_string(reader.cx.out, piece, at);
            return;
        }
        let held = at - self.text.len().cast_signed();
        let end = piece.trim_end_matches(|c: char| c.is_ascii() && is_blank(c as u8)).len();
        let (text, blank) = piece.split_at(end);
        if !text.is_empty() {
            give_string(reader.cx.out, &self.text, held);
            give_string(reader.cx.out, text, at);
            self.text.clear();
            self.in_long_run = false;
        }
        self.text.push_str(blank);
        self.in_long_run |= self.text.len() > reader.cx.limits.blank;
        if self.in_long_run {
            let end = at + piece.len().cast_signed();
            give_string(reader.cx.out, &self.text, end - self.text.len().cast_signed());
            self.text.clear();
        }
    }

    /// Ends the value at `end` of the input. `is_string`: overrides the schema.
    pub(super) fn finish(&self, reader: &mut Reader<'_, '_>, end: usize, is_string: bool) {
        if self.opened {
            reader.put("\"");
            return;
        }
        let text = if self.trims { self.text.trim() } else { &self.text };
        let converted = if is_string {
            Converted::Text(text)
        } else {
            convert(text, Want::Schema(type_of(reader, self.of)), reader.spec.rules(reader.cx.limits.depth))
        };
        give(&converted, reader.cx.out, &self.text, end);
    }
}

impl Literals {
    /// Begins a value.
    pub(super) fn value(&mut self, reader: &mut Reader<'_, '_>, at: usize, of: Option<TypeId>) -> Move {
        let rest = reader.rest(at);
        match reader.spec.open.at(rest) {
            Match::Partial => return Move::More(at),
            Match::Full(n) => {
                self.state = match reader.spec.delimited {
                    Delimited::Untyped => {
                        State::Untyped(Pending::new(reader, of, false, std::mem::take(&mut self.room)))
                    }
                    Delimited::String => {
                        reader.put("\"");
                        State::Delimited
                    }
                };
                return Move::Go(at + n);
            }
            Match::No => {}
        }
        match rest.first() {
            Some(byte @ (b'{' | b'[')) => return self.open(reader, at, *byte, of),
            Some(quote @ (b'"' | b'\'')) => {
                reader.repaired(at, reader.slice(at, at + 1), reader.spec.open.text());
                reader.put("\"");
                self.state = State::Quoted(*quote);
                return Move::Go(at + 1);
            }
            _ => {}
        }
        self.state = State::Bare(Pending::new(reader, of, true, std::mem::take(&mut self.room)));
        Move::Go(at)
    }

    /// Inside a bare value.
    pub(super) fn bare(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> Move {
        let Some(found) = reader.spec.bare_stops.find(reader.input.as_bytes(), at) else {
            self.hold(reader, reader.slice(at, reader.input.len()));
            return Move::More(reader.input.len());
        };
        self.hold(reader, reader.slice(at, found));
        let rest = reader.rest(found);
        let delimiter = reader.spec.close.at(rest);
        let lookahead = self.lookahead(reader);
        let ends = match (rest[0], delimiter) {
            (b',', _) => lookahead.comma_ends_bare(self.is_scalar(), &rest[1..]),
            (byte, _) if self.frames.last().is_some_and(|frame| frame.closer() == byte) => Match::Full(0),
            // The opening delimiter is missing.
            (_, Match::Full(n)) => lookahead.after_delimiter(Place::Value, &rest[n..]),
            (_, delimiter) => match (first_of(&reader.spec.follow.call_close, rest), delimiter) {
                (Match::No, Match::Partial) => Match::Partial,
                (closer, _) => closer,
            },
        };
        match (ends, delimiter) {
            (Match::Partial, _) => Move::More(found),
            (Match::Full(_), Match::Full(n)) => {
                self.finish_pending(reader, found, reader.spec.delimited == Delimited::String);
                Move::Go(found + n)
            }
            (Match::Full(_), _) => {
                self.finish_bare(reader, found);
                Move::Go(found)
            }
            (Match::No, delimiter) => {
                let n = if let Match::Full(n) = delimiter { n } else { reader.char_len(found) };
                self.hold(reader, reader.slice(found, found + n));
                Move::Go(found + n)
            }
        }
    }

    /// Takes more of a held or typed value.
    pub(super) fn hold(&mut self, reader: &mut Reader<'_, '_>, text: &str) {
        if let State::Bare(pending) | State::Untyped(pending) = &mut self.state {
            pending.push(reader, text);
        }
    }

    /// Whether the bare value so far is a complete number, boolean or null.
    fn is_scalar(&self) -> bool {
        match &self.state {
            State::Bare(pending) => pending.scalar.as_deref().is_some_and(|text| spells_scalar(text.trim())),
            _ => false,
        }
    }

    pub(super) fn finish_bare(&mut self, reader: &mut Reader<'_, '_>, end: usize) {
        self.finish_pending(reader, end, false);
    }

    /// Ends the value at `end` of the input. `is_string`: overrides the schema.
    pub(super) fn finish_pending(&mut self, reader: &mut Reader<'_, '_>, end: usize, is_string: bool) {
        if let State::Bare(pending) | State::Untyped(pending) = std::mem::replace(&mut self.state, State::After) {
            pending.finish(reader, end, is_string);
            let Pending { mut text, scalar, .. } = pending;
            let mut scalar = scalar.unwrap_or_default();
            text.clear();
            scalar.clear();
            self.room = [text, scalar];
        }
    }
}
