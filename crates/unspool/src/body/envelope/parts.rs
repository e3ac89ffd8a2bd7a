//! What an envelope keeps while it is read: a short string, the head of a call, and what has no place.

use serde::{Deserialize, Serialize};

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
    /// Reads on, as [`Unescape::read`] does.
    pub(super) fn read(&mut self, input: &str, limit: usize) -> Scanned {
        let (text, too_long) = (&mut self.text, &mut self.too_long);
        self.unescape.read(input, &mut |piece| {
            let mut buffer = [0; 4];
            let piece = match piece {
                Piece::Text(t) => t,
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
pub(super) struct Head {
    /// Bytes of it, arguments apart.
    bytes: usize,
    /// Arguments that came before the name.
    pub(super) early: String,
    /// The envelope's JSON up to here; `None` where it is none.
    pub(super) scan: Option<JsonScan>,
    /// What the model wrote since the last call of the list; not kept before the first one.
    raw: Option<String>,
    /// Where it begins in the input of this step.
    from: usize,
}

impl Head {
    /// The head of the first call.
    pub(super) fn first() -> Self {
        Self { scan: Some(JsonScan::default()), ..Self::default() }
    }

    /// The head of a further call, behind `open` (JSON that leads to where the envelope stands) and from offset `from`.
    pub(super) fn further(open: &str, from: usize) -> Self {
        let mut scan = JsonScan::default();
        scan.scan(open.as_bytes(), JsonScan::DEEPEST);
        Self { scan: Some(scan), raw: Some(String::new()), from, ..Self::default() }
    }

    /// Counts bytes; whether the head may still grow.
    pub(super) fn count(&mut self, bytes: usize, limits: &Limits) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes <= limits.head
    }

    /// A step is over that took `taken` of its input.
    pub(super) fn end_step(&mut self, taken: &str, limits: &Limits) {
        let new = taken.get(self.from..).unwrap_or_default();
        self.from = 0;
        if let Some(raw) = &mut self.raw {
            raw.push_str(new);
        }
        let Some(scan) = &mut self.scan else { return };
        let mut at = 0;
        loop {
            let Scanned { len, stop } = scan.scan(&new.as_bytes()[at..], limits.depth);
            at += len;
            match stop {
                Stop::Control => at += 1,
                Stop::Bad => {
                    self.scan = None;
                    return;
                }
                Stop::More | Stop::End => return,
            }
        }
    }

    /// An element of the list that is no call, as the model wrote it up to the end of `taken`.
    pub(super) fn element(&self, taken: &str) -> String {
        let before = self.raw.as_deref().unwrap_or_default();
        let all = format!("{before}{}", taken.get(self.from..).unwrap_or_default());
        all.trim_start_matches([',', ' ', '\n', '\r', '\t']).to_owned()
    }
}

/// Members of a call's object that are neither name nor arguments nor id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Unplaced {
    pub(super) text: String,
    /// Not all of it is kept.
    full: bool,
    /// It looks like something that the model wanted to reach the function.
    pub(super) lost: bool,
}

impl Unplaced {
    /// Longest text that is kept, in bytes; a diagnostic shows no more.
    const KEPT: usize = crate::Diagnostic::TEXT_LIMIT;

    pub(super) fn key(&mut self, key: &str) {
        let mut text = String::new();
        if !self.text.is_empty() {
            text.push_str(", ");
        }
        string(&mut text, key);
        text.push_str(": ");
        self.value(&text);
    }

    pub(super) fn value(&mut self, text: &str) {
        if !self.full {
            self.full = !push_within(&mut self.text, text, Self::KEPT);
        }
    }
}

/// Appends what fits; whether that is all.
fn push_within(to: &mut String, text: &str, limit: usize) -> bool {
    let mut end = text.len().min(limit.saturating_sub(to.len()));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    to.push_str(&text[..end]);
    end == text.len()
}
