//! Inside a string: data is written as it is read, escapes are decoded, and a quote closes if structure follows.

use super::lookahead::{Lookahead, Quote};
use super::text::{Escape, Quotes};
use super::{Kwargs, Move, Reader, State};
use crate::diagnostic::DiagnosticKind;
use crate::json::write::{string_of, string_piece};
use crate::scan::{Match, deciding};

impl Kwargs {
    /// Inside a string.
    pub(super) fn text(&mut self, reader: &mut Reader<'_, '_>, at: usize, quotes: Quotes) -> Move {
        let Some(n) = quotes.find(reader.rest(at)) else {
            self.write_text(reader, at, reader.input.len());
            return Move::More(reader.input.len());
        };
        let found = at + n;
        self.write_text(reader, at, found);
        let rest = reader.rest(found);
        match rest[0] {
            b'\\' => match quotes.escape(rest) {
                Escape::More => Move::More(found),
                Escape::Nothing(n) => Move::Go(found + n),
                Escape::Data(n) => self.data(reader, found, n),
                Escape::Char(c, n) => {
                    let mut buffer = [0; 4];
                    let Self { writer, .. } = self;
                    let escape = &reader.input[found..found + n];
                    string_piece(c.encode_utf8(&mut buffer), |piece| writer.put_of(reader.cx.out, piece, escape));
                    Move::Go(found + n)
                }
            },
            b')' => match self.lookahead(reader).is_abandoned(rest) {
                Match::Full(_) => Move::Done(found, false),
                Match::Partial => Move::More(found),
                Match::No => self.data(reader, found, 1),
            },
            byte if byte == quotes.quote => self.quote(reader, found, quotes),
            byte => match rest.get(1) {
                Some(next) if *next == byte => {
                    self.write_text(reader, found, found + 1);
                    Move::Go(found + 2)
                }
                None => Move::More(found),
                Some(_) => Move::Broken(found),
            },
        }
    }

    /// A quote of the open string's kind.
    fn quote(&mut self, reader: &mut Reader<'_, '_>, at: usize, quotes: Quotes) -> Move {
        let rest = reader.rest(at);
        let mut len = 1;
        if quotes.triple {
            let run = rest.iter().take(4).take_while(|b| **b == quotes.quote).count();
            if run < 4 && run == rest.len() && !(reader.at_end() && run == 3) {
                return Move::More(at);
            }
            if run != 3 {
                return self.data(reader, at, 1);
            }
            len = 3;
        }
        match self.lookahead(reader).quote(&rest[len..]) {
            Quote::Data => return self.data(reader, at, len),
            Quote::More | Quote::Unclear => return Move::More(at),
            Quote::Join => self.state = State::Join,
            Quote::End => {
                self.writer.put(reader.cx.out, "\"");
                self.state = State::After;
            }
        }
        Move::Go(at + len)
    }

    fn lookahead<'a>(&'a self, reader: &'a Reader<'_, '_>) -> Lookahead<'a> {
        Lookahead { spec: reader.spec, frames: &self.frames, limits: reader.cx.limits, eof: reader.cx.eof }
    }

    /// `n` bytes are plain data.
    fn data(&mut self, reader: &mut Reader<'_, '_>, at: usize, n: usize) -> Move {
        self.write_text(reader, at, at + n);
        Move::Go(at + n)
    }

    fn write_text(&mut self, reader: &mut Reader<'_, '_>, from: usize, to: usize) {
        let most = reader.cx.limits.argument;
        let (mut from, text) = (from, reader.input.get(from..to).unwrap_or_default());
        let mut rest = text;
        while !rest.is_empty() {
            // Held text is written in portions that surely fit, and near the limit in characters, so the limit is
            // reached at the same character in every split. Within JSON a byte may become six.
            let room = most.saturating_sub(self.writer.held.len()) / 6;
            let portion = if self.writer.unknown == 0 { rest } else { deciding(rest, room.saturating_sub(4)) };
            let Self { writer, .. } = self;
            string_of(portion, |piece, from| writer.put_of(reader.cx.out, piece, from));
            if self.writer.held.len() > most {
                let message = "the first item of a bracket is too long to wait for its end";
                reader.cx.out.report(DiagnosticKind::LimitReached, from, "", message);
                self.settle(reader.cx.out);
            }
            from += portion.len();
            rest = &rest[portion.len()..];
        }
    }
}
