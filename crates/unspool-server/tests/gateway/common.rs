//! What the tests share: a gateway on a free port, and a client that folds what it reads.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::response::Response;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use unspool_server::{App, BackendSpec, ServeConfig};

/// Replies of these pairs, all of which say the same: a thought, a sentence and two calls.
pub(crate) const WIRES: [(&str, &str, &str); 4] = [
    (
        "qwen3",
        "hermes",
        "<think>\nTwo ports, so two calls.\n</think>\n\nLet me look.\n<tool_call>\n{\"name\": \"tide\", \"arguments\": \
         {\"port\": \"Looe\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"wind\", \"arguments\": {\"port\": \"Łeba 🛶\", \
         \"days\": 2}}\n</tool_call>",
    ),
    (
        "qwen3",
        "qwen3_coder",
        "<think>\nTwo ports, so two calls.\n</think>\n\nLet me look.\n<tool_call>\n<function=tide>\n<parameter=port>\n\
         Looe\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=wind>\n<parameter=port>\nŁeba 🛶\n\
         </parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "kimi_k2",
        "kimi_k2",
        "<think>Two ports, so two calls.</think>Let me look.<|tool_calls_section_begin|><|tool_call_begin|>\
         functions.tide:0<|tool_call_argument_begin|>{\"port\": \"Looe\"}<|tool_call_end|><|tool_call_begin|>\
         functions.wind:1<|tool_call_argument_begin|>{\"port\": \"Łeba 🛶\", \"days\": 2}<|tool_call_end|>\
         <|tool_calls_section_end|>",
    ),
    (
        "deepseek_r1",
        "deepseek_v3",
        "Two ports, so two calls.</think>Let me look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>\
         tide\n```json\n{\"port\": \"Looe\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>wind\n\
         ```json\n{\"port\": \"Łeba 🛶\", \"days\": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
];

/// The tools of those replies.
pub(crate) fn tools() -> Value {
    json!([
        {"type": "function", "function": {"name": "tide", "parameters": {
            "type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}}},
        {"type": "function", "function": {"name": "wind", "parameters": {
            "type": "object", "properties": {"port": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["port", "days"]}}},
    ])
}

/// A chat request with those tools.
pub(crate) fn chat(more: Value) -> Value {
    with(json!({"model": "m", "messages": [{"role": "user", "content": "How is the tide?"}], "tools": tools()}), more)
}

/// A chat request without tools.
pub(crate) fn plain_chat(more: Value) -> Value {
    with(json!({"model": "m", "messages": [{"role": "user", "content": "How is the tide?"}]}), more)
}

/// `base` with the fields of `more`.
pub(crate) fn with(mut base: Value, more: Value) -> Value {
    if let (Some(base), Value::Object(more)) = (base.as_object_mut(), more) {
        base.extend(more);
    }
    base
}

/// Settings for a pair, with automatic choice.
pub(crate) fn pair(reasoning: &str, tools: &str) -> ServeConfig {
    ServeConfig {
        reasoning_parser: Some(reasoning.to_owned()),
        tool_call_parser: Some(tools.to_owned()),
        enable_auto_tool_choice: true,
        mock_rate: 0.0,
        ..ServeConfig::default()
    }
}

/// A file for one test.
pub(crate) fn file(name: &str, text: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}-{name}", std::process::id()));
    std::fs::write(&path, text).expect("the target folder takes files");
    path
}

/// A gateway that plays `lines`.
pub(crate) async fn replaying(lines: &[Value], config: ServeConfig) -> Gateway {
    let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let path = file("replay.jsonl", &text);
    Gateway::start(ServeConfig { backend: BackendSpec::Replay(path), ..config }).await
}

/// A running gateway; it stops when it is dropped.
pub(crate) struct Gateway {
    pub(crate) base: String,
    pub(crate) client: reqwest::Client,
    stop: Option<oneshot::Sender<()>>,
    server: Option<tokio::task::JoinHandle<()>>,
}

impl Gateway {
    pub(crate) async fn start(config: ServeConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let address = listener.local_addr().expect("a listener has an address");
        Self::on(listener, &config, (format!("http://{address}"), client()))
    }

    /// On a listener of its own, with a client that knows how to speak to it.
    pub(crate) fn on<L>(listener: L, config: &ServeConfig, (base, client): (String, reqwest::Client)) -> Self
    where
        L: axum::serve::Listener,
        L::Addr: std::fmt::Debug,
    {
        let app = App::new(&prompted(config)).expect("the settings of a test are right");
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(async move {
            let ended = unspool_server::serve(listener, Arc::new(app), async {
                let _ = stopped.await;
            });
            ended.await.expect("the server ends well");
        });
        Self { base, client, stop: Some(stop), server: Some(server) }
    }

    /// Stops it, and waits until the last answer is given.
    pub(crate) async fn stop(mut self) {
        self.tell();
        self.server.take().expect("it is stopped once").await.expect("the server does not panic");
    }

    /// Tells it to stop.
    pub(crate) fn tell(&mut self) {
        drop(self.stop.take());
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> reqwest::Response {
        let request = self.client.post(format!("{}{path}", self.base)).header("content-type", "application/json");
        request.body(body.to_string()).send().await.expect("the gateway answers")
    }

    pub(crate) async fn whole(&self, body: &Value) -> Value {
        let response = self.post("/v1/chat/completions", body).await;
        let status = response.status();
        let value = json_of(response).await;
        assert_eq!(status, 200, "{value}");
        value
    }

    pub(crate) async fn streamed(&self, body: &Value) -> Folded {
        let body = with(body.clone(), json!({"stream": true}));
        let response = self.post("/v1/chat/completions", &body).await;
        assert_eq!(response.status(), 200);
        let text = response.text().await.expect("the stream can be read");
        Folded::of(&text)
    }
}

/// With the simple prompts, where no template is known and no server makes prompts.
fn prompted(config: &ServeConfig) -> ServeConfig {
    let known = config.model_dir.is_some() || config.chat_template.is_some();
    match &config.backend {
        BackendSpec::Remote { kind, .. } if !known && !kind.makes_prompts() => {
            ServeConfig { chat_template: Some("chatml".to_owned()), ..config.clone() }
        }
        _ => config.clone(),
    }
}

/// The address of a server that answers every request so, by its path.
pub(crate) async fn server_of(answer: impl Fn(&str) -> Response + Clone + Send + Sync + 'static) -> String {
    let router = Router::new().fallback(move |uri: axum::http::Uri| {
        let answer = answer(uri.path());
        async { answer }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// A client that speaks to loopback only.
pub(crate) fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("a client can be made")
}

pub(crate) async fn json_of(response: reqwest::Response) -> Value {
    let text = response.text().await.expect("the body can be read");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A streamed answer, folded.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    pub(crate) choices: BTreeMap<u64, Choice>,
    pub(crate) usage: Option<Value>,
    pub(crate) chunk_usages: Vec<Value>,
    pub(crate) error: Option<Value>,
    pub(crate) chunks: Vec<Value>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) reasoning: String,
    pub(crate) content: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) finish: Option<String>,
    pub(crate) stop_reason: Value,
    pub(crate) argument_deltas: usize,
    pub(crate) diagnostics: Vec<Value>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Folded {
    /// Folds a stream, and checks what holds for every stream.
    pub(crate) fn of(text: &str) -> Self {
        let mut out = Self::default();
        let mut id = None;
        let events: Vec<&str> = text.split("\n\n").filter(|event| !event.is_empty()).collect();
        assert_eq!(events.last(), Some(&"data: [DONE]"), "{text}");
        for event in &events[..events.len() - 1] {
            let data = event.strip_prefix("data: ").unwrap_or_else(|| panic!("{event}"));
            let data: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
            assert!(out.error.is_none() && out.usage.is_none(), "something follows the end: {text}");
            if let Some(error) = data.get("error") {
                out.error = Some(error.clone());
                continue;
            }
            assert_eq!(data["object"], "chat.completion.chunk");
            assert_eq!(*id.get_or_insert_with(|| data["id"].clone()), data["id"]);
            out.chunks.push(data.clone());
            let choices = data["choices"].as_array().expect("a chunk has choices");
            match choices.first() {
                None => out.usage = Some(data["usage"].clone()),
                Some(choice) => {
                    out.chunk_usages.extend(data.get("usage").cloned());
                    out.take(choice);
                }
            }
        }
        out
    }

    fn take(&mut self, chunk: &Value) {
        let index = chunk["index"].as_u64().expect("a choice has an index");
        let delta = &chunk["delta"];
        let first = !self.choices.contains_key(&index);
        assert_eq!(first, delta["role"] == "assistant", "the first chunk has the role: {chunk}");
        let choice = self.choices.entry(index).or_default();
        assert!(choice.finish.is_none(), "a chunk follows the last one: {chunk}");
        choice.reasoning.push_str(delta["reasoning"].as_str().unwrap_or_default());
        choice.content.push_str(delta["content"].as_str().unwrap_or_default());
        choice.diagnostics.extend(chunk["diagnostics"].as_array().into_iter().flatten().cloned());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = usize::try_from(call["index"].as_u64().expect("a call has an index")).expect("it is small");
            let arguments = call["function"]["arguments"].as_str().expect("a call delta has arguments");
            if let Some(name) = call["function"]["name"].as_str() {
                assert_eq!((at, &call["type"]), (choice.calls.len(), &json!("function")), "calls come in order");
                let id = call["id"].as_str().expect("a call has an id").to_owned();
                choice.calls.push(Call { id, name: name.to_owned(), arguments: String::new() });
            } else {
                assert!(call.get("id").is_none() && call.get("type").is_none(), "id and type come once: {call}");
            }
            choice.argument_deltas += usize::from(!arguments.is_empty());
            choice.calls[at].arguments.push_str(arguments);
        }
        choice.finish = chunk["finish_reason"].as_str().map(str::to_owned);
        choice.stop_reason = chunk["stop_reason"].clone();
    }

    /// The only choice.
    pub(crate) fn one(&self) -> &Choice {
        assert_eq!(self.choices.len(), 1);
        &self.choices[&0]
    }
}

impl Choice {
    /// A choice of a whole answer, in the same form.
    pub(crate) fn of_whole(choice: &Value) -> Self {
        let message = &choice["message"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let call = |call: &Value| Call {
            id: text(&call["id"]),
            name: text(&call["function"]["name"]),
            arguments: text(&call["function"]["arguments"]),
        };
        Self {
            reasoning: text(&message["reasoning"]),
            content: text(&message["content"]),
            calls: message["tool_calls"].as_array().into_iter().flatten().map(call).collect(),
            finish: choice["finish_reason"].as_str().map(str::to_owned),
            stop_reason: choice["stop_reason"].clone(),
            ..Self::default()
        }
    }

    /// Without what is made anew for every answer.
    pub(crate) fn comparable(&self) -> Self {
        let mut out = self.clone();
        out.argument_deltas = 0;
        out.calls.iter_mut().for_each(|call| call.id.clear());
        out
    }

    /// Names and arguments of the calls.
    pub(crate) fn called(&self) -> Vec<(String, Value)> {
        let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        self.calls.iter().map(|call| (call.name.clone(), parse(&call.arguments))).collect()
    }
}

/// A stream of named events.
#[derive(Debug)]
pub(crate) struct Events(pub(crate) Vec<(String, Value)>);

impl Events {
    /// Reads a stream, in which every event has a name and one line of JSON, and nothing else stands.
    pub(crate) fn of(text: &str) -> Self {
        let event = |event: &str| {
            let (name, data) = event.split_once('\n').unwrap_or_else(|| panic!("{event}"));
            let name = name.strip_prefix("event: ").unwrap_or_else(|| panic!("{event}"));
            let data = data.strip_prefix("data: ").unwrap_or_else(|| panic!("{event}"));
            (name.to_owned(), serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}")))
        };
        Self(text.split("\n\n").filter(|event| !event.is_empty()).map(event).collect())
    }
}
