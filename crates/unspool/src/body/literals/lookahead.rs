//! Look-ahead: whether the structure of a call continues after a string or a bare value.

use super::{Frame, LiteralsSpec};
use crate::body::Eof;
use crate::limits::Limits;
use crate::scan::{Literal, Match, blanks};
use crate::schema::FunctionSchema;

/// Number of brackets that a look-ahead follows.
const LEVELS: usize = 4;

/// The context of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Key,
    Value,
}

/// A look-ahead from inside a string or a bare value.
pub(super) struct Lookahead<'a> {
    pub(super) spec: &'a LiteralsSpec,
    pub(super) frames: &'a [Frame],
    pub(super) limits: &'a Limits,
    /// The function's, if the request has it.
    pub(super) schema: Option<&'a FunctionSchema>,
    pub(super) eof: Eof,
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
pub(super) fn first_of(literals: &[Literal], rest: &[u8]) -> Match {
    literals.iter().fold(Match::No, |found, literal| either(found, literal.at(rest)))
}

/// Whether a key is one word.
fn is_word(key: &[u8]) -> bool {
    !key.iter().any(u8::is_ascii_whitespace)
}

impl Lookahead<'_> {
    fn at_end(&self) -> bool {
        self.eof != Eof::No
    }

    /// If the output ends before a decision, the result is positive.
    fn settle(&self, found: Match) -> Match {
        if found == Match::Partial && self.at_end() { Match::Full(0) } else { found }
    }

    /// `rest` after its white space; an error if that is too long, or nothing follows.
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
            (Place::Key, Some(_)) => Frame::separates(ahead[0]),
            (Place::Value, Some(_)) if ahead[0] == b',' => {
                return self.after_comma(self.frames, &ahead[1..], &|_, _| true);
            }
            (Place::Value, Some(frame)) => ahead[0] == frame.closer(),
            (_, None) => true,
        };
        if closes { Match::Full(1) } else { self.settle(first_of(&self.spec.follow.call_close, ahead)) }
    }

    /// Whether structure follows a plain quote. Unlike a delimiter it is an ordinary character, so a comma counts only
    /// before a key, and a closing bracket only if the surrounding structure continues.
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

    /// Whether the comma before `rest` ends a bare value. After a number, boolean or null (`is_scalar`) it does before
    /// any key; after a text only before a key that the schema declares there, or, without a schema, before a word.
    pub(super) fn comma_ends_bare(&self, is_scalar: bool, rest: &[u8]) -> Match {
        self.after_comma(self.frames, rest, &|lookahead, key| is_scalar || lookahead.may_be_key(self.frames, key))
    }

    /// Whether a key without quotes is one that the schema declares in the innermost object of `frames`, or, without a
    /// schema, a single word.
    fn may_be_key(&self, frames: &[Frame], key: &[u8]) -> bool {
        let Some(Frame::Object { of, .. }) = frames.last() else { return false };
        let declared = self.schema.zip(std::str::from_utf8(key).ok()).and_then(|(schema, key)| {
            if frames.len() == 1 { schema.root() } else { schema.get((*of)?) }?.declares(key.trim())
        });
        declared.unwrap_or_else(|| is_word(key))
    }

    /// Whether the comma before `rest` is a separator: a key and its colon follow, or the closer. In a list it always
    /// is. `counts` says which keys without quotes count.
    fn after_comma(&self, frames: &[Frame], rest: &[u8], counts: &dyn Fn(&Self, &[u8]) -> bool) -> Match {
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
        let key = match byte {
            b'"' | b'\'' => self.quoted_key(byte, &ahead[1..]),
            _ => self.bare_key(ahead, counts),
        };
        self.settle(either(key, first_of(&self.spec.follow.call_close, ahead)))
    }

    /// The rest of a key in plain quotes, with its colon.
    fn quoted_key(&self, quote: u8, inside: &[u8]) -> Match {
        let ends = |b: &u8| *b == quote || matches!(b, b'\n' | b'\r');
        let Some(n) = inside.iter().take(self.limits.name + 1).position(ends) else {
            return if inside.len() > self.limits.name { Match::No } else { Match::Partial };
        };
        if inside[n] != quote {
            return Match::No;
        }
        match self.skip_blanks(&inside[n + 1..]) {
            Ok(ahead) if Frame::separates(ahead[0]) => Match::Full(n),
            Ok(_) => Match::No,
            Err(found) => found,
        }
    }

    /// A key without quotes that counts, with its colon. It may contain blanks.
    fn bare_key(&self, rest: &[u8], counts: &dyn Fn(&Self, &[u8]) -> bool) -> Match {
        let in_key = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$' | b' ') || *b >= 0x80;
        let Some(n) = rest.iter().take(self.limits.name + 1).position(|b| !in_key(b)) else {
            return if rest.len() > self.limits.name { Match::No } else { Match::Partial };
        };
        let is_key = n > 0 && Frame::separates(rest[n]) && counts(self, rest[..n].trim_ascii());
        if is_key { Match::Full(n) } else { Match::No }
    }

    /// Whether `rest` begins with something that may follow a value inside `frames`.
    fn after_value(&self, frames: &[Frame], rest: &[u8]) -> Match {
        let Some((frame, outer)) = frames.split_last() else { return self.after_body(rest) };
        if rest[0] == b',' {
            return self
                .after_comma(frames, &rest[1..], &|lookahead, key| lookahead.may_be_key(frames, key) || is_word(key));
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

    /// After the arguments: the call's closer, possibly after a further closing bracket. If a call has no closer,
    /// anything.
    fn after_body(&self, rest: &[u8]) -> Match {
        let closers = &self.spec.follow.call_close;
        if closers.is_empty() || matches!(rest[0], b'}' | b')') {
            return Match::Full(1);
        }
        self.settle(either(first_of(closers, rest), first_of(&self.spec.follow.call_open, rest)))
    }

    /// Whether the call ends here despite an open string: `rest` begins with its closer, possibly after a bracket,
    /// followed by the next call, the block's closer or the end of the output. `Full` gives the bytes before the
    /// closer.
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

    /// Length of a further closing bracket between the arguments and the call's closer.
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
