//! `<co>text</co: 0:[1]>`: the marks go, the text stays.

use serde::{Deserialize, Serialize};

const OPEN: &str = "<co>";
const CLOSE: &str = "</co";
/// Longest closing mark, in bytes.
const LONGEST: usize = 128;

/// The filter's state: what it holds may be the beginning of a mark.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Citations {
    held: String,
}

/// What stands at a `<`.
enum Mark {
    No,
    Perhaps,
    /// A mark of this length.
    Yes(usize),
}

impl Citations {
    pub(crate) fn push(&mut self, text: &str, over: bool, out: &mut String) {
        let mut input = std::mem::take(&mut self.held);
        input.push_str(text);
        let mut rest = input.as_str();
        while let Some(at) = rest.find('<') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            match mark(rest) {
                Mark::Yes(len) => rest = &rest[len..],
                Mark::Perhaps if !over => {
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
