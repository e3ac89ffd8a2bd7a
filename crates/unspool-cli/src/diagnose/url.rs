//! Sends one request to a running server in several ways: to the chat API whole and streamed, and to the completions
//! API raw, with special tokens.

use std::time::Duration;

use serde_json::{Map, Value, json};
use unspool_check::diagnose::{Input, Kind, Server};
use unspool_text::{PromptRequest, Prompter};

use crate::failure::Failure;

/// Maximum silence of the server.
const SILENCE: Duration = Duration::from_secs(120);
/// Maximum size of an answer, in bytes.
const LONGEST: usize = 16 << 20;
/// Default maximum number of tokens.
const TOKENS: u64 = 1024;

/// The server's answers.
pub(super) struct Asked {
    pub(super) input: Input,
    pub(super) server: Server,
    pub(super) prompt: Option<String>,
    /// The request that was sent.
    pub(super) request: Value,
}

/// Queries the server.
pub(super) fn ask(
    url: &str,
    key: Option<&str>,
    request: &Value,
    prompter: Option<&Prompter>,
) -> Result<Asked, Failure> {
    // If a provider is already installed, it stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .read_timeout(SILENCE)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| Failure::Io(format!("cannot set up the HTTP client: {error}")))?;
    let base = url.trim_end_matches('/').trim_end_matches("/v1").to_owned();
    let line = Line { client, base, key: key.map(str::to_owned) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::Io(format!("cannot start: {error}")))?.block_on(line.all(request, prompter))
}

/// A connection to the server.
struct Line {
    client: reqwest::Client,
    base: String,
    key: Option<String>,
}

impl Line {
    async fn all(&self, request: &Value, prompter: Option<&Prompter>) -> Result<Asked, Failure> {
        let models = self.get("/v1/models").await?;
        let version = self.get("/version").await.ok().and_then(|body| body["version"].as_str().map(str::to_owned));
        let request = whole_request(request, &models);
        let whole = self.post("/v1/chat/completions", &request).await?;
        let whole = read(&whole)?;
        let mut streaming = request.clone();
        streaming["stream"] = json!(true);
        let streamed = self.post("/v1/chat/completions", &streaming).await.ok();
        let streamed = streamed.and_then(|text| read(&text).ok()).and_then(|input| input.outputs.into_iter().next());
        let (sent, prompt) = self.prompt(&request, prompter).await;
        let raw = match sent {
            Some(sent) => self.raw(&request, sent).await,
            None => None,
        };
        let mut first = whole.outputs.first().cloned().unwrap_or_default();
        if let Some(raw) = raw {
            (first.raw, first.place) = (raw, "the text of /v1/completions".to_owned());
        }
        let server = Server { whole: whole.outputs.into_iter().next(), streamed, version };
        let input = Input { kind: Kind::ChatCompletion, outputs: vec![first] };
        Ok(Asked { input, server, prompt, request })
    }

    /// The prompt for a raw completion, as text or tokens, and its text for the parser.
    async fn prompt(&self, request: &Value, prompter: Option<&Prompter>) -> (Option<Value>, Option<String>) {
        if let Some(text) = prompter.and_then(|prompter| rendered(prompter, request)) {
            return (Some(json!(text)), Some(text));
        }
        if let Some(text) = self.post_json("/v1/chat/completions/render", request).await
            && let Some(text) = text["prompt"].as_str().map(str::to_owned)
        {
            return (Some(json!(text)), Some(text));
        }
        let mut body = json!({"add_generation_prompt": true});
        for key in ["model", "messages", "tools", "chat_template_kwargs"] {
            if let Some(value) = request.get(key) {
                body[key] = value.clone();
            }
        }
        let Some(tokens) = self.post_json("/tokenize", &body).await.map(|body| body["tokens"].clone()) else {
            return (None, None);
        };
        let text = self.post_json("/detokenize", &json!({"model": request["model"], "tokens": tokens})).await;
        let text = text.and_then(|body| body["prompt"].as_str().map(str::to_owned));
        (Some(tokens).filter(Value::is_array), text)
    }

    /// The raw output of the model.
    async fn raw(&self, request: &Value, prompt: Value) -> Option<String> {
        let body = json!({
            "model": request["model"], "prompt": prompt, "max_tokens": request["max_tokens"], "temperature": 0, "seed": 0,
            "skip_special_tokens": false, "spaces_between_special_tokens": false,
        });
        let answer = self.post_json("/v1/completions", &body).await?;
        answer["choices"][0]["text"].as_str().map(str::to_owned)
    }

    async fn post_json(&self, path: &str, body: &Value) -> Option<Value> {
        serde_json::from_str(&self.post(path, body).await.ok()?).ok()
    }

    async fn get(&self, path: &str) -> Result<Value, Failure> {
        let text = self.send(self.client.get(format!("{}{path}", self.base)), path).await?;
        serde_json::from_str(&text).map_err(|error| unfit(path, &format!("its answer is not JSON: {error}")))
    }

    async fn post(&self, path: &str, body: &Value) -> Result<String, Failure> {
        let request = self.client.post(format!("{}{path}", self.base));
        self.send(request.header("content-type", "application/json").body(body.to_string()), path).await
    }

    async fn send(&self, request: reqwest::RequestBuilder, path: &str) -> Result<String, Failure> {
        let request = match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        let mut response = request.send().await.map_err(|error| unfit(path, &cause(&error)))?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| unfit(path, &cause(&error)))? {
            if bytes.len() + chunk.len() > LONGEST {
                return Err(unfit(path, "its answer is too long"));
            }
            bytes.extend_from_slice(&chunk);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if response.status().is_success() {
            return Ok(text);
        }
        let told: String = text.chars().take(300).collect();
        Err(unfit(path, &format!("it answers {}: {}", response.status(), told.replace('\n', " "))))
    }
}

/// The root cause of an error.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

fn unfit(path: &str, why: &str) -> Failure {
    Failure::usage(
        format!("--url: the server cannot be asked at {path}: {why}"),
        "give the address of a running server, such as http://127.0.0.1:8000",
    )
}

fn read(text: &str) -> Result<Input, Failure> {
    Input::read(text).map_err(|error| Failure::usage(format!("--url: {}", error.message), error.hint))
}

/// Completes the request: adds a model, a question with a tool, and a limit of tokens if they are missing.
fn whole_request(request: &Value, models: &Value) -> Value {
    let mut out = request.as_object().cloned().unwrap_or_default();
    let set = |out: &mut Map<String, Value>, key: &str, value: Value| {
        out.entry(key).or_insert(value);
    };
    set(&mut out, "model", models["data"][0]["id"].clone());
    if !out.contains_key("messages") {
        set(&mut out, "messages", json!([{"role": "user", "content": "When is high water in Whitby today?"}]));
        set(
            &mut out,
            "tools",
            json!([{"type": "function", "function": {"name": "tide_table",
            "description": "The times of high water in a harbour", "parameters": {"type": "object",
            "properties": {"harbour": {"type": "string"}}, "required": ["harbour"]}}}]),
        );
    }
    set(&mut out, "max_tokens", json!(TOKENS));
    set(&mut out, "temperature", json!(0));
    set(&mut out, "seed", json!(0));
    out.remove("stream");
    out.remove("stream_options");
    Value::Object(out)
}

fn rendered(prompter: &Prompter, request: &Value) -> Option<String> {
    let empty = Map::new();
    let prompt = PromptRequest {
        messages: request["messages"].as_array()?,
        tools: request.get("tools").and_then(Value::as_array).map(Vec::as_slice),
        documents: None,
        kwargs: request.get("chat_template_kwargs").and_then(Value::as_object).unwrap_or(&empty),
        template: None,
        generation_prompt: true,
        continue_final: false,
    };
    prompter.render(&prompt).ok().map(unspool_text::PromptText::into_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_made_whole() {
        let models = json!({"data": [{"id": "m"}]});
        let made = whole_request(&json!({}), &models);
        assert_eq!((&made["model"], made["tools"].is_array()), (&json!("m"), true));
        let own = json!({"model": "x", "messages": [], "stream": true, "max_tokens": 3});
        let made = whole_request(&own, &models);
        assert_eq!((&made["model"], &made["max_tokens"], made.get("stream")), (&json!("x"), &json!(3), None));
        assert_eq!(made.get("tools"), None, "a request of one's own stays as it is");
    }
}
