//! Calls: their announcement, their body, their closers.

use std::ops::Range;

use crate::body::{BodyMachine, Cx, Eof, Out, Repair, Status};
use crate::diagnostic::DiagnosticKind;
use crate::event::Event;
use crate::request::IncompleteCalls;
use crate::span::Span;

use super::numbered::FormId;
use super::state::{Call, Late, Mode, OpenCall, Origin, Place};
use super::{Flow, Go, ids};

/// A complete header: the call's data, and the bytes of the header.
pub(crate) struct CallHeader<'w> {
    pub(crate) form: FormId,
    /// It opens a block.
    pub(crate) block: bool,
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    /// The tag is self-closing.
    pub(crate) closed: bool,
    pub(crate) origin: Origin,
    /// All bytes of the header, including the white space before it.
    pub(crate) raw: &'w str,
    /// Offset of `raw` in the output.
    pub(crate) start: u64,
    /// Attributes without a meaning, as ranges of `raw`.
    pub(crate) unplaced: Vec<(usize, usize)>,
    /// Repeated markers and headers, as ranges of `raw`.
    pub(crate) repeats: Vec<(usize, usize)>,
}

/// The output of a body's step, on its way to the client.
struct Writer<'a> {
    sink: &'a mut dyn crate::event::Sink,
    open: Option<&'a mut OpenCall>,
    most: usize,
    /// The bytes that the body reads in this step, and their offset in the output.
    input: &'a str,
    offset: u64,
    diagnostics: Vec<Noted>,
}

/// An anomaly reported by a body, before its offset in the output is known.
struct Noted {
    kind: DiagnosticKind,
    /// Position in the step's input; `None`: that of the call.
    at: Option<isize>,
    text: String,
    /// What a repair read instead.
    read: Option<String>,
    message: String,
}

impl<'a> Writer<'a> {
    /// Writes for an open call, up to a number of bytes.
    #[inline]
    fn new(
        sink: &'a mut dyn crate::event::Sink,
        open: Option<&'a mut OpenCall>,
        most: usize,
        (input, offset): (&'a str, u64),
    ) -> Self {
        Self { sink, open, most, input, offset, diagnostics: Vec::new() }
    }

    /// The position in the step's input of a text that is a slice of it.
    #[inline]
    fn place(&self, text: &str) -> Option<Range<isize>> {
        if text.is_empty() {
            return None;
        }
        let at = text.as_ptr().addr().checked_sub(self.input.as_ptr().addr())?;
        (at + text.len() <= self.input.len()).then(|| at.cast_signed()..(at + text.len()).cast_signed())
    }
}

/// The number of bytes of a range that produced the beginning of the JSON made from all of it.
fn read_for(json: &str, whole: &str, place: &Range<isize>) -> isize {
    let len = place.end - place.start;
    if json.len() == whole.len() {
        return len;
    }
    if len == whole.len().cast_signed() {
        return json.len().cast_signed();
    }
    // Each byte became an escape: count the complete ones.
    let (mut escapes, mut rest) = (0, json.as_bytes());
    while let [b'\\', kind, ..] = rest {
        let Some(behind) = rest.get(if *kind == b'u' { 6 } else { 2 }..) else { break };
        (escapes, rest) = (escapes + 1, behind);
    }
    len.min(escapes)
}

impl Out for Writer<'_> {
    #[inline]
    fn args(&mut self, json: &str) {
        self.args_at(json, None);
    }

    #[inline]
    fn args_of(&mut self, json: &str, text: &str) {
        let place = self.place(text);
        self.args_at(json, place);
    }

    #[inline]
    fn args_at(&mut self, json: &str, place: Option<Range<isize>>) {
        let offset = self.offset;
        let Some(open) = &mut self.open else { return };
        if json.is_empty() || open.full {
            return;
        }
        let (whole, mut json) = (json, json);
        if open.written + json.len() > self.most {
            // The body is read to its end anyway, so that later text does not depend on the split.
            let mut room = self.most - open.written;
            while !json.is_char_boundary(room) {
                room -= 1;
            }
            json = &json[..room];
            open.full = true;
            let what = "the arguments are longer than the limit; their rest is left out";
            let (kind, text, message) = (DiagnosticKind::LimitReached, open.name.clone(), what.to_owned());
            self.diagnostics.push(Noted { kind, at: None, text, read: None, message });
        }
        if json.is_empty() {
            return;
        }
        open.written += json.len();
        let at = |place: isize| offset.saturating_add_signed(place as i64);
        let span = place.map_or(Span::empty(open.read), |place| {
            let end = place.start + read_for(json, whole, &place);
            Span::new(at(place.start).max(open.read), at(end).max(open.read))
        });
        open.read = open.read.max(span.end);
        if let Some(waiting) = &mut open.waiting {
            waiting.push_str(json);
        } else if let Some(index) = open.index {
            self.sink.event_at(Event::CallArguments { index, json }, span);
        }
    }

    fn report(&mut self, kind: DiagnosticKind, at: usize, text: &str, message: &str) {
        let (text, message) = (text.to_owned(), message.to_owned());
        self.diagnostics.push(Noted { kind, at: Some(at.cast_signed()), text, read: None, message });
    }

    fn repaired(&mut self, Repair { at, text, read, message }: Repair<'_>) {
        let (text, read, message) = (text.to_owned(), Some(read.to_owned()), message.to_owned());
        self.diagnostics.push(Noted { kind: DiagnosticKind::Repaired, at: Some(at), text, read, message });
    }
}

impl Flow<'_> {
    /// The name is known: announces the call to the client, unless the request wants none.
    pub(crate) fn announce(&mut self, mut opened: CallHeader<'_>, machine: BodyMachine) {
        let origin = opened.origin;
        let opener = self.offset(self.pos).saturating_sub((opened.raw.len() - origin.lead) as u64);
        self.tokens.open_gate(opener, self.offset(self.pos));
        let lead = &opened.raw[..origin.lead];
        if self.request_options.mute || self.s.calls_seen >= self.limits.calls {
            if origin.place.thinks() {
                self.s.thought_done = true;
                self.lose_lead(&opened, lead);
            }
            let edges = self.tables.words.edges && origin.place.has_edges();
            let from = match lead.rfind('\n') {
                _ if origin.place.thinks() => origin.lead,
                Some(last) if edges && origin.fresh && self.s.behind => last + 1,
                _ => 0,
            };
            self.held_content(&opened.raw[from..], Span::of(opened.start + from as u64, &opened.raw[from..]));
            self.s.place = Place::Raw;
            self.s.opener_is_text = true;
            self.s.fresh = false;
            self.s.mode = Mode::Text;
            return;
        }
        self.s.opener_is_text = false;
        if origin.place.thinks() {
            self.s.thought_done = true;
        }
        let given_back = self.request_options.incomplete == IncompleteCalls::Text && !origin.place.thinks();
        if !given_back {
            self.lose_lead(&opened, lead);
        }
        self.decide_thought();
        let in_block = opened.block || self.s.in_block;
        self.s.in_block = in_block;
        let raw =
            (self.request_options.incomplete != IncompleteCalls::Stream).then(|| opened.raw[origin.lead..].to_owned());
        let start = opened.start + origin.lead as u64;
        let lead = given_back.then(|| (std::mem::take(&mut self.s.pending) + lead, origin.fresh));
        let mut call = Call { form: opened.form, in_block, machine, open: None, start, from: start, raw, lead };
        self.announce_call(&mut call, std::mem::take(&mut opened.name), opened.id.take());
        self.tell_header(&opened);
        if opened.closed {
            self.write(&mut call, "{}");
            self.close_call(&mut call, true);
            self.s.mode = Mode::Text;
            self.after_call(in_block);
            return;
        }
        self.s.mode = Mode::Body(Box::new(call));
    }

    /// Drops white space before a call; it is the edge of the piece that ends here.
    fn lose_lead(&mut self, opened: &CallHeader<'_>, lead: &str) {
        let Origin { place, fresh, .. } = opened.origin;
        if place.thinks() {
            self.tokens.reason(opened.start, opened.start + lead.len() as u64);
        }
        if place == Place::Header {
            return;
        }
        if self.tables.words.edges {
            self.keep_edge(place, fresh, (lead, opened.start));
            self.s.pending.clear();
        } else if place.thinks() {
            self.s.reasoning_gap_at.grow(self.s.reasoning_gap.is_empty(), Span::of(opened.start, lead));
            self.s.reasoning_gap.push_str(lead);
        } else if !matches!(place, Place::Gap | Place::GapAfter | Place::Block) {
            self.content_gap(lead, opened.start);
        }
    }

    /// Reports parts of a header that have no meaning or repeat.
    fn tell_header(&mut self, opened: &CallHeader<'_>) {
        let place = |from: usize| opened.start + from as u64;
        for &(from, to) in &opened.unplaced {
            let why = "this part of the header of a call means nothing";
            self.report(DiagnosticKind::UnplacedText, place(from), &opened.raw[from..to], why);
        }
        for &(from, to) in &opened.repeats {
            self.repeated(place(from), &opened.raw[from..to]);
        }
    }

    /// The request's name for a function, given the model's spelling.
    fn plain_name<'a>(&self, name: &'a str) -> &'a str {
        let tools = &self.request_options.tools;
        match name.split_once('.') {
            Some((first, second))
                if self.tables.words.doubled
                    && first == second
                    && tools.position(name).is_none()
                    && tools.position(first).is_some() =>
            {
                first
            }
            _ => name,
        }
    }

    fn announce_call(&mut self, call: &mut Call, name: String, id: Option<String>) {
        let plain = self.plain_name(&name);
        let name = if plain.len() < name.len() { plain.to_owned() } else { name };
        let filtered = self.request_options.only_first && self.s.calls_seen > 0;
        let index = (!filtered).then_some(self.s.calls);
        let id = id.unwrap_or_else(|| self.call_id(&name));
        self.s.calls_seen += 1;
        let function = self.request_options.tools.position(&name);
        if filtered {
            self.report(DiagnosticKind::CallFiltered, call.start, &name, "the request allows one call only");
        } else if self.request_options.misses(function) {
            self.report(DiagnosticKind::UnknownFunction, call.start, &name, "the request has no function of this name");
        } else if let Some(fault) = self.request_options.bad_schema(function) {
            self.report(DiagnosticKind::BadSchema, call.start, &name, &fault);
        }
        let waiting = call.raw.is_some().then(String::new);
        if !filtered && waiting.is_none() {
            self.s.calls += 1;
            let header = Span::new(call.from, self.offset(self.pos));
            self.sink.event_at(Event::CallStart { index: self.s.calls - 1, id: &id, name: &name }, header);
        }
        let read = self.offset(self.pos);
        call.open = Some(OpenCall { index, name, function, id, written: 0, full: false, waiting, read, body: read });
    }

    /// An id for a call that has none.
    fn call_id(&self, name: &str) -> String {
        let index = self.request_options.calls_before + self.s.calls_seen;
        ids::made(
            &self.request_options.ids,
            self.tables.words.native_ids.as_deref(),
            self.request_options.seed,
            (index, name),
        )
    }

    /// Reads a call's body.
    pub(crate) fn body(&mut self) -> Go {
        let Mode::Body(call) = &mut self.s.mode else { return Go::Wait };
        let tables = self.tables;
        // The next message ends the body, whatever part of it is open.
        let starts = &tables.message_starts;
        let next = if starts.is_empty() { None } else { self.tokens.next_of(starts, self.base + self.pos as u64) };
        let end = next.map_or(self.w.len(), |at| (at - self.base) as usize);
        let eof = if next.is_some() { Eof::Stop } else { self.eof };
        let input = &self.w[self.pos..end];
        let tools = &self.request_options.tools;
        let schema = call.open.as_ref().and_then(|open| tools.at(open.function?));
        let at = (input, self.base + self.pos as u64);
        let mut writer = Writer::new(&mut *self.sink, call.open.as_mut(), self.limits.arguments, at);
        let mut cx = Cx { out: &mut writer, schema, limits: self.limits, eof };
        let step = call.machine.step(&tables.forms[call.form].body, &mut cx, input);
        let diagnostics = writer.diagnostics;
        let start = call.start;
        if let Some(raw) = &mut call.raw {
            raw.push_str(&input[..step.consumed]);
        }
        let at = self.pos;
        self.pos += step.consumed;
        for noted in diagnostics {
            let offset = noted.at.map_or(start, |place| self.offset(at).saturating_add_signed(place as i64));
            match noted.read {
                Some(read) => self.repaired(offset, &noted.text, &read, &noted.message),
                None => self.report(noted.kind, offset, &noted.text, &noted.message),
            }
        }
        match step.status {
            Status::More => Go::Wait,
            status => {
                let Mode::Body(call) = std::mem::replace(&mut self.s.mode, Mode::Text) else { return Go::Wait };
                self.body_stopped(call, status);
                Go::Again
            }
        }
    }

    fn body_stopped(&mut self, mut call: Box<Call>, status: Status) {
        let is_held = call.raw.is_some() && call.open.is_some();
        match status {
            Status::Named => {
                call.start = self.offset(self.pos);
                let name = call.machine.name().to_owned();
                let id = call.machine.id().map(str::to_owned);
                self.announce_call(&mut call, name, id);
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
                // A call that never completed and goes back to content takes its closers along.
                let given_back = !complete && is_held && self.request_options.incomplete == IncompleteCalls::Text;
                self.close_call(&mut call, complete);
                if given_back {
                    self.s.place = Place::Raw;
                    self.s.fresh = false;
                    return;
                }
                self.s.mode = Mode::Closers { form, next: 0 };
                self.s.in_block = in_block;
            }
            Status::Broken | Status::More => {
                let behind = if call.open.is_some() { String::new() } else { call.machine.unread() };
                self.close_call(&mut call, false);
                if is_held && self.request_options.incomplete == IncompleteCalls::Drop {
                    // The following text belongs to the call that was not emitted.
                    self.s.place = Place::Broken;
                } else if is_held {
                    self.s.place = Place::Raw;
                } else {
                    self.broken(&behind);
                }
                self.s.fresh = false;
            }
        }
    }

    /// The body broke; these bytes after its last complete call begin no further one.
    fn broken(&mut self, behind: &str) {
        let at = self.offset(self.pos);
        let start = at.saturating_sub(behind.len() as u64);
        self.report(DiagnosticKind::CallBroken, at, "", "the call's body is not what its syntax allows");
        self.s.place = Place::Broken;
        if behind.is_empty() {
            return;
        }
        match self.request_options.incomplete {
            IncompleteCalls::Stream => self.text_of_place(behind, start),
            IncompleteCalls::Text => {
                self.s.place = Place::Raw;
                self.text_of_place(behind, start);
            }
            IncompleteCalls::Drop => {
                self.report(DiagnosticKind::CallDropped, start, behind, "this call never completed");
            }
        }
    }

    fn write(&mut self, call: &mut Call, json: &str) {
        let at = ("", self.offset(self.pos));
        Writer::new(&mut *self.sink, call.open.as_mut(), self.limits.arguments, at).args(json);
    }

    /// Ends the call: the client gets its end, or the entire call if it had to wait, or nothing.
    fn close_call(&mut self, call: &mut Call, complete: bool) {
        let Some(open) = call.open.take() else { return };
        let whole = Span::new(call.from, self.offset(self.pos));
        call.from = whole.end;
        let complete = complete && !open.full;
        if self.over() && !complete {
            self.report(DiagnosticKind::CallCutOff, call.start, &open.name, "the output ended inside this call");
        }
        let Some(waiting) = open.waiting else {
            if let Some(index) = open.index {
                self.sink.event_at(Event::CallEnd { index, complete }, whole);
            }
            return;
        };
        let lead = call.lead.take();
        if complete {
            if let Some((lead, fresh)) = lead {
                self.keep_edge(Place::Content, fresh, (&lead, whole.start.saturating_sub(lead.len() as u64)));
            }
            if open.index.is_some() {
                let index = self.s.calls;
                self.s.calls += 1;
                let (header, arguments) = (Span::new(whole.start, open.body), Span::new(open.body, open.read));
                self.sink.event_at(Event::CallStart { index, id: &open.id, name: &open.name }, header);
                if !waiting.is_empty() {
                    self.sink.event_at(Event::CallArguments { index, json: &waiting }, arguments);
                }
                self.sink.event_at(Event::CallEnd { index, complete }, whole);
            }
            return;
        }
        // Take the text but keep the setting: a later call of the same list has to wait as well.
        let mut raw = call.raw.as_mut().map(std::mem::take).unwrap_or_default();
        if self.over() {
            raw.push_str(&self.w[self.pos..]);
            self.pos = self.w.len();
        }
        if self.request_options.incomplete == IncompleteCalls::Text {
            let lead = lead.map(|(lead, _)| lead).unwrap_or_default();
            self.held_content(&lead, Span::new(whole.start.saturating_sub(lead.len() as u64), whole.start));
            self.held_content(&raw, Span::of(whole.start, &raw));
        } else {
            self.report(DiagnosticKind::CallDropped, call.start, &raw, "this call never completed");
        }
    }

    pub(crate) fn after_call(&mut self, in_block: bool) {
        self.s.in_block = in_block;
        self.s.place = if in_block { Place::Block } else { self.gap_place() };
        self.s.fresh = true;
        self.s.seen = 0;
        self.s.strip = None;
        self.s.behind = true;
        self.s.late = Late::Call;
    }
}
