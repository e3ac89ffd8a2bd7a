//! Passes a JSON value through as the model writes it, and repairs what JSON forbids inside strings.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::scan::{JsonScan, Scanned, Stop};
use super::write::escaped;

/// Receives JSON text and its repairs.
pub(crate) trait JsonOut {
    /// A piece of JSON text.
    fn json(&mut self, text: &str);
    /// A piece of JSON text made from this range, relative to the start of the input; negative: in an earlier one.
    #[inline]
    fn json_at(&mut self, text: &str, place: Range<isize>) {
        let _ = place;
        self.json(text);
    }
    /// A backslash and the following bytes are not a JSON escape; the backslash was doubled. `at`: their position,
    /// relative to the start of the input.
    fn doubled(&mut self, at: isize, escape: &str);
}

/// Reads a value and writes it verbatim, except that raw control characters in strings become escapes, and a backslash
/// that begins no escape is doubled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JsonCopy {
    scan: JsonScan,
    /// An incomplete escape, which is not written yet.
    escape: Escape,
}

/// The beginning of an escape: `\`, `\u` and at most three digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Escape {
    bytes: [u8; 5],
    len: u8,
}

impl Escape {
    fn is_empty(self) -> bool {
        self.len == 0
    }

    fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if let Some(room) = self.bytes.get_mut(usize::from(self.len)) {
                *room = byte;
                self.len += 1;
            }
        }
    }

    /// The bytes are a backslash, `u` and digits.
    fn text(&self) -> &str {
        let len = usize::from(self.len).min(self.bytes.len());
        std::str::from_utf8(&self.bytes[..len]).unwrap_or_default()
    }
}

impl JsonCopy {
    /// Whether the value is complete.
    pub(crate) fn is_over(&self) -> bool {
        self.scan.is_over()
    }

    /// Continues if the value extends over all of `input` and nothing in it needs repair; otherwise false, and nothing
    /// is consumed.
    #[inline]
    pub(crate) fn passes(&mut self, input: &str, depth: usize) -> bool {
        let mut scan = self.scan.clone();
        if !self.escape.is_empty() || scan.scan(input.as_bytes(), depth).stop != Stop::More || scan.escape() > 0 {
            return false;
        }
        self.scan = scan;
        true
    }

    /// Continues and writes what is read.
    #[inline]
    pub(crate) fn copy(&mut self, input: &str, depth: usize, out: &mut impl JsonOut) -> Scanned {
        let mut from = if self.escape.is_empty() { 0 } else { self.end_escape(input, out) };
        let bytes = input.as_bytes();
        loop {
            let Scanned { len, stop } = self.scan.scan(&bytes[from..], depth);
            let end = from + len;
            match stop {
                Stop::Control => {
                    pass(&input[from..end], from.cast_signed(), out);
                    // There is nothing to scan between two of them.
                    let run = bytes[end..].iter().take_while(|byte| **byte < b' ').count();
                    from = end + run.max(1);
                    let mut at = end.cast_signed();
                    escaped(&bytes[end..from], &mut |text, len| {
                        out.json_at(text, at..at + len.cast_signed());
                        at += len.cast_signed();
                    });
                }
                Stop::Escape(length) => {
                    let start = end - length.min(len);
                    pass(&input[from..start], from.cast_signed(), out);
                    double(start.cast_signed(), &input[start..end], out);
                    from = end;
                }
                Stop::More => {
                    let start = end - self.scan.escape().min(len);
                    pass(&input[from..start], from.cast_signed(), out);
                    self.escape.push(&bytes[start..end]);
                    return Scanned { len: end, stop };
                }
                Stop::End | Stop::Bad => {
                    pass(&input[from..end], from.cast_signed(), out);
                    return Scanned { len: end, stop };
                }
            }
        }
    }

    /// The output ends: a partial escape stays as it is. Returns whether the value is complete.
    pub(crate) fn finish(&self, out: &mut impl JsonOut) -> bool {
        let escape = self.escape.text();
        pass(escape, -escape.len().cast_signed(), out);
        self.scan.may_end()
    }

    /// Reads the rest of the current escape and writes it; returns the number of bytes consumed.
    #[cold]
    fn end_escape(&mut self, input: &str, out: &mut impl JsonOut) -> usize {
        let mut read = 0;
        if self.scan.escape() != usize::from(self.escape.len) {
            // From a modified snapshot: it does not begin an escape.
            let text = std::mem::take(&mut self.escape);
            pass(text.text(), -text.text().len().cast_signed(), out);
        }
        while !self.escape.is_empty() {
            let Some(next) = input.as_bytes().get(read..=read) else { break };
            match self.scan.scan(next, JsonScan::DEEPEST).stop {
                Stop::Escape(_) => {
                    let escape = std::mem::take(&mut self.escape);
                    let at = read.cast_signed() - isize::from(escape.len.cast_signed());
                    double(at, escape.text(), out);
                    return read;
                }
                _ if self.scan.escape() == 0 => {
                    let escape = std::mem::take(&mut self.escape);
                    pass(escape.text(), read.cast_signed() - isize::from(escape.len.cast_signed()), out);
                    read += 1;
                    pass(&input[read - 1..read], read.cast_signed() - 1, out);
                }
                _ => {
                    self.escape.push(next);
                    read += 1;
                }
            }
        }
        read
    }
}

#[inline(always)]
fn pass(text: &str, at: isize, out: &mut impl JsonOut) {
    if !text.is_empty() {
        out.json_at(text, at..at + text.len().cast_signed());
    }
}

fn double(at: isize, escape: &str, out: &mut impl JsonOut) {
    out.json_at("\\", at..at);
    pass(escape, at, out);
    out.doubled(at, escape);
}
