//! What a prompt says about where the reply begins.

use std::collections::HashMap;

use serde_json::json;
use unspool::{Half, Message, Pair, Prompt, PromptToken, Registry, Request, Setup, ToolCall, Vocabulary};

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

/// How the assistant's turn may begin in a prompt, and what ends a tool's result where no header follows.
fn turns(name: &str) -> Vec<String> {
    let words = Registry::builtin().words(Half::Reasoning, name).expect("the words of a format");
    match &words.channels {
        Some(channels) => vec![format!("{}assistant", channels.start)],
        None => words.start.turn.iter().map(|literal| literal.replace("{s}", "")).collect(),
    }
}

/// Older turns: a thought, an answer and a call in the format's own rendering, then the call's result; some without a part.
fn histories(name: &str, tools: Option<&str>) -> Vec<String> {
    let setup =
        Setup { reasoning_parser: Some(name.to_owned()), tool_parser: tools.map(str::to_owned), ..Setup::default() };
    let pair = Registry::builtin().pair(&setup).unwrap_or_else(|e| panic!("{name}: {e}"));
    let parameters = json!({"type": "object", "properties": {"port": {"type": "string"}}});
    let tool = json!({"type": "function", "function": {"name": "tide", "parameters": parameters}});
    let kwargs = json!({"enable_thinking": true, "thinking": true});
    let request = Request::from_openai(&json!({"tools": [tool], "chat_template_kwargs": kwargs})).expect("a request");
    let call = ToolCall {
        id: "123456789".into(),
        name: "tide".into(),
        arguments: "{\"port\": \"Looe\"}".into(),
        complete: true,
    };
    // Also a thought that was cut off.
    let markers = pair.reasoning_markers();
    let mut out: Vec<String> = markers
        .iter()
        .flat_map(|(opener, closer)| [format!("{opener}So"), format!("{opener}So{closer}At noon.")])
        .collect();
    for (thought, answer, calls) in [(1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)] {
        let message = Message {
            reasoning: "They want the tide.".repeat(thought),
            content: "At noon.".repeat(answer),
            tool_calls: vec![call.clone(); calls * usize::from(tools.is_some())],
            ..Message::default()
        };
        out.extend(pair.render(&message, &request).into_iter().map(|text| format!("{text}\nIt is noon.")));
    }
    assert!(out.len() >= 2, "{name}: next to nothing can be written");
    out
}

/// A text as tokens: the markers that are single entries, and everything between.
fn tokenized(text: &str, special: &HashMap<String, u32>) -> Vec<PromptToken> {
    let mut pieces = vec![text];
    for marker in special.keys() {
        pieces = pieces
            .into_iter()
            .flat_map(|piece| if special.contains_key(piece) { vec![piece] } else { split_around(piece, marker) })
            .collect();
    }
    tokens(&pieces, special)
}

fn split_around<'a>(text: &'a str, marker: &str) -> Vec<&'a str> {
    let mut pieces = vec![];
    let mut rest = text;
    while let Some(at) = rest.find(marker) {
        let (before, from) = rest.split_at(at);
        let (marker, behind) = from.split_at(marker.len());
        pieces.extend([before, marker]);
        rest = behind;
    }
    pieces.push(rest);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[test]
fn older_turns_say_nothing_about_this_one() {
    let registry = Registry::builtin();
    let mut tried = 0;
    for name in names() {
        let turns = turns(&name);
        assert!(!turns.is_empty(), "{name} does not say how a turn begins");
        let tools = registry.partners(Half::Reasoning, &name).into_iter().next();
        let markers = pair(&name, Vocabulary::default()).reasoning_markers();
        let special: HashMap<String, u32> =
            markers.iter().flat_map(|(a, b)| [a, b]).filter(|m| !m.is_empty()).cloned().zip(7..).collect();
        let pair = pair(&name, Vocabulary { special: special.clone(), ..Vocabulary::default() });
        let histories = histories(&name, tools.as_deref());
        for turn in &turns {
            let alone = start(&pair, Prompt::Text(turn));
            for history in &histories {
                // Two older turns, whose thoughts may be closed or not.
                let prompt = format!("{}{history}{}{history}{turn}", turns[0], turns[0]);
                assert_eq!(start(&pair, Prompt::Text(&prompt)), alone, "{name}: {prompt}");
                let prompt = tokenized(&prompt, &special);
                assert_eq!(start(&pair, Prompt::Tokens(&prompt)), alone, "{name}: tokens of {history}{turn}");
                tried += 1;
            }
        }
        // Where messages have headers, the turn's start is part of one.
        if registry.words(Half::Reasoning, &name).expect("words").channels.is_none() {
            assert_eq!(start(&pair, Prompt::Text(&turns[0])), start(&pair, Prompt::Unknown), "{name}: {turns:?}");
        }
    }
    assert!(tried >= 200, "only {tried} prompts were tried");
}
