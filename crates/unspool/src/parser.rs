//! The parser of one reply: `push` deltas, then `finish`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::align::Aligned;
use crate::aligner::Aligner;
use crate::body::Eof;
use crate::checkpoint::Run;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::diagnostic_limit::Bounded;
use crate::event::{Event, Sink};
use crate::filter::Filters;
use crate::flow::chars::Chars;
use crate::flow::state::State;
use crate::flow::tokens::{Gate, Tokens};
use crate::flow::{Flow, RequestOptions};
use crate::limits::Limits;
use crate::plan::{Plan, sum};
use crate::request::ToolChoice;
use crate::response_template::{Machine, MachineState, Phase};
use crate::unaligned::Unaligned;
use crate::utf8::Assembler;

mod bytes;
mod late;
mod pass;
mod places;

/// Where reasoning ended, in tokens from the start of the output.
///
/// An explicit end (`</think>`) is itself neither reasoning nor content: both numbers are that of the token behind it. An implicit
/// end is content, such as the opener of a call: it begins at `content`, and the token before `constraint` completed it. Those
/// tokens came before the grammar applied, so they are to be fed to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasoningEnd {
    /// The first token that is not reasoning: the grammar reads from here.
    pub content: u64,
    /// The first token that the grammar may forbid.
    pub constraint: u64,
}

/// Where a reply stands towards its thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Inside a thought.
    Thinking,
    /// A thought may come.
    Undecided,
    /// Behind the thought, or there is none.
    Answering,
}

/// A piece of output: text with ids, text alone, or ids alone (with a vocabulary of bytes).
///
/// Feed a server's stream as it comes. Text may lag behind its ids by any number of tokens, as vLLM's does while it looks for
/// stop texts: ids may come with an empty text, or with less than their own, and the text later, with further ids or without.
/// The answer, the gate and the counts are those of ids and text that come together. How that is done:
///
/// - Where the [`Vocabulary`](crate::Vocabulary) knows the tokens' bytes, an id waits until all its text has come. A special token
///   whose text the server leaves out is told by the text that comes instead.
/// - Where it does not, only special tokens are placed exactly, by their text; ordinary ones stand where the text stands that
///   came with them. A special token waits for its text if ids came without text before it; else it was left out if the next
///   text is another one. Ordinary text that spells a late special token, right before it, is taken for it.
///
/// What still waits at the end goes out as it is. Text without ids may be fed too, and ids alone with a vocabulary of bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delta<'a> {
    /// The text; `None`: it is made from the ids.
    pub text: Option<&'a str>,
    /// The tokens' ids; empty: not known.
    pub ids: &'a [u32],
}

impl<'a> Delta<'a> {
    /// Text alone.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        Self { text: Some(text), ids: &[] }
    }

    /// Ids alone.
    #[must_use]
    pub fn ids(ids: &'a [u32]) -> Self {
        Self { text: None, ids }
    }
}

/// Why the engine stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// By itself.
    #[default]
    Stop,
    /// The output was cut.
    Length,
    /// It calls tools (or says so).
    ToolCalls,
}

/// What is known of a reply when it is over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finish {
    /// For the client: `stop`, `length`, `tool_calls`.
    pub reason: FinishReason,
    /// Output tokens of the thought; `None` without ids.
    pub reasoning_tokens: Option<u64>,
    /// Index of the output token after which reasoning was over; -1: before the output; `None`: never, or no ids.
    pub reasoning_end_token: Option<i64>,
}

/// Parses one reply. Made by [`Pair::parser`](crate::Pair::parser).
#[derive(Debug, Clone)]
pub struct Parser {
    plan: Arc<Plan>,
    limits: Arc<Limits>,
    request_options: RequestOptions,
    /// Reads with the checkpoint's own template, in a format that has one.
    machine: Option<Machine>,
    memory: Memory,
    /// Room for a window that is not the caller's own slice.
    room: String,
}

/// All that a snapshot saves.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Memory {
    state: State,
    tokens: Tokens,
    /// If somebody asks for places in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chars: Option<Chars>,
    /// Bytes that are not decided yet.
    hold: String,
    /// Offset of `hold` in the output.
    base: u64,
    utf8: Assembler,
    /// Ids and text that have not found each other.
    unaligned: Unaligned,
    filters: Filters,
    /// Diagnostics so far.
    diagnostics: usize,
}

/// A parser's state, to go on elsewhere. What it holds is the parser's own affair; [`Parser::restore`] checks it as a whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Snapshot {
    /// Version of the layout; [`Parser::restore`] refuses another one.
    pub version: u32,
    /// Which words the parser read with.
    #[serde(default)]
    format: u64,
    /// Sum of `state`, so that no foreign number gets into a parser.
    #[serde(default)]
    sum: u64,
    /// The saved memory as JSON.
    #[serde(default)]
    state: String,
}

/// What a snapshot's state is made from.
#[derive(Serialize)]
struct Saved<'a> {
    machine: Option<&'a MachineState>,
    memory: &'a Memory,
}

/// What a snapshot's state is read as.
#[derive(Deserialize)]
struct Restored {
    machine: Option<MachineState>,
    memory: Memory,
}

/// Version of [`Snapshot`]'s layout.
pub const SNAPSHOT_VERSION: u32 = 3;

impl Parser {
    pub(crate) fn new(
        (plan, limits): (Arc<Plan>, Arc<Limits>),
        request_options: RequestOptions,
        (state, gate): (State, Gate),
        machine: Option<Machine>,
    ) -> Self {
        let filters = Filters::new(&plan.tables.words.filters);
        let tokens = Tokens::new(gate);
        let memory = Memory {
            state,
            tokens,
            chars: None,
            hold: String::new(),
            base: 0,
            utf8: Assembler::default(),
            unaligned: Unaligned::default(),
            filters,
            diagnostics: 0,
        };
        Self { plan, limits, request_options, machine, memory, room: String::new() }
    }

    /// Takes the next piece of output. Never fails; a delta without text and ids changes nothing.
    #[inline]
    pub fn push(&mut self, delta: Delta<'_>, sink: &mut impl Sink) {
        let mut sink = Bounded { sink, told: self.memory.diagnostics, most: self.limits.diagnostics };
        self.take(delta, &mut sink);
        self.memory.diagnostics = sink.told;
    }

    #[inline]
    fn take(&mut self, delta: Delta<'_>, sink: &mut Bounded<'_, impl Sink>) {
        match (delta.text, delta.ids) {
            (None, []) => {}
            (Some(text), []) if self.memory.unaligned.is_empty() => self.push_ordinary(text, 0, sink),
            (Some(text), [id]) if self.memory.unaligned.is_plain(text, *id, &self.plan) => {
                self.push_ordinary(text, 1, sink);
            }
            (Some(text), ids) if self.memory.unaligned.is_empty() && self.plan.all_ordinary(ids) => {
                self.push_ordinary(text, ids.len(), sink);
            }
            (Some(text), ids) => self.push_aligned(text, ids, sink),
            (None, ids) => self.push_ids(ids, sink),
        }
    }

    /// The server met a stop text and cut it off: ids that wait for their text have none. Nothing but [`Parser::finish`] follows.
    pub fn cut_off(&mut self) {
        self.memory.unaligned.cut_off(&self.plan);
    }

    /// The output is over; gives out what was held. `reason`: what the engine said, if anything.
    pub fn finish(&mut self, reason: Option<FinishReason>, sink: &mut impl Sink) -> Finish {
        let mut sink = Bounded { sink, told: self.memory.diagnostics, most: self.limits.diagnostics };
        self.flush_lag(&mut sink);
        let mut tail = String::new();
        self.flush_bytes(&mut tail, &mut sink);
        let eof = if reason == Some(FinishReason::Length) { Eof::Length } else { Eof::Stop };
        self.feed(&tail, eof, &mut sink);
        let filters = &mut self.memory.filters;
        if !filters.is_empty() {
            filters.finish(&mut sink);
        }
        self.memory.diagnostics = sink.told;
        Finish {
            reason: self.reason(reason),
            reasoning_tokens: self.reasoning_tokens(),
            reasoning_end_token: self.reasoning_end_token(),
        }
    }

    fn reason(&self, engine: Option<FinishReason>) -> FinishReason {
        let engine = engine.unwrap_or_default();
        let named = matches!(self.request_options.choice, ToolChoice::Named(_));
        match engine {
            FinishReason::Length => FinishReason::Length,
            _ if self.memory.state.calls > 0 && !named => FinishReason::ToolCalls,
            _ => FinishReason::Stop,
        }
    }

    /// Output tokens of the thought so far; `None` without ids.
    #[must_use]
    pub fn reasoning_tokens(&self) -> Option<u64> {
        self.memory.tokens.known.then_some(self.memory.tokens.reasoning)
    }

    /// See [`Finish::reasoning_end_token`].
    #[must_use]
    pub fn reasoning_end_token(&self) -> Option<i64> {
        match self.memory.tokens.gate {
            Gate::Closed => None,
            Gate::FromStart => Some(-1),
            Gate::Open(opened) => opened.and_then(|o| i64::try_from(o.step).ok()),
        }
    }

    /// Where reasoning ended, in tokens of the output; `None`: it has not, or tokens are not known.
    #[must_use]
    pub fn reasoning_end(&self) -> Option<ReasoningEnd> {
        match self.memory.tokens.gate {
            Gate::Closed | Gate::Open(None) => None,
            Gate::FromStart => Some(ReasoningEnd { content: 0, constraint: 0 }),
            Gate::Open(Some(opened)) => Some(ReasoningEnd { content: opened.content, constraint: opened.step + 1 }),
        }
    }

    /// Whether reasoning is over (or never was): from here on a grammar applies.
    #[must_use]
    pub fn reasoning_ended(&self) -> bool {
        self.memory.tokens.gate != Gate::Closed
    }

    /// Where the reply stands towards its thought: behind the prompt, if nothing was read yet.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (self.is_thinking(), self.reasoning_ended()) {
            (true, _) => Standing::Thinking,
            (false, false) => Standing::Undecided,
            (false, true) => Standing::Answering,
        }
    }

    /// Whether a thought is open: what comes next belongs to it, or ends it.
    #[must_use]
    pub fn is_thinking(&self) -> bool {
        match &self.machine {
            Some(machine) => machine.phase() == Phase::Thinking,
            None => self.memory.state.place.thinks(),
        }
    }

    /// The text of a special token.
    pub(crate) fn special_text(&self, id: u32) -> Option<&str> {
        self.plan.special.text(id).map(|special| special.text.as_str())
    }

    /// Splits a server's stream into the tokens that this parser is to read; see [`Aligner`].
    #[must_use]
    pub fn aligner(&self) -> Aligner {
        Aligner::new(Arc::clone(&self.plan))
    }

    /// Calls given to the client so far.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.memory.state.calls
    }

    /// Bytes that are held because they are not decided yet.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.memory.hold.len()
    }

    /// The state after the last delta.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let saved = Saved { machine: self.machine.as_ref().map(Machine::state), memory: &self.memory };
        // Numbers, texts and lists of them can always be written; what could not would be refused by `restore`.
        let state = serde_json::to_string(&saved).unwrap_or_default();
        let format = self.plan.fingerprint;
        Snapshot { version: SNAPSHOT_VERSION, format, sum: sum(state.as_bytes()), state }
    }

    /// Goes on from a snapshot that a parser of the same pair and request made.
    ///
    /// # Errors
    /// The snapshot is of another version, of a parser of another pair or thinking mode, or not as a parser wrote it.
    pub fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        let Snapshot { version, format, sum: written, state } = snapshot;
        if version != SNAPSHOT_VERSION {
            return Err(format!("the snapshot has version {version}, this parser reads {SNAPSHOT_VERSION}"));
        }
        if format != self.plan.fingerprint {
            return Err("the snapshot was made with other formats or another thinking mode".to_owned());
        }
        let changed = || "the snapshot is not as a parser wrote it: its state was changed on the way".to_owned();
        if written != sum(state.as_bytes()) {
            return Err(changed());
        }
        let saved: Value = serde_json::from_str(&state).map_err(|_| changed())?;
        if !counts_fit(&saved) {
            return Err(changed());
        }
        let restored: Restored = serde_json::from_value(saved).map_err(|_| changed())?;
        if !restored.memory.state.fits(&self.plan.tables, &restored.memory.hold) {
            return Err(changed());
        }
        match (&mut self.machine, restored.machine) {
            (Some(machine), Some(state)) if machine.fits(&state, &restored.memory.hold) => machine.restore(state),
            (None, None) => {}
            _ => return Err(changed()),
        }
        self.memory = restored.memory;
        Ok(())
    }

    /// Text with several ids, or with a special one: finds out which bytes are whose.
    fn push_aligned(&mut self, text: &str, ids: &[u32], sink: &mut impl Sink) {
        let plan = Arc::clone(&self.plan);
        let tokens = &mut self.memory.tokens;
        tokens.known |= !ids.is_empty();
        let mut kept = std::mem::take(&mut self.room);
        kept.clear();
        self.memory.unaligned.take(text, ids, &mut Aligned { plan: &plan, tokens, kept: &mut kept });
        self.feed(&kept, Eof::No, sink);
        self.room = kept;
    }

    /// No text comes any more for the ids that wait for it.
    fn flush_lag(&mut self, sink: &mut impl Sink) {
        if self.memory.unaligned.is_empty() {
            return;
        }
        let plan = Arc::clone(&self.plan);
        let mut kept = String::new();
        let tokens = &mut self.memory.tokens;
        self.memory.unaligned.flush(&mut Aligned { plan: &plan, tokens, kept: &mut kept });
        self.feed(&kept, Eof::No, sink);
    }

    /// Ids alone: their bytes come from the vocabulary.
    fn push_ids(&mut self, ids: &[u32], sink: &mut Bounded<'_, impl Sink>) {
        self.flush_lag(sink);
        let plan = Arc::clone(&self.plan);
        let mut text = std::mem::take(&mut self.room);
        text.clear();
        self.memory.tokens.known = true;
        for &id in ids {
            let special = plan.special.text(id);
            if special.is_some_and(|s| s.hidden) {
                self.memory.tokens.push_hidden();
                continue;
            }
            let bytes = match (special, plan.bytes(id)) {
                (_, Some(bytes)) => bytes,
                (Some(special), None) => special.text.as_bytes(),
                (None, None) => {
                    let what = format!("token id {id} is not in the vocabulary");
                    let note = Diagnostic::new(DiagnosticKind::UnknownToken, self.memory.tokens.end, "", what);
                    self.tell(note, (&mut text, 0), sink);
                    self.memory.tokens.push_hidden();
                    continue;
                }
            };
            if self.memory.utf8.is_cut_off_by(bytes) {
                // The token that began the character keeps it, so that this one begins where its own text does.
                self.flush_bytes(&mut text, sink);
            }
            if special.is_some() {
                let at = self.memory.tokens.end;
                self.memory.tokens.mark(at, id);
            }
            self.memory.tokens.push(bytes.len());
            let before = text.len();
            let odd = self.memory.utf8.push(bytes, &mut text);
            if odd.replaced > 0 {
                let own = text.len() - before;
                self.odd_bytes((&mut text, own), sink);
                self.memory.tokens.shift(odd.grown);
            }
        }
        self.feed(&text, Eof::No, sink);
        self.room = text;
    }

    /// An incomplete character becomes U+FFFD.
    fn flush_bytes(&mut self, text: &mut String, sink: &mut Bounded<'_, impl Sink>) {
        let before = text.len();
        let odd = self.memory.utf8.flush(text);
        if odd.replaced > 0 {
            let own = text.len() - before;
            self.odd_bytes((text, own), sink);
            self.memory.tokens.shift(odd.grown);
        }
    }

    /// Tells of ill-formed bytes, for which the last `own` bytes of the text stand.
    fn odd_bytes(&mut self, (text, own): (&mut String, usize), sink: &mut Bounded<'_, impl Sink>) {
        let (at, what) = (self.memory.tokens.end, "bytes that are not UTF-8 were replaced");
        let note = Diagnostic::new(DiagnosticKind::InvalidUtf8, at, "\u{fffd}", what);
        self.tell(note, (text, own), sink);
    }

    /// Tells of an odd token. The text before its own, so many bytes at the end, is read first: however many tokens come at
    /// once, the diagnostics have one order.
    fn tell(&mut self, note: Diagnostic, (text, own): (&mut String, usize), sink: &mut Bounded<'_, impl Sink>) {
        let before = text.len() - own;
        if sink.is_heard() && before > 0 {
            self.feed(&text[..before], Eof::No, sink);
            text.drain(..before);
        }
        sink.event(Event::Diagnostic(note));
    }

    /// Shows the machine what is new, with what it held.
    #[inline]
    fn feed(&mut self, text: &str, eof: Eof, sink: &mut impl Sink) {
        self.count_chars(text);
        if self.memory.filters.is_empty() {
            self.feed_to(text, eof, sink);
        } else {
            let mut filters = std::mem::take(&mut self.memory.filters);
            self.feed_to(text, eof, &mut filters.over(sink));
            self.memory.filters = filters;
        }
    }

    /// Most deltas go out as they come.
    #[inline]
    fn feed_to(&mut self, text: &str, eof: Eof, sink: &mut impl Sink) {
        if eof != Eof::No || !(self.pass(text, None, sink) || self.pass_edge(text, sink)) {
            self.feed_window(text, eof, sink);
        }
    }

    fn feed_window(&mut self, text: &str, eof: Eof, sink: &mut dyn Sink) {
        let memory = &mut self.memory;
        let mut hold = std::mem::take(&mut memory.hold);
        let held = !hold.is_empty();
        if held {
            hold.push_str(text);
        }
        let w: &str = if held { &hold } else { text };
        let pos = match &mut self.machine {
            Some(machine) => Run {
                machine,
                limits: &self.limits,
                request_options: &self.request_options,
                state: &mut memory.state,
                tokens: &mut memory.tokens,
                sink,
                base: memory.base,
            }
            .step(w, eof),
            None => {
                let mut flow = flow((&self.plan, &self.limits), &self.request_options, memory, sink, (w, eof));
                flow.run();
                flow.pos
            }
        };
        memory.base += pos as u64;
        memory.tokens.settle(memory.base);
        if held {
            hold.drain(..pos);
        } else if pos < text.len() {
            hold.push_str(&text[pos..]);
        }
        memory.hold = hold;
    }
}

/// Whether all numbers of a saved state are such that a parser can count on from them. Only the open containers of JSON are bits, not a
/// count.
fn counts_fit(saved: &Value) -> bool {
    const MOST: u64 = 1 << 60;
    match saved {
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.unsigned_abs() <= MOST,
            None => false,
        },
        Value::Array(items) => items.iter().all(counts_fit),
        Value::Object(members) => members.iter().all(|(name, value)| name == "objects" || counts_fit(value)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// The flow over a window that begins where the decided bytes end.
#[inline]
fn flow<'a>(
    (plan, limits): (&'a Plan, &'a Limits),
    request_options: &'a RequestOptions,
    memory: &'a mut Memory,
    sink: &'a mut dyn Sink,
    (w, eof): (&'a str, Eof),
) -> Flow<'a> {
    Flow {
        tables: &plan.tables,
        limits,
        request_options,
        s: &mut memory.state,
        tokens: &mut memory.tokens,
        sink,
        w,
        pos: 0,
        base: memory.base,
        eof,
        text_at: memory.base,
    }
}
