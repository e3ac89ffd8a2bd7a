//! Tokenizers: from text to token ids, and from an id to the bytes that it stands for.
//!
//! | file of the checkpoint | how it is read |
//! |---|---|
//! | `tokenizer.json` | [`HubTokenizer`]: the `tokenizers` crate |
//! | `tekken.json` | [`RankTokenizer`]: Mistral's own form |
//! | `*.tiktoken`, `tiktoken.model`, `tokenizer.model` | [`RankTokenizer`]: one entry a line, its bytes in base64 and its rank |
//!
//! Every entry has bytes of its own, whatever stands around it, so a reply can be put together token by token.

mod cut;
mod growth;
mod hub;
mod merge;
mod pattern;
mod ranks;
mod tekken;
mod tiktoken;

use std::collections::HashMap;
use std::fmt;

pub use self::hub::HubTokenizer;
pub(crate) use self::hub::token_text;
pub use self::ranks::RankTokenizer;
use crate::error::TextError;
use crate::utf8::Utf8Decoder;
use crate::work;

/// Turns text into token ids.
pub trait Tokenizer: fmt::Debug + Send + Sync {
    /// The ids of a text. Special tokens that the text spells out are read as such; with `add_special` the tokenizer also adds
    /// those that it puts around any text (such as the beginning of a sequence).
    ///
    /// # Errors
    /// The tokenizer has no entry for a part of the text, and none for the unknown either.
    fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, TextError>;

    /// The ids of a text in which nothing is a special token, whatever it spells.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    fn encode_plain(&self, text: &str) -> Result<Vec<u32>, TextError>;

    /// What is known of its entries.
    fn entries(&self) -> &Entries;

    /// An entry as the tokenizer's file spells it (`Ġtide`), where it has a spelling of its own; else as text.
    fn spelling(&self, id: u32) -> Option<String> {
        self.entries().bytes(id).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The text of a sequence of ids, special tokens included.
    ///
    /// # Errors
    /// An id that is no entry.
    fn decode(&self, ids: &[u32]) -> Result<String, TextError> {
        let mut decoder = Detokenizer::default();
        let mut text = String::new();
        for (count, id) in ids.iter().enumerate() {
            if count % STRETCH == 0 {
                work::check()?;
            }
            decoder.push(self.entries(), *id, &mut text)?;
        }
        decoder.finish(&mut text);
        Ok(text)
    }
}

/// What stands for a tokenizer where there is none: it has no entries.
#[derive(Debug, Default)]
pub struct NoTokenizer {
    entries: Entries,
}

impl Tokenizer for NoTokenizer {
    fn encode(&self, text: &str, _: bool) -> Result<Vec<u32>, TextError> {
        self.encode_plain(text)
    }

    fn encode_plain(&self, _: &str) -> Result<Vec<u32>, TextError> {
        Err(TextError::new("there is no tokenizer")
            .hint("a folder with a tokenizer.json, a tekken.json or a tiktoken file is needed"))
    }

    fn entries(&self) -> &Entries {
        &self.entries
    }
}

/// Steps of long work between two looks at whether it may go on.
const STRETCH: usize = 4096;

/// Tries a tokenizer once: a file can be well formed and its tokenizer still fail on every text, or give ids that its vocabulary
/// does not have.
///
/// # Errors
/// It has no tokens for any text, or such ids.
pub(crate) fn try_out(tokenizer: &dyn Tokenizer) -> Result<(), TextError> {
    /// Texts of which every vocabulary has at least one.
    const TEXTS: [&str; 4] = ["a", "Hello, 12 words.", " the\n", "\u{e9}\u{4e2d}\u{1f6f6}"];
    let mut fault = TextError::new("it has no tokens for any text");
    let mut works = false;
    for text in TEXTS {
        let ids = tokenizer.encode(text, true).and_then(|ids| Ok((ids, tokenizer.encode_plain(text)?)));
        match ids {
            Ok((ids, plain)) => {
                tokenizer.decode(&ids)?;
                works |= !plain.is_empty();
            }
            Err(error) => fault = error,
        }
    }
    if works { Ok(()) } else { Err(fault) }
}

/// Joins the bytes of one token after the other to text; a character that is not complete waits for its next bytes.
#[derive(Debug, Clone, Default)]
pub struct Detokenizer {
    decoder: Utf8Decoder,
}

impl Detokenizer {
    /// Appends the text of the next token, as far as it is certain.
    ///
    /// # Errors
    /// The id is no entry; what waits goes on waiting.
    pub fn push(&mut self, entries: &Entries, id: u32, out: &mut String) -> Result<(), TextError> {
        let bytes = entries.bytes(id).ok_or_else(|| {
            TextError::new(format!("the vocabulary has no token {id}"))
                .hint(format!("its ids go from 0 to {}", entries.size().saturating_sub(1)))
        })?;
        self.decoder.push(bytes, out);
        Ok(())
    }

    /// The sequence is over: half a character that still waits becomes one U+FFFD.
    pub fn finish(&mut self, out: &mut String) {
        self.decoder.finish(out);
    }
}

/// The entries of a vocabulary.
#[derive(Debug, Clone, Default)]
pub struct Entries {
    bytes: Vec<Option<Box<[u8]>>>,
    added: HashMap<String, u32>,
    special: Vec<String>,
}

impl Entries {
    /// The bytes that an id stands for; those of a special token are its text.
    #[must_use]
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.bytes.get(usize::try_from(id).ok()?)?.as_deref()
    }

    /// One more than the highest id.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The texts that are one entry wherever they stand, special or not, with their ids.
    #[must_use]
    pub fn added(&self) -> &HashMap<String, u32> {
        &self.added
    }

    /// Those of them that are special: a tokenizer that hides special tokens hides these.
    #[must_use]
    pub fn special(&self) -> &[String] {
        &self.special
    }

    /// All ids with their bytes.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let known = |(id, bytes): (usize, &'_ Option<Box<[u8]>>)| bytes.is_some().then(|| u32::try_from(id).ok())?;
        self.bytes.iter().enumerate().filter_map(known).filter_map(|id| Some((id, self.bytes(id)?)))
    }

    fn set(&mut self, id: u32, bytes: &[u8]) -> Result<(), TextError> {
        // An id far beyond every vocabulary would take memory for nothing.
        const HIGHEST: usize = 1 << 22;
        let at = usize::try_from(id).ok().filter(|at| *at < HIGHEST);
        let at = at.ok_or_else(|| TextError::new(format!("the entry of the id {id} is beyond every vocabulary")))?;
        if self.bytes.len() <= at {
            self.bytes.resize(at + 1, None);
        }
        self.bytes[at] = Some(bytes.into());
        Ok(())
    }

    fn add(&mut self, id: u32, text: &str, special: bool) -> Result<(), TextError> {
        self.set(id, text.as_bytes())?;
        self.added.insert(text.to_owned(), id);
        if special && !self.special.iter().any(|known| known == text) {
            self.special.push(text.to_owned());
        }
        Ok(())
    }
}
