//! A complete answer: the same steps, folded.

use axum::response::Response;
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use unspool::{Diagnostic, ToolCall};

use super::super::service::json_response;
use super::Frame;
use super::chunk::{LogProbs, Usage};
use crate::backend::BackendError;
use crate::engine::Reply;
use crate::error::ApiError;
use crate::hosted::tell;
use crate::reply::{Ending, ReplyEvent, TokenCounts};

/// Waits for all answers and returns them.
pub(super) async fn answer(frame: &Frame, replies: Vec<Reply>) -> Result<Response, ApiError> {
    let mut answers = try_join_all(replies.into_iter().map(Answer::of)).await?;
    let prompt_logprobs = answers.first_mut().and_then(|answer| answer.prompt_probabilities.take());
    let tokens: Vec<TokenCounts> = answers.iter().map(|answer| answer.tokens).collect();
    let choices: Vec<Value> =
        answers.into_iter().enumerate().map(|(index, answer)| answer.choice(index, frame)).collect();
    let mut whole = json!({
        "id": frame.id,
        "object": "chat.completion",
        "created": frame.created,
        "model": frame.model,
        "choices": choices,
        "service_tier": null,
        "system_fingerprint": null,
        "usage": Usage::of(&tokens, frame.counts_reasoning),
        "prompt_logprobs": prompt_logprobs,
        "prompt_token_ids": frame.prompt_ids,
        "kv_transfer_params": null,
    });
    tell(frame.ignored_tools.as_ref(), &mut whole);
    Ok(json_response(&whole))
}

/// A folded answer.
#[derive(Default)]
struct Answer {
    reasoning: String,
    content: String,
    calls: Vec<ToolCall>,
    diagnostics: Vec<Diagnostic>,
    logprobs: LogProbs,
    ids: Vec<u32>,
    prompt_probabilities: Option<Value>,
    ending: Option<Ending>,
    tokens: TokenCounts,
}

impl Answer {
    async fn of(mut reply: Reply) -> Result<Self, BackendError> {
        let mut answer = Self::default();
        while let Some(step) = reply.next().await {
            let step = step?;
            if step.anew {
                answer = Self::default();
            }
            answer.tokens = step.tokens;
            answer.ending = step.ending;
            answer.ids.extend(step.ids);
            step.events.into_iter().for_each(|event| answer.take(event));
        }
        answer.prompt_probabilities = reply.prompt_probabilities();
        Ok(answer)
    }

    fn take(&mut self, event: ReplyEvent) {
        match event {
            ReplyEvent::Reasoning(text) => self.reasoning.push_str(&text),
            ReplyEvent::Content(text) => self.content.push_str(&text),
            ReplyEvent::CallStart { id, name, .. } => self.calls.push(ToolCall { id, name, ..ToolCall::default() }),
            ReplyEvent::CallArguments { index, json } => {
                if let Some(call) = self.calls.get_mut(index) {
                    call.arguments.push_str(&json);
                }
            }
            ReplyEvent::CallEnd { .. } => {}
            ReplyEvent::Note(diagnostic) => self.diagnostics.push(diagnostic),
            ReplyEvent::Probabilities { field, tokens } => self.logprobs.take(field, tokens),
        }
    }

    fn choice(self, index: usize, frame: &Frame) -> Value {
        let text = |text: String| if text.is_empty() { Value::Null } else { Value::String(text) };
        let silent = self.reasoning.is_empty() && self.calls.is_empty();
        // An empty answer has the empty text as content; next to reasoning or a call, content is null.
        let content = if silent { Value::String(self.content) } else { text(self.content) };
        let mut message = json!({
            "role": frame.role, "content": content, "refusal": null, "annotations": null, "audio": null,
            "function_call": null,
        });
        let thought = text(self.reasoning);
        if frame.reasoning_field.new_name() {
            message["reasoning"] = thought.clone();
        }
        if frame.reasoning_field.old_name() {
            message["reasoning_content"] = thought;
        }
        if !self.calls.is_empty() {
            let call = |call: ToolCall| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}});
            message["tool_calls"] = self.calls.into_iter().map(call).collect();
        }
        let (reason, stopped_at) = self.ending.map(|ending| (ending.reason, ending.stopped_at)).unzip();
        let mut choice = json!({
            "index": index, "message": message, "logprobs": self.logprobs.told(), "finish_reason": reason,
            "stop_reason": stopped_at.flatten(), "token_ids": frame.prompt_ids.as_ref().map(|_| self.ids),
        });
        if frame.diagnostics {
            choice["diagnostics"] = json!(self.diagnostics);
        }
        choice
    }
}
