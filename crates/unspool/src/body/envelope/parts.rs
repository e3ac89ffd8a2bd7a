//! What an envelope keeps while it is read: a short string, the head of a call, and what has no place.

use serde::{Deserialize, Serialize};

use crate::body::Out;
use crate::body::json::Passed;
use crate::json::copy::JsonOut;
use crate::json::scan::{JsonScan, Scanned, Stop};
use crate::json::unescape::{Piece, Unescape};
use crate::json::write::string;
use crate::limits::Limits;

/// A string that is kept: a key, a name, an id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Short {
    unescape: Unescape,
    pub(super) text: String,
    /// It is longer than it may be; what is too much of it is not kept.
    pub(super) too_long: bool,
}

impl Short {
    /// Reads on, as [`Unescape::read`] does. `stray` hears of each backslash that begins no escape, and where it ends.
    pub(super) fn read(&mut self, input: &str, limit: usize, stray: &mut impl FnMut(usize, &str)) -> Scanned {
        let (text, too_long) = (&mut self.text, &mut self.too_long);
        self.unescape.read(input, &mut |end, piece| {
            if let Piece::Stray(text) = piece {
                stray(end, text);
            }
            let mut buffer = [0; 4];
            let piece = match piece {
                Piece::Text(t) | Piece::Escaped(t) | Piece::Stray(t) => t,
                Piece::Half(_) => char::REPLACEMENT_CHARACTER.encode_utf8(&mut buffer),
            };
            if !*too_long {
                *too_long = !push_within(text, piece, limit);
            }
        })
    }
}

/// What is kept of a call until it is announced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PendingCall {
    /// Bytes of it, arguments apart.
    bytes: usize,
    /// Arguments that came before the name.
    held_arguments: String,
    /// What of them was mended: where it stands, from the start of the head, and the escape.
    mended: Vec<(isize, String)>,
    /// How many bytes of the head stand before the input of this step.
    before: isize,
    /// The envelope's JSON up to here; `None` where it is none.
    pub(super) scan: Option<JsonScan>,
    /// What the model wrote since the last call of the list; not kept before the first one.
    raw: Option<String>,
    /// Where it begins in the input of this step.
    from: usize,
}

impl PendingCall {
    /// The head of the first call.
    pub(super) fn first() -> Self {
        Self { scan: Some(JsonScan::default()), ..Self::default() }
    }

    /// The head of a further call, behind `open` (JSON that leads to where the envelope stands) and from offset `from`.
    pub(super) fn further(open: &str, from: usize) -> Self {
        let mut scan = JsonScan::default();
        scan.scan(open.as_bytes(), JsonScan::DEEPEST);
        Self { scan: Some(scan), raw: Some(String::new()), from, before: -from.cast_signed(), ..Self::default() }
    }

    /// Takes arguments that come before the name, read from offset `at` of the step's input on.
    pub(super) fn early_from(&mut self, at: usize) -> EarlyArguments<'_> {
        EarlyArguments {
            base: self.before + at.cast_signed(),
            text: &mut self.held_arguments,
            mended: &mut self.mended,
        }
    }

    /// Keeps for the announcement that a backslash was mended, `at` in the input of the step.
    pub(super) fn mend(&mut self, at: isize, escape: &str) {
        self.mended.push((self.before + at, escape.to_owned()));
    }

    /// Bytes of arguments that came before the name.
    pub(super) fn early_bytes(&self) -> usize {
        self.held_arguments.len()
    }

    /// The call is announced: the arguments that came before go out.
    pub(super) fn give_early(&mut self, out: &mut dyn Out) {
        if !self.held_arguments.is_empty() {
            out.args(&std::mem::take(&mut self.held_arguments));
        }
        for (at, escape) in std::mem::take(&mut self.mended) {
            Passed::tell(out, at - self.before, &escape);
        }
    }

    /// Counts bytes; whether the head may still grow.
    pub(super) fn count(&mut self, bytes: usize, limits: &Limits) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes <= limits.header
    }

    /// How many bytes more it may have.
    pub(super) fn room(&self, limits: &Limits) -> usize {
        limits.header.saturating_sub(self.bytes)
    }

    /// A step is over that took `taken` of its input.
    pub(super) fn end_step(&mut self, taken: &str, limits: &Limits) {
        let new = taken.get(self.from..).unwrap_or_default();
        self.from = 0;
        self.before += taken.len().cast_signed();
        if let Some(raw) = &mut self.raw {
            raw.push_str(new);
        }
        let Some(scan) = &mut self.scan else { return };
        if scan.skip(new.as_bytes(), limits.depth).stop == Stop::Bad {
            self.scan = None;
        }
    }

    /// What the model wrote of the list since its last call, up to the end of `taken`.
    pub(super) fn element(&self, taken: &str) -> String {
        let before = self.raw.as_deref().unwrap_or_default();
        let all = format!("{before}{}", taken.get(self.from..).unwrap_or_default());
        all.trim_start_matches([',', ' ', '\n', '\r', '\t']).to_owned()
    }
}

/// Keeps arguments until their call is announced.
pub(super) struct EarlyArguments<'a> {
    text: &'a mut String,
    mended: &'a mut Vec<(isize, String)>,
    base: isize,
}

impl JsonOut for EarlyArguments<'_> {
    fn json(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn doubled(&mut self, at: isize, escape: &str) {
        self.mended.push((self.base + at, escape.to_owned()));
    }
}

/// Members of a call's object that are neither name nor arguments nor id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Unplaced {
    text: String,
    /// Start of the last member in it.
    member: usize,
    /// A key whose role is not yet known, as the model wrote it.
    key: String,
    /// The decoded keys of the members; `None`: a member with a role but an invalid value.
    keys: Vec<Option<String>>,
    /// It is not stored completely.
    full: bool,
}

impl Unplaced {
    /// A member that only says that the object is a call.
    const SAYS_NOTHING: &str = "\"type\": \"function\"";

    /// The opening quote of a key.
    pub(super) fn key_begins(&mut self) {
        "\"".clone_into(&mut self.key);
    }

    /// More of the key, in a call that may store this many bytes.
    pub(super) fn key_goes_on(&mut self, text: &str, most: usize) {
        if !self.full {
            self.full = !push_within(&mut self.key, text, most.saturating_sub(self.text.len()));
        }
    }

    /// The current key is complete, with this text; `unplaced`: its member has no role.
    pub(super) fn key_is_over(&mut self, says: &str, unplaced: bool) {
        let key = std::mem::take(&mut self.key);
        if unplaced {
            self.keys.push(Some(says.to_owned()));
            self.member(&key);
        }
    }

    /// Number of stored bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len() + self.key.len()
    }

    /// The members, if there are some and each is a parameter.
    pub(super) fn take_parameters(&mut self, is_parameter: &dyn Fn(&str) -> bool) -> Option<String> {
        let all = self.keys.iter().all(|key| key.as_deref().is_some_and(is_parameter));
        let whole = all && !self.keys.is_empty() && self.key.is_empty() && !self.full;
        whole.then(|| std::mem::take(self).text)
    }

    /// A member with a role but an invalid value.
    pub(super) fn key(&mut self, key: &str) {
        let mut text = String::new();
        string(&mut text, key);
        self.keys.push(None);
        self.member(&text);
    }

    fn member(&mut self, key: &str) {
        self.member = self.text.len();
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(key);
    }

    /// The value of the last member begins.
    pub(super) fn value_begins(&mut self) {
        self.text.push_str(": ");
    }

    /// More of the value, in a call that may store this many bytes.
    pub(super) fn value(&mut self, text: &str, most: usize) {
        if !self.full {
            self.full = !push_within(&mut self.text, text, most);
        }
    }

    /// The value of the last member ends.
    pub(super) fn value_is_over(&mut self) {
        if self.text[self.member..].trim_start_matches(", ") == Self::SAYS_NOTHING {
            self.text.truncate(self.member);
            self.keys.pop();
        }
    }

    /// Takes all of it, for a diagnostic.
    pub(super) fn take(&mut self) -> String {
        let Self { mut text, key, .. } = std::mem::take(self);
        if !key.is_empty() {
            let comma = if text.is_empty() { "" } else { ", " };
            text.extend([comma, &key]);
        }
        text
    }
}

/// Appends as much as the limit allows; returns whether that is all.
fn push_within(to: &mut String, text: &str, limit: usize) -> bool {
    let mut end = text.len().min(limit.saturating_sub(to.len()));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    to.push_str(&text[..end]);
    end == text.len()
}
