//! Refusals: of the start-up, of paths, keys and bodies.

use serde_json::{Value, json};
use unspool_server::{App, BackendSpec, RemoteKind, ServeConfig};

use crate::common::{Gateway, chat, file, json_of, pair, plain_chat, replaying, with};

/// The error body, after its shape is checked.
async fn refused(gateway: &Gateway, body: &Value, status: u16) -> Value {
    let response = gateway.post("/v1/chat/completions", body).await;
    assert_eq!(response.status(), status, "{body}");
    error_of(response, status).await
}

async fn error_of(response: reqwest::Response, status: u16) -> Value {
    let mut value = json_of(response).await;
    let error = value["error"].take();
    let mut keys: Vec<_> = error.as_object().expect("an error is an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["code", "message", "param", "type"]);
    assert_eq!(error["code"], status);
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
    error
}

#[tokio::test]
async fn a_body_that_is_no_object_is_told_in_plain_words() {
    let gateway = Gateway::start(ServeConfig::default()).await;
    for path in ["/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"] {
        for body in [json!(null), json!([]), json!("hello")] {
            let told = gateway.post(path, &body).await;
            assert_eq!(told.status(), 400, "{path}: {body}");
            let told = json_of(told).await;
            assert_eq!(told["error"]["message"], "the body must be a JSON object", "{path}: {body}: {told}");
        }
    }
}

#[tokio::test]
async fn bad_fields_are_named() {
    let gateway = replaying(&[json!({"text": "a"})], pair("qwen3", "hermes")).await;
    let function = |name: &str| json!({"type": "function", "function": {"name": name}});
    let tool = function;
    for (more, param) in [
        (json!({"messages": []}), "messages"),
        (json!({"messages": [{"role": "user", "content": 3}]}), "messages[0].content"),
        (json!({"messages": "hello"}), "messages"),
        (json!({"n": 0}), "n"),
        (json!({"n": 129}), "n"),
        (json!({"max_tokens": 0}), "max_tokens"),
        (json!({"max_completion_tokens": -1}), "max_completion_tokens"),
        (json!({"max_tokens": 3, "min_tokens": 4}), "min_tokens"),
        (json!({"temperature": -0.5}), "temperature"),
        (json!({"temperature": "hot"}), "temperature"),
        (json!({"top_p": 0}), "top_p"),
        (json!({"stop": ["a", "b", "c", "d", "e"]}), "stop"),
        (json!({"stream_options": {"include_usage": true}}), "stream_options"),
        (json!({"top_logprobs": 2}), "top_logprobs"),
        (json!({"logprobs": true, "top_logprobs": 101}), "top_logprobs"),
        (json!({"prompt_logprobs": -2}), "prompt_logprobs"),
        (json!({"prompt_logprobs": 1, "stream": true}), "prompt_logprobs"),
        (json!({"prompt_logprobs": 1}), "prompt_logprobs"),
        (json!({"chat_template": "{{ messages }}"}), "chat_template"),
        (json!({"tools": [{"type": "retrieval"}]}), "tools[0]"),
        (json!({"messages": [{"role": "user", "content": null}]}), "messages[0].content"),
        (json!({"reasoning_effort": "bogus"}), "reasoning_effort"),
        (json!({"tools": [{"type": "function", "function": {}}]}), "tools[0].function.name"),
        (json!({"tools": [{"type": "function"}]}), "tools[0].function.name"),
        (json!({"tools": [{"function": {"name": "tide"}}]}), "tools[0]"),
        (json!({"tools": [{"type": "function", "function": {"name": ""}}]}), "tools[0].function.name"),
        (json!({"tools": [{"type": "function", "function": {"name": "a b"}}]}), "tools[0].function.name"),
        (json!({"tools": [{"type": "function", "function": {"name": "<tide>"}}]}), "tools[0].function.name"),
        (json!({"tools": [{"type": "function", "function": {"name": "t".repeat(257)}}]}), "tools[0].function.name"),
        (json!({"tools": [tool("tide"), tool("ebb"), tool("tide")]}), "tools[2].function.name"),
        (
            json!({"tools": [tool("a"), {"type": "function", "function": {"name": "b", "parameters": []}}]}),
            "tools[1].function.parameters",
        ),
        (
            json!({"tools": [{"type": "function", "function": {"name": "b", "strict": "yes"}}]}),
            "tools[0].function.strict",
        ),
        (json!({"tools": [], "tool_choice": "required"}), "tool_choice"),
        (json!({"tool_choice": "always"}), "tool_choice"),
        (json!({"tool_choice": {"type": "custom"}}), "tool_choice"),
        (json!({"tool_choice": {"type": "function"}}), "tool_choice.function"),
        (json!({"tool_choice": {"type": "function", "function": {}}}), "tool_choice.function.name"),
        (json!({"tool_choice": function("unknown")}), "tool_choice"),
        (json!({"tool_choice": function("tide"), "structured_outputs": {"json": {}}}), "structured_outputs"),
    ] {
        let error = refused(&gateway, &chat(more.clone()), 400).await;
        assert_eq!(error["param"], param, "{more}: {error}");
    }
    for choice in [json!("auto"), json!("required"), function("tide")] {
        let error = refused(&gateway, &plain_chat(json!({"tool_choice": choice})), 400).await;
        assert_eq!(error["param"], "tool_choice", "a choice needs tools");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_tools_of_other_apis_are_refused_with_a_hint() {
    let gateway = replaying(&[json!({"text": "a"}), json!({"text": "a"})], pair("qwen3", "hermes")).await;
    let tide = json!({"type": "function", "function": {"name": "tide"}});
    let chat_form = "`inputSchema` and Anthropic `input_schema` goes to `parameters`";
    for (more, param, hint) in [
        (json!({"tools": tide}), "tools", "`tools` is a list"),
        (json!({"tools": [{"name": "tide", "inputSchema": {"type": "object"}}]}), "tools[0]", chat_form),
        (json!({"tools": [{"name": "tide", "input_schema": {"type": "object"}}]}), "tools[0]", chat_form),
        (
            json!({"tools": [tide], "tool_choice": {"type": "function", "function": {"name": "tied"}}}),
            "tool_choice",
            "did you mean `tide`?",
        ),
        (
            json!({"tools": [tide], "tool_choice": {"type": "function", "function": {"name": "rain"}}}),
            "tool_choice",
            "the tools are `tide`",
        ),
    ] {
        let error = refused(&gateway, &chat(more.clone()), 400).await;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(error["param"] == param && message.contains("hint: ") && message.contains(hint), "{more}: {error}");
    }
    let ask = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]});
    let mut messages = ask.clone();
    messages["tools"] = json!([{"name": "tide", "inputSchema": {"type": "object"}}]);
    let response = gateway.post("/v1/messages", &messages).await;
    assert_eq!(response.status(), 400);
    let text = response.text().await.expect("there is a body");
    assert!(
        text.contains("`inputSchema` is another API's") && text.contains("tools[0] needs an `input_schema`"),
        "{text}"
    );
    // A byte order mark is let pass on each route.
    for route in ["/v1/chat/completions", "/v1/messages"] {
        let request =
            gateway.client.post(format!("{}{route}", gateway.base)).header("content-type", "application/json");
        let response = request.body(format!("\u{feff}{ask}")).send().await.expect("the gateway answers");
        assert_eq!(response.status(), 200, "{route}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn flags_decide_which_choices_are_served() {
    let lines = [json!({"text": "a"})];
    let named = json!({"tool_choice": {"type": "function", "function": {"name": "tide"}}});
    let by_hand = ServeConfig { enable_auto_tool_choice: false, ..pair("qwen3", "hermes") };
    let without = ServeConfig { tool_call_parser: None, ..by_hand.clone() };
    for (config, request, status) in [
        (&by_hand, json!({}), 400),
        (&by_hand, json!({"tool_choice": "auto"}), 400),
        (&by_hand, json!({"tool_choice": null}), 200),
        (&by_hand, json!({"tool_choice": "none"}), 200),
        (&by_hand, json!({"tool_choice": "required"}), 200),
        (&by_hand, named.clone(), 200),
        (&without, json!({}), 400),
        (&without, json!({"tool_choice": "required"}), 400),
        (&without, named, 400),
        (&without, json!({"tool_choice": "none"}), 200),
    ] {
        let gateway = replaying(&lines, config.clone()).await;
        let response = gateway.post("/v1/chat/completions", &chat(request.clone())).await;
        assert_eq!(response.status(), status, "{request} {:?}", config.tool_call_parser);
        if status == 400 {
            let error = error_of(response, 400).await;
            assert!(error["message"].as_str().is_some_and(|text| text.contains("--tool-call-parser")), "{error}");
        }
        gateway.stop().await;
    }
}

#[tokio::test]
async fn paths_methods_and_bodies_are_refused_in_the_apis_shape() {
    let gateway = replaying(&[json!({"text": "a"})], ServeConfig::default()).await;
    let url = |path: &str| format!("{}{path}", gateway.base);
    let response = gateway.client.get(url("/v1/nothing")).send().await.expect("the gateway answers");
    assert_eq!(error_of(response, 404).await["type"], "NotFoundError");
    let response = gateway.client.get(url("/v1/chat/completions")).send().await.expect("the gateway answers");
    error_of(response, 405).await;
    let post = || gateway.client.post(url("/v1/chat/completions"));
    let response = post().body("{}").send().await.expect("the gateway answers");
    assert!(error_of(response, 400).await["message"].as_str().is_some_and(|text| text.contains("Content-Type")));
    for body in ["", "{", "[]", "{\"messages\": [{}]}", &"[".repeat(100_000)] {
        let request = post().header("content-type", "application/json; charset=utf-8").body(body.to_owned());
        let error = error_of(request.send().await.expect("the gateway answers"), 400).await;
        assert_eq!(error["type"], "Bad Request", "{error}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn only_served_names_are_served() {
    let config = ServeConfig { served_model_name: vec!["big".into(), "alias".into()], ..ServeConfig::default() };
    let gateway = replaying(&[json!({"text": "a"})], config).await;
    let error = refused(&gateway, &plain_chat(json!({})), 404).await;
    assert_eq!((&error["param"], &error["type"]), (&json!("model"), &json!("NotFoundError")));
    let answer = gateway.whole(&plain_chat(json!({"model": "alias"}))).await;
    assert_eq!(answer["model"], "big");
    let models =
        json_of(gateway.client.get(format!("{}/v1/models", gateway.base)).send().await.expect("it answers")).await;
    let ids: Vec<_> = models["data"].as_array().expect("a list").iter().map(|card| card["id"].clone()).collect();
    assert_eq!(ids, ["big", "alias"]);
    gateway.stop().await;
}

#[tokio::test]
async fn keys_guard_the_api_and_nothing_else() {
    let config = ServeConfig { api_key: vec!["first".into(), "second".into()], ..ServeConfig::default() };
    let gateway = replaying(&[json!({"text": "a"})], config).await;
    let get = |path: &str| gateway.client.get(format!("{}{path}", gateway.base));
    for path in ["/health", "/version", "/ping"] {
        assert_eq!(get(path).send().await.expect("it answers").status(), 200, "{path}");
    }
    for header in [None, Some("first"), Some("Basic first"), Some("Bearer"), Some("Bearer other"), Some("Bearer firs")]
    {
        let mut request = get("/v1/models");
        if let Some(value) = header {
            request = request.header("authorization", value);
        }
        let response = request.send().await.expect("it answers");
        assert_eq!(response.status(), 401, "{header:?}");
        assert_eq!(json_of(response).await, json!({"error": "Unauthorized"}));
    }
    for key in ["first", "second"] {
        let request = get("/v1/models").header("authorization", format!("Bearer {key}"));
        assert_eq!(request.send().await.expect("it answers").status(), 200);
    }
    let options = gateway.client.request(reqwest::Method::OPTIONS, format!("{}/v1/models", gateway.base));
    assert_ne!(options.send().await.expect("it answers").status(), 401);
    gateway.stop().await;
}

#[tokio::test]
async fn small_endpoints_answer() {
    let gateway = replaying(&[json!({"text": "a"})], ServeConfig::default()).await;
    let get =
        async |path: &str| gateway.client.get(format!("{}{path}", gateway.base)).send().await.expect("it answers");
    assert_eq!(get("/health").await.text().await.expect("a body"), "");
    assert_eq!(json_of(get("/version").await).await["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json_of(get("/v1/models").await).await["data"][0]["id"], "replay");
    gateway.stop().await;
}

#[test]
fn faults_at_start_up_name_their_place() {
    let fails = |config: ServeConfig| match App::new(&config) {
        Ok(_) => panic!("{config:?} is accepted"),
        Err(error) => format!("{} {}", error.message, error.hint.unwrap_or_default()),
    };
    let missing = std::path::PathBuf::from("no/such/file.toml");
    let broken = file("broken.toml", "names.tools = [\"mine\"\n");
    let base = ServeConfig::default;
    for (config, words) in [
        (
            ServeConfig { enable_auto_tool_choice: true, ..base() },
            vec!["--enable-auto-tool-choice", "--tool-call-parser"],
        ),
        (ServeConfig { tool_call_parser: Some("hermess".into()), ..base() }, vec!["hermess", "hermes"]),
        (ServeConfig { reasoning_parser: Some("qwen".into()), ..base() }, vec!["qwen"]),
        (
            ServeConfig { tool_parser_plugin: Some(missing.clone()), ..base() },
            vec!["no/such/file.toml", "--tool-parser-plugin"],
        ),
        (ServeConfig { reasoning_parser_plugin: Some(missing), ..base() }, vec!["--reasoning-parser-plugin"]),
        (ServeConfig { tool_parser_plugin: Some(broken), ..base() }, vec!["broken.toml"]),
        (ServeConfig { backend: BackendSpec::Replay("no/such.jsonl".into()), ..base() }, vec!["no/such.jsonl"]),
        (
            ServeConfig {
                backend: BackendSpec::Remote { kind: RemoteKind::OpenAi, urls: vec!["http://".into()] },
                chat_template: Some("chatml".to_owned()),
                ..base()
            },
            vec!["address"],
        ),
        (ServeConfig { backend_timeout: 0, ..base() }, vec!["--backend-timeout"]),
        (ServeConfig { mock_rate: f64::NAN, ..base() }, vec!["--mock-rate"]),
    ] {
        let told = fails(config);
        assert!(words.iter().all(|word| told.contains(word)), "{words:?}: {told}");
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_an_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let port = listener.local_addr().expect("a listener has an address").port();
    let config = ServeConfig { host: Some("127.0.0.1".to_owned()), port, ..ServeConfig::default() };
    let error = unspool_server::run(&config, |_| panic!("it listens")).await.expect_err("the port is taken");
    assert!(error.message.contains(&port.to_string()) && error.hint.is_some_and(|hint| hint.contains("--port")));
}

#[tokio::test]
async fn a_format_file_of_ones_own_is_served() {
    let path = file("mine.toml", "names.tools = [\"mine\"]\ntools.call = \"<<call>>{envelope}<</call>>\"\n");
    let config = ServeConfig {
        tool_call_parser: Some("mine".into()),
        tool_parser_plugin: Some(path),
        enable_auto_tool_choice: true,
        ..ServeConfig::default()
    };
    let text = "So: <<call>>{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\"}}<</call>>";
    let gateway = replaying(&[json!({"text": text})], config).await;
    let choice = gateway.streamed(&chat(json!({}))).await.one().clone();
    assert_eq!(choice.called(), [("tide".to_owned(), json!({"port": "Looe"}))]);
    gateway.stop().await;
}

#[tokio::test]
async fn a_recording_that_fits_nobody_is_an_error() {
    let gateway = replaying(&[json!({"text": "a", "match": "boats"})], ServeConfig::default()).await;
    let error = refused(&gateway, &plain_chat(json!({})), 503).await;
    assert!(error["message"].as_str().is_some_and(|text| text.contains("hint: ")), "{error}");
    let messages = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "my boats"}]}]});
    assert_eq!(gateway.whole(&with(plain_chat(json!({})), messages)).await["choices"][0]["message"]["content"], "a");
    gateway.stop().await;
}
