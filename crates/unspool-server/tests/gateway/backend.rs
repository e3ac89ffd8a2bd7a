//! The gateway in front of a completions server: a small fake in this file, which can misbehave on demand.

use std::io;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::{self, Stream, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use unspool_server::{BackendSpec, ChatConfig, RemoteKind, ServeConfig};

use crate::common::{Choice, Events, Gateway, WIRES, chat, json_of, pair, plain_chat, replaying, with};

/// What the server does with the next request.
enum Plan {
    /// Sends these bytes; then ends well, breaks the connection, or falls silent until the client is gone.
    Send { kind: &'static str, chunks: Vec<Vec<u8>>, then: Then },
    /// Refuses.
    Refuse(u16, &'static str),
}

enum Then {
    End,
    Break,
    /// Tells that it waits, and when the connection is gone.
    Wait {
        begun: oneshot::Sender<()>,
        gone: oneshot::Sender<()>,
    },
}

#[derive(Default)]
struct Server {
    plans: Mutex<Vec<Plan>>,
    seen: Mutex<Vec<(HeaderMap, Value)>>,
}

impl Server {
    /// Starts a server that follows `plans`, one a request.
    async fn start(plans: Vec<Plan>) -> (Arc<Self>, String) {
        let server = Arc::new(Self { plans: Mutex::new(plans), ..Self::default() });
        let router = Router::new()
            .route("/v1/completions", post(complete))
            .route("/v1/models", get(async || r#"{"object":"list","data":[{"id":"far"}]}"#))
            .with_state(Arc::clone(&server));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (server, url)
    }

    fn seen(&self) -> (HeaderMap, Value) {
        self.seen.lock().expect("no test panics here").pop().expect("a request has come")
    }
}

async fn complete(State(server): State<Arc<Server>>, headers: HeaderMap, body: Bytes) -> Response {
    let body = serde_json::from_slice(&body).expect("the gateway sends JSON");
    server.seen.lock().expect("no test panics here").push((headers, body));
    let plan = server.plans.lock().expect("no test panics here").remove(0);
    match plan {
        Plan::Refuse(status, text) => {
            let status = axum::http::StatusCode::from_u16(status).expect("the test names a status");
            (status, text).into_response()
        }
        Plan::Send { kind, chunks, then } => {
            ([("content-type", kind)], Body::from_stream(sent(chunks, then))).into_response()
        }
    }
}

fn sent(chunks: Vec<Vec<u8>>, then: Then) -> impl Stream<Item = io::Result<Vec<u8>>> + Send {
    let rest: stream::BoxStream<'static, io::Result<Vec<u8>>> = match then {
        Then::End => stream::empty().boxed(),
        // Breaking at once would overtake what is still to be written.
        Then::Break => stream::once(async {
            tokio::task::yield_now().await;
            Err(io::Error::other("killed"))
        })
        .boxed(),
        Then::Wait { begun, gone } => stream::once(async {
            let _ = begun.send(());
            // The guard is dropped with the stream, when hyper sees that the client is gone.
            let _guard = gone;
            std::future::pending().await
        })
        .boxed(),
    };
    stream::iter(chunks.into_iter().map(Ok)).chain(rest)
}

/// A server that falls silent; tells that it does, and when it is freed.
fn waiting() -> (Then, oneshot::Receiver<()>, oneshot::Receiver<()>) {
    let (begun, has_begun) = oneshot::channel();
    let (gone, is_gone) = oneshot::channel();
    (Then::Wait { begun, gone }, has_begun, is_gone)
}

fn event(text: &str) -> Vec<u8> {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "text": text, "finish_reason": null}]})).into_bytes()
}

fn ending(reason: &str) -> Vec<u8> {
    let end = json!({"choices": [{"index": 0, "text": "", "finish_reason": reason, "stop_reason": null}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 22, "total_tokens": 33}});
    format!("data: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n").into_bytes()
}

fn events(chunks: Vec<Vec<u8>>, then: Then) -> Plan {
    Plan::Send { kind: "text/event-stream", chunks, then }
}

/// A gateway in front of `url`.
async fn gateway(url: &str, config: ServeConfig) -> Gateway {
    Gateway::start(ServeConfig {
        backend: BackendSpec::Remote { kind: RemoteKind::OpenAi, urls: vec![url.to_owned()] },
        ..config
    })
    .await
}

#[tokio::test]
async fn an_answer_is_taken_apart_whatever_the_cuts_of_its_bytes() {
    for (reasoning, tools, text) in WIRES {
        let mut bytes: Vec<u8> = text.split_inclusive(' ').flat_map(event).collect();
        bytes.extend(ending("stop"));
        for size in [1, 7, 4096] {
            // Chunks of one byte cut every character and every event.
            let chunks = bytes.chunks(size).map(<[u8]>::to_vec).collect();
            let (_, url) = Server::start(vec![events(chunks, Then::End)]).await;
            let gateway = gateway(&url, pair(reasoning, tools)).await;
            let streamed = gateway.streamed(&chat(json!({"stream_options": {"include_usage": true}}))).await;
            let choice = streamed.one();
            assert_eq!(choice.reasoning.trim(), "Two ports, so two calls.");
            assert_eq!(choice.called()[1], ("wind".to_owned(), json!({"port": "Łeba 🛶", "days": 2})));
            assert_eq!(choice.finish.as_deref(), Some("tool_calls"));
            let usage = streamed.usage.expect("counts are asked for");
            assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(11), &json!(22)));
            gateway.stop().await;
        }
    }
}

#[tokio::test]
async fn the_backend_gets_a_prompt_and_the_requests_fields() {
    let plan = || events(vec![event("Ahoy."), ending("stop")], Then::End);
    let (server, url) = Server::start(vec![plan(), plan()]).await;
    let config = ServeConfig {
        backend_api_key: Some("hush".into()),
        backend_model: Some("far".into()),
        default_max_tokens: 99,
        ..ServeConfig::default()
    };
    let gateway = gateway(&format!("{url}/v1/"), config).await;
    let request = plain_chat(json!({"temperature": 0.25, "top_k": 5, "vllm_xargs": {"a": 1}, "stop": "x", "seed": 4}));
    assert_eq!(gateway.whole(&request).await["choices"][0]["message"]["content"], "Ahoy.");
    let (headers, body) = server.seen();
    assert_eq!(headers["authorization"], "Bearer hush");
    let expected = json!({
        "temperature": 0.25, "top_k": 5, "vllm_xargs": {"a": 1}, "model": "far", "stream": true,
        "prompt": "<|im_start|>user\nHow is the tide?<|im_end|>\n<|im_start|>assistant\n",
        "stream_options": {"include_usage": true}, "max_tokens": 99, "seed": 4, "stop": ["x"],
    });
    assert_eq!(body, expected);
    gateway.whole(&plain_chat(json!({"max_tokens": 7, "skip_special_tokens": true}))).await;
    let (_, body) = server.seen();
    assert_eq!((&body["max_tokens"], &body["skip_special_tokens"]), (&json!(7), &json!(true)));
    let models = gateway.client.get(format!("{}/v1/models", gateway.base)).send().await.expect("it answers");
    assert_eq!(json_of(models).await["data"][0]["id"], "far");
    gateway.stop().await;
}

/// `serve` words of the two halves, the choice, and what becomes of an answer's form.
#[tokio::test]
async fn the_backend_is_asked_for_what_the_parsers_need() {
    let sent = || Plan::Send { kind: "text/event-stream", chunks: vec![ending("stop")], then: Then::End };
    let (server, url) = Server::start((0..5).map(|_| sent()).collect()).await;
    let config = ServeConfig { reasoning_parser: None, ..pair("qwen3", "hermes") };
    let chat_config = ChatConfig { backend_extensions: true, ..ChatConfig::default() };
    let gateway = gateway(&url, ServeConfig { chat: chat_config, ..config.clone() }).await;
    let skips = |body: &Value| (body["skip_special_tokens"].clone(), body["spaces_between_special_tokens"].clone());
    let form = json!({"response_format": {"type": "json_object"}, "skip_special_tokens": true});
    let with = |choice: Value| {
        let mut more = form.clone();
        more["tool_choice"] = choice;
        chat(more)
    };
    let named = json!({"type": "function", "function": {"name": "tide"}});
    for (request, kept, formed) in [
        (with(json!("auto")), true, true),
        (with(json!("none")), false, true),
        (with(json!("required")), true, false),
        (with(named), true, false),
    ] {
        gateway.whole(&request).await;
        let (_, body) = server.seen();
        let expected = if kept { (json!(false), json!(false)) } else { (json!(true), Value::Null) };
        assert_eq!(skips(&body), expected, "{request}");
        assert_eq!(body["response_format"].is_object(), formed, "{request}");
    }
    gateway.stop().await;
    // A server that does not say that it is a vLLM is sent nothing that OpenAI's completions lack.
    let gateway = self::gateway(&url, config).await;
    gateway.whole(&chat(json!({"min_tokens": 3}))).await;
    let (_, body) = server.seen();
    for field in ["skip_special_tokens", "spaces_between_special_tokens", "add_special_tokens", "min_tokens"] {
        assert!(body.get(field).is_none(), "{field}: {body}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_backend_that_dies_ends_the_stream_with_an_error() {
    let (_, _, text) = WIRES[0];
    let (before, _) = text.split_once("Looe").expect("the reply names the port");
    let chunks = || vec![event(before), event("Lo")];
    let cut_event = || vec![event(before), event("Lo"), b"data: {\"choices\": [{\"te".to_vec()];
    let told = || vec![event(before), event("Lo"), b"data: {\"error\": {\"message\": \"out of memory\"}}\n\n".to_vec()];
    let garbage = || vec![event(before), event("Lo"), b"data: <html>busy</html>\n\n".to_vec(), event("later")];
    let half = || vec![event(before), event("Lo"), b"data: {\"choices\": [{\"text\": \"\xc3".to_vec()];
    type Chunks<'a> = &'a dyn Fn() -> Vec<Vec<u8>>;
    let cases: [(&str, Chunks<'_>, bool, &str); 6] = [
        ("killed", &chunks, true, "broke"),
        ("ends early", &chunks, false, "went away"),
        ("cut inside an event", &cut_event, true, "broke"),
        ("tells an error", &told, false, "out of memory"),
        ("sends garbage", &garbage, false, "cannot be read"),
        ("ends inside a character", &half, false, "cannot be read"),
    ];
    for (name, chunks, breaks, words) in cases {
        let plan = || events(chunks(), if breaks { Then::Break } else { Then::End });
        let (_, url) = Server::start(vec![plan(), plan()]).await;
        let gateway = gateway(&url, pair("qwen3", "hermes")).await;
        let streamed = gateway.streamed(&chat(json!({}))).await;
        let error = streamed.error.as_ref().unwrap_or_else(|| panic!("{name}: no error is told"));
        assert!(error["message"].as_str().is_some_and(|text| text.contains(words)), "{name}: {error}");
        assert_eq!(error["code"], 502, "{name}");
        let choice = streamed.one();
        assert_eq!(choice.content.trim(), "Let me look.", "{name}: what was parsed is kept");
        assert_eq!(choice.calls.len(), 1, "{name}");
        assert_eq!(choice.calls[0].arguments, "{\"port\": \"Lo", "{name}");
        assert_eq!(choice.finish, None, "{name}: an answer that broke off has no finish reason");
        let whole = gateway.post("/v1/chat/completions", &chat(json!({}))).await;
        assert_eq!(whole.status(), 502, "{name}");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn what_was_held_back_is_given_before_the_error() {
    let (_, url) = Server::start(vec![events(vec![event("Look: <tool_ca")], Then::Break)]).await;
    let gateway = gateway(&url, pair("qwen3", "hermes")).await;
    let request = chat(json!({"chat_template_kwargs": {"enable_thinking": false}}));
    let streamed = gateway.streamed(&request).await;
    assert!(streamed.error.is_some());
    assert_eq!(streamed.one().content, "Look: <tool_ca");
    gateway.stop().await;
}

#[tokio::test]
async fn the_other_answers_go_on_when_one_breaks() {
    let plans = vec![
        events(vec![event("One.")], Then::Break),
        events(vec![event("Two."), ending("stop")], Then::End),
        events(vec![event("Three."), ending("stop")], Then::End),
    ];
    let (_, url) = Server::start(plans).await;
    let gateway = gateway(&url, ServeConfig::default()).await;
    let streamed = gateway.streamed(&plain_chat(json!({"n": 3}))).await;
    let mut ended: Vec<_> = streamed.choices.values().filter(|choice| choice.finish.is_some()).collect();
    ended.sort_by_key(|choice| choice.content.clone());
    let said: Vec<_> = ended.iter().map(|choice| choice.content.as_str()).collect();
    assert_eq!((said, streamed.error.is_some()), (vec!["Three.", "Two."], true));
    gateway.stop().await;
}

#[tokio::test]
async fn refusals_are_told_in_the_backends_words() {
    for (plan, status, words) in [
        (Plan::Refuse(400, "{\"error\": {\"message\": \"too many tokens\"}}"), 400, "too many tokens"),
        (Plan::Refuse(404, "{\"detail\": \"no such model\"}"), 404, "no such model"),
        (Plan::Refuse(422, "{\"detail\": [{\"msg\": \"odd field\"}]}"), 422, "odd field"),
        (Plan::Refuse(429, "slow down"), 429, "slow down"),
        (Plan::Refuse(401, "{\"error\": \"Unauthorized\"}"), 502, "--backend-api-key"),
        (Plan::Refuse(500, "oops"), 502, "oops"),
        (Plan::Refuse(503, ""), 503, "503"),
    ] {
        let (_, url) = Server::start(vec![plan]).await;
        let gateway = gateway(&url, ServeConfig::default()).await;
        // A refusal comes before the first byte, so a stream's request is refused like any other.
        let response = gateway.post("/v1/chat/completions", &plain_chat(json!({"stream": true}))).await;
        assert_eq!(response.status(), status, "{words}");
        let error = json_of(response).await;
        assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains(words)), "{error}");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_backend_that_is_not_there_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
    drop(listener);
    let gateway = gateway(&url, ServeConfig::default()).await;
    let response = gateway.post("/v1/chat/completions", &plain_chat(json!({}))).await;
    assert_eq!(response.status(), 503);
    let error = json_of(response).await;
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("hint: ")), "{error}");
    gateway.stop().await;
}

#[tokio::test]
async fn a_client_that_hangs_up_frees_the_backend() {
    for streamed in [true, false] {
        let (then, begun, freed) = waiting();
        let (_, url) = Server::start(vec![events(vec![event("One ")], then)]).await;
        let gateway = gateway(&url, ServeConfig::default()).await;
        let body = plain_chat(json!({"stream": streamed})).to_string();
        let request = gateway.client.post(format!("{}/v1/chat/completions", gateway.base));
        let request = request.header("content-type", "application/json").body(body);
        if streamed {
            let mut response = request.send().await.expect("the gateway answers");
            let mut read = Vec::new();
            while !String::from_utf8_lossy(&read).contains("One") {
                read.extend(response.chunk().await.expect("the stream can be read").expect("it goes on"));
            }
            begun.await.expect("the backend waits");
        } else {
            // The answer never comes; the client gives up once the backend has begun it.
            tokio::select! {
                answer = request.send() => panic!("{answer:?}"),
                begun = begun => begun.expect("the backend waits"),
            }
        }
        let freed = tokio::time::timeout(std::time::Duration::from_secs(20), freed).await;
        assert!(matches!(freed, Ok(Err(_))), "the backend's request is still open (streamed: {streamed})");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_silent_backend_is_given_up() {
    let (then, _begun, _freed) = waiting();
    let (_, url) = Server::start(vec![events(vec![event("One ")], then)]).await;
    let gateway = gateway(&url, ServeConfig { backend_timeout: 1, ..ServeConfig::default() }).await;
    let streamed = gateway.streamed(&plain_chat(json!({}))).await;
    assert_eq!(streamed.one().content, "One ");
    assert_eq!(streamed.error.expect("the silence is told")["code"], 504);
    gateway.stop().await;
}

#[tokio::test]
async fn a_server_that_stays_open_after_its_end_is_not_waited_for() {
    let (then, _begun, _freed) = waiting();
    let end = b"data: {\"choices\": [{\"text\": \"\", \"finish_reason\": \"length\"}]}\n\n".to_vec();
    let (_, url) = Server::start(vec![events(vec![event("One."), end], then)]).await;
    let gateway = gateway(&url, ServeConfig::default()).await;
    let streamed = gateway.streamed(&plain_chat(json!({}))).await;
    assert_eq!((streamed.one().finish.as_deref(), streamed.error.as_ref()), (Some("length"), None));
    gateway.stop().await;
}

#[tokio::test]
async fn odd_streams_are_read() {
    let crlf = "\u{feff}: hello\r\n\r\ndata: {\"choices\":[{\"text\":\"Ah\"}]}\r\n\r\nevent: x\r\ndata:{\"choices\":[{\"text\":\"oy\",\
                \"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]";
    let one_body = json!({"choices": [{"text": "Ahoy", "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
    let no_done = [event("Ah"), event("oy"), ending("stop").split(|b| *b == b'\n').next().unwrap_or_default().to_vec()];
    for plan in [
        events(vec![crlf.as_bytes().to_vec()], Then::End),
        events(no_done.to_vec(), Then::End),
        Plan::Send { kind: "application/json", chunks: vec![one_body.to_string().into_bytes()], then: Then::End },
    ] {
        let (_, url) = Server::start(vec![plan]).await;
        let gateway = gateway(&url, ServeConfig::default()).await;
        let choice = gateway.streamed(&plain_chat(json!({}))).await.one().clone();
        assert_eq!((choice.content.as_str(), choice.finish.as_deref()), ("Ahoy", Some("stop")));
        gateway.stop().await;
    }
}

#[tokio::test]
async fn the_raw_channel_is_passed_through() {
    let raw = "data: anything\n\ndata: [DONE]\n\n";
    let plans = vec![events(vec![raw.as_bytes().to_vec()], Then::End), Plan::Refuse(418, "short and stout")];
    let (server, url) = Server::start(plans).await;
    let gateway = gateway(&url, ServeConfig::default()).await;
    let body = json!({"prompt": [1, 2, 3], "logprobs": 2, "stream": true});
    let response = gateway.post("/v1/completions", &body).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.text().await.expect("a body"), raw);
    assert_eq!(server.seen().1, body);
    let response = gateway.post("/v1/completions", &body).await;
    assert_eq!(response.status(), 418);
    gateway.stop().await;
}

#[tokio::test]
async fn a_gateway_can_stand_in_front_of_a_gateway() {
    let (reasoning, tools, text) = WIRES[1];
    let raw = replaying(&[json!({"text": text})], ServeConfig::default()).await;
    let gateway = gateway(&raw.base, pair(reasoning, tools)).await;
    let whole = Choice::of_whole(&gateway.whole(&chat(json!({}))).await["choices"][0]);
    let streamed = gateway.streamed(&chat(json!({}))).await.one().comparable();
    assert_eq!(streamed, whole.comparable());
    assert_eq!(whole.called()[0], ("tide".to_owned(), json!({"port": "Looe"})));
    gateway.stop().await;
    raw.stop().await;
}

#[tokio::test]
async fn each_api_tells_of_a_failure_in_its_own_way() {
    let (_, _, text) = WIRES[0];
    let (before, _) = text.split_once("Looe").expect("the reply names the port");
    let dying = || events(vec![event(before), event("Lo")], Then::Break);
    let refusing = || Plan::Refuse(429, r#"{"error": {"message": "too many"}}"#);
    let (_, url) = Server::start(vec![dying(), dying(), dying(), dying(), refusing(), refusing()]).await;
    let gateway = gateway(&url, pair("qwen3", "hermes")).await;
    let message = json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "a"}],
        "tools": [{"name": "tide", "input_schema": {}}]});
    let response = json!({"model": "m", "input": "a", "tools": [{"type": "function", "name": "tide"}]});
    let streamed = |body: &Value| with(body.clone(), json!({"stream": true}));

    let stream = gateway.post("/v1/messages", &streamed(&message)).await.text().await.expect("the stream can be read");
    let (name, data) = Events::of(&stream).0.pop().expect("a stream has events");
    assert_eq!((name.as_str(), &data["error"]["type"]), ("error", &json!("api_error")), "{stream}");
    assert!(stream.contains("input_json_delta") && stream.contains("Let me look."), "what was parsed is kept");
    let stream =
        gateway.post("/v1/responses", &streamed(&response)).await.text().await.expect("the stream can be read");
    let (name, data) = Events::of(&stream).0.pop().expect("a stream has events");
    let failed = &data["response"];
    assert_eq!((name.as_str(), &failed["status"]), ("response.failed", &json!("failed")), "{stream}");
    assert!(failed["error"]["message"].as_str().is_some_and(|message| message.contains("broke")), "{failed}");
    assert_eq!(
        (&failed["output"][2]["arguments"], &failed["output"][2]["status"]),
        (&json!("{\"port\": \"Lo"), &json!("incomplete"))
    );

    let whole = gateway.post("/v1/messages", &message).await;
    assert_eq!((whole.status().as_u16(), json_of(whole).await["error"]["type"].clone()), (502, json!("api_error")));
    assert_eq!(gateway.post("/v1/responses", &response).await.status(), 502);
    let whole = gateway.post("/v1/messages", &message).await;
    assert_eq!(
        (whole.status().as_u16(), json_of(whole).await["error"]["type"].clone()),
        (429, json!("rate_limit_error"))
    );
    let whole = gateway.post("/v1/responses", &response).await;
    assert_eq!((whole.status().as_u16(), json_of(whole).await["error"]["code"].clone()), (429, Value::Null));
    gateway.stop().await;
}
