//! The gate of an engine, asked with token ids alone.

use std::collections::HashMap;

use serde_json::json;
use unspool::{Bounds, Gate, Pair, Prompt, Registry, Request, Setup, Vocabulary};

/// Special tokens, then ordinary words.
const SPECIAL: [(&str, u32); 4] = [("<think>", 1), ("</think>", 2), ("<tool_call>", 3), ("<|im_start|>", 4)];
const WORDS: [(&str, u32); 7] =
    [("Tide", 10), (" is", 11), (" high", 12), ("</", 13), ("response", 14), (">", 15), ("\n\n", 16)];

fn pair(names: (Option<&str>, Option<&str>), with_bytes: bool) -> Pair {
    let special: HashMap<String, u32> = SPECIAL.iter().map(|(text, id)| ((*text).to_owned(), *id)).collect();
    let bytes: HashMap<u32, Vec<u8>> =
        WORDS.iter().chain(&SPECIAL).map(|(text, id)| (*id, text.as_bytes().to_vec())).collect();
    let vocabulary = Vocabulary { special, bytes: with_bytes.then(|| bytes.into()), ..Vocabulary::default() };
    let setup = Setup {
        reasoning_parser: names.0.map(str::to_owned),
        tool_parser: names.1.map(str::to_owned),
        vocabulary,
        ..Setup::default()
    };
    Registry::default().pair(&setup).expect("a pair")
}

fn qwen() -> Pair {
    pair((Some("qwen3"), Some("qwen3_coder")), true)
}

fn gate(pair: &Pair) -> Gate {
    pair.gate(&Request::default(), Prompt::Unknown).expect("a gate")
}

fn bounds(grammar_start: i64, constraint_start: i64) -> Bounds {
    Bounds { grammar_start, constraint_start }
}

#[test]
fn an_explicit_end_is_not_fed_to_the_grammar() {
    let mut gate = gate(&qwen());
    assert_eq!(gate.advance(&[10, 2, 11]), bounds(2, 2));
    assert!(gate.is_reasoning_end());
    assert_eq!(gate.advance(&[12]), bounds(0, 0), "from then on everything is constrained");
}

#[test]
fn an_implicit_end_is_content_and_is_fed() {
    assert_eq!(gate(&qwen()).advance(&[10, 3, 11]), bounds(1, 2));
}

#[test]
fn no_end_lies_behind_the_step() {
    let mut gate = gate(&qwen());
    assert_eq!(gate.advance(&[]), bounds(1, 1));
    assert_eq!(gate.advance(&[10, 11]), bounds(3, 3));
    assert_eq!(gate.advance(&[2]), bounds(1, 1));
    assert!(gate.is_reasoning_end());
    assert_eq!(gate.finish(), 2);
}

#[test]
fn an_end_of_several_tokens_may_begin_in_an_earlier_step() {
    // A phrase of ordinary tokens that opens a call: `<` `tool_call` `>` spelled out.
    let special = HashMap::from([("<think>".to_owned(), 1), ("</think>".to_owned(), 2)]);
    let pieces: [&[u8]; 8] = [b"", b"<think>", b"</think>", b"hm", b"<tool", b"_call", b">", b"\n{"];
    let bytes: HashMap<u32, Vec<u8>> = pieces.iter().enumerate().map(|(id, text)| (id as u32, text.to_vec())).collect();
    let setup = Setup {
        reasoning_parser: Some("qwen3".into()),
        tool_parser: Some("hermes".into()),
        vocabulary: Vocabulary { special, bytes: Some(bytes.into()), ..Vocabulary::default() },
        ..Setup::default()
    };
    let pair = Registry::default().pair(&setup).expect("a pair");
    let mut gate = gate(&pair);
    assert_eq!(gate.advance(&[3]), bounds(2, 2));
    assert_eq!(gate.advance(&[4]), bounds(2, 2));
    assert_eq!(gate.advance(&[5]), bounds(2, 2));
    assert_eq!(gate.advance(&[6, 7]), bounds(-2, 1), "two tokens of earlier steps belong to the opener");
    let end = gate.reasoning_end().expect("reasoning is over");
    assert_eq!((end.content, end.constraint), (1, 4));
}

#[test]
fn without_bytes_markers_of_one_entry_still_count() {
    let pair = pair((Some("qwen3"), None), false);
    let mut gate = gate(&pair);
    assert!(!gate.is_reasoning_end_streaming(&[900, 901]));
    assert!(gate.is_reasoning_end_streaming(&[2, 902]));
    assert_eq!(gate.finish(), 2);
    let output = [900, 901, 2, 902, 903];
    let request = Request::default();
    assert_eq!(pair.extract_content_ids(&request, Prompt::Unknown, &output).expect("ids"), [902, 903]);
    assert_eq!(pair.count_reasoning_tokens(&request, Prompt::Unknown, &output).expect("a count"), 2);
}

#[test]
fn an_answer_without_a_thought_is_content_from_its_first_token() {
    // It begins outside: a thought may come.
    let pair = pair((Some("minimax_m3"), None), true);
    let mut gate = gate(&pair);
    assert!(!gate.is_reasoning_end());
    assert_eq!(gate.advance(&[10, 11]), bounds(0, 1));
}

#[test]
fn the_prompt_decides_the_start() {
    let pair = qwen();
    let request = Request::default();
    assert!(!pair.is_reasoning_end(&request, &[4, 1]).expect("an answer"), "the prompt opened the thought");
    assert!(pair.is_reasoning_end(&request, &[4, 1, 16, 2, 16]).expect("an answer"), "and here it closed it");
    let off = json!({"chat_template_kwargs": {"enable_thinking": false}});
    let off = Request::from_openai(&off).expect("a request");
    assert!(pair.is_reasoning_end(&off, &[4]).expect("an answer"), "thinking is off");
    let prompt = pair.prompt_tokens(&[4, 1]);
    let count = pair.count_reasoning_tokens(&request, Prompt::Tokens(&prompt), &[10, 11, 2, 12]);
    assert_eq!(count.expect("a count"), 2, "tokens of a thought that the prompt opened count");
}

#[test]
fn a_grammar_may_apply_from_the_first_token() {
    let pair = qwen();
    let mut everywhere = gate(&pair).enable_in_reasoning(true);
    assert_eq!(everywhere.advance(&[10, 11]), bounds(0, 0));
    assert!(!everywhere.is_reasoning_end(), "which says nothing about the thought");
    let hidden = Request { include_reasoning: Some(false), ..Request::default() };
    let mut hidden = pair.gate(&hidden, Prompt::Unknown).expect("a gate");
    assert_eq!(hidden.advance(&[10, 11]), bounds(0, 0));
}

#[test]
fn the_markers_of_a_thought_are_told() {
    let markers = |name| pair((Some(name), None), true).reasoning_markers();
    assert_eq!(markers("qwen3"), Some(("<think>".into(), "</think>".into())));
    assert_eq!(markers("seed_oss"), Some(("<seed:think>".into(), "</seed:think>".into())));
    assert_eq!(markers("openai_gptoss"), None);
}

#[test]
fn a_parser_says_whether_a_thought_is_open() {
    let start = |name: &str, prompt: &str| {
        let parser =
            pair((Some(name), None), false).parser(&Request::default(), Prompt::Text(prompt)).expect("a parser");
        (parser.is_thinking(), parser.reasoning_ended())
    };
    assert_eq!(start("qwen3", "<|im_start|>assistant\n<think>\n"), (true, false));
    assert_eq!(start("qwen3", "<|im_start|>assistant\n<think>\n\n</think>\n\n"), (false, true));
    assert_eq!(start("gemma4", "<|turn>model\n"), (false, true), "its thought is off unless it is asked for");
    let asked = Request::from_openai(&json!({"chat_template_kwargs": {"enable_thinking": true}})).expect("a request");
    let parser = pair((Some("gemma4"), None), false).parser(&asked, Prompt::Text("<|turn>model\n")).expect("a parser");
    assert_eq!((parser.is_thinking(), parser.reasoning_ended()), (false, false), "one may come");
}

#[test]
fn ids_that_stand_anywhere_are_asked_about() {
    let pair = qwen();
    let request = Request::default();
    let ends = pair.reasoning_end_tokens(&request).expect("ends");
    assert_eq!(
        (ends.explicit.iter().collect::<Vec<_>>(), ends.implicit.iter().collect::<Vec<_>>()),
        (vec![&2], vec![&3])
    );
    assert_eq!(ends.find(&[10, 3, 2]), Some((1, true)));
    assert_eq!(ends.find(&[10, 2, 3]), Some((1, false)));
    assert_eq!(ends.find(&[10, 11]), None);
    for (ids, ended) in [
        (&[1, 10, 2, 11][..], true),
        (&[1, 10, 3], true),
        (&[10, 3], true),
        (&[3, 1, 10], false),
        (&[1, 10], false),
        (&[], false),
    ] {
        assert_eq!(pair.is_reasoning_end_in(&request, &ends, ids).expect("an answer"), ended, "{ids:?}");
    }
    // In an older turn, or in what the system says, nothing ended this turn's thought.
    let special = HashMap::from([("<think>".into(), 1), ("</think>".into(), 2), ("<tool_call>".into(), 3)]);
    let bytes: HashMap<u32, Vec<u8>> = [(4, b"<|im_start|>assistant\n".to_vec()), (10, b"Hm".to_vec())].into();
    let vocabulary = Vocabulary { special, bytes: Some(bytes.into()), ..Vocabulary::default() };
    let setup = Setup { reasoning_parser: Some("qwen3".into()), vocabulary, ..Setup::default() };
    let turns = Registry::default().pair(&setup).expect("a pair");
    let ends = turns.reasoning_end_tokens(&request).expect("ends");
    assert!(ends.implicit.contains(&3), "{ends:?}");
    assert!(!turns.is_reasoning_end_in(&request, &ends, &[3, 10, 4, 1, 10]).expect("an answer"));
    assert!(!turns.is_reasoning_end_in(&request, &ends, &[3, 10, 4, 10]).expect("an answer"));
    assert!(turns.is_reasoning_end_in(&request, &ends, &[10, 4, 10, 3]).expect("an answer"));

    for (ids, content) in
        [(&[10, 2, 11, 12][..], &[11, 12][..]), (&[10, 3, 11], &[3, 11]), (&[10, 11], &[]), (&[2], &[])]
    {
        assert_eq!(pair.content_ids_in(&request, &ends, ids).expect("ids"), content, "{ids:?}");
    }
    let off = Request::from_openai(&json!({"chat_template_kwargs": {"enable_thinking": false}})).expect("a request");
    assert_eq!(pair.content_ids_in(&off, &ends, &[10, 11]).expect("ids"), [10, 11], "nothing is waited for");
}

#[test]
fn a_gate_says_in_which_step_reasoning_ended() {
    let mut gate = gate(&qwen());
    let told = [&[10][..], &[11, 2], &[12]].map(|step| {
        gate.advance(step);
        (gate.ended_in_step(), gate.is_reasoning_end())
    });
    assert_eq!(told, [(false, false), (true, true), (false, true)]);
}
