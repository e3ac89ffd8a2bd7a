//! What a prompt says about where the reply begins.

use std::collections::HashMap;

use serde_json::json;
use unspool::{Half, Pair, Prompt, PromptToken, Registry, Request, Setup, Vocabulary};

/// The checkpoint brings its own description of a reply; these tests have none to give.
const CHECKPOINTS: &[&str] = &["hf", "beam"];

/// The reasoning parsers whose words stand in their files.
fn names() -> Vec<String> {
    let mut names = Registry::builtin().names(Half::Reasoning);
    names.retain(|name| !CHECKPOINTS.contains(&name.as_str()));
    names
}

fn pair(name: &str, vocabulary: Vocabulary) -> Pair {
    let setup = Setup { reasoning_parser: Some(name.to_owned()), vocabulary, ..Setup::default() };
    Registry::builtin().pair(&setup).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A request that asks for thinking, by all the switches there are.
fn request() -> Request {
    let kwargs = json!({"enable_thinking": true, "thinking": true});
    Request::from_openai(&json!({"chat_template_kwargs": kwargs})).expect("a request")
}

/// All that a parser knows at its start.
fn start(pair: &Pair, prompt: Prompt<'_>) -> String {
    let parser = pair.parser(&request(), prompt).expect("a parser");
    let snapshot = serde_json::to_value(parser.snapshot()).expect("a snapshot is JSON");
    let state = snapshot["state"].as_str().expect("a snapshot has a state");
    format!("{state} ended: {} thinks: {}", parser.reasoning_ended(), parser.is_thinking())
}

/// A prompt of words and markers; a word has no id of its own.
fn tokens(pieces: &[&str], special: &HashMap<String, u32>) -> Vec<PromptToken> {
    let id = |piece: &str| special.get(piece).copied().unwrap_or(1);
    pieces.iter().map(|piece| PromptToken { id: id(piece), bytes: piece.as_bytes().to_vec() }).collect()
}

#[test]
fn the_text_that_is_given_for_a_special_token_does_not_matter() {
    let mut tried = 0;
    for name in names() {
        let Some((opener, closer)) = pair(&name, Vocabulary::default()).reasoning_markers() else { continue };
        let special = HashMap::from([(opener.clone(), 7), (closer.clone(), 8)]);
        let pair = pair(&name, Vocabulary { special: special.clone(), ..Vocabulary::default() });
        for markers in [&[&*opener][..], &[&closer], &[&opener, "So", &closer], &[&closer, &opener]] {
            let pieces = [&["Hello."], markers].concat();
            let right = tokens(&pieces, &special);
            for text in ["", "?", "é<think>", "\u{fffd}"] {
                let mut wrong = right.clone();
                for token in wrong.iter_mut().filter(|token| token.id != 1) {
                    token.bytes = text.as_bytes().to_vec();
                }
                let [one, other] = [&right, &wrong].map(|tokens| start(&pair, Prompt::Tokens(tokens)));
                assert_eq!(one, other, "{name}: {pieces:?}, each marker given as {text:?}");
                tried += 1;
            }
        }
    }
    assert!(tried >= 400, "only {tried} prompts were tried");
}

#[test]
fn odd_prompts_do_not_panic() {
    let markers = ["<think>", "</think>", "<|im_start|>assistant", "<｜Assistant｜>", "<|start|>", "<|message|>"];
    for name in names() {
        // One id for two markers, and an id whose text is half a character.
        let special = markers.iter().enumerate().map(|(i, text)| ((*text).to_owned(), 7 + (i as u32) / 2)).collect();
        let pair = pair(&name, Vocabulary { special, ..Vocabulary::default() });
        for bytes in [&b""[..], b"<", b"\xe4", b"</think>"] {
            let prompt: Vec<PromptToken> =
                [7, 1, 8, 1, 9, 7].map(|id| PromptToken { id, bytes: bytes.to_vec() }).to_vec();
            for cut in 0..=prompt.len() {
                start(&pair, Prompt::Tokens(&prompt[..cut]));
            }
        }
    }
}
