//! What stands ahead: whether the structure of a call goes on behind a string or a bare value.

use super::{Frame, LiteralsSpec};
use crate::body::Eof;
use crate::limits::Limits;
use crate::scan::{Literal, Match, blanks};

/// How many brackets a look-ahead closes before it believes.
const LEVELS: usize = 4;

/// What the reader stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Key,
    Value,
}

/// A look ahead from inside a string or a bare value.
pub(super) struct Look<'a> {
    pub(super) spec: &'a LiteralsSpec,
    pub(super) frames: &'a [Frame],
    pub(super) limits: &'a Limits,
    pub(super) eof: Eof,
}

/// The better of two findings.
fn either(a: Match, b: Match) -> Match {
    match (a, b) {
        (Match::Full(_), _) => a,
        (_, Match::Full(_)) => b,
        (Match::Partial, _) | (_, Match::Partial) => Match::Partial,
        _ => Match::No,
    }
}

/// The first of `literals` that stands at the start of `rest`.
pub(super) fn first_of(literals: &[Literal], rest: &[u8]) -> Match {
    literals.iter().fold(Match::No, |found, literal| either(found, literal.at(rest)))
}

impl Look<'_> {
    fn at_end(&self) -> bool {
        self.eof != Eof::No
    }

    /// What cannot be decided because the output ends is taken as good.
    fn settle(&self, found: Match) -> Match {
        if found == Match::Partial && self.at_end() { Match::Full(0) } else { found }
    }

    /// `rest` behind its white space; an error if that is too long, or nothing follows.
    fn skip_blanks<'b>(&self, rest: &'b [u8]) -> Result<&'b [u8], Match> {
        let gap = blanks(rest);
        if gap > self.limits.blank {
            Err(Match::No)
        } else if gap == rest.len() {
            Err(self.settle(Match::Partial))
        } else {
            Ok(&rest[gap..])
        }
    }

    /// Whether structure follows a delimiter: a separator or closer of its place, or the call's closer.
    pub(super) fn after_delimiter(&self, place: Place, rest: &[u8]) -> Match {
        let ahead = match self.skip_blanks(rest) {
            Ok(ahead) => ahead,
            Err(found) => return found,
        };
        let closes = match (place, self.frames.last()) {
            (Place::Key, Some(frame)) => frame.separates(ahead[0]),
            (Place::Value, Some(frame)) => ahead[0] == b',' || ahead[0] == frame.closer(),
            (_, None) => true,
        };
        if closes { Match::Full(1) } else { self.settle(first_of(&self.spec.follow.call_close, ahead)) }
    }

    /// Whether structure follows a plain quote. Other than a delimiter it is an ordinary sign, so a comma counts only
    /// before a key, and a closing bracket only if what is around it goes on.
    pub(super) fn after_quote(&self, place: Place, rest: &[u8]) -> Match {
        let ahead = match self.skip_blanks(rest) {
            Ok(ahead) => ahead,
            Err(found) => return found,
        };
        if place == Place::Key {
            return self.after_delimiter(place, ahead);
        }
        self.after_value(self.frames, ahead)
    }

    /// Whether the comma before `rest` separates: a key and its colon follow, or the closer. In a list it always does.
    pub(super) fn after_comma(&self, frames: &[Frame], rest: &[u8]) -> Match {
        let Some(frame @ Frame::Object { .. }) = frames.last() else { return Match::Full(0) };
        let gap = rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',')).count();
        if gap > self.limits.blank {
            return Match::No;
        }
        let ahead = &rest[gap..];
        let Some(&byte) = ahead.first() else { return self.settle(Match::Partial) };
        if byte == frame.closer() {
            return Match::Full(1);
        }
        let delimiter = self.spec.open.at(ahead);
        if delimiter != Match::No {
            return self.settle(delimiter);
        }
        self.settle(either(self.short_key(frame, ahead), first_of(&self.spec.follow.call_close, ahead)))
    }

    /// A quoted key, or a bare one without white space, with its colon.
    fn short_key(&self, frame: &Frame, rest: &[u8]) -> Match {
        let quote = rest.first().copied().filter(|b| matches!(b, b'"' | b'\''));
        let inside = &rest[usize::from(quote.is_some())..];
        let in_key = |b: &u8| match quote {
            Some(quote) => *b != quote && !matches!(b, b'\n' | b'\r'),
            None => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$') || *b >= 0x80,
        };
        let Some(n) = inside.iter().take(self.limits.name + 1).position(|b| !in_key(b)) else {
            return if inside.len() > self.limits.name { Match::No } else { Match::Partial };
        };
        let behind = match (quote, inside.get(n)) {
            (Some(quote), Some(b)) if *b != quote => return Match::No,
            (Some(_), _) => &inside[n + 1..],
            (None, _) if n == 0 => return Match::No,
            (None, _) => &inside[n..],
        };
        match self.skip_blanks(behind) {
            Ok(ahead) if frame.separates(ahead[0]) => Match::Full(n),
            Ok(_) => Match::No,
            Err(found) => found,
        }
    }

    /// Whether what may stand behind a value inside `frames` stands at the start of `rest`.
    fn after_value(&self, frames: &[Frame], rest: &[u8]) -> Match {
        let Some((frame, outer)) = frames.split_last() else { return self.after_body(rest) };
        if rest[0] == b',' {
            return self.after_comma(frames, &rest[1..]);
        }
        if rest[0] != frame.closer() {
            return self.settle(first_of(&self.spec.follow.call_close, rest));
        }
        if self.frames.len() - outer.len() > LEVELS {
            return Match::Full(1);
        }
        match self.skip_blanks(&rest[1..]) {
            Ok(ahead) => self.after_value(outer, ahead),
            Err(found) => found,
        }
    }

    /// Behind the arguments: the call's closer, or a further closing bracket before it. If a call has no closer, anything.
    fn after_body(&self, rest: &[u8]) -> Match {
        let closers = &self.spec.follow.call_close;
        if closers.is_empty() || matches!(rest[0], b'}' | b')') {
            return Match::Full(1);
        }
        self.settle(either(first_of(closers, rest), first_of(&self.spec.follow.call_open, rest)))
    }

    /// Whether the call ends here although a string is open: its closer stands at the start of `rest`, or behind a bracket
    /// there, and then the next call, the block's closer or the end of the output. `Full` gives the bytes before the closer.
    pub(super) fn is_abandoned(&self, rest: &[u8]) -> Match {
        let mut before = 0;
        if matches!(rest[0], b'}' | b')') {
            match self.skip_blanks(&rest[1..]) {
                Ok(ahead) => before = rest.len() - ahead.len(),
                Err(Match::Partial) => return Match::Partial,
                Err(_) => return Match::No,
            }
        }
        let n = match first_of(&self.spec.follow.call_close, &rest[before..]) {
            Match::Full(n) => n,
            Match::Partial if !self.at_end() => return Match::Partial,
            _ => return Match::No,
        };
        let ahead = match self.skip_blanks(&rest[before + n..]) {
            Ok(ahead) => ahead,
            Err(Match::Full(_)) => return Match::Full(before),
            Err(found) => return found,
        };
        match either(first_of(&self.spec.follow.call_open, ahead), first_of(&self.spec.follow.block_close, ahead)) {
            Match::Full(_) => Match::Full(before),
            Match::Partial if !self.at_end() => Match::Partial,
            _ => Match::No,
        }
    }

    /// Bytes of a further closing bracket that stands between the arguments and the call's closer.
    pub(super) fn extra_bracket(&self, rest: &[u8]) -> Match {
        let ahead = match self.skip_blanks(rest) {
            Ok(ahead) => ahead,
            Err(Match::Partial) => return Match::Partial,
            Err(_) => return Match::No,
        };
        if !matches!(ahead[0], b'}' | b')') {
            return Match::No;
        }
        let behind = match self.skip_blanks(&ahead[1..]) {
            Ok(behind) => behind,
            Err(Match::Partial) => return Match::Partial,
            Err(_) => return Match::No,
        };
        match first_of(&self.spec.follow.call_close, behind) {
            Match::Full(_) => Match::Full(rest.len() - behind.len()),
            Match::Partial if !self.at_end() => Match::Partial,
            _ => Match::No,
        }
    }
}
