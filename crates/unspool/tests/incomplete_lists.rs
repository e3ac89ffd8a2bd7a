//! `incomplete_calls: text` and `drop` hold for every call of a list, also behind one that never became JSON.

use serde_json::json;
use unspool::{Delta, DiagnosticKind, FinishReason, IncompleteCalls, Message, Prompt, Registry, Request, Setup};

fn read(mode: IncompleteCalls, text: &str) -> Message {
    read_as("jamba", mode, &[text])
}

fn read_as(name: &str, mode: IncompleteCalls, pieces: &[&str]) -> Message {
    let setup = Setup { tool_parser: Some(name.into()), incomplete_calls: mode, ..Setup::default() };
    let pair = Registry::builtin().pair(&setup).expect("a pair");
    let tools = json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]});
    let request = Request::from_openai(&tools).expect("a request");
    let mut parser = pair.parser(&request, Prompt::Unknown).expect("a parser");
    let mut message = Message::default();
    for piece in pieces {
        parser.push(Delta::text(piece), &mut message);
    }
    parser.finish(Some(FinishReason::Length), &mut message);
    message
}

#[test]
fn a_call_behind_one_that_is_no_json_waits_for_its_end_too() {
    let text = r#"<tool_calls>[{"name": "f", "arguments": "{oops"}, {"name": "f", "arguments": {"a": 1"#;
    let stream = read(IncompleteCalls::Stream, text);
    assert_eq!(stream.tool_calls.len(), 2, "the case is what it should be: {stream:?}");
    for mode in [IncompleteCalls::Text, IncompleteCalls::Drop] {
        let message = read(mode, text);
        assert!(message.tool_calls.is_empty(), "{mode:?} announced {:?}", message.tool_calls);
    }
    let good =
        r#"<tool_calls>[{"name": "f", "arguments": "{oops"}, {"name": "f", "arguments": {"a": 1}}]</tool_calls>"#;
    let message = read(IncompleteCalls::Text, good);
    assert_eq!(message.tool_calls.len(), 1, "{message:?}");
    assert!(message.tool_calls[0].complete && message.tool_calls[0].arguments == r#"{"a": 1}"#, "{message:?}");
}

#[test]
fn what_is_cut_before_its_name_is_kept_behind_a_whole_call() {
    let text = r#"<tool_calls>[{"name": "f", "arguments": {}}, {"name": "half of"#;
    for (mode, told) in [
        (IncompleteCalls::Stream, Some(DiagnosticKind::UnplacedText)),
        (IncompleteCalls::Drop, Some(DiagnosticKind::CallDropped)),
        (IncompleteCalls::Text, None),
    ] {
        let message = read(mode, text);
        assert_eq!(message.tool_calls.len(), 1, "{mode:?}: {message:?}");
        assert!(message.tool_calls[0].complete, "{mode:?}: {message:?}");
        let behind = r#"{"name": "half of"#;
        assert_eq!(message.content, if told.is_none() { behind } else { "" }, "{mode:?}");
        let diagnostics = message.diagnostics.iter().filter(|note| note.text == behind);
        let diagnostics: Vec<_> = diagnostics.map(|note| (note.kind, note.offset as usize)).collect();
        let expected: Vec<_> = told.into_iter().map(|kind| (kind, text.len() - behind.len())).collect();
        assert_eq!(diagnostics, expected, "{mode:?}: {message:?}");
    }
}

#[test]
fn what_stands_behind_the_break_of_a_dropped_call_is_dropped_with_it() {
    let outputs = [
        ("hermes", "One <tool_call>{\"name\": \"f\", \"arguments\": {\"to\": 5,, \"n\": 1}}</tool_call> two"),
        (
            "kimi_k2",
            "One <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\" 1}<|tool_call_end|><|tool_calls_section_end|> two",
        ),
        (
            "minimax_m2",
            "One <minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">1</parameter>\noops\n<parameter nam=</invoke>\n</minimax:tool_call> two",
        ),
    ];
    for (name, text) in outputs {
        let whole = read_as(name, IncompleteCalls::Drop, &[text]);
        let words: Vec<&str> = whole.content.split_whitespace().collect();
        assert_eq!(words, ["One", "two"], "{name}: {whole:?}");
        let told: String = whole.diagnostics.iter().map(|note| note.text.as_str()).collect();
        assert!(whole.tool_calls.iter().all(|call| call.complete), "{name}: {whole:?}");
        assert!(whole.tool_calls.len() == 1 || told.contains('f'), "{name}: {whole:?}");
        for at in (1..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let cut = read_as(name, IncompleteCalls::Drop, &[&text[..at], &text[at..]]);
            assert_eq!(cut.content, whole.content, "{name} cut at {at}");
        }
    }
}
