//! From a conversation to the prompt of a raw model.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::Value;
use tokio::sync::Semaphore;
use unspool::{Message, Pair, PromptToken, ToolCall};

use crate::blocking;
use crate::config::ChatStart;
use crate::error::ApiError;
use crate::request::{ChatMessage, ChatRequest, MessageCall};

/// A prompt, as far as it is known here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedPrompt {
    /// The text for the model.
    pub text: String,
    /// Start of the assistant turn in it; `None`: the prompt does not determine how the reply begins.
    pub turn: Option<usize>,
    /// Number of its tokens.
    pub tokens: Option<u64>,
    /// The tokens themselves; empty: unknown. Their bytes are empty if only their ids are known.
    pub encoded: Vec<PromptToken>,
    /// Whether the text includes the special tokens that begin a sequence, so that they must not be added.
    pub complete: bool,
    /// Where the reply begins, if that is set and the prompt is unknown.
    pub begins: Option<ChatStart>,
}

impl RenderedPrompt {
    /// The ids of its tokens; empty: unknown.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        self.encoded.iter().map(|token| token.id).collect()
    }

    /// The part that determines where the reply begins.
    #[must_use]
    pub fn tail(&self) -> unspool::Prompt<'_> {
        match self.begins {
            Some(ChatStart::Content) => return unspool::Prompt::Content,
            Some(ChatStart::Reasoning) => return unspool::Prompt::Reasoning,
            None => {}
        }
        match self.turn.and_then(|at| self.text.get(at..)) {
            // Ids without bytes do not show the text.
            Some(_) if self.encoded.iter().any(|token| !token.bytes.is_empty()) => {
                unspool::Prompt::Tokens(&self.encoded)
            }
            Some(tail) => unspool::Prompt::Text(tail),
            None => unspool::Prompt::Unknown,
        }
    }
}

/// Renders prompts.
pub trait PromptRenderer: fmt::Debug + Send + Sync {
    /// The prompt for a request.
    ///
    /// # Errors
    /// A conversation that cannot be expressed as text.
    fn render(&self, request: &ChatRequest) -> Result<RenderedPrompt, ApiError>;

    /// Whether the prompt is the one that the model was trained on, rather than an approximation.
    fn is_exact(&self, request: &ChatRequest) -> bool {
        let _ = request;
        false
    }

    /// The limit of prompts rendered at once; `None`: no limit.
    fn turns(&self) -> Option<&Arc<Semaphore>> {
        None
    }
}

/// Renders on its own thread: templates and tokenizers take long, and no other request should wait for them.
///
/// # Errors
/// As [`PromptRenderer::render`].
pub async fn render(
    renderer: &Arc<dyn PromptRenderer>,
    request: &Arc<ChatRequest>,
) -> Result<RenderedPrompt, ApiError> {
    let (renderer, request) = (Arc::clone(renderer), Arc::clone(request));
    match renderer.turns().cloned() {
        Some(turns) => blocking::in_turn(&turns, move || renderer.render(&request)).await,
        None => blocking::run(move || renderer.render(&request)).await,
    }
}

/// An empty prompt, for backends that need none.
#[derive(Debug, Clone, Copy)]
pub struct NoPrompt;

impl PromptRenderer for NoPrompt {
    fn render(&self, _request: &ChatRequest) -> Result<RenderedPrompt, ApiError> {
        Ok(RenderedPrompt::default())
    }
}

/// Refuses conversations, because the model's prompt format is unknown.
#[derive(Debug, Clone, Copy)]
pub struct Unprompted {
    /// The hint for the error.
    pub hint: &'static str,
}

impl PromptRenderer for Unprompted {
    fn render(&self, request: &ChatRequest) -> Result<RenderedPrompt, ApiError> {
        match &request.raw_prompt {
            Some(text) => Ok(RenderedPrompt { text: text.clone(), ..RenderedPrompt::default() }),
            None => Err(ApiError::new(StatusCode::NOT_IMPLEMENTED, "this gateway makes no prompts of conversations")
                .hint(self.hint)),
        }
    }
}

/// A simple prompt in the manner of ChatML, for who asks for it (`--chat-template chatml`):
///
/// ```text
/// <|im_start|>system
/// (the system messages; the tools, one JSON object a line; how a call is written)<|im_end|>
/// <|im_start|>user
/// (text)<|im_end|>
/// <|im_start|>assistant
/// (text and calls, in the format's own syntax; thoughts are left out)<|im_end|>
/// <|im_start|>tool
/// (a result)<|im_end|>
/// <|im_start|>assistant
/// ```
///
/// `developer` counts as `system`. With `continue_final_message` the last message stays open, and with
/// `add_generation_prompt: false` the last line is left out.
#[derive(Debug)]
pub struct ChatMl {
    pair: Pair,
}

const START: &str = "<|im_start|>";
const END: &str = "<|im_end|>\n";

impl ChatMl {
    /// A renderer that writes calls in the syntax of `pair`.
    #[must_use]
    pub fn new(pair: Pair) -> Self {
        Self { pair }
    }

    fn system(&self, request: &ChatRequest) -> String {
        let system = request.messages.iter().filter(|message| is_system(message)).map(ChatMessage::text);
        let mut text = system.collect::<Vec<_>>().join("\n\n");
        if request.tools.is_empty() {
            return text;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str("# Tools\n\nThese functions can be called:\n");
        for tool in &request.tools {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}", tool.get("function").unwrap_or(tool));
        }
        if let Some(example) = self.example(request) {
            let _ = write!(text, "\nA call is written like this:\n{}\n", example.trim());
        }
        text
    }

    /// A call of the first function in the format's syntax.
    fn example(&self, request: &ChatRequest) -> Option<String> {
        let name = request.tools.first()?.pointer("/function/name").and_then(Value::as_str)?;
        let call = ToolCall {
            name: name.to_owned(),
            arguments: r#"{"parameter": "value"}"#.to_owned(),
            complete: true,
            ..ToolCall::default()
        };
        let message = Message { tool_calls: vec![call], ..Message::default() };
        self.pair.render(&message, &request.parse).ok().filter(|text| !text.trim().is_empty())
    }

    /// An assistant message, calls included.
    fn assistant(&self, message: &ChatMessage, request: &ChatRequest) -> Result<String, ApiError> {
        let content = message.text().into_owned();
        if message.calls().is_empty() {
            return Ok(content);
        }
        let call = |call: &MessageCall| ToolCall {
            id: call.id.clone().unwrap_or_default(),
            name: call.function.name.clone(),
            arguments: call
                .function
                .arguments
                .clone()
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| "{}".to_owned()),
            complete: true,
        };
        let tool_calls = message.calls().iter().map(call).collect();
        let said = Message { content, tool_calls, ..Message::default() };
        self.pair.render(&said, &request.parse).map_err(|error| {
            ApiError::bad_field("messages", format!("a call in the conversation cannot be written: {}", error.message))
        })
    }
}

impl PromptRenderer for ChatMl {
    fn render(&self, request: &ChatRequest) -> Result<RenderedPrompt, ApiError> {
        let mut text = String::new();
        let mut turn = None;
        let system = self.system(request);
        if !system.is_empty() {
            let _ = write!(text, "{START}system\n{system}{END}");
        }
        let last = request.messages.len().saturating_sub(1);
        for (index, message) in request.messages.iter().enumerate().filter(|(_, message)| !is_system(message)) {
            if let Some(kind) = message.media() {
                let message = format!("a message holds a part of the type `{kind}`; this backend takes text only");
                return Err(ApiError::bad_field(&format!("messages[{index}].content"), message));
            }
            let start = text.len();
            let said =
                if message.role == "assistant" { self.assistant(message, request)?.into() } else { message.text() };
            let _ = write!(text, "{START}{}\n{said}", message.role);
            if index == last && request.continue_final {
                turn = Some(start);
            } else {
                text.push_str(END);
            }
        }
        if turn.is_none() && request.generation_prompt {
            turn = Some(text.len());
            let _ = writeln!(text, "{START}assistant");
        }
        Ok(RenderedPrompt { text, turn, ..RenderedPrompt::default() })
    }
}

fn is_system(message: &ChatMessage) -> bool {
    message.role == "system" || message.role == "developer"
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unspool::{Prompt, Registry, Setup};

    use super::*;
    use crate::request::ToolRules;

    fn rendered(body: &Value) -> RenderedPrompt {
        let pair = Registry::builtin().pair(&Setup::default()).expect("no names are always a pair");
        let request =
            ChatRequest::read(body.clone(), ToolRules { has_parser: true, auto: true }).expect("the request is right");
        ChatMl::new(pair).render(&request).expect("the conversation is text")
    }

    #[test]
    fn a_conversation_becomes_chatml() {
        let body = json!({"messages": [
            {"role": "user", "content": "Ahoy"},
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": "Ahoy.", "reasoning": "A greeting."},
            {"role": "user", "content": [{"type": "text", "text": "And"}, {"type": "text", "text": "now?"}]},
        ]});
        let prompt = rendered(&body);
        let expected = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nAhoy<|im_end|>\n\
            <|im_start|>assistant\nAhoy.<|im_end|>\n<|im_start|>user\nAnd\nnow?<|im_end|>\n<|im_start|>assistant\n";
        assert_eq!(prompt.text, expected);
        assert!(matches!(prompt.tail(), Prompt::Text("<|im_start|>assistant\n")));
    }

    #[test]
    fn the_last_message_can_stay_open() {
        let messages = json!([{"role": "user", "content": "<think>"}, {"role": "assistant", "content": "It is"}]);
        let prompt =
            rendered(&json!({"messages": messages, "continue_final_message": true, "add_generation_prompt": false}));
        assert!(matches!(prompt.tail(), Prompt::Text("<|im_start|>assistant\nIt is")), "{prompt:?}");
        let prompt = rendered(&json!({"messages": messages, "add_generation_prompt": false}));
        assert!(prompt.text.ends_with("It is<|im_end|>\n") && prompt.turn.is_none());
    }
}
