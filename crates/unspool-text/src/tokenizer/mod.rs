//! Tokenizers: from text to token ids, and from an id to its bytes.
//!
//! | file of the checkpoint | how it is read |
//! |---|---|
//! | `tokenizer.json` | [`HubTokenizer`]: the `tokenizers` crate |
//! | `tekken.json` | [`RankTokenizer`]: Mistral's own form |
//! | `*.tiktoken`, `tiktoken.model`, `tokenizer.model` | [`RankTokenizer`]: one entry a line, its bytes in base64 and its rank |
//!
//! Every entry has its own bytes, independent of its neighbours, so a reply can be assembled token by token.

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

/// Converts text to token ids.
pub trait Tokenizer: fmt::Debug + Send + Sync {
    /// The ids of a text. Special tokens spelled in the text count as such; with `add_special` the tokenizer also adds
    /// those that it puts around any text (such as the beginning of a sequence).
    ///
    /// # Errors
    /// The tokenizer has no entry for a part of the text, and no unknown token.
    fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, TextError>;

    /// The ids of a text without special tokens, whatever it spells.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    fn encode_plain(&self, text: &str) -> Result<Vec<u32>, TextError>;

    /// The known entries.
    fn entries(&self) -> &Entries;

    /// An entry in the file's own spelling (`Ġtide`), or else as text.
    fn spelling(&self, id: u32) -> Option<String> {
        self.entries().bytes(id).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The text of a sequence of ids, special tokens included.
    ///
    /// # Errors
    /// An id without an entry.
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

/// Replaces a missing tokenizer: it has no entries.
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

/// Number of steps of long work between two checks for a stop.
const STRETCH: usize = 4096;

/// Tries a tokenizer once: a file can be well-formed and its tokenizer still fail on every text, or return ids that its
/// vocabulary does not have.
///
/// # Errors
/// It returns no tokens for any text, or invalid ids.
pub(crate) fn try_out(tokenizer: &dyn Tokenizer) -> Result<(), TextError> {
    /// Every vocabulary has at least one of these texts.
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

/// A detokenizer: joins the bytes of successive tokens to text; an incomplete character waits for its next bytes.
#[derive(Debug, Clone, Default)]
pub struct Detokenizer {
    decoder: Utf8Decoder,
}

impl Detokenizer {
    /// Appends the text of the next token, as far as it is certain.
    ///
    /// # Errors
    /// The id has no entry; waiting bytes keep waiting.
    pub fn push(&mut self, entries: &Entries, id: u32, out: &mut String) -> Result<(), TextError> {
        let bytes = entries.bytes(id).ok_or_else(|| {
            TextError::new(format!("the vocabulary has no token {id}"))
                .hint(format!("its ids go from 0 to {}", entries.size().saturating_sub(1)))
        })?;
        self.decoder.push(bytes, out);
        Ok(())
    }

    /// Ends the sequence: a partial character becomes one U+FFFD.
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
    /// The bytes of an id; those of a special token are its text.
    #[must_use]
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.bytes.get(usize::try_from(id).ok()?)?.as_deref()
    }

    /// The highest id plus one.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The texts that are always one entry, special or not, with their ids.
    #[must_use]
    pub fn added(&self) -> &HashMap<String, u32> {
        &self.added
    }

    /// The special ones among them, which a tokenizer can hide.
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
        // An id far beyond every vocabulary would waste memory.
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
