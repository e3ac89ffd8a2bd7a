//! The machine of a response template.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::calls::{self, Ending, RegionText};
use super::delimiter::{Hit, LOOK_AROUND, View, next_border};
use super::io::{Call, Halves, MachineCx, MachineOut, Phase};
use super::spec::{Field, Kind, TemplateSpec};
use crate::body::Eof;
use crate::diagnostic::DiagnosticKind;
use crate::limits::Limits;
use crate::schema::ToolSet;

/// The state of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MachineState {
    region: Region,
    /// How far the input has been searched for the closer of a held region.
    seen: usize,
    /// The end of the text before the input, for patterns that look behind.
    before: String,
    /// The held part of the prompt.
    prompt: String,
    /// The field for text outside all regions has had its closer.
    implicit_over: bool,
    phase: Phase,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Region {
    /// Outside regions with an opener.
    #[default]
    Outside,
    /// In a field's region, whose text is emitted as it comes.
    Open(usize),
    /// In a region of calls; the input begins with its opener of this length.
    Held { field: usize, opener: usize, captures: Vec<(String, String)> },
}

/// Parses a reply by a response template.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    spec: Arc<TemplateSpec>,
    halves: Halves,
    state: MachineState,
}

/// One move.
enum Move {
    /// Everything before this offset is consumed.
    Go(usize),
    /// The same, and more text is needed.
    More(usize),
}

/// The input of a step: the held end of the prompt, then the step's own text.
struct Input<'a, 'c> {
    text: &'a str,
    /// Number of its bytes that belong to the prompt.
    prompt: usize,
    cx: &'a mut MachineCx<'c>,
    /// The last search result for each delimiter outside all regions.
    found: Found,
}

/// By field, for openers; then the closer of the field for text outside all regions.
type Found = [Option<Hit>; 4];

impl Input<'_, '_> {
    /// An offset in the step's own text.
    fn own(&self, at: usize) -> usize {
        at.saturating_sub(self.prompt)
    }
}

impl Machine {
    /// A machine at the start of a reply.
    pub(crate) fn new(spec: Arc<TemplateSpec>, halves: Halves) -> Self {
        let mut machine = Self { spec, halves, state: MachineState::default() };
        if halves.reasoning && machine.implicit().is_some_and(|field| field.kind == Kind::Thinking) {
            machine.state.phase = Phase::Thinking;
        }
        machine
    }

    /// Its state.
    pub(crate) fn state(&self) -> &MachineState {
        &self.state
    }

    /// Whether a saved state is valid for this template and these held bytes.
    pub(crate) fn fits(&self, state: &MachineState, hold: &str) -> bool {
        let length = hold.len() + state.prompt.len();
        match &state.region {
            Region::Outside => true,
            Region::Open(field) => *field < self.spec.fields.len(),
            Region::Held { field, opener, .. } => {
                *field < self.spec.fields.len() && *opener <= length && state.seen <= length
            }
        }
    }

    /// Continues from a saved state.
    pub(crate) fn restore(&mut self, state: MachineState) {
        self.state = state;
    }

    /// The position of the reply.
    pub(crate) fn phase(&self) -> Phase {
        self.state.phase
    }

    /// Sets whether to read calls, from the next region on.
    pub(crate) fn want_calls(&mut self, wanted: bool) {
        self.halves.tools = wanted;
    }

    /// The reply begins in its answer, or in a thought.
    pub(crate) fn begin(&mut self, phase: Phase) {
        let thinks = |field: &Field| field.kind == Kind::Thinking;
        let implicit = self.implicit().is_some_and(thinks);
        if phase != Phase::Thinking {
            self.state.implicit_over = implicit;
        } else if !implicit && let Some(field) = self.spec.fields.iter().position(thinks) {
            self.state.region = Region::Open(field);
        } else if !implicit {
            return;
        }
        self.state.phase = if self.halves.reasoning { phase } else { Phase::Answering };
    }

    /// Reads the prompt: its last turn is the beginning of the reply and is not emitted.
    pub(crate) fn prompt(&mut self, text: &str, limits: &Limits) {
        let spec = self.spec.clone();
        let turn = spec.turn(text);
        let tools = ToolSet::default();
        let mut cx = MachineCx { out: &mut Silence, tools: &tools, limits, eof: Eof::No };
        let taken = self.run(&mut Input { text: turn, prompt: turn.len(), cx: &mut cx, found: Found::default() });
        turn.get(taken..).unwrap_or_default().clone_into(&mut self.state.prompt);
    }

    /// Continues; returns the number of consumed bytes.
    pub(crate) fn step(&mut self, input: &str, cx: &mut MachineCx<'_>) -> usize {
        if self.state.prompt.is_empty() {
            return self.run(&mut Input { text: input, prompt: 0, cx, found: Found::default() });
        }
        let mut text = std::mem::take(&mut self.state.prompt);
        let prompt = text.len();
        text.push_str(input);
        let taken = self.run(&mut Input { text: &text, prompt, cx, found: Found::default() });
        if taken < prompt {
            text.truncate(prompt);
            self.state.prompt = text.split_off(taken);
        }
        taken.saturating_sub(prompt)
    }

    fn run(&mut self, input: &mut Input<'_, '_>) -> usize {
        let mut at = 0;
        let taken = loop {
            let made = match &self.state.region {
                Region::Outside => self.outside(input, at),
                Region::Open(field) => self.open(input, at, *field),
                Region::Held { .. } => self.held(input, at),
            };
            match made {
                Move::Go(next) => at = next,
                Move::More(next) => break next,
            }
        };
        self.look_back(input.text, taken);
        taken
    }

    /// Stores the end of the consumed text, for patterns that look behind.
    fn look_back(&mut self, text: &str, taken: usize) {
        let before = &mut self.state.before;
        let from = next_border(text, taken.saturating_sub(LOOK_AROUND));
        before.push_str(text.get(from..taken).unwrap_or_default());
        let more = next_border(before, before.len().saturating_sub(LOOK_AROUND));
        before.drain(..more);
    }

    fn implicit(&self) -> Option<&Field> {
        self.spec.fields.get(self.spec.implicit?)
    }

    fn view<'a>(&'a self, input: &'a Input<'_, '_>) -> View<'a> {
        View { text: input.text, before: &self.state.before, eof: input.cx.eof != Eof::No, limits: input.cx.limits }
    }

    /// Outside all regions: up to the next opener, or the closer of the field for this text.
    fn outside(&mut self, input: &mut Input<'_, '_>, at: usize) -> Move {
        let spec = self.spec.clone();
        let kind = match self.implicit() {
            Some(field) if field.kind == Kind::Thinking && !self.state.implicit_over => Kind::Thinking,
            _ => Kind::Content,
        };
        let mut known = std::mem::take(&mut input.found);
        let (found, which) = first(&spec, self.view(input), at, &mut known);
        input.found = known;
        match found {
            Hit::None => {
                self.say(input, kind, at..input.text.len());
                Move::More(input.text.len())
            }
            Hit::Pending(pending) => {
                self.say(input, kind, at..pending);
                Move::More(pending)
            }
            Hit::Match(range) => {
                self.say(input, kind, at..range.start);
                match which {
                    Some((field, Side::Open)) => self.enter(input, field, &range),
                    _ => {
                        self.state.implicit_over = true;
                        if kind == Kind::Thinking {
                            self.answering(input, range.end);
                        }
                        Move::Go(range.end)
                    }
                }
            }
        }
    }

    /// A region opens.
    fn enter(&mut self, input: &mut Input<'_, '_>, index: usize, opener: &Range<usize>) -> Move {
        let spec = self.spec.clone();
        let Some(field) = spec.fields.get(index) else { return Move::Go(opener.end) };
        match field.kind {
            Kind::Thinking if self.halves.reasoning => self.state.phase = Phase::Thinking,
            _ => self.answering(input, opener.end),
        }
        if field.kind != Kind::ToolCalls {
            self.state.region = Region::Open(index);
            return Move::Go(opener.end);
        }
        if !self.halves.tools {
            self.say(input, Kind::Content, opener.clone());
            self.state.region = Region::Open(index);
            return Move::Go(opener.end);
        }
        let captures = field.open.as_ref().map(|d| d.captures(self.view(input), opener)).unwrap_or_default();
        self.state.region = Region::Held { field: index, opener: opener.len(), captures };
        self.state.seen = opener.len();
        Move::Go(opener.start)
    }

    /// In a region whose text is emitted as it comes.
    fn open(&mut self, input: &mut Input<'_, '_>, at: usize, index: usize) -> Move {
        let spec = self.spec.clone();
        let Some(field) = spec.fields.get(index) else { return Move::More(input.text.len()) };
        let found = field.close.as_ref().map_or(Hit::None, |close| close.find(self.view(input), at));
        match found {
            Hit::None => {
                self.say(input, field.kind, at..input.text.len());
                Move::More(input.text.len())
            }
            Hit::Pending(pending) => {
                self.say(input, field.kind, at..pending);
                Move::More(pending)
            }
            Hit::Match(range) => {
                self.say(input, field.kind, at..range.start);
                if field.kind == Kind::ToolCalls {
                    self.say(input, Kind::Content, range.clone());
                }
                self.state.region = Region::Outside;
                self.answering(input, range.end);
                Move::Go(range.end)
            }
        }
    }

    /// In a region of calls that begins at `at`: it stays in the input until its closer is there.
    fn held(&mut self, input: &mut Input<'_, '_>, at: usize) -> Move {
        let spec = self.spec.clone();
        let Region::Held { field, opener, .. } = &self.state.region else { return Move::Go(at) };
        let (opener, Some(field)) = (*opener, spec.fields.get(*field)) else { return Move::More(at) };
        let most = opener + input.cx.limits.argument;
        let view = self.view(input);
        let found = field.close.as_ref().map_or(Hit::None, |close| close.find(view, at + self.state.seen));
        let seen = match &found {
            Hit::Match(range) => range.start,
            Hit::Pending(pending) => *pending,
            Hit::None => input.text.len(),
        };
        if seen - at > most {
            return self.too_long(input, at, at + most);
        }
        match (found, input.cx.eof) {
            (Hit::Match(range), _) => self.read(input, at, &range, Ending::Closed),
            (_, Eof::No) => {
                self.state.seen = seen - at;
                Move::More(at)
            }
            (_, Eof::Stop) => self.read(input, at, &(seen..seen), Ending::Stopped),
            (_, Eof::Length) => self.read(input, at, &(seen..seen), Ending::Cut),
        }
    }

    /// A region of calls ends; `closer` is the range of its closer.
    fn read(&mut self, input: &mut Input<'_, '_>, at: usize, closer: &Range<usize>, ending: Ending) -> Move {
        let spec = self.spec.clone();
        let Region::Held { field, opener, mut captures } = std::mem::take(&mut self.state.region) else {
            return Move::Go(closer.end);
        };
        let Some(field) = spec.fields.get(field) else { return Move::Go(closer.end) };
        if let Some(close) = field.close.as_ref().filter(|_| ending == Ending::Closed) {
            captures.extend(close.captures(self.view(input), closer));
        }
        let text = input.text.get(at + opener..closer.start).unwrap_or_default();
        let region = RegionText { text, captures: &captures, ending };
        match calls::read(field, &region, input.cx.tools, input.cx.limits) {
            Some(read) => {
                let region = input.own(at)..input.own(closer.end);
                for call in &read.calls {
                    input.cx.out.call(Call {
                        name: &call.name,
                        id: call.id.as_deref(),
                        arguments: &call.arguments,
                        complete: call.complete,
                        region: region.clone(),
                    });
                }
                for text in &read.left {
                    let message = "this text of a region of calls has no place in its calls";
                    input.cx.out.report(DiagnosticKind::UnplacedText, region.start, text, message);
                }
            }
            None => {
                let raw = input.text.get(at.max(input.prompt)..closer.end).unwrap_or_default();
                let message = "the region holds no call that can be read; its text is content";
                input.cx.out.report(DiagnosticKind::NoCallFollows, input.own(at), raw, message);
                self.say(input, Kind::Content, at..closer.end);
            }
        }
        Move::Go(closer.end)
    }

    /// A region of calls exceeds the limit: its held text and the rest are content.
    fn too_long(&mut self, input: &mut Input<'_, '_>, at: usize, end: usize) -> Move {
        let end = next_border(input.text, end);
        let message = "a region of calls is too long to wait for its end; its text is content";
        input.cx.out.report(DiagnosticKind::LimitReached, input.own(at), "", message);
        self.say(input, Kind::Content, at..end);
        self.state.region = Region::Outside;
        Move::Go(end)
    }

    /// Reasoning ends with the byte before `at`.
    fn answering(&mut self, input: &mut Input<'_, '_>, at: usize) {
        self.state.phase = Phase::Answering;
        input.cx.out.answering(input.own(at));
    }

    /// The end of the shortest text from `at` on that shows that no delimiter begins at `visible`, its first visible
    /// character; `None` if only the end of the output shows it.
    fn decided(&self, input: &Input<'_, '_>, at: usize, visible: usize) -> Option<usize> {
        let ends = input.text[visible..].char_indices().map(|(i, c)| visible + i + c.len_utf8());
        ends.take(LOOK_AROUND).find(|end| {
            let view = View { text: &input.text[..*end], eof: false, ..self.view(input) };
            !matches!(first(&self.spec, view, at, &mut Found::default()).0, Hit::Pending(start) if start <= visible)
        })
    }

    /// Emits text of a field.
    fn say(&mut self, input: &mut Input<'_, '_>, kind: Kind, range: Range<usize>) {
        if kind != Kind::Thinking && self.state.phase == Phase::Waiting {
            let text = input.text.get(range.clone()).unwrap_or_default();
            let blank = text.len() - text.trim_start().len();
            if blank < text.len() {
                match self.decided(input, range.start, range.start + blank) {
                    Some(at) => self.answering(input, at),
                    // The end of the output does not end reasoning.
                    None => self.state.phase = Phase::Answering,
                }
            }
        }
        let from = range.start.max(input.prompt);
        let Some(text) = input.text.get(from..range.end).filter(|text| !text.is_empty()) else { return };
        let own = input.own(from)..input.own(range.end);
        if kind == Kind::Thinking && self.halves.reasoning {
            input.cx.out.reasoning(text, own);
        } else {
            input.cx.out.content(text, own);
        }
    }
}

/// Whether a delimiter opens or closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Open,
    Close,
}

/// The first delimiter outside all regions: the earliest, then the longest, then openers before the closer. It counts
/// only if no other one may still begin before it or at it.
fn first(spec: &TemplateSpec, view: View<'_>, at: usize, known: &mut Found) -> (Hit, Option<(usize, Side)>) {
    let mut best: Option<(Range<usize>, usize, Side)> = None;
    let mut pending: Option<usize> = None;
    let openers = spec.fields.iter().enumerate().filter_map(|(i, f)| Some((i, Side::Open, f.open.as_ref()?)));
    let closer = spec.implicit.and_then(|i| Some((i, Side::Close, spec.fields.get(i)?.close.as_ref()?)));
    for (field, side, delimiter) in openers.chain(closer) {
        let Some(hit) = known.get_mut(if side == Side::Open { field } else { 3 }) else { continue };
        let is_ahead = match hit {
            Some(Hit::Match(range)) => range.start >= at,
            Some(Hit::Pending(start)) => *start >= at,
            Some(Hit::None) => true,
            None => false,
        };
        if !is_ahead {
            *hit = Some(delimiter.find(view, at));
        }
        match hit.clone().unwrap_or(Hit::None) {
            Hit::None => {}
            Hit::Pending(start) => pending = Some(pending.map_or(start, |p| p.min(start))),
            Hit::Match(range) => {
                let is_better = best.as_ref().is_none_or(|(other, ..)| {
                    range.start < other.start || range.start == other.start && range.end > other.end
                });
                if is_better {
                    best = Some((range, field, side));
                }
            }
        }
    }
    match (best, pending) {
        (Some((range, field, side)), pending) if pending.is_none_or(|p| range.start < p) => {
            (Hit::Match(range), Some((field, side)))
        }
        (_, Some(pending)) => (Hit::Pending(pending), None),
        _ => (Hit::None, None),
    }
}

/// Discards the events of a prompt.
struct Silence;

impl MachineOut for Silence {
    fn reasoning(&mut self, _: &str, _: Range<usize>) {}
    fn content(&mut self, _: &str, _: Range<usize>) {}
    fn call(&mut self, _: Call<'_>) {}
    fn answering(&mut self, _: usize) {}
    fn report(&mut self, _: DiagnosticKind, _: usize, _: &str, _: &str) {}
}
