//! One stream after the other, each checked against its message.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use reqwest::Client;
use serde::Deserialize;
use serde_json::json;

use crate::message::{self, Message, Unstamped};

/// Where streams are asked for.
#[derive(Clone)]
pub struct Target {
    pub base: String,
    /// Whether it speaks chat; else it is the raw channel.
    pub chat: bool,
}

/// What all clients share.
pub struct Shared {
    pub client: Client,
    pub target: Target,
    /// Number of the next stream.
    pub next: AtomicU64,
    /// Tokens so far.
    pub tokens: AtomicU64,
    pub until: Instant,
}

/// What one client found.
#[derive(Default)]
pub struct Found {
    pub streams: u64,
    pub bytes: u64,
    /// Ages of the tokens, in microseconds.
    pub ages: Vec<u32>,
    pub faults: Vec<String>,
}

/// Streams until the time is over; the last stream is read to its end.
pub async fn run(shared: Arc<Shared>) -> Found {
    let mut found = Found::default();
    while Instant::now() < shared.until {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        match stream(&shared, number, &mut found.ages).await {
            Ok(bytes) => {
                found.streams += 1;
                found.bytes += bytes;
            }
            Err(fault) => found.faults.push(format!("stream {number}: {fault}")),
        }
        if found.faults.len() > 3 {
            break;
        }
    }
    found
}

/// The bytes of the message, if the stream said it.
async fn stream(shared: &Shared, number: u64, ages: &mut Vec<u32>) -> Result<u64, String> {
    let said = format!("stream {number}");
    let (path, body) = if shared.target.chat {
        let tide =
            json!({"name": "tide", "parameters": {"type": "object", "properties": {"port": {"type": "string"}}}});
        let messages = json!([{"role": "user", "content": said}]);
        let tools = json!([{"type": "function", "function": tide}]);
        ("/v1/chat/completions", json!({"model": "m", "stream": true, "messages": messages, "tools": tools}))
    } else {
        ("/v1/completions", json!({"model": "m", "stream": true, "prompt": said}))
    };
    let request =
        shared.client.post(format!("{}{path}", shared.target.base)).header("content-type", "application/json");
    let mut answer = request.body(body.to_string()).send().await.map_err(|error| format!("{error:?}"))?;
    if answer.status() != 200 {
        return Err(format!("status {}", answer.status()));
    }
    let mut reader = Reader::default();
    while let Some(chunk) = answer.chunk().await.map_err(|error| format!("{error:?}"))? {
        let before = ages.len();
        reader.push(&chunk, ages)?;
        shared.tokens.fetch_add((ages.len() - before) as u64, Ordering::Relaxed);
    }
    reader.check(number, shared.target.chat)
}

/// Folds a stream of either kind.
#[derive(Default)]
struct Reader {
    rest: Vec<u8>,
    raw: Unstamped,
    thought: Unstamped,
    content: Unstamped,
    name: String,
    arguments: Unstamped,
    finish: Option<String>,
    done: bool,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    text: Option<String>,
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    reasoning: Option<String>,
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<String>,
}

impl Reader {
    fn push(&mut self, chunk: &[u8], ages: &mut Vec<u32>) -> Result<(), String> {
        self.rest.extend_from_slice(chunk);
        let rest = std::mem::take(&mut self.rest);
        let mut at = 0;
        while let Some(length) = rest[at..].windows(2).position(|pair| pair == b"\n\n") {
            self.event(&rest[at..at + length], ages)?;
            at += length + 2;
        }
        self.rest = rest[at..].to_vec();
        Ok(())
    }

    fn event(&mut self, event: &[u8], ages: &mut Vec<u32>) -> Result<(), String> {
        let shown = || String::from_utf8_lossy(event).into_owned();
        let data = event.strip_prefix(b"data: ").ok_or_else(|| format!("no event: {}", shown()))?;
        if self.done {
            return Err(format!("something follows the end: {}", shown()));
        }
        if data == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_slice(data).map_err(|error| format!("{error}: {}", shown()))?;
        for choice in chunk.choices {
            self.raw.push(choice.text.as_deref().unwrap_or_default(), ages);
            if let Some(delta) = choice.delta {
                self.thought.push(delta.reasoning.as_deref().unwrap_or_default(), ages);
                self.content.push(delta.content.as_deref().unwrap_or_default(), ages);
                for call in delta.tool_calls {
                    self.name.push_str(call.function.name.as_deref().unwrap_or_default());
                    self.arguments.push(call.function.arguments.as_deref().unwrap_or_default(), ages);
                }
            }
            self.finish = choice.finish_reason.or(self.finish.take());
        }
        Ok(())
    }

    fn check(self, number: u64, chat: bool) -> Result<u64, String> {
        let (tokens, message) = message::of(number);
        let raw: String = tokens.iter().map(|token| token.text.as_str()).collect();
        let bytes = raw.len() as u64;
        if !(self.done && self.rest.is_empty()) {
            return Err("the stream has no end".to_owned());
        }
        if !chat {
            return if self.raw.text == raw {
                Ok(bytes)
            } else {
                Err(format!("said {:?}, not {raw:?}", self.raw.text))
            };
        }
        // White space beside the markup is the format's own.
        let said = Message {
            thought: self.thought.text.trim().to_owned(),
            content: self.content.text.trim().to_owned(),
            arguments: self.arguments.text,
        };
        let ending = (self.name.as_str(), self.finish.as_deref());
        if said == message && ending == ("tide", Some("tool_calls")) {
            Ok(bytes)
        } else {
            Err(format!("said {said:?}, {ending:?}, not {message:?}"))
        }
    }
}
