//! `/v1/chat/completions`: servers that render the prompt themselves and return text, possibly with the model's markup.
//! Tool calls and reasoning that they have parsed already pass through.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use unspool::ToolChoice;

use super::{Asking, Dialect, Reader, broken_off, seed, unreadable};
use crate::backend::{BackendError, BackendFault, Job, Native, Piece, ServerFacts, StopReason, Tokens};
use crate::capabilities::Capabilities;
use crate::probability::TokenProbability;
use crate::request::ChatRequest;

#[derive(Debug)]
pub(super) struct Chat;

impl Dialect for Chat {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            notation_hint: "leave the flag out: a chat server is told what the client sent",
            chats: true,
            probabilities: true,
            ..Capabilities::default()
        }
    }

    fn path(&self) -> &'static str {
        "/v1/chat/completions"
    }

    fn health(&self) -> &'static str {
        "/v1/models"
    }

    fn facts(&self) -> &'static [&'static str] {
        // The second one is llama.cpp's.
        &["/v1/models", "/props", "/version"]
    }

    fn body(&self, job: &Job, asking: &Asking, facts: &ServerFacts) -> Map<String, Value> {
        let (request, sampling) = (&*job.request, job.sampling());
        let mut body = sampling.others.clone();
        let mut set = |key: &str, value: Value| {
            body.insert(key.to_owned(), value);
        };
        if let Some(model) = asking.model.as_ref().or(request.model.as_ref()) {
            set("model", json!(model));
        }
        set("messages", messages(request));
        set("stream", json!(true));
        set("stream_options", json!({"include_usage": true}));
        if let Some(most) = sampling.max_tokens {
            set("max_tokens", json!(most));
        }
        if sampling.min_tokens > 0 {
            set("min_tokens", json!(sampling.min_tokens));
        }
        if let Some(top) = sampling.wishes.top {
            set("logprobs", json!(true));
            set("top_logprobs", json!(top));
        }
        if let Some(seed) = seed(job) {
            set("seed", json!(seed));
        }
        if !sampling.stop.is_empty() {
            set("stop", json!(sampling.stop));
        }
        if let Some(budget) = sampling.thinking_budget {
            set("thinking_token_budget", json!(budget));
        }
        if let Some(documents) = &request.documents {
            set("documents", documents.clone());
        }
        if request.continue_final {
            set("continue_final_message", json!(true));
            set("add_generation_prompt", json!(false));
        }
        if asking.needs_special_tokens(job) && asking.extends(facts) {
            set("skip_special_tokens", json!(false));
            set("spaces_between_special_tokens", json!(false));
        }
        body.extend(switches(request));
        if !asking.omits_tools {
            body.extend(tools(request));
        }
        body
    }

    fn reader(&self, _job: &Job, _asking: &Asking) -> Box<dyn Reader> {
        Box::new(Events::default())
    }
}

/// The conversation. Reasoning is under both of its names, because servers know one or the other.
fn messages(request: &ChatRequest) -> Value {
    let named = |message: &Value| {
        let mut message = message.clone();
        if let Some(fields) = message.as_object_mut() {
            let thought = ["reasoning", "reasoning_content"].iter().find_map(|key| fields.get(*key)).cloned();
            if let Some(thought) = thought.filter(Value::is_string) {
                fields.entry("reasoning_content").or_insert_with(|| thought.clone());
                fields.entry("reasoning").or_insert(thought);
            }
        }
        message
    };
    request.raw_messages.iter().map(named).collect()
}

/// The switches of thinking: the effort, and the template's arguments except redundant ones.
fn switches(request: &ChatRequest) -> Map<String, Value> {
    let mut out = Map::new();
    let mut kwargs = request.parse.chat_template_kwargs.clone();
    if let Some(effort) = &request.parse.reasoning_effort {
        out.insert("reasoning_effort".to_owned(), json!(effort));
        kwargs.remove("reasoning_effort");
        if kwargs.len() == 1 && kwargs.get("enable_thinking") == Some(&json!(true)) {
            kwargs.clear();
        }
    }
    if !kwargs.is_empty() {
        out.insert("chat_template_kwargs".to_owned(), Value::Object(kwargs));
    }
    out
}

/// The tools and `tool_choice` as the client sent them.
fn tools(request: &ChatRequest) -> Map<String, Value> {
    let mut out = Map::new();
    if request.tools.is_empty() {
        return out;
    }
    out.insert("tools".to_owned(), json!(request.tools));
    let choice = match &request.parse.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
    };
    out.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    if request.parse.parallel_tool_calls == Some(false) {
        out.insert("parallel_tool_calls".to_owned(), json!(false));
    }
    out
}

/// One event, or the complete answer of a server that does not stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    index: Option<u64>,
    delta: Option<Said>,
    message: Option<Said>,
    logprobs: Option<Told>,
    finish_reason: Option<String>,
    stop_reason: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    content: Option<Vec<TokenProbability>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    content: Option<String>,
    reasoning: Option<String>,
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<CallPart>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallPart {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

/// A call that the server has parsed.
#[derive(Debug, PartialEq, Eq)]
struct Begun {
    /// The server's index of it. Some servers give all calls the same one, or none.
    index: Option<u64>,
    id: String,
}

#[derive(Debug, Default)]
struct Events {
    calls: Vec<Begun>,
}

impl Reader for Events {
    fn read(&mut self, data: &[u8], take: &mut dyn FnMut(Piece)) -> Result<(), BackendError> {
        let answer: Answer = serde_json::from_slice(data).map_err(|error| unreadable(&error))?;
        broken_off(answer.error.as_ref())?;
        for choice in answer.choices.into_iter().flatten() {
            // Only one choice was requested.
            if let Some(index @ 1..) = choice.index {
                let message = format!("the backend sent a choice with the index {index}, which nobody asked for");
                return Err(BackendError::new(BackendFault::BadAnswer, message));
            }
            let told = choice.logprobs.and_then(|told| told.content).unwrap_or_default();
            self.said(choice.delta.or(choice.message).unwrap_or_default(), told, take);
            if let Some(word) = choice.finish_reason {
                // The gateway itself knows whether there are calls.
                let calls = ["tool_calls", "function_call"].contains(&word.as_str());
                let reason = if calls { StopReason::Stop } else { StopReason::of_word(&word) };
                take(Piece::Stopped { reason, at: choice.stop_reason.filter(|at| !at.is_null()) });
            }
        }
        if let Some(Usage { prompt_tokens: Some(prompt), completion_tokens: Some(completion), prompt_tokens_details }) =
            answer.usage
        {
            let cached = prompt_tokens_details.and_then(|said| said.cached_tokens);
            take(Piece::Usage { prompt, completion, cached });
        }
        Ok(())
    }
}

impl Events {
    /// Log probabilities belong to the text if there is any, otherwise to the reasoning; for a message with both, the
    /// server does not say.
    fn said(&mut self, said: Said, mut told: Vec<TokenProbability>, take: &mut dyn FnMut(Piece)) {
        let thoughts = [said.reasoning, said.reasoning_content];
        if let Some(thought) = thoughts.into_iter().flatten().find(|text| !text.is_empty()) {
            take(Piece::Native(Native::Reasoning(thought)));
            if said.content.as_ref().is_none_or(String::is_empty) && !told.is_empty() {
                take(Piece::Native(Native::Probabilities(std::mem::take(&mut told))));
            }
        }
        for part in said.tool_calls.into_iter().flatten() {
            self.call(part, take);
        }
        if let Some(text) = said.content.filter(|text| !text.is_empty()) {
            take(Piece::Tokens(Tokens { text, ids: Vec::new(), probabilities: told }));
        }
    }

    fn call(&mut self, part: CallPart, take: &mut dyn FnMut(Piece)) {
        let function = part.function.unwrap_or_default();
        let (id, name) = (part.id.unwrap_or_default(), function.name.unwrap_or_default());
        let known = match part.index {
            Some(_) => self.calls.iter().rposition(|call| call.index == part.index),
            None => self.calls.len().checked_sub(1),
        };
        // Some servers give several calls one index, or none; a name with another id is another call.
        let other = |at: usize| !name.is_empty() && (part.index.is_none() || !id.is_empty() && self.calls[at].id != id);
        let slot = match known.filter(|at| !other(*at)) {
            Some(slot) => slot,
            None if name.is_empty() => return,
            None => {
                self.calls.push(Begun { index: part.index, id: id.clone() });
                take(Piece::Native(Native::CallStart { id, name }));
                self.calls.len() - 1
            }
        };
        let json = match function.arguments {
            None | Some(Value::Null) => return,
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
        };
        if !json.is_empty() {
            take(Piece::Native(Native::CallArguments { call: slot, json }));
        }
    }
}
