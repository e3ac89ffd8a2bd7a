//! Oddities of the output beside the answer, on all surfaces, and what is counted of them.

use serde_json::{Value, json};
use unspool_server::{AnswerConfig, ServeConfig};

use crate::common::{Events, Gateway, chat, json_of, pair, replaying, tools, with};

/// Two calls of functions that do not exist, the first of them with three faults in its text, and one call that is right.
const ODD: &str = "<tool_call>\n{\"name\": \"tidy\", \"arguments\": {\"port\" \"Looe\"}, \"a\": 1, \"b\": 2}\n</tool_call>\n\
    <tool_call>\n{\"name\": \"windy\", \"arguments\": {}}\n</tool_call>\n\
    <tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\"}}\n</tool_call>";

async fn gateway(always: bool) -> Gateway {
    let answers = AnswerConfig { return_diagnostics: always, ..AnswerConfig::default() };
    let config = ServeConfig { answers, reasoning_parser: None, ..pair("qwen3", "hermes") };
    replaying(&[json!({"text": ODD})], config).await
}

/// What all surfaces are to tell.
async fn expected(gateway: &Gateway) -> Value {
    let told = gateway.whole(&chat(json!({"return_diagnostics": true}))).await["choices"][0]["diagnostics"].clone();
    let kinds: Vec<&str> = told.as_array().into_iter().flatten().filter_map(|note| note["kind"].as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "unknown_function").count(), 2, "{told}");
    assert!(kinds.iter().any(|kind| *kind != "unknown_function"), "{told}");
    for note in told.as_array().into_iter().flatten() {
        assert!(note["offset"].is_u64() && note["text"].is_string() && note["message"].is_string(), "{note}");
    }
    told
}

fn message() -> Value {
    let tools: Vec<Value> = tools()
        .as_array()
        .into_iter()
        .flatten()
        .map(|tool| json!({"name": tool["function"]["name"], "input_schema": tool["function"]["parameters"]}))
        .collect();
    json!({"model": "m", "max_tokens": 999, "messages": [{"role": "user", "content": "a"}], "tools": tools})
}

fn response() -> Value {
    let tools: Vec<Value> = tools().as_array().into_iter().flatten().map(|tool| {
        json!({"type": "function", "name": tool["function"]["name"], "parameters": tool["function"]["parameters"]})
    }).collect();
    json!({"model": "m", "input": "a", "tools": tools})
}

#[tokio::test]
async fn a_chat_tells_them_beside_the_choice_and_in_its_last_chunk() {
    let gateway = gateway(false).await;
    let told = expected(&gateway).await;
    let body = chat(json!({"return_diagnostics": true, "stream": true}));
    let text = gateway.post("/v1/chat/completions", &body).await.text().await.expect("the stream can be read");
    let with_notes: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .filter(|chunk| chunk["choices"][0].get("diagnostics").is_some())
        .collect();
    assert_eq!(with_notes.len(), 1, "{text}");
    assert_eq!(with_notes[0]["choices"][0]["diagnostics"], told);
    assert!(with_notes[0]["choices"][0]["finish_reason"].is_string());
    gateway.stop().await;
}

#[tokio::test]
async fn messages_and_responses_tell_the_same() {
    let gateway = gateway(false).await;
    let told = expected(&gateway).await;
    let asked = json!({"return_diagnostics": true});
    let whole = json_of(gateway.post("/v1/messages", &with(message(), asked.clone())).await).await;
    assert_eq!(whole["diagnostics"], told, "{whole}");
    let whole = json_of(gateway.post("/v1/responses", &with(response(), asked.clone())).await).await;
    assert_eq!(whole["diagnostics"], told, "{whole}");
    for (path, body, place) in
        [("/v1/messages", message(), "/diagnostics"), ("/v1/responses", response(), "/response/diagnostics")]
    {
        let body = with(with(body, asked.clone()), json!({"stream": true}));
        let text = gateway.post(path, &body).await.text().await.expect("the stream can be read");
        let events = Events::of(&text);
        let places: Vec<(&str, &Value)> =
            events.0.iter().filter_map(|(name, data)| Some((name.as_str(), data.pointer(place)?))).collect();
        let name = if path == "/v1/messages" { "message_delta" } else { "response.completed" };
        assert_eq!(places, [(name, &told)], "{text}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn nobody_is_told_who_does_not_ask_unless_the_flag_is_set() {
    let gateway = gateway(false).await;
    for (path, body) in
        [("/v1/chat/completions", chat(json!({}))), ("/v1/messages", message()), ("/v1/responses", response())]
    {
        let answer = json_of(gateway.post(path, &body).await).await.to_string();
        assert!(!answer.contains("\"diagnostics\""), "{answer}");
    }
    gateway.stop().await;
    let gateway = self::gateway(true).await;
    for (path, body) in
        [("/v1/chat/completions", chat(json!({}))), ("/v1/messages", message()), ("/v1/responses", response())]
    {
        let answer = json_of(gateway.post(path, &body).await).await.to_string();
        assert!(answer.contains("\"unknown_function\""), "{answer}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_malformed_call_counts_once_whatever_its_faults() {
    let gateway = gateway(false).await;
    gateway.whole(&chat(json!({}))).await;
    let text = gateway.client.get(format!("{}/metrics", gateway.base)).send().await.expect("the gateway answers");
    let text = text.text().await.expect("metrics are text");
    let total = |name: &str| -> f64 {
        let lines = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    };
    let faults = ["not_json", "unplaced_text", "call_broken"].map(|kind| {
        let line = text.lines().find(|line| line.contains(&format!("kind=\"{kind}\"")));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0)
    });
    assert!(faults.iter().sum::<f64>() >= 2.0, "the call has several faults\n{text}");
    assert_eq!(total("unspool_malformed_calls_total"), 1.0, "{text}");
    assert_eq!(total("unspool_calls_total"), 3.0);
    assert_eq!(total("unspool_unknown_names_total"), 2.0);
    assert_eq!(total("unspool_dropped_bytes_total"), 0.0);
    gateway.stop().await;
}
