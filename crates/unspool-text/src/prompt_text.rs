//! A prompt, and which of its texts are special tokens.

use std::ops::Range;

use crate::error::TextError;
use crate::tokenizer::Tokenizer;

/// A prompt as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    pub(crate) text: String,
    /// The ranges of its special tokens, if they are known; `None`: any text that spells a special token is one.
    pub(crate) markers: Option<Vec<Range<usize>>>,
}

impl PromptText {
    /// The text itself.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text alone.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    /// Its token ids. `add_special` as in [`Tokenizer::encode`].
    ///
    /// # Errors
    /// A part of the text cannot be tokenized.
    pub fn encode(&self, tokenizer: &dyn Tokenizer, add_special: bool) -> Result<Vec<u32>, TextError> {
        let Some(markers) = &self.markers else { return tokenizer.encode(&self.text, add_special) };
        let mut ids = Vec::new();
        let mut done = 0;
        for marker in markers {
            ids.extend(tokenizer.encode_plain(&self.text[done..marker.start])?);
            ids.extend(tokenizer.encode(&self.text[marker.clone()], false)?);
            done = marker.end;
        }
        ids.extend(tokenizer.encode_plain(&self.text[done..])?);
        Ok(ids)
    }
}
