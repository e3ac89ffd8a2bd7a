//! The gate of an engine that constrains output by a grammar: when does reasoning end?
//!
//! It works on token ids alone and is not a second parser: a [`Gate`] is a [`Parser`] whose events are discarded, so it
//! opens with exactly the token with which the parser leaves reasoning. The cost of a step depends only on its tokens,
//! not on the length of the output.
//!
//! | vLLM's `ReasoningParser` | here |
//! |---|---|
//! | `is_reasoning_end(prompt_ids)` | [`Pair::is_reasoning_end`]; of a prompt with output [`Pair::is_reasoning_end_in`] |
//! | `is_reasoning_end_streaming(ids, delta_ids)` | [`Gate::is_reasoning_end_streaming`], [`Gate::ended_in_step`] |
//! | `find_reasoning_end(ids)` | [`Gate::advance`], [`Gate::reasoning_end`]; of ids alone [`EndTokens::find`] |
//! | `extract_content_ids(ids)` | [`Pair::extract_content_ids`]; of a delta [`Pair::content_ids_in`] |
//! | `count_reasoning_tokens(ids)` | [`Pair::count_reasoning_tokens`] |
//! | `reasoning_start_str`, `reasoning_end_str` | [`Pair::reasoning_markers`] |
//!
//! Phrases and other markers of several tokens are found if the pair's [`Vocabulary`](crate::Vocabulary) has the
//! tokens' bytes. Without bytes, a token that is not special stands for a text that no marker contains: markers that
//! are one entry are found, and tokens are counted.

use crate::error::Error;
use crate::event::{Event, Sink};
use crate::pair::Pair;
use crate::parser::{Delta, Parser, ReasoningEnd};
use crate::prompt::{self, SOME_TEXT};
use crate::request::{Prompt, PromptToken, Request};

pub use questions::EndTokens;

mod questions;

/// [`ReasoningEnd`] in the form that an engine needs: positions in the tokens of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Do not feed tokens before this one to the grammar. Negative: an implicit end began in earlier steps; feed that
    /// many of their tokens first.
    pub grammar_start: i64,
    /// Mask tokens from this position on. One more than the number of tokens in the step: not yet.
    pub constraint_start: i64,
}

/// Follows the ids of one reply and says when reasoning ends.
#[derive(Debug, Clone)]
pub struct Gate {
    parser: Parser,
    /// Number of tokens so far.
    tokens: u64,
    /// Whether the grammar applies from the first token on, including reasoning.
    from_start: bool,
    /// Whether the pair has its tokens' bytes.
    has_bytes: bool,
    /// Whether reasoning ended in the last step.
    ended_in_step: bool,
}

struct Deaf;

impl Sink for Deaf {
    fn event(&mut self, _event: Event<'_>) {}
}

impl Gate {
    /// With vLLM's `enable_in_reasoning` the grammar also applies to reasoning: from the first token on.
    #[must_use]
    pub fn enable_in_reasoning(mut self, enable: bool) -> Self {
        self.from_start |= enable;
        self
    }

    /// Whether reasoning has ended, or the reply began without it.
    #[must_use]
    pub fn is_reasoning_end(&self) -> bool {
        self.parser.reasoning_ended()
    }

    /// Takes the tokens of a step (several with speculative decoding) and returns whether reasoning has ended.
    pub fn is_reasoning_end_streaming(&mut self, delta: &[u32]) -> bool {
        self.advance(delta);
        self.is_reasoning_end()
    }

    /// Takes the tokens of a step and returns which of them concern the grammar.
    ///
    /// As in vLLM, a grammar that applies from the start gives (0, 0): with `enable_in_reasoning`, and for a request
    /// with `include_reasoning: false`, whose engine assumes that there is no reasoning.
    pub fn advance(&mut self, delta: &[u32]) -> Bounds {
        let (before, open) = (self.tokens, self.is_reasoning_end());
        for &id in delta {
            self.push(id);
        }
        self.tokens += delta.len() as u64;
        self.ended_in_step = !open && self.is_reasoning_end();
        if open || self.from_start {
            return Bounds { grammar_start: 0, constraint_start: 0 };
        }
        let in_step = |token: u64| token.cast_signed() - before.cast_signed();
        match self.parser.reasoning_end() {
            Some(end) => Bounds { grammar_start: in_step(end.content), constraint_start: in_step(end.constraint) },
            None => {
                let never = delta.len() as i64 + 1;
                Bounds { grammar_start: never, constraint_start: never }
            }
        }
    }

    /// Whether reasoning ended in the last step.
    #[must_use]
    pub fn ended_in_step(&self) -> bool {
        self.ended_in_step
    }

    /// Where reasoning ended; `None`: it has not.
    #[must_use]
    pub fn reasoning_end(&self) -> Option<ReasoningEnd> {
        self.parser.reasoning_end()
    }

    /// Number of reasoning tokens decided so far; exact after [`Gate::finish`].
    #[must_use]
    pub fn reasoning_tokens(&self) -> u64 {
        self.parser.reasoning_tokens().unwrap_or(0)
    }

    /// Ends the output; undecided tokens count where the parser puts them. Returns the number of reasoning tokens.
    pub fn finish(mut self) -> u64 {
        self.parser.finish(None, &mut Deaf);
        self.reasoning_tokens()
    }

    fn push(&mut self, id: u32) {
        let text =
            if self.has_bytes { None } else { Some(self.parser.special_text(id).unwrap_or(SOME_TEXT).to_owned()) };
        self.parser.push(Delta { text: text.as_deref(), ids: &[id] }, &mut Deaf);
    }
}

impl Pair {
    /// The gate of a reply to this request.
    ///
    /// # Errors
    /// Those of [`Pair::parser`].
    pub fn gate(&self, request: &Request, prompt: Prompt<'_>) -> Result<Gate, Error> {
        Ok(Gate {
            parser: self.parser(request, prompt)?,
            tokens: 0,
            from_start: request.include_reasoning == Some(false),
            has_bytes: self.vocabulary().bytes.is_some(),
            ended_in_step: false,
        })
    }

    /// Whether a reply to this prompt begins outside reasoning: this turn has closed its thought, or thinking is off.
    ///
    /// # Errors
    /// Those of [`Pair::parser`].
    pub fn is_reasoning_end(&self, request: &Request, prompt: &[u32]) -> Result<bool, Error> {
        Ok(self.parser(request, Prompt::Ids(prompt))?.reasoning_ended())
    }

    /// The tokens of an output that are not reasoning: those after the closer, or from an implicit end on. Empty:
    /// reasoning has not ended.
    ///
    /// # Errors
    /// Those of [`Pair::parser`].
    pub fn extract_content_ids<'a>(
        &self,
        request: &Request,
        prompt: Prompt<'_>,
        output: &'a [u32],
    ) -> Result<&'a [u32], Error> {
        let mut gate = self.gate(request, prompt)?;
        gate.advance(output);
        let from = gate.reasoning_end().map_or(output.len(), |end| usize::try_from(end.content).unwrap_or(usize::MAX));
        Ok(output.get(from..).unwrap_or_default())
    }

    /// The number of reasoning tokens in an output, without markers. A thought that the prompt opened counts from the
    /// first token.
    ///
    /// # Errors
    /// Those of [`Pair::parser`].
    pub fn count_reasoning_tokens(&self, request: &Request, prompt: Prompt<'_>, output: &[u32]) -> Result<u64, Error> {
        let mut gate = self.gate(request, prompt)?;
        gate.advance(output);
        Ok(gate.finish())
    }

    /// The tokens of a prompt, with their bytes from the vocabulary.
    #[must_use]
    pub fn prompt_tokens(&self, ids: &[u32]) -> Vec<PromptToken> {
        prompt::tokens(ids, self.vocabulary())
    }
}
