//! `incomplete_calls: text` and `drop` hold for every call of a list, also behind one that never became JSON.

use serde_json::json;
use unspool::{Delta, FinishReason, IncompleteCalls, Message, Prompt, Registry, Request, Setup};

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
