//! The error for a conversation that is too long has the wording that each API's clients look for, whoever detects it.

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde_json::{Value, json};
use unspool_server::{AnswerConfig, BackendSpec, RemoteKind, ServeConfig};

use crate::common::{Gateway, json_of, plain_chat, server_of};

/// The error of each API for a prompt of these words.
async fn told(gateway: &Gateway, text: &str) -> [Value; 3] {
    let messages = json!([{"role": "user", "content": text}]);
    let mut out = Vec::new();
    for (path, body) in [
        ("/v1/chat/completions", plain_chat(json!({"messages": messages}))),
        ("/v1/responses", json!({"model": "m", "input": text})),
        ("/v1/messages", json!({"model": "m", "max_tokens": 10, "messages": messages})),
    ] {
        let response = gateway.post(path, &body).await;
        assert_eq!(response.status(), 400, "{path}");
        out.push(json_of(response).await["error"].clone());
    }
    out.try_into().expect("three APIs")
}

#[track_caller]
fn check([chat, responses, messages]: &[Value; 3], opening: &str, short: &str) {
    for (error, param) in [(chat, "messages"), (responses, "input")] {
        assert!(error["message"].as_str().is_some_and(|message| message.starts_with(opening)), "{error}");
        assert_eq!((&error["code"], &error["param"]), (&json!("context_length_exceeded"), &json!(param)), "{error}");
    }
    assert_eq!((&messages["type"], &messages["message"]), (&json!("invalid_request_error"), &json!(short)));
}

#[tokio::test]
async fn what_the_gateway_counts_is_told() {
    let answers = AnswerConfig { max_model_len: Some(200), ..AnswerConfig::default() };
    let gateway = Gateway::start(ServeConfig { answers, mock_rate: 0.0, ..ServeConfig::default() }).await;
    let errors = told(&gateway, &"word ".repeat(500)).await;
    let message = errors[2]["message"].as_str().unwrap_or_default().to_owned();
    let tokens = message.trim_start_matches("prompt is too long: ").split(' ').next().unwrap_or_default().to_owned();
    assert!(tokens.parse::<u64>().is_ok_and(|tokens| tokens > 500), "{message}");
    check(
        &errors,
        &format!("This model's maximum context length is 200 tokens. The prompt has {tokens} tokens."),
        &format!("prompt is too long: {tokens} tokens > 200 maximum"),
    );
    let asked = json!({"model": "m", "max_tokens": 201, "messages": [{"role": "user", "content": "a"}]});
    let error = json_of(gateway.post("/v1/messages", &asked).await).await["error"]["message"].clone();
    let words = error.as_str().unwrap_or_default();
    assert!(
        words.starts_with("input length and `max_tokens` exceed context limit: ") && words.ends_with(" + 201 > 200")
    );
    // The field is named as the client named it.
    for field in ["max_tokens", "max_completion_tokens"] {
        let told = json_of(gateway.post("/v1/chat/completions", &plain_chat(json!({field: 201}))).await).await;
        assert_eq!(told["error"]["param"], field, "{told}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_field_that_a_backend_names_is_passed_on() {
    let body = json!({"error": {"message": "top_k must be -1 or more", "param": "top_k", "code": 400}});
    let answer = move |_: &str| (StatusCode::BAD_REQUEST, body.to_string()).into_response();
    let url = server_of(answer).await;
    let backend = BackendSpec::Remote { kind: RemoteKind::Vllm, urls: vec![url] };
    let config = ServeConfig { backend, chat_template: Some("chatml".to_owned()), ..ServeConfig::default() };
    let gateway = Gateway::start(config).await;
    let told = json_of(gateway.post("/v1/chat/completions", &plain_chat(json!({"top_k": -7}))).await).await;
    assert_eq!((&told["error"]["param"], &told["error"]["code"]), (&json!("top_k"), &json!(400)), "{told}");
}

#[tokio::test]
async fn what_a_backend_finds_out_is_told_alike() {
    let words = "This model's maximum context length is 200 tokens. However, your request has 546 input tokens.";
    for (body, opening, short) in [
        (
            json!({"error": {"message": words}}),
            "This model's maximum context length is 200 tokens. The prompt has 546 tokens.",
            "prompt is too long: 546 tokens > 200 maximum",
        ),
        (
            json!({"error": {"message": "too much", "code": "context_length_exceeded"}}),
            "This model's maximum context length is exceeded.",
            "prompt is too long",
        ),
    ] {
        let url = server_of(move |_| (StatusCode::BAD_REQUEST, body.to_string()).into_response()).await;
        let backend = BackendSpec::Remote { kind: RemoteKind::OpenAi, urls: vec![url] };
        let gateway = Gateway::start(ServeConfig { backend, ..ServeConfig::default() }).await;
        check(&told(&gateway, "a").await, opening, short);
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_thought_may_come_under_both_names() {
    let gateway = Gateway::start(ServeConfig { mock_rate: 0.0, ..ServeConfig::default() }).await;
    for message in [
        json!({"role": "assistant", "content": "a", "reasoning": "hm", "reasoning_content": "hm"}),
        json!({"role": "assistant", "content": "a", "reasoning": null, "reasoning_content": "hm"}),
        json!({"role": "assistant", "content": [{"type": "refusal", "text": null, "refusal": "no"}]}),
    ] {
        let messages = json!([{"role": "user", "content": "a"}, message, {"role": "user", "content": "b"}]);
        let both = json!({"messages": messages, "return_diagnostics": true, "include_diagnostics": true});
        assert_eq!(gateway.post("/v1/chat/completions", &plain_chat(both)).await.status(), 200, "{message}");
    }
    gateway.stop().await;
}
