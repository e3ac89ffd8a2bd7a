//! Consecutive headers of calls: a repeated header counts once, and one followed by another call's header is a call
//! without arguments.

use std::borrow::Cow;

use crate::body::params::escape;
use crate::body::{BodyMachine, Eof};
use crate::call_header::{Cursor, Program};
use crate::format::template::Slot;
use crate::request::ToolChoice;
use crate::scan::{Match, blanks};

use super::calls::CallHeader;
use super::numbered::{AlternativeId, CallHeaderId};
use super::read_header::in_tags;
use super::state::{Mode, Origin};
use super::tables::{Alternative, Guided};
use super::{Flow, Go};

/// A complete header.
struct Header {
    alternative: AlternativeId,
    cursor: Cursor,
    name: String,
    id: Option<String>,
}

impl Header {
    fn is_again(&self, other: &Self) -> bool {
        self.name == other.name && self.id == other.id
    }
}

impl Flow<'_> {
    /// Another call's opener follows the complete header of cursor `i`: continues there.
    pub(crate) fn another(&mut self, i: usize) -> Go {
        let tables = self.tables;
        let held = &self.w[self.pos..];
        let Mode::Header(pending) = &self.s.mode else { return Go::Wait };
        let at = pending.cursors[i].1.pos;
        let white = tables.alternatives[pending.cursors[i].0].program.blanks;
        let at = at + white.before(&held.as_bytes()[at..]);
        let found = self.header_at(&held.as_bytes()[at..]);
        let cursors: Vec<_> = found.map_or_else(Vec::new, |(call_header, len)| {
            let named = self.alternatives(call_header).filter(|i| self.is_named(*i));
            named.map(|alternative| (alternative, Cursor::at(at + len))).collect()
        });
        let Mode::Header(pending) = &mut self.s.mode else { return Go::Wait };
        pending.last = pending.last.max(at);
        let header = pending.cursors.swap_remove(i);
        pending.before.push(header);
        pending.cursors = cursors;
        Go::Again
    }

    /// The opener of a call at the start of `rest`, and its length.
    fn header_at(&self, rest: &[u8]) -> Option<(CallHeaderId, usize)> {
        let all = self.tables.headers.iter().filter_map(|(literal, call_header)| match literal.at(rest) {
            Match::Full(n) => Some((*call_header, n)),
            _ => None,
        });
        all.max_by_key(|(_, n)| *n)
    }

    fn is_named(&self, alternative: AlternativeId) -> bool {
        let form = self.tables.alternatives[alternative].form;
        !self.tables.forms[form].body.machine().names_itself()
    }

    /// Whether a header at the end of the output is a call without arguments: its last marker is a special token.
    pub(crate) fn ends_special(&self, cursor: &Cursor) -> bool {
        let rest = &self.w[self.pos..];
        let header = rest[..cursor.pos].trim_end();
        self.eof == Eof::Stop
            && rest[cursor.pos..].trim().is_empty()
            && self.tables.special.iter().any(|special| header.ends_with(special.as_str()))
    }

    /// Announces the calls of all these headers; the last one's arguments begin, unless it `is_empty`. Returns false if
    /// one has no name.
    pub(crate) fn announce_headers(
        &mut self,
        headers: Vec<(AlternativeId, Cursor)>,
        (mut origin, is_empty): (Origin, bool),
    ) -> bool {
        let w = self.w;
        let raw = &w[self.pos..];
        let end = headers.last().map_or(0, |(_, cursor)| cursor.pos);
        let blanks_in = headers.last().map(|(i, _)| self.tables.alternatives[*i].program.blanks).unwrap_or_default();
        let held = in_tags(&raw[..end], blanks_in);
        let named = headers.into_iter().map(|(alternative, cursor)| {
            let (name, id) = self.header_name(alternative, &cursor, &held);
            Header { alternative, cursor, name, id }
        });
        let named: Vec<Header> = named.collect();
        if named.iter().any(|header| header.name.is_empty()) {
            return false;
        }
        let (start, mut from) = (self.pos, 0);
        let mut groups = named.chunk_by(Header::is_again).peekable();
        while let Some(same) = groups.next() {
            let is_last = groups.peek().is_none();
            let (mut opened, machine) = self.opened(same, from, (start, raw));
            opened.closed |= !is_last || is_empty;
            opened.origin = origin;
            from += opened.raw.len();
            self.pos = start + from;
            self.announce(opened, machine);
            let lead = blanks(&raw.as_bytes()[from..]);
            origin = Origin { place: self.s.place, fresh: self.s.fresh, lead, first: lead };
        }
        true
    }

    /// The contents of a header that occurs once or more; its bytes are `raw[from..]` up to its last end.
    fn opened<'w>(
        &self,
        same: &[Header],
        from: usize,
        (start, raw): (usize, &'w str),
    ) -> (CallHeader<'w>, BodyMachine) {
        let alternatives = &self.tables.alternatives;
        let last = &same[same.len() - 1];
        let form = alternatives[last.alternative].form;
        let mut again: Vec<(usize, usize)> = Vec::new();
        for (i, header) in same.iter().enumerate() {
            again.extend(header.cursor.repeats.iter().copied());
            if let Some(next) = same.get(i + 1) {
                let end = header.cursor.pos;
                again.push((end + blanks(&raw.as_bytes()[end..]), next.cursor.pos));
            }
        }
        // An id is a single word.
        let odd = same.iter().filter_map(|header| header.cursor.behind_word(Slot::Id, raw));
        let unplaced: Vec<_> = last.cursor.unplaced.iter().copied().chain(odd).collect();
        let shift = |ranges: &[(usize, usize)]| ranges.iter().map(|(a, b)| (a - from, b - from)).collect();
        let opened = CallHeader {
            form,
            block: same.iter().any(|header| alternatives[header.alternative].block.is_some()),
            name: last.name.clone(),
            id: last.id.clone(),
            closed: last.cursor.closed,
            origin: Origin::default(),
            raw: &raw[from..last.cursor.pos],
            start: self.offset(start + from),
            unplaced: shift(&unplaced),
            repeats: shift(&again),
        };
        (opened, self.tables.forms[form].body.machine())
    }

    /// Name and native id, from the request or the slots of a header.
    fn header_name(&self, alternative: AlternativeId, cursor: &Cursor, held: &str) -> (String, Option<String>) {
        let Alternative { guided, program, .. } = &self.tables.alternatives[alternative];
        match (guided, &self.request_options.choice) {
            (Guided::Named, ToolChoice::Named(name)) => (name.clone(), None),
            _ => self.read_name(program, cursor, held),
        }
    }

    /// Name and native id, from the slots of a header.
    fn read_name(&self, program: &Program, cursor: &Cursor, held: &str) -> (String, Option<String>) {
        let id = cursor.value(Slot::Id, held).map(|id| id.split_whitespace().next().unwrap_or("").to_owned());
        if let Some(name) = cursor.value(Slot::Name, held) {
            let escaped = self.tables.words.entities && program.is_attribute(Slot::Name);
            let name = if escaped { escape::decode(name) } else { Cow::Borrowed(name) };
            return (name.into_owned(), id.filter(|id| !id.is_empty()));
        }
        let id = id.unwrap_or_default();
        let pattern = self.tables.words.native_ids.as_deref().unwrap_or("{name}");
        let (before, after) = pattern.split_once("{name}").unwrap_or(("", ""));
        let separator = after.split("{index}").next().unwrap_or("");
        let tail = id.strip_prefix(before).unwrap_or(&id);
        let counted = tail.rsplit_once(separator).filter(|(_, index)| !separator.is_empty() && is_number(index));
        match counted.map(|(name, _)| name.to_owned()) {
            Some(name) => (name, Some(id)),
            None => (tail.to_owned(), None),
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
