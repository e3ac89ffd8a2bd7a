//! Text states: runs of text up to the next pattern of the place.

use crate::json::scan::{JsonScan, Scanned, Stop};
use crate::scan::{Match, blanks, deciding, prefix};
use crate::span::Span;

use super::scanset::{Action, At, Found, ScanSet};
use super::state::{Mode, Place};
use super::{Flow, Go};

impl<'a> Flow<'a> {
    /// Reads text up to the next pattern.
    pub(crate) fn text(&mut self) -> Go {
        if self.s.strip.is_some() && self.strip() == Go::Wait {
            return Go::Wait;
        }
        if self.pos == self.w.len() && !self.over() {
            return Go::Wait;
        }
        if self.s.place == Place::Header {
            return self.header();
        }
        if self.s.fresh {
            return self.fresh();
        }
        let tables = self.tables;
        let set = tables.set(self.s.place);
        let bytes = self.w.as_bytes();
        let mut from = self.pos;
        let asks = self.request_options.asks();
        loop {
            let edges = self.has_edges();
            let Some(at) = set.candidate(bytes, from, asks) else {
                let end = self.w.len();
                let ends = edges && (!self.over() || self.s.place.thinks());
                self.give(if ends { self.edge(end) } else { end });
                return Go::Wait;
            };
            match self.peek(set, at) {
                At::Nothing => from = at + 1,
                At::Partial => {
                    self.give(if edges { self.edge(at) } else { at });
                    return Go::Wait;
                }
                At::Found(found) => {
                    let ends = edges && self.ends_piece(set.patterns[found.pattern].action);
                    self.give(if ends { self.edge(at) } else { at });
                    self.apply(at, found);
                    return Go::Again;
                }
            }
        }
    }

    /// Searches at a position of the window; ignores a header that this request or place excludes.
    fn peek(&self, set: &ScanSet, at: usize) -> At {
        let tokens = &*self.tokens;
        let base = self.base;
        match set.at(self.w.as_bytes(), at, self.over(), |place, id| tokens.begins(base + place as u64, id)) {
            At::Found(found) if self.rules_out(set, found) => At::Nothing,
            other => other,
        }
    }

    fn rules_out(&self, set: &ScanSet, found: Found) -> bool {
        match set.patterns[found.pattern].action {
            Action::Open(call_header) => !self.alternatives(call_header).any(|_| true),
            _ => false,
        }
    }

    /// Drops framing or optional text next to the last marker.
    fn strip(&mut self) -> Go {
        let tables = self.tables;
        while let Some((trail, i)) = self.s.strip {
            let Some(strip) = tables.trails.get(trail).and_then(|t| t.get(i)) else {
                self.s.strip = None;
                break;
            };
            let rest = &self.w.as_bytes()[self.pos..];
            match prefix(strip.text.as_bytes(), rest) {
                Match::Full(n) => {
                    self.stripped(n, strip.of_marker);
                    self.s.strip = Some((trail, i + 1));
                }
                Match::Partial if !self.over() => return Go::Wait,
                Match::Partial if strip.of_marker => {
                    let n = rest.len();
                    self.stripped(n, true);
                    self.s.strip = None;
                }
                _ => self.s.strip = Some((trail, i + 1)),
            }
        }
        Go::Again
    }

    /// Framing was dropped; it stays where two pieces of a field meet.
    fn stripped(&mut self, n: usize, of_marker: bool) {
        let text = &self.w[self.pos..self.pos + n];
        if !of_marker && self.has_edges() && (self.s.behind || self.s.place.thinks()) {
            // White space: the text after it shows whether it is an edge.
            self.keep_pending(self.pos + n);
            return;
        }
        if !of_marker {
            if self.s.place.thinks() {
                self.tokens.reason(self.offset(self.pos), self.offset(self.pos + n));
                if self.s.reasoning_said {
                    self.s
                        .reasoning_gap_at
                        .grow(self.s.reasoning_gap.is_empty(), Span::of(self.offset(self.pos), text));
                    self.s.reasoning_gap.push_str(text);
                }
            } else if self.s.content_said && self.s.place != Place::Block {
                self.s.content_gap_at.grow(self.s.content_gap.is_empty(), Span::of(self.offset(self.pos), text));
                self.s.content_gap.push_str(text);
            }
        }
        self.pos += n;
    }

    /// At the start of a run: white space waits for the text after it.
    fn fresh(&mut self) -> Go {
        if self.s.bare_thought
            && let Some(go) = self.bare_thought()
        {
            return go;
        }
        let bytes = self.w.as_bytes();
        let known = self.s.seen;
        let n = known + blanks(&bytes[self.pos + known..]);
        let at = self.pos + n;
        if n > self.limits.blank {
            // A run this long is text, whatever follows.
            self.begin_text(self.pos + self.limits.blank + 1);
            return Go::Again;
        }
        if at == bytes.len() {
            if self.over() {
                // Only white space came: it is dropped, or ends the thought.
                if self.has_edges() {
                    self.end_fresh();
                } else if self.s.place.thinks() {
                    self.give(at);
                }
                self.pos = at;
                self.s.seen = 0;
                return Go::Wait;
            }
            self.s.seen = n;
            return Go::Wait;
        }
        let tables = self.tables;
        match self.peek(tables.set(self.s.place), at) {
            At::Partial => {
                self.s.seen = n;
                Go::Wait
            }
            At::Found(found) => {
                self.s.seen = 0;
                self.apply(at, found);
                Go::Again
            }
            At::Nothing => {
                if let (Place::Block, Some(call_header)) = (self.s.place, tables.bare_in_block) {
                    self.s.seen = 0;
                    self.open(call_header, at, at);
                    return Go::Again;
                }
                let first = self.w[at..].chars().next().map_or(0, char::len_utf8);
                if self.s.place == Place::Wait {
                    // The gate opens with the byte that excludes a marker; at the end of the output there is none.
                    let begins = |id| self.tokens.begins(self.offset(at), id);
                    let reach = tables.set(Place::Wait).reach(&bytes[at..], 0, begins);
                    if at + reach < bytes.len() {
                        self.tokens.open_gate(self.offset(self.pos), self.offset(at + reach.max(first - 1) + 1));
                    } else {
                        self.s.place = Place::Content;
                        self.s.seen = 0;
                        self.s.fresh = false;
                        self.give(bytes.len());
                        return Go::Again;
                    }
                }
                if self.has_edges() {
                    self.drop_leading(at);
                }
                // The text is searched again as a run: its first byte begins no pattern.
                self.text_starts(at + first);
                Go::Again
            }
        }
    }

    /// At the very start of the output: a thought may begin without its opener.
    fn bare_thought(&mut self) -> Option<Go> {
        let tables = self.tables;
        let bare = tables.words.bare_thought.as_deref().unwrap_or_default();
        match prefix(bare.as_bytes(), self.w.as_bytes()) {
            Match::Partial if !self.over() => Some(Go::Wait),
            Match::Full(n) if !self.s.place.thinks() && n > 0 => {
                self.s.bare_thought = false;
                let opener = &tables.words.opener;
                self.repaired(self.base, "", opener, "the thought's opener is missing");
                self.pos = n;
                self.s.place = Place::ReasonFresh;
                Some(Go::Again)
            }
            _ => {
                self.s.bare_thought = false;
                None
            }
        }
    }

    /// Text begins: the place determines its field, and the white space before belongs to it.
    pub(crate) fn begin_text(&mut self, to: usize) {
        if self.s.fresh && self.has_edges() {
            let n = blanks(&self.w.as_bytes()[self.pos..to]);
            if n + self.s.pending.len() > self.limits.blank {
                let pending = std::mem::take(&mut self.s.pending);
                self.pending_text(&pending);
            } else {
                self.drop_leading(self.pos + n);
            }
        }
        self.text_starts(to);
        self.give(to);
    }

    /// As [`Self::begin_text`], without emitting any of it.
    fn text_starts(&mut self, to: usize) {
        self.s.seen = 0;
        self.s.fresh = false;
        match self.s.place {
            Place::Wait | Place::Gap => self.s.place = Place::Content,
            Place::GapAfter => self.s.place = Place::After,
            Place::ReasonFresh => self.s.place = Place::Reason,
            _ => {}
        }
        if !self.s.place.thinks() {
            self.tokens.open_gate(self.offset(self.pos), self.offset(to));
        }
    }

    /// In a header text is held: an opener drops it.
    fn header(&mut self) -> Go {
        let tables = self.tables;
        let set = tables.set(Place::Header);
        let bytes = self.w.as_bytes();
        let mut from = self.pos + self.s.seen;
        // A longer header is text: its first bytes, up to the end of the character after the last that may be held. The
        // bytes that exclude an opener among them may be some more.
        let text_end = self.pos + deciding(&self.w[self.pos..], self.limits.header).len();
        let is_long = text_end - self.pos > self.limits.header;
        let mut decided = text_end;
        loop {
            let found = set.candidate(bytes, from, self.request_options.asks());
            let found = found.filter(|at| !is_long || *at <= self.pos + self.limits.header);
            let Some(at) = found else {
                self.s.seen = bytes.len() - self.pos;
                break;
            };
            match self.peek(set, at) {
                At::Nothing => {
                    let begins = |id| self.tokens.begins(self.offset(at), id);
                    if is_long {
                        decided = decided.max(at + set.reach(&bytes[at..], 0, begins) + 1);
                    }
                    from = at + 1;
                }
                At::Partial => {
                    self.s.seen = at - self.pos;
                    break;
                }
                At::Found(found) => {
                    self.s.seen = 0;
                    if self.in_header(at, found) {
                        self.apply(at, found);
                        self.leave_header(set.patterns[found.pattern].action);
                    }
                    return Go::Again;
                }
            }
        }
        if is_long && self.s.seen > self.limits.header {
            self.header_is_text(text_end, decided.min(bytes.len()));
            return Go::Again;
        }
        if self.over() {
            self.header_is_text(bytes.len(), bytes.len());
            return Go::Again;
        }
        Go::Wait
    }

    /// The header is text, as the bytes before `decided` show.
    pub(super) fn header_is_text(&mut self, to: usize, decided: usize) {
        self.s.seen = 0;
        if self.w[self.pos..to].trim().is_empty() {
            self.pos = to;
            if self.over() && self.pos == self.w.len() {
                self.s.place = Place::Content;
                self.s.fresh = false;
            }
            return;
        }
        self.s.place = Place::Content;
        if self.over() {
            // The header might have continued, so it does not open the gate.
            self.s.fresh = false;
            self.give(to);
        } else {
            self.tokens.open_gate(self.offset(self.pos), self.offset(decided));
            self.begin_text(to);
        }
    }

    /// A JSON value that is not a call passes through to its end without a search.
    pub(crate) fn skip(&mut self) -> Go {
        let Mode::Skip(scan) = &mut self.s.mode else { return Go::Wait };
        let rest = &self.w.as_bytes()[self.pos..];
        let Scanned { len, stop } = scan.skip(rest, JsonScan::DEEPEST);
        let over = stop != Stop::More;
        let to = self.pos + len;
        if over {
            self.s.mode = Mode::Text;
        }
        self.give(to);
        if over { Go::Again } else { Go::Wait }
    }
}
