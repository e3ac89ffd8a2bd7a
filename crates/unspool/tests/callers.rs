//! What callers can say of a reply, and take from it: where it begins, whether calls are wanted, a request that comes late,
//! the shape of ids, events and snapshots that they keep.

use serde_json::json;
use unspool::{
    CallIds, Delta, DiagnosticKind, Event, FinishReason, Half, Message, OwnedEvent, Pair, Parser, Prompt, Registry,
    Request, Setup, Sink, Snapshot, Standing, TokenBytes, Vocabulary,
};

const CALL: &str = "<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"harbour\": \"Looe\"}}\n</tool_call>";

fn pair(reasoning: Option<&str>, tools: Option<&str>) -> Pair {
    made(&Setup { reasoning_parser: reasoning.map(Into::into), tool_parser: tools.map(Into::into), ..Setup::default() })
}

fn made(setup: &Setup) -> Pair {
    Registry::builtin().pair(setup).expect("a pair")
}

fn asked(fields: &serde_json::Value) -> Request {
    let tools = json!([{"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}]);
    let mut fields = fields.clone();
    fields["tools"] = tools;
    Request { id_seed: Some(3), ..Request::from_openai(&fields).expect("a request") }
}

fn read(mut parser: Parser, text: &str) -> Message {
    let mut message = Message::default();
    parser.push(Delta::text(text), &mut message);
    parser.finish(Some(FinishReason::Stop), &mut message);
    message
}

fn nothing(_: Event<'_>) {}

/// A pair of each reasoning parser that has markers, and these.
fn thinkers() -> Vec<(String, Pair, (String, String))> {
    let registry = Registry::builtin();
    let mut out = Vec::new();
    for name in registry.names(Half::Reasoning) {
        let setup = Setup { reasoning_parser: Some(name.clone()), ..Setup::default() };
        let Ok(pair) = registry.pair(&setup) else { continue };
        if let Some(markers) = pair.reasoning_markers().filter(|(open, _)| !open.is_empty()) {
            out.push((name, pair, markers));
        }
    }
    assert!(out.len() > 20, "{} parsers with markers", out.len());
    out
}

#[test]
fn calls_are_given_although_the_tools_are_not_known() {
    let pair = pair(None, Some("hermes"));
    let unknown = Request { calls_wanted: Some(true), ..Request::default() };
    let message = read(pair.parser(&unknown, Prompt::Unknown).expect("a parser"), CALL);
    assert_eq!((message.tool_calls[0].name.as_str(), message.content.as_str()), ("tide", ""));
    assert!(message.diagnostics.is_empty(), "nothing is known that could be missed: {:?}", message.diagnostics);

    let none = asked(&json!({"tool_choice": "none"}));
    for request in [
        Request::default(),
        Request { calls_wanted: Some(false), ..asked(&json!({})) },
        Request { calls_wanted: Some(true), ..none },
    ] {
        let message = read(pair.parser(&request, Prompt::Unknown).expect("a parser"), CALL);
        assert_eq!((message.tool_calls.len(), message.content.as_str()), (0, CALL), "{request:?}");
    }
    // A named function that the request lacks is a mistake of the model only where the request says which there are.
    let other = CALL.replace("tide", "wind");
    let message = read(pair.parser(&asked(&json!({})), Prompt::Unknown).expect("a parser"), &other);
    assert_eq!(message.diagnostics[0].kind, DiagnosticKind::UnknownFunction);
}

#[test]
fn a_reply_begins_where_the_caller_says() {
    for (name, pair, (_, close)) in thinkers() {
        let request = asked(&json!({"chat_template_kwargs": {"enable_thinking": true, "thinking": true}}));
        let begin = |prompt| pair.parser(&request, prompt).unwrap_or_else(|e| panic!("{name}: {e}"));
        let content = begin(Prompt::Content);
        assert!(content.reasoning_ended() && !content.is_thinking(), "{name}");
        let message = read(content, "High water is at noon.");
        assert_eq!((&*message.reasoning, &*message.content), ("", "High water is at noon."), "{name}");

        let thinking = begin(Prompt::Reasoning);
        assert!(!thinking.reasoning_ended() && thinking.is_thinking(), "{name}");
        let message = read(thinking, &format!("They want it.{close}High water is at noon."));
        let all = format!("{}{}", message.reasoning, message.content);
        assert!(message.reasoning == "They want it." || all.ends_with("High water is at noon."), "{name}: {message:?}");
        assert!(message.content.ends_with("High water is at noon."), "{name}: {message:?}");
    }
}

#[test]
fn a_start_in_a_thought_is_what_a_prompt_with_an_opener_says() {
    let mut same = 0;
    for (name, pair, (open, close)) in thinkers() {
        let request = asked(&json!({"chat_template_kwargs": {"enable_thinking": true, "thinking": true}}));
        let text = format!("They want it.{close}High water.");
        let [said, shown] = [Prompt::Reasoning, Prompt::Text(&open)].map(|prompt| {
            let parser = pair.parser(&request, prompt).unwrap_or_else(|e| panic!("{name}: {e}"));
            (parser.standing(), read(parser, &text))
        });
        // Where thinking is off by default a prompt's markers are text; the caller's word counts all the same.
        if shown.0 == Standing::Thinking {
            assert_eq!(said, shown, "{name}");
            same += 1;
        }
        let behind = format!("{open}Hm.{close}");
        let [said, shown] = [Prompt::Content, Prompt::Text(&behind)].map(|prompt| {
            let parser = pair.parser(&request, prompt).unwrap_or_else(|e| panic!("{name}: {e}"));
            (parser.standing(), read(parser, "High water."))
        });
        assert_eq!(said, shown, "{name}");
    }
    assert!(same > 20, "{same} parsers read the prompt's opener");
}

#[test]
fn a_prompt_of_ids_is_a_prompt_of_tokens() {
    let special = [("<think>".to_owned(), 1), ("</think>".to_owned(), 2)].into();
    let bytes = TokenBytes::from([(1, "<think>"), (2, "</think>"), (3, "Hm."), (4, " Noon.")]);
    for bytes in [None, Some(bytes)] {
        let vocabulary =
            Vocabulary { special: std::collections::HashMap::clone(&special), bytes, ..Vocabulary::default() };
        let pair = made(&Setup { reasoning_parser: Some("qwen3".into()), vocabulary, ..Setup::default() });
        for (ids, ended) in [(&[1, 3][..], false), (&[1, 3, 2], true), (&[1, 2, 3, 1], false)] {
            let request = Request::default();
            let parser = pair.parser(&request, Prompt::Ids(ids)).expect("a parser");
            let tokens = pair.prompt_tokens(ids);
            let other = pair.parser(&request, Prompt::Tokens(&tokens)).expect("a parser");
            assert_eq!((parser.reasoning_ended(), parser.standing()), (ended, other.standing()), "{ids:?}");
        }
    }
}

#[test]
fn ids_have_the_shape_that_is_asked_for() {
    let id = |tools: &str, call_ids: CallIds, text: &str| {
        let pair = made(&Setup { tool_parser: Some(tools.into()), call_ids, ..Setup::default() });
        let request = Request { calls_before: 2, ..asked(&json!({})) };
        read(pair.parser(&request, Prompt::Unknown).expect("a parser"), text).tool_calls.remove(0).id
    };
    let pattern = CallIds::Pattern("{name}/{index}".into());
    assert_eq!(id("hermes", pattern, CALL), "tide/2");
    assert_eq!(id("hermes", CallIds::Left, CALL), "");
    assert_eq!(id("hermes", CallIds::Letters(24), CALL).len(), 24);
    let mistral = "[TOOL_CALLS]tide[ARGS]{}";
    assert_eq!(id("mistral", CallIds::Format, mistral).len(), 9);
    for (tools, text) in [("mistral", mistral), ("hermes", CALL)] {
        let random = id(tools, CallIds::Random, text);
        assert!(random.strip_prefix("chatcmpl-tool-").is_some_and(|tail| tail.len() == 16), "{random}");
    }
    // What the model wrote stays.
    let kimi = "<|tool_calls_section_begin|><|tool_call_begin|>functions.tide:7<|tool_call_argument_begin|>{}\
                <|tool_call_end|><|tool_calls_section_end|>";
    assert_eq!(id("kimi_k2", CallIds::Random, kimi), "functions.tide:7");
}

#[test]
fn a_request_may_come_late() {
    let pair = pair(Some("qwen3"), Some("hermes"));
    let late = asked(&json!({}));
    let begin = || pair.parser(&Request { id_seed: Some(3), ..Request::default() }, Prompt::Unknown).expect("a parser");
    let thought = "<think>\nWhich harbour?\n</think>\n\nI will look. <tool_";
    let whole = read(pair.parser(&late, Prompt::Unknown).expect("a parser"), &format!("{thought}{}", &CALL[6..]));

    let mut message = Message::default();
    let mut parser = begin();
    parser.push(Delta::text(thought), &mut message);
    parser.set_request(&late).expect("no call has begun");
    parser.push(Delta::text(&CALL[6..]), &mut message);
    assert!(parser.set_request(&late).is_err(), "a call was given");
    parser.finish(None, &mut message);
    assert_eq!(message, whole);
    assert_eq!(message.tool_calls.len(), 1);

    let mut parser = begin();
    parser.push(Delta::text(&format!("{thought}{}", &CALL[6..])), &mut nothing);
    assert!(parser.set_request(&late).is_err(), "the call's text was given as content");

    let mut parser = begin();
    parser.push(Delta::text(thought), &mut nothing);
    let hides = asked(&json!({"include_reasoning": false}));
    let error = parser.set_request(&hides).expect_err("reasoning was given");
    assert!(error.message.contains("too late") && error.hint.is_some(), "{error:?}");
    let mut parser = begin();
    parser.set_request(&hides).expect("nothing was read");
    assert_eq!(read(parser, thought).reasoning, "");
}

#[test]
fn events_are_kept_and_said_again() {
    let parser = || pair(Some("qwen3"), Some("hermes")).parser(&asked(&json!({})), Prompt::Unknown).expect("a parser");
    let text = format!("<think>Hm.</think>Look: {CALL}{CALL}<tool_call>\n{{\"name\": \"wind\", \"arguments\": {{");
    let whole = read(parser(), &text);
    let mut kept: Vec<OwnedEvent> = Vec::new();
    let mut parser = parser();
    parser.push(Delta::text(&text), &mut kept);
    parser.finish(Some(FinishReason::Stop), &mut kept);
    let mut message = Message::default();
    for event in &kept {
        message.event(event.as_event());
        assert_eq!(event.as_event().into_owned(), *event);
    }
    assert_eq!(message, whole);
    assert!(!whole.diagnostics.is_empty() && whole.tool_calls.len() == 3);
}

#[test]
fn a_snapshot_is_bytes() {
    let pair = pair(Some("qwen3"), Some("hermes"));
    let request = asked(&json!({}));
    let mut message = Message::default();
    let mut parser = pair.parser(&request, Prompt::Unknown).expect("a parser");
    parser.push(Delta::text(&CALL[..40]), &mut message);
    let bytes = parser.snapshot().to_bytes();
    let mut other = pair.parser(&request, Prompt::Unknown).expect("a parser");
    other.restore(Snapshot::from_bytes(&bytes).expect("a snapshot")).expect("of the same pair");
    other.push(Delta::text(&CALL[40..]), &mut message);
    other.finish(None, &mut message);
    assert_eq!(message, read(pair.parser(&request, Prompt::Unknown).expect("a parser"), CALL));
    for bad in [&b""[..], b"{}", &bytes[..bytes.len() - 1], b"\xff\xfe"] {
        assert!(Snapshot::from_bytes(bad).is_err(), "{bad:?}");
    }
}
