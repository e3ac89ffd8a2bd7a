//! The body of a Messages request.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The fields of `POST /v1/messages` that the gateway reads.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct MessagesBody {
    /// Name of the model.
    pub(crate) model: Option<String>,
    /// The conversation.
    pub(crate) messages: Vec<InputMessage>,
    /// Maximum tokens of the answer.
    pub(crate) max_tokens: Option<i64>,
    /// The system prompt: a text or text blocks.
    pub(crate) system: Option<Value>,
    /// Whether the answer is streamed.
    pub(crate) stream: Option<bool>,
    /// Stop sequences.
    pub(crate) stop_sequences: Option<Vec<String>>,
    /// The tools.
    pub(crate) tools: Option<Vec<Value>>,
    /// Which of them may be called.
    pub(crate) tool_choice: Option<Choice>,
    /// Whether the model thinks.
    pub(crate) thinking: Option<Thinking>,
    /// Effort and form of the answer.
    pub(crate) output_config: Option<OutputConfig>,
    /// The form of the answer under its older name.
    pub(crate) output_format: Option<OutputFormat>,
    /// An addition of vLLM: switches of the chat template.
    #[schema(value_type = Option<Object>)]
    pub(crate) chat_template_kwargs: Option<Map<String, Value>>,
}

/// One message of the conversation.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct InputMessage {
    /// `user`, `assistant` or `system`.
    pub(crate) role: String,
    /// A text, or blocks.
    pub(crate) content: Value,
}

/// `tool_choice`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Choice {
    /// `auto`, `any`, `tool` or `none`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The tool of `tool`.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Allows only one call.
    #[serde(default)]
    pub(crate) disable_parallel_tool_use: Option<bool>,
}

/// `thinking`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Thinking {
    /// `enabled`, `disabled` or `adaptive`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Token budget for the thought of `enabled`.
    #[serde(default)]
    pub(crate) budget_tokens: Option<i64>,
}

/// `output_config`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct OutputConfig {
    /// The reasoning effort.
    pub(crate) effort: Option<String>,
    /// The form of the answer.
    pub(crate) format: Option<OutputFormat>,
}

/// `output_config.format`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct OutputFormat {
    /// `json_schema`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The schema.
    #[serde(default)]
    pub(crate) schema: Option<Value>,
}
