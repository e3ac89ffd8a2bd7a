//! The body of a chat request, as it comes in.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The fields of `POST /v1/chat/completions` that the gateway itself looks at. What it does not know goes on to the backend.
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
    /// What a stream carries beside the answer.
    pub stream_options: Option<StreamOptions>,
    /// Number of answers.
    pub n: Option<i64>,
    /// Most tokens of an answer; the older name.
    pub max_tokens: Option<i64>,
    /// Most tokens of an answer.
    pub max_completion_tokens: Option<i64>,
    /// Fewest tokens of an answer.
    pub min_tokens: Option<i64>,
    /// Whether the answer goes on past the end that the model sets.
    pub ignore_eos: Option<bool>,
    /// Makes the answer reproducible.
    pub seed: Option<i64>,
    /// Texts that end the answer.
    pub stop: Option<OneOrMany>,
    /// Randomness.
    pub temperature: Option<f64>,
    /// Share of the likeliest tokens.
    pub top_p: Option<f64>,
    /// Whether the log probabilities of the tokens are told.
    pub logprobs: Option<bool>,
    /// So many other tokens are told beside each.
    pub top_logprobs: Option<i64>,
    /// So many are told beside each token of the prompt.
    pub prompt_logprobs: Option<i64>,
    /// Whether the ids of the tokens are told.
    pub return_token_ids: Option<bool>,
    /// The form of the answer.
    pub response_format: Option<Value>,
    /// vLLM's constraints.
    pub structured_outputs: Option<Value>,
    /// Most tokens of the thought: a whole number from 0, or -1 for no bound.
    #[schema(value_type = Option<i64>)]
    pub thinking_token_budget: Option<Value>,
    /// Whether oddities of the output are told beside the answer; an addition of this gateway.
    pub return_diagnostics: Option<bool>,
    /// The same under its older name.
    pub include_diagnostics: Option<bool>,
    /// So many tokens make a chunk of a stream, if the server does not set more.
    pub stream_interval: Option<i64>,
    /// Whether tokens are written as their ids among log probabilities.
    pub return_tokens_as_token_ids: Option<bool>,
    /// Whether the prompt ends with the beginning of an answer.
    pub add_generation_prompt: Option<bool>,
    /// Whether the answer goes on with the last message.
    pub continue_final_message: Option<bool>,
    /// A chat template that counts before the model's.
    pub chat_template: Option<String>,
    /// Whether the tokenizer adds the special tokens around the prompt.
    pub add_special_tokens: Option<bool>,
}

/// `stream_options`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct StreamOptions {
    /// A last chunk with the token counts.
    pub include_usage: Option<bool>,
    /// Token counts in every chunk; needs `include_usage`.
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
    /// The texts, empty ones left out.
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
    /// What it says.
    #[serde(default)]
    pub content: Option<MessageContent>,
    /// The thought behind it.
    #[serde(default)]
    pub reasoning: Option<String>,
    /// The same under its older name; `reasoning` counts first.
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

    /// The kind of its first part that is no text, if there is one.
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
    /// What it says, if it is text.
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
