//! The JSON of chat answers, streamed and complete.

use serde::Serialize;
use serde_json::Value;
use unspool::Diagnostic;

use crate::config::ReasoningField;
use crate::probability::TokenProbability;
use crate::reply::{Field, ReplyEvent, TokenCounts};

/// The chunks of a stream; their common beginning is written once.
#[derive(Debug)]
pub(super) struct Chunks {
    head: Vec<u8>,
}

impl Chunks {
    pub(super) fn new(id: &str, created: u64, model: &str, ignored_tools: Option<&Value>) -> Self {
        let (id, model) = (Value::from(id), Value::from(model));
        let ignored = ignored_tools.map(|list| format!("\"ignored_tools\":{list},")).unwrap_or_default();
        let head = format!(
            "data: {{\"id\":{id},\"object\":\"chat.completion.chunk\",\"created\":{created},\"model\":{model},{ignored}\"choices\":["
        );
        Self { head: head.into_bytes() }
    }

    /// Writes a chunk. Its texts and numbers always serialise.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        choice: Option<&ChunkChoice<'_>>,
        (usage, prompt_ids): (Option<Usage>, Option<&Value>),
    ) {
        let start = out.len();
        out.extend_from_slice(&self.head);
        let mut written = Ok(());
        if let Some(choice) = choice {
            written = serde_json::to_writer(&mut *out, choice);
        }
        out.push(b']');
        if let Some(usage) = usage {
            out.extend_from_slice(b",\"usage\":");
            written = written.and(serde_json::to_writer(&mut *out, &usage));
        }
        if let Some(ids) = prompt_ids {
            out.extend_from_slice(b",\"prompt_token_ids\":");
            written = written.and(serde_json::to_writer(&mut *out, ids));
        }
        out.extend_from_slice(b"}\n\n");
        if written.is_err() {
            out.truncate(start);
        }
    }
}

/// The choice of a chunk.
#[derive(Debug, Serialize)]
pub(super) struct ChunkChoice<'a> {
    pub(super) index: usize,
    pub(super) delta: Delta,
    pub(super) logprobs: Option<LogProbs>,
    pub(super) finish_reason: Option<&'a str>,
    /// Diagnostics in the choice's last chunk, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) diagnostics: Option<Vec<Diagnostic>>,
    /// The ids of its tokens, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token_ids: Option<Vec<u32>>,
    /// Only in the choice's last chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_reason: Option<Value>,
}

/// Data of a step besides its text.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) logprobs: LogProbs,
}

/// The log probabilities of tokens, each in the field of its text.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct LogProbs {
    content: Option<Vec<TokenProbability>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning: Vec<TokenProbability>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallLogProbs>,
    /// Tokens that are only markup.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    markup: Vec<TokenProbability>,
}

/// Those of one call.
#[derive(Debug, PartialEq, Serialize)]
struct CallLogProbs {
    index: usize,
    content: Vec<TokenProbability>,
}

impl LogProbs {
    pub(super) fn take(&mut self, field: Field, tokens: Vec<TokenProbability>) {
        match field {
            Field::Content => self.content.get_or_insert_default().extend(tokens),
            Field::Reasoning => self.reasoning.extend(tokens),
            Field::Markup => self.markup.extend(tokens),
            Field::Call(index) => match self.tool_calls.iter_mut().find(|call| call.index == index) {
                Some(call) => call.content.extend(tokens),
                None => self.tool_calls.push(CallLogProbs { index, content: tokens }),
            },
        }
    }

    /// Returns itself unless it is empty.
    pub(super) fn told(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// The new data.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Delta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<CallDelta>,
}

/// The new data of a call.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct CallDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    index: usize,
    function: FunctionDelta,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct FunctionDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    arguments: String,
}

impl Delta {
    /// The first delta of a choice.
    pub(super) fn role(role: &str) -> Self {
        Self { role: Some(role.to_owned()), content: Some(String::new()), ..Self::default() }
    }

    /// Puts reasoning into the fields of the server's setting.
    pub(super) fn placed(mut self, field: ReasoningField) -> Self {
        if field.old_name() {
            self.reasoning_content = self.reasoning.clone();
        }
        if !field.new_name() {
            self.reasoning = None;
        }
        self
    }

    /// Folds the events of a step, and its other data. A chat client joins each field separately, so only the order
    /// within a field matters.
    pub(super) fn of(events: Vec<ReplyEvent>) -> (Self, Beside) {
        let (mut delta, mut beside) = (Self::default(), Beside::default());
        for event in events {
            match event {
                ReplyEvent::Reasoning(text) => append(&mut delta.reasoning, text),
                ReplyEvent::Content(text) => append(&mut delta.content, text),
                ReplyEvent::CallStart { index, id, name } => delta.tool_calls.push(CallDelta {
                    id: Some(id),
                    kind: Some("function"),
                    index,
                    function: FunctionDelta { name: Some(name), arguments: String::new() },
                }),
                ReplyEvent::CallArguments { index, json } => delta.arguments(index, json),
                ReplyEvent::CallEnd { .. } => {}
                ReplyEvent::Note(diagnostic) => beside.diagnostics.push(diagnostic),
                ReplyEvent::Probabilities { field, tokens } => beside.logprobs.take(field, tokens),
            }
        }
        (delta, beside)
    }

    fn arguments(&mut self, index: usize, json: String) {
        match self.tool_calls.iter_mut().rev().find(|call| call.index == index) {
            Some(call) => call.function.arguments.push_str(&json),
            None => {
                let function = FunctionDelta { name: None, arguments: json };
                self.tool_calls.push(CallDelta { index, function, ..CallDelta::default() });
            }
        }
    }

    /// Whether there is no new data.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn append(field: &mut Option<String>, text: String) {
    match field {
        Some(known) => known.push_str(&text),
        None => *field = Some(text),
    }
}

/// Token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Usage {
    prompt_tokens: u64,
    total_tokens: u64,
    completion_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

impl Usage {
    /// The counts of several answers to one prompt.
    pub(super) fn of(choices: &[TokenCounts], counts_reasoning: bool) -> Self {
        let sum = |count: fn(&TokenCounts) -> u64| choices.iter().map(count).fold(0, u64::saturating_add);
        let prompt_tokens = choices.iter().map(|choice| choice.prompt).max().unwrap_or(0);
        let completion_tokens = sum(|choice| choice.completion);
        let details = CompletionDetails { reasoning_tokens: sum(|choice| choice.reasoning) };
        let cached = choices.iter().filter_map(|choice| choice.cached).max();
        Self {
            prompt_tokens,
            prompt_tokens_details: cached.map(|cached_tokens| PromptDetails { cached_tokens }),
            total_tokens: prompt_tokens.saturating_add(completion_tokens),
            completion_tokens,
            completion_tokens_details: counts_reasoning.then_some(details),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_step_becomes_one_delta() {
        let (delta, _) = Delta::of(vec![
            ReplyEvent::Reasoning("hm".into()),
            ReplyEvent::Content("a".into()),
            ReplyEvent::CallStart { index: 1, id: "x".into(), name: "f".into() },
            ReplyEvent::CallArguments { index: 1, json: "{".into() },
            ReplyEvent::CallEnd { index: 1, complete: false },
            ReplyEvent::Content("b".into()),
        ]);
        let expected = json!({
            "content": "ab", "reasoning": "hm",
            "tool_calls": [{"id": "x", "type": "function", "index": 1, "function": {"name": "f", "arguments": "{"}}],
        });
        assert_eq!(serde_json::to_value(&delta).ok(), Some(expected));
        let (later, _) = Delta::of(vec![ReplyEvent::CallArguments { index: 1, json: "}".into() }]);
        let expected = json!({"tool_calls": [{"index": 1, "function": {"arguments": "}"}}]});
        assert_eq!(serde_json::to_value(&later).ok(), Some(expected));
        assert!(Delta::of(vec![ReplyEvent::CallEnd { index: 1, complete: true }]).0.is_empty());
    }

    #[test]
    fn the_prompt_counts_once() {
        let one = TokenCounts { prompt: 5, completion: 7, reasoning: 2, cached: Some(3) };
        let usage = Usage::of(&[one, one], true);
        let expected = json!({
            "prompt_tokens": 5, "total_tokens": 19, "completion_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 4},
        });
        assert_eq!(serde_json::to_value(usage).ok(), Some(expected));
        let plain = serde_json::to_value(Usage::of(&[], false)).expect("counts are JSON");
        assert!(plain.get("completion_tokens_details").is_none() && plain.get("prompt_tokens_details").is_none());
    }
}
