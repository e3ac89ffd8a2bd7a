//! Tokens: their positions in the text, which of them belong to a thought, and when the gate opened.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::span::Span;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Token {
    start: u64,
    end: u64,
    counted: bool,
}

/// Tracks the tokens whose bytes are not all decided yet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tokens {
    /// Whether any delta carried ids.
    pub(crate) known: bool,
    /// Index of the first token in the queue.
    first: u64,
    queue: VecDeque<Token>,
    /// Number of tokens with a byte of a thought.
    pub(crate) reasoning: u64,
    /// Single-entry markers in the undecided bytes: offset and id.
    marks: VecDeque<(u64, u32)>,
    /// Where the gate opened: byte offset; the token is looked up at once.
    pub(crate) gate: Gate,
    /// Number of bytes of text so far, with or without ids.
    pub(crate) end: u64,
    /// Where each token begins and whether it shows, if the caller needs positions in tokens.
    pub(crate) starts: Option<Vec<(u64, bool)>>,
}

/// Whether reasoning has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Gate {
    /// Not yet.
    #[default]
    Closed,
    /// Before the output.
    FromStart,
    /// In the output; `None` without ids.
    Open(Option<GateOpen>),
}

/// The position in the output at which the gate opened, in tokens from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GateOpen {
    /// The token that decided it.
    pub(crate) step: u64,
    /// The first token that is not reasoning.
    pub(crate) content: u64,
}

impl Tokens {
    /// No token yet.
    pub(crate) fn new(gate: Gate) -> Self {
        Self { gate, ..Self::default() }
    }

    /// Adds a token with its bytes. Empty bytes stand for a piece of the next character.
    #[inline]
    pub(crate) fn push(&mut self, len: usize) {
        let start = self.end;
        self.begin(true);
        self.end += len as u64;
        self.queue.push_back(Token { start, end: self.end.max(start + 1), counted: false });
    }

    /// Adds a token that never shows.
    pub(crate) fn push_hidden(&mut self) {
        self.begin(false);
        self.queue.push_back(Token { start: self.end, end: self.end, counted: true });
    }

    #[inline]
    fn begin(&mut self, shows: bool) {
        if let Some(starts) = &mut self.starts {
            starts.push((self.end, shows));
        }
    }

    /// The number of tokens, if all were recorded.
    pub(crate) fn kept(&self) -> Option<usize> {
        self.starts.as_ref().filter(|_| self.known).map(Vec::len)
    }

    /// The tokens of a range of bytes, if all were recorded.
    pub(crate) fn range(&self, span: Span) -> Option<Range<u64>> {
        let starts = self.starts.as_ref().filter(|_| self.known)?;
        let before = |at: u64| starts.partition_point(|(start, _)| *start < at);
        // The token in which the range begins; pieces of one character share a position.
        let holds = starts.partition_point(|(start, _)| *start <= span.start).checked_sub(1);
        let mut first = holds.map_or(0, |at| before(starts[at].0));
        let mut end = if span.is_empty() { first } else { before(span.end) };
        while first < end && !starts[first].1 {
            first += 1;
        }
        while end > first && !starts[end - 1].1 {
            end -= 1;
        }
        Some(first as u64..end as u64)
    }

    /// Whether everything that came is decided.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.marks.is_empty()
    }

    /// Adds a number of tokens, each with some of `len` bytes, that are decided at once: as a thought's, or not.
    /// Nothing waits before them.
    #[inline]
    pub(crate) fn pass(&mut self, count: usize, len: usize, thought: bool) {
        if let Some(starts) = &mut self.starts {
            starts.extend((0..count).map(|i| (self.end + (len * i / count) as u64, true)));
        }
        self.end += len as u64;
        self.first += count as u64;
        if thought {
            self.reasoning += count as u64;
        }
    }

    /// Adds text without ids.
    #[inline]
    pub(crate) fn push_text(&mut self, len: usize) {
        self.end += len as u64;
    }

    /// The token that begins at `offset` has this id.
    pub(crate) fn mark(&mut self, offset: u64, id: u32) {
        self.marks.push_back((offset, id));
    }

    /// Whether this token begins there; `None` if ids are not known.
    #[inline]
    pub(crate) fn begins(&self, offset: u64, id: u32) -> Option<bool> {
        self.known.then(|| self.marks.contains(&(offset, id)))
    }

    /// The position at or after `offset` where the first of these tokens begins.
    pub(crate) fn next_of(&self, ids: &[u32], offset: u64) -> Option<u64> {
        let marks = self.marks.iter().filter(|(at, id)| *at >= offset && ids.contains(id));
        marks.map(|(at, _)| *at).next()
    }

    /// Counts these bytes as a thought's.
    #[inline]
    pub(crate) fn reason(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        for token in &mut self.queue {
            if token.start >= to {
                break;
            }
            if token.end > from && !token.counted {
                token.counted = true;
                self.reasoning += 1;
            }
        }
    }

    /// Whether the gate is still closed.
    pub(crate) fn gate_is_shut(&self) -> bool {
        self.gate == Gate::Closed
    }

    /// Opens the gate with the byte before `decided`, if it is closed. `content` is the first byte that is not
    /// reasoning; it is smaller than `decided` if the deciding bytes are content themselves.
    pub(crate) fn open_gate(&mut self, content: u64, decided: u64) {
        if self.gate != Gate::Closed {
            return;
        }
        self.gate = Gate::Open(self.known.then(|| {
            let deciding = self.queue.iter().position(|t| t.start < decided && decided <= t.end);
            let deciding = deciding.unwrap_or(self.queue.len().saturating_sub(1));
            let before = self.queue.iter().take_while(|t| content < decided && t.end <= content).count();
            let content = if content < decided { before.min(deciding) } else { deciding + 1 };
            GateOpen { step: self.first + deciding as u64, content: self.first + content as u64 }
        }));
    }

    /// Everything before `offset` is decided.
    #[inline]
    pub(crate) fn settle(&mut self, offset: u64) {
        while self.queue.front().is_some_and(|t| t.end <= offset) {
            self.queue.pop_front();
            self.first += 1;
        }
        while self.marks.front().is_some_and(|(at, _)| *at < offset) {
            self.marks.pop_front();
        }
    }
}

impl Tokens {
    /// Adjusts for text that is longer (or shorter) than its bytes.
    pub(crate) fn shift(&mut self, grown: i64) {
        self.end = self.end.saturating_add_signed(grown);
        if let Some(last) = self.queue.back_mut() {
            last.end = self.end.max(last.start + 1);
        }
    }
}
