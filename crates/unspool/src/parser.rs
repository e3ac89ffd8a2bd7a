//! The parser of one reply: `push` deltas, then `finish`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::align;
use crate::body::Eof;
use crate::checkpoint::Run;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::event::{Event, Sink};
use crate::filter::Filters;
use crate::flow::state::State;
use crate::flow::tokens::{Gate, Tokens};
use crate::flow::{Flow, Wishes};
use crate::plan::Plan;
use crate::request::ToolChoice;
use crate::response_template::{Machine, MachineState, Phase};
use crate::utf8::Assembler;

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
/// Text and ids of one delta belong together: the ids stand where their text does. Where a server gives ids before their text,
/// as vLLM does while it looks for stop texts, hold the ids until the text has come, or give one of the two alone.
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
    pub gate_step: Option<i64>,
}

/// Parses one reply. Made by [`Pair::parser`](crate::setup::Pair::parser).
#[derive(Debug, Clone)]
pub struct Parser {
    plan: Arc<Plan>,
    wishes: Wishes,
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
    /// Bytes that are not decided yet.
    hold: String,
    /// Offset of `hold` in the output.
    base: u64,
    utf8: Assembler,
    /// Bytes of a character whose text has not come yet.
    lag: Vec<u8>,
    filters: Filters,
}

/// A parser's state, to go on elsewhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Snapshot {
    /// Version of the layout; [`Parser::restore`] refuses another one.
    pub version: u32,
    /// Which words the parser read with.
    format: u64,
    machine: Option<MachineState>,
    memory: Memory,
}

/// Version of [`Snapshot`]'s layout.
pub const SNAPSHOT_VERSION: u32 = 1;

impl Parser {
    pub(crate) fn new(plan: Arc<Plan>, wishes: Wishes, (state, gate): (State, Gate), machine: Option<Machine>) -> Self {
        let filters = Filters::new(&plan.tables.words.filters, plan.limits.notes);
        let tokens = Tokens::new(gate);
        let memory = Memory {
            state,
            tokens,
            hold: String::new(),
            base: 0,
            utf8: Assembler::default(),
            lag: Vec::new(),
            filters,
        };
        Self { plan, wishes, machine, memory, room: String::new() }
    }

    /// Takes the next piece of output. Never fails; a delta without text and ids changes nothing.
    #[inline]
    pub fn push(&mut self, delta: Delta<'_>, sink: &mut impl Sink) {
        match (delta.text, delta.ids) {
            (None, []) => {}
            (Some(text), []) => {
                self.memory.tokens.push_text(text.len());
                self.feed(text, Eof::No, sink);
            }
            (Some(text), [id]) if !self.plan.special.contains(*id) && !text.is_empty() => {
                self.memory.lag.clear();
                self.memory.tokens.known = true;
                self.memory.tokens.push(text.len());
                self.feed(text, Eof::No, sink);
            }
            (Some(text), ids) if self.plan.all_ordinary(ids) => {
                self.memory.tokens.known = true;
                align::ordinary(text, ids.len(), &mut self.memory.tokens);
                self.feed(text, Eof::No, sink);
            }
            (Some(text), ids) => self.push_aligned(text, ids, sink),
            (None, ids) => self.push_ids(ids, sink),
        }
    }

    /// The output is over; gives out what was held. `reason`: what the engine said, if anything.
    pub fn finish(&mut self, reason: Option<FinishReason>, sink: &mut impl Sink) -> Finish {
        let mut tail = String::new();
        self.flush_bytes(&mut tail, sink);
        let eof = if reason == Some(FinishReason::Length) { Eof::Length } else { Eof::Stop };
        self.feed(&tail, eof, sink);
        let filters = &mut self.memory.filters;
        if !filters.is_empty() {
            filters.finish(sink);
        }
        Finish { reason: self.reason(reason), reasoning_tokens: self.reasoning_tokens(), gate_step: self.gate_step() }
    }

    fn reason(&self, engine: Option<FinishReason>) -> FinishReason {
        let engine = engine.unwrap_or_default();
        let named = matches!(self.wishes.choice, ToolChoice::Named(_));
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

    /// See [`Finish::gate_step`].
    #[must_use]
    pub fn gate_step(&self) -> Option<i64> {
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
        let machine = self.machine.as_ref().map(|machine| machine.state().clone());
        Snapshot { version: SNAPSHOT_VERSION, format: self.plan.fingerprint, machine, memory: self.memory.clone() }
    }

    /// Goes on from a snapshot that a parser of the same pair and request made.
    ///
    /// # Errors
    /// The snapshot is of another version, or of a parser of another pair or thinking mode.
    pub fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        if snapshot.version != SNAPSHOT_VERSION {
            return Err(format!("the snapshot has version {}, this parser reads {SNAPSHOT_VERSION}", snapshot.version));
        }
        if snapshot.format != self.plan.fingerprint {
            return Err("the snapshot was made with other formats or another thinking mode".to_owned());
        }
        if let (Some(machine), Some(state)) = (&mut self.machine, snapshot.machine) {
            machine.restore(state);
        }
        self.memory = snapshot.memory;
        Ok(())
    }

    /// Text with several ids, or with a special one: finds out which bytes are whose.
    fn push_aligned(&mut self, text: &str, ids: &[u32], sink: &mut impl Sink) {
        let plan = Arc::clone(&self.plan);
        let tokens = &mut self.memory.tokens;
        tokens.known = true;
        let mut kept = std::mem::take(&mut self.room);
        kept.clear();
        align::align(text, ids, &plan, (tokens, &mut self.memory.lag), &mut kept);
        self.feed(&kept, Eof::No, sink);
        self.room = kept;
    }

    /// Ids alone: their bytes come from the vocabulary.
    fn push_ids(&mut self, ids: &[u32], sink: &mut impl Sink) {
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
                    let at = self.memory.tokens.end;
                    sink.event(Event::Note(Diagnostic::new(
                        DiagnosticKind::UnknownToken,
                        at,
                        "",
                        format!("token id {id} is not in the vocabulary"),
                    )));
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
            let odd = self.memory.utf8.push(bytes, &mut text);
            if odd.replaced > 0 {
                self.odd_bytes(sink);
                self.memory.tokens.shift(odd.grown);
            }
        }
        self.feed(&text, Eof::No, sink);
        self.room = text;
    }

    /// An incomplete character becomes U+FFFD.
    fn flush_bytes(&mut self, text: &mut String, sink: &mut impl Sink) {
        let odd = self.memory.utf8.flush(text);
        if odd.replaced > 0 {
            self.odd_bytes(sink);
            self.memory.tokens.shift(odd.grown);
        }
    }

    fn odd_bytes(&self, sink: &mut impl Sink) {
        sink.event(Event::Note(Diagnostic::new(
            DiagnosticKind::InvalidUtf8,
            self.memory.tokens.end,
            "\u{fffd}",
            "bytes that are not UTF-8 were replaced",
        )));
    }

    /// Shows the machine what is new, with what it held.
    #[inline]
    fn feed(&mut self, text: &str, eof: Eof, sink: &mut impl Sink) {
        if self.memory.filters.is_empty() {
            self.feed_to(text, eof, sink);
        } else {
            let mut filters = std::mem::take(&mut self.memory.filters);
            self.feed_to(text, eof, &mut filters.over(sink));
            self.memory.filters = filters;
        }
    }

    /// Most deltas continue a text and begin no pattern: they need no window.
    #[inline]
    fn feed_to(&mut self, text: &str, eof: Eof, sink: &mut dyn Sink) {
        let memory = &mut self.memory;
        let set = memory.state.runs_on().map(|place| self.plan.tables.set(place));
        let plain = eof == Eof::No && memory.hold.is_empty() && self.machine.is_none();
        if plain && set.is_some_and(|set| set.candidate(text.as_bytes(), 0).is_none()) {
            let mut flow = flow(&self.plan, &self.wishes, memory, sink, (text, eof));
            flow.give(text.len());
            memory.base += text.len() as u64;
            memory.tokens.settle(memory.base);
        } else {
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
                limits: &self.plan.limits,
                wishes: &self.wishes,
                state: &mut memory.state,
                tokens: &mut memory.tokens,
                sink,
                base: memory.base,
            }
            .step(w, eof),
            None => {
                let mut flow = flow(&self.plan, &self.wishes, memory, sink, (w, eof));
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

/// The flow over a window that begins where the decided bytes end.
#[inline]
fn flow<'a>(
    plan: &'a Plan,
    wishes: &'a Wishes,
    memory: &'a mut Memory,
    sink: &'a mut dyn Sink,
    (w, eof): (&'a str, Eof),
) -> Flow<'a> {
    Flow {
        tables: &plan.tables,
        limits: &plan.limits,
        wishes,
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
