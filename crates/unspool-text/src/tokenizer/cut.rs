//! Finds where to cut a long text for a tokenizer that needs a hundred times a text's length in memory, so that the
//! tokens of the parts are those of the whole.
//!
//! Such a place is a blank between two words. A trial shows whether the tokenizer agrees: the text around it must have
//! the same tokens in one piece and in two. A tokenizer that adds a prefix to each text, or that merges words, fails,
//! and gets the text whole.

use crate::error::TextError;

/// Length of a piece, in bytes.
pub(super) const PIECE: usize = 64 << 10;
/// How far before the end of a piece to search for a place.
const WINDOW: usize = 4 << 10;
/// Number of places to try there.
const TRIES: usize = 12;
/// Size of the text around a place for the trial, in bytes on each side.
const AROUND: usize = 96;

/// The end of the first piece of `text`; `None`: it cannot or need not be cut.
///
/// # Errors
/// Those of `encode`.
pub(super) fn first_cut(
    text: &str,
    encode: &dyn Fn(&str) -> Result<Vec<u32>, TextError>,
) -> Result<Option<usize>, TextError> {
    if text.len() <= PIECE + PIECE / 4 {
        return Ok(None);
    }
    let bytes = text.as_bytes();
    let is_place = |at: &usize| {
        let around = (bytes.get(at.wrapping_sub(1)), bytes.get(*at), bytes.get(at + 1));
        matches!(around, (Some(before), Some(b' '), Some(after)) if before.is_ascii_alphanumeric() && after.is_ascii_alphabetic())
    };
    for at in (PIECE - WINDOW..PIECE).rev().filter(is_place).take(TRIES) {
        let (left, right) = (&text[start(text, at - AROUND)..at], &text[at..start(text, at + AROUND)]);
        let apart = [encode(left)?, encode(right)?].concat();
        if encode(&text[at - left.len()..at + right.len()])? == apart {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// The start of the character at `at`.
fn start(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
