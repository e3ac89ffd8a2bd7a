//! The parser of one reply: `push` deltas, then `finish`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

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
use crate::plan::Plan;
use crate::request::ToolChoice;
use crate::response_template::{Machine, Phase};
use crate::unaligned::Unaligned;
use crate::utf8::Assembler;

mod bytes;
mod late;
mod pass;
mod places;
mod snapshot;

pub use snapshot::{SNAPSHOT_VERSION, Snapshot};

/// Where reasoning ended, in tokens from the start of the output.
///
/// An explicit end (`</think>`) is neither reasoning nor content: both numbers are that of the token after it. An
/// implicit end, such as the opener of a call, is content itself: it begins at `content`, and the token before
/// `constraint` completed it. Those tokens came before the grammar applied, so feed them to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReasoningEnd {
    /// The first token that is not reasoning: the grammar reads from here.
    pub content: u64,
    /// The first token that the grammar may forbid.
    pub constraint: u64,
}

/// The position of a reply relative to its thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Inside a thought.
    Thinking,
    /// A thought may come.
    Undecided,
    /// After the thought, or there is none.
    Answering,
}

/// A piece of output: text with ids, text alone, or ids alone (with a vocabulary of bytes).
///
/// Pass a server's stream as it arrives. Text may lag behind its ids by any number of tokens, as in vLLM while it
/// checks for stop sequences: ids may come with an empty text or only part of theirs, and the rest later, with or
/// without further ids. The result, the gate and the counts are the same as if ids and text came together. How this
/// works:
///
/// - If the [`Vocabulary`](crate::Vocabulary) knows the tokens' bytes, an id waits until all of its text has arrived.
///   If the server omits a special token's text, the text after it shows that.
/// - If not, only special tokens have an exact position, given by their text; an ordinary token belongs to the text
///   that came with it. A special token waits for its text if ids came without text before it; otherwise a different
///   text means that the server omitted its text. Ordinary text that spells a late special token, directly before it,
///   counts as its text.
///
/// What still waits at the end goes out unchanged. Text without ids, and ids alone with a vocabulary of bytes, also
/// work.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delta<'a> {
    /// The text; `None`: decoded from the ids.
    pub text: Option<&'a str>,
    /// The token ids; empty: unknown.
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

/// The engine's finish reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model ended the reply.
    #[default]
    Stop,
    /// The output was cut.
    Length,
    /// It calls tools (or reports that it does).
    ToolCalls,
}

/// The result of a finished reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finish {
    /// For the client: `stop`, `length`, `tool_calls`.
    pub reason: FinishReason,
    /// Reasoning tokens in the output; `None` without ids.
    pub reasoning_tokens: Option<u64>,
    /// Index of the output token after which reasoning has ended; -1: before the output; `None`: never, or no ids.
    pub reasoning_end_token: Option<i64>,
}

/// Parses one reply. Created by [`Pair::parser`](crate::Pair::parser).
#[derive(Debug, Clone)]
pub struct Parser {
    plan: Arc<Plan>,
    limits: Arc<Limits>,
    request_options: RequestOptions,
    /// Runs the checkpoint's own template, for a format that has one.
    machine: Option<Machine>,
    memory: Memory,
    /// Buffer for a window that is not the caller's own slice.
    room: String,
}

/// Everything that a snapshot saves.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Memory {
    state: State,
    tokens: Tokens,
    /// Set if the caller needs positions in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chars: Option<Chars>,
    /// Bytes that are not yet decided.
    hold: String,
    /// Offset of `hold` in the output.
    base: u64,
    utf8: Assembler,
    /// Ids and text that are not yet matched to each other.
    unaligned: Unaligned,
    filters: Filters,
    /// Number of diagnostics so far.
    diagnostics: usize,
}

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
    pub fn push(&mut self, delta: Delta<'_>, sink: &mut (impl Sink + ?Sized)) {
        let mut sink = Bounded { sink, told: self.memory.diagnostics, most: self.limits.diagnostics };
        self.take(delta, &mut sink);
        self.memory.diagnostics = sink.told;
    }

    #[inline]
    fn take(&mut self, delta: Delta<'_>, sink: &mut Bounded<'_, impl Sink + ?Sized>) {
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

    /// The server cut the text off at a stop sequence: waiting ids get no more text. Only [`Parser::finish`] may
    /// follow.
    pub fn cut_off(&mut self) {
        self.memory.unaligned.cut_off(&self.plan);
    }

    /// Ends the output and emits everything held. `reason`: the engine's finish reason, if known.
    pub fn finish(&mut self, reason: Option<FinishReason>, sink: &mut (impl Sink + ?Sized)) -> Finish {
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

    /// Reasoning tokens so far; `None` without ids.
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

    /// Where reasoning ended, in tokens of the output; `None`: it has not, or there are no ids.
    #[must_use]
    pub fn reasoning_end(&self) -> Option<ReasoningEnd> {
        match self.memory.tokens.gate {
            Gate::Closed | Gate::Open(None) => None,
            Gate::FromStart => Some(ReasoningEnd { content: 0, constraint: 0 }),
            Gate::Open(Some(opened)) => Some(ReasoningEnd { content: opened.content, constraint: opened.step + 1 }),
        }
    }

    /// Whether reasoning has ended (or there is none): from here on a grammar applies.
    #[must_use]
    pub fn reasoning_ended(&self) -> bool {
        self.memory.tokens.gate != Gate::Closed
    }

    /// The position of the reply relative to its thought; before the first delta, as the prompt says.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (self.is_thinking(), self.reasoning_ended()) {
            (true, _) => Standing::Thinking,
            (false, false) => Standing::Undecided,
            (false, true) => Standing::Answering,
        }
    }

    /// Whether a thought is open: the next output belongs to it, or ends it.
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

    /// Number of bytes held back because they are undecided.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.memory.hold.len()
    }

    /// Text with several ids, or with a special one: finds out which bytes belong to which id.
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

    /// Handles ids that still wait for text when no more text can come.
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
    fn push_ids(&mut self, ids: &[u32], sink: &mut Bounded<'_, impl Sink + ?Sized>) {
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
                // The token that began the character keeps it, so this token begins at its own text.
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

    /// Replaces an incomplete character by U+FFFD.
    fn flush_bytes(&mut self, text: &mut String, sink: &mut Bounded<'_, impl Sink + ?Sized>) {
        let before = text.len();
        let odd = self.memory.utf8.flush(text);
        if odd.replaced > 0 {
            let own = text.len() - before;
            self.odd_bytes((text, own), sink);
            self.memory.tokens.shift(odd.grown);
        }
    }

    /// Reports ill-formed bytes, which the last `own` bytes of the text represent.
    fn odd_bytes(&mut self, (text, own): (&mut String, usize), sink: &mut Bounded<'_, impl Sink + ?Sized>) {
        let (at, what) = (self.memory.tokens.end, "bytes that are not UTF-8 were replaced");
        let note = Diagnostic::new(DiagnosticKind::InvalidUtf8, at, "\u{fffd}", what);
        self.tell(note, (text, own), sink);
    }

    /// Reports an odd token. First pushes the text before its own `own` bytes, so that the diagnostics keep their order
    /// however many tokens come at once.
    fn tell(
        &mut self,
        note: Diagnostic,
        (text, own): (&mut String, usize),
        sink: &mut Bounded<'_, impl Sink + ?Sized>,
    ) {
        let before = text.len() - own;
        if sink.is_heard() && before > 0 {
            self.feed(&text[..before], Eof::No, sink);
            text.drain(..before);
        }
        sink.event(Event::Diagnostic(note));
    }

    /// Passes the held and the new bytes to the machine.
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

    /// Most deltas pass through unchanged.
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

/// The flow over a window that begins after the decided bytes.
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
