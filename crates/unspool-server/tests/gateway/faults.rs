//! What each API says when the backend or the client fails. The backend is a raw socket here, so that every byte of its answer is
//! the test's own, and that it can be seen how much it could write.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use unspool_server::{BackendSpec, RemoteKind, ServeConfig};

use crate::common::{Gateway, json_of, pair, plain_chat, replaying, with};
use crate::told::{Told, text_of, told};

/// What a backend does with one request, in order; then it closes the connection.
#[derive(Clone)]
enum Act {
    /// Writes these bytes as they are.
    Write(Vec<u8>),
    /// Waits until the other side is gone.
    Wait,
    /// Writes this as often as it can, until the other side is gone.
    Flood(Vec<u8>),
}

/// What a backend tells of itself.
#[derive(Debug, PartialEq)]
enum News {
    Asked,
    /// The gateway closed the connection while an answer was under way.
    Left,
}

/// Starts a backend that does the same with every request; gives its address, its news and the bytes that it could write.
async fn backend(acts: Vec<Act>) -> (String, mpsc::UnboundedReceiver<News>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
    let (tell, news) = mpsc::unbounded_channel();
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acts, tell, count) = (acts.clone(), tell.clone(), Arc::clone(&count));
            tokio::spawn(async move {
                let left = play(stream, acts, &tell, &count).await;
                if left {
                    let _ = tell.send(News::Left);
                }
            });
        }
    });
    (url, news, written)
}

/// Plays one answer; whether the other side left meanwhile.
async fn play(
    mut stream: TcpStream,
    acts: Vec<Act>,
    tell: &mpsc::UnboundedSender<News>,
    written: &AtomicUsize,
) -> bool {
    let Some(asks) = request_of(&mut stream).await else { return false };
    if !asks {
        let _ = stream.write_all(&refusal(404, "{}")).await;
        return false;
    }
    let _ = tell.send(News::Asked);
    for act in acts {
        match act {
            Act::Write(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return true;
                }
            }
            Act::Wait => {
                while matches!(stream.read(&mut [0; 64]).await, Ok(1..)) {}
                return true;
            }
            Act::Flood(bytes) => {
                while stream.write_all(&bytes).await.is_ok() {
                    written.fetch_add(bytes.len(), Ordering::Relaxed);
                }
                return true;
            }
        }
    }
    let _ = stream.shutdown().await;
    false
}

/// Reads a request with its body; whether it asks for an answer, and not what server this is.
async fn request_of(stream: &mut TcpStream) -> Option<bool> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(head.starts_with("post"))
}

/// The head of a stream whose body marks its own end, which distinguishes it from a broken one.
fn begin() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec()
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// The end of a body.
fn over() -> Vec<u8> {
    b"0\r\n\r\n".to_vec()
}

fn refusal(status: u16, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} No\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).into_bytes()
}

fn event(text: &str) -> Vec<u8> {
    chunk(format!("data: {}\n\n", json!({"choices": [{"index": 0, "text": text, "finish_reason": null}]})).as_bytes())
}

fn stopped() -> Vec<u8> {
    chunk(b"data: {\"choices\": [{\"index\": 0, \"text\": \"\", \"finish_reason\": \"stop\"}]}\n\n")
}

/// A stream of these chunks behind a first text.
fn stream(rest: &[Vec<u8>]) -> Vec<Act> {
    let first = [begin(), event("<think>\nHm.\n</think>\n\n"), event("Look"), event(" <tool_ca")];
    vec![Act::Write([first.concat(), rest.concat()].concat())]
}

/// The first text, and what it says: half a marker is text if nothing comes behind it.
const SAID: (&str, &str) = ("Hm.", "Look <tool_ca");

/// A gateway before backends of one kind.
async fn before(urls: Vec<String>, config: ServeConfig) -> Gateway {
    Gateway::start(ServeConfig { backend: BackendSpec::Remote { kind: RemoteKind::OpenAi, urls }, ..config }).await
}

/// The three APIs.
const SURFACES: [(&str, &str); 3] =
    [("chat", "/v1/chat/completions"), ("responses", "/v1/responses"), ("messages", "/v1/messages")];

/// A request that says the same to each of them, with a tool.
fn request(surface: &str, streamed: bool) -> Value {
    let schema = json!({"type": "object", "properties": {"port": {"type": "string"}}});
    let conversation = json!([{"role": "user", "content": "How is the tide?"}]);
    let body = match surface {
        "responses" => json!({"input": conversation, "max_output_tokens": 99, "tools": [
            {"type": "function", "name": "tide", "parameters": schema}]}),
        "messages" => json!({"messages": conversation, "max_tokens": 99, "tools": [
            {"name": "tide", "input_schema": schema}]}),
        _ => json!({"messages": conversation, "max_tokens": 99, "tools": [
            {"type": "function", "function": {"name": "tide", "parameters": schema}}]}),
    };
    with(body, json!({"model": "m", "stream": streamed}))
}

/// The error of a whole answer, in the API's own shape: its type and its message.
fn refused(surface: &str, body: &Value) -> (String, String) {
    let error = &body["error"];
    if surface == "messages" {
        assert_eq!(body["type"], "error", "{body}");
    } else {
        assert!(if surface == "responses" { error["code"].is_null() } else { error["code"].is_u64() }, "{body}");
        assert!(error.get("param").is_some(), "{body}");
    }
    (text_of(&error["type"]), text_of(&error["message"]))
}

async fn streamed(gateway: &Gateway, surface: &str, path: &str) -> Told {
    let response = gateway.post(path, &request(surface, true)).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &"text/event-stream; charset=utf-8".parse().expect("it is a header"))
    );
    told(surface, &response.text().await.expect("the stream can be read"))
}

#[tokio::test]
async fn a_failure_in_the_middle_is_told_behind_what_was_said() {
    let half = b"data: {\"choices\": [{\"text\": \"\xf0\x9f".to_vec();
    let bad_letters = b"data: {\"choices\": [{\"text\": \"\xff\xfe\"}]}\n\n".to_vec();
    let cases: [(&str, Vec<Act>, &str, u16); 11] = [
        ("killed", stream(&[]), "broke", 502),
        ("ends without an end", stream(&[over()]), "went away", 502),
        ("killed in an event", stream(&[b"ff\r\ndata: {\"choi".to_vec()]), "broke", 502),
        (
            "garbage",
            stream(&[chunk(b"data: <html>busy</html>\n\n"), event("later"), stopped(), over()]),
            "cannot be read",
            502,
        ),
        ("no SSE at all", stream(&[chunk(b"Internal Server Error\n"), over()]), "went away", 502),
        (
            "JSON of another shape",
            stream(&[chunk(b"data: {\"choices\": 5}\n\n"), event("later")]),
            "cannot be read",
            502,
        ),
        ("half a character at the end", stream(&[chunk(&half), over()]), "cannot be read", 502),
        ("no characters", stream(&[chunk(&bad_letters), event("later")]), "cannot be read", 502),
        (
            "an error event",
            stream(&[chunk(b"data: {\"error\": {\"message\": \"out of memory\", \"code\": 500}}\n\n"), over()]),
            "out of memory",
            502,
        ),
        (
            "an error event and the end",
            stream(&[chunk(b"data: {\"error\": \"out of memory\"}\n\ndata: [DONE]\n\n"), over()]),
            "out of memory",
            502,
        ),
        ("silence", [stream(&[]), vec![Act::Wait]].concat(), "--backend-timeout", 504),
    ];
    for (name, acts, words, code) in cases {
        let (url, _news, _) = backend(acts).await;
        let gateway = before(vec![url], ServeConfig { backend_timeout: 1, ..pair("qwen3", "hermes") }).await;
        let each = SURFACES.map(async |(surface, path)| {
            let told = streamed(&gateway, surface, path).await;
            assert_eq!((told.thought.trim(), told.text.trim()), SAID, "{name}, {surface}: what came before is given");
            assert!(told.error.as_ref().is_some_and(|error| error.contains(words)), "{name}, {surface}: {told:?}");
            let ending = if surface == "responses" { json!("failed") } else { Value::Null };
            assert_eq!(told.ending, ending, "{name}, {surface}: what broke off has not ended");
            let whole = gateway.post(path, &request(surface, false)).await;
            assert_eq!(whole.status(), code, "{name}, {surface}");
            let (_, message) = refused(surface, &json_of(whole).await);
            assert!(message.contains(words), "{name}, {surface}: {message}");
        });
        join_all(each).await;
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_connection_that_a_server_has_just_closed_is_no_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
    // Answers once on each connection, as if it kept it, and closes it when it is asked again.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                if request_of(&mut stream).await == Some(true) {
                    let body = "{\"choices\": [{\"text\": \"Aye.\", \"finish_reason\": \"stop\"}]}";
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
                    let _ = stream.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).await;
                    request_of(&mut stream).await;
                } else {
                    let _ = stream.write_all(&refusal(404, "{}")).await;
                }
            });
        }
    });
    let gateway = before(vec![url], ServeConfig { backend_health_interval: 0, ..ServeConfig::default() }).await;
    for number in 0..4 {
        let answer = gateway.post("/v1/chat/completions", &plain_chat(json!({}))).await;
        assert_eq!(answer.status(), 200, "{number}: {}", answer.text().await.unwrap_or_default());
    }
    gateway.stop().await;
}

#[tokio::test]
async fn an_answer_that_has_ended_is_not_broken_by_what_follows() {
    let done = || chunk(b"data: [DONE]\n\n");
    let cases: [(&str, Vec<Act>); 5] = [
        ("a whole stream", stream(&[stopped(), done(), over()])),
        ("no [DONE]", stream(&[stopped(), over()])),
        ("killed behind the reason", stream(&[stopped()])),
        ("killed behind [DONE]", stream(&[stopped(), done()])),
        // Some servers give no reason; the end of the stream is one.
        ("[DONE] without a reason", stream(&[done(), over()])),
    ];
    for (name, acts) in cases {
        let (url, _news, _) = backend(acts).await;
        let gateway = before(vec![url], pair("qwen3", "hermes")).await;
        for ((surface, path), ending) in SURFACES.into_iter().zip(["stop", "completed", "end_turn"]) {
            let told = streamed(&gateway, surface, path).await;
            assert_eq!((told.thought.trim(), told.text.trim()), SAID, "{name}, {surface}");
            assert_eq!((told.error, told.ending), (None, json!(ending)), "{name}, {surface}");
        }
        gateway.stop().await;
    }
}

#[tokio::test]
async fn characters_may_be_cut_anywhere() {
    let text = "data: {\"choices\": [{\"text\": \"Łeba 🛶, ";
    let rest = "Looe ⚓\", \"finish_reason\": \"stop\"}]}\n\n";
    let bytes: Vec<Vec<u8>> = [text, rest].concat().bytes().map(|byte| chunk(&[byte])).collect();
    let (url, _news, _) = backend(vec![Act::Write([begin(), bytes.concat(), over()].concat())]).await;
    let gateway = before(vec![url], ServeConfig::default()).await;
    for (surface, path) in SURFACES {
        let body = with(request(surface, true), json!({"tools": null}));
        let text = gateway.post(path, &body).await.text().await.expect("the stream can be read");
        assert_eq!(told(surface, &text).text, "Łeba 🛶, Looe ⚓", "{surface}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_failure_before_the_first_byte_goes_to_another_server_or_is_a_status() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        format!("http://{}", listener.local_addr().expect("a listener has an address"))
    };
    let (good, _news, _) = backend(stream(&[stopped(), over()])).await;
    // Name, what it does if it is there, status, words, and the type that Messages has for it.
    type Case = (&'static str, Option<Vec<Act>>, u16, &'static str, &'static str);
    let cases: [Case; 7] = [
        ("refuses the connection", None, 503, "cannot be reached", "overloaded_error"),
        ("closes at once", Some(Vec::new()), 502, "broke", "api_error"),
        ("fails", Some(vec![Act::Write(refusal(500, "oops"))]), 502, "oops", "api_error"),
        ("is busy", Some(vec![Act::Write(refusal(503, "busy"))]), 503, "busy", "overloaded_error"),
        (
            "has enough",
            Some(vec![Act::Write(refusal(429, "{\"error\": {\"message\": \"slowly\"}}"))]),
            429,
            "slowly",
            "rate_limit_error",
        ),
        ("hangs", Some(vec![Act::Wait]), 504, "--backend-timeout", "timeout_error"),
        ("is no HTTP server", Some(vec![Act::Write(b"SSH-2.0-x\r\n".to_vec())]), 502, "broke", "api_error"),
    ];
    for (name, acts, status, words, kind) in cases {
        let bad = match acts {
            Some(acts) => backend(acts).await.0,
            None => closed.clone(),
        };
        let config = || ServeConfig { backend_timeout: 1, backend_health_interval: 0, ..pair("qwen3", "hermes") };
        let alone = before(vec![bad.clone()], config()).await;
        let helped = before(vec![bad, good.clone()], config()).await;
        let each = SURFACES.map(async |(surface, path)| {
            for is_streamed in [false, true] {
                let answer = alone.post(path, &request(surface, is_streamed)).await;
                assert_eq!(answer.status(), status, "{name}, {surface}: nothing was given, so it is a status");
                let (given, message) = refused(surface, &json_of(answer).await);
                assert!(message.contains(words), "{name}, {surface}: {message}");
                assert!(surface != "messages" || given == kind, "{name}: {given}");
            }
            // Two, so that the one that fails is asked first once.
            for _ in 0..2 {
                let told = streamed(&helped, surface, path).await;
                assert_eq!((told.text.trim(), told.error), (SAID.1, None), "{name}, {surface}: the other one answers");
            }
        });
        join_all(each).await;
        alone.stop().await;
        helped.stop().await;
    }
}

#[tokio::test]
async fn a_line_without_end_is_given_up() {
    let mut line = begin();
    line.extend(event("One."));
    line.extend(chunk(format!("data: {}", "x".repeat(1 << 20)).as_bytes()));
    line.extend(chunk(&vec![b'x'; 1 << 20]).repeat(17));
    let (url, mut news, _) = backend(vec![Act::Write(line), Act::Wait]).await;
    let gateway = before(vec![url], ServeConfig::default()).await;
    let response = gateway.post("/v1/chat/completions", &with(request("chat", true), json!({"tools": null}))).await;
    let told = told("chat", &response.text().await.expect("the stream can be read"));
    assert_eq!(told.text, "One.");
    assert!(told.error.as_ref().is_some_and(|error| error.contains("without end")), "{told:?}");
    assert_eq!(news.recv().await, Some(News::Asked));
    assert_eq!(news.recv().await, Some(News::Left), "and the connection with it");
    gateway.stop().await;
}

/// Opens a stream by hand: a client that takes only so much at a time.
async fn slow_client(gateway: &Gateway, path: &str, body: &Value) -> TcpStream {
    let address = gateway.base.strip_prefix("http://").expect("it is one").parse().expect("it has an address");
    let socket = TcpSocket::new_v4().expect("there are sockets");
    socket.set_recv_buffer_size(4096).expect("a buffer can be small");
    let mut stream = socket.connect(address).await.expect("the gateway listens");
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("the gateway takes it");
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.expect("the gateway answers");
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

/// Waits until a count stands still for half a second.
async fn standstill(count: &AtomicUsize) -> usize {
    let (mut last, mut still) = (0, 0);
    for _ in 0..1200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = count.load(Ordering::Relaxed);
        still = if now == last && now > 0 { still + 1 } else { 0 };
        if still == 10 {
            return now;
        }
        last = now;
    }
    panic!("the backend is read without bound: {last} bytes, and still more");
}

#[tokio::test]
async fn a_slow_client_holds_the_backend_up_and_one_that_leaves_frees_it() {
    let flood = event(&"word ".repeat(3000));
    let acts = vec![Act::Write(begin()), Act::Flood(flood)];
    for (surface, path) in SURFACES {
        let (url, mut news, written) = backend(acts.clone()).await;
        let gateway = before(vec![url], ServeConfig::default()).await;
        let body = with(request(surface, true), json!({"tools": null}));
        let mut client = slow_client(&gateway, path, &body).await;
        let stood = standstill(&written).await;
        // What the system's own buffers hold, and no more: nothing of it is the gateway's.
        assert!(stood < 64 << 20, "{surface}: {stood}");
        let mut taken = vec![0; 1 << 20];
        while written.load(Ordering::Relaxed) == stood {
            client.read_exact(&mut taken).await.expect("the stream goes on");
        }
        drop(client);
        assert_eq!(news.recv().await, Some(News::Asked));
        let left = tokio::time::timeout(Duration::from_secs(20), news.recv()).await;
        assert_eq!(left, Ok(Some(News::Left)), "{surface}: the backend still writes");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_while_nothing_comes_frees_the_backend() {
    for (surface, path) in SURFACES {
        for (is_streamed, acts) in [(true, stream(&[])), (true, Vec::new()), (false, stream(&[])), (false, Vec::new())]
        {
            let (url, mut news, _) = backend([acts, vec![Act::Wait]].concat()).await;
            let gateway = before(vec![url], pair("qwen3", "hermes")).await;
            let body = request(surface, is_streamed);
            let asking = async {
                let mut response = gateway.post(path, &body).await;
                while response.chunk().await.is_ok_and(|chunk| chunk.is_some()) {}
            };
            // Dropped as soon as the backend has been asked.
            tokio::select! {
                biased;
                asked = news.recv() => assert_eq!(asked, Some(News::Asked)),
                () = asking => panic!("the answer cannot be over"),
            }
            let left = tokio::time::timeout(Duration::from_secs(20), news.recv()).await;
            assert_eq!(left, Ok(Some(News::Left)), "{surface}, streamed: {is_streamed}");
            gateway.stop().await;
        }
    }
}

/// Arguments that are no object: what the model wrote is given, and it is never made one by guessing.
#[tokio::test]
async fn arguments_that_are_no_object_reach_messages_as_they_were_written() {
    let wire = |arguments: &str| {
        json!({"text": format!(
            "<think>Hm.</think><|tool_calls_section_begin|><|tool_call_begin|>functions.tide:0<|tool_call_argument_begin|>\
             {arguments}<|tool_call_end|><|tool_calls_section_end|>")})
    };
    for (arguments, input, reason) in [
        ("{\"port\": \"Looe\"}", json!({"port": "Looe"}), "tool_use"),
        ("{\"port\": Looe}", json!({"unparsed_arguments": "{\"port\": Looe}"}), "end_turn"),
        ("[\"Looe\"]", json!({"unparsed_arguments": "[\"Looe\"]"}), "end_turn"),
    ] {
        let gateway = replaying(&[wire(arguments)], pair("kimi_k2", "kimi_k2")).await;
        let told = streamed(&gateway, "messages", "/v1/messages").await;
        assert_eq!((told.arguments.as_str(), told.error, told.ending), (arguments, None, json!(reason)));
        let whole = json_of(gateway.post("/v1/messages", &request("messages", false)).await).await;
        let call = whole["content"].as_array().and_then(|blocks| blocks.last()).expect("there is a call");
        assert_eq!((&call["input"], &whole["stop_reason"]), (&input, &json!(reason)), "{whole}");
        gateway.stop().await;
    }
}
