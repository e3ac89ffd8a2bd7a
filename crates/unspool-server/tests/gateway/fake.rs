//! Servers of each kind that write what a test tells them, one answer a request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use unspool_server::{BackendSpec, RemoteKind, ServeConfig};

use crate::common::pair;
use crate::model::with_model;

/// Special tokens of the model of [`with_model`].
const SPECIAL: [(&str, u32); 3] = [("<think>", 259), ("</think>", 260), ("<|end|>", 261)];

/// An answer, piece by piece; each has the tokens of its text.
pub(crate) type Answer = Vec<String>;

/// A server with scripted answers.
pub(crate) struct Fake {
    kind: RemoteKind,
    /// Whether it says the ids of its tokens.
    ids: bool,
    /// So many bytes of text are held back until the end, as a server does that looks for a stop text; the tokens are not.
    lag: usize,
    answers: Mutex<VecDeque<Answer>>,
    seen: Mutex<Vec<Value>>,
}

impl Fake {
    /// A server that gives these answers in turn, and then refuses.
    pub(crate) async fn start(kind: RemoteKind, answers: Vec<Answer>) -> (Arc<Self>, String) {
        Self::start_lagging(kind, 0, answers).await
    }

    /// As [`Fake::start`], with text that comes this many bytes after its tokens.
    pub(crate) async fn start_lagging(kind: RemoteKind, lag: usize, answers: Vec<Answer>) -> (Arc<Self>, String) {
        let ids = kind != RemoteKind::OpenAi;
        let fake = Arc::new(Self { kind, ids, lag, answers: Mutex::new(answers.into()), seen: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&fake));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (fake, url)
    }

    /// What it was asked, since it was asked this last.
    pub(crate) fn seen(&self) -> Vec<Value> {
        std::mem::take(&mut *self.seen.lock().expect("no test panics here"))
    }

    /// The events of an answer; `asked` is the request for it.
    fn events(&self, answer: &Answer, asked: &Value) -> Vec<Value> {
        let tells = ["logprobs", "return_logprob", "n_probs"].iter().any(|key| asked.get(key).is_some());
        let named = asked.get("return_tokens_as_token_ids") == Some(&Value::Bool(true));
        let mut count = 0;
        let mut events: Vec<Value> = Vec::new();
        let mut held = String::new();
        for text in answer {
            let ids = tokens(text);
            count += ids.len();
            held.push_str(text);
            let due = held.len().saturating_sub(self.lag);
            let due = (0..=due).rev().find(|at| held.is_char_boundary(*at)).unwrap_or_default();
            let text: String = held.drain(..due).collect();
            let mut event = self.event(&text, &ids, count);
            if tells || self.kind == RemoteKind::Tgi {
                self.tell(&mut event, &ids, named);
            }
            events.push(event);
        }
        if !held.is_empty() {
            events.push(self.event(&held, &[], count));
        }
        events.extend(self.ending(count));
        events
    }

    fn event(&self, text: &str, ids: &[u32], count: usize) -> Value {
        match self.kind {
            RemoteKind::Chat => json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}),
            RemoteKind::OpenAi | RemoteKind::Vllm => {
                let mut choice = json!({"index": 0, "text": text, "finish_reason": null});
                if self.ids {
                    choice["token_ids"] = json!(ids);
                }
                json!({"choices": [choice]})
            }
            RemoteKind::Sglang => json!({"text": text, "output_ids": ids,
                "meta_info": {"prompt_tokens": 40, "completion_tokens": count, "finish_reason": null}}),
            RemoteKind::LlamaCpp => json!({"content": text, "tokens": ids, "stop": false}),
            RemoteKind::Tgi => {
                json!({"token": {"id": ids[0], "text": text, "special": ids[0] >= 256}, "details": null})
            }
        }
    }

    /// Adds what the server tells of these tokens, in its own form.
    fn tell(&self, event: &mut Value, ids: &[u32], named: bool) {
        let all = |one: &dyn Fn(u32) -> Value| ids.iter().map(|id| one(*id)).collect::<Vec<_>>();
        let name = |id: u32| if named { format!("token_id:{id}") } else { text_of(id) };
        match self.kind {
            RemoteKind::OpenAi | RemoteKind::Vllm => {
                event["choices"][0]["logprobs"] = json!({
                    "tokens": all(&|id| json!(name(id))),
                    "token_logprobs": all(&|id| json!(logprob(id))),
                    "top_logprobs": all(&|id| json!({name(id): logprob(id), name(33): -9.0, name(34): -8.0})),
                    "text_offset": all(&|_| json!(0)),
                });
            }
            RemoteKind::Sglang => {
                event["meta_info"]["output_token_logprobs"] = json!(all(&|id| json!([logprob(id), id, text_of(id)])));
                event["meta_info"]["output_top_logprobs"] =
                    json!(all(&|id| json!([[logprob(id), id, text_of(id)], [-9.0, 33, "!"], [-8.0, 34, "\""]])));
            }
            RemoteKind::LlamaCpp => {
                let told = |id: u32, logprob: f64| json!({"id": id, "token": text_of(id), "bytes": text_of(id).as_bytes(), "logprob": logprob});
                event["completion_probabilities"] = json!(all(&|id| {
                    let mut own = told(id, logprob(id));
                    own["top_logprobs"] = json!([told(id, logprob(id)), told(33, -9.0), told(34, -8.0)]);
                    own
                }));
            }
            RemoteKind::Tgi => {
                let token = |id: u32, logprob: f64| json!({"id": id, "text": text_of(id), "logprob": logprob, "special": id >= 256});
                event["token"]["logprob"] = json!(logprob(ids[0]));
                event["top_tokens"] = json!([token(ids[0], logprob(ids[0])), token(33, -9.0), token(34, -8.0)]);
            }
            RemoteKind::Chat => {
                let token = |id: u32, logprob: f64| json!({"token": text_of(id), "logprob": logprob, "bytes": text_of(id).as_bytes()});
                event["choices"][0]["logprobs"] = json!({"content": all(&|id| {
                    let mut own = token(id, logprob(id));
                    own["top_logprobs"] = json!([token(id, logprob(id)), token(34, -8.0)]);
                    own
                })});
            }
        }
    }

    fn ending(&self, count: usize) -> Vec<Value> {
        match self.kind {
            RemoteKind::OpenAi | RemoteKind::Vllm | RemoteKind::Chat => vec![
                json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": count}}),
            ],
            RemoteKind::Sglang => vec![json!({"text": "", "output_ids": [], "meta_info": {"prompt_tokens": 40,
                "completion_tokens": count, "finish_reason": {"type": "stop", "matched": 261}}})],
            RemoteKind::LlamaCpp => vec![json!({"content": "", "tokens": [], "stop": true, "stop_type": "eos",
                "tokens_evaluated": 40, "tokens_predicted": count})],
            RemoteKind::Tgi => vec![json!({"token": {"id": 261, "text": "<|end|>", "special": true},
                "details": {"finish_reason": "eos_token", "generated_tokens": count}})],
        }
    }
}

async fn answer(State(fake): State<Arc<Fake>>, method: Method, uri: Uri, body: Bytes) -> Response {
    if method == Method::GET && uri.path() != "/health" {
        return StatusCode::NOT_FOUND.into_response();
    }
    if uri.path() == "/health" {
        return StatusCode::OK.into_response();
    }
    let asked: Value = serde_json::from_slice(&body).expect("the gateway sends JSON");
    fake.seen.lock().expect("no test panics here").push(asked.clone());
    let Some(answer) = fake.answers.lock().expect("no test panics here").pop_front() else {
        return (StatusCode::BAD_REQUEST, r#"{"error": {"message": "no grammar like this"}}"#).into_response();
    };
    let events = fake.events(&answer, &asked).into_iter().map(|event| format!("data: {event}\n\n")).collect::<String>();
    ([("content-type", "text/event-stream")], Body::from(events)).into_response()
}

/// What a server says of a token: its text, and a log probability that names it.
pub(crate) fn text_of(id: u32) -> String {
    let special = SPECIAL.iter().find(|(_, own)| *own == id).map(|(text, _)| (*text).to_owned());
    special.unwrap_or_else(|| char::from_u32(id).map(String::from).unwrap_or_default())
}

pub(crate) fn logprob(id: u32) -> f64 {
    -f64::from(id) / 1000.0
}

/// The tokens of a text: its special tokens, else its bytes.
pub(crate) fn tokens(text: &str) -> Vec<u32> {
    let token = |piece: String| match SPECIAL.iter().find(|(text, _)| *text == piece) {
        Some((_, id)) => vec![*id],
        None => piece.bytes().map(u32::from).collect(),
    };
    singly(text).into_iter().flat_map(token).collect()
}

/// A text as an answer of one token a piece.
pub(crate) fn singly(text: &str) -> Answer {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let special = SPECIAL.iter().find(|(text, _)| rest.starts_with(text));
        let length = special.map_or(first.len_utf8(), |(text, _)| text.len());
        out.push(rest[..length].to_owned());
        rest = &rest[length..];
    }
    out
}

/// A gateway's settings in front of it; prompts are made with the model's template, which opens a thought.
pub(crate) fn in_front(kind: RemoteKind, url: String) -> ServeConfig {
    let backend = BackendSpec::Remote { kind, urls: vec![url] };
    with_model(ServeConfig { backend, ..pair("qwen3", "hermes") })
}
