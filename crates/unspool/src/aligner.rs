//! A server's stream as pieces of text and ids that belong together, for those who go on with an answer in the middle of it.

use std::sync::Arc;

use crate::align::TokenSink;
use crate::plan::Plan;
use crate::unaligned::Unaligned;

/// Takes text and ids as a server sends them, and gives them out as what belongs together: one token a piece (several where
/// they share a character), where the vocabulary knows the tokens' bytes. A [`Parser`](crate::Parser) does this for itself; this is for callers that have to know what stands between two
/// tokens, such as one that breaks an answer off behind a token and asks for its rest. Made by [`Parser::aligner`](crate::Parser::aligner).
///
/// Where the bytes are not known, pieces go out as they come.
#[derive(Debug, Clone)]
pub struct Aligner {
    plan: Arc<Plan>,
    unaligned: Unaligned,
    /// Something came.
    begun: bool,
}

impl Aligner {
    pub(crate) fn new(plan: Arc<Plan>) -> Self {
        Self { plan, unaligned: Unaligned::default(), begun: false }
    }

    /// Takes a piece of the stream; gives what belongs together by now.
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

    /// The stream is over; gives what waits, as it is.
    pub fn finish(&mut self, take: &mut impl FnMut(&str, &[u32])) {
        let Self { plan, unaligned, begun } = self;
        if !unaligned.is_empty() {
            let mut pieces = Pieces { plan, begun, take, parts: Vec::new() };
            unaligned.flush(&mut pieces);
            pieces.give("", &[]);
        }
    }

    /// The server met a stop text and cut it off: tokens that wait for their text have none.
    pub fn cut_off(&mut self) {
        self.unaligned.cut_off(&self.plan);
    }

    /// Another stream begins; what waits is forgotten.
    pub fn restart(&mut self) {
        self.unaligned = Unaligned::default();
        self.begun = false;
    }
}

/// Gives out what belongs together.
struct Pieces<'a, F> {
    plan: &'a Plan,
    begun: &'a mut bool,
    take: &'a mut F,
    /// Tokens of a character that is not complete.
    parts: Vec<u32>,
}

impl<F: FnMut(&str, &[u32])> Pieces<'_, F> {
    fn give(&mut self, text: &str, ids: &[u32]) {
        let mut all = std::mem::take(&mut self.parts);
        all.extend(ids);
        if !text.is_empty() || !all.is_empty() {
            *self.begun |= !text.is_empty();
            (self.take)(text, &all);
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
