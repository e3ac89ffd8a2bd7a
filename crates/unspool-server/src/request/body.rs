//! The body of a chat request.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The fields of `POST /v1/chat/completions` that the gateway reads. Unknown fields go to the backend.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ChatBody {
    /// Name of the model.
    pub model: Option<String>,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// The functions that may be called.
    pub tools: Option<Vec<Value>>,
    /// Whether the answer is streamed.
    pub stream: Option<bool>,
    /// Settings of the stream.
    pub stream_options: Option<StreamOptions>,
    /// Number of answers.
    pub n: Option<i64>,
    /// Maximum tokens of an answer; the older name.
    pub max_tokens: Option<i64>,
    /// Maximum tokens of an answer.
    pub max_completion_tokens: Option<i64>,
    /// Minimum tokens of an answer.
    pub min_tokens: Option<i64>,
    /// Whether the model continues after its end-of-sequence token.
    pub ignore_eos: Option<bool>,
    /// Makes the answer reproducible.
    pub seed: Option<i64>,
    /// Stop sequences.
    pub stop: Option<OneOrMany>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Whether to return log probabilities.
    pub logprobs: Option<bool>,
    /// Number of alternatives per token.
    pub top_logprobs: Option<i64>,
    /// Number of alternatives per prompt token.
    pub prompt_logprobs: Option<i64>,
    /// Whether to return token ids.
    pub return_token_ids: Option<bool>,
    /// The form of the answer.
    pub response_format: Option<Value>,
    /// vLLM's structured outputs.
    pub structured_outputs: Option<Value>,
    /// Maximum reasoning tokens: an integer from 0, or -1 for no limit.
    #[schema(value_type = Option<i64>)]
    pub thinking_token_budget: Option<Value>,
    /// Whether to return diagnostics; an addition of this gateway.
    pub return_diagnostics: Option<bool>,
    /// The same under its older name.
    pub include_diagnostics: Option<bool>,
    /// Minimum tokens per chunk of a stream.
    pub stream_interval: Option<i64>,
    /// Whether log probabilities write tokens as ids.
    pub return_tokens_as_token_ids: Option<bool>,
    /// Whether the prompt ends with the beginning of an answer.
    pub add_generation_prompt: Option<bool>,
    /// Whether the model continues the last message.
    pub continue_final_message: Option<bool>,
    /// A chat template in place of the model's.
    pub chat_template: Option<String>,
    /// Whether the tokenizer adds the special tokens around the prompt.
    pub add_special_tokens: Option<bool>,
}

/// `stream_options`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct StreamOptions {
    /// A last chunk with usage.
    pub include_usage: Option<bool>,
    /// Usage in every chunk; needs `include_usage`.
    pub continuous_usage_stats: Option<bool>,
}

/// One text or several.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// The texts, without empty ones.
    #[must_use]
    pub fn texts(self) -> Vec<String> {
        let all = match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        };
        all.into_iter().filter(|text| !text.is_empty()).collect()
    }
}

/// One message of the conversation.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct ChatMessage {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Its content.
    #[serde(default)]
    pub content: Option<MessageContent>,
    /// Its reasoning.
    #[serde(default)]
    pub reasoning: Option<String>,
    /// The same under its older name; `reasoning` takes precedence.
    #[serde(default)]
    pub reasoning_content: Option<String>,
    /// The calls of an assistant.
    #[serde(default)]
    pub tool_calls: Option<Vec<MessageCall>>,
}

impl ChatMessage {
    /// A message of a user.
    #[must_use]
    pub fn user(text: String) -> Self {
        Self { role: "user".to_owned(), content: Some(MessageContent::Text(text)), ..Self::default() }
    }

    /// Its text; the text parts of a list are joined by line breaks.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.content {
            None => Cow::default(),
            Some(MessageContent::Text(text)) => text.into(),
            Some(MessageContent::Parts(parts)) => {
                parts.iter().filter_map(ContentPart::said).collect::<Vec<_>>().join("\n").into()
            }
        }
    }

    /// The type of its first part that is not text, if any.
    #[must_use]
    pub fn media(&self) -> Option<&str> {
        match &self.content {
            Some(MessageContent::Parts(parts)) => {
                parts.iter().find(|part| part.said().is_none()).map(|part| part.kind.as_str())
            }
            _ => None,
        }
    }

    /// Its calls.
    #[must_use]
    pub fn calls(&self) -> &[MessageCall] {
        self.tool_calls.as_deref().unwrap_or_default()
    }
}

/// The content of a message.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum MessageContent {
    /// Text.
    Text(String),
    /// A list of parts.
    Parts(Vec<ContentPart>),
}

/// A part of a message's content.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ContentPart {
    /// `text`, `image_url`, …
    #[serde(rename = "type", default)]
    pub kind: String,
    /// The text of a text part.
    #[serde(default)]
    pub text: Option<String>,
    /// The text of a refusal.
    #[serde(default)]
    pub refusal: Option<String>,
}

impl ContentPart {
    /// Its text, if it is text.
    #[must_use]
    pub fn said(&self) -> Option<&str> {
        self.text.as_deref().or(self.refusal.as_deref())
    }
}

/// A call in the conversation.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct MessageCall {
    /// Its id.
    #[serde(default)]
    pub id: Option<String>,
    /// The function.
    pub function: CalledFunction,
}

/// The function of a call in the conversation.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct CalledFunction {
    /// Its name.
    pub name: String,
    /// JSON text of its arguments.
    #[serde(default)]
    pub arguments: Option<String>,
}
