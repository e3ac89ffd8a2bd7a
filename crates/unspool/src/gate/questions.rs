//! vLLM's queries on ids alone, without their position in a reply.

use std::collections::BTreeSet;

use crate::error::Error;
use crate::gate::Gate;
use crate::pair::Pair;
use crate::prompt::{self, Known};
use crate::request::{Prompt, Request};

/// The single tokens that end a thought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndTokens {
    /// Ends that are not content (`</think>`).
    pub explicit: BTreeSet<u32>,
    /// Ends that are content, such as the opener of a call.
    pub implicit: BTreeSet<u32>,
}

impl EndTokens {
    /// The first end among ids: its position, and whether it is content.
    #[must_use]
    pub fn find(&self, ids: &[u32]) -> Option<(usize, bool)> {
        ids.iter().enumerate().find_map(|(at, id)| {
            let implicit = self.implicit.contains(id);
            (implicit || self.explicit.contains(id)).then_some((at, implicit))
        })
    }
}

impl Pair {
    /// The single tokens that end a thought, if the vocabulary has them. The search takes a moment, so cache the
    /// result. Empty: a thought ends with several tokens, or there is none.
    ///
    /// # Errors
    /// Those of [`Pair::parser`].
    pub fn reasoning_end_tokens(&self, request: &Request) -> Result<EndTokens, Error> {
        let thinking = self.gate(request, Prompt::Reasoning)?;
        let mut ends = EndTokens::default();
        if thinking.is_reasoning_end() {
            return Ok(ends);
        }
        for &id in self.vocabulary().special.values() {
            let mut gate: Gate = thinking.clone();
            let bounds = gate.advance(&[id]);
            if gate.is_reasoning_end() && bounds.constraint_start == 1 {
                if bounds.grammar_start == 1 {
                    ends.explicit.insert(id)
                } else {
                    ends.implicit.insert(id)
                };
            }
        }
        Ok(ends)
    }

    /// Whether reasoning has ended after these ids: a prompt, an output, or both. As [`Pair::is_reasoning_end`], but an
    /// implicit end after this turn's newest thinking marker counts too.
    ///
    /// # Errors
    /// Those of [`Pair::parser`].
    pub fn is_reasoning_end_in(&self, request: &Request, ends: &EndTokens, ids: &[u32]) -> Result<bool, Error> {
        if self.is_reasoning_end(request, ids)? {
            return Ok(true);
        }
        let plan = self.formats(request)?;
        let Known::Prompt(prompt) = Known::of(Prompt::Ids(ids), self.vocabulary()) else { return Ok(false) };
        Ok(prompt::stands_behind_thinking(&plan.tables, self.vocabulary(), &prompt, &ends.implicit))
    }

    /// The tokens of a delta or an output that are not reasoning: after the first explicit end, or from the first
    /// implicit one on. Without such an end: all tokens if the reply can be outside reasoning, otherwise none.
    ///
    /// # Errors
    /// Those of [`Pair::parser`].
    pub fn content_ids_in<'a>(&self, request: &Request, ends: &EndTokens, ids: &'a [u32]) -> Result<&'a [u32], Error> {
        match ends.find(ids) {
            Some((at, implicit)) => Ok(ids.get(at + usize::from(!implicit)..).unwrap_or_default()),
            None => self.extract_content_ids(request, Prompt::Unknown, ids),
        }
    }
}
