//! What an input is taken for.

use serde_json::json;
use unspool_check::diagnose::{Input, Kind};

fn read(text: &str) -> (Kind, Vec<String>) {
    let input = Input::read(text).unwrap_or_else(|error| panic!("{error:?}: {text}"));
    (input.kind, input.outputs.iter().map(|output| output.raw.clone()).collect())
}

#[test]
fn bodies_are_recognised() {
    let raw = |text: &str| vec![text.to_owned()];
    assert_eq!(read("High <b>water</b>"), (Kind::Raw, raw("High <b>water</b>")));
    assert_eq!(read("\u{feff}High water"), (Kind::Raw, raw("High water")));
    let call = "{\"name\": \"tide\", \"parameters\": {\"text\": \"x\"}}";
    assert_eq!(read(call), (Kind::Raw, raw(call)), "a call in JSON is output");
    let list = "[{\"name\": \"tide\", \"arguments\": {}}]";
    assert_eq!(read(list), (Kind::Raw, raw(list)));
    let chat = json!({"id": "1", "model": "m", "choices": [{"message": {"role": "assistant", "content": "a"}}, {"message": {"content": "b"}}]});
    assert_eq!(read(&chat.to_string()), (Kind::ChatCompletion, vec!["a".to_owned(), "b".to_owned()]));
    let message = json!({"role": "assistant", "content": [{"type": "text", "text": "a"}], "reasoning": "r"});
    assert_eq!(read(&message.to_string()), (Kind::ChatCompletion, raw("a")));
    let thought = json!({"role": "assistant", "content": null, "reasoning_content": "a <tool_call>"});
    assert_eq!(read(&thought.to_string()), (Kind::ChatCompletion, raw("a <tool_call>")));
    assert_eq!(read("{\"choices\": [{\"text\": \"a\"}], \"usage\": {}}"), (Kind::Completion, raw("a")));
    let response = json!({"object": "response", "status": "completed", "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "a"}]}, {"type": "function_call", "name": "f"}]});
    assert_eq!(read(&response.to_string()), (Kind::Response, raw("a")));
    let blocks = json!({"type": "message", "role": "assistant", "stop_reason": "max_tokens", "content": [{"type": "text", "text": "a"}, {"type": "tool_use"}]});
    let input = Input::read(&blocks.to_string()).expect("a message");
    assert_eq!((input.kind, input.outputs[0].calls), (Kind::Message, 1));
    assert_eq!(input.outputs[0].finish_reason.as_deref(), Some("length"));
}

#[test]
fn the_tokens_of_a_body_are_its_raw_output() {
    let token = |text: &str| json!({"token": text, "logprob": 0.0, "bytes": text.as_bytes()});
    let body = json!({"choices": [{"message": {"role": "assistant", "content": "a"}, "logprobs": {"content": [token("<think>"), token("é"), token("</think>a")]}}]});
    assert_eq!(read(&body.to_string()), (Kind::ChatCompletion, vec!["<think>é</think>a".to_owned()]));
}

#[test]
fn streams_are_folded() {
    let chat = "data: {\"id\": \"1\", \"choices\": [{\"index\": 0, \"delta\": {\"reasoning\": \"r\", \"content\": \"\"}}]}\n\n\
        : ping\n\ndata: {\"id\": \"1\", \"choices\": [{\"index\": 0, \"delta\": {\"content\": \"a<\"}}, {\"index\": 1, \"delta\": {\"content\": \"z\"}}]}\n\n\
        data: {\"id\": \"1\", \"choices\": [{\"index\": 0, \"delta\": {\"content\": \"b\", \"tool_calls\": [{\"index\": 0}]}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n";
    let input = Input::read(chat).expect("a stream");
    assert_eq!((input.kind, input.outputs.len()), (Kind::EventStream, 2));
    let first = &input.outputs[0];
    assert_eq!((first.raw.as_str(), first.reasoning.as_str(), first.calls), ("a<b", "r", 1));
    assert_eq!((first.finish_reason.as_deref(), input.outputs[1].raw.as_str()), (Some("stop"), "z"));
    let text = "data: {\"choices\": [{\"index\": 0, \"text\": \"a\"}]}\n\ndata: {\"choices\": [{\"index\": 0, \"text\": \"b\"}]}\n\n";
    assert_eq!(read(text), (Kind::EventStream, vec!["ab".to_owned()]));
    let events = "event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"index\": 0, \"delta\": {\"type\": \"text_delta\", \"text\": \"a\"}}\n\n\
        event: message_delta\ndata: {\"type\": \"message_delta\", \"delta\": {\"stop_reason\": \"end_turn\"}}\n\n";
    assert_eq!(read(events), (Kind::EventStream, vec!["a".to_owned()]));
    let events = "event: response.output_text.delta\ndata: {\"type\": \"response.output_text.delta\", \"item_id\": \"m\", \"delta\": \"a\"}\n\n";
    assert_eq!(read(events), (Kind::EventStream, vec!["a".to_owned()]));
}

#[test]
fn lines_are_recognised() {
    let lines = "{\"special_tokens\": {\"<think>\": 1}}\n{\"text\": \"a\"}\n{\"tokens\": [[1, \"<think>\"], [2, null, \"c3a9\"]], \"finish_reason\": \"length\"}\n";
    assert_eq!(read(lines), (Kind::Replay, vec!["a".to_owned(), "<think>é".to_owned()]));
    let chunks =
        "{\"choices\": [{\"delta\": {\"content\": \"a\"}}]}\n{\"choices\": [{\"delta\": {\"content\": \"b\"}}]}\n";
    assert_eq!(read(chunks), (Kind::EventStream, vec!["ab".to_owned()]));
    let bodies = "{\"role\": \"assistant\", \"content\": \"a\"}\n{\"role\": \"assistant\", \"content\": \"b\"}\n";
    assert_eq!(read(bodies), (Kind::JsonLines, vec!["a".to_owned(), "b".to_owned()]));
    let calls = "{\"name\": \"f\", \"parameters\": {}}\n{\"name\": \"g\", \"parameters\": {}}\n";
    assert_eq!(read(calls), (Kind::Raw, vec![calls.to_owned()]), "calls in JSON, one a line, are output");
}

#[test]
fn what_holds_no_answer_is_refused() {
    for (text, wanted) in [
        ("", "empty"),
        (" \n", "empty"),
        ("{\"error\": {\"message\": \"no such model\"}}", "no such model"),
        ("data: {\"error\": {\"message\": \"overloaded\"}}\n\n", "overloaded"),
        ("data: [DONE]\n\n", "no answer"),
    ] {
        let error = Input::read(text).expect_err(text);
        assert!(error.message.contains(wanted), "{error:?}");
    }
}
