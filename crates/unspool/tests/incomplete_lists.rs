//! `incomplete_calls: text` and `drop` hold for every call of a list, also behind one that never became JSON.

use serde_json::json;
use unspool::{Delta, DiagnosticKind, FinishReason, IncompleteCalls, Message, Prompt, Registry, Request, Setup};

fn read(mode: IncompleteCalls, text: &str) -> Message {
    let setup = Setup { tool_parser: Some("jamba".into()), incomplete_calls: mode, ..Setup::default() };
    let pair = Registry::builtin().pair(&setup).expect("a pair");
    let tools = json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]});
    let request = Request::from_openai(&tools).expect("a request");
    let mut parser = pair.parser(&request, Prompt::Unknown).expect("a parser");
    let mut message = Message::default();
    parser.push(Delta::text(text), &mut message);
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
        let notes = message.diagnostics.iter().filter(|note| note.text == behind);
        let notes: Vec<_> = notes.map(|note| (note.kind, note.offset as usize)).collect();
        let expected: Vec<_> = told.into_iter().map(|kind| (kind, text.len() - behind.len())).collect();
        assert_eq!(notes, expected, "{mode:?}: {message:?}");
    }
}
