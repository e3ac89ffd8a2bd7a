//! Where a long text can be cut for a tokenizer that takes a hundred times a text's length in memory, so that the tokens of the
//! parts are those of the whole.
//!
//! Such a place is a blank between two words. Whether the tokenizer at hand sees one there as well is tried: what stands around
//! it must have the same tokens in one piece and in two. A tokenizer that puts something in front of each text, or that joins
//! words, fails that, and gets the text whole.

use crate::error::TextError;

/// Length of a piece, in bytes.
pub(super) const PIECE: usize = 64 << 10;
/// How far before the end of a piece is looked for a place.
const WINDOW: usize = 4 << 10;
/// Places that are tried there.
const TRIES: usize = 12;
/// What stands around a place when it is tried, in bytes on each side.
const AROUND: usize = 96;

/// Where the first piece of `text` ends; `None`: it cannot be cut, or need not be.
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
