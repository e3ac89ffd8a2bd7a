//! How long an answer may be: as the request says, else as much as the context has room for, else the default.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use unspool_server::{AnswerConfig, BackendSpec, RemoteKind, ServeConfig};

use crate::common::{Gateway, json_of, plain_chat};
use crate::model::with_model;

type Asked = Arc<Mutex<Vec<Value>>>;

/// A completions server that writes down what it is asked.
async fn server() -> (String, Asked) {
    let asked = Asked::default();
    let answer = |State(asked): State<Asked>, body: String| async move {
        let body = serde_json::from_str(&body).expect("the body is JSON");
        asked.lock().expect("nobody panics").push(body);
        "data: {\"choices\": [{\"text\": \"a\", \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n"
    };
    let router = Router::new().route("/v1/completions", post(answer)).with_state(Arc::clone(&asked));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = listener.local_addr().expect("a listener has an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}"), asked)
}

async fn gateway(kind: RemoteKind, config: ServeConfig) -> (Gateway, Asked) {
    let (url, asked) = server().await;
    let backend = BackendSpec::Remote { kind, urls: vec![url] };
    (Gateway::start(ServeConfig { backend, ..config }).await, asked)
}

fn last(asked: &Asked) -> Value {
    asked.lock().expect("nobody panics").last().cloned().expect("it was asked")
}

#[tokio::test]
async fn an_answer_gets_the_room_that_the_models_own_files_leave() {
    let (gateway, asked) = gateway(RemoteKind::Vllm, with_model(ServeConfig::default())).await;
    gateway.whole(&plain_chat(json!({}))).await;
    let sent = last(&asked);
    let tokens = sent["prompt"].as_array().expect("ids are sent").len() as u64;
    assert_eq!(sent["max_tokens"], json!(4096 - tokens));
    gateway.whole(&plain_chat(json!({"max_tokens": 7}))).await;
    assert_eq!(last(&asked)["max_tokens"], 7);
    let long = "a".repeat(5000);
    for body in
        [plain_chat(json!({"messages": [{"role": "user", "content": long}]})), plain_chat(json!({"max_tokens": 4097}))]
    {
        let answer = gateway.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.status(), 400);
        let error = json_of(answer).await["error"]["message"].to_string();
        assert!(
            error.contains("This model's maximum context length is 4096 tokens") && error.contains("hint: "),
            "{error}"
        );
    }
    gateway.whole(&plain_chat(json!({"max_tokens": 4096}))).await;
    assert_eq!(last(&asked)["max_tokens"], json!(4096 - tokens), "what is asked for is cut to the room");
    gateway.stop().await;
}

#[tokio::test]
async fn a_flag_counts_before_the_models_files() {
    let answers = AnswerConfig { max_model_len: Some(100), ..AnswerConfig::default() };
    let (gateway, asked) =
        gateway(RemoteKind::Vllm, with_model(ServeConfig { answers, ..ServeConfig::default() })).await;
    gateway.whole(&plain_chat(json!({}))).await;
    let sent = last(&asked);
    assert_eq!(sent["max_tokens"], json!(100 - sent["prompt"].as_array().expect("ids are sent").len()));
    gateway.stop().await;
}

#[tokio::test]
async fn the_default_holds_where_nothing_is_known() {
    let config = ServeConfig { default_max_tokens: 321, ..ServeConfig::default() };
    let (gateway, asked) = gateway(RemoteKind::OpenAi, config).await;
    gateway.whole(&plain_chat(json!({}))).await;
    assert_eq!(last(&asked)["max_tokens"], 321);
    gateway.stop().await;
}

#[tokio::test]
async fn tokens_are_named_by_their_ids_on_the_raw_channel() {
    let answers = AnswerConfig { return_tokens_as_token_ids: true, ..AnswerConfig::default() };
    let (gateway, asked) = gateway(RemoteKind::OpenAi, ServeConfig { answers, ..ServeConfig::default() }).await;
    let raw = json!({"model": "m", "prompt": "a", "logprobs": 1});
    gateway.post("/v1/completions", &raw).await;
    assert_eq!(last(&asked)["return_tokens_as_token_ids"], true);
    assert_eq!(last(&asked)["logprobs"], 1);
    gateway.post("/v1/completions", &json!({"prompt": "a", "return_tokens_as_token_ids": false})).await;
    assert_eq!(last(&asked)["return_tokens_as_token_ids"], false);
    gateway.whole(&plain_chat(json!({"return_tokens_as_token_ids": true, "stream_interval": 3}))).await;
    assert!(last(&asked).get("return_tokens_as_token_ids").is_none(), "nobody asks for log probabilities");
    assert!(last(&asked).get("stream_interval").is_none(), "chunks are made here");
    gateway.stop().await;
}

#[tokio::test]
async fn raw_completions_name_the_model_as_the_backend_does() {
    let config = ServeConfig { backend_model: Some("far".to_owned()), ..ServeConfig::default() };
    let (gateway, asked) = gateway(RemoteKind::OpenAi, config).await;
    for body in [json!({"model": "near", "prompt": "a \"b\"", "top_k": 5}), json!({"prompt": "a \"b\"", "top_k": 5})] {
        assert_eq!(gateway.post("/v1/completions", &body).await.status(), 200);
        assert_eq!(last(&asked), json!({"model": "far", "prompt": "a \"b\"", "top_k": 5}));
    }
    gateway.stop().await;
}
