//! Tracks the tokens of an answer, for requests that ask for them. A token's log probability goes to the field of its
//! first byte that is not markup; tokens that are only markup come at the end.

use std::collections::BTreeMap;
use std::ops::Range;

use unspool::{Event, Parser, Sink, Span};

use super::fold::Fold;
use crate::backend::Tokens;
use crate::probability::{TokenProbability, TokenWishes};
use crate::reply::{Field, ReplyEvent};

/// Follows the tokens of an answer.
#[derive(Debug, Clone, Default)]
pub struct Tracker {
    wishes: TokenWishes,
    /// Report only tokens that become text.
    text_alone: bool,
    /// Report only tokens that the client sees.
    hides: bool,
    /// Ids that are not emitted yet.
    ids: Vec<u32>,
    /// Number of tokens so far.
    count: u64,
    /// Log probabilities that are not emitted yet, by token index.
    waiting: BTreeMap<u64, TokenProbability>,
    /// The first token of each call.
    calls: Vec<u64>,
    /// Start of each token without id, in bytes of the output.
    starts: Option<Vec<u64>>,
    /// Number of bytes so far.
    end: u64,
}

/// Collects events with their spans.
#[derive(Default)]
pub(super) struct Placed(Vec<(ReplyEvent, Span)>);

impl Sink for Placed {
    fn event(&mut self, event: Event<'_>) {
        self.event_at(event, Span::default());
    }

    fn event_at(&mut self, event: Event<'_>, span: Span) {
        let mut fold = Fold::default();
        fold.take(event);
        self.0.extend(fold.events.into_iter().map(|event| (event, span)));
    }
}

impl Tracker {
    /// For an answer with these requested data. `hides`: the client must not see its reasoning; `text_alone`: do not
    /// report tokens of calls.
    #[must_use]
    pub fn new(wishes: TokenWishes, hides: bool, text_alone: bool) -> Self {
        Self { wishes, hides, text_alone, ..Self::default() }
    }

    /// For another answer with the same request.
    pub(super) fn anew(&self) -> Self {
        Self::new(self.wishes, self.hides, self.text_alone)
    }

    /// Whether token positions are needed.
    pub(super) fn places(&self) -> bool {
        self.wishes.top.is_some()
    }

    /// Whether ids are requested.
    pub(super) fn tells_ids(&self) -> bool {
        self.wishes.ids && !self.hides
    }

    /// Takes tokens that the parser is about to read.
    pub(super) fn take(&mut self, tokens: &mut Tokens) {
        if !self.wishes.any() {
            return;
        }
        if self.tells_ids() {
            self.ids.extend(&tokens.ids);
        }
        let told = std::mem::take(&mut tokens.probabilities);
        // An answer has ids throughout or not at all; if the numbers differ, probabilities cannot be assigned.
        let by_place = tokens.ids.is_empty() && (self.starts.is_some() || self.count == 0);
        if by_place && !told.is_empty() {
            self.place(&tokens.text, &told);
        }
        let own = if by_place { told.len() } else { tokens.ids.len() };
        if told.len() == own {
            self.waiting.extend((self.count..).zip(told));
        }
        self.count += own as u64;
        self.end += tokens.text.len() as u64;
    }

    /// Records the start of tokens without ids: by their lengths, or evenly if those do not add up to the text.
    fn place(&mut self, text: &str, told: &[TokenProbability]) {
        let starts = self.starts.get_or_insert_default();
        let fits = told.iter().map(TokenProbability::length).sum::<usize>() == text.len();
        let mut at = 0;
        for (number, token) in told.iter().enumerate() {
            starts.push(self.end + if fits { at } else { (text.len() * number / told.len()) as u64 });
            at += token.length() as u64;
        }
    }

    /// The ids since the last call.
    pub(super) fn ids(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ids)
    }

    /// Adds events with their tokens.
    pub(super) fn enter(&mut self, placed: Placed, parser: &Parser, out: &mut Fold) {
        for (event, span) in placed.0 {
            let given = self.claim(&event, self.range(parser, span));
            out.join(event);
            given.into_iter().for_each(|event| out.join(event));
        }
    }

    fn range(&self, parser: &Parser, span: Span) -> Range<u64> {
        let Some(starts) = &self.starts else { return parser.token_range(span).unwrap_or_default() };
        let first = starts.partition_point(|start| *start <= span.start).saturating_sub(1);
        // Tokens without their own text begin where the next one does.
        let first = starts.partition_point(|start| *start < starts.get(first).copied().unwrap_or_default());
        let end = if span.is_empty() { first } else { starts.partition_point(|start| *start < span.end) };
        first as u64..end.max(first) as u64
    }

    /// Takes the tokens of an event's range that are not taken yet.
    fn claim(&mut self, event: &ReplyEvent, range: Range<u64>) -> Option<ReplyEvent> {
        let (field, range) = match event {
            ReplyEvent::Reasoning(_) => (Field::Reasoning, range),
            ReplyEvent::Content(_) => (Field::Content, range),
            ReplyEvent::CallStart { index, .. } => {
                self.calls.resize(index + 1, range.start);
                (Field::Call(*index), range)
            }
            // Markup between a call's values belongs to the call.
            ReplyEvent::CallArguments { index, .. } | ReplyEvent::CallEnd { index, .. } => {
                let first = self.calls.get(*index).copied().unwrap_or(range.start);
                (Field::Call(*index), first..range.end.max(first))
            }
            ReplyEvent::Note(_) | ReplyEvent::Probabilities { .. } => return None,
        };
        let mut later = self.waiting.split_off(&range.start);
        let behind = later.split_off(&range.end);
        self.waiting.extend(behind);
        self.told(field, later)
    }

    /// The rest at the end of the answer: tokens that are only markup.
    pub(super) fn markup(&mut self) -> Option<ReplyEvent> {
        let rest = std::mem::take(&mut self.waiting);
        if self.hides { None } else { self.told(Field::Markup, rest) }
    }

    fn told(&self, field: Field, tokens: BTreeMap<u64, TokenProbability>) -> Option<ReplyEvent> {
        let hidden = self.text_alone && matches!(field, Field::Call(_) | Field::Markup);
        let tokens: Vec<_> = tokens.into_values().collect();
        (!tokens.is_empty() && !hidden).then_some(ReplyEvent::Probabilities { field, tokens })
    }
}
