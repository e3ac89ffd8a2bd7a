//! Decides how long a text may still become something other than a string.

use serde::{Deserialize, Serialize};

use super::{LONGEST_SCALAR, Rules, Want};
use crate::format::file::Silent;
use crate::scan::is_blank;
use crate::schema::Kinds;

/// The possible forms of a text besides a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Forms {
    /// `null`, `true`, `false`, `None`.
    words: bool,
    numbers: bool,
    objects: bool,
    arrays: bool,
    /// A JSON string.
    quoted: bool,
    /// Also Python's spellings.
    python: bool,
    /// Maximum length of a listed string that may have white space around it; 0: none.
    listed: usize,
}

/// The state of a text so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Guess {
    /// White space, or nothing.
    Start,
    /// The first `letters` letters of these words (bits).
    Word { words: u8, letters: u8 },
    /// A possible number.
    Number,
    /// A word or number is complete: only white space may follow.
    Over,
    /// Its end decides.
    End,
    /// It is a string.
    String,
}

const WORDS: [&[u8]; 4] = [b"null", b"true", b"false", b"none"];

impl Forms {
    const NONE: Self =
        Self { words: false, numbers: false, objects: false, arrays: false, quoted: false, python: false, listed: 0 };

    /// The possible forms of a text.
    pub(crate) fn of(want: Want<'_>, rules: Rules) -> Self {
        let any = Self { words: true, numbers: true, objects: true, arrays: true, quoted: true, ..Self::NONE };
        let (kinds, listed) = match want {
            Want::Json => return any,
            Want::Kinds(kinds) => (kinds, 0),
            Want::Schema(None) => (Kinds::default(), 0),
            Want::Schema(Some(of)) => (of.kinds, of.strings.iter().map(|s| s.len()).max().unwrap_or(0)),
        };
        let python = rules.python;
        if kinds.is_empty() {
            return if rules.silent == Silent::Text { Self::NONE } else { Self { python, ..any } };
        }
        if !kinds.has(Kinds::STRING) {
            // A tuple may mean a list.
            return Self { python: python || kinds.has(Kinds::ARRAY.or(Kinds::OBJECT)), ..any };
        }
        Self {
            words: kinds.has(Kinds::NULL.or(Kinds::BOOLEAN)),
            numbers: kinds.has(Kinds::INTEGER.or(Kinds::NUMBER).or(Kinds::BOOLEAN)),
            objects: kinds.has(Kinds::OBJECT) || python && kinds.has(Kinds::ARRAY),
            arrays: kinds.has(Kinds::ARRAY),
            quoted: false,
            python,
            listed,
        }
    }

    /// Whether the text can only be a string, verbatim.
    pub(crate) fn is_string_only(self) -> bool {
        Self { python: false, ..self } == Self::NONE
    }

    /// These forms, or an object.
    #[must_use]
    pub(crate) fn or_object(self, rules: Rules) -> Self {
        Self { objects: true, python: self.python || rules.python, ..self }
    }

    /// Whether the text is certainly a string, but white space around it may be dropped.
    pub(crate) fn is_listed_only(self) -> bool {
        self.listed > 0 && Self { listed: 0, ..self }.is_string_only()
    }

    fn starting(self, byte: u8) -> Guess {
        let is = |may: bool, guess: Guess| if may { guess } else { Guess::String };
        match byte {
            b'n' | b'N' | b't' | b'T' | b'f' | b'F' => {
                is(self.words, Guess::Word { words: 0b1111, letters: 0 }.letter(byte))
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => is(self.numbers, Guess::Number),
            b'{' => is(self.objects, Guess::End),
            b'[' => is(self.arrays, Guess::End),
            b'(' => is(self.arrays && self.python, Guess::End),
            b'"' => is(self.quoted, Guess::End),
            b'\'' => is(self.quoted && self.python, Guess::End),
            _ => Guess::String,
        }
    }
}

impl Guess {
    /// Continues over the next piece of a text; `len` is the total length.
    #[must_use]
    pub(crate) fn after(mut self, forms: Forms, piece: &str, len: usize) -> Self {
        if forms.listed > 0 {
            return self.listed(forms, piece, len);
        }
        for &byte in piece.as_bytes() {
            self = match self {
                Self::String | Self::End => return self,
                Self::Start if is_blank(byte) => self,
                Self::Start => forms.starting(byte),
                Self::Over if is_blank(byte) => self,
                Self::Over => Self::String,
                Self::Word { .. } => self.letter(byte),
                Self::Number if is_blank(byte) => Self::Over,
                Self::Number if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_') => self,
                Self::Number => Self::String,
            };
        }
        if len > LONGEST_SCALAR && self != Self::End { Self::String } else { self }
    }

    /// With listed strings the end decides, unless the text is too long for them and can only be a string.
    fn listed(self, forms: Forms, piece: &str, len: usize) -> Self {
        let begins = Forms { listed: 0, ..forms };
        let other = self.after(begins, piece, len);
        if other == Self::String && len <= forms.listed + LONGEST_SCALAR { Self::Over } else { other }
    }

    fn letter(self, byte: u8) -> Self {
        let Self::Word { words, letters } = self else { return self };
        let mut left = 0;
        for (i, word) in WORDS.iter().enumerate() {
            let bit = 1 << i;
            if words & bit == 0 {
                continue;
            }
            match word.get(usize::from(letters)) {
                None if is_blank(byte) => return Self::Over,
                Some(letter) if byte.eq_ignore_ascii_case(letter) => left |= bit,
                _ => {}
            }
        }
        if left == 0 { Self::String } else { Self::Word { words: left, letters: letters + 1 } }
    }
}
