//! A byte-level tokenizer's marks for white space, which some models write into their tags.

use std::borrow::Cow;

use crate::scan;

/// First byte of both marks in UTF-8: U+0120 for a blank, U+010A for a line break.
pub(crate) const MARK: u8 = 0xc4;

/// The character that the two bytes of a mark stand for.
pub(crate) fn mark(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [MARK, 0xa0, ..] => Some(" "),
        [MARK, 0x8a, ..] => Some("\n"),
        _ => None,
    }
}

/// `text` with each mark replaced by two blanks, which preserves offsets.
pub(crate) fn blank_marks(text: &str) -> Cow<'_, str> {
    if text.contains(['\u{120}', '\u{10a}']) {
        Cow::Owned(text.replace(['\u{120}', '\u{10a}'], "  "))
    } else {
        Cow::Borrowed(text)
    }
}

/// What counts as white space in the tags of a format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Blanks {
    /// Marks also count.
    pub(crate) marks: bool,
}

impl Blanks {
    /// White space at the start of `input`, in bytes.
    #[inline]
    pub(crate) fn before(self, input: &[u8]) -> usize {
        let mut at = scan::blanks(input);
        while self.marks && mark(&input[at..]).is_some() {
            at += 2;
            at += scan::blanks(&input[at..]);
        }
        at
    }

    /// White space at the end of `input`, in bytes.
    pub(crate) fn behind(self, input: &[u8]) -> usize {
        let mut end = input.len();
        loop {
            match input[..end] {
                [.., byte] if scan::is_blank(byte) => end -= 1,
                [.., first, second] if self.marks && mark(&[first, second]).is_some() => end -= 2,
                _ => return input.len() - end,
            }
        }
    }

    /// Whether `input` begins with white space.
    pub(crate) fn begins(self, input: &[u8]) -> bool {
        input.first().is_some_and(|byte| scan::is_blank(*byte)) || self.marks && mark(input).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_white_space_where_they_count() {
        let (with, without) = (Blanks { marks: true }, Blanks::default());
        let text = " Ċ\tĠa Ġ b ĊĠ".as_bytes();
        assert_eq!((with.before(text), without.before(text)), (6, 1));
        assert_eq!((with.behind(text), without.behind(text)), (5, 0));
        assert!(with.begins("Ġ".as_bytes()) && !without.begins("Ġ".as_bytes()));
        assert!(!with.begins("Ď".as_bytes()));
        assert_eq!(blank_marks("aĠbĊ"), "a  b  ");
    }
}
