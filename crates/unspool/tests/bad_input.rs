//! Bad input: odd outputs, odd tokens, odd tools, odd format files. Nothing panics, nothing is lost, memory stays bounded.

use std::collections::HashMap;

use serde_json::json;
use unspool::ErrorKind;
use unspool::{
    Delta, DiagnosticKind, FinishReason, Half, Message, Pair, Parser, Prompt, Registry, Request, Setup, Vocabulary,
};

const PAIRS: &[(&str, &str)] = &[
    ("qwen3", "hermes"),
    ("qwen3", "qwen3_coder"),
    ("deepseek_r1", "deepseek_v3"),
    ("kimi_k2", "kimi_k2"),
    ("glm45", "glm45"),
    ("minimax_m3", "minimax_m3"),
    ("gemma4", "gemma4"),
    ("olmo3", "olmo3"),
    ("granite", "xlam"),
    ("openai_gptoss", "openai"),
    ("holo2", "llama3_json"),
];

fn pair(reasoning: &str, tools: &str) -> Pair {
    let setup = Setup { reasoning_parser: Some(reasoning.into()), tool_parser: Some(tools.into()), ..Setup::default() };
    Registry::builtin().pair(&setup).unwrap_or_else(|e| panic!("{reasoning} + {tools}: {e}"))
}

fn request() -> Request {
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
        "a": {"type": "string"}, "n": {"type": "integer"}}}}});
    Request::from_openai(&json!({"tools": [tool]})).expect("a good request")
}

fn parser(pair: &Pair) -> Parser {
    pair.parser(&request(), Prompt::Unknown).expect("a parser")
}

fn whole(pair: &Pair, text: &str) -> Message {
    let mut message = Message::default();
    let mut parser = parser(pair);
    parser.push(Delta::text(text), &mut message);
    parser.finish(Some(FinishReason::Stop), &mut message);
    message
}

#[test]
fn nothing_gives_nothing() {
    for (reasoning, tools) in PAIRS {
        let pair = pair(reasoning, tools);
        assert_eq!(whole(&pair, ""), Message::default(), "{tools}");
        let mut message = Message::default();
        let mut parser = parser(&pair);
        parser.push(Delta::default(), &mut message);
        assert_eq!((parser.held_bytes(), &message), (0, &Message::default()), "{tools}");
    }
}

#[test]
fn markers_alone_and_in_any_order_never_panic() {
    let markers = [
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<function=",
        "</function>",
        "<parameter=a>",
        "</parameter>",
        "<|tool_calls_section_begin|>",
        "<|tool_call_end|>",
        "<arg_key>",
        "<|channel|>",
        "<|message|>",
        "[",
        "{",
        "(",
        "}",
        "]",
    ];
    for (reasoning, tools) in PAIRS {
        let pair = pair(reasoning, tools);
        for (i, first) in markers.iter().enumerate() {
            for second in markers {
                for third in [markers[(i * 7 + 3) % markers.len()], "f"] {
                    whole(&pair, &[*first, second, third, first].concat());
                }
            }
        }
    }
}

/// So many pieces of 64 KiB of one bracket: all of it comes out as text, and little is held.
fn one_bracket(reasoning: &str, tools: &str, bracket: &str, pieces: usize) {
    let pair = pair(reasoning, tools);
    let mut parser = parser(&pair);
    let piece = bracket.repeat(64 << 10);
    let mut given = 0;
    let mut sink = |event: unspool::Event<'_>| match event {
        unspool::Event::Reasoning(text) | unspool::Event::Content(text) => given += text.len(),
        _ => {}
    };
    for _ in 0..pieces {
        parser.push(Delta::text(&piece), &mut sink);
        assert!(parser.held_bytes() <= piece.len() + (64 << 10), "{tools} holds {}", parser.held_bytes());
    }
    parser.finish(Some(FinishReason::Length), &mut sink);
    assert_eq!(given, pieces * piece.len(), "{tools} with {bracket}");
}

#[test]
fn ten_megabytes_of_one_open_bracket_stay_bounded() {
    for (reasoning, tools) in [("granite", "xlam"), ("holo2", "llama3_json")] {
        one_bracket(reasoning, tools, "[", 160);
    }
    for (reasoning, tools) in PAIRS {
        for bracket in ["[", "{", "<", "("] {
            one_bracket(reasoning, tools, bracket, 8);
        }
    }
}

#[test]
fn a_hundred_thousand_calls_are_calls_and_what_is_beyond_the_limit_is_text() {
    let pair = pair("qwen3", "hermes");
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n";
    let message = whole(&pair, &("</think>".to_owned() + &call.repeat(100_002)));
    assert_eq!(message.tool_calls.len(), 100_000);
    assert!(message.tool_calls.iter().all(|call| call.complete && call.arguments == "{}"));
    assert_eq!(message.content.matches("<tool_call>").count(), 2);
}

#[test]
fn bytes_that_are_not_utf8_become_replacement_characters_with_a_note() {
    let bytes = HashMap::from([(1, b"a\xff".to_vec()), (2, b"\xe6\x97".to_vec()), (3, b"\xa5b".to_vec())]);
    let setup = Setup {
        tool_parser: Some("hermes".into()),
        vocabulary: Vocabulary { bytes: Some(bytes.into()), ..Vocabulary::default() },
        ..Setup::default()
    };
    let pair = Registry::builtin().pair(&setup).expect("a pair");
    let run = |ids: &[u32]| {
        let mut message = Message::default();
        let mut parser = parser(&pair);
        parser.push(Delta::ids(ids), &mut message);
        parser.finish(None, &mut message);
        message
    };
    assert_eq!(run(&[2, 3]).content, "日b");
    assert_eq!(run(&[1, 2]).content, "a\u{fffd}\u{fffd}");
    assert!(run(&[1]).diagnostics.iter().any(|d| d.kind == DiagnosticKind::InvalidUtf8));
    let unknown = run(&[3_000_000_000, 2, 3]);
    assert_eq!(unknown.content, "日b");
    assert!(unknown.diagnostics.iter().any(|d| d.kind == DiagnosticKind::UnknownToken));
}

#[test]
fn broken_schemas_never_fail_a_request() {
    let schemas = [
        json!(null),
        json!(7),
        json!({"type": 5}),
        json!({"properties": []}),
        json!({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}),
        json!({"properties": {"a": {"$ref": "https://elsewhere/x"}}}),
        json!({"properties": {"a": {"anyOf": "no"}}}),
    ];
    let pair = pair("qwen3", "qwen3_coder");
    for schema in schemas {
        let tools =
            json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}, 3, {"x": 1}]});
        let request = Request::from_openai(&tools).expect("a request");
        let mut parser = pair.parser(&request, Prompt::Unknown).expect("a parser");
        let mut message = Message::default();
        let text = "</think><tool_call>\n<function=f>\n<parameter=a>\n7x\n</parameter>\n</function>\n</tool_call>";
        parser.push(Delta::text(text), &mut message);
        parser.finish(None, &mut message);
        assert_eq!(message.tool_calls[0].arguments, "{\"a\": \"7x\"}", "{tools}");
    }
}

#[test]
fn a_broken_format_file_names_the_file_the_line_and_the_key() {
    let cases = [
        ("names.tools = [\"mine\"]\n[tools]\ncal = \"<c>{json}</c>\"\n", "my.toml:3: ", "cal"),
        ("names.tools = [\"mine\"]\n[tools]\ncall = 7\n", "my.toml:3: ", "tools.call"),
        ("names.tools = [\"mine\"]\n[tools]\ncall = \"<c>{jsn}</c>\"\n", "my.toml:3: ", "{jsn}"),
        ("names.tools = [\"mine\"]\n[tools]\n", "my.toml:2: ", "call template"),
        (
            "names.tools = [\"mine\"]\n[tools]\ncall = \"<c>{name}{json}</c>\"\n[[variant]]\nnames = [\"mien\"]\n",
            "my.toml:5: ",
            "no name of this file is `mien`",
        ),
        (
            "names.tools = [\"mine\"]\ntools.call = \"<c:{name}>{json}</c>\"\n[[detect]]\ntools = \"mien\"\n",
            "my.toml:4: ",
            "is named `mien`",
        ),
        ("[tools]\ncall = \"<c>{name}{json}</c>\"\n", "my.toml:1: ", "no name"),
        ("names = [\n", "my.toml:", ""),
        (
            "names.reasoning = [\"mine\"]\n[reasoning]\nthought = \"<t>{thought}</t>\"\n[content]\ndrop = [\"<t>\"]\n",
            "my.toml:5: ",
            "see `reasoning.thought` in line 3",
        ),
        (
            "names.reasoning = [\"mine\"]\n[reasoning]\nthought = \"--{thought}--\"\n",
            "my.toml:3: ",
            "opens a thought and closes",
        ),
        (
            "names.tools = [\"mine\"]\n[tools]\ncall = \"<c>{name}{json}</c>\"\n[[variant]]\nnames = [\"mine\"]\ncontent.drop = [\"<c>\"]\n",
            "my.toml:6: ",
            "see `tools.call` in line 3",
        ),
    ];
    for (text, place, piece) in cases {
        let error = Registry::builtin().add("my.toml", text).expect_err(text);
        assert_eq!(error.kind, ErrorKind::BadFormat, "{error}");
        assert!(error.message.starts_with(place) && error.message.contains(piece), "{text}gives {error}");
    }
}

#[test]
fn a_users_format_is_read_as_a_built_in_one() {
    let mut registry = Registry::builtin();
    let text = "names.tools = [\"mine\"]\n[tools]\ncall = \"<c:{name}>{json}</c>\"\n";
    assert_eq!(registry.add("my.toml", text).expect("a good file"), vec![(Half::Tools, "mine".to_owned())]);
    let pair = registry.pair(&Setup { tool_parser: Some("mine".into()), ..Setup::default() }).expect("a pair");
    let message = whole(&pair, "Now. <c:f>{\"a\": \"x\"}</c>");
    assert_eq!((message.content.trim(), message.tool_calls[0].arguments.as_str()), ("Now.", "{\"a\": \"x\"}"));
}

#[test]
fn a_users_format_may_take_a_name_and_that_is_told() {
    let mut registry = Registry::builtin();
    let text = "extends = \"hermes\"\nnames.tools = [\"hermes\"]\n[tools]\ncall = \"<c:{name}>{json}</c>\"\n";
    registry.add("my.toml", text).expect("a later file wins");
    let warning = registry.warnings().first().expect("it is told");
    assert_eq!(registry.warnings().len(), 1);
    assert!(warning.message.contains("my.toml") && warning.message.contains("formats/hermes.toml"), "{warning:?}");
    assert!(warning.hint.is_some());
    let names = registry.names(Half::Tools);
    assert_eq!(names.iter().filter(|name| *name == "hermes").count(), 1);
    let pair = registry.pair(&Setup { tool_parser: Some("hermes".into()), ..Setup::default() }).expect("a pair");
    assert_eq!(whole(&pair, "<c:f>{}</c>").tool_calls.len(), 1);
    let broken = "names.tools = [\"hermes\"]\n[tools]\n";
    assert!(registry.add("broken.toml", broken).is_err());
    let pair = registry.pair(&Setup { tool_parser: Some("hermes".into()), ..Setup::default() }).expect("a pair");
    assert_eq!(whole(&pair, "<c:f>{}</c>").tool_calls.len(), 1, "a broken file changes nothing");
}

#[test]
fn ordinary_text_may_end_a_name() {
    let mut registry = Registry::builtin();
    let text = "names.tools = [\"mine\"]\n[tools]\ncall = \"CALL {name}: {json}\\n\"\n";
    registry.add("my.toml", text).expect("a good file");
    let pair = registry.pair(&Setup { tool_parser: Some("mine".into()), ..Setup::default() }).expect("a pair");
    let message = whole(&pair, "Now.\nCALL f: {\"a\": \"x: y\"}\n");
    assert_eq!((message.content.trim(), message.tool_calls[0].arguments.as_str()), ("Now.", "{\"a\": \"x: y\"}"));
    assert_eq!(message.tool_calls[0].name, "f");
}

#[test]
fn an_unknown_name_lists_near_ones() {
    let error = Registry::builtin()
        .pair(&Setup { tool_parser: Some("qwen3-coder".into()), ..Setup::default() })
        .expect_err("no such name");
    assert_eq!(error.kind, ErrorKind::UnknownName);
    assert!(error.hint.is_some_and(|hint| hint.contains("`qwen3_coder`")));
}

#[test]
fn a_snapshot_of_another_format_is_refused() {
    let pair = |name: &str| {
        let setup = Setup { tool_parser: Some(name.into()), ..Setup::default() };
        Registry::builtin().pair(&setup).expect("a pair")
    };
    let parser = |pair: &Pair| pair.parser(&Request::default(), Prompt::Unknown).expect("a parser");
    let (hermes, glm) = (pair("hermes"), pair("glm47"));
    let saved = parser(&hermes).snapshot();
    assert!(parser(&hermes).restore(saved.clone()).is_ok());
    let refusal = parser(&glm).restore(saved).expect_err("another format");
    assert!(refusal.message.contains("other formats"), "{refusal}");
}

#[test]
fn a_saved_state_with_a_foreign_number_is_refused() {
    let pair = pair("qwen3", "qwen3_coder");
    let mut busy = parser(&pair);
    let text = "Hm.</think>\n<tool_call>\n<function=f>\n<parameter=a>\nlong";
    busy.push(Delta::text(text), &mut Message::default());
    for state in [parser(&pair), busy] {
        let saved = serde_json::to_value(state.snapshot()).expect("a snapshot");
        let body = saved["state"].as_str().expect("the state");
        for (at, _) in body.match_indices(|c: char| c.is_ascii_digit()) {
            let mut changed = saved.clone();
            changed["state"] =
                format!("{}7{}{}", &body[..at], if &body[at..=at] == "7" { "7" } else { "" }, &body[at + 1..]).into();
            let snapshot = serde_json::from_value(changed).expect("a snapshot by its outer form");
            let refusal = parser(&pair).restore(snapshot).expect_err("a foreign number");
            assert!(refusal.message.contains("not as a parser wrote it"), "{refusal}");
        }
        assert!(parser(&pair).restore(serde_json::from_value(saved).expect("the same")).is_ok());
    }
}

#[test]
fn a_saved_state_of_an_older_layout_is_refused_by_its_version() {
    let pair = pair("qwen3", "hermes");
    for older in [json!({"version": 1, "format": 7, "machine": null, "memory": {"hold": ""}}), json!({"version": 99})] {
        let snapshot = serde_json::from_value(older).expect("a version");
        let refusal = parser(&pair).restore(snapshot).expect_err("another version");
        assert!(refusal.message.starts_with("the snapshot has version "), "{refusal}");
    }
}

#[test]
fn a_message_to_a_function_is_text_where_no_half_reads_calls() {
    let (_, text) = Registry::builtin().file(Half::Reasoning, "openai_gptoss").expect("a built-in file");
    let mut registry = Registry::builtin();
    registry.add("my.toml", &text.replace("bound = true", "bound = false")).expect("a good file");
    let setup = Setup { reasoning_parser: Some("openai_gptoss".into()), ..Setup::default() };
    let pair = registry.pair(&setup).expect("one half of it");
    let call = "<|channel|>commentary to=functions.f json<|message|>{\"a\": 1}";
    let text = format!("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant{call}<|call|>");
    for size in 1..text.len() {
        let mut message = Message::default();
        let mut parser = parser(&pair);
        for piece in text.as_bytes().chunks(size) {
            parser.push(Delta::text(std::str::from_utf8(piece).expect("ASCII")), &mut message);
        }
        parser.finish(None, &mut message);
        assert_eq!(message.reasoning, "Hm.");
        assert_eq!(message.content, format!("<|start|>assistant{call}<|call|>"), "in pieces of {size}");
    }
    // Nor is the other family's envelope the place for arguments whose name came before.
    let setup = Setup { tool_parser: Some("hermes".into()), ..setup };
    let pair = registry.pair(&setup).expect("halves of two families");
    assert!(whole(&pair, &text).content.contains(call));
}

#[test]
fn an_error_shows_one_hint_on_a_line_of_its_own() {
    let files = [
        "names.tools = [\"mine\"]\n[tools]\ncall = \"<c>{name}{literals}</c>\"\n",
        "names.tools = [\"mine\"]\n[tools]\ncall = \"<c>{name}{kwargs}</c>\"\n",
        "names.tools = [\"mine\"]\n[tools]\ncall = \"<c>{envelope}</c>\"\nenvelope.name = []\n",
        "names.tools = [\"mine\"]\n[tools]\ncall = \"<c>{envelope}</c>\"\nenvelope.id = \"name\"\n",
        "names.tools = [\"mine\"]\n[tools]\ncal = \"<c>{json}</c>\"\n",
        "names.tools = [\"mine\"\n",
    ];
    for file in files {
        let error = Registry::builtin().add("my.toml", file).expect_err(file);
        assert!(!error.message.contains("hint:") && error.hint.is_some(), "{error}");
        assert_eq!(error.to_string().matches("\n  hint: ").count(), 1, "{error}");
        assert_eq!(error.to_string().matches("hint:").count(), 1, "{error}");
    }
}

#[test]
fn a_special_token_behind_half_a_character_counts() {
    let bytes = [(1, b"a".to_vec()), (5, b"</think>".to_vec()), (6, vec![0xC3])];
    let vocabulary = Vocabulary {
        special: HashMap::from([("</think>".to_owned(), 5)]),
        bytes: Some(bytes.into()),
        ..Vocabulary::default()
    };
    let setup = Setup { reasoning_parser: Some("qwen3".into()), vocabulary, ..Setup::default() };
    let pair = Registry::builtin().pair(&setup).expect("a pair");
    let ids = [1, 6, 5, 1];
    for size in 1..=ids.len() {
        let mut message = Message::default();
        let mut parser = parser(&pair);
        for ids in ids.chunks(size) {
            parser.push(Delta::ids(ids), &mut message);
        }
        let finish = parser.finish(None, &mut message);
        let text = (message.reasoning.as_str(), message.content.as_str());
        assert_eq!(text, ("a\u{fffd}", "a"), "in groups of {size}");
        assert_eq!((finish.reasoning_end_token, finish.reasoning_tokens), (Some(2), Some(2)), "in groups of {size}");
    }
}

#[test]
fn unknown_names_are_told_what_is_meant() {
    use unspool::{Half, Registry};
    let hint = |half, name: &str| Registry::builtin().words(half, name).expect_err(name).hint.expect("there is one");
    for (half, name, wanted) in [
        (Half::Reasoning, "hermes", "`hermes` is a tool-call parser: give it to --tool-call-parser"),
        (
            Half::Tools,
            "qwen3",
            "give it to --reasoning-parser; the tool-call parser that goes with it is `qwen3_coder`",
        ),
        (Half::Tools, "qwen3-coder", "did you mean `qwen3_coder`"),
        (Half::Tools, "zzz", "`unspool formats`"),
    ] {
        assert!(hint(half, name).contains(wanted), "{name}: {}", hint(half, name));
    }
}

#[test]
fn names_that_older_versions_lack_are_known() {
    use unspool::{Half, Registry};
    let registry = Registry::builtin();
    for half in [Half::Reasoning, Half::Tools] {
        let names = registry.names(half);
        let late: Vec<&String> = names.iter().filter(|name| registry.since(half, name).is_some()).collect();
        assert_eq!(late, ["beam", "muse", "musespark1x", "step5"]);
    }
    assert_eq!(registry.since(Half::Tools, "beam").as_deref(), Some("0.33.0"));
}
