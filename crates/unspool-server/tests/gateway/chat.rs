//! Chat completions over recorded outputs: streamed and whole.

use serde_json::{Value, json};
use unspool_server::{BackendSpec, RemoteKind, ServeConfig};

use crate::common::{Choice, Folded, Gateway, WIRES, chat, pair, plain_chat, replaying};
use crate::fake::{Fake, singly};

fn choices(whole: &Value) -> Vec<Choice> {
    whole["choices"].as_array().expect("an answer has choices").iter().map(Choice::of_whole).collect()
}

#[tokio::test]
async fn streamed_and_whole_answers_are_the_same() {
    for (reasoning, tools, text) in WIRES {
        let gateway = replaying(&[json!({"text": text})], pair(reasoning, tools)).await;
        let whole = choices(&gateway.whole(&chat(json!({}))).await).remove(0);
        let streamed = gateway.streamed(&chat(json!({}))).await;
        assert_eq!(streamed.one().comparable(), whole.comparable(), "{reasoning} + {tools}");
        assert_eq!(whole.reasoning.trim(), "Two ports, so two calls.", "{reasoning} + {tools}");
        assert_eq!(whole.content.trim(), "Let me look.", "{reasoning} + {tools}");
        let expected =
            [("tide".to_owned(), json!({"port": "Looe"})), ("wind".to_owned(), json!({"port": "Łeba 🛶", "days": 2}))];
        assert_eq!(whole.called(), expected, "{reasoning} + {tools}");
        assert_eq!(whole.finish.as_deref(), Some("tool_calls"));
        assert!(streamed.one().argument_deltas > 3, "arguments come as they are written: {reasoning} + {tools}");
        assert!(streamed.chunks.len() > 10, "the answer is streamed");
        let ids: Vec<_> = whole.calls.iter().map(|call| &call.id).collect();
        assert!(ids[0] != ids[1] && ids.iter().all(|id| !id.is_empty()), "{ids:?}");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_whole_answer_has_vllms_fields() {
    let gateway = replaying(&[json!({"text": "<think>\nHm.\n</think>\n\nAhoy."})], pair("qwen3", "hermes")).await;
    let answer = gateway.whole(&plain_chat(json!({}))).await;
    assert!(answer["id"].as_str().is_some_and(|id| id.starts_with("chatcmpl-")), "{answer}");
    assert_eq!((&answer["object"], &answer["model"]), (&json!("chat.completion"), &json!("m")));
    let choice = &answer["choices"][0];
    let message = choice["message"].as_object().expect("a choice has a message");
    assert_eq!(
        (&message["role"], &message["content"], &message["reasoning"]),
        (&json!("assistant"), &json!("Ahoy."), &json!("Hm."))
    );
    for absent in ["refusal", "annotations", "audio", "function_call"] {
        assert_eq!(message.get(absent), Some(&Value::Null), "{absent}");
    }
    assert!(!message.contains_key("tool_calls") && !message.contains_key("reasoning_content"));
    assert_eq!((&choice["finish_reason"], &choice["stop_reason"]), (&json!("stop"), &Value::Null));
    gateway.stop().await;
}

#[tokio::test]
async fn several_answers_come_side_by_side() {
    let lines = [json!({"text": "One."}), json!({"text": "Two."}), json!({"text": "Three."})];
    let gateway = replaying(&lines, ServeConfig::default()).await;
    let said: Vec<_> =
        choices(&gateway.whole(&plain_chat(json!({"n": 3}))).await).into_iter().map(|c| c.content).collect();
    assert_eq!(said, ["One.", "Two.", "Three."]);
    let streamed = gateway.streamed(&plain_chat(json!({"n": 3}))).await;
    let said: Vec<_> = streamed.choices.values().map(|choice| choice.content.as_str()).collect();
    assert_eq!(said, ["One.", "Two.", "Three."]);
    assert!(streamed.choices.values().all(|choice| choice.finish.as_deref() == Some("stop")));
    gateway.stop().await;
}

fn tokens() -> Value {
    json!({
        "tokens": [[1, "<think>"], [10, "\n"], [11, "Hm"], [12, " so"], [13, "."], [10, "\n"], [2, "</think>"], [14, "\n\n"], [15, "Yes"]],
        "prompt_tokens": 6,
    })
}

#[tokio::test]
async fn tokens_are_counted() {
    let lines = [json!({"special_tokens": {"<think>": 1, "</think>": 2}}), tokens()];
    let gateway = replaying(&lines, pair("qwen3", "hermes")).await;
    let expected = json!({
        "prompt_tokens": 6, "total_tokens": 15, "completion_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 5},
    });
    assert_eq!(gateway.whole(&plain_chat(json!({}))).await["usage"], expected);
    let silent = gateway.streamed(&plain_chat(json!({}))).await;
    assert!(silent.usage.is_none() && silent.chunk_usages.is_empty());
    let last = gateway.streamed(&plain_chat(json!({"stream_options": {"include_usage": true}}))).await;
    assert_eq!((last.usage, last.chunk_usages.len()), (Some(expected.clone()), 0));
    let options = json!({"stream_options": {"include_usage": true, "continuous_usage_stats": true}});
    let continuous = gateway.streamed(&plain_chat(options)).await;
    assert_eq!(continuous.usage, Some(expected));
    let counts: Vec<_> =
        continuous.chunk_usages.iter().filter_map(|usage| usage["completion_tokens"].as_u64()).collect();
    assert!(counts.len() > 3 && counts.is_sorted() && counts.last() == Some(&9), "{counts:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn tokens_of_thought_are_told_with_a_reasoning_parser_only() {
    let gateway = replaying(&[json!({"text": "Yes"})], ServeConfig::default()).await;
    let usage = gateway.whole(&plain_chat(json!({}))).await["usage"].clone();
    assert!(usage.get("completion_tokens_details").is_none(), "{usage}");
    gateway.stop().await;
}

#[tokio::test]
async fn half_a_character_waits_for_the_rest() {
    let lines =
        [json!({"tokens": [[1, "Price: "], [2, null, "e282"], [3, null, "ac"], [4, "5 "], [5, null, "f09f9b"]]})];
    let gateway = replaying(&lines, ServeConfig::default()).await;
    let streamed = gateway.streamed(&plain_chat(json!({}))).await;
    assert_eq!(streamed.one().content, "Price: €5 \u{fffd}");
    assert_eq!(choices(&gateway.whole(&plain_chat(json!({}))).await)[0].content, "Price: €5 \u{fffd}");
    gateway.stop().await;
}

async fn finish_reasons(gateway: &Gateway, request: &Value) -> [Option<String>; 2] {
    let whole = choices(&gateway.whole(request).await).remove(0).finish;
    [gateway.streamed(request).await.one().finish.clone(), whole]
}

#[tokio::test]
async fn finish_reasons_follow_one_rule() {
    let (reasoning, tools, text) = WIRES[0];
    let (thought, _) = text.split_once("\n<tool_call>").expect("the reply has a call");
    let (cut, _) = text.split_once("🛶").expect("the last call names a boat");
    let named = json!({"tool_choice": {"type": "function", "function": {"name": "tide"}}});
    for (output, finish, request, expected) in [
        (text, "stop", json!({}), "tool_calls"),
        (text, "stop", json!({"tool_choice": "required"}), "tool_calls"),
        (text, "stop", named.clone(), "stop"),
        (text, "stop", json!({"tool_choice": "none"}), "stop"),
        (text, "length", json!({}), "length"),
        (cut, "length", json!({}), "length"),
        (thought, "stop", json!({"tool_choice": "required"}), "stop"),
        (thought, "length", named, "length"),
        (thought, "content_filter", json!({}), "content_filter"),
    ] {
        let lines = [json!({"text": output, "finish_reason": finish})];
        let gateway = replaying(&lines, pair(reasoning, tools)).await;
        let given = finish_reasons(&gateway, &chat(request.clone())).await;
        assert_eq!(given, [Some(expected.to_owned()), Some(expected.to_owned())], "{finish} {request}");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_request_can_leave_parts_out() {
    let (reasoning, tools, text) = WIRES[0];
    let gateway = replaying(&[json!({"text": text})], pair(reasoning, tools)).await;
    let choice = gateway.streamed(&chat(json!({"include_reasoning": false}))).await.one().clone();
    assert_eq!((choice.reasoning.as_str(), choice.calls.len()), ("", 2));
    let choice = gateway.streamed(&chat(json!({"parallel_tool_calls": false}))).await.one().clone();
    assert_eq!(choice.calls.len(), 1);
    let choice = gateway.streamed(&chat(json!({"tool_choice": "none"}))).await.one().clone();
    assert!(choice.calls.is_empty() && choice.content.contains("<tool_call>"), "{choice:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn oddities_are_told_to_those_who_ask() {
    let (reasoning, tools, text) = WIRES[0];
    let lines = [json!({"text": text.replace("\"wind\"", "\"storm\"")})];
    let gateway = replaying(&lines, pair(reasoning, tools)).await;
    let told = gateway.whole(&chat(json!({"return_diagnostics": true}))).await["choices"][0]["diagnostics"].clone();
    assert_eq!((&told[0]["kind"], told.as_array().map(Vec::len)), (&json!("unknown_function"), Some(1)), "{told}");
    let streamed = gateway.streamed(&chat(json!({"include_diagnostics": true}))).await;
    assert_eq!(json!(streamed.one().diagnostics), told);
    let silent = gateway.whole(&chat(json!({}))).await;
    assert!(silent["choices"][0].get("diagnostics").is_none());
    assert!(gateway.streamed(&chat(json!({}))).await.one().diagnostics.is_empty());
    gateway.stop().await;
}

#[tokio::test]
async fn outputs_end_where_the_request_says() {
    let gateway = replaying(&[tokens()], ServeConfig::default()).await;
    let short = gateway.streamed(&plain_chat(json!({"max_completion_tokens": 4, "max_tokens": 9}))).await;
    assert_eq!((short.one().content.as_str(), short.one().finish.as_deref()), ("<think>\nHm so", Some("length")));
    let stopped = gateway.streamed(&plain_chat(json!({"stop": [" so", "never"]}))).await;
    assert_eq!((stopped.one().content.as_str(), stopped.one().finish.as_deref()), ("<think>\nHm", Some("stop")));
    assert_eq!(stopped.one().stop_reason, " so");
    gateway.stop().await;
}

#[tokio::test]
async fn recordings_are_found_by_hash() {
    let config = ServeConfig::default();
    let request = plain_chat(json!({"seed": 7}));
    let gateway = replaying(&[json!({"text": "a"})], config.clone()).await;
    let response = gateway.post("/v1/chat/completions", &request).await;
    let hash = response.headers().get("x-unspool-request-hash").expect("the hash is sent back").clone();
    let hash = hash.to_str().expect("it is text");
    gateway.stop().await;
    let lines = [json!({"text": "for others"}), json!({"text": "for you", "request_hash": hash})];
    let gateway = replaying(&lines, config).await;
    assert_eq!(gateway.streamed(&request).await.one().content, "for you");
    assert_eq!(gateway.streamed(&plain_chat(json!({"seed": 8}))).await.one().content, "for others");
    gateway.stop().await;
}

#[tokio::test]
async fn stopping_lets_running_answers_finish() {
    let text = "word ".repeat(20_000);
    let mut gateway = replaying(&[json!({"text": text})], ServeConfig::default()).await;
    let mut response = gateway.post("/v1/chat/completions", &plain_chat(json!({"stream": true}))).await;
    let mut read = response.chunk().await.expect("the stream can be read").expect("it has begun").to_vec();
    gateway.tell();
    while let Some(chunk) = response.chunk().await.expect("the stream is not broken off") {
        read.extend_from_slice(&chunk);
    }
    let streamed = Folded::of(std::str::from_utf8(&read).expect("events are UTF-8"));
    assert_eq!(streamed.one().content, text);
    gateway.stop().await;
}

#[tokio::test]
async fn frames_that_are_ready_together_go_out_together() {
    let text = "abcdefgh".repeat(50);
    let (_, url) = Fake::start(RemoteKind::OpenAi, vec![singly(&text); 3]).await;
    let backend = BackendSpec::Remote { kind: RemoteKind::OpenAi, urls: vec![url] };
    let gateway = Gateway::start(ServeConfig { backend, ..ServeConfig::default() }).await;
    for n in [1, 2] {
        let body = plain_chat(json!({"stream": true, "n": n, "stream_options": {"include_usage": true}}));
        let mut response = gateway.post("/v1/chat/completions", &body).await;
        let (mut writes, mut all) = (0, Vec::new());
        while let Some(bytes) = response.chunk().await.expect("the stream goes on") {
            writes += 1;
            all.extend_from_slice(&bytes);
        }
        let folded = Folded::of(std::str::from_utf8(&all).expect("it is text"));
        assert!(folded.choices.len() == n && folded.choices.values().all(|choice| choice.content == text));
        assert!(folded.chunks.len() > 400 * n, "each token is a chunk: {}", folded.chunks.len());
        assert!(writes < 40 * n, "{writes} writes for {} chunks", folded.chunks.len());
    }
}
