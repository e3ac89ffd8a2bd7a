//! `<co>text</co: 0:[1]>`: the marks go, each to a diagnostic; the text stays.

use serde::{Deserialize, Serialize};

const OPEN: &str = "<co>";
const CLOSE: &str = "</co";
/// Longest closing mark, in bytes.
const LONGEST: usize = 128;

/// The filter's state: what it holds may be the beginning of a mark.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Citations {
    held: String,
    /// Where what is held begins in the output.
    held_at: u64,
}

/// Takes what is removed: its place in the output, and the text.
pub(crate) type Gone<'a> = dyn FnMut(u64, &str) + 'a;

/// What stands at a `<`.
enum Mark {
    No,
    Perhaps,
    /// A mark of this length.
    Yes(usize),
}

impl Citations {
    /// Takes text that stands at `from` in the output; `gone` gets the place and the text of each mark.
    pub(crate) fn push(&mut self, (text, from): (&str, u64), over: bool, out: &mut String, gone: &mut Gone<'_>) {
        let mut input = std::mem::take(&mut self.held);
        let (held, held_at) = (input.len(), self.held_at);
        let place = |at: usize| if at < held { held_at + at as u64 } else { from + (at - held) as u64 };
        input.push_str(text);
        let mut rest = input.as_str();
        while let Some(at) = rest.find('<') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let here = place(input.len() - rest.len());
            match mark(rest) {
                Mark::Yes(len) => {
                    gone(here, &rest[..len]);
                    rest = &rest[len..];
                }
                Mark::Perhaps if !over => {
                    self.held_at = here;
                    self.held = rest.to_owned();
                    return;
                }
                _ => {
                    out.push('<');
                    rest = &rest[1..];
                }
            }
        }
        out.push_str(rest);
    }
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
