//! Look-ahead: whether the structure of a call continues after a quote.
//!
//! Models write quotes inside strings without escaping them. A quote closes only if structure follows; every other one
//! is data. The look-ahead is bounded by white space and names, which have limits, and by [`LEVELS`].

use super::text::{StringStart, string_start};
use super::{Frame, KwargsSpec};
use crate::body::Eof;
use crate::keyword::{keyword, name};
use crate::limits::Limits;
use crate::scan::{Literal, Match, blanks, prefix};

/// Number of brackets that a look-ahead follows.
const LEVELS: usize = 4;

/// The keywords that are values.
pub(super) const WORDS: [(&str, &str); 6] =
    [("True", "true"), ("False", "false"), ("None", "null"), ("true", "true"), ("false", "false"), ("null", "null")];

/// The role of a quote in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    /// Data: no structure follows.
    Data,
    /// The string's end.
    End,
    /// The end of one piece; another one follows.
    Join,
    /// The output ends after it, so it may be the end or data.
    Unclear,
    /// More bytes are needed.
    More,
}

/// A look-ahead from inside a string.
pub(super) struct Lookahead<'a> {
    pub(super) spec: &'a KwargsSpec,
    pub(super) frames: &'a [Frame],
    pub(super) limits: &'a Limits,
    pub(super) eof: Eof,
}

impl Lookahead<'_> {
    /// The role of the quote before `rest`.
    pub(super) fn quote(&self, rest: &[u8]) -> Quote {
        let gap = blanks(rest);
        if gap > self.limits.blank {
            return Quote::Data;
        }
        let ahead = &rest[gap..];
        if ahead.is_empty() {
            return match self.eof {
                Eof::No => Quote::More,
                Eof::Stop => Quote::End,
                Eof::Length => Quote::Unclear,
            };
        }
        match string_start(ahead, self.at_end()) {
            // `'sed -n '1p' f'`: an apparent further piece is data if the value ends directly after its quote.
            StringStart::Text(_, n) => match self.goes_on(&ahead[n..]) {
                Match::Full(_) => Quote::Data,
                Match::Partial => Quote::More,
                Match::No => Quote::Join,
            },
            StringStart::More => Quote::More,
            StringStart::No => match self.after_value(self.frames, ahead) {
                Match::Full(_) => Quote::End,
                Match::Partial => Quote::More,
                Match::No => Quote::Data,
            },
        }
    }

    /// Whether the call ends at the `)` at the start of `rest` despite an open string: the block's closer follows.
    pub(super) fn is_abandoned(&self, rest: &[u8]) -> Match {
        let n = match first_of(&self.spec.call_close, rest) {
            Match::Full(n) => n,
            Match::Partial if !self.at_end() => return Match::Partial,
            _ => return Match::No,
        };
        let ahead = match self.skip_blanks(&rest[n..]) {
            Ok(ahead) => ahead,
            Err(Match::Partial) => return Match::Partial,
            Err(_) => return Match::No,
        };
        let telling = self.telling_closer(ahead);
        let Match::Full(n) = first_of(&self.spec.block_close, ahead) else { return telling };
        match (self.eof, blanks(&ahead[n..]) + n == ahead.len()) {
            _ if telling != Match::No => telling,
            (Eof::No, true) => Match::Partial,
            (Eof::Stop, true) => Match::Full(n),
            _ => Match::No,
        }
    }

    fn at_end(&self) -> bool {
        self.eof != Eof::No
    }

    /// `rest` after its white space; an error if that is too long, or nothing follows.
    fn skip_blanks<'b>(&self, rest: &'b [u8]) -> Result<&'b [u8], Match> {
        let gap = blanks(rest);
        if gap > self.limits.blank {
            Err(Match::No)
        } else if gap == rest.len() {
            Err(if self.at_end() { Match::Full(0) } else { Match::Partial })
        } else {
            Ok(&rest[gap..])
        }
    }

    /// If the output ends before a decision, the result is positive.
    fn settle(&self, found: Match) -> Match {
        if found == Match::Partial && self.at_end() { Match::Full(0) } else { found }
    }

    /// The block's closers at the start of `rest` that are unlikely inside a string.
    fn telling_closer(&self, rest: &[u8]) -> Match {
        let found = first_of(self.spec.block_close.iter().filter(|l| l.text().len() > 1), rest);
        if found == Match::Partial && self.at_end() { Match::No } else { found }
    }

    /// [`Self::after_value`], after white space.
    fn goes_on(&self, rest: &[u8]) -> Match {
        match self.skip_blanks(rest) {
            Ok(ahead) => self.after_value(self.frames, ahead),
            Err(found) => found,
        }
    }

    /// Whether `rest` begins with something that may follow a value inside `frames`.
    fn after_value(&self, frames: &[Frame], rest: &[u8]) -> Match {
        either(self.telling_closer(rest), self.after_value_inside(frames, rest))
    }

    fn after_value_inside(&self, frames: &[Frame], rest: &[u8]) -> Match {
        let Some((frame, outer)) = frames.split_last() else { return self.after_argument(rest) };
        let closer = match frame {
            Frame::List => b']',
            Frame::Tuple | Frame::Paren { .. } => b')',
            Frame::Set | Frame::Brace { .. } | Frame::Value => b'}',
            Frame::Key => b':',
        };
        match rest[0] {
            b',' if closer != b':' => self.item_or(closer, &rest[1..]),
            b':' if matches!(frame, Frame::Key | Frame::Brace { .. }) => self.item_or(0, &rest[1..]),
            byte if byte == closer && self.frames.len() - outer.len() < LEVELS => match self.skip_blanks(&rest[1..]) {
                Ok(ahead) => self.after_value(outer, ahead),
                Err(found) => found,
            },
            byte if byte == closer => Match::Full(1),
            _ => Match::No,
        }
    }

    /// Whether a value or `closer` follows.
    fn item_or(&self, closer: u8, rest: &[u8]) -> Match {
        let ahead = match self.skip_blanks(rest) {
            Ok(ahead) => ahead,
            Err(found) => return found,
        };
        match ahead[0] {
            byte if byte == closer => return Match::Full(1),
            b'0'..=b'9' | b'+' | b'-' | b'.' | b'[' | b'(' | b'{' | b'\'' | b'"' | b'#' => return Match::Full(1),
            _ => {}
        }
        let mut found = Match::No;
        for (word, _) in WORDS {
            match prefix(word.as_bytes(), ahead) {
                Match::No => {}
                other => found = other,
            }
        }
        match (found, string_start(ahead, self.at_end())) {
            (Match::No, StringStart::Text(_, n)) => Match::Full(n),
            (Match::No, StringStart::More) => Match::Partial,
            _ => self.settle(found),
        }
    }

    /// After an argument: a comma and the next keyword, or the call's closer and what follows a call.
    fn after_argument(&self, rest: &[u8]) -> Match {
        if rest[0] == b',' {
            let ahead = match self.skip_blanks(&rest[1..]) {
                Ok(ahead) => ahead,
                Err(found) => return found,
            };
            return match ahead[0] {
                b'#' => Match::Full(1),
                b')' => self.after_argument(ahead),
                _ => self.settle(keyword(ahead, self.at_end(), self.limits)),
            };
        }
        match first_of(&self.spec.call_close, rest) {
            Match::Full(n) => self.after_call(&rest[n..]),
            other => self.settle(other),
        }
    }

    /// After a call: the block's closer, the next call, or the end. Without a block, anything.
    fn after_call(&self, rest: &[u8]) -> Match {
        let spec = self.spec;
        if spec.block_close.is_empty() {
            return Match::Full(0);
        }
        let ahead = match self.skip_blanks(rest) {
            Ok(ahead) => ahead,
            Err(found) => return found,
        };
        let bracket = |l: &Literal| l.text().as_bytes().first().is_some_and(|b| *b == b']' && ahead[0] == b']');
        if spec.block_close.iter().any(bracket) {
            return Match::Full(1);
        }
        let fixed = either(first_of(&spec.block_close, ahead), first_of(&spec.call_open, ahead));
        let next = match first_of(&spec.between, ahead) {
            Match::Full(n) => match self.skip_blanks(&ahead[n..]) {
                Ok(ahead) => self.next_call(ahead),
                Err(found) => found,
            },
            Match::No if spec.between.is_empty() => self.next_call(ahead),
            other => other,
        };
        self.settle(either(fixed, next))
    }

    /// A name and its `(`.
    fn next_call(&self, rest: &[u8]) -> Match {
        let Match::Full(n) = name(rest, self.limits) else { return name(rest, self.limits) };
        match self.skip_blanks(&rest[n..]) {
            Ok(ahead) if ahead[0] == b'(' => Match::Full(n + 1),
            Ok(_) => Match::No,
            Err(found) => found,
        }
    }
}

/// The stronger of two results.
fn either(a: Match, b: Match) -> Match {
    match (a, b) {
        (Match::Full(_), _) => a,
        (_, Match::Full(_)) => b,
        (Match::Partial, _) | (_, Match::Partial) => Match::Partial,
        _ => Match::No,
    }
}

/// The first of `literals` at the start of `rest`.
fn first_of<'l>(literals: impl IntoIterator<Item = &'l Literal>, rest: &[u8]) -> Match {
    literals.into_iter().fold(Match::No, |found, literal| either(found, literal.at(rest)))
}
