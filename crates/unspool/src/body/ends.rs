//! What may end a body inside an open value: closers, and the look-ahead that makes them count.

use serde::{Deserialize, Serialize};

use super::Follow;
use crate::marks::Blanks;
use crate::scan::{Literal, Match};

/// A closer of the call or block, and what must follow it to end an open value.
#[derive(Debug, Clone)]
pub(super) struct Ender {
    pub(super) literal: Literal,
    pub(super) followers: Vec<Literal>,
}

/// The closers that end an open value if structure follows: a call's closer before the block's or the next call, a
/// block's closer before the next call.
pub(super) fn enders(follow: &Follow) -> Vec<Ender> {
    let mut enders: Vec<Ender> = Vec::new();
    let of_call = follow.call_close.iter().map(|l| (l, true));
    for (literal, is_call) in of_call.chain(follow.block_close.iter().map(|l| (l, false))) {
        if enders.iter().any(|e| e.literal == *literal) {
            continue;
        }
        let others = follow.call_close.iter().filter(|l| *l != literal).chain(&follow.block_close);
        let mut followers: Vec<Literal> = if is_call { others.cloned().collect() } else { Vec::new() };
        followers.extend(follow.call_open.iter().cloned());
        enders.push(Ender { literal: literal.clone(), followers });
    }
    enders
}

/// The first of `literals` at the start of `rest`, in order; an undecided one blocks later ones.
pub(super) fn first_match(literals: &[Literal], rest: &[u8]) -> Match {
    literals.iter().map(|l| l.at(rest)).find(|m| *m != Match::No).unwrap_or(Match::No)
}

/// What must follow a closer.
pub(super) struct Structure<'a> {
    /// One of these,
    pub(super) literals: &'a [Literal],
    /// after at most this much white space, in bytes,
    pub(super) most: usize,
    /// in this definition of white space.
    pub(super) blanks: Blanks,
}

/// A look-ahead over the white space after a closer. It resumes where it stopped.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct LookPast {
    /// Length of the closer, without and with the white space seen.
    seen: Option<(usize, usize)>,
}

impl LookPast {
    /// Whether structure follows in `bytes` after a closer of `len` bytes. Partial: more bytes are needed.
    pub(super) fn follows(&mut self, bytes: &[u8], len: usize, what: &Structure<'_>) -> Match {
        let seen = self.seen.filter(|(of, end)| *of == len && *end <= bytes.len()).map_or(len, |(_, end)| end);
        let end = seen + what.blanks.before(&bytes[seen..]);
        if end - len > what.most {
            return Match::No;
        }
        self.seen = Some((len, end));
        if end == bytes.len() { Match::Partial } else { first_match(what.literals, &bytes[end..]) }
    }
}
