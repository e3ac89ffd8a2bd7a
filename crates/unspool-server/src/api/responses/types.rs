//! The body of a Responses request.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The fields of `POST /v1/responses` that the gateway reads.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct ResponsesBody {
    /// Name of the model.
    pub(crate) model: Option<String>,
    /// The conversation: a text or items.
    pub(crate) input: Option<Value>,
    /// The system prompt.
    pub(crate) instructions: Option<String>,
    /// Maximum tokens of the answer.
    pub(crate) max_output_tokens: Option<i64>,
    /// The tools: functions, custom tools, namespaces of both.
    pub(crate) tools: Option<Vec<Value>>,
    /// Which of them may be called.
    pub(crate) tool_choice: Option<Value>,
    /// Whether several may be called at once.
    pub(crate) parallel_tool_calls: Option<bool>,
    /// The reasoning effort.
    pub(crate) reasoning: Option<Reasoning>,
    /// The form of the answer.
    pub(crate) text: Option<Text>,
    /// Whether the answer is streamed.
    pub(crate) stream: Option<bool>,
    /// Whether to drop the beginning of a conversation that is too long: `auto` or `disabled`.
    pub(crate) truncation: Option<String>,
    /// Additional data to return.
    pub(crate) include: Option<Vec<String>>,
    /// Number of alternative tokens per token of the text; with `include: ["message.output_text.logprobs"]`.
    pub(crate) top_logprobs: Option<i64>,
    /// Asynchronous answers, which the gateway does not support.
    pub(crate) background: Option<bool>,
    /// Echoed in the answer.
    #[schema(value_type = Option<Object>)]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// Sampling temperature.
    pub(crate) temperature: Option<f64>,
    /// Nucleus sampling.
    pub(crate) top_p: Option<f64>,
}

/// `reasoning`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Reasoning {
    /// The reasoning effort.
    pub(crate) effort: Option<String>,
}

/// `text`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Text {
    /// The form: `text`, `json_object` or `json_schema` with its `name` and `schema`.
    pub(crate) format: Option<Value>,
}
