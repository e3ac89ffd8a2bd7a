//! Headers of calls: held until the name is known, or given back where they stood ("retreat").

use std::borrow::Cow;
use std::mem;

use crate::body::{Cx, Eof, Out, Repair, Status};
use crate::call_header::{Advance, Cursor, Op};
use crate::diagnostic::DiagnosticKind;
use crate::marks::{Blanks, blank_marks};
use crate::request::{IncompleteCalls, ToolChoice};
use crate::scan::{Match, deciding};

use super::calls::CallHeader;
use super::numbered::{AlternativeId, CallHeaderId};
use super::state::{BeforeName, Mode, Origin, PendingHeader, Place};
use super::tables::{Alternative, Guided};
use super::{Flow, Go};

/// Discards output: an envelope writes nothing before its name.
struct Silent;

impl Out for Silent {
    fn args(&mut self, _json: &str) {}
    fn report(&mut self, _kind: DiagnosticKind, _at: usize, _text: &str, _message: &str) {}
    fn repaired(&mut self, _repair: Repair<'_>) {}
}

impl Flow<'_> {
    /// The alternatives of a header that count in this place and request.
    pub(crate) fn alternatives(&self, call_header: CallHeaderId) -> impl Iterator<Item = AlternativeId> + '_ {
        let all = self.tables.call_headers.get(call_header).map_or(&[][..], Vec::as_slice);
        all.iter().copied().filter(|i| self.counts(&self.tables.alternatives[*i]))
    }

    fn counts(&self, alternative: &Alternative) -> bool {
        let at_start = self.s.fresh
            && !self.s.content_said
            && matches!(self.s.place, Place::Wait | Place::Content | Place::After | Place::Gap | Place::GapAfter);
        let wanted = match alternative.guided {
            Guided::No => true,
            Guided::Required => self.request_options.choice == ToolChoice::Required,
            Guided::Named => matches!(self.request_options.choice, ToolChoice::Named(_)) && self.s.calls_seen == 0,
        };
        wanted && (!alternative.at_start || at_start)
    }

    /// Handles an opener at `marker..end`; white space and framing from `pos` to there is held with it.
    pub(crate) fn open(&mut self, call_header: CallHeaderId, marker: usize, end: usize) {
        let origin =
            Origin { place: self.s.place, fresh: self.s.fresh, lead: marker - self.pos, first: end - self.pos };
        self.gate_of_opener(call_header, marker, end);
        let mut cursors = mem::take(&mut self.s.spare.cursors);
        cursors.extend(self.alternatives(call_header).map(|i| {
            let Alternative { bare, ref program, .. } = self.tables.alternatives[i];
            let mut cursor = Cursor::at(if bare { origin.lead } else { origin.first });
            if program.is_header() {
                cursor.pass(self.s.no_header.saturating_sub(self.offset(self.pos)));
            }
            (i, cursor)
        }));
        let message = self.opens_message(call_header);
        self.s.mode = Mode::Header(PendingHeader { origin, cursors, before: Vec::new(), last: origin.first, message });
    }

    /// An opener is a call or text, and not reasoning, so the byte that shows it opens the gate. In a thought a bracket
    /// alone shows nothing.
    fn gate_of_opener(&mut self, call_header: CallHeaderId, marker: usize, end: usize) {
        if !self.tokens.gate_is_shut()
            || self.opens_message(call_header)
            || self.s.place.thinks() && self.bare(call_header)
        {
            return;
        }
        // If a longer pattern was possible, that is the first byte that does not match it.
        let rest = &self.w.as_bytes()[marker..];
        let begins = |id| self.tokens.begins(self.offset(marker), id);
        let reach = self.tables.set(self.s.place).reach(rest, end - marker, begins);
        let decided = if reach > 0 { (reach + 1).min(rest.len()) } else { end - marker };
        self.tokens.open_gate(self.offset(marker), self.offset(marker + decided.max(end - marker)));
    }

    /// Whether a header has no marker of its own.
    fn bare(&self, call_header: CallHeaderId) -> bool {
        self.tables.call_headers[call_header].iter().all(|i| self.tables.alternatives[*i].bare)
    }

    /// Whether the header may open the next message rather than a call.
    pub(crate) fn opens_message(&self, call_header: CallHeaderId) -> bool {
        self.tables.call_headers[call_header].iter().all(|i| self.tables.alternatives[*i].message)
    }

    /// Reads a header until its name is known.
    pub(crate) fn read_header(&mut self) -> Go {
        let Mode::Header(header) = &mut self.s.mode else { return Go::Wait };
        let (tables, limits) = (self.tables, self.limits);
        let (all, most) = (&self.w[self.pos..], limits.header + limits.name);
        let held = &all[..deciding(all, most).len().max(header.origin.first)];
        let over = self.eof != Eof::No && held.len() == all.len();
        let (mut decided, mut waits) = (None, false);
        let (mut i, mut no_header) = (0, 0);
        while let Some((alternative, cursor)) = header.cursors.get_mut(i) {
            let program = &tables.alternatives[*alternative].program;
            match cursor.advance(program, held, over, limits) {
                // Later cursors wait for it, or the winner would depend on the split.
                Advance::More => waits = true,
                Advance::Fail => {
                    header.last = header.last.max(cursor.pos);
                    if program.is_header() {
                        no_header = cursor.seen().max(no_header);
                    }
                    header.cursors.remove(i);
                    continue;
                }
                found if !waits && decided.is_none() => decided = Some((i, found)),
                Advance::Accept | Advance::Another | Advance::Ended => {}
            }
            i += 1;
        }
        match decided {
            Some((i, Advance::Another)) => return self.another(i),
            Some((i, found)) => return self.decided(i, found),
            None => {}
        }
        // A recipient is one word, so prose is released at its next blank.
        let is_recipient = |(i, _): &(AlternativeId, Cursor)| !tables.alternatives[*i].program.is_header();
        let is_prose = || {
            header.message
                && header.cursors.iter().all(is_recipient)
                && held[header.origin.first..].contains(char::is_whitespace)
        };
        if header.cursors.is_empty() || held.len() > most || is_prose() {
            // Text that the alternatives matched, such as an opener repeated a hundred times, is not searched again.
            let fitted = header.cursors.iter().map(|(_, cursor)| cursor.pos);
            let (origin, last) = (header.origin, fitted.fold(header.last, usize::max));
            let headers = header.cursors.iter().filter(|(i, _)| tables.alternatives[*i].program.is_header());
            let no_header = headers.map(|(_, cursor)| cursor.seen()).fold(no_header, usize::max);
            self.s.spare.keep_cursors(mem::take(&mut header.cursors));
            if header.message {
                self.s.no_header = self.s.no_header.max(self.offset(self.pos + no_header));
                self.s.mode = Mode::Text;
                self.begin_text(self.pos + origin.first);
            } else {
                self.retreat_held(origin, last);
            }
            return Go::Again;
        }
        Go::Wait
    }

    /// Cursor `i` is decided, and none before it waits: its header matches up to the body, or to the end of the output.
    fn decided(&mut self, i: usize, found: Advance) -> Go {
        let tables = self.tables;
        let Mode::Header(header) = &mut self.s.mode else { return Go::Wait };
        let (alternative, cursor) = header.cursors[i].clone();
        let ended = found == Advance::Ended;
        let (before, origin) = (header.before.clone(), header.origin);
        if ended && self.eof != Eof::Length && !self.ends_special(&cursor) {
            let Mode::Header(header) = &mut self.s.mode else { return Go::Wait };
            header.last = header.last.max(cursor.pos);
            header.cursors.remove(i);
            return Go::Again;
        }
        let Mode::Header(header) = &mut self.s.mode else { return Go::Wait };
        let next = header.cursors[i + 1..].iter().map(|(other, _)| *other);
        let next = next.filter(|other| tables.alternatives[*other].bare).collect();
        self.s.spare.keep_cursors(mem::take(&mut header.cursors));
        if tables.alternatives[alternative].message {
            self.s.mode = Mode::Text;
            if !self.header_stands(alternative, origin, cursor.pos) {
                self.begin_text(self.pos + origin.first);
            }
            return Go::Again;
        }
        self.enter((before, (alternative, cursor)), (origin, ended && self.eof == Eof::Stop), next);
        Go::Again
    }

    /// The last of these headers matches up to its body, or has none because the output `ended`; complete headers
    /// precede it. `next`: alternatives for the bytes if the body is not a call.
    fn enter(
        &mut self,
        (before, (alternative, cursor)): (Vec<(AlternativeId, Cursor)>, (AlternativeId, Cursor)),
        (origin, ended): (Origin, bool),
        next: Vec<AlternativeId>,
    ) {
        let machine = self.tables.forms[self.tables.alternatives[alternative].form].body.machine();
        let read = cursor.pos;
        if machine.names_itself() {
            let before_name = BeforeName { origin, alternative, read, machine, repeats: cursor.repeats, next };
            self.s.mode = Mode::BeforeName(self.s.spare.boxed(before_name));
            return;
        }
        let mut headers = before;
        headers.push((alternative, cursor));
        if !self.announce_headers(headers, (origin, ended)) {
            self.retreat_held(origin, read);
        }
    }

    /// Reads an envelope until its name is known.
    pub(crate) fn held_arguments(&mut self) -> Go {
        let Mode::BeforeName(held_arguments) = &mut self.s.mode else { return Go::Wait };
        let tables = self.tables;
        let form = tables.alternatives[held_arguments.alternative].form;
        let input = &self.w[self.pos + held_arguments.read..];
        let mut cx = Cx { out: &mut Silent, schema: None, limits: self.limits, eof: self.eof };
        let step = held_arguments.machine.step(&tables.forms[form].body, &mut cx, input);
        held_arguments.read += step.consumed;
        if step.status == Status::More && self.eof == Eof::No {
            return Go::Wait;
        }
        let Mode::BeforeName(mut held_arguments) = mem::replace(&mut self.s.mode, Mode::Text) else {
            return Go::Wait;
        };
        if step.status == Status::Named && !held_arguments.machine.name().is_empty() {
            let start = self.offset(self.pos);
            let w = self.w;
            let raw = &w[self.pos..self.pos + held_arguments.read];
            self.pos += held_arguments.read;
            let (name, id) = (held_arguments.machine.name().to_owned(), held_arguments.machine.id().map(str::to_owned));
            let Alternative { form, block, .. } = tables.alternatives[held_arguments.alternative];
            let (origin, block) = (held_arguments.origin, block.is_some());
            let machine = mem::replace(&mut held_arguments.machine, tables.forms[form].body.machine());
            let (unplaced, repeats) = (Vec::new(), mem::take(&mut held_arguments.repeats));
            self.s.spare.keep(held_arguments);
            let opened = CallHeader { form, block, name, id, closed: false, origin, raw, start, unplaced, repeats };
            self.announce(opened, machine);
        } else if held_arguments.next.is_empty() {
            self.retreat_early(&mut held_arguments);
            self.s.spare.keep(held_arguments);
        } else {
            let other = held_arguments.next.remove(0);
            let cursor = Cursor::at(held_arguments.origin.lead);
            self.enter((Vec::new(), (other, cursor)), (held_arguments.origin, false), held_arguments.next);
        }
        Go::Again
    }

    /// No call follows: the held bytes up to `last` go back to the opener's field.
    fn retreat_held(&mut self, origin: Origin, last: usize) {
        self.s.mode = Mode::Text;
        self.s.place = origin.place;
        self.s.fresh = origin.fresh;
        let held = &self.w[self.pos..];
        let mut last = last.max(origin.first).min(held.len());
        while !held.is_char_boundary(last) {
            last -= 1;
        }
        if self.over()
            && !held[last..].trim().is_empty()
            && held.len() - last <= self.limits.name
            && self.cut_off(held, last)
        {
            // The output ended inside the header: all of it is raw text, including the wrapper.
            last = held.len();
        }
        if self.over() && self.request_options.incomplete == IncompleteCalls::Drop && last == held.len() {
            let at = self.offset(self.pos);
            self.report(DiagnosticKind::CallDropped, at, held, "the output ended in the opening of a call");
            self.pos = self.w.len();
            return;
        }
        let to = self.pos + last;
        if self.vanishes(origin, &held[origin.lead..last])
            && !(self.over() && last == held.len() && self.cut_off(held, origin.first))
        {
            self.vanish(self.pos + origin.lead);
            self.pos = to;
            self.s.seen = 0;
            return;
        }
        self.s.opener_is_text = true;
        let at = self.offset(self.pos + origin.lead);
        self.report(
            DiagnosticKind::NoCallFollows,
            at,
            &held[origin.lead..last],
            "no call follows this opener; it is text",
        );
        self.begin_text(to);
    }

    /// Whether the held bytes end in what might have become the call's own opener.
    fn cut_off(&self, held: &str, from: usize) -> bool {
        let rest = held[from.min(held.len())..].trim_start();
        !rest.is_empty()
            && self.tables.alternatives.iter().filter(|a| !a.message).any(|a| {
                match a.program.ops.iter().find(|op| !matches!(op, Op::Space)) {
                    Some(Op::Literal(literal)) => literal.at(rest.as_bytes()) != Match::No,
                    Some(Op::Slot(_)) => true,
                    _ => false,
                }
            })
    }

    /// A wrapper without a call is dropped if it is a special token; in a thought it is text.
    fn vanishes(&self, origin: Origin, text: &str) -> bool {
        !origin.place.thinks()
            && self.tables.blocks.iter().any(|block| {
                block.special
                    && match block.opener.at(text.as_bytes()) {
                        Match::Full(n) => text[n..].trim().is_empty(),
                        _ => false,
                    }
            })
    }

    fn retreat_early(&mut self, held_arguments: &mut BeforeName) {
        self.s.place = held_arguments.origin.place;
        self.s.fresh = held_arguments.origin.fresh;
        let bare = self.tables.alternatives[held_arguments.alternative].bare;
        let (start, end) = (self.offset(self.pos), self.pos + held_arguments.read);
        let raw = &self.w[self.pos..end];
        if self.over() && !bare && self.request_options.incomplete == IncompleteCalls::Drop {
            self.report(DiagnosticKind::CallDropped, start, raw, "the output ended in the opening of a call");
            self.pos = end;
            return;
        }
        if !bare {
            self.s.opener_is_text = true;
            let (at, opener) = (start + held_arguments.origin.lead as u64, &raw[held_arguments.origin.lead..]);
            self.report(DiagnosticKind::NoCallFollows, at, opener, "no call follows this opener; it is text");
        }
        self.s.closer_is_text = (!bare).then_some(self.tables.alternatives[held_arguments.alternative].form);
        self.begin_text(end);
        if bare && held_arguments.read == held_arguments.origin.lead {
            // Not even the first byte matches; it becomes text, or it would open again.
            let first = self.w[self.pos..].chars().next().map_or(0, char::len_utf8);
            self.give(self.pos + first);
            return;
        }
        if bare && let Some(scan) = held_arguments.machine.scan() {
            self.s.mode = Mode::Skip(scan);
        }
    }
}

/// The bytes of a header for its template: byte-level marks are white space of the same length.
pub(super) fn in_tags(held: &str, blanks: Blanks) -> Cow<'_, str> {
    if blanks.marks { blank_marks(held) } else { Cow::Borrowed(held) }
}
