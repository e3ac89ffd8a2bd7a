//! Calls: their opening with retreat, their announcement, their body, their closers.

use std::borrow::Cow;

use crate::body::params::blank_marks;
use crate::body::{BodyMachine, Cx, Eof, Out, Status};
use crate::diagnostic::DiagnosticKind;
use crate::event::Event;
use crate::format::template::Slot;
use crate::head::{Advance, Op, Thread};
use crate::request::{IncompleteCalls, ToolChoice};
use crate::scan::{Match, blanks};

use super::state::{Call, Early, Head, Mode, OpenCall, Origin, Place};
use super::tables::{Alternative, Guided};
use super::{Flow, Go, ids};

/// An opening that is complete: what the call is, and which bytes it took.
pub(crate) struct Opened {
    pub(crate) alternative: usize,
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    /// The tag closed itself.
    pub(crate) closed: bool,
    pub(crate) origin: Origin,
    /// All bytes of the opening, from the white space before it on.
    pub(crate) raw: String,
    /// Offset of `raw` in the output.
    pub(crate) start: u64,
}

/// Takes nothing: an envelope before its name writes nothing.
struct Silent;

impl Out for Silent {
    fn args(&mut self, _json: &str) {}
    fn note(&mut self, _kind: DiagnosticKind, _at: usize, _text: &str, _message: &str) {}
}

/// What a body's step has written, on its way to the client.
struct Writer<'a> {
    sink: &'a mut dyn crate::event::Sink,
    open: Option<&'a mut OpenCall>,
    most: usize,
    over: bool,
    notes: Vec<(DiagnosticKind, usize, String, String)>,
}

impl Out for Writer<'_> {
    #[inline]
    fn args(&mut self, json: &str) {
        let Some(open) = &mut self.open else { return };
        if json.is_empty() {
            return;
        }
        if open.written + json.len() > self.most {
            self.over = true;
            return;
        }
        open.written += json.len();
        if let Some(waiting) = &mut open.waiting {
            waiting.push_str(json);
        } else if let Some(index) = open.index {
            self.sink.event(Event::CallArguments { index, json });
        }
    }

    fn note(&mut self, kind: DiagnosticKind, at: usize, text: &str, message: &str) {
        self.notes.push((kind, at, text.to_owned(), message.to_owned()));
    }
}

impl Flow<'_> {
    /// The alternatives of an opening that count here and in this request.
    pub(crate) fn alternatives(&self, opening: usize) -> impl Iterator<Item = usize> + '_ {
        let all = self.tables.openings.get(opening).map_or(&[][..], Vec::as_slice);
        all.iter().copied().filter(|i| self.counts(&self.tables.alternatives[*i]))
    }

    fn counts(&self, alternative: &Alternative) -> bool {
        let at_start = self.s.fresh
            && !self.s.content_said
            && matches!(self.s.place, Place::Wait | Place::Content | Place::After | Place::Gap | Place::GapAfter);
        let wanted = match alternative.guided {
            Guided::No => true,
            Guided::Required => self.wishes.choice == ToolChoice::Required,
            Guided::Named => matches!(self.wishes.choice, ToolChoice::Named(_)) && self.s.calls_seen == 0,
        };
        wanted && (!alternative.at_start || at_start)
    }

    /// An opener stands at `marker..end`; white space and framing from `pos` to there is held with it.
    pub(crate) fn open(&mut self, opening: usize, marker: usize, end: usize) {
        let origin =
            Origin { place: self.s.place, fresh: self.s.fresh, lead: marker - self.pos, first: end - self.pos };
        if matches!(origin.place, Place::Header | Place::Wait | Place::Reason | Place::ReasonFresh)
            && !self.bare(opening)
        {
            self.tokens.open_gate(self.offset(end));
        }
        let threads = self
            .alternatives(opening)
            .map(|i| {
                let from = if self.tables.alternatives[i].bare { origin.lead } else { origin.first };
                (i, Thread::at(from))
            })
            .collect();
        self.s.mode = Mode::Head(Head { origin, threads });
    }

    /// Whether an opening has no marker of its own.
    fn bare(&self, opening: usize) -> bool {
        self.tables.openings[opening].iter().all(|i| self.tables.alternatives[*i].bare)
    }

    /// Reads an opening until its name is known.
    pub(crate) fn head(&mut self) -> Go {
        let Mode::Head(head) = &mut self.s.mode else { return Go::Wait };
        let held = in_tags(&self.w[self.pos..], self.tables.marks);
        let mut accepted = None;
        let mut last = head.origin.first;
        let tables = self.tables;
        let (over, limits) = (self.eof != Eof::No, self.limits);
        let mut i = 0;
        while let Some((alternative, thread)) = head.threads.get_mut(i) {
            match thread.advance(&tables.alternatives[*alternative].program, &held, over, limits) {
                Advance::Accept if accepted.is_none() => accepted = Some(i),
                Advance::Accept | Advance::More => {}
                Advance::Fail => {
                    last = last.max(thread.pos);
                    head.threads.remove(i);
                    continue;
                }
            }
            i += 1;
        }
        if let Some(i) = accepted {
            let (alternative, thread) = head.threads[i].clone();
            let origin = head.origin;
            self.accept(alternative, &thread, origin);
            return Go::Again;
        }
        if head.threads.is_empty() || held.len() > limits.head + limits.name {
            let origin = head.origin;
            self.retreat_held(origin, last);
            return Go::Again;
        }
        Go::Wait
    }

    /// An opening's template fits up to its body.
    fn accept(&mut self, alternative: usize, thread: &Thread, origin: Origin) {
        let tables = self.tables;
        let form = tables.alternatives[alternative].form;
        let machine = tables.forms[form].body.machine();
        let held = &self.w[self.pos..];
        let raw = held[..thread.pos].to_owned();
        let held = &in_tags(held, tables.marks);
        let start = self.offset(self.pos);
        let guided = tables.alternatives[alternative].guided;
        if machine.names_itself() {
            self.pos += thread.pos;
            self.s.mode = Mode::Early(Box::new(Early { origin, alternative, raw, start, machine }));
            return;
        }
        let (name, id) = match (guided, &self.wishes.choice) {
            (Guided::Named, ToolChoice::Named(name)) => (name.clone(), None),
            _ => self.read_name(thread, held),
        };
        self.pos += thread.pos;
        let opened = Opened { alternative, name, id, closed: thread.closed, origin, raw, start };
        self.announce(opened, machine);
    }

    /// Name and native id, from the slots of an opening.
    fn read_name(&self, thread: &Thread, held: &str) -> (String, Option<String>) {
        let id = thread.value(Slot::Id, held).map(|id| id.split_whitespace().next().unwrap_or("").to_owned());
        if let Some(name) = thread.value(Slot::Name, held) {
            return (name.to_owned(), id.filter(|id| !id.is_empty()));
        }
        let id = id.unwrap_or_default();
        let pattern = self.tables.words.native_ids.as_deref().unwrap_or("{name}");
        let (before, after) = pattern.split_once("{name}").unwrap_or(("", ""));
        let separator = after.split("{index}").next().unwrap_or("");
        let tail = id.strip_prefix(before).unwrap_or(&id);
        let counted = tail
            .rsplit_once(separator)
            .filter(|(name, index)| !separator.is_empty() && !name.is_empty() && is_number(index))
            .map(|(name, _)| name.to_owned());
        match counted {
            Some(name) => (name, Some(id)),
            None => (tail.to_owned(), None),
        }
    }

    /// Reads an envelope until it names its call.
    pub(crate) fn early(&mut self) -> Go {
        let Mode::Early(early) = &mut self.s.mode else { return Go::Wait };
        let tables = self.tables;
        let form = tables.alternatives[early.alternative].form;
        let input = &self.w[self.pos..];
        let mut cx = Cx { out: &mut Silent, schema: None, limits: self.limits, eof: self.eof };
        let step = early.machine.step(&tables.forms[form].body, &mut cx, input);
        early.raw.push_str(&input[..step.consumed]);
        self.pos += step.consumed;
        match step.status {
            Status::Named => {
                let Mode::Early(early) = std::mem::replace(&mut self.s.mode, Mode::Text) else { return Go::Wait };
                let early = *early;
                let opened = Opened {
                    alternative: early.alternative,
                    name: early.machine.name().to_owned(),
                    id: early.machine.id().map(str::to_owned),
                    closed: false,
                    origin: early.origin,
                    raw: early.raw,
                    start: early.start,
                };
                self.announce(opened, early.machine);
                Go::Again
            }
            Status::More if self.eof == Eof::No => Go::Wait,
            _ => {
                let Mode::Early(early) = std::mem::replace(&mut self.s.mode, Mode::Text) else { return Go::Wait };
                self.retreat_early(*early);
                Go::Again
            }
        }
    }

    /// No call follows: the held bytes up to `last` go back to where the opener stood.
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
            // The output ended inside the opening: all of it is raw text, the wrapper too.
            last = held.len();
        }
        if self.over() && self.wishes.incomplete == IncompleteCalls::Drop && last == held.len() {
            let at = self.offset(self.pos);
            self.note(DiagnosticKind::CallDropped, at, held, "the output ended in the opening of a call");
            self.pos = self.w.len();
            return;
        }
        let to = self.pos + last;
        if self.vanishes(origin, &held[origin.lead..last])
            && !(self.over() && last == held.len() && self.cut_off(held, origin.first))
        {
            self.lead(self.pos + origin.lead, false);
            self.pos = to;
            self.after_call(true);
            return;
        }
        let at = self.offset(self.pos);
        self.note(DiagnosticKind::NoCallFollows, at, &held[..last], "no call follows this opener; it is text");
        self.begin_text(to);
    }

    /// Whether the held bytes end in what might have become the call's own opener.
    fn cut_off(&self, held: &str, from: usize) -> bool {
        let rest = held[from.min(held.len())..].trim_start();
        !rest.is_empty()
            && self.tables.alternatives.iter().any(|a| match a.program.ops.iter().find(|op| !matches!(op, Op::Space)) {
                Some(Op::Literal(literal)) => literal.at(rest.as_bytes()) != Match::No,
                Some(Op::Slot(_)) => true,
                _ => false,
            })
    }

    /// A wrapper without a call that is one vocabulary entry is markup that vanishes; in a thought it is text.
    fn vanishes(&self, origin: Origin, text: &str) -> bool {
        !origin.place.thinks()
            && self.tables.blocks.iter().any(|block| {
                block.single
                    && match block.opener.at(text.as_bytes()) {
                        Match::Full(n) => text[n..].trim().is_empty(),
                        _ => false,
                    }
            })
    }

    fn retreat_early(&mut self, early: Early) {
        self.s.place = early.origin.place;
        self.s.fresh = early.origin.fresh;
        let bare = self.tables.alternatives[early.alternative].bare;
        if self.over() && !bare && self.wishes.incomplete == IncompleteCalls::Drop {
            self.note(
                DiagnosticKind::CallDropped,
                early.start,
                &early.raw,
                "the output ended in the opening of a call",
            );
            return;
        }
        if !bare {
            self.note(
                DiagnosticKind::NoCallFollows,
                early.start,
                &early.raw,
                "no call follows this opener; it is text",
            );
        }
        self.s.closer_is_text = (!bare).then_some(self.tables.alternatives[early.alternative].form);
        self.text_begins();
        self.text_of_place(&early.raw, early.start);
        if bare && early.raw.len() == early.origin.lead {
            // Not even the first byte fits; it is text, or it would open again.
            let first = self.w[self.pos..].chars().next().map_or(0, char::len_utf8);
            self.give(self.pos + first);
            return;
        }
        if bare && let Some(scan) = early.machine.into_scan() {
            self.s.mode = Mode::Skip(scan);
        }
    }

    /// As `begin_text`, for text that is no longer in the window.
    fn text_begins(&mut self) {
        let to = self.pos;
        self.begin_text(to);
    }

    /// The name is known: the client hears of the call, unless the request wants none.
    pub(crate) fn announce(&mut self, opened: Opened, machine: BodyMachine) {
        let origin = opened.origin;
        self.tokens.open_gate(self.offset(self.pos));
        let lead = &opened.raw[..origin.lead];
        if self.wishes.mute || self.s.calls_seen >= self.limits.calls {
            if origin.place.thinks() {
                self.s.thought_done = true;
                self.s.reasoning_gap.push_str(lead);
            }
            let text = if origin.place.thinks() { &opened.raw[origin.lead..] } else { &opened.raw[..] };
            self.content(text);
            self.s.place = Place::Raw;
            self.s.fresh = false;
            self.s.mode = Mode::Text;
            return;
        }
        if origin.place.thinks() {
            self.tokens.reason(opened.start, opened.start + lead.len() as u64);
            self.s.reasoning_gap.push_str(lead);
            self.s.thought_done = true;
        } else if !matches!(origin.place, Place::Gap | Place::GapAfter | Place::Block) {
            self.content_gap(lead);
        }
        self.decide_thought();
        let alternative = &self.tables.alternatives[opened.alternative];
        let in_block = alternative.block.is_some() || self.s.in_block;
        self.s.in_block = in_block;
        let raw = (self.wishes.incomplete != IncompleteCalls::Stream).then(|| opened.raw[origin.lead..].to_owned());
        let start = opened.start + origin.lead as u64;
        let mut call = Call { form: alternative.form, in_block, machine, open: None, start, raw };
        self.announce_call(&mut call, &opened.name, opened.id);
        if opened.closed {
            self.write(&mut call, "{}");
            self.close_call(&mut call, true);
            self.s.mode = Mode::Text;
            self.after_call(in_block);
            self.skip_self_closer();
            return;
        }
        self.s.mode = Mode::Body(Box::new(call));
    }

    /// Behind `/` of a tag that closed itself stands the tag's end, read with the opening; nothing is left to do.
    fn skip_self_closer(&mut self) {
        self.s.seen = 0;
    }

    fn announce_call(&mut self, call: &mut Call, name: &str, id: Option<String>) {
        let filtered = self.wishes.only_first && self.s.calls_seen > 0;
        let index = (!filtered).then_some(self.s.calls);
        let id = id.unwrap_or_else(|| self.call_id(name));
        self.s.calls_seen += 1;
        if filtered {
            self.note(DiagnosticKind::CallFiltered, call.start, name, "the request allows one call only");
        } else if self.wishes.tools.get(name).is_none() {
            self.note(DiagnosticKind::UnknownFunction, call.start, name, "the request has no function of this name");
        }
        let waiting = call.raw.is_some().then(String::new);
        if !filtered && waiting.is_none() {
            self.s.calls += 1;
            self.sink.event(Event::CallStart { index: self.s.calls - 1, id: &id, name });
        }
        call.open = Some(OpenCall { index, name: name.to_owned(), id, written: 0, waiting });
    }

    /// An id for a call that the model gave none.
    fn call_id(&self, name: &str) -> String {
        let index = self.wishes.calls_before + self.s.calls_seen;
        match self.tables.words.native_ids.as_deref() {
            Some(length) if length.parse::<usize>().is_ok() => {
                ids::short(self.wishes.seed, index, length.parse().unwrap_or(9))
            }
            Some(pattern) => pattern.replace("{name}", name).replace("{index}", &index.to_string()),
            None => ids::random(self.wishes.seed, index),
        }
    }

    /// Reads a call's body.
    pub(crate) fn body(&mut self) -> Go {
        let Mode::Body(call) = &mut self.s.mode else { return Go::Wait };
        let tables = self.tables;
        let input = &self.w[self.pos..];
        let tools = &self.wishes.tools;
        let schema = call.open.as_ref().and_then(|open| tools.get(&open.name));
        let mut writer = Writer {
            sink: &mut *self.sink,
            open: call.open.as_mut(),
            most: self.limits.arguments,
            over: false,
            notes: Vec::new(),
        };
        let mut cx = Cx { out: &mut writer, schema, limits: self.limits, eof: self.eof };
        let step = call.machine.step(&tables.forms[call.form].body, &mut cx, input);
        let (notes, too_long) = (writer.notes, writer.over);
        if let Some(raw) = &mut call.raw {
            raw.push_str(&input[..step.consumed]);
        }
        let at = self.pos;
        self.pos += step.consumed;
        for (kind, place, text, message) in notes {
            let offset = self.offset(at + place);
            self.note(kind, offset, &text, &message);
        }
        let status = if too_long { Status::Broken } else { step.status };
        match status {
            Status::More => Go::Wait,
            _ => {
                let Mode::Body(call) = std::mem::replace(&mut self.s.mode, Mode::Text) else { return Go::Wait };
                self.body_stopped(call, status);
                Go::Again
            }
        }
    }

    fn body_stopped(&mut self, mut call: Box<Call>, status: Status) {
        match status {
            Status::Named => {
                call.start = self.offset(self.pos);
                let name = call.machine.name().to_owned();
                let id = call.machine.id().map(str::to_owned);
                self.announce_call(&mut call, &name, id);
                self.s.mode = Mode::Body(call);
            }
            Status::CallEnd { complete } => {
                self.close_call(&mut call, complete);
                if let Some(raw) = &mut call.raw {
                    raw.clear();
                }
                self.s.mode = Mode::Body(call);
            }
            Status::Done { complete } => {
                let form = call.form;
                let in_block = call.in_block;
                self.close_call(&mut call, complete);
                self.s.mode = Mode::Closers { form, next: 0 };
                self.s.in_block = in_block;
            }
            Status::Broken | Status::More => {
                let given_back = call.raw.is_some() && call.open.is_some();
                self.close_call(&mut call, false);
                if given_back {
                    self.s.place = Place::Raw;
                } else {
                    let at = self.offset(self.pos);
                    self.note(DiagnosticKind::CallBroken, at, "", "the call's body is not what its syntax allows");
                    self.s.place = Place::Broken;
                }
                self.s.fresh = false;
            }
        }
    }

    fn write(&mut self, call: &mut Call, json: &str) {
        let mut writer = Writer {
            sink: &mut *self.sink,
            open: call.open.as_mut(),
            most: self.limits.arguments,
            over: false,
            notes: Vec::new(),
        };
        writer.args(json);
    }

    /// The call is over: the client hears so, or gets it now if it had to wait, or never.
    fn close_call(&mut self, call: &mut Call, complete: bool) {
        let Some(open) = call.open.take() else { return };
        if self.over() && !complete {
            self.note(DiagnosticKind::CallCutOff, call.start, &open.name, "the output ended inside this call");
        }
        let Some(waiting) = open.waiting else {
            if let Some(index) = open.index {
                self.sink.event(Event::CallEnd { index, complete });
            }
            return;
        };
        if complete {
            if open.index.is_some() {
                let index = self.s.calls;
                self.s.calls += 1;
                self.sink.event(Event::CallStart { index, id: &open.id, name: &open.name });
                if !waiting.is_empty() {
                    self.sink.event(Event::CallArguments { index, json: &waiting });
                }
                self.sink.event(Event::CallEnd { index, complete });
            }
            return;
        }
        let mut raw = call.raw.take().unwrap_or_default();
        if self.over() {
            raw.push_str(&self.w[self.pos..]);
            self.pos = self.w.len();
        }
        if self.wishes.incomplete == IncompleteCalls::Text {
            self.content(&raw);
        } else {
            self.note(DiagnosticKind::CallDropped, call.start, &raw, "this call never completed");
        }
    }

    /// Takes the closers of a call; each may be missing.
    pub(crate) fn closers(&mut self) -> Go {
        let Mode::Closers { form, next } = self.s.mode else { return Go::Wait };
        let closers = &self.tables.forms[form].closers;
        let rest = &self.w.as_bytes()[self.pos..];
        let n = blanks(rest);
        let mut partial = next < closers.len() && n == rest.len() && n <= self.limits.blank;
        if n < rest.len() {
            for (i, closer) in closers.iter().enumerate().skip(next) {
                match closer.at(&rest[n..]) {
                    Match::Full(len) => {
                        self.pos += n + len;
                        self.s.mode = Mode::Closers { form, next: i + 1 };
                        return Go::Again;
                    }
                    Match::Partial => partial = true,
                    Match::No => {}
                }
            }
        }
        if partial && !self.over() {
            return Go::Wait;
        }
        if partial && n < rest.len() {
            // Half a closer at the end of the output is no text.
            self.pos = self.w.len();
        }
        self.s.mode = Mode::Text;
        let in_block = self.s.in_block;
        self.after_call(in_block);
        Go::Again
    }

    fn after_call(&mut self, in_block: bool) {
        self.s.in_block = in_block;
        self.s.place = if in_block { Place::Block } else { self.gap_place() };
        self.s.fresh = true;
        self.s.seen = 0;
        self.s.strip = None;
    }
}

/// The held bytes as the opening's template sees them: byte-level marks are white space of the same length.
fn in_tags(held: &str, marks: bool) -> Cow<'_, str> {
    if marks { blank_marks(held) } else { Cow::Borrowed(held) }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
