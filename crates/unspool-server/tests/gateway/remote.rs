//! The gateway in front of servers of each kind, and of several servers: small ones in this file that say what those say.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use unspool_server::{App, BackendSpec, RemoteKind, ServeConfig};

use crate::common::{Choice, Gateway, json_of, pair, plain_chat};
use crate::model::with_model;

/// What a server does with a request that is none for its health.
#[derive(Clone)]
enum Deed {
    /// Sends these events.
    Send(Vec<Value>),
    /// Sends them, then breaks the connection.
    Break(Vec<Value>),
    /// Refuses with this status.
    Refuse(u16),
}

struct Server {
    deed: Deed,
    well: Mutex<bool>,
    /// Whether it makes prompts for others.
    renders: bool,
    seen: Mutex<Vec<(String, Value)>>,
}

impl Server {
    async fn start(deed: Deed) -> (Arc<Self>, String) {
        Self::start_one(deed, false).await
    }

    async fn start_one(deed: Deed, renders: bool) -> (Arc<Self>, String) {
        let server = Arc::new(Self { deed, well: Mutex::new(true), renders, seen: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&server));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (server, url)
    }

    fn seen(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.seen.lock().expect("no test panics here"))
    }
}

async fn answer(State(server): State<Arc<Server>>, method: Method, uri: Uri, body: Bytes) -> Response {
    if uri.path() == "/health" {
        let well = *server.well.lock().expect("no test panics here");
        return if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }.into_response();
    }
    if method == Method::GET {
        return StatusCode::NOT_FOUND.into_response();
    }
    let body = serde_json::from_slice(&body).expect("the gateway sends JSON");
    server.seen.lock().expect("no test panics here").push((uri.path().to_owned(), body));
    match uri.path() {
        "/tokenize" if server.renders => return json!({"count": 3, "tokens": [5, 6, 7]}).to_string().into_response(),
        "/detokenize" | "/apply-template" if server.renders => {
            return json!({"prompt": PROMPT}).to_string().into_response();
        }
        "/tokenize" | "/apply-template" => return StatusCode::NOT_FOUND.into_response(),
        _ => {}
    }
    let (events, breaks) = match &server.deed {
        Deed::Refuse(status) => {
            return (StatusCode::from_u16(*status).expect("a status"), r#"{"error": "busy"}"#).into_response();
        }
        Deed::Send(events) => (events.clone(), false),
        Deed::Break(events) => (events.clone(), true),
    };
    let events = stream::iter(events).map(|event| Ok(format!("data: {event}\n\n")));
    let end = stream::iter(breaks.then_some(())).then(async |()| {
        tokio::task::yield_now().await;
        Err(std::io::Error::other("killed"))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(events.chain(end))).into_response()
}

/// Tokens of a reply: the model talks about its own marker before it uses it.
fn reply() -> Vec<(u32, &'static str)> {
    let letters = |text: &'static str| text.char_indices().map(move |(at, c)| (u32::from(c), &text[at..=at]));
    let mut tokens: Vec<_> = letters("Not </think> yet.").collect();
    tokens.push((260, "</think>"));
    tokens.extend(letters("Book it."));
    tokens
}

fn vllm() -> Vec<Value> {
    let choice = |text: &str, ids: &[u32], finish: Value| json!({"choices": [{"index": 0, "text": text, "token_ids": ids, "finish_reason": finish, "stop_reason": null}]});
    let mut events: Vec<Value> = reply().into_iter().map(|(id, text)| choice(text, &[id], Value::Null)).collect();
    events.push(choice("", &[261], json!("stop")));
    events.push(json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 27, "total_tokens": 32}}));
    events
}

fn sglang(cumulative: bool) -> Vec<Value> {
    let (mut text, mut ids) = (String::new(), Vec::new());
    let mut events = Vec::new();
    let meta =
        |count: usize, finish: Value| json!({"prompt_tokens": 5, "completion_tokens": count, "finish_reason": finish});
    for (count, (id, piece)) in reply().into_iter().enumerate() {
        if !cumulative {
            (text, ids) = (String::new(), Vec::new());
        }
        text.push_str(piece);
        ids.push(id);
        events.push(json!({"text": text, "output_ids": ids, "meta_info": meta(count + 1, Value::Null)}));
    }
    let (text, ids) = if cumulative { (text, ids) } else { (String::new(), Vec::new()) };
    let all: Vec<u32> = ids.into_iter().chain([261]).collect();
    events
        .push(json!({"text": text, "output_ids": all, "meta_info": meta(27, json!({"type": "stop", "matched": 261}))}));
    events
}

fn llamacpp() -> Vec<Value> {
    let token = |(id, text): (u32, &str)| {
        // Special tokens come without their text.
        json!({"content": if id >= 256 { "" } else { text }, "tokens": [id], "stop": false})
    };
    let end = json!({"content": "", "tokens": [], "stop": true, "stop_type": "eos", "stopping_word": "",
        "tokens_evaluated": 5, "tokens_predicted": 27});
    reply().into_iter().map(token).chain([end]).collect()
}

fn tgi() -> Vec<Value> {
    let token =
        |(id, text): (u32, &str)| json!({"token": {"id": id, "text": text, "special": id >= 256}, "details": null});
    let end = json!({"token": {"id": 261, "text": "<|end|>", "special": true}, "generated_text": "",
        "details": {"finish_reason": "eos_token", "generated_tokens": 27}});
    reply().into_iter().map(token).chain([end]).collect()
}

fn remote(kind: RemoteKind, urls: Vec<String>) -> ServeConfig {
    let backend = BackendSpec::Remote { kind, urls };
    with_model(ServeConfig { backend, ..pair("qwen3", "hermes") })
}

/// The prompt of [`plain_chat`] by the model's template.
const PROMPT: &str = "<s><|user|>How is the tide?<|bot|><think>\n";

#[tokio::test]
async fn each_kind_is_asked_in_its_own_words_and_understood() {
    let ids: Vec<u64> =
        [256, 257].into_iter().chain("How is the tide?".bytes().map(u64::from)).chain([258, 259, 10]).collect();
    let asked = |path: &str, prompt: (&str, Value)| (path.to_owned(), prompt.0.to_owned(), prompt.1);
    let cases = [
        (RemoteKind::Vllm, vllm(), asked("/v1/completions", ("/prompt", json!(ids)))),
        (RemoteKind::Sglang, sglang(true), asked("/generate", ("/input_ids", json!(ids)))),
        (RemoteKind::Sglang, sglang(false), asked("/generate", ("/input_ids", json!(ids)))),
        (RemoteKind::LlamaCpp, llamacpp(), asked("/completion", ("/prompt", json!(ids)))),
        (RemoteKind::Tgi, tgi(), asked("/generate_stream", ("/inputs", json!(PROMPT)))),
    ];
    for (kind, events, (path, field, prompt)) in cases {
        let (server, url) = Server::start(Deed::Send(events)).await;
        let gateway = Gateway::start(remote(kind, vec![url])).await;
        let body = plain_chat(
            json!({"max_tokens": 50, "temperature": 0.5, "stop": ["END"], "stream_options": {"include_usage": true}}),
        );
        let folded = gateway.streamed(&body).await;
        let choice = folded.one();
        let said = (choice.reasoning.as_str(), choice.content.as_str(), choice.finish.as_deref());
        assert_eq!(said, ("Not </think> yet.", "Book it.", Some("stop")), "{kind}");
        let usage = folded.usage.expect("it was asked for");
        let reasoning = usage["completion_tokens_details"]["reasoning_tokens"].as_u64();
        assert_eq!((usage["completion_tokens"].as_u64(), reasoning), (Some(27), Some(17)), "{kind}");
        let (at, asked) = server.seen().remove(0);
        assert_eq!((at, asked.pointer(&field)), (path, Some(&prompt)), "{kind}: {asked}");
    }
}

#[tokio::test]
async fn settings_go_under_the_servers_names() {
    let body = plain_chat(json!({"max_tokens": 50, "temperature": 0.5, "top_k": 4, "stop": ["END"], "seed": 7,
        "chat_template_kwargs": {"enable_thinking": false},
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}}));
    let cases = [
        (
            RemoteKind::Vllm,
            vllm(),
            json!({"max_tokens": 50, "return_token_ids": true, "skip_special_tokens": false,
            "add_special_tokens": false, "stop_token_ids": [261], "seed": 7, "stop": ["END"], "top_k": 4}),
        ),
        (
            RemoteKind::Sglang,
            sglang(true),
            json!({"sampling_params": {"temperature": 0.5, "top_k": 4, "max_new_tokens": 50,
            "sampling_seed": 7, "stop": ["END"], "stop_token_ids": [261], "json_schema": "{\"type\":\"object\"}",
            "skip_special_tokens": false, "spaces_between_special_tokens": false}}),
        ),
        (
            RemoteKind::LlamaCpp,
            llamacpp(),
            json!({"n_predict": 50, "temperature": 0.5, "top_k": 4, "seed": 7, "stop": ["END"],
            "return_tokens": true, "preserved_tokens": ["<think>", "</think>", "<tool_call>", "</tool_call>"], "json_schema": {"type": "object"}}),
        ),
        (
            RemoteKind::Tgi,
            tgi(),
            json!({"parameters": {"max_new_tokens": 50, "temperature": 0.5, "top_k": 4, "seed": 7,
            "stop": ["END"], "details": true, "do_sample": true, "return_full_text": false,
            "grammar": {"type": "json", "value": {"type": "object"}}}}),
        ),
    ];
    for (kind, events, expected) in cases {
        let (server, url) = Server::start(Deed::Send(events)).await;
        let gateway = Gateway::start(remote(kind, vec![url])).await;
        gateway.whole(&body).await;
        let (_, asked) = server.seen().remove(0);
        for (key, value) in expected.as_object().expect("it is an object") {
            assert_eq!(asked.get(key), Some(value), "{kind}, {key}: {asked}");
        }
    }
}

#[tokio::test]
async fn another_server_is_asked_as_long_as_nothing_was_given() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        listener.local_addr().expect("a listener has an address")
    };
    let (_, refusing) = Server::start(Deed::Refuse(503)).await;
    let (broken, breaking) = Server::start(Deed::Break(Vec::new())).await;
    let (good, well) = Server::start(Deed::Send(vllm())).await;
    let urls = vec![format!("http://{closed}"), refusing, breaking, well];
    let gateway = Gateway::start(remote(RemoteKind::Vllm, urls)).await;
    for _ in 0..6 {
        let answer = gateway.whole(&plain_chat(json!({}))).await;
        assert_eq!(Choice::of_whole(&answer["choices"][0]).content, "Book it.");
    }
    assert_eq!(good.seen().len(), 6);
    assert!(!broken.seen().is_empty(), "the others are tried in turn");
}

#[tokio::test]
async fn what_was_given_is_not_asked_for_again() {
    let (_, breaking) = Server::start(Deed::Break(vllm()[..15].to_vec())).await;
    let (other, well) = Server::start(Deed::Refuse(500)).await;
    let gateway = Gateway::start(remote(RemoteKind::Vllm, vec![breaking, well])).await;
    let mut broke_off = 0;
    for _ in 0..2 {
        let folded = gateway.streamed(&plain_chat(json!({}))).await;
        broke_off += usize::from(folded.error.is_some() && folded.one().reasoning.starts_with("Not </think>"));
    }
    assert_eq!(broke_off, 2, "the answer that began is not begun anew elsewhere");
    assert!(other.seen().len() <= 2);
    let all_refuse = Gateway::start(remote(RemoteKind::Vllm, vec![Server::start(Deed::Refuse(503)).await.1])).await;
    assert_eq!(all_refuse.post("/v1/chat/completions", &plain_chat(json!({}))).await.status(), 503);
}

#[tokio::test]
async fn an_answer_that_nobody_has_seen_is_begun_anew_elsewhere() {
    let (broken, breaking) = Server::start(Deed::Break(vllm()[..20].to_vec())).await;
    let (_, well) = Server::start(Deed::Send(vllm())).await;
    let urls = vec![breaking.clone(), well];
    let messages = json!({"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "How?"}]});
    for (path, body) in [
        ("/v1/chat/completions", plain_chat(json!({}))),
        ("/v1/messages", messages),
        ("/v1/responses", json!({"model": "m", "input": "How?"})),
    ] {
        // One that died is passed over for a while.
        let gateway = Gateway::start(remote(RemoteKind::Vllm, urls.clone())).await;
        for _ in 0..2 {
            let answer = json_of(gateway.post(path, &body).await).await;
            let (thought, said, output, tokens) = match path {
                "/v1/messages" => ("/content/0/thinking", "/content/1/text", "/content", "/usage/output_tokens"),
                "/v1/responses" => {
                    ("/output/0/content/0/text", "/output/1/content/0/text", "/output", "/usage/output_tokens")
                }
                _ => (
                    "/choices/0/message/reasoning",
                    "/choices/0/message/content",
                    "/choices",
                    "/usage/completion_tokens",
                ),
            };
            let read = |pointer| answer.pointer(pointer).cloned().unwrap_or_default();
            assert_eq!((read(thought), read(said)), (json!("Not </think> yet."), json!("Book it.")), "{answer}");
            let parts = if path == "/v1/chat/completions" { 1 } else { 2 };
            assert_eq!((read(output).as_array().map(Vec::len), read(tokens)), (Some(parts), json!(27)), "{answer}");
        }
        // A check of its health may come in between, and says that it is well.
        assert!((1..=2).contains(&broken.seen().len()), "{path}");
    }
    // Alone it fails, as there is no other server.
    let alone = Gateway::start(remote(RemoteKind::Vllm, vec![breaking])).await;
    assert_eq!(alone.post("/v1/chat/completions", &plain_chat(json!({}))).await.status(), 502);
}

#[tokio::test]
async fn a_server_that_is_not_well_is_passed_over_until_it_is() {
    let (ill, first) = Server::start(Deed::Send(vllm())).await;
    let (other, second) = Server::start(Deed::Send(vllm())).await;
    *ill.well.lock().expect("no test panics here") = false;
    let config = ServeConfig { backend_health_interval: 1, ..remote(RemoteKind::Vllm, vec![first, second]) };
    let gateway = Gateway::start(config).await;
    // The first request starts the checks, so it may still go to the one that is ill.
    gateway.whole(&plain_chat(json!({}))).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let _ = (ill.seen(), other.seen());
    for _ in 0..4 {
        gateway.whole(&plain_chat(json!({}))).await;
    }
    assert_eq!((ill.seen().len(), other.seen().len()), (0, 4));
    *ill.well.lock().expect("no test panics here") = true;
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    for _ in 0..4 {
        gateway.whole(&plain_chat(json!({}))).await;
    }
    assert_eq!(ill.seen().len(), 2, "it takes its turn again");
}

#[tokio::test]
async fn without_the_model_the_server_makes_the_prompt() {
    let body = plain_chat(json!({"reasoning_effort": "high", "chat_template_kwargs": {"mood": "calm"}}));
    let cases = [
        (RemoteKind::Vllm, vllm(), vec!["/tokenize", "/detokenize", "/v1/completions"], json!([5, 6, 7])),
        (RemoteKind::LlamaCpp, llamacpp(), vec!["/apply-template", "/completion"], json!(PROMPT)),
    ];
    for (kind, events, paths, prompt) in cases {
        // What the model says about its own marker would be one here: nothing is known of its tokens.
        let events = events.into_iter().skip("Not </think> yet.".len()).collect();
        let (server, url) = Server::start_one(Deed::Send(events), true).await;
        let config = ServeConfig { model_dir: None, ..remote(kind, vec![url]) };
        let gateway = Gateway::start(config).await;
        let answer = gateway.whole(&body).await;
        let choice = Choice::of_whole(&answer["choices"][0]);
        let content = if kind == RemoteKind::Vllm { "Book it." } else { "" };
        assert_eq!(choice.content, content, "{kind}: the prompt opens a thought, which only a visible marker closes");
        let seen = server.seen();
        assert_eq!(seen.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), paths);
        let kwargs = json!({"mood": "calm", "reasoning_effort": "high", "enable_thinking": true});
        assert_eq!((&seen[0].1["messages"], &seen[0].1["chat_template_kwargs"]), (&body["messages"], &kwargs));
        assert_eq!(seen.last().expect("it was asked").1["prompt"], prompt, "{kind}");
        if kind == RemoteKind::Vllm {
            // Its tokens are counted there as well.
            let counted = gateway.post("/v1/messages/count_tokens", &plain_chat(json!({}))).await;
            assert_eq!(json_of(counted).await["input_tokens"], 3);
        }
    }
}

#[tokio::test]
async fn a_prompt_is_never_made_up() {
    let body = plain_chat(json!({}));
    let said = |kind, url: &str, template: Option<&str>| ServeConfig {
        model_dir: None,
        chat_template: template.map(str::to_owned),
        ..remote(kind, vec![url.to_owned()])
    };
    let nowhere = "http://127.0.0.1:1";
    for kind in [RemoteKind::OpenAi, RemoteKind::Sglang, RemoteKind::Tgi] {
        let error = App::new(&said(kind, nowhere, None)).err().expect("nobody makes prompts");
        let hint = error.hint.unwrap_or_default();
        assert!(error.message.contains("nobody makes prompts"), "{kind}: {}", error.message);
        for way in ["--model-dir", "--chat-template FILE", "chatml", "none", "chat:URL"] {
            assert!(hint.contains(way), "{kind}: {hint}");
        }
    }
    // A server that should make them and does not.
    let (server, url) = Server::start(Deed::Send(vllm())).await;
    let gateway = Gateway::start(said(RemoteKind::Vllm, &url, None)).await;
    let refused = gateway.post("/v1/chat/completions", &body).await;
    assert_eq!(refused.status(), 501);
    assert!(json_of(refused).await["error"]["message"].as_str().is_some_and(|words| words.contains("--model-dir")));
    gateway.stop().await;
    server.seen();
    // Simple prompts, for who asks for them.
    let gateway = Gateway::start(said(RemoteKind::Vllm, &url, Some("chatml"))).await;
    gateway.whole(&body).await;
    let asked = server.seen().pop().expect("it was asked").1;
    assert_eq!(asked["prompt"], "<|im_start|>user\nHow is the tide?<|im_end|>\n<|im_start|>assistant\n");
    gateway.stop().await;
    // Raw completions alone.
    let gateway = Gateway::start(said(RemoteKind::OpenAi, &url, Some("none"))).await;
    for (path, body) in [
        ("/v1/chat/completions", body),
        ("/v1/responses", json!({"input": "a"})),
        ("/v1/messages", json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]})),
    ] {
        assert_eq!(gateway.post(path, &body).await.status(), 501, "{path}");
    }
    assert_eq!(gateway.post("/v1/completions", &json!({"prompt": "a"})).await.status(), 200);
    gateway.stop().await;
}
