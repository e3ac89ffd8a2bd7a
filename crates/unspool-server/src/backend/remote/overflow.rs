//! Recognises the servers' errors for prompts beyond the model's context length.

use serde_json::Value;

use crate::error::Overflow;

/// Phrases of such an error.
const SIGNS: [&str; 8] = [
    "maximum context length",
    "context_length_exceeded",
    "exceed_context_size",
    "available context size",
    "model's context length",
    "maximum model length",
    "`inputs` tokens + `max_new_tokens`",
    "`inputs` must have less than",
];

/// Phrases before the model's context length.
const LONGEST: [&str; 7] = [
    "context length is",
    "context length (",
    "context size (",
    "model length of",
    "`max_new_tokens` must be <=",
    "must have less than",
    "context length of",
];

/// Phrases before the prompt's token count; the most exact ones first.
const PROMPT: [&str; 8] =
    ["tokens (", "input (", "(length", "request (", "request has", "prompt contains", "given:", "prompt has"];

/// The lengths in an error; `None`: it is a different error.
pub(super) fn told(body: Option<&Value>, words: &str) -> Option<Overflow> {
    let inside = body.map(|body| body.get("error").unwrap_or(body));
    let field = |name: &str| inside?.get(name)?.as_u64();
    let text = |name: &str| inside.and_then(|error| error.get(name)?.as_str()).unwrap_or_default();
    let said = [words, text("code"), text("type")].join(" ").to_lowercase();
    if !SIGNS.iter().any(|sign| said.contains(sign)) {
        return None;
    }
    let find = |marks: &[&str]| marks.iter().find_map(|mark| number_behind(&said, mark));
    Some(Overflow {
        longest: field("n_ctx").or_else(|| find(&LONGEST)),
        prompt: field("n_prompt_tokens").or_else(|| find(&PROMPT)),
        asked: None,
    })
}

/// The number after this phrase.
fn number_behind(text: &str, mark: &str) -> Option<u64> {
    text.match_indices(mark).find_map(|(at, _)| {
        let rest = text[at + mark.len()..].trim_start();
        let digits: String =
            rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(|c| *c != ',').collect();
        digits.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_words_of_servers_are_understood() {
        for (words, longest, prompt) in [
            (
                "This model's maximum context length is 4096 tokens. However, you requested 5,100 tokens (5,000 in the \
                 messages, 100 in the completion).",
                Some(4096),
                Some(5000),
            ),
            (
                "This model's maximum context length is 200 tokens. However, your request has 546 input tokens.",
                Some(200),
                Some(546),
            ),
            ("The decoder prompt (length 546) is longer than the maximum model length of 200.", Some(200), Some(546)),
            ("The input (546 tokens) is longer than the model's context length (200 tokens).", Some(200), Some(546)),
            (
                "request (546 tokens) exceeds the available context size (200 tokens), try increasing it",
                Some(200),
                Some(546),
            ),
            ("the request exceeds the available context size", None, None),
            ("`inputs` must have less than 200 tokens. Given: 546", Some(200), Some(546)),
            ("`inputs` tokens + `max_new_tokens` must be <= 200. Given: 546 `inputs` tokens", Some(200), Some(546)),
        ] {
            assert_eq!(told(None, words), Some(Overflow { longest, prompt, asked: None }), "{words}");
        }
        let body = json!({"error": {"type": "exceed_context_size_error", "n_ctx": 200, "n_prompt_tokens": 546}});
        assert_eq!(
            told(Some(&body), "too much"),
            Some(Overflow { longest: Some(200), prompt: Some(546), asked: None })
        );
        assert_eq!(told(Some(&json!({"error": "the schema is too deep"})), "the schema is too deep"), None);
    }
}
