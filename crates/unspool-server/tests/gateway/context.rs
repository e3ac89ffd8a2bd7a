//! How long a conversation may be, as the backend says it.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use unspool_server::{AnswerConfig, BackendSpec, RemoteKind, ServeConfig};

use crate::common::{Gateway, json_of, plain_chat, with};
use crate::model::with_model;

/// A server that says how much its model takes.
struct Server {
    kind: RemoteKind,
    /// `None`: it does not answer at all.
    length: Mutex<Option<u64>>,
    asked: Mutex<Vec<Value>>,
}

impl Server {
    async fn start(kind: RemoteKind, length: u64) -> (Arc<Self>, String) {
        let server = Arc::new(Self { kind, length: Mutex::new(Some(length)), asked: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&server));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (server, url)
    }

    fn becomes(&self, length: Option<u64>) {
        *self.length.lock().expect("no test panics here") = length;
    }

    fn last(&self) -> Value {
        self.asked.lock().expect("no test panics here").pop().expect("it was asked")
    }
}

async fn answer(State(server): State<Arc<Server>>, uri: Uri, body: String) -> Response {
    let Some(length) = *server.length.lock().expect("no test panics here") else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let said = match (uri.path(), server.kind) {
        ("/v1/models", RemoteKind::LlamaCpp | RemoteKind::Chat) => {
            json!({"data": [{"id": "m", "meta": {"n_ctx_train": 131_072}}]})
        }
        ("/v1/models", _) => json!({"object": "list", "data": [{"id": "far", "max_model_len": length}]}),
        ("/props", RemoteKind::LlamaCpp | RemoteKind::Chat) => {
            json!({"default_generation_settings": {"n_ctx": length}})
        }
        ("/info", RemoteKind::Tgi) => json!({"max_total_tokens": length}),
        ("/v1/completions" | "/generate" | "/generate_stream" | "/completion", kind) => {
            let body = serde_json::from_str(&body).expect("the body is JSON");
            server.asked.lock().expect("no test panics here").push(body);
            let event = match kind {
                RemoteKind::Sglang => json!({"text": "a", "meta_info": {"finish_reason": {"type": "stop"}}}),
                RemoteKind::LlamaCpp => json!({"content": "a", "stop": true, "stop_type": "eos"}),
                RemoteKind::Tgi => json!({"token": {"id": 97, "text": "a"}, "details": {"finish_reason": "length"}}),
                _ => json!({"choices": [{"text": "a", "finish_reason": "stop"}]}),
            };
            return ([("content-type", "text/event-stream")], format!("data: {event}\n\n")).into_response();
        }
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    said.to_string().into_response()
}

/// The maximum number of tokens in the request to a server.
fn most(kind: RemoteKind, sent: &Value) -> u64 {
    let number = match kind {
        RemoteKind::Sglang => &sent["sampling_params"]["max_new_tokens"],
        RemoteKind::LlamaCpp => &sent["n_predict"],
        RemoteKind::Tgi => &sent["parameters"]["max_new_tokens"],
        _ => &sent["max_tokens"],
    };
    number.as_u64().unwrap_or_else(|| panic!("{sent}"))
}

fn in_front(kind: RemoteKind, url: String) -> ServeConfig {
    with_model(ServeConfig { backend: BackendSpec::Remote { kind, urls: vec![url] }, ..ServeConfig::default() })
}

#[tokio::test]
async fn an_answer_gets_the_room_that_the_backend_leaves() {
    let kinds = [RemoteKind::OpenAi, RemoteKind::Vllm, RemoteKind::Sglang, RemoteKind::LlamaCpp, RemoteKind::Tgi];
    for kind in kinds {
        // The model's own files say 4,096.
        let (server, url) = Server::start(kind, 2000).await;
        let gateway = Gateway::start(in_front(kind, url)).await;
        gateway.whole(&plain_chat(json!({}))).await;
        let room = most(kind, &server.last());
        assert!((1900..2000).contains(&room), "{kind}: {room}");
        // What Claude Code asks for always, against a model that takes less in all, is too much; less is cut.
        gateway.whole(&plain_chat(json!({"max_tokens": 1999}))).await;
        assert_eq!(most(kind, &server.last()), room, "{kind}");
        gateway.whole(&plain_chat(json!({"max_tokens": 7}))).await;
        assert_eq!(most(kind, &server.last()), 7, "{kind}");
        let refused = gateway.post("/v1/chat/completions", &plain_chat(json!({"max_tokens": 2001}))).await;
        assert_eq!(refused.status(), 400, "{kind}");
        let error = json_of(refused).await["error"].clone();
        assert_eq!(error["code"], "context_length_exceeded");
        assert!(error["message"].as_str().is_some_and(|words| words.contains("length is 2000 tokens")), "{error}");
        let long = json!({"messages": [{"role": "user", "content": "a".repeat(2100)}]});
        assert_eq!(gateway.post("/v1/chat/completions", &plain_chat(long)).await.status(), 400, "{kind}");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_chat_server_that_is_a_llamacpp_is_asked_too() {
    let (_, url) = Server::start(RemoteKind::Chat, 2000).await;
    let backend = BackendSpec::Remote { kind: RemoteKind::Chat, urls: vec![url] };
    let gateway = Gateway::start(ServeConfig { backend, ..ServeConfig::default() }).await;
    let refused = gateway.post("/v1/chat/completions", &plain_chat(json!({"max_tokens": 2001}))).await;
    assert_eq!(
        (refused.status().as_u16(), &json_of(refused).await["error"]["code"]),
        (400, &json!("context_length_exceeded"))
    );
    gateway.stop().await;
}

#[tokio::test]
async fn a_large_request_of_an_agent_is_cut_to_the_room() {
    let (server, url) = Server::start(RemoteKind::Vllm, 40_960).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let text = "a".repeat(12_000);
    let body = json!({"model": "m", "max_tokens": 32_000, "messages": [{"role": "user", "content": text}]});
    assert_eq!(gateway.post("/v1/messages", &body).await.status(), 200);
    let room = most(RemoteKind::Vllm, &server.last());
    assert!((28_000..28_960).contains(&room), "{room}");
    gateway.stop().await;
}

#[tokio::test]
async fn a_flag_counts_before_the_backend() {
    let (server, url) = Server::start(RemoteKind::Vllm, 2000).await;
    let answers = AnswerConfig { max_model_len: Some(1000), ..AnswerConfig::default() };
    let gateway = Gateway::start(ServeConfig { answers, ..in_front(RemoteKind::Vllm, url) }).await;
    gateway.whole(&plain_chat(json!({}))).await;
    assert!(most(RemoteKind::Vllm, &server.last()) < 1000);
    gateway.stop().await;
}

#[tokio::test]
async fn the_length_is_read_again_when_the_backend_comes_back() {
    let (server, url) = Server::start(RemoteKind::Vllm, 2000).await;
    server.becomes(None);
    let config = ServeConfig { served_model_name: vec!["m".to_owned()], ..in_front(RemoteKind::Vllm, url) };
    let gateway = Gateway::start(config).await;
    assert!(gateway.post("/v1/chat/completions", &plain_chat(json!({}))).await.status().is_server_error());
    server.becomes(Some(2000));
    // A server that did not say it is asked again after five seconds.
    tokio::time::sleep(std::time::Duration::from_millis(5100)).await;
    gateway.whole(&plain_chat(json!({}))).await;
    let room = most(RemoteKind::Vllm, &server.last());
    assert!((1900..2000).contains(&room), "{room}");
    let list = json_of(gateway.client.get(format!("{}/v1/models", gateway.base)).send().await.expect("a list")).await;
    assert_eq!(list["data"][0]["max_model_len"], 2000);
    let counted = json_of(gateway.post("/tokenize", &json!({"prompt": "a"})).await).await;
    assert_eq!(counted["max_model_len"], 2000);
    gateway.stop().await;
}

#[tokio::test]
async fn a_shorter_context_is_believed_after_a_refusal() {
    let (server, url) = Server::start(RemoteKind::Vllm, 3000).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    gateway.whole(&plain_chat(json!({}))).await;
    assert!(most(RemoteKind::Vllm, &server.last()) > 2000);
    gateway.stop().await;
    // Two servers: what fits both is what counts.
    let (_, small) = Server::start(RemoteKind::Vllm, 1500).await;
    let (_, large) = Server::start(RemoteKind::Vllm, 3000).await;
    let backend = BackendSpec::Remote { kind: RemoteKind::Vllm, urls: vec![small, large] };
    let config = ServeConfig { served_model_name: vec!["m".to_owned()], ..ServeConfig::default() };
    let gateway = Gateway::start(with_model(ServeConfig { backend, ..config })).await;
    let list = json_of(gateway.client.get(format!("{}/v1/models", gateway.base)).send().await.expect("a list")).await;
    assert_eq!(list["data"][0]["max_model_len"], 1500);
    gateway.stop().await;
}

#[tokio::test]
async fn where_tokens_cannot_be_counted_the_default_stays_within_the_context() {
    let (server, url) = Server::start(RemoteKind::OpenAi, 2048).await;
    let backend = BackendSpec::Remote { kind: RemoteKind::OpenAi, urls: vec![url] };
    let gateway = Gateway::start(ServeConfig { backend, ..ServeConfig::default() }).await;
    gateway.whole(&plain_chat(json!({}))).await;
    let room = most(RemoteKind::OpenAi, &server.last());
    assert!((1900..2048).contains(&room), "{room}");
    let asked = with(plain_chat(json!({})), json!({"max_tokens": 2000}));
    gateway.whole(&asked).await;
    assert_eq!(most(RemoteKind::OpenAi, &server.last()), 2000, "what is asked for is the client's");
    gateway.stop().await;
}
