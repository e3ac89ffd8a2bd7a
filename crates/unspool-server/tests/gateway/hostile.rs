//! Clients and backends that mean no good, or do not know better: what they send and how long they take is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt as _};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use unspool_server::{BackendSpec, HttpConfig, RemoteKind, ServeConfig};

use crate::common::{Gateway, json_of, pair, plain_chat, server_of};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

async fn with_http(http: HttpConfig) -> Gateway {
    Gateway::start(ServeConfig { http, mock_rate: 0.0, ..ServeConfig::default() }).await
}

/// The status and the field of the refusal of a body.
async fn refused(gateway: &Gateway, path: &str, body: String) -> (u16, String) {
    let request = gateway.client.post(format!("{}{path}", gateway.base)).header("content-type", "application/json");
    let response = request.body(body).send().await.expect("the gateway answers");
    let status = response.status().as_u16();
    let error = json_of(response).await;
    assert!(error["error"]["message"].as_str().is_some_and(|message| message.contains("hint: ")), "{error}");
    (status, error["error"]["param"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn bodies_that_would_multiply_are_refused_with_the_field() {
    let gateway = with_http(HttpConfig::default()).await;
    let list = |item: &str, bytes: usize| vec![item; bytes / (item.len() + 1)].join(",");
    let most = 15 << 20;
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/chat/completions/render"] {
        let numbers = format!("{{\"messages\":[],\"x\":[{}]}}", list("0", most));
        let (status, field) = refused(&gateway, path, numbers).await;
        // The Messages API has no word for the field.
        assert!(status == 400 && (field == "x" || path == "/v1/messages"), "{path}: {status} {field}");
        let messages = if path == "/v1/responses" { "input" } else { "messages" };
        let empty = format!("{{\"{messages}\":[{}]}}", list("{}", most));
        let (status, field) = refused(&gateway, path, empty).await;
        assert!(status == 400 && (field == messages || path == "/v1/messages"), "{path}: {status} {field}");
    }
    assert_eq!(
        json_of(gateway.post("/v1/chat/completions", &plain_chat(json!({}))).await).await["object"],
        "chat.completion"
    );
    gateway.stop().await;
}

#[tokio::test]
async fn what_is_nested_too_deep_is_told_alike_at_every_door() {
    let url = server_of(|_| (StatusCode::OK, "{}").into_response()).await;
    let gateway = in_front(&url, ServeConfig::default()).await;
    let doors = [
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/chat/completions/render",
        "/tokenize",
        "/detokenize",
    ];
    for path in doors {
        let body = format!("{{\"model\":\"m\",\"x\":{}{}}}", "[".repeat(127), "]".repeat(127));
        let request = gateway.client.post(format!("{}{path}", gateway.base)).header("content-type", "application/json");
        let response = request.body(body).send().await.expect("the gateway answers");
        let (status, error) = (response.status(), json_of(response).await);
        let told = error["error"]["message"].as_str().unwrap_or_default();
        assert!(status == 400 && told.starts_with("the body is nested deeper than 127 levels"), "{path}: {error}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn how_much_a_body_may_hold_is_set_by_flags() {
    let gateway = with_http(HttpConfig { max_messages: 2, max_tools: 1, max_parts: 3, ..HttpConfig::default() }).await;
    let message = |content: serde_json::Value| json!({"role": "user", "content": content});
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let part = json!({"type": "text", "text": "a"});
    let text = message(json!("a"));
    let parts = |count| message(json!(vec![part.clone(); count]));
    for (body, field) in [
        (json!({"messages": [text, text]}), None),
        (json!({"messages": [text, text, text]}), Some("messages")),
        (json!({"messages": [parts(1), parts(2)]}), None),
        (json!({"messages": [parts(2), parts(2)]}), Some("messages")),
        (json!({"messages": [text], "tool_choice": "none", "tools": [tool("a")]}), None),
        (json!({"messages": [text], "tool_choice": "none", "tools": [tool("a"), tool("b")]}), Some("tools")),
    ] {
        match field {
            None => assert_eq!(gateway.post("/v1/chat/completions", &body).await.status(), 200, "{body}"),
            Some(field) => {
                let told = refused(&gateway, "/v1/chat/completions", body.to_string()).await;
                assert_eq!(told, (400, field.to_owned()), "{body}");
            }
        }
    }
    gateway.stop().await;
}

/// A connection to a gateway that has sent this much.
async fn half_request(gateway: &Gateway, text: &str) -> TcpStream {
    let address = gateway.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.expect("the gateway listens");
    stream.write_all(text.as_bytes()).await.expect("the gateway reads");
    stream
}

/// All that a connection gives until the gateway closes it.
async fn until_closed(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let read = timeout(LONG, stream.read_to_end(&mut all)).await.expect("the gateway closes it");
    // Closed with something unread it is reset, which is closed as well.
    let _ = read;
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn half_requests_do_not_stay() {
    let gateway = with_http(HttpConfig { request_timeout: 1, idle_timeout: 1, ..HttpConfig::default() }).await;
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
    for text in ["", "POST /v1/chat", head] {
        let mut stream = half_request(&gateway, text).await;
        assert_eq!(until_closed(&mut stream).await, "", "{text}");
    }
    let mut stream = half_request(&gateway, &format!("{head}content-length: 100\r\n\r\n{{\"messages\"")).await;
    let answer = until_closed(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("--request-timeout"), "{answer}");
    gateway.stop().await;
}

#[tokio::test]
async fn connections_that_were_used_do_not_stay_either() {
    let gateway = with_http(HttpConfig { idle_timeout: 1, ..HttpConfig::default() }).await;
    let body = plain_chat(json!({"max_tokens": 1})).to_string();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    let used = (0..100).map(|_| async {
        let mut stream = half_request(&gateway, &request).await;
        let answer = until_closed(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    });
    futures_util::future::join_all(used).await;
    gateway.stop().await;
}

#[tokio::test]
async fn a_body_that_is_announced_too_long_is_not_asked_for() {
    let gateway = with_http(HttpConfig { max_body_size: 1000, ..HttpConfig::default() }).await;
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n\
        content-type: application/json\r\ncontent-length: 1001\r\n\r\n";
    let mut stream = half_request(&gateway, head).await;
    let answer = until_closed(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("--max-body-size"), "{answer}");
    gateway.stop().await;
}

async fn in_front(url: &str, more: ServeConfig) -> Gateway {
    let backend = BackendSpec::Remote { kind: RemoteKind::OpenAi, urls: vec![url.to_owned()] };
    Gateway::start(ServeConfig { backend, ..more }).await
}

/// A stream of these bytes, which then stays open.
fn events(text: &'static str) -> Response {
    let bytes = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(text.as_bytes()))]).chain(stream::pending());
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(bytes)).into_response()
}

#[tokio::test]
async fn redirects_of_a_backend_are_not_followed() {
    let followed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&followed);
    let url = server_of(move |path| {
        if path == "/elsewhere" {
            count.fetch_add(1, Ordering::Relaxed);
        }
        (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/elsewhere")]).into_response()
    });
    let gateway = in_front(&url.await, ServeConfig::default()).await;
    let response = gateway.post("/v1/chat/completions", &plain_chat(json!({}))).await;
    assert_eq!((response.status().as_u16(), followed.load(Ordering::Relaxed)), (502, 0));
    gateway.stop().await;
}

#[tokio::test]
async fn a_backend_that_only_comments_is_silent() {
    let url = server_of(|_| {
        let comments = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Some((Ok::<_, std::io::Error>(": still there\n\n"), ()))
        });
        ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(comments)).into_response()
    });
    let gateway = in_front(&url.await, ServeConfig { backend_timeout: 1, ..ServeConfig::default() }).await;
    let start = Instant::now();
    let response = gateway.post("/v1/chat/completions", &plain_chat(json!({}))).await;
    assert_eq!(response.status(), 504);
    assert!(start.elapsed() < LONG);
    gateway.stop().await;
}

#[tokio::test]
async fn what_a_backend_says_of_an_error_is_bounded_and_on_one_line() {
    let words = format!("no\u{1b}[31m\r\n{}", "x".repeat(1 << 20));
    let body = json!({"error": {"message": words}}).to_string();
    let url = server_of(move |_| (StatusCode::BAD_REQUEST, body.clone()).into_response());
    let gateway = in_front(&url.await, ServeConfig::default()).await;
    let response = gateway.post("/v1/chat/completions", &plain_chat(json!({}))).await;
    assert_eq!(response.status(), 400);
    let error = json_of(response).await;
    let message = error["error"]["message"].as_str().expect("there are words");
    assert!(message.len() < 1200 && !message.chars().any(char::is_control), "{} bytes", message.len());
    gateway.stop().await;
}

#[tokio::test]
async fn a_choice_that_nobody_asked_for_is_told() {
    let url = server_of(|_| events("data: {\"choices\": [{\"index\": 3, \"text\": \"a\"}]}\n\n"));
    let gateway = in_front(&url.await, ServeConfig::default()).await;
    let response = gateway.post("/v1/chat/completions", &plain_chat(json!({}))).await;
    assert_eq!(response.status(), 502);
    assert!(json_of(response).await["error"]["message"].as_str().is_some_and(|told| told.contains("index 3")));
    gateway.stop().await;
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let url = server_of(|_| {
        let event = json!({"choices": [{"index": 0, "text": "a".repeat(1 << 20), "finish_reason": null}]});
        let event = Bytes::from(format!("data: {event}\n\n"));
        let all = stream::repeat_with(move || Ok::<_, std::io::Error>(event.clone()));
        ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(all)).into_response()
    });
    let gateway = in_front(&url.await, pair("qwen3", "hermes")).await;
    let response = gateway.post("/v1/chat/completions", &plain_chat(json!({}))).await;
    assert_eq!(response.status(), 502);
    assert!(
        json_of(response).await["error"]["message"].as_str().is_some_and(|told| told.contains("longer than 67108864"))
    );
    gateway.stop().await;
}

#[tokio::test]
async fn the_end_does_not_wait_for_ever() {
    let url = server_of(|_| events("data: {\"choices\": [{\"index\": 0, \"text\": \"a\"}]}\n\n")).await;
    let http = HttpConfig { shutdown_timeout: 1, ..HttpConfig::default() };
    let gateway = in_front(&url, ServeConfig { http, ..ServeConfig::default() }).await;
    // A connection without a request is not waited for at all.
    let _idle = half_request(&gateway, "").await;
    let mut answer = gateway.post("/v1/chat/completions", &plain_chat(json!({"stream": true}))).await;
    assert!(answer.chunk().await.expect("it is open").is_some());
    let start = Instant::now();
    timeout(LONG, gateway.stop()).await.expect("the gateway ends");
    assert!(start.elapsed() >= Duration::from_secs(1), "the answer has its time: {:?}", start.elapsed());
}
