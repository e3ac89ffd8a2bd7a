//! The buffers of an envelope: a short string, the header of a call, and unplaced text.

use serde::{Deserialize, Serialize};

use crate::body::Out;
use crate::body::json::Passed;
use crate::json::copy::JsonOut;
use crate::json::scan::{JsonScan, Scanned, Stop};
use crate::json::unescape::{Piece, Unescape};
use crate::json::write::string;
use crate::limits::Limits;

/// A stored string: a key, a name, or an id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Short {
    unescape: Unescape,
    pub(super) text: String,
    /// It exceeds its limit; the excess is not stored.
    pub(super) too_long: bool,
}

impl Short {
    /// Consumes input, as [`Unescape::read`] does. `stray` receives each backslash that begins no escape, and its end.
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

/// What is stored of a call until it is announced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PendingCall {
    /// Its bytes, without arguments.
    bytes: usize,
    /// Arguments that came before the name.
    held_arguments: String,
    /// Their repairs: the position from the start of the header, and the escape.
    mended: Vec<(isize, String)>,
    /// Number of bytes of the header before this step's input.
    before: isize,
    /// The envelope's JSON so far; `None` if it is not JSON.
    pub(super) scan: Option<JsonScan>,
    /// What the model wrote since the last call of the list; not stored before the first one.
    raw: Option<String>,
    /// Its start in this step's input.
    from: usize,
}

impl PendingCall {
    /// The header of the first call.
    pub(super) fn first() -> Self {
        Self { scan: Some(JsonScan::default()), ..Self::default() }
    }

    /// The header of a further call, after `open` (JSON that leads to the envelope's position) and from offset `from`.
    pub(super) fn further(open: &str, from: usize) -> Self {
        let mut scan = JsonScan::default();
        scan.scan(open.as_bytes(), JsonScan::DEEPEST);
        Self { scan: Some(scan), raw: Some(String::new()), from, before: -from.cast_signed(), ..Self::default() }
    }

    /// Takes arguments that come before the name, from offset `at` of this step's input.
    pub(super) fn early_from(&mut self, at: usize) -> EarlyArguments<'_> {
        EarlyArguments {
            base: self.before + at.cast_signed(),
            text: &mut self.held_arguments,
            mended: &mut self.mended,
        }
    }

    /// Stores the repair of a backslash at `at` in this step's input, until the announcement.
    pub(super) fn mend(&mut self, at: isize, escape: &str) {
        self.mended.push((self.before + at, escape.to_owned()));
    }

    /// Number of argument bytes before the name.
    pub(super) fn early_bytes(&self) -> usize {
        self.held_arguments.len()
    }

    /// Emits the stored arguments once the call is announced.
    pub(super) fn give_early(&mut self, out: &mut dyn Out) {
        if !self.held_arguments.is_empty() {
            out.args(&std::mem::take(&mut self.held_arguments));
        }
        for (at, escape) in std::mem::take(&mut self.mended) {
            Passed::tell(out, at - self.before, &escape);
        }
    }

    /// Counts bytes; returns whether the header may still grow.
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
