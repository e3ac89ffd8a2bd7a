//! What clients read in an answer beside its text: counts, signs of life, ids, endings.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use unspool_server::{AnswerConfig, App, BackendSpec, HttpConfig, RemoteKind, ServeConfig};

use crate::common::{Events, Gateway, chat, json_of, pair, plain_chat, replaying, server_of, with};

fn ask(more: Value) -> Value {
    with(json!({"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "How is the tide?"}]}), more)
}

/// A stream of these events, which then stays open for `open` seconds.
fn events(all: &[Value], open: u64) -> Response {
    let text: String = all.iter().map(|event| format!("data: {event}\n\n")).collect();
    let end = stream::once(async move {
        tokio::time::sleep(std::time::Duration::from_secs(open)).await;
        Ok(Bytes::from_static(b"data: [DONE]\n\n"))
    });
    let bytes = stream::iter([Ok::<_, std::io::Error>(Bytes::from(text))]).chain(end);
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(bytes)).into_response()
}

fn piece(text: &str, finish: impl Into<Value>) -> Value {
    json!({"choices": [{"index": 0, "text": text, "finish_reason": finish.into()}]})
}

async fn in_front(kind: RemoteKind, all: Vec<Value>, open: u64, more: ServeConfig) -> Gateway {
    let url = server_of(move |path| match path {
        "/v1/completions" => events(&all, open),
        _ => axum::http::StatusCode::NOT_FOUND.into_response(),
    });
    let backend = BackendSpec::Remote { kind, urls: vec![url.await] };
    Gateway::start(ServeConfig { backend, ..more }).await
}

#[tokio::test]
async fn tokens_that_were_computed_before_are_told() {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 48}}});
    let all = vec![piece("Low tide", "stop"), usage];
    let gateway = in_front(RemoteKind::OpenAi, all, 0, ServeConfig::default()).await;
    let usage = gateway.whole(&plain_chat(json!({}))).await["usage"].clone();
    assert_eq!((&usage["prompt_tokens"], &usage["prompt_tokens_details"]["cached_tokens"]), (&json!(50), &json!(48)));
    let streamed = gateway.streamed(&plain_chat(json!({"stream_options": {"include_usage": true}}))).await;
    assert_eq!(streamed.usage, Some(usage));
    let response = json_of(gateway.post("/v1/responses", &json!({"model": "m", "input": "a"})).await).await;
    assert_eq!(response["usage"]["input_tokens_details"]["cached_tokens"], 48, "{response}");
    let message = json_of(gateway.post("/v1/messages", &ask(json!({}))).await).await;
    let expected = json!({"input_tokens": 2, "output_tokens": 2, "cache_read_input_tokens": 48});
    assert_eq!(message["usage"], expected);
    gateway.stop().await;
}

fn simply_prompted() -> ServeConfig {
    ServeConfig { chat_template: Some("chatml".to_owned()), ..ServeConfig::default() }
}

#[tokio::test]
async fn a_message_begins_with_the_tokens_of_its_prompt() {
    let counted = |text: &str, count: u64| {
        with(piece(text, Value::Null), json!({"usage": {"prompt_tokens": 50, "completion_tokens": count}}))
    };
    let all = vec![counted("Low", 1), counted(" tide", 2), piece("", "stop")];
    let gateway = in_front(RemoteKind::Vllm, all, 0, simply_prompted()).await;
    let text = gateway.post("/v1/messages", &ask(json!({"stream": true}))).await.text().await.expect("a stream");
    let events = Events::of(&text);
    let (name, first) = &events.0[0];
    assert_eq!((name.as_str(), &first["message"]["usage"]["input_tokens"]), ("message_start", &json!(50)), "{text}");
    gateway.stop().await;
}

#[tokio::test]
async fn each_api_says_in_its_own_way_that_a_silent_answer_goes_on() {
    assert_eq!(HttpConfig::default().sse_keep_alive_interval, 15, "it is on by itself");
    let http = HttpConfig { sse_keep_alive_interval: 1, ..HttpConfig::default() };
    let config = ServeConfig { http, ..ServeConfig::default() };
    let gateway = in_front(RemoteKind::OpenAi, vec![piece("Low", Value::Null)], 3, config).await;
    let read = async |path: &str, body: Value| {
        let response = gateway.post(path, &with(body, json!({"stream": true}))).await;
        response.text().await.expect("a stream")
    };
    let (chat, messages, responses) = tokio::join!(
        read("/v1/chat/completions", plain_chat(json!({}))),
        read("/v1/messages", ask(json!({}))),
        read("/v1/responses", json!({"model": "m", "input": "a"})),
    );
    assert!(chat.contains(": keep-alive\n\n"), "{chat}");
    let pings = Events::of(&messages).0.iter().filter(|(name, data)| name == "ping" && data["type"] == "ping").count();
    assert!((1..5).contains(&pings) && !messages.contains("keep-alive"), "{messages}");
    let events = Events::of(&responses).0;
    let going = events.iter().filter(|(name, _)| name == "response.in_progress").count();
    assert!(going > 1 && !responses.contains("keep-alive"), "{responses}");
    let numbers: Vec<_> = events.iter().filter_map(|(_, data)| data["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>(), "no number is left out");
    gateway.stop().await;
}

#[tokio::test]
async fn a_thought_goes_through_clients_that_keep_an_envelope_only() {
    let gateway = replaying(&[json!({"text": "<think>Two keels.</think>Book it."})], pair("qwen3", "hermes")).await;
    let body = json!({"model": "m", "input": "a", "include": ["reasoning.encrypted_content"]});
    let response = json_of(gateway.post("/v1/responses", &body).await).await;
    let sealed = &response["output"][0]["encrypted_content"];
    assert!(sealed.as_str().is_some_and(|text| !text.is_empty() && !text.contains("keels")), "{response}");
    let streamed = gateway.post("/v1/responses", &with(body, json!({"stream": true}))).await;
    let events = Events::of(&streamed.text().await.expect("a stream")).0;
    let (_, done) = events.iter().find(|(name, _)| name == "response.output_item.done").expect("an item");
    assert_eq!(&done["item"]["encrypted_content"], sealed);
    let plain = json_of(gateway.post("/v1/responses", &json!({"model": "m", "input": "a"})).await).await;
    assert!(plain["output"][0].get("encrypted_content").is_none());
    let user = json!({"role": "user", "content": "a"});
    for (content, status) in [(sealed.clone(), 200), (json!(""), 200), (Value::Null, 200), (json!("gAAAAA"), 400)] {
        let thought = json!({"type": "reasoning", "summary": [], "encrypted_content": content});
        let body = json!({"model": "m", "input": [user, thought, {"role": "assistant", "content": "b"}, user]});
        assert_eq!(gateway.post("/v1/responses", &body).await.status(), status, "{content}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn ids_of_calls_fit_into_messages_and_come_back_as_they_were() {
    let text = "<|tool_calls_section_begin|><|tool_call_begin|>functions.tide:0<|tool_call_argument_begin|>\
        {\"port\": \"Looe\"}<|tool_call_end|><|tool_calls_section_end|>";
    let gateway = replaying(&[json!({"text": text})], pair("kimi_k2", "kimi_k2")).await;
    let tools = json!([{"name": "tide", "input_schema": {"type": "object"}}]);
    let message = json_of(gateway.post("/v1/messages", &ask(json!({"tools": tools}))).await).await;
    let call = message["content"].as_array().and_then(|blocks| blocks.last()).expect("a call").clone();
    let id = call["id"].as_str().expect("an id");
    assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) && !id.is_empty(), "{id}");
    let history = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "low"}]},
    ]);
    assert_eq!(gateway.post("/v1/messages", &ask(json!({"messages": history}))).await.status(), 200);
    let own = json_of(gateway.post("/v1/chat/completions", &chat(json!({}))).await).await;
    assert_eq!(own["choices"][0]["message"]["tool_calls"][0]["id"], "functions.tide:0");
    gateway.stop().await;
}

#[tokio::test]
async fn a_call_whose_arguments_are_no_object_is_not_to_be_run() {
    let text = "<tool_call>\n{\"name\": \"tide\", \"arguments\": \"[1]\"}\n</tool_call>";
    let gateway = replaying(&[json!({"text": text})], pair("qwen3", "hermes")).await;
    let tools = json!([{"name": "tide", "input_schema": {"type": "object"}}]);
    let body = ask(json!({"tools": tools}));
    let message = json_of(gateway.post("/v1/messages", &body).await).await;
    let object = |block: &Value| block["type"] != "tool_use" || block["input"].get("unparsed_arguments").is_none();
    let runs = message["content"].as_array().expect("blocks").iter().all(object);
    assert_eq!(message["stop_reason"] == "tool_use", runs, "{message}");
    let streamed = gateway.post("/v1/messages", &with(body, json!({"stream": true}))).await;
    let events = Events::of(&streamed.text().await.expect("a stream")).0;
    let (_, last) = events.iter().find(|(name, _)| name == "message_delta").expect("an end");
    assert_eq!(last["delta"]["stop_reason"], message["stop_reason"]);
    gateway.stop().await;
}

#[tokio::test]
async fn what_older_and_other_clients_send_is_understood() {
    let gateway = Gateway::start(ServeConfig { mock_rate: 0.0, ..pair("qwen3", "hermes") }).await;
    let count = async |body: Value| {
        let answer = json_of(gateway.post("/v1/messages/count_tokens", &body).await).await;
        answer["input_tokens"].as_u64().unwrap_or_else(|| panic!("{answer}"))
    };
    let said = |content: Value| json!({"model": "m", "messages": [{"role": "user", "content": content}]});
    let empty = count(said(json!([{"type": "text", "text": "a"}]))).await;
    for block in [
        json!({"type": "search_result", "source": "https://a", "title": "Tides", "content": [{"type": "text", "text": "low"}]}),
        json!({"type": "document", "title": "Tides", "source": {"type": "text", "media_type": "text/plain", "data": "low low"}}),
        json!({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "low low low"}]}}),
        json!({"type": "tool_result", "tool_use_id": "x", "content": [
            {"type": "search_result", "source": "a", "title": "b", "content": [{"type": "text", "text": "low low"}]}]}),
    ] {
        let more = count(said(json!([{"type": "text", "text": "a"}, block]))).await;
        assert!(more > empty + 2, "{block} is read: {more}");
    }
    for role in ["ctx", "msg"] {
        assert!(count(json!({"model": "m", "messages": [{"role": role, "content": "a"}]})).await > 0);
    }
    let pdf =
        json!([{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0"}}]);
    assert_eq!(gateway.post("/v1/messages", &ask(said(pdf))).await.status(), 400);
    let schema = json!({"type": "json_schema", "schema": {"type": "object"}});
    assert_eq!(gateway.post("/v1/messages", &ask(json!({"output_format": schema}))).await.status(), 200);
    let odd = ask(json!({"output_format": {"type": "yaml"}}));
    assert_eq!(gateway.post("/v1/messages", &odd).await.status(), 400, "it is not passed over");
    for choice in [Value::Null, json!("auto"), json!("none")] {
        let body = plain_chat(json!({"tools": [], "tool_choice": choice}));
        assert_eq!(gateway.post("/v1/chat/completions", &body).await.status(), 200, "no tools are no fault");
    }
    let input = json!({"model": "m", "input": "How is the tide?", "instructions": "Be brief."});
    let counted = json_of(gateway.post("/v1/responses/input_tokens", &input).await).await;
    let used = json_of(gateway.post("/v1/responses", &input).await).await;
    assert_eq!(
        (&counted["object"], &counted["input_tokens"]),
        (&json!("response.input_tokens"), &used["usage"]["input_tokens"])
    );
    let refused = json_of(gateway.post("/v1/responses", &json!({"model": "m", "input": []})).await).await;
    assert_eq!((&refused["error"]["code"], &refused["error"]["param"]), (&Value::Null, &json!("input")));
    gateway.stop().await;
}

#[tokio::test]
async fn an_answer_that_the_backend_gives_up_is_cut_off() {
    let all = vec![piece("Low", Value::Null), piece("", "abort")];
    let gateway = in_front(RemoteKind::OpenAi, all, 0, ServeConfig::default()).await;
    assert_eq!(gateway.whole(&plain_chat(json!({}))).await["choices"][0]["finish_reason"], "abort");
    let response = json_of(gateway.post("/v1/responses", &json!({"model": "m", "input": "a"})).await).await;
    assert_eq!(
        (&response["status"], &response["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("abort"))
    );
    let message = json_of(gateway.post("/v1/messages", &ask(json!({}))).await).await;
    assert_eq!(message["stop_reason"], "max_tokens");
    gateway.stop().await;
}

#[tokio::test]
async fn more_stop_texts_are_allowed_by_flag() {
    let stop = json!({"stop": ["a", "b", "c", "d", "e"]});
    let answers = AnswerConfig { max_stops: 5, ..AnswerConfig::default() };
    let gateway = Gateway::start(ServeConfig { answers, mock_rate: 0.0, ..ServeConfig::default() }).await;
    for path in ["/v1/chat/completions", "/v1/completions"] {
        let body = with(plain_chat(json!({"prompt": "a"})), stop.clone());
        assert_eq!(gateway.post(path, &body).await.status(), 200, "{path}");
        let body = with(body, json!({"stop": ["a", "b", "c", "d", "e", "f"]}));
        assert_eq!(gateway.post(path, &body).await.status(), 400, "{path}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_beginning_of_a_conversation_that_is_too_long_can_be_dropped() {
    let answers = AnswerConfig { max_model_len: Some(200), ..AnswerConfig::default() };
    let gateway = Gateway::start(ServeConfig { answers, mock_rate: 0.0, ..ServeConfig::default() }).await;
    let turn = |text: &str| {
        [json!({"role": "user", "content": text.repeat(20)}), json!({"role": "assistant", "content": "Low."})]
    };
    let mut input = vec![json!({"role": "system", "content": "Be brief."})];
    input.extend((0..20).flat_map(|_| turn("tide ")));
    input.push(json!({"role": "user", "content": "And now?"}));
    let body = |truncation: &str| json!({"model": "m", "input": input, "truncation": truncation});
    let refused = gateway.post("/v1/responses", &body("disabled")).await;
    assert_eq!(
        (refused.status().as_u16(), &json_of(refused).await["error"]["code"]),
        (400, &json!("context_length_exceeded"))
    );
    let answer = json_of(gateway.post("/v1/responses", &body("auto")).await).await;
    let tokens = answer["usage"]["input_tokens"].as_u64().unwrap_or_default();
    assert!((20..200).contains(&tokens) && answer["truncation"] == "auto", "{answer}");
    let alone = json!({"model": "m", "input": "tide ".repeat(500), "truncation": "auto"});
    assert_eq!(gateway.post("/v1/responses", &alone).await.status(), 400, "what the user said last stays");
    // The request lets the backend truncate the prompt, so this is no error.
    let cut = plain_chat(
        json!({"messages": [{"role": "user", "content": "tide ".repeat(500)}], "truncate_prompt_tokens": 50}),
    );
    assert_eq!(gateway.post("/v1/chat/completions", &cut).await.status(), 200);
    gateway.stop().await;
}

#[test]
fn system_messages_stay_where_a_conversation_is_shortened() {
    let app = App::new(&ServeConfig::default()).expect("the settings are right");
    let message = |role: &str, text: &str| json!({"role": role, "content": text});
    let body = json!({"messages": [message("system", "s"), message("user", "1"), message("assistant", "2"),
        message("user", "3"), message("assistant", "4"), message("user", "5")]});
    let mut request = app.chat_request(body).expect("it is right");
    let left = |request: &unspool_server::request::ChatRequest| {
        request.messages.iter().map(|message| message.text().into_owned()).collect::<String>()
    };
    assert!(request.drop_beginning(0.3));
    assert_eq!(left(&request), "s345");
    assert!(request.drop_beginning(0.9), "as much as can go");
    assert_eq!((left(&request).as_str(), request.raw_messages.len()), ("s5", 2));
    assert!(!request.drop_beginning(0.9));
}
