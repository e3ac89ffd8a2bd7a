//! What operators set and see: metrics, documents, ids, origins, sockets, and what the flags do to answers.

use std::time::Duration;

use axum::response::IntoResponse as _;
use serde_json::{Value, json};
use unspool_server::config::{Incomplete, JsonList, ReasoningField};
use unspool_server::{AnswerConfig, BackendSpec, HttpConfig, RemoteKind, ServeConfig};

use crate::common::{Folded, Gateway, WIRES, chat, file, json_of, pair, plain_chat, replaying, server_of, with};

async fn get(gateway: &Gateway, path: &str) -> reqwest::Response {
    gateway.client.get(format!("{}{path}", gateway.base)).send().await.expect("the gateway answers")
}

/// The value of a line of `/metrics` that begins with `name` and has all of `labels`; 0 if there is none.
async fn metric(gateway: &Gateway, name: &str, labels: &[&str]) -> f64 {
    let text = get(gateway, "/metrics").await.text().await.expect("metrics are text");
    let line = text.lines().find(|line| {
        let rest = line.strip_prefix(name).unwrap_or_default();
        rest.starts_with(['{', ' ']) && labels.iter().all(|label| rest.contains(label))
    });
    line.and_then(|line| line.rsplit(' ').next()).map_or(0.0, |value| value.parse().expect("a value is a number"))
}

#[tokio::test]
async fn answers_are_counted_by_cause() {
    let (reasoning, tools, text) = WIRES[0];
    let (cut, _) = text.split_once("🛶").expect("the last call names a boat");
    let broken = text.replace("\"days\": 2", "\"days\": two");
    let lines = [
        json!({"text": text}),
        json!({"text": cut, "finish_reason": "length"}),
        json!({"text": text.replace("\"wind\"", "\"storm\"")}),
        json!({"text": broken}),
    ];
    let config = ServeConfig { served_model_name: vec!["big".into()], ..pair(reasoning, tools) };
    let gateway = replaying(&lines, config).await;
    assert_eq!(metric(&gateway, "unspool_calls_total", &[]).await, 0.0);
    let request = chat(json!({"model": "big"}));
    gateway.whole(&request).await;
    gateway.streamed(&request).await;
    let message = json!({"model": "big", "max_tokens": 99, "messages": [{"role": "user", "content": "a"}],
        "tools": [{"name": "tide", "input_schema": {}}, {"name": "wind", "input_schema": {}}]});
    assert_eq!(gateway.post("/v1/messages", &message).await.status(), 200);
    let response = json!({"model": "big", "input": "a", "tools": [
        {"type": "function", "name": "tide"}, {"type": "function", "name": "wind"}]});
    assert_eq!(gateway.post("/v1/responses", &response).await.status(), 200);
    assert_eq!(gateway.post("/v1/chat/completions", &json!({"model": "big"})).await.status(), 400);
    let names = ["model=\"big\"", "reasoning_parser=\"qwen3\"", "tool_parser=\"hermes\""];
    for (name, labels, expected) in [
        ("unspool_requests_total", &["surface=\"chat\"", "status=\"200\""][..], 2.0),
        ("unspool_requests_total", &["surface=\"chat\"", "status=\"400\""], 1.0),
        ("unspool_requests_total", &["surface=\"messages\"", "status=\"200\""], 1.0),
        ("unspool_requests_total", &["surface=\"responses\"", "status=\"200\""], 1.0),
        ("unspool_answers_total", &["surface=\"chat\"", "finish_reason=\"tool_calls\""], 1.0),
        ("unspool_answers_total", &["surface=\"chat\"", "finish_reason=\"length\""], 1.0),
        ("unspool_answers_total", &["surface=\"responses\"", "finish_reason=\"tool_calls\""], 1.0),
        ("unspool_calls_total", &[], 8.0),
        ("unspool_partial_calls_total", &[], 2.0),
        ("unspool_malformed_calls_total", &["cause="], 1.0),
        ("unspool_unknown_names_total", &[], 1.0),
        ("unspool_diagnostics_total", &["kind=\"unknown_function\""], 1.0),
        ("unspool_diagnostics_total", &["kind=\"call_cut_off\""], 1.0),
        ("unspool_dropped_bytes_total", &[], 0.0),
        ("unspool_time_to_first_byte_seconds_count", &[], 4.0),
        ("unspool_time_to_first_call_seconds_count", &[], 4.0),
        ("unspool_held_back_bytes_count", &[], 4.0),
        ("unspool_answer_seconds_count", &[], 4.0),
    ] {
        let labels = [labels, &names].concat();
        assert_eq!(metric(&gateway, name, &labels).await, expected, "{name} {labels:?}");
    }
    assert!(metric(&gateway, "unspool_reasoning_tokens_total", &[]).await > 8.0);
    assert!(metric(&gateway, "unspool_held_back_bytes_sum", &[]).await > 0.0, "markers are held back");
    let text = get(&gateway, "/metrics").await.text().await.expect("metrics are text");
    let strange = |line: &&str| !line.is_empty() && !line.starts_with('#') && !line.starts_with("unspool_");
    assert_eq!(text.lines().find(strange), None, "all names have one beginning");
    assert!(text.contains("unspool_dropped_bytes_total{"), "what is 0 is there, too");
    gateway.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_away_is_counted() {
    let slow = ServeConfig { mock_rate: 20.0, ..pair("qwen3", "hermes") };
    let gateway = Gateway::start(slow).await;
    let mut response = gateway.post("/v1/chat/completions", &plain_chat(json!({"stream": true}))).await;
    response.chunk().await.expect("the stream can be read").expect("it has begun");
    drop(response);
    for _ in 0..100 {
        if metric(&gateway, "unspool_answers_total", &["finish_reason=\"aborted\""]).await > 0.0 {
            return gateway.stop().await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nobody noticed that the client went away");
}

#[tokio::test]
async fn every_documented_path_is_served_and_every_surface_documented() {
    let gateway = Gateway::start(ServeConfig::default()).await;
    let document = json_of(get(&gateway, "/openapi.json").await).await;
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.")), "{document}");
    let paths = document["paths"].as_object().expect("a document has paths");
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().expect("a path has methods") {
            let method = method.to_uppercase().parse::<reqwest::Method>().expect("it is a method");
            let request =
                gateway.client.request(method.clone(), format!("{}{}", gateway.base, path.replace("{id}", "mock")));
            let status = request.send().await.expect("the gateway answers").status();
            assert!(status != 404 && status != 405, "{method} {path}: {status}");
            assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{operation}");
        }
    }
    for (path, body, fields) in [
        ("/v1/chat/completions", "ChatBody", &["messages", "tools", "stream"][..]),
        ("/v1/completions", "CompletionBody", &["prompt"]),
        ("/v1/responses", "ResponsesBody", &["input", "instructions", "tool_choice"]),
        ("/v1/messages", "MessagesBody", &["system", "thinking", "max_tokens"]),
        ("/v1/messages/count_tokens", "MessagesBody", &[]),
    ] {
        let schema = &paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"];
        assert_eq!(schema, &json!(format!("#/components/schemas/{body}")));
        for field in fields {
            assert!(document["components"]["schemas"][body]["properties"].get(*field).is_some(), "{body}.{field}");
        }
    }
    let card = json_of(get(&gateway, "/v1/models/mock").await).await;
    assert_eq!((&card["id"], &card["object"]), (&json!("mock"), &json!("model")));
    let missing = get(&gateway, "/v1/models/a/b").await;
    assert_eq!(missing.status(), 404);
    assert_eq!(json_of(missing).await["error"]["param"], "model");
    let first = get(&gateway, "/").await.text().await.expect("a page");
    for link in ["docs", "openapi.json", "v1/models", "health", "ready", "metrics"] {
        assert!(first.contains(&format!("href=\"{link}\"")), "{link}");
        assert_eq!(get(&gateway, &format!("/{link}")).await.status(), 200, "{link}");
    }
    let page = get(&gateway, "/docs").await;
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    assert!(page.text().await.is_ok_and(|page| page.contains("openapi.json") && !page.contains("//cdn")));
    gateway.stop().await;
}

#[tokio::test]
async fn request_ids_are_sent_back_if_asked_for() {
    let http = HttpConfig { enable_request_id_headers: true, ..HttpConfig::default() };
    let gateway = Gateway::start(ServeConfig { http, ..pair("qwen3", "hermes") }).await;
    let post = |id: Option<&'static str>| {
        let request = gateway.client.post(format!("{}/v1/chat/completions", gateway.base));
        let request = request.header("content-type", "application/json").body(plain_chat(json!({})).to_string());
        id.into_iter().fold(request, |request, id| request.header("x-request-id", id)).send()
    };
    let response = post(Some("mine")).await.expect("the gateway answers");
    assert_eq!(response.headers()["x-request-id"], "mine");
    assert_eq!(json_of(response).await["id"], "chatcmpl-mine");
    let response = post(None).await.expect("the gateway answers");
    let id = response.headers()["x-request-id"].to_str().expect("it is text").to_owned();
    assert_eq!(json_of(response).await["id"], format!("chatcmpl-{id}"));
    assert!(get(&gateway, "/nothing").await.headers().contains_key("x-request-id"));
    gateway.stop().await;
    let gateway = Gateway::start(ServeConfig::default()).await;
    assert!(!get(&gateway, "/health").await.headers().contains_key("x-request-id"));
    gateway.stop().await;
}

#[tokio::test]
async fn thoughts_stand_where_the_flag_says() {
    let lines = [json!({"text": "<think>\nHm.\n</think>\n\nAhoy."})];
    for (field, new, old) in [
        (ReasoningField::Reasoning, json!("Hm."), Value::Null),
        (ReasoningField::ReasoningContent, Value::Null, json!("Hm.")),
        (ReasoningField::Both, json!("Hm."), json!("Hm.")),
    ] {
        let answers = AnswerConfig { reasoning_field: field, response_role: "model".into(), ..AnswerConfig::default() };
        let gateway = replaying(&lines, ServeConfig { answers, ..pair("qwen3", "hermes") }).await;
        let message = gateway.whole(&plain_chat(json!({}))).await["choices"][0]["message"].clone();
        assert_eq!((&message["reasoning"], &message["reasoning_content"]), (&new, &old));
        assert_eq!((&message["role"], &message["content"]), (&json!("model"), &json!("Ahoy.")));
        let response = gateway.post("/v1/chat/completions", &plain_chat(json!({"stream": true}))).await;
        let text = response.text().await.expect("the stream can be read");
        let deltas: Vec<Value> = text
            .split("\n\n")
            .filter_map(|event| serde_json::from_str::<Value>(event.strip_prefix("data: ")?).ok())
            .map(|chunk| chunk["choices"][0]["delta"].clone())
            .collect();
        let joined = |key: &str| deltas.iter().filter_map(|delta| delta[key].as_str()).collect::<String>();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        assert_eq!((joined("reasoning"), joined("reasoning_content")), (text(&new), text(&old)));
        assert_eq!((joined("role"), joined("content")), ("model".to_owned(), "Ahoy.".to_owned()));
        gateway.stop().await;
    }
}

#[tokio::test]
async fn usage_can_be_forced_into_every_chunk() {
    let answers = AnswerConfig { enable_force_include_usage: true, ..AnswerConfig::default() };
    let gateway = Gateway::start(ServeConfig { answers, ..pair("qwen3", "hermes") }).await;
    let streamed = gateway.streamed(&plain_chat(json!({}))).await;
    assert!(streamed.usage.is_some() && streamed.chunk_usages.len() > 3, "{streamed:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn silent_streams_are_kept_alive() {
    let http = HttpConfig { sse_keep_alive_interval: 1, ..HttpConfig::default() };
    let gateway = Gateway::start(ServeConfig { http, mock_rate: 0.5, ..ServeConfig::default() }).await;
    let body = plain_chat(json!({"stream": true, "max_tokens": 2}));
    let text = gateway.post("/v1/chat/completions", &body).await.text().await.expect("the stream can be read");
    assert!(text.contains(": keep-alive\n\n"), "{text}");
    let events: String = text.split_inclusive("\n\n").filter(|event| !event.starts_with(':')).collect();
    assert!(!Folded::of(&events).one().content.is_empty(), "the comments change nothing");
    let whole = gateway.post("/v1/chat/completions", &plain_chat(json!({"max_tokens": 1}))).await;
    assert_eq!(json_of(whole).await["object"], "chat.completion");
    gateway.stop().await;
}

#[tokio::test]
async fn long_bodies_are_refused_in_the_shape_of_each_api() {
    let http = HttpConfig { max_body_size: 1000, ..HttpConfig::default() };
    let gateway = Gateway::start(ServeConfig { http, ..ServeConfig::default() }).await;
    let body = json!({"messages": "a".repeat(2000)});
    for path in ["/v1/chat/completions", "/v1/completions", "/v1/responses"] {
        let response = gateway.post(path, &body).await;
        assert_eq!(response.status(), 413, "{path}");
        assert_eq!(json_of(response).await["error"]["type"], "RequestTooLargeError", "{path}");
    }
    let response = gateway.post("/v1/messages", &body).await;
    assert_eq!(
        (response.status().as_u16(), json_of(response).await["error"]["type"].clone()),
        (413, json!("request_too_large"))
    );
    gateway.stop().await;
}

#[tokio::test]
async fn a_root_path_may_be_passed_on_or_cut_off() {
    let http = HttpConfig { root_path: Some("/llm/".into()), ..HttpConfig::default() };
    let config = ServeConfig { http, api_key: vec!["sesame".into()], ..ServeConfig::default() };
    let gateway = Gateway::start(config).await;
    for prefix in ["", "/llm"] {
        assert_eq!(get(&gateway, &format!("{prefix}/health")).await.status(), 200);
        assert_eq!(get(&gateway, &format!("{prefix}/v1/models")).await.status(), 401, "keys guard both");
        let nothing = get(&gateway, &format!("{prefix}/nothing")).await;
        assert_eq!(
            (nothing.status().as_u16(), json_of(nothing).await["error"]["type"].clone()),
            (404, json!("NotFoundError"))
        );
    }
    let document = json_of(get(&gateway, "/openapi.json").await).await;
    assert_eq!(document["servers"][0]["url"], "/llm");
    gateway.stop().await;
}

#[tokio::test]
async fn pages_of_other_origins_are_let_in_by_name() {
    let preflight = async |gateway: &Gateway, origin: &str| {
        let request = gateway.client.request(reqwest::Method::OPTIONS, format!("{}/v1/chat/completions", gateway.base));
        let request = request.header("origin", origin).header("access-control-request-method", "POST");
        let answer = request.header("access-control-request-headers", "authorization").send().await;
        let answer = answer.expect("the gateway answers");
        let header =
            |name: &str| answer.headers().get(name).map(|value| value.to_str().expect("it is text").to_owned());
        (
            header("access-control-allow-origin"),
            header("access-control-allow-headers"),
            header("access-control-allow-credentials"),
        )
    };
    let page = "https://page.example";
    let with = |origins: &str, credentials: bool| HttpConfig {
        allowed_origins: origins.parse::<JsonList>().expect("it is a list"),
        allow_credentials: credentials,
        ..HttpConfig::default()
    };
    let key: Vec<unspool_server::Secret> = vec!["sesame".into()];
    for (http, origin, credentials) in [
        (HttpConfig::default(), None, None),
        (with("[\"https://page.example\"]", false), Some(page), None),
        (with("[\"https://other.example\"]", false), None, None),
        (with("[\"*\"]", false), Some("*"), None),
        (with("[\"*\"]", true), Some(page), Some("true")),
    ] {
        let gateway = Gateway::start(ServeConfig { http, api_key: key.clone(), ..ServeConfig::default() }).await;
        let (allowed, headers, with_credentials) = preflight(&gateway, page).await;
        assert_eq!((allowed.as_deref(), with_credentials.as_deref()), (origin, credentials));
        assert!(origin.is_none() || headers.as_deref() == Some("authorization"), "{headers:?}");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn tools_can_be_left_out_where_none_is_called() {
    let none = chat(json!({"tool_choice": "none"}));
    let mut prompts = Vec::new();
    for exclude in [false, true] {
        let config = ServeConfig { exclude_tools_when_tool_choice_none: exclude, ..pair("qwen3", "hermes") };
        let gateway = Gateway::start(config).await;
        prompts.push(gateway.whole(&none).await["usage"]["prompt_tokens"].as_u64().expect("a number"));
        gateway.stop().await;
    }
    assert!(prompts[0] > prompts[1], "{prompts:?}");
}

#[tokio::test]
async fn incomplete_calls_become_what_the_flag_says() {
    let (reasoning, tools, text) = WIRES[0];
    let (cut, _) = text.split_once("🛶").expect("the last call names a boat");
    for (how, calls, shown) in [("stream", 2, false), ("text", 1, true), ("drop", 1, false)] {
        let answers =
            AnswerConfig { incomplete_calls: how.parse::<Incomplete>().expect(how), ..AnswerConfig::default() };
        let lines = [json!({"text": cut, "finish_reason": "length"})];
        let gateway = replaying(&lines, ServeConfig { answers, ..pair(reasoning, tools) }).await;
        let message = gateway.whole(&chat(json!({}))).await["choices"][0]["message"].clone();
        assert_eq!(message["tool_calls"].as_array().map(Vec::len), Some(calls), "{how}: {message}");
        assert_eq!(message["content"].as_str().is_some_and(|text| text.contains("Łeba")), shown, "{how}: {message}");
        gateway.stop().await;
    }
}

#[tokio::test]
async fn prompt_and_answer_fit_into_the_models_length() {
    let answers = AnswerConfig { max_model_len: Some(60), ..AnswerConfig::default() };
    let gateway = Gateway::start(ServeConfig { answers, ..pair("qwen3", "hermes") }).await;
    assert_eq!(json_of(get(&gateway, "/v1/models").await).await["data"][0]["max_model_len"], 60);
    let long = |seed: u64| plain_chat(json!({"min_tokens": 50, "seed": seed}));
    let usage = gateway.whole(&long(1)).await["usage"].clone();
    assert_eq!(usage["total_tokens"], 60, "an answer takes the room that is left: {usage}");
    let response = gateway.post("/v1/chat/completions", &with(long(1), json!({"max_tokens": 61}))).await;
    assert_eq!(
        (response.status().as_u16(), json_of(response).await["error"]["param"].clone()),
        (400, json!("max_tokens"))
    );
    let usage = gateway.whole(&with(long(1), json!({"max_tokens": 60}))).await["usage"].clone();
    assert_eq!(usage["total_tokens"], 60, "an answer is cut to the room: {usage}");
    let response = gateway.post("/v1/responses", &json!({"input": "word ".repeat(99)})).await;
    assert_eq!((response.status().as_u16(), json_of(response).await["error"]["param"].clone()), (400, json!("input")));
    gateway.stop().await;
}

#[tokio::test]
async fn raw_outputs_are_written_down_and_can_be_played_again() {
    let folder = file("raw", "").with_extension("folder");
    let answers = AnswerConfig { log_raw: Some(folder.clone()), ..AnswerConfig::default() };
    let gateway = Gateway::start(ServeConfig { answers, ..pair("qwen3", "hermes") }).await;
    let requests = [chat(json!({"seed": 1})), chat(json!({"seed": 2, "max_tokens": 9}))];
    let mut said = Vec::new();
    for request in &requests {
        said.push(gateway.streamed(request).await.one().comparable());
    }
    gateway.stop().await;
    let files: Vec<_> = std::fs::read_dir(&folder).expect("the folder is there").collect();
    assert_eq!(files.len(), 1);
    let log = files.into_iter().next().and_then(Result::ok).expect("a file").path();
    let played = ServeConfig { backend: BackendSpec::Replay(log), ..pair("qwen3", "hermes") };
    let gateway = Gateway::start(played).await;
    for (request, said) in requests.iter().zip(&said).rev() {
        assert_eq!(
            &gateway.streamed(request).await.one().comparable(),
            said,
            "found by the request, whatever the order"
        );
    }
    gateway.stop().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_socket_can_stand_in_for_a_port() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let path = std::env::temp_dir().join(format!("unspool-{}.sock", std::process::id()));
    drop(std::os::unix::net::UnixListener::bind(&path).expect("the folder takes sockets"));
    let http = HttpConfig { uds: Some(path.clone()), ..HttpConfig::default() };
    let config = ServeConfig { http, ..ServeConfig::default() };
    let (ready, place) = tokio::sync::oneshot::channel();
    let server = tokio::spawn(async move {
        let told = |place: &str| ready.send(place.to_owned()).expect("somebody waits");
        unspool_server::run(&config, told).await.expect("the server runs");
    });
    assert_eq!(place.await.expect("a socket that was left behind is replaced"), format!("unix:{}", path.display()));
    let mut stream = tokio::net::UnixStream::connect(&path).await.expect("somebody listens");
    stream
        .write_all(b"GET /version HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await
        .expect("it can be written");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("it can be read");
    assert!(text.starts_with("HTTP/1.1 200") && text.contains(env!("CARGO_PKG_VERSION")), "{text}");
    server.abort();
    std::fs::remove_file(&path).expect("the socket is still there");
}

#[tokio::test]
async fn whether_a_backend_answers_is_told() {
    let gone = Gateway::start(ServeConfig {
        backend: BackendSpec::Remote { kind: RemoteKind::Vllm, urls: vec!["http://127.0.0.1:1".into()] },
        ..ServeConfig::default()
    })
    .await;
    assert_eq!(get(&gone, "/health").await.status(), 200, "the gateway itself lives");
    let told = get(&gone, "/ready").await;
    assert_eq!(told.status(), 503);
    assert_eq!(json_of(told).await, json!({"ready": false, "backends": [false]}));
    gone.stop().await;
    let url = server_of(|path| match path {
        "/v1/models" => json!({"data": [{"id": "far/away", "max_model_len": 100}]}).to_string().into_response(),
        _ => axum::http::StatusCode::OK.into_response(),
    });
    let backend = BackendSpec::Remote { kind: RemoteKind::Vllm, urls: vec![url.await] };
    let there = Gateway::start(ServeConfig { backend, ..ServeConfig::default() }).await;
    assert_eq!(json_of(get(&there, "/ready").await).await, json!({"ready": true, "backends": [true]}));
    assert_eq!(json_of(get(&there, "/v1/models/far/away").await).await["max_model_len"], 100);
    // The metrics call the model what the list calls it.
    let named = metric(&there, "unspool_calls_total", &["model=\"far/away\""]).await;
    assert_eq!(named, 0.0);
    let text = get(&there, "/metrics").await.text().await.expect("metrics are text");
    assert!(text.contains("unspool_calls_total{model=\"far/away\""), "{text}");
    there.stop().await;
}

#[test]
fn without_a_key_only_this_machine_is_let_in() {
    let key = || vec!["a".into()];
    let host = || Some("10.0.0.1".to_owned());
    assert_eq!(ServeConfig::default().address(), "127.0.0.1");
    assert_eq!(ServeConfig { api_key: key(), ..ServeConfig::default() }.address(), "0.0.0.0");
    assert_eq!(ServeConfig { api_key: key(), host: host(), ..ServeConfig::default() }.address(), "10.0.0.1");
    assert_eq!(ServeConfig { host: host(), ..ServeConfig::default() }.address(), "10.0.0.1");
}
