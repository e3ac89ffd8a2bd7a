//! The worked examples of the format files: each is true, however its text is cut, and every file has some.

use std::collections::BTreeMap;

use serde_json::Value;
use unspool::format::file::{Example, FormatFile};
use unspool::{Delta, FinishReason, Half, Message, Prompt, Registry, Request, Setup};

/// Fewest examples of a file.
const FEWEST: usize = 2;
/// Random cuts of each text.
const CUTS: u64 = 5;

/// The words of every built-in file, by its path.
fn files() -> BTreeMap<String, FormatFile> {
    let registry = Registry::builtin();
    let mut files = BTreeMap::new();
    for half in [Half::Reasoning, Half::Tools] {
        for name in registry.names(half) {
            let (path, _) = registry.file(half, &name).expect("a known name");
            files.entry(path).or_insert_with(|| registry.words(half, &name).expect("a known name"));
        }
    }
    files
}

fn parse<'t>(words: &FormatFile, example: &Example, pieces: impl IntoIterator<Item = &'t str>) -> Message {
    let names = example.parsers(words);
    let setup = Setup {
        reasoning_parser: names.reasoning,
        tool_parser: names.tools,
        tokenizer_config: example.tokenizer_config.clone(),
        ..Setup::default()
    };
    let pair = Registry::builtin().pair(&setup).expect("the example's pair");
    let request = Request::from_openai(&example.request()).expect("the example's request");
    let prompt = example.prompt.as_deref().map_or(Prompt::Unknown, Prompt::Text);
    let mut parser = pair.parser(&request, prompt).expect("the example's parser");
    let mut message = Message::default();
    for piece in pieces {
        parser.push(Delta::text(piece), &mut message);
    }
    parser.finish(Some(FinishReason::Stop), &mut message);
    message
}

/// Cuts a text at about a quarter of the places between its characters.
fn cut(text: &str, seed: u64) -> Vec<&str> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let (mut pieces, mut start) = (Vec::new(), 0);
    for (at, _) in text.char_indices().skip(1) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 62 == 0 {
            pieces.push(&text[start..at]);
            start = at;
        }
    }
    pieces.push(&text[start..]);
    pieces
}

#[test]
fn examples_are_true_however_they_are_cut() {
    for (path, words) in files() {
        for example in &words.example {
            let text = example.text.as_str();
            let single: Vec<&str> = text.char_indices().map(|(i, c)| &text[i..i + c.len_utf8()]).collect();
            let mut ways = vec![vec![text], single];
            ways.extend((0..CUTS).map(|seed| cut(text, seed)));
            for pieces in ways {
                let message = parse(&words, example, pieces.iter().copied());
                let at = format!("{path}: {text:?} in {} pieces", pieces.len());
                assert_eq!(message.reasoning, example.reasoning.clone().unwrap_or_default(), "{at}");
                assert_eq!(message.content, example.content.clone().unwrap_or_default(), "{at}");
                let calls: Vec<(String, Value)> = message
                    .tool_calls
                    .iter()
                    .map(|call| (call.name.clone(), serde_json::from_str(&call.arguments).expect("JSON")))
                    .collect();
                let expected: Vec<(String, Value)> =
                    example.calls.iter().map(|call| (call.name.clone(), call.arguments.clone())).collect();
                assert_eq!(calls, expected, "{at}");
                assert!(message.tool_calls.iter().all(|call| call.complete), "{at}");
            }
        }
    }
}

#[test]
fn every_file_shows_its_halves() {
    for (path, words) in files() {
        assert!(words.example.len() >= FEWEST, "{path} has {} examples", words.example.len());
        assert!(!words.note.is_empty(), "{path} has no note");
        let has = |shown: fn(&Example) -> bool| words.example.iter().any(shown);
        assert!(words.names.reasoning.is_empty() || has(|e| e.reasoning.is_some()), "{path} shows no thought");
        assert!(words.names.tools.is_empty() || has(|e| !e.calls.is_empty()), "{path} shows no call");
    }
}

/// Every name that a file mentions is one.
#[test]
fn names_in_pairs_and_examples_exist() {
    let registry = Registry::builtin();
    for half in [Half::Reasoning, Half::Tools] {
        for name in registry.names(half) {
            let words = registry.words(half, &name).expect("a known name");
            for other in words.pairs.iter() {
                assert!(registry.names(Half::Tools).contains(other), "{name} pairs with {other}");
            }
            for example in &words.example {
                let names = example.parsers(&words);
                assert!(names.reasoning.is_none_or(|n| words.names.reasoning.contains(&n)), "{name}");
                assert!(names.tools.is_none_or(|n| words.names.tools.contains(&n)), "{name}");
            }
        }
    }
}
