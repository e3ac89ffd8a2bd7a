//! Inside a string: between delimiters, where nothing is escaped, or between plain quotes.

use super::lookahead::Place;
use super::{Literals, Move, Reader, State};
use crate::body::Eof;
use crate::scan::{Match, is_blank};

impl Literals {
    /// Inside a delimited value.
    pub(super) fn delimited(&mut self, reader: &mut Reader<'_, '_>, at: usize) -> Move {
        let Some(found) = reader.spec.stops.find(reader.input.as_bytes(), at) else {
            self.write(reader, reader.slice(at, reader.input.len()));
            return Move::More(reader.input.len());
        };
        self.write(reader, reader.slice(at, found));
        let rest = reader.rest(found);
        let delimiter = reader.spec.close.at(rest);
        if let Match::Full(n) = delimiter {
            return match self.lookahead(reader).after_delimiter(Place::Value, &rest[n..]) {
                Match::Partial => Move::More(found),
                Match::No => self.quotation_mark(reader, found, n),
                Match::Full(_) => {
                    if matches!(self.state, State::Delimited) {
                        reader.put("\"");
                    }
                    self.finish_pending(reader, found, false);
                    Move::Go(found + n)
                }
            };
        }
        match (self.lookahead(reader).is_abandoned(rest), delimiter) {
            (Match::Full(n), _) => Move::Done(found + n, false),
            (Match::No, Match::No) => self.data(reader, found, reader.char_len(found)),
            _ => Move::More(found),
        }
    }

    /// Inside plain quotes, where everything is verbatim.
    pub(super) fn quoted(&mut self, reader: &mut Reader<'_, '_>, at: usize, quote: u8) -> Move {
        let found = reader.spec.quoted_stops.find(reader.input.as_bytes(), at).unwrap_or(reader.input.len());
        reader.put_string(reader.slice(at, found));
        let rest = reader.rest(found);
        match rest.first() {
            None => Move::More(found),
            Some(byte) if *byte == quote => match self.lookahead(reader).after_quote(Place::Value, &rest[1..]) {
                // A quote right at the cut-off end may be its string's end, or data.
                Match::Full(_) if reader.cx.eof == Eof::Length && rest[1..].iter().all(|b| is_blank(*b)) => {
                    Move::More(found)
                }
                Match::Partial => Move::More(found),
                Match::No => self.data(reader, found, 1),
                Match::Full(_) => {
                    reader.put("\"");
                    self.state = State::After;
                    Move::Go(found + 1)
                }
            },
            Some(_) => match self.lookahead(reader).is_abandoned(rest) {
                Match::Full(n) => Move::Done(found + n, false),
                Match::Partial => Move::More(found),
                Match::No => self.data(reader, found, reader.char_len(found)),
            },
        }
    }

    /// `n` bytes are a delimiter that ends nothing: the model meant a quotation mark.
    fn quotation_mark(&mut self, reader: &mut Reader<'_, '_>, at: usize, n: usize) -> Move {
        reader.repaired(at, reader.slice(at, at + n), "\"");
        self.write(reader, "\"");
        Move::Go(at + n)
    }

    /// `n` bytes are data as they stand.
    fn data(&mut self, reader: &mut Reader<'_, '_>, at: usize, n: usize) -> Move {
        self.write(reader, reader.slice(at, at + n));
        Move::Go(at + n)
    }

    fn write(&mut self, reader: &mut Reader<'_, '_>, text: &str) {
        if matches!(self.state, State::Untyped(_)) {
            self.hold(reader, text);
        } else {
            reader.put_string(text);
        }
    }
}
