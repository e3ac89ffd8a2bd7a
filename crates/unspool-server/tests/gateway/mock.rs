//! The mock backend: what it writes goes through the real engine.

use serde_json::{Value, json};
use unspool_server::ServeConfig;

use crate::common::{Choice, Gateway, WIRES, chat, pair, plain_chat};

/// Pairs beside those of `WIRES`.
const FORMATS: &[(&str, &str)] = &[
    ("holo2", "qwen3_json"),
    ("deepseek_r1", "longcat"),
    ("qwen3", "qwen3_xml"),
    ("seed_oss", "seed_oss"),
    ("deepseek_v3", "deepseek_v31"),
    ("glm45", "glm45"),
    ("glm47", "glm47"),
    ("step3", "llama3_json"),
    ("qwen3", "llama4_json"),
    ("minimax_m2", "minimax_m2"),
    ("qwen3", "granite4"),
    ("qwen3", "internlm"),
];

async fn answer(gateway: &Gateway, request: &Value) -> Choice {
    Choice::of_whole(&gateway.whole(request).await["choices"][0])
}

fn fits(choice: &Choice) {
    for (name, arguments) in choice.called() {
        assert!(arguments["port"].is_string(), "{name} {arguments}");
        let known = if name == "wind" { arguments["days"].is_i64() } else { name == "tide" };
        assert!(known, "{name} {arguments}");
    }
}

#[tokio::test]
async fn a_turn_has_a_thought_a_sentence_and_two_calls() {
    for (reasoning, tools, _) in WIRES {
        let gateway = Gateway::start(pair(reasoning, tools)).await;
        for seed in 0..20 {
            let request = chat(json!({"seed": seed}));
            let whole = answer(&gateway, &request).await;
            let streamed = gateway.streamed(&request).await.one().comparable();
            assert_eq!(streamed, whole.comparable(), "{reasoning} + {tools}, seed {seed}");
            assert!(!whole.reasoning.trim().is_empty() && !whole.content.trim().is_empty(), "{whole:?}");
            assert_eq!((whole.calls.len(), whole.finish.as_deref()), (2, Some("tool_calls")), "{whole:?}");
            assert!(!whole.content.contains(['<', '>', '{']), "markup in the content: {whole:?}");
            fits(&whole);
        }
        gateway.stop().await;
    }
}

#[tokio::test]
async fn every_format_can_be_mocked() {
    for (reasoning, tools) in FORMATS {
        let gateway = Gateway::start(pair(reasoning, tools)).await;
        for seed in 0..8 {
            let request = chat(json!({"seed": seed, "tool_choice": "required"}));
            let whole = answer(&gateway, &request).await;
            let streamed = gateway.streamed(&request).await.one().comparable();
            assert_eq!(streamed, whole.comparable(), "{reasoning} + {tools}, seed {seed}");
            assert!(!whole.calls.is_empty() && whole.content.is_empty(), "{tools}: {whole:?}");
            assert_eq!(whole.finish.as_deref(), Some("tool_calls"), "{tools}: {whole:?}");
            fits(&whole);
        }
        let plain = answer(&gateway, &plain_chat(json!({}))).await;
        assert!(plain.calls.is_empty() && !plain.content.is_empty(), "{reasoning} + {tools}: {plain:?}");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn the_same_request_gets_the_same_answer() {
    let gateway = Gateway::start(pair("qwen3", "hermes")).await;
    let ask = async |more: Value| answer(&gateway, &chat(more)).await.comparable();
    assert_eq!(ask(json!({})).await, ask(json!({"n": 1})).await);
    assert_eq!(ask(json!({"seed": 3})).await, ask(json!({"seed": 3})).await);
    assert_ne!(ask(json!({"seed": 3})).await, ask(json!({"seed": 4})).await);
    let both = gateway.whole(&chat(json!({"n": 2}))).await;
    assert_ne!(both["choices"][0]["message"], both["choices"][1]["message"]);
    gateway.stop().await;
}

#[tokio::test]
async fn tool_choices_are_obeyed() {
    let gateway = Gateway::start(pair("qwen3", "qwen3_coder")).await;
    let named = json!({"tool_choice": {"type": "function", "function": {"name": "wind"}}});
    let done = json!([
        {"role": "user", "content": "How is the tide?"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{\"port\": \"Looe\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "high"},
    ]);
    for (more, calls, finish) in [
        (json!({"tool_choice": "none"}), 0..1, "stop"),
        (json!({"tool_choice": "required"}), 1..9, "tool_calls"),
        (json!({"tool_choice": "required", "parallel_tool_calls": false}), 1..2, "tool_calls"),
        (json!({"parallel_tool_calls": false}), 1..2, "tool_calls"),
        (named, 1..2, "stop"),
        (json!({"messages": done.clone()}), 0..1, "stop"),
        (json!({"messages": done, "tool_choice": "required"}), 1..9, "tool_calls"),
    ] {
        let choice = answer(&gateway, &chat(more.clone())).await;
        assert!(calls.contains(&choice.calls.len()), "{more}: {choice:?}");
        assert_eq!(choice.finish.as_deref(), Some(finish), "{more}: {choice:?}");
        assert!(!choice.calls.is_empty() || !choice.content.is_empty());
        fits(&choice);
    }
    gateway.stop().await;
}

#[tokio::test]
async fn strict_tools_are_called_as_their_schema_says() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "berth": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{2}$"},
            "side": {"enum": ["port", "starboard"]},
            "metres": {"type": "number", "minimum": 4, "maximum": 12},
            "lines": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
        },
        "required": ["berth", "side", "metres", "lines"],
        "additionalProperties": false,
    });
    let tool = json!({"type": "function", "function": {"name": "moor", "strict": true, "parameters": parameters}});
    for (reasoning, tools, _) in WIRES {
        let gateway = Gateway::start(pair(reasoning, tools)).await;
        for (seed, choice) in [(1, "auto"), (2, "required"), (3, "auto"), (4, "required")] {
            let request = chat(json!({"seed": seed, "tool_choice": choice, "tools": [tool]}));
            let whole = answer(&gateway, &request).await;
            assert!(!whole.calls.is_empty(), "{tools}, {choice}: {whole:?}");
            for (_, arguments) in whole.called() {
                let berth = arguments["berth"].as_str().unwrap_or_default().to_owned();
                assert!(berth.len() == 5 && berth.as_bytes()[2] == b'-', "{tools}: {arguments}");
                assert!(["port", "starboard"].contains(&arguments["side"].as_str().unwrap_or_default()), "{arguments}");
                assert!(
                    (4.0..=12.0).contains(&arguments["metres"].as_f64().unwrap_or_default()),
                    "{tools}: {arguments}"
                );
                assert!((2..=3).contains(&arguments["lines"].as_array().map_or(0, Vec::len)), "{tools}: {arguments}");
            }
        }
        gateway.stop().await;
    }
}

#[tokio::test]
async fn switches_and_lengths_are_obeyed() {
    let gateway = Gateway::start(pair("qwen3", "hermes")).await;
    let silent = answer(&gateway, &plain_chat(json!({"chat_template_kwargs": {"enable_thinking": false}}))).await;
    assert!(silent.reasoning.is_empty() && !silent.content.is_empty(), "{silent:?}");
    for most in [1, 2, 5, 12] {
        let whole = gateway.whole(&chat(json!({"max_completion_tokens": most}))).await;
        assert_eq!(whole["usage"]["completion_tokens"], most);
        assert_eq!(whole["choices"][0]["finish_reason"], "length");
    }
    let long = gateway.whole(&plain_chat(json!({"min_tokens": 3000}))).await;
    assert!(long["usage"]["completion_tokens"].as_u64().is_some_and(|count| count >= 3000), "{}", long["usage"]);
    let exact = gateway.whole(&plain_chat(json!({"max_tokens": 700, "ignore_eos": true}))).await;
    assert_eq!(
        (&exact["usage"]["completion_tokens"], &exact["choices"][0]["finish_reason"]),
        (&json!(700), &json!("length"))
    );
    gateway.stop().await;
}

#[tokio::test]
async fn thoughts_are_counted_by_token() {
    let gateway = Gateway::start(pair("qwen3", "hermes")).await;
    let usage = gateway.whole(&plain_chat(json!({}))).await["usage"].clone();
    let count = |value: &Value| value.as_u64().expect("it is a count");
    let (thought, all) =
        (count(&usage["completion_tokens_details"]["reasoning_tokens"]), count(&usage["completion_tokens"]));
    assert!(0 < thought && thought < all, "{usage}");
    assert_eq!(count(&usage["prompt_tokens"]) + all, count(&usage["total_tokens"]));
    gateway.stop().await;
}

#[tokio::test]
async fn answers_take_the_form_that_is_asked_for() {
    let gateway = Gateway::start(pair("qwen3", "hermes")).await;
    let schema =
        json!({"type": "object", "required": ["depth"], "properties": {"depth": {"type": "integer", "minimum": 3}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "d", "schema": schema}});
    let choice = answer(&gateway, &chat(json!({"response_format": format}))).await;
    let value: Value = serde_json::from_str(&choice.content).expect("the content is JSON");
    assert!(value["depth"].as_i64().is_some_and(|depth| depth >= 3), "{value}");
    gateway.stop().await;
}

#[tokio::test]
async fn without_parsers_the_answer_is_plain_text() {
    let gateway = Gateway::start(ServeConfig { mock_rate: 0.0, ..ServeConfig::default() }).await;
    let choice = answer(&gateway, &plain_chat(json!({}))).await;
    assert!(choice.reasoning.is_empty() && !choice.content.is_empty(), "{choice:?}");
    let body = json!({"model": "m", "prompt": "Ahoy", "max_tokens": 3});
    let raw = crate::common::json_of(gateway.post("/v1/completions", &body).await).await;
    assert_eq!((&raw["object"], &raw["choices"][0]["finish_reason"]), (&json!("text_completion"), &json!("length")));
    assert_eq!(raw["usage"]["completion_tokens"], 3);
    gateway.stop().await;
}
