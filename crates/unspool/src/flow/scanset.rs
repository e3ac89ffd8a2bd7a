//! The patterns of one state, found in one pass.

use crate::scan::{Literal, Match, prefix};

use super::finder::Finder;
use super::numbered::{CallHeaderId, TrailId};

/// The action of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// A thought begins.
    OpenThought,
    /// A thought ends.
    CloseThought,
    /// A thought ends here; the literal itself is content.
    EndThoughtKeep,
    /// A thought ends here; the literal is dropped.
    EndThoughtDrop,
    /// An answer frame begins.
    OpenFrame,
    /// An answer frame ends.
    CloseFrame,
    /// It is dropped.
    Drop,
    /// It is dropped, unless its opener went back to text.
    DropCloser,
    /// A header begins.
    Header,
    /// A call or a block of calls may begin: the alternatives in [`super::tables::Tables::openings`].
    Open(CallHeaderId),
    /// A block of calls ends.
    CloseBlock,
    /// A late closer of a call.
    CloseCall,
    /// The message's body begins (channels).
    Body,
    /// A body's marker in a body (channels): it counts once if it repeats the one that opened the body, and is text
    /// otherwise.
    BodyAgain,
    /// The message ends (channels).
    EndMessage,
    /// The next message's header begins (channels).
    NextMessage,
}

impl Action {
    /// Whether two consecutive markers with this action count once.
    pub(crate) fn is_single(self) -> bool {
        match self {
            Self::OpenThought | Self::CloseThought | Self::OpenFrame | Self::CloseFrame => true,
            Self::Header | Self::Body | Self::BodyAgain | Self::EndMessage => true,
            Self::EndThoughtKeep | Self::EndThoughtDrop | Self::Drop | Self::DropCloser => false,
            Self::Open(_) | Self::CloseBlock | Self::CloseCall | Self::NextMessage => false,
        }
    }
}

/// One pattern of a state.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// Optional text before the literal that belongs to the pattern.
    pub(crate) lead: Box<str>,
    /// Whether the lead belongs to the marker (and is not framing that may have to stay).
    pub(crate) lead_of_marker: bool,
    /// The marker itself.
    pub(crate) literal: Literal,
    /// If ids are known, the marker counts only as this token.
    pub(crate) id: Option<u32>,
    /// Its action.
    pub(crate) action: Action,
    /// Text that may be stripped after it: index into [`super::tables::Tables::trails`].
    pub(crate) trail: Option<TrailId>,
}

/// The bit of a pattern; those beyond the last bit share it.
fn bit(pattern: usize) -> u64 {
    1 << pattern.min(63)
}

/// A pattern found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Index of the pattern in its set.
    pub(crate) pattern: usize,
    /// Length of the lead that was found.
    pub(crate) lead: usize,
    /// Length of lead and literal.
    pub(crate) len: usize,
}

/// The result of a search at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// No pattern.
    Nothing,
    /// Possibly a pattern; more bytes decide.
    Partial,
    /// This pattern.
    Found(Found),
}

/// The patterns of one state.
#[derive(Debug, Clone)]
pub(crate) struct ScanSet {
    pub(crate) patterns: Vec<Pattern>,
    finder: Finder,
    /// The patterns that count without a `tool_choice`.
    usual: Finder,
    /// For each byte, the patterns that it may begin, one bit each.
    beginning: Box<[u64; 256]>,
}

impl ScanSet {
    /// `asked`: for each pattern, whether it counts only if a request asks for it.
    pub(crate) fn new(patterns: Vec<Pattern>, asked: &[bool]) -> Self {
        let usual = patterns.iter().zip(asked).filter(|(_, asked)| !**asked).map(|(pattern, _)| pattern);
        let (finder, usual) = (Finder::new(patterns.iter()), Finder::new(usual));
        let mut beginning = Box::new([0; 256]);
        for (i, pattern) in patterns.iter().enumerate() {
            let firsts = [pattern.lead.bytes().next(), pattern.literal.first_byte()];
            for byte in firsts.into_iter().flatten() {
                beginning[usize::from(byte)] |= bit(i);
            }
        }
        Self { patterns, finder, usual, beginning }
    }

    /// First position at or after `from` where a pattern may begin. `is_asked`: include those that a request must ask
    /// for.
    #[inline]
    pub(crate) fn candidate(&self, input: &[u8], from: usize, is_asked: bool) -> Option<usize> {
        if is_asked { self.finder.find(input, from) } else { self.usual.find(input, from) }
    }

    /// The patterns that may begin with this byte, with their indices.
    fn beginning_with(&self, byte: Option<&u8>) -> impl Iterator<Item = (usize, &Pattern)> {
        let mask = byte.map_or(0, |byte| self.beginning[usize::from(*byte)]);
        self.patterns.iter().enumerate().filter(move |(i, _)| mask & bit(*i) != 0)
    }

    /// Searches at `at`. `by_id(place, id)`: `Some(false)` if ids are known and this token does not begin there.
    pub(crate) fn at(&self, input: &[u8], at: usize, eof: bool, by_id: impl Fn(usize, u32) -> Option<bool>) -> At {
        let rest = &input[at..];
        let mut best: Option<Found> = None;
        let mut partial = false;
        for (i, pattern) in self.beginning_with(rest.first()) {
            for lead in [pattern.lead.as_bytes(), &[]] {
                let taken = match prefix(lead, rest) {
                    Match::Full(n) => n,
                    Match::Partial => {
                        // The entire rest is lead: a marker may follow.
                        partial = true;
                        continue;
                    }
                    Match::No => continue,
                };
                match pattern.literal.at(&rest[taken..]) {
                    Match::No => {}
                    Match::Partial => {
                        partial |=
                            pattern.id.is_none_or(|id| rest.len() == taken || by_id(at + taken, id) != Some(false));
                    }
                    Match::Full(n) => {
                        if pattern.id.is_none_or(|id| by_id(at + taken, id) != Some(false))
                            && best.is_none_or(|b| b.len < taken + n)
                        {
                            best = Some(Found { pattern: i, lead: taken, len: taken + n });
                        }
                    }
                }
                if lead.is_empty() {
                    break;
                }
            }
        }
        match best {
            Some(found) if !partial || eof || !self.may_grow(rest, found) => At::Found(found),
            _ if partial && !eof => At::Partial,
            Some(found) => At::Found(found),
            None => At::Nothing,
        }
    }

    /// The number of bytes of `rest`, without a pattern longer than `found`, that leave a longer one possible. `by_id`
    /// as in [`Self::at`].
    pub(crate) fn reach(&self, rest: &[u8], found: usize, by_id: impl Fn(u32) -> Option<bool>) -> usize {
        let longer = self.patterns.iter().filter(|p| p.literal.text().len() > found);
        let open = longer.filter(|p| p.id.is_none_or(|id| by_id(id) != Some(false)));
        open.map(|p| p.literal.reach(rest)).max().unwrap_or(0)
    }

    /// Whether a longer pattern than the one found is still possible.
    fn may_grow(&self, rest: &[u8], found: Found) -> bool {
        self.beginning_with(rest.first())
            .any(|(_, p)| p.literal.text().len() > found.len - found.lead && p.literal.at(rest) == Match::Partial)
    }
}

/// Markers of thoughts, frames and messages.
pub(super) fn single(sets: &[ScanSet]) -> Vec<Box<str>> {
    let mut single: Vec<Box<str>> = Vec::new();
    for pattern in sets.iter().flat_map(|set| &set.patterns).filter(|pattern| pattern.action.is_single()) {
        if !single.iter().any(|known| **known == *pattern.literal.text()) {
            single.push(pattern.literal.text().into());
        }
    }
    single
}
