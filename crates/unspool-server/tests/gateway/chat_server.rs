//! The gateway in front of chat servers: what they leave in the text is taken apart, what they have taken apart stays as it is.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use unspool_server::{App, BackendSpec, ChatConfig, ChatStart, ChatTools, RemoteKind, ServeConfig};

use crate::common::{Choice, Events, Gateway, WIRES, chat, file, json_of, pair, plain_chat, tools, with};

/// A chat server that says the same to everybody.
struct Server {
    events: Vec<Value>,
    /// Whole, and not as a stream.
    whole: bool,
    owner: &'static str,
    seen: Mutex<Vec<(HeaderMap, Value)>>,
}

impl Server {
    async fn start(events: Vec<Value>) -> (Arc<Self>, String) {
        Self::start_as(Self { events, whole: false, owner: "library", seen: Mutex::default() }).await
    }

    async fn start_as(server: Self) -> (Arc<Self>, String) {
        let server = Arc::new(server);
        let router = Router::new().fallback(answer).with_state(Arc::clone(&server));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (server, url)
    }

    fn last(&self) -> (HeaderMap, Value) {
        self.seen.lock().expect("no test panics here").pop().expect("it was asked")
    }
}

async fn answer(State(server): State<Arc<Server>>, uri: Uri, headers: HeaderMap, body: String) -> Response {
    match uri.path() {
        "/v1/models" => {
            return json!({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": server.owner}]})
                .to_string()
                .into_response();
        }
        "/v1/chat/completions" => {}
        _ => return StatusCode::NOT_FOUND.into_response(),
    }
    let body = serde_json::from_str(&body).expect("the gateway sends JSON");
    server.seen.lock().expect("no test panics here").push((headers, body));
    if server.whole {
        return ([("content-type", "application/json")], server.events[0].to_string()).into_response();
    }
    let events: String = server.events.iter().map(|event| format!("data: {event}\n\n")).collect();
    ([("content-type", "text/event-stream")], format!("{events}data: [DONE]\n\n")).into_response()
}

/// A chunk with this delta.
fn delta(delta: Value) -> Value {
    let mut chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": null}]});
    chunk["choices"][0]["delta"] = delta;
    chunk
}

/// The last chunk.
fn end(reason: &str) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// A text in small pieces, and its end.
fn said(text: &str) -> Vec<Value> {
    let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
    let chars: Vec<char> = text.chars().collect();
    events.extend(chars.chunks(3).map(|piece| delta(json!({"content": piece.iter().collect::<String>()}))));
    events.push(end("stop"));
    events.push(json!({"id": "c", "choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 4}}}));
    events
}

fn in_front(url: String, base: ServeConfig) -> ServeConfig {
    let backend = BackendSpec::Remote { kind: RemoteKind::Chat, urls: vec![url] };
    // As people start it: without the flag for automatic choice.
    ServeConfig { backend, enable_auto_tool_choice: false, ..base }
}

async fn both(events: Vec<Value>, config: ServeConfig, body: &Value) -> Choice {
    let (_, url) = Server::start(events).await;
    let gateway = Gateway::start(in_front(url, config)).await;
    let streamed = gateway.streamed(body).await.one().clone();
    let whole = Choice::of_whole(&gateway.whole(body).await["choices"][0]);
    assert_eq!(streamed.comparable(), whole.comparable());
    gateway.stop().await;
    streamed
}

#[tokio::test]
async fn markup_in_the_text_becomes_thoughts_and_calls() {
    for (reasoning, tools, wire) in WIRES {
        let choice = both(said(wire), pair(reasoning, tools), &chat(json!({}))).await;
        assert_eq!((&*choice.reasoning, &*choice.content), ("Two ports, so two calls.", "Let me look."), "{tools}");
        let expected =
            [("tide".to_owned(), json!({"port": "Looe"})), ("wind".to_owned(), json!({"port": "Łeba 🛶", "days": 2}))];
        assert_eq!(choice.called(), expected, "{tools}");
        assert_eq!(choice.finish.as_deref(), Some("tool_calls"));
    }
}

#[tokio::test]
async fn every_api_is_served_and_the_counts_are_the_servers() {
    let (reasoning, tool_parser, wire) = WIRES[1];
    let (server, url) = Server::start(said(wire)).await;
    let gateway = Gateway::start(in_front(url, pair(reasoning, tool_parser))).await;
    let usage = gateway.whole(&chat(json!({}))).await["usage"].clone();
    assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(30), &json!(9)));
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 4);
    let tool = json!([{"name": "tide", "input_schema": {"type": "object"}}, {"name": "wind", "input_schema": {"type": "object"}}]);
    let messages = json!([{"role": "user", "content": "How is the tide?"}]);
    let body = json!({"model": "m", "max_tokens": 99, "messages": messages, "tools": tool, "system": "Be brief."});
    let message = json_of(gateway.post("/v1/messages", &body).await).await;
    let kinds: Vec<&str> =
        message["content"].as_array().expect("blocks").iter().filter_map(|block| block["type"].as_str()).collect();
    assert_eq!(
        (kinds, &message["stop_reason"]),
        (vec!["thinking", "text", "tool_use", "tool_use"], &json!("tool_use"))
    );
    let sent = server.last().1;
    assert_eq!(sent["messages"][0], json!({"role": "system", "content": "Be brief."}));
    assert_eq!((&sent["max_tokens"], &sent["tools"][0]["function"]["name"]), (&json!(99), &json!("tide")));
    let functions: Vec<Value> = tools()
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| with(json!({"type": "function"}), tool["function"].clone()))
        .collect();
    let body = json!({"model": "m", "stream": true, "input": "How is the tide?", "tools": functions});
    let text = gateway.post("/v1/responses", &body).await.text().await.expect("a stream");
    let last = Events::of(&text).0.pop().expect("events").1;
    let kinds: Vec<&str> =
        last["response"]["output"].as_array().expect("items").iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call", "function_call"]);
    gateway.stop().await;
}

/// The stream of a server that takes calls apart by itself, as ollama writes it: a call comes whole, each with the number 0.
fn ollama() -> Vec<Value> {
    let call = |id: &str, name: &str, arguments: &str| {
        delta(json!({"role": "assistant", "content": "", "tool_calls": [{"id": id, "index": 0, "type": "function",
            "function": {"name": name, "arguments": arguments}}]}))
    };
    vec![
        delta(json!({"role": "assistant", "content": "", "reasoning": "Two ports, "})),
        delta(json!({"role": "assistant", "content": "", "reasoning": "so two calls."})),
        call("call_7ab", "tide", "{\"port\":\"Looe\"}"),
        call("call_8cd", "wind", "{\"days\":2}"),
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": "tool_calls"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 34, "total_tokens": 46}}),
    ]
}

/// As LM Studio writes it: name and arguments come in pieces, the content is null.
fn lm_studio() -> Vec<Value> {
    let part = |index: u64, function: Value, id: Option<&str>| {
        let mut call = json!({"index": index, "type": "function", "function": function});
        if let Some(id) = id {
            call["id"] = json!(id);
        }
        delta(json!({"content": null, "tool_calls": [call]}))
    };
    vec![
        delta(json!({"role": "assistant", "reasoning_content": "Two ports, so two calls."})),
        part(0, json!({"name": "tide", "arguments": ""}), Some("365")),
        part(0, json!({"arguments": "{\"port\":"}), None),
        part(0, json!({"arguments": "\"Looe\"}"}), None),
        part(1, json!({"name": "wind", "arguments": ""}), Some("366")),
        part(1, json!({"arguments": "{\"days\":2}"}), None),
        end("tool_calls"),
    ]
}

#[tokio::test]
async fn what_the_server_took_apart_stays_as_it_is() {
    for (events, ids) in [(ollama(), ["call_7ab", "call_8cd"]), (lm_studio(), ["365", "366"])] {
        let choice = both(events, pair("qwen3", "qwen3_coder"), &chat(json!({}))).await;
        assert_eq!((&*choice.reasoning, &*choice.content), ("Two ports, so two calls.", ""));
        let expected = [("tide".to_owned(), json!({"port": "Looe"})), ("wind".to_owned(), json!({"days": 2}))];
        assert_eq!((choice.called(), choice.finish.as_deref()), (expected.into(), Some("tool_calls")));
        assert_eq!(choice.calls.iter().map(|call| &*call.id).collect::<Vec<_>>(), ids);
    }
}

#[tokio::test]
async fn found_calls_are_numbered_behind_native_ones() {
    let found = "<tool_call>\n{\"name\": \"wind\", \"arguments\": {\"days\": 2}}\n</tool_call>";
    let native = json!({"tool_calls": [{"index": 0, "id": "own", "function": {"name": "tide", "arguments": "{}"}}],
        "content": found});
    for reason in ["stop", "tool_calls"] {
        let choice = both(vec![delta(native.clone()), end(reason)], pair("qwen3", "hermes"), &chat(json!({}))).await;
        assert_eq!(choice.called(), [("tide".to_owned(), json!({})), ("wind".to_owned(), json!({"days": 2}))]);
        assert_eq!((&*choice.calls[0].id, choice.finish.as_deref()), ("own", Some("tool_calls")));
    }
    let cut = both(vec![delta(native), end("length")], pair("qwen3", "hermes"), &chat(json!({}))).await;
    assert_eq!(cut.finish.as_deref(), Some("length"), "what the server says of a cut holds");
    let none =
        both(vec![delta(json!({"content": "Aye."})), end("tool_calls")], ServeConfig::default(), &chat(json!({})))
            .await;
    assert_eq!((&*none.content, none.finish.as_deref()), ("Aye.", Some("stop")), "no call came");
    // Without any parser native calls are given all the same.
    let plain = ServeConfig { mock_rate: 0.0, ..ServeConfig::default() };
    assert_eq!(both(ollama(), plain, &chat(json!({}))).await.calls.len(), 2);
}

#[tokio::test]
async fn a_call_that_is_cut_off_is_not_run() {
    let call =
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "tide", "arguments": "{\"port\": \"Lo"}}]});
    let (_, url) = Server::start(vec![delta(call), end("length")]).await;
    let gateway = Gateway::start(in_front(url, pair("qwen3", "hermes"))).await;
    let tool = json!([{"name": "tide", "input_schema": {"type": "object"}}]);
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}], "tools": tool});
    let message = json_of(gateway.post("/v1/messages", &body).await).await;
    assert_eq!(message["stop_reason"], "max_tokens", "{message}");
    gateway.stop().await;
}

#[tokio::test]
async fn an_answer_begins_where_it_is_told() {
    // This format begins in a thought.
    let config = || pair("deepseek_r1", "deepseek_v3");
    let begun = both(said("Hm.</think>Aye."), config(), &plain_chat(json!({}))).await;
    assert_eq!((&*begun.reasoning, &*begun.content), ("Hm.", "Aye."));
    // Where the server gives thoughts by itself, none is in the text.
    let mut events = vec![delta(json!({"reasoning_content": "Hm."}))];
    events.extend(said("Aye."));
    let native = both(events, config(), &plain_chat(json!({}))).await;
    assert_eq!((&*native.reasoning, &*native.content), ("Hm.", "Aye."));
    let start = |start| ChatConfig { chat_start: Some(start), ..ChatConfig::default() };
    let config = |chat| ServeConfig { chat, ..pair("deepseek_r1", "deepseek_v3") };
    let content = both(said("Aye."), config(start(ChatStart::Content)), &plain_chat(json!({}))).await;
    assert_eq!((&*content.reasoning, &*content.content), ("", "Aye."));
    let config = |chat| ServeConfig { chat, ..pair("qwen3", "hermes") };
    let thought =
        both(said("Hm.\n</think>\n\nAye."), config(start(ChatStart::Reasoning)), &plain_chat(json!({}))).await;
    assert_eq!((&*thought.reasoning, &*thought.content), ("Hm.", "Aye."));
    let off = plain_chat(json!({"chat_template_kwargs": {"enable_thinking": false}}));
    let off = both(said("Aye."), pair("qwen3", "hermes"), &off).await;
    assert_eq!((&*off.reasoning, &*off.content), ("", "Aye."));
    let mut events = vec![delta(json!({"reasoning": "Hm."}))];
    events.extend(said("Aye."));
    let hidden = both(events, pair("qwen3", "hermes"), &plain_chat(json!({"include_reasoning": false}))).await;
    assert_eq!((&*hidden.reasoning, &*hidden.content), ("", "Aye."));
}

#[tokio::test]
async fn the_conversation_goes_on_as_it_came() {
    let (server, url) = Server::start(said("Aye.")).await;
    let key = file("key", "  sesame\n");
    let chat_config = ChatConfig { backend_api_key_file: Some(key), ..ChatConfig::default() };
    let gateway =
        Gateway::start(ServeConfig { chat: chat_config, ..in_front(format!("{url}/v1"), pair("kimi_k2", "kimi_k2")) })
            .await;
    let image = json!([{"type": "text", "text": "Which port?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]);
    let messages = json!([
        {"role": "user", "content": image},
        {"role": "assistant", "reasoning": "Hm.", "content": null, "tool_calls": [{"id": "a", "type": "function",
            "function": {"name": "tide", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "low"},
    ]);
    let asked = json!({"messages": messages, "temperature": 0.5, "seed": 4, "stop": ["END"], "max_completion_tokens": 20,
        "reasoning_effort": "high", "parallel_tool_calls": false, "tool_choice": "required",
        "response_format": {"type": "json_object"}, "top_k": 3});
    gateway.whole(&chat(asked)).await;
    let (headers, sent) = server.last();
    assert_eq!(headers["authorization"], "Bearer sesame");
    assert_eq!(sent["messages"][0]["content"], image, "images pass");
    assert_eq!(sent["messages"][1]["reasoning_content"], "Hm.");
    assert_eq!(sent["messages"][2], messages[2]);
    assert_eq!(sent["tools"], tools());
    for (field, value) in [
        ("model", json!("m")),
        ("stream", json!(true)),
        ("temperature", json!(0.5)),
        ("top_k", json!(3)),
        ("seed", json!(4)),
        ("stop", json!(["END"])),
        ("max_tokens", json!(20)),
        ("reasoning_effort", json!("high")),
        ("parallel_tool_calls", json!(false)),
        ("tool_choice", json!("required")),
    ] {
        assert_eq!(sent[field], value, "{field}");
    }
    for field in ["skip_special_tokens", "chat_template_kwargs", "prompt", "n", "structured_outputs"] {
        assert!(sent.get(field).is_none(), "{field}: {sent}");
    }
    gateway.whole(&plain_chat(json!({}))).await;
    assert!(server.last().1.get("max_tokens").is_none(), "how long an answer may be is the server's matter");
    gateway.stop().await;
}

#[tokio::test]
async fn special_tokens_are_asked_for_where_the_server_knows_the_word() {
    for (owner, extended) in [("vllm", false), ("library", true)] {
        let server = Server { events: said("Aye."), whole: false, owner, seen: Mutex::default() };
        let (server, url) = Server::start_as(server).await;
        let chat_config = ChatConfig { backend_extensions: extended, ..ChatConfig::default() };
        let config = ServeConfig { chat: chat_config, ..in_front(url, pair("kimi_k2", "kimi_k2")) };
        let gateway = Gateway::start(config).await;
        gateway.whole(&chat(json!({}))).await;
        assert_eq!(server.last().1["skip_special_tokens"], false, "{owner}");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn tools_can_be_kept_from_the_server() {
    let (reasoning, tool_parser, wire) = WIRES[0];
    let (server, url) = Server::start(said(wire)).await;
    let chat_config = ChatConfig { chat_tools: ChatTools::Omit, ..ChatConfig::default() };
    let gateway =
        Gateway::start(ServeConfig { chat: chat_config, ..in_front(url, pair(reasoning, tool_parser)) }).await;
    let asked = chat(json!({"parallel_tool_calls": true, "tool_choice": "auto"}));
    assert_eq!(gateway.streamed(&asked).await.one().calls.len(), 2);
    let sent = server.last().1;
    assert_eq!(sent["messages"], asked["messages"], "nothing is written into the messages");
    for field in ["tools", "tool_choice", "parallel_tool_calls"] {
        assert!(sent.get(field).is_none(), "{field}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let (reasoning, tool_parser, wire) = WIRES[0];
    let whole = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": wire}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
    let server = Server { events: vec![whole], whole: true, owner: "x", seen: Mutex::default() };
    let (_, url) = Server::start_as(server).await;
    let gateway = Gateway::start(in_front(url, pair(reasoning, tool_parser))).await;
    assert_eq!(gateway.streamed(&chat(json!({}))).await.one().calls.len(), 2);
    gateway.stop().await;
}

#[test]
fn a_key_that_is_none_is_told() {
    let with_file = |text: &str| {
        let chat = ChatConfig { backend_api_key_file: Some(file("key", text)), ..ChatConfig::default() };
        in_front("http://127.0.0.1:1".to_owned(), ServeConfig { chat, ..ServeConfig::default() })
    };
    let fault = |config: &ServeConfig| App::new(config).err().expect("it is refused");
    assert!(fault(&with_file(" \n")).message.contains("holds no key"));
    assert!(fault(&with_file("a\nb")).hint.is_some());
    let both = ServeConfig { backend_api_key: Some("a".into()), ..with_file("b") };
    assert!(fault(&both).message.contains("are both set"));
    let mut missing = with_file("a");
    missing.chat.backend_api_key_file = Some("no/such/file".into());
    assert!(fault(&missing).message.contains("no/such/file"));
}
