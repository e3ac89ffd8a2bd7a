//! Where calls open that only a `tool_choice` brings, and what tokens say of it: the same at every cut.

use std::collections::HashMap;

use serde_json::{Value, json};
use unspool::{Delta, Finish, FinishReason, Message, Pair, Prompt, Registry, Request, Setup, Vocabulary};

/// What formats need of a vocabulary.
const SPECIAL: [&str; 11] = [
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "[THINK]",
    "[/THINK]",
    "<mm:think>",
    "</mm:think>",
    "]<]minimax[>[",
    "<|START_THINKING|>",
    "<|END_THINKING|>",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
];

/// An answer as far as cuts may not change it.
#[derive(Debug, Clone, PartialEq)]
struct Explanation {
    content: String,
    calls: Vec<(String, String)>,
    gate: Option<i64>,
}

/// The pair, with a vocabulary of these pieces: ids from 1 on.
fn pair(reasoning: Option<&str>, tools: &str, pieces: &[&str]) -> Pair {
    let special: HashMap<String, u32> = SPECIAL.iter().zip(900..).map(|(text, id)| ((*text).to_owned(), id)).collect();
    let mut bytes: HashMap<u32, Vec<u8>> =
        pieces.iter().zip(1..).map(|(text, id)| (id, text.as_bytes().to_vec())).collect();
    bytes.extend(special.iter().map(|(text, id)| (*id, text.clone().into_bytes())));
    let setup = Setup {
        reasoning_parser: reasoning.map(str::to_owned),
        tool_parser: Some(tools.to_owned()),
        vocabulary: Vocabulary { special, bytes: Some(bytes.into()), ..Vocabulary::default() },
        ..Setup::default()
    };
    Registry::builtin().pair(&setup).unwrap_or_else(|e| panic!("{reasoning:?} + {tools}: {e}"))
}

fn request(choice: &Value) -> Request {
    let function =
        |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    let tools = [function("ship"), function("ping")];
    Request::from_openai(&json!({"tools": tools, "tool_choice": choice})).expect("a good request")
}

fn named() -> Value {
    json!({"type": "function", "function": {"name": "ship"}})
}

fn run(pair: &Pair, choice: &Value, deltas: &[Delta<'_>]) -> Explanation {
    let mut message = Message::default();
    let mut parser = pair.parser(&request(choice), Prompt::Unknown).expect("a parser");
    for delta in deltas {
        parser.push(*delta, &mut message);
    }
    let Finish { reasoning_end_token, .. } = parser.finish(Some(FinishReason::Stop), &mut message);
    let calls = message.tool_calls.iter().map(|call| (call.name.clone(), call.arguments.clone())).collect();
    Explanation { content: message.content, calls, gate: reasoning_end_token }
}

/// The answer to the pieces' text at every single cut, byte by byte, and to their ids; all must be one.
fn at_all_cuts(names: (Option<&str>, &str), choice: &Value, pieces: &[&str]) -> Explanation {
    let pair = pair(names.0, names.1, pieces);
    let text = pieces.concat();
    let whole = run(&pair, choice, &[Delta::text(&text)]);
    for cut in (1..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        let (one, other) = text.split_at(cut);
        let cut = run(&pair, choice, &[Delta::text(one), Delta::text(other)]);
        assert_eq!(cut, whole, "{names:?}, {choice}: {one:?} and {other:?}");
    }
    let single: Vec<Delta<'_>> = text.char_indices().map(|(at, c)| Delta::text(&text[at..at + c.len_utf8()])).collect();
    assert_eq!(run(&pair, choice, &single), whole, "{names:?}, {choice}: each character of {text:?}");
    let ids: Vec<u32> = (1..).take(pieces.len()).collect();
    let together = run(&pair, choice, &[Delta::ids(&ids)]);
    assert_eq!(Explanation { gate: whole.gate, ..together.clone() }, whole, "{names:?}, {choice}: the ids of {text:?}");
    let alone: Vec<Delta<'_>> = ids.chunks(1).map(Delta::ids).collect();
    assert_eq!(run(&pair, choice, &alone), together, "{names:?}, {choice}: each id of {text:?}");
    together
}

fn calls(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned())).collect()
}

#[test]
fn a_native_list_is_read_whatever_the_choice_and_the_cut() {
    for (tools, pieces) in [
        ("pythonic", &["[", "ping", "()", "]"][..]),
        ("llama4_pythonic", &["[", "ping()", "]"]),
        ("olmo3", &["<function_calls>\n", "ping()", "\n</function_calls>"]),
    ] {
        for choice in [json!("auto"), json!("required"), named()] {
            let told = at_all_cuts((None, tools), &choice, pieces);
            assert_eq!((told.content.as_str(), told.calls), ("", calls(&[("ping", "{}")])), "{tools}, {choice}");
        }
    }
}

#[test]
fn guided_json_is_read_where_native_calls_open_with_the_same_bracket() {
    for tools in ["pythonic", "llama4_pythonic", "olmo3", "hermes"] {
        let pieces = ["[", "{\"name\": \"ship\",", " \"parameters\": {\"to\": 1}}", "]"];
        for choice in [json!("required"), named()] {
            let told = at_all_cuts((None, tools), &choice, &pieces);
            assert_eq!(
                (told.content.as_str(), told.calls),
                ("", calls(&[("ship", "{\"to\": 1}")])),
                "{tools}, {choice}"
            );
        }
        let text = ["[", "see", " below", "]"];
        let told = at_all_cuts((None, tools), &json!("required"), &text);
        assert_eq!((told.content.as_str(), told.calls), ("[see below]", calls(&[])), "{tools}");
    }
}

#[test]
fn bare_arguments_of_a_named_function_are_its_call_where_native_calls_are_bare_json_too() {
    for tools in ["xlam", "llama3_json", "llama4_json", "hermes", "pythonic"] {
        for (pieces, arguments) in [
            (&["{", "\"to\": ", "\"x\"", "}"][..], "{\"to\": \"x\"}"),
            (&["{\"name\"", ": \"Ann\", ", "\"age\": 7", "}"], "{\"name\": \"Ann\", \"age\": 7}"),
            (&["{", "}"], "{}"),
            (&["{\"to\": [", "{\"name\": \"a\"}", "], \"n\": ", "{}}"], "{\"to\": [{\"name\": \"a\"}], \"n\": {}}"),
        ] {
            let told = at_all_cuts((None, tools), &named(), pieces);
            assert_eq!((told.content.as_str(), told.calls), ("", calls(&[("ship", arguments)])), "{tools}");
        }
    }
}

#[test]
fn a_native_envelope_is_read_before_bare_arguments() {
    let pieces = ["{\"name\": ", "\"ship\", ", "\"parameters\": ", "{\"to\": 1}", "}"];
    for tools in ["llama3_json", "llama4_json"] {
        for choice in [json!("auto"), json!("required"), named()] {
            let told = at_all_cuts((None, tools), &choice, &pieces);
            assert_eq!(
                (told.content.as_str(), told.calls),
                ("", calls(&[("ship", "{\"to\": 1}")])),
                "{tools}, {choice}"
            );
        }
    }
    for choice in [json!("required"), named()] {
        for key in ["arguments", "parameters"] {
            let call = format!("\"{key}\": {{\"to\": 1}}}}");
            let told = at_all_cuts((None, "xlam"), &choice, &["[", "{\"name\": \"ship\", ", &call, "]"]);
            assert_eq!((told.content.as_str(), told.calls), ("", calls(&[("ship", "{\"to\": 1}")])), "{key}, {choice}");
        }
    }
}

#[test]
fn the_gate_opens_with_the_bracket_of_guided_json_however_tokens_come() {
    let (mistral, hermes) = ((Some("mistral"), "mistral"), (Some("mistral"), "hermes"));
    let others = ["granite", "hunyuan_a13b", "minimax_m3", "cohere_command3"].map(|name| (Some(name), name));
    for names in [mistral, hermes].into_iter().chain(others) {
        let told = at_all_cuts(names, &named(), &["{\"a\"", ": 1", "}"]);
        assert_eq!((told.calls, told.gate), (calls(&[("ship", "{\"a\": 1}")]), Some(0)), "{names:?}");
        let list = ["[", "{\"name\": \"ship\"", ", \"parameters\": {}}", "]"];
        let told = at_all_cuts(names, &json!("required"), &list);
        assert_eq!(told.calls, calls(&[("ship", "{}")]), "{names:?}");
    }
}
