//! Ids that come before their text.
//!
//! A server that checks for stop sequences holds back text that may become one, while the tokens go out at once. So ids
//! wait here until their text arrives. If the vocabulary has the tokens' bytes, each finds its own text. Otherwise only
//! special tokens have a known text and wait for it; ordinary ones belong to the text that came with them, after the
//! special token before them.

use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::align::{TokenSink, places};
use crate::plan::Plan;
use crate::scan::Match;

/// Maximum number of waiting ids; beyond it the server will not send their text.
const MOST: usize = 1 << 14;
/// Number of ids to look ahead if a token's text differs from its bytes.
const AHEAD: usize = 8;

/// Ids and text that are not yet matched to each other.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Unaligned {
    ids: Vec<u32>,
    text: String,
    /// Without bytes: ordinary tokens that came without any text.
    behind: usize,
    /// Without bytes: the waiting special token is late, so text before its own belongs to older tokens. Otherwise the
    /// next text is its own, or the server omitted it.
    late: bool,
}

impl Unaligned {
    /// Whether nothing waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.text.is_empty()
    }

    /// Whether the text belongs to this one ordinary token, so that nothing needs alignment.
    #[inline]
    pub(crate) fn is_plain(&self, text: &str, id: u32, plan: &Plan) -> bool {
        self.is_empty()
            && !text.is_empty()
            && !plan.special.contains(id)
            && (plan.bytes(id).map_or(!plan.has_bytes(), |bytes| bytes == text.as_bytes()))
    }

    /// Counts ordinary tokens of unknown bytes that came with this text.
    #[inline]
    pub(crate) fn count(&mut self, text: &str, count: usize) {
        match text.chars().next() {
            None => self.behind += count,
            // The pieces of one character come without text until the last one.
            Some(first) => self.behind = self.behind.saturating_sub(first.len_utf8() - 1),
        }
    }

    /// Takes a delta; enters what belongs together by now.
    pub(crate) fn take(&mut self, text: &str, ids: &[u32], out: &mut impl TokenSink) {
        let fresh = self.is_empty();
        if fresh && self.is_together(text, ids, out.plan()) {
            return out.together(text, ids);
        }
        let one = ids.len() == 1;
        self.ids.extend_from_slice(ids);
        self.text.push_str(text);
        let over = self.ids.len() > MOST;
        if out.plan().has_bytes() {
            self.by_bytes(fresh, out, over);
        } else {
            if fresh {
                self.late = self.behind > 0 || one && !text.is_empty();
            }
            self.by_markers(fresh, out, over);
        }
        if over {
            self.flush(out);
        }
    }

    /// No more text comes: what waits goes out as it is.
    pub(crate) fn flush(&mut self, out: &mut impl TokenSink) {
        if out.plan().has_bytes() {
            self.by_bytes(false, out, true);
        } else {
            self.by_markers(false, out, true);
        }
        let (text, ids) = (std::mem::take(&mut self.text), std::mem::take(&mut self.ids));
        if !text.is_empty() || !ids.is_empty() {
            out.together(&text, &ids);
        }
    }

    /// The server cut the text off here: waiting tokens get no more text, and only the first one may have some. A
    /// special token with incomplete text then does not count.
    pub(crate) fn cut_off(&mut self, plan: &Plan) {
        let begun = !self.text.is_empty() && self.ids.first().is_some_and(|id| !plan.special.contains(*id));
        self.ids.truncate(usize::from(begun));
    }

    /// Whether this text belongs to these ids, as far as special tokens show. If the bytes are known, every token is
    /// checked.
    fn is_together(&self, text: &str, ids: &[u32], plan: &Plan) -> bool {
        if plan.has_bytes() {
            return false;
        }
        let special = |id: &u32| plan.special.contains(*id);
        if places(text, ids, &plan.special).iter().all(Option::is_some) {
            return true;
        }
        // Text for tokens after a special one whose own text is missing: the server omits it.
        self.behind == 0 && !text.is_empty() && ids.last().is_some_and(|last| !special(last))
    }

    /// Each token takes its own bytes from the text. `fresh`: nothing waited before this delta.
    fn by_bytes(&mut self, fresh: bool, out: &mut impl TokenSink, over: bool) {
        let (mut ids, mut text) = (std::mem::take(&mut self.ids), std::mem::take(&mut self.text));
        let lengths = lengths(&ids, &text, (out.plan(), out.is_at_start()), over);
        let at: usize = lengths.iter().map(|l| l.unwrap_or(0)).sum();
        let waits = lengths.len() < ids.len();
        let rest = &text[at..];
        let first = out.is_at_start() && at == 0;
        let is_odd = match waits {
            true => !over && !begins(rest, &ids[lengths.len()..], (out.plan(), first)),
            false => !rest.is_empty(),
        };
        if is_odd && fresh {
            // The text is not byte for byte that of these tokens, and they came together.
            return out.together(&text, &ids);
        }
        let mut from = 0;
        for (id, length) in ids.iter().zip(&lengths) {
            match length {
                Some(length) => {
                    out.token(*id, &text[from..from + length]);
                    from += length;
                }
                None => out.special(*id, false),
            }
        }
        let mut taken = lengths.len();
        if is_odd {
            // The next token's text is another one than its bytes; text behind all tokens is of none of them.
            let own = usize::from(waits);
            out.ordinary(rest, &ids[taken..taken + own]);
            taken += own;
            text.clear();
        }
        text.drain(..at.min(text.len()));
        ids.drain(..taken);
        (self.ids, self.text) = (ids, text);
    }

    /// Special tokens take the text that is theirs; ordinary ones stand where the text is.
    fn by_markers(&mut self, fresh: bool, out: &mut impl TokenSink, over: bool) {
        let mut waited = !fresh;
        loop {
            let specials = &out.plan().special;
            let Some(before) = self.ids.iter().position(|id| specials.contains(*id)) else { break };
            let id = self.ids[before];
            let own = specials.text(id).map_or("", |special| special.text.as_str());
            let found = memmem::find(self.text.as_bytes(), own.as_bytes()).filter(|_| !own.is_empty());
            let begun = if found.is_some() { 0 } else { begun(&self.text, own) };
            let length = own.len();
            // What waited and then came says that the stream is late.
            self.late |= waited && found.is_some();
            let left_out = !self.late && waited && self.text.len() > begun;
            let end = match found {
                Some(at) => at,
                None if over && self.late => self.text.len(),
                None if over || left_out => 0,
                None => {
                    // The text before the possible beginning of its own belongs to older tokens.
                    let cut = self.text.len() - begun;
                    out.ordinary(&self.text[..cut], &self.ids[..before]);
                    self.text.drain(..cut);
                    self.ids.drain(..before);
                    return;
                }
            };
            out.ordinary(&self.text[..end], &self.ids[..before]);
            self.text.drain(..end + found.map_or(0, |_| length));
            self.ids.drain(..=before);
            out.special(id, found.is_some());
            waited &= found.is_none();
        }
        let (text, ids) = (std::mem::take(&mut self.text), std::mem::take(&mut self.ids));
        let count = ids.len();
        out.ordinary(&text, &ids);
        self.behind = if text.is_empty() { self.behind.max(count) } else { count.saturating_sub(1) };
        self.late = false;
    }
}

/// The length of each token's text, `None` for an omitted special one; only for tokens whose text is complete. A token
/// that ends inside a character has no text of its own: the token that completes the character has all of it.
fn lengths(ids: &[u32], text: &str, (plan, first): (&Plan, bool), over: bool) -> Vec<Option<usize>> {
    let (mut lengths, mut at, mut given, mut sure) = (Vec::with_capacity(ids.len()), 0, 0, 0);
    let mut i = 0;
    while let Some(id) = ids.get(i) {
        let rest = &text.as_bytes()[at..];
        let Some(bytes) = bytes_of(*id, plan) else { break };
        let mut length = None;
        let shown = shown(bytes, rest, first && at == 0);
        if shown == Match::Partial && !over {
            break;
        } else if let Match::Full(n) = shown {
            at += n;
            let end = floor(text, at);
            length = Some(end - given);
            given = end;
        } else if !plan.special.contains(*id) {
            // Its text differs from its bytes: it ends where a later token's begins.
            let Some((ahead, end)) = resync(&ids[i + 1..], text, at, plan) else { break };
            lengths.extend(std::iter::once(Some(end - given)).chain((0..ahead).map(|_| Some(0))));
            (at, given, i) = (end, end, i + 1 + ahead);
            sure = lengths.len();
            continue;
        }
        lengths.push(length);
        i += 1;
        if at == given {
            sure = lengths.len();
        }
    }
    lengths.truncate(sure);
    lengths
}

/// Whether a token's text is at the start of `rest`: its bytes, or what a server shows for them. Tokenizers may drop
/// the blank of the `first` token, and show invalid UTF-8 as replacement characters.
fn shown(bytes: &[u8], rest: &[u8], first: bool) -> Match {
    let begins = |bytes: &[u8]| {
        if rest.starts_with(bytes) {
            Match::Full(bytes.len())
        } else if bytes.starts_with(rest) {
            Match::Partial
        } else {
            Match::No
        }
    };
    match begins(bytes) {
        Match::No => {}
        found => return found,
    }
    if let (true, Some(behind)) = (first, bytes.strip_prefix(b" ")) {
        return begins(behind);
    }
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_some() => begins(String::from_utf8_lossy(bytes).as_bytes()),
        _ => Match::No,
    }
}

/// The next token whose bytes occur in the text after `at`: the number of tokens before it, and its position.
fn resync(ids: &[u32], text: &str, at: usize, plan: &Plan) -> Option<(usize, usize)> {
    ids.iter().take(AHEAD).enumerate().find_map(|(ahead, id)| {
        let bytes = bytes_of(*id, plan).filter(|bytes| !bytes.is_empty())?;
        let place = at + memmem::find(&text.as_bytes()[at..], bytes)?;
        text.is_char_boundary(place).then_some((ahead, place))
    })
}

/// Whether `rest` is the beginning of the text of these tokens, while more tokens or text may come.
fn begins(rest: &str, ids: &[u32], (plan, first): (&Plan, bool)) -> bool {
    let mut rest = rest.as_bytes();
    for (i, id) in ids.iter().enumerate() {
        let Some(bytes) = bytes_of(*id, plan) else { return false };
        match shown(bytes, rest, first && i == 0) {
            Match::Full(n) => rest = &rest[n..],
            Match::Partial => return true,
            Match::No => return false,
        }
    }
    // The last tokens of a character have not come yet.
    rest.len() < 4
}

fn bytes_of(id: u32, plan: &Plan) -> Option<&[u8]> {
    plan.bytes(id).or_else(|| plan.special.text(id).map(|special| special.text.as_bytes()))
}

/// The last character boundary up to `at`.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// How many bytes at the end of `text` may begin `own`.
fn begun(text: &str, own: &str) -> usize {
    let most = text.len().min(own.len().saturating_sub(1));
    (1..=most).rev().find(|n| own.is_char_boundary(*n) && text.ends_with(&own[..*n])).unwrap_or(0)
}
