//! Positions in the output, counted in tokens and in characters.

use std::ops::Range;

use super::Parser;
use crate::flow::chars::Chars;
use crate::span::Span;
use crate::spans::{Spans, TokenKind};

impl Parser {
    /// Records the position of each token from here on, for [`Parser::token_range`]: 16 bytes per token.
    #[must_use]
    pub fn keep_tokens(mut self) -> Self {
        self.memory.tokens.starts = Some(Vec::new());
        self
    }

    /// Counts characters from here on, for [`Parser::char_range`]: 24 bytes for each change of character length.
    #[must_use]
    pub fn keep_chars(mut self) -> Self {
        self.memory.chars = Some(Chars::default());
        self
    }

    /// Counts the text that is read now.
    #[inline]
    pub(super) fn count_chars(&mut self, text: &str) {
        if let Some(chars) = &mut self.memory.chars {
            chars.push(text);
        }
    }

    /// A range of the output as a half-open range of Unicode characters (scalar values). `None` without
    /// [`Parser::keep_chars`].
    #[must_use]
    pub fn char_range(&self, span: Span) -> Option<Range<u64>> {
        let (start, end) = self.memory.chars.as_ref()?.range(span);
        Some(start..end)
    }

    /// The tokens of a range of the output, as half-open indices of output tokens; a token that a boundary cuts belongs
    /// to both sides. `None` without ids, or without [`Parser::keep_tokens`].
    #[must_use]
    pub fn token_range(&self, span: Span) -> Option<Range<u64>> {
        self.memory.tokens.range(span)
    }

    /// The kind of each output token, in order. A token that is partly markup has the kind of its text; one in two
    /// fields has that of the later. `None` without ids, or without [`Parser::keep_tokens`].
    #[must_use]
    pub fn token_kinds(&self, spans: &Spans) -> Option<Vec<TokenKind>> {
        let mut kinds = vec![TokenKind::Markup; self.memory.tokens.kept()?];
        for (span, kind) in spans.by_kind() {
            for token in self.token_range(span)? {
                let place = usize::try_from(token).ok().and_then(|token| kinds.get_mut(token));
                place.into_iter().for_each(|place| *place = kind);
            }
        }
        Some(kinds)
    }
}
