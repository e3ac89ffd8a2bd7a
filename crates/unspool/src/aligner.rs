//! Matches a server's text and token ids, for callers that resume an answer in the middle.

use std::sync::Arc;

use crate::align::TokenSink;
use crate::plan::Plan;
use crate::unaligned::Unaligned;

/// Takes text and ids as a server sends them and returns them matched: one token per piece, or several where they share
/// a character. This needs a vocabulary with the tokens' bytes. A [`Parser`](crate::Parser) does this itself; use an
/// aligner to know what stands between two tokens, for example to stop an answer after a token and request the rest.
/// Created by [`Parser::aligner`](crate::Parser::aligner).
///
/// If the bytes are unknown, pieces are returned as they come.
#[derive(Debug, Clone)]
pub struct Aligner {
    plan: Arc<Plan>,
    unaligned: Unaligned,
    /// Whether any input has come.
    begun: bool,
}

impl Aligner {
    pub(crate) fn new(plan: Arc<Plan>) -> Self {
        Self { plan, unaligned: Unaligned::default(), begun: false }
    }

    /// Takes a piece of the stream and returns everything that is matched by now.
    pub fn push(&mut self, text: &str, ids: &[u32], take: &mut impl FnMut(&str, &[u32])) {
        if text.is_empty() && ids.is_empty() {
            return;
        }
        if !self.plan.has_bytes() || ids.is_empty() && self.unaligned.is_empty() {
            self.begun = true;
            return take(text, ids);
        }
        let Self { plan, unaligned, begun } = self;
        let mut pieces = Pieces { plan, begun, take, parts: Vec::new() };
        unaligned.take(text, ids, &mut pieces);
        pieces.give("", &[]);
    }

    /// Ends the stream and returns what waits, as it is.
    pub fn finish(&mut self, take: &mut impl FnMut(&str, &[u32])) {
        let Self { plan, unaligned, begun } = self;
        if !unaligned.is_empty() {
            let mut pieces = Pieces { plan, begun, take, parts: Vec::new() };
            unaligned.flush(&mut pieces);
            pieces.give("", &[]);
        }
    }

    /// The server cut the text off at a stop sequence: waiting tokens get no more text.
    pub fn cut_off(&mut self) {
        self.unaligned.cut_off(&self.plan);
    }

    /// Starts another stream and discards what waits.
    pub fn restart(&mut self) {
        self.unaligned = Unaligned::default();
        self.begun = false;
    }
}

/// Passes matched pieces to a callback.
struct Pieces<'a, F> {
    plan: &'a Plan,
    begun: &'a mut bool,
    take: &'a mut F,
    /// The tokens of an incomplete character.
    parts: Vec<u32>,
}

impl<F: FnMut(&str, &[u32])> Pieces<'_, F> {
    fn give(&mut self, text: &str, ids: &[u32]) {
        let mut all = std::mem::take(&mut self.parts);
        // Nearly always nothing waits, and nothing is copied.
        let ids = if all.is_empty() {
            ids
        } else {
            all.extend(ids);
            &all
        };
        if !text.is_empty() || !ids.is_empty() {
            *self.begun |= !text.is_empty();
            (self.take)(text, ids);
        }
    }
}

impl<F: FnMut(&str, &[u32])> TokenSink for Pieces<'_, F> {
    fn plan(&self) -> &Plan {
        self.plan
    }

    fn is_at_start(&self) -> bool {
        !*self.begun
    }

    fn together(&mut self, text: &str, ids: &[u32]) {
        self.give(text, ids);
    }

    fn ordinary(&mut self, text: &str, ids: &[u32]) {
        self.give(text, ids);
    }

    fn token(&mut self, id: u32, text: &str) {
        if text.is_empty() {
            return self.parts.push(id);
        }
        self.give(text, &[id]);
    }

    fn special(&mut self, id: u32, shown: bool) {
        let plan = self.plan;
        let own = plan.special.text(id).filter(|_| shown).map_or("", |special| special.text.as_str());
        self.give(own, &[id]);
    }
}
