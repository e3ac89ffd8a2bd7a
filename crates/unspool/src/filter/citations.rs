//! `<co>text</co: 0:[1]>`: removes the marks, each with a diagnostic; the text stays.

use serde::{Deserialize, Serialize};

const OPEN: &str = "<co>";
const CLOSE: &str = "</co";
/// Maximum length of a closing mark, in bytes.
const LONGEST: usize = 128;

/// The filter's state, with the held possible beginning of a mark.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Citations {
    held: String,
    /// Offset of the held text in the output.
    held_at: u64,
}

/// Receives the removed text and its offset in the output.
pub(crate) type Gone<'a> = dyn FnMut(u64, &str) + 'a;

/// The text at a `<`.
enum Mark {
    No,
    Perhaps,
    /// A mark of this length.
    Yes(usize),
}

impl Citations {
    /// Whether text passes through unchanged.
    #[inline]
    pub(crate) fn passes(&self, text: &str) -> bool {
        self.held.is_empty() && memchr::memchr(b'<', text.as_bytes()).is_none()
    }

    /// Takes text at offset `from` of the output; `gone` receives the offset and the text of each mark.
    pub(crate) fn push(&mut self, (text, from): (&str, u64), over: bool, out: &mut String, gone: &mut Gone<'_>) {
        let (mut held, held_at) = (std::mem::take(&mut self.held), self.held_at);
        if held.is_empty() {
            let read = read(text, &|at| from + at as u64, (over, out), gone);
            held.push_str(&text[read..]);
            self.held_at = from + read as u64;
        } else {
            let before = held.len();
            let place = |at: usize| if at < before { held_at + at as u64 } else { from + (at - before) as u64 };
            held.push_str(text);
            let read = read(&held, &place, (over, out), gone);
            held.drain(..read);
            self.held_at = place(read);
        }
        self.held = held;
    }
}

/// Reads up to the possible beginning of a mark; returns the number of bytes consumed. `place` maps a byte to its
/// offset in the output.
fn read(input: &str, place: &dyn Fn(usize) -> u64, (over, out): (bool, &mut String), gone: &mut Gone<'_>) -> usize {
    let mut from = 0;
    while let Some(at) = input[from..].find('<').map(|at| from + at) {
        out.push_str(&input[from..at]);
        let rest = &input[at..];
        from = at;
        match mark(rest) {
            Mark::Yes(len) => {
                gone(place(at), &rest[..len]);
                from += len;
            }
            Mark::Perhaps if !over => return from,
            _ => {
                out.push('<');
                from += 1;
            }
        }
    }
    out.push_str(&input[from..]);
    input.len()
}

fn mark(text: &str) -> Mark {
    if text.starts_with(OPEN) {
        return Mark::Yes(OPEN.len());
    }
    if OPEN.starts_with(text) || CLOSE.starts_with(text) {
        return Mark::Perhaps;
    }
    let Some(behind) = text.strip_prefix(CLOSE) else { return Mark::No };
    let fits = |c: char| c.is_ascii_digit() || matches!(c, ':' | ' ' | ',' | '[' | ']');
    match behind.find(|c| !fits(c)) {
        Some(at) if behind[at..].starts_with('>') && at < LONGEST => Mark::Yes(CLOSE.len() + at + 1),
        None if behind.len() < LONGEST => Mark::Perhaps,
        _ => Mark::No,
    }
}
