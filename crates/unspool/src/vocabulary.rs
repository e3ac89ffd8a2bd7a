//! The known part of a tokenizer's vocabulary.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// The known part of a tokenizer's vocabulary.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    /// Texts that are single entries, with their ids (special and added tokens, if known).
    pub special: HashMap<String, u32>,
    /// Special tokens that never show in any field unless the format uses them.
    pub hidden: Vec<String>,
    /// Bytes of each token, for deltas with ids alone. `None`: deltas need text.
    pub bytes: Option<TokenBytes>,
}

impl Vocabulary {
    /// The added tokens that a `tokenizer_config.json` declares; it does not list the rest of the vocabulary.
    #[must_use]
    pub fn of_tokenizer_config(config: &Value) -> Self {
        let mut vocabulary = Self::default();
        for (id, token) in config.get("added_tokens_decoder").and_then(Value::as_object).into_iter().flatten() {
            let Some(text) = token.get("content").and_then(Value::as_str) else { continue };
            if let Ok(id) = id.parse() {
                vocabulary.special.insert(text.to_owned(), id);
            }
            if token.get("special").and_then(Value::as_bool) == Some(true) {
                vocabulary.hidden.push(text.to_owned());
            }
        }
        vocabulary
    }
}

/// The bytes of each token by its id: one table, shared by all clones.
///
/// ```
/// let bytes: unspool::TokenBytes = [(0, "a"), (1, "b")].into_iter().collect();
/// assert_eq!((bytes.get(1), bytes.get(2)), (Some(&b"b"[..]), None));
/// ```
#[derive(Clone, Default)]
pub struct TokenBytes {
    table: Arc<Table>,
}

#[derive(Default)]
struct Table {
    /// All tokens' bytes, concatenated.
    bytes: Vec<u8>,
    /// The end and length of each token's bytes; [`MISSING`] for an id without an entry.
    spans: Vec<(u32, u32)>,
    /// The id of each span, ascending, if the ids are too sparse for a direct index.
    ids: Option<Vec<u32>>,
}

/// The length of a missing entry.
const MISSING: u32 = u32::MAX;
/// Maximum ratio of ids to entries for a direct index.
const SPREAD: usize = 4;

impl TokenBytes {
    /// The bytes of a token; `None`: the vocabulary has no such id.
    #[inline]
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&[u8]> {
        let table = &*self.table;
        let at = match &table.ids {
            None => usize::try_from(id).ok()?,
            Some(ids) => ids.binary_search(&id).ok()?,
        };
        let (end, length) = *table.spans.get(at)?;
        let end = usize::try_from(end).ok()?;
        table.bytes.get(end.checked_sub(usize::try_from(length).ok()?)?..end)
    }

    /// All tokens with their bytes, by id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let ids = self.table.ids.as_deref();
        (0..self.table.spans.len()).filter_map(move |at| {
            let id = ids.map_or_else(|| u32::try_from(at).ok(), |ids| ids.get(at).copied())?;
            Some((id, self.get(id)?))
        })
    }

    /// Number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.spans.iter().filter(|(_, length)| *length != MISSING).count()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Of several entries for one id the last one counts.
impl<B: AsRef<[u8]>> FromIterator<(u32, B)> for TokenBytes {
    fn from_iter<I: IntoIterator<Item = (u32, B)>>(entries: I) -> Self {
        let mut bytes = Vec::new();
        let mut listed: Vec<(u32, (u32, u32))> = Vec::new();
        for (id, entry) in entries {
            bytes.extend_from_slice(entry.as_ref());
            // Beyond 4 GiB the table cannot hold an entry; no vocabulary comes near.
            let (Ok(end), Ok(length)) = (u32::try_from(bytes.len()), u32::try_from(entry.as_ref().len())) else {
                break;
            };
            listed.push((id, (end, length)));
        }
        bytes.shrink_to_fit();
        // The sort is stable, so the last of equal ids stays last.
        listed.sort_by_key(|(id, _)| *id);
        listed.reverse();
        listed.dedup_by_key(|(id, _)| *id);
        listed.reverse();
        let highest = listed.last().map_or(0, |(id, _)| usize::try_from(*id).unwrap_or(usize::MAX));
        let table = if highest / SPREAD < listed.len().max(1024) {
            let mut spans = vec![(0, MISSING); if listed.is_empty() { 0 } else { highest + 1 }];
            for (id, span) in listed {
                if let Some(place) = usize::try_from(id).ok().and_then(|id| spans.get_mut(id)) {
                    *place = span;
                }
            }
            Table { bytes, spans, ids: None }
        } else {
            let (ids, spans) = listed.into_iter().unzip();
            Table { bytes, spans, ids: Some(ids) }
        };
        Self { table: Arc::new(table) }
    }
}

impl<B: AsRef<[u8]>, const N: usize> From<[(u32, B); N]> for TokenBytes {
    fn from(entries: [(u32, B); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<B: AsRef<[u8]>> From<HashMap<u32, B>> for TokenBytes {
    fn from(entries: HashMap<u32, B>) -> Self {
        entries.into_iter().collect()
    }
}

/// A vocabulary is too long to print.
impl fmt::Debug for TokenBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenBytes({} tokens)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn special_tokens_come_from_the_tokenizer_config() {
        let config = json!({"added_tokens_decoder": {
            "7": {"content": "<think>", "special": false},
            "9": {"content": "<|im_end|>", "special": true},
        }});
        let vocabulary = Vocabulary::of_tokenizer_config(&config);
        assert_eq!(vocabulary.special.get("<think>"), Some(&7));
        assert_eq!(vocabulary.hidden, ["<|im_end|>"]);
    }

    #[test]
    fn a_token_has_its_bytes_wherever_its_id_is() {
        for far in [9, u32::MAX] {
            let bytes = TokenBytes::from([(3, "abc"), (0, ""), (far, "z"), (3, "xy")]);
            let all = [0, 1, 3, far].map(|id| bytes.get(id));
            assert_eq!(all, [Some(&b""[..]), None, Some(b"xy"), Some(b"z")]);
            assert_eq!((bytes.len(), bytes.get(far - 1)), (3, None));
        }
        assert!(TokenBytes::default().is_empty() && TokenBytes::default().get(0).is_none());
    }

    #[test]
    fn a_whole_vocabulary_is_two_tables_and_clones_share_them() {
        let bytes: TokenBytes = (0..150_000).map(|id: u32| (id, id.to_string())).collect();
        let table = &bytes.table;
        let size = table.bytes.capacity() + table.spans.capacity() * size_of::<(u32, u32)>();
        assert!(table.ids.is_none() && size < 3 << 20, "{size} bytes");
        assert!(Arc::ptr_eq(&bytes.table, &bytes.clone().table));
    }
}
