//! Ids that come before their text: whatever the lag, the answer, the gate and the counts are those of both together.

use std::collections::HashMap;

use serde_json::json;
use unspool::{Delta, FinishReason, Message, Pair, Prompt, Registry, Request, Setup, TokenBytes, Vocabulary};

/// Tokens with their texts; the first ones are special.
const TOKENS: [(u32, &str); 14] = [
    (1, "<think>"),
    (2, "</think>"),
    (3, "<tool_call>"),
    (4, "</tool_call>"),
    (10, "They"),
    (11, " want"),
    (12, " 日"),
    (13, "<"),
    (14, "\n"),
    (15, " the tide"),
    (16, "."),
    (17, "{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}"),
    (18, "{}"),
    (19, "e"),
];

fn pair(with_bytes: bool) -> Pair {
    let special: HashMap<String, u32> = TOKENS[..4].iter().map(|(id, text)| ((*text).to_owned(), *id)).collect();
    let entries = TOKENS.iter().map(|(id, text)| (*id, text.as_bytes())).chain([(20, &b"\xff"[..])]);
    let bytes: TokenBytes = entries.collect();
    let setup = Setup {
        reasoning_parser: Some("qwen3".into()),
        tool_parser: Some("hermes".into()),
        vocabulary: Vocabulary { special, bytes: with_bytes.then_some(bytes), ..Vocabulary::default() },
        ..Setup::default()
    };
    Registry::builtin().pair(&setup).expect("a pair")
}

/// What must not depend on the lag.
type Answer = (Message, Option<u64>, Option<i64>);

fn run(pair: &Pair, deltas: &[(String, Vec<u32>)]) -> Answer {
    let tools = json!({"tools": [{"type": "function", "function": {"name": "f"}}]});
    let request = Request { id_seed: Some(7), ..Request::from_openai(&tools).expect("a request") };
    let mut parser = pair.parser(&request, Prompt::Unknown).expect("a parser");
    let mut message = Message::default();
    for (text, ids) in deltas {
        parser.push(Delta { text: Some(text), ids }, &mut message);
        let saved = serde_json::to_string(&parser.snapshot()).expect("a snapshot");
        parser = pair.parser(&request, Prompt::Unknown).expect("a parser");
        parser.restore(serde_json::from_str(&saved).expect("the same")).expect("its own snapshot");
    }
    let finish = parser.finish(Some(FinishReason::Stop), &mut message);
    (message, finish.reasoning_tokens, finish.reasoning_end_token)
}

/// One delta per token, with text that comes this many characters late.
fn late(tokens: &[(u32, &str)], held: impl Fn(usize) -> usize) -> Vec<(String, Vec<u32>)> {
    let mut waiting = String::new();
    let mut deltas = Vec::new();
    for (i, (id, text)) in tokens.iter().enumerate() {
        waiting.push_str(text);
        let out = waiting.chars().count().saturating_sub(held(i));
        let end = waiting.char_indices().nth(out).map_or(waiting.len(), |(at, _)| at);
        deltas.push((waiting.drain(..end).collect(), vec![*id]));
    }
    deltas.push((waiting, Vec::new()));
    deltas
}

fn tokens(ids: &[u32]) -> Vec<(u32, &'static str)> {
    ids.iter().map(|id| *TOKENS.iter().find(|(known, _)| known == id).expect("a token")).collect()
}

const OUTPUTS: [&[u32]; 6] = [
    &[1, 10, 11, 15, 16, 2, 14, 14, 10, 11],
    &[10, 11, 12, 16, 2, 10, 12],
    &[1, 14, 10, 11, 14, 2, 14, 14, 3, 14, 17, 14, 4, 16],
    &[10, 11, 3, 17, 4, 3, 17, 4, 15],
    &[1, 2, 10, 11, 15],
    &[10, 11, 12, 19, 15, 16, 15, 10, 2, 14, 3, 18],
];

#[test]
fn any_lag_gives_what_no_lag_gives() {
    for with_bytes in [true, false] {
        let pair = pair(with_bytes);
        for output in OUTPUTS {
            let tokens = tokens(output);
            let together = run(&pair, &late(&tokens, |_| 0));
            for held in 1..60 {
                assert_eq!(run(&pair, &late(&tokens, |_| held)), together, "{held} of {tokens:?}, bytes {with_bytes}");
            }
            for seed in 0..40 {
                let held = |i: usize| (i * 7 + seed * 5 + i * i * seed) % (seed + 2);
                assert_eq!(run(&pair, &late(&tokens, held)), together, "{seed}: {tokens:?}, bytes {with_bytes}");
            }
        }
    }
}

#[test]
fn a_look_alike_is_told_from_its_token_where_bytes_are_known() {
    let pair = pair(true);
    // `<` and `/think>` spelled out would be text; here the thought goes on behind a token that spells half a marker.
    let tokens = tokens(&[1, 10, 13, 13, 11, 2, 13, 10]);
    let together = run(&pair, &late(&tokens, |_| 0));
    assert_eq!(together.0.reasoning, "They<< want");
    for held in 1..40 {
        assert_eq!(run(&pair, &late(&tokens, |_| held)), together);
    }
}

#[test]
fn a_special_token_whose_text_is_left_out_is_put_back() {
    for with_bytes in [true, false] {
        let pair = pair(with_bytes);
        let deltas =
            |texts: &[(&str, u32)]| texts.iter().map(|(t, id)| ((*t).to_owned(), vec![*id])).collect::<Vec<_>>();
        let shown = run(&pair, &deltas(&[("<think>", 1), ("They", 10), ("</think>", 2), (".", 16)]));
        let left_out = run(&pair, &deltas(&[("", 1), ("They", 10), ("", 2), (".", 16)]));
        assert_eq!(shown, left_out, "bytes {with_bytes}");
        assert_eq!((shown.0.reasoning.as_str(), shown.0.content.as_str()), ("They", "."));
        assert_eq!((shown.1, shown.2), (Some(1), Some(2)));
        let at_the_end = run(&pair, &deltas(&[("", 1), ("They", 10), ("", 2)]));
        assert_eq!((at_the_end.1, at_the_end.2), (Some(1), Some(2)), "bytes {with_bytes}");
    }
}

#[test]
fn text_that_is_not_the_tokens_own_bytes_is_lost_nowhere() {
    let pair = pair(true);
    // A tokenizer that drops the first blank, one that gives a replacement character, and one of another model.
    for (id, odd) in [(11, "want"), (20, "\u{fffd}"), (11, "wanted")] {
        for held in 0..30 {
            let mut tokens = tokens(&[11, 10, 15, 16, 2, 10, 11]);
            tokens[0] = (id, odd);
            let (message, ..) = run(&pair, &late(&tokens, |_| held));
            if odd != "wanted" || held == 0 {
                assert_eq!(message.reasoning, format!("{odd}They the tide."), "{held}");
                assert_eq!(message.content, "They want", "{held}");
            }
            // Where the closer stands elsewhere, white space beside it goes.
            let all = format!("{}{}", message.reasoning, message.content).replace("</think>", "");
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(bare(&all), bare(&format!("{odd}They the tide.They want")), "{held}");
        }
    }
}

/// The pieces that an aligner makes of these deltas.
fn pieces(pair: &Pair, deltas: &[(String, Vec<u32>)]) -> Vec<(String, Vec<u32>)> {
    let mut aligner = pair.parser(&Request::default(), Prompt::Unknown).expect("a parser").aligner();
    let mut pieces = Vec::new();
    let mut take = |text: &str, ids: &[u32]| pieces.push((text.to_owned(), ids.to_vec()));
    deltas.iter().for_each(|(text, ids)| aligner.push(text, ids, &mut take));
    aligner.finish(&mut take);
    pieces
}

#[test]
fn an_aligner_gives_one_token_a_piece_however_they_came() {
    let pair = pair(true);
    for output in OUTPUTS {
        let tokens = tokens(output);
        let singly: Vec<_> = tokens.iter().map(|(id, text)| ((*text).to_owned(), vec![*id])).collect();
        for held in 0..60 {
            let late = late(&tokens, |_| held);
            assert_eq!(pieces(&pair, &late), singly, "{held}");
            let coarse: Vec<_> = late
                .chunks(3)
                .map(|some| {
                    (
                        some.iter().map(|(t, _)| t.as_str()).collect(),
                        some.iter().flat_map(|(_, ids)| ids.clone()).collect(),
                    )
                })
                .collect();
            assert_eq!(pieces(&pair, &coarse), singly, "{held}, three together");
        }
    }
    let unknown = self::pair(false);
    let as_they_come = late(&tokens(OUTPUTS[0]), |_| 2);
    let heard: Vec<_> =
        as_they_come.iter().filter(|(text, ids)| !text.is_empty() || !ids.is_empty()).cloned().collect();
    assert_eq!(pieces(&unknown, &as_they_come), heard);
}

#[test]
fn tokens_of_a_stop_text_that_was_cut_off_have_no_text() {
    let pair = pair(true);
    let parser = || pair.parser(&Request::default(), Prompt::Unknown).expect("a parser");
    // The stop text is the closer of the thought, or begins within a token.
    for (cut, said) in [("", "They want"), ("</th", "They want</th")] {
        let (mut parser, mut message) = (parser(), Message::default());
        let mut aligner = parser.aligner();
        let mut aligned: Vec<(String, Vec<u32>)> = Vec::new();
        let mut take = |text: &str, ids: &[u32]| aligned.push((text.to_owned(), ids.to_vec()));
        for (text, ids) in [("<think>They", &[1, 10, 11][..]), (" want", &[2]), (cut, &[14])] {
            parser.push(Delta { text: Some(text), ids }, &mut message);
            aligner.push(text, ids, &mut take);
        }
        parser.cut_off();
        aligner.cut_off();
        aligner.finish(&mut take);
        let finish = parser.finish(Some(FinishReason::Stop), &mut message);
        assert_eq!((message.reasoning.as_str(), finish.reasoning_tokens), (said, Some(2)));
        let text: String = aligned.iter().map(|(text, _)| text.as_str()).collect();
        let ids: Vec<u32> = aligned.into_iter().flat_map(|(_, ids)| ids).collect();
        assert_eq!((text, &ids[..]), (format!("<think>They want{cut}"), &[1, 10, 11][..]));
    }
}
