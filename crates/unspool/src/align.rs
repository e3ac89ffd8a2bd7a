//! Which bytes of a delta belong to which of its ids.
//!
//! Only special tokens have to be placed exactly, since thinking markers count by id. Each one is looked for in order; a
//! place counts if there is text before it exactly when there are other tokens before it, and the same behind it. A
//! special token whose text a backend left out is put back where the ids say that it stood.

use std::collections::HashMap;

use crate::flow::tokens::Tokens;
use crate::plan::Plan;

/// A token that is a text of its own in the vocabulary.
#[derive(Debug, Clone)]
pub(crate) struct Special {
    pub(crate) text: String,
    /// It shows nowhere.
    pub(crate) hidden: bool,
    /// The format has a use for it, so its text is put back where a backend left it out.
    pub(crate) used: bool,
}

/// The special tokens of a vocabulary, by id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Specials {
    by_id: HashMap<u32, Special>,
    /// One bit for each id up to the highest special one.
    bits: Vec<u64>,
}

impl Specials {
    pub(crate) fn new(by_id: HashMap<u32, Special>) -> Self {
        let most = by_id.keys().filter(|id| **id < 1 << 24).max().map_or(0, |m| *m as usize / 64 + 1);
        let mut bits = vec![0; most];
        for id in by_id.keys() {
            if let Some(word) = bits.get_mut(*id as usize / 64) {
                *word |= 1 << (id % 64);
            }
        }
        Self { by_id, bits }
    }

    #[inline]
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.bits.get(id as usize / 64).is_some_and(|word| word & (1 << (id % 64)) != 0)
    }

    pub(crate) fn text(&self, id: u32) -> Option<&Special> {
        if self.contains(id) { self.by_id.get(&id) } else { None }
    }
}

/// Enters the tokens of a delta, and appends its text without hidden tokens and with left-out ones to `kept`.
pub(crate) fn align(text: &str, ids: &[u32], plan: &Plan, tokens: &mut Tokens, kept: &mut String) {
    let specials = &plan.special;
    if let Some(lengths) = known_lengths(text, ids, plan) {
        by_length(text, ids, &lengths, (specials, tokens), kept);
        return;
    }
    let mut rest = text;
    let mut waiting = 0;
    for (i, &id) in ids.iter().enumerate() {
        let Some(special) = specials.text(id) else {
            waiting += 1;
            continue;
        };
        let behind = ids[i + 1..].iter().take_while(|id| specials.text(**id).is_none()).count();
        let last = i + 1 + behind == ids.len();
        let place = find(rest, &special.text, waiting, behind, last);
        let before = match place {
            Some(at) => &rest[..at],
            // Left out by the backend: it stood behind the tokens before it.
            None => share(rest, waiting, behind, last),
        };
        ordinary(before, waiting, tokens);
        kept.push_str(before);
        waiting = 0;
        rest = &rest[before.len() + place.map_or(0, |_| special.text.len())..];
        if special.hidden {
            tokens.push_hidden();
        } else if place.is_some() || special.used {
            tokens.mark(tokens.end, id);
            tokens.push(special.text.len());
            kept.push_str(&special.text);
        } else {
            tokens.push_hidden();
        }
    }
    ordinary(rest, waiting, tokens);
    kept.push_str(rest);
}

/// The length of each token, if the vocabulary knows them all and together they are the text.
fn known_lengths(text: &str, ids: &[u32], plan: &Plan) -> Option<Vec<usize>> {
    let mut at = 0;
    let mut lengths = Vec::with_capacity(ids.len());
    for id in ids {
        let bytes = plan.bytes(*id)?;
        if !text.as_bytes()[at..].starts_with(bytes) {
            return None;
        }
        at += bytes.len();
        lengths.push(bytes.len());
    }
    (at == text.len()).then_some(lengths)
}

/// Enters tokens whose borders are known.
fn by_length(
    text: &str,
    ids: &[u32],
    lengths: &[usize],
    (specials, tokens): (&Specials, &mut Tokens),
    kept: &mut String,
) {
    let mut from = 0;
    let mut at = 0;
    for (id, len) in ids.iter().zip(lengths) {
        let special = specials.text(*id);
        if special.is_some_and(|s| s.hidden) {
            kept.push_str(text.get(from..at).unwrap_or_default());
            from = at + len;
            tokens.push_hidden();
        } else {
            if special.is_some() {
                tokens.mark(tokens.end, *id);
            }
            tokens.push(*len);
        }
        at += len;
    }
    kept.push_str(text.get(from..).unwrap_or_default());
}

/// The place of a special token's text. Of several that agree with the number of tokens around it, the one nearest to
/// where the tokens before it would end if all were of one length.
fn find(rest: &str, text: &str, before: usize, behind: usize, last: bool) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    if before == 0 {
        return rest.starts_with(text).then_some(0);
    }
    if last && behind == 0 {
        return rest.ends_with(text).then(|| rest.len() - text.len());
    }
    let expected = rest.len().saturating_sub(text.len()) * before / (before + behind).max(1);
    let places = rest.match_indices(text).map(|(at, _)| at).filter(|at| *at > 0);
    places.min_by_key(|at| at.abs_diff(expected))
}

/// The text of the tokens before a special one that the backend left out.
fn share(rest: &str, before: usize, behind: usize, last: bool) -> &str {
    if before == 0 {
        return "";
    }
    if last && behind == 0 {
        return rest;
    }
    let mut at = rest.len() * before / (before + behind).max(1);
    while !rest.is_char_boundary(at) {
        at -= 1;
    }
    &rest[..at]
}

/// Enters tokens whose borders are not known: they share the text.
fn ordinary(text: &str, count: usize, tokens: &mut Tokens) {
    if count == 0 {
        tokens.push_text(text.len());
        return;
    }
    let mut done = 0;
    for i in 1..=count {
        let to = text.len() * i / count;
        tokens.push(to - done);
        done = to;
    }
}
