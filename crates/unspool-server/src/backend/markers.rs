//! The markers of a format, which may be single tokens.

use serde_json::json;
use unspool::Pair;
use unspool::{Message, Request, ToolCall};

/// Maximum length of a marker that counts as a single entry, in bytes.
const LONGEST_MARKER: usize = 64;

/// The markers of a pair, found in brackets in rendered samples. If the syntax cannot express one part, others are
/// tried.
pub(super) fn markers(pair: &Pair) -> Vec<String> {
    const WORD: &str = "birch";
    let call = ToolCall {
        name: WORD.to_owned(),
        arguments: format!("{{\"{WORD}\": \"{WORD}\"}}"),
        complete: true,
        ..ToolCall::default()
    };
    let tool = json!({"tools": [{"type": "function", "function": {"name": WORD}}]});
    let request = Request::from_openai(&tool).unwrap_or_default();
    let mut found = Vec::new();
    for parts in 1..8 {
        let (thinks, says, calls) = (parts & 1 != 0, parts & 2 != 0, parts & 4 != 0);
        let word = |there: bool| if there { WORD.to_owned() } else { String::new() };
        let tool_calls = if calls { vec![call.clone()] } else { Vec::new() };
        let sample = Message { reasoning: word(thinks), content: word(says), tool_calls, ..Message::default() };
        let text = pair.render(&sample, &request).unwrap_or_default();
        for marker in bracketed(&text).filter(|marker| !marker.contains(WORD)) {
            if !found.iter().any(|known| known == marker) {
                found.push(marker.to_owned());
            }
        }
    }
    found
}

/// The parts `<…>` and `[…]` of a text that look like markers: short, without white space, quotes or values.
fn bracketed(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(['<', '[']).filter_map(move |(at, open)| {
        let rest = &text[at..];
        let close = if open == "<" { '>' } else { ']' };
        let marker = &rest[..=rest.find(close)?];
        let inside = &marker[1..marker.len() - 1];
        let capitals = open == "<" || inside.chars().all(|c| c.is_ascii_uppercase() || "_/".contains(c));
        let odd = |c: char| c.is_whitespace() || "\"'=<>[]{}".contains(c);
        (!inside.is_empty() && marker.len() <= LONGEST_MARKER && capitals && !inside.contains(odd)).then_some(marker)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_what_stands_in_brackets() {
        let text = "<think>a < b</think>\n<function=f>[TOOL_CALLS][{\"a\": [1]}]<|end|>[THINK]<｜tool▁sep｜>x</think";
        let found: Vec<_> = bracketed(text).collect();
        assert_eq!(found, ["<think>", "</think>", "[TOOL_CALLS]", "<|end|>", "[THINK]", "<｜tool▁sep｜>"]);
    }
}
