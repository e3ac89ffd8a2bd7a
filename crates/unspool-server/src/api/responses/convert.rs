//! Translates a Responses request into the equivalent chat request, so that both APIs share checks and prompts.

use serde_json::{Map, Value, json};

use super::input;
use super::tools::Tools;
use super::types::ResponsesBody;
use crate::api::alias;
use crate::error::ApiError;

/// Fields that exist only in this API, or differ in chat; all others go into the chat request, and from there to the
/// backend.
const OWN_FIELDS: [&str; 34] = [
    "input",
    "instructions",
    "max_output_tokens",
    "tools",
    "tool_choice",
    "reasoning",
    "text",
    "store",
    "stream",
    "stream_options",
    "include",
    "top_logprobs",
    "background",
    "metadata",
    "previous_response_id",
    "conversation",
    "prompt",
    "truncation",
    "max_tool_calls",
    "user",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "moderation",
    "context_management",
    "enable_response_messages",
    "previous_input_messages",
    "messages",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "response_format",
];

/// Fields for unsupported features, with the reasons.
const REFUSED: [(&str, &str); 5] = [
    ("previous_response_id", "responses are not kept here; send the whole conversation in `input`"),
    ("conversation", "conversations are not kept here; send the whole conversation in `input`"),
    ("prompt", "prompts are not kept here; send the text itself"),
    ("previous_input_messages", "send the whole conversation in `input`"),
    ("moderation", "nothing is moderated here"),
];

/// This API's names of chat request fields.
const NAMES: [(&str, &str); 5] = [
    ("logprobs", "include"),
    ("messages", "input"),
    ("max_completion_tokens", "max_output_tokens"),
    ("response_format", "text.format"),
    ("reasoning_effort", "reasoning.effort"),
];

/// An error about the chat request, in this API's terms.
pub(super) fn in_own_words(error: ApiError) -> ApiError {
    alias::renamed(error, &NAMES)
}

/// The chat request, and the tools to translate its calls back.
pub(super) fn chat_body(
    body: &Map<String, Value>,
    parsed: &ResponsesBody,
    images: bool,
) -> Result<(Value, Tools), ApiError> {
    refuse(body, parsed)?;
    let mut chat: Map<String, Value> = body
        .iter()
        .filter(|(key, _)| !OWN_FIELDS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut tools = Tools::read(parsed.tools.as_deref().unwrap_or_default())?;
    tools.offer(parsed.tool_choice.as_ref(), &mut chat)?;
    if let Some(most) = parsed.max_output_tokens {
        chat.insert("max_completion_tokens".to_owned(), most.into());
    }
    // As in vLLM, a number alone requests nothing.
    if asks_for_probabilities(parsed) {
        chat.insert("logprobs".to_owned(), true.into());
        chat.insert("top_logprobs".to_owned(), parsed.top_logprobs.unwrap_or_default().into());
    }
    if let Some(effort) = parsed.reasoning.as_ref().and_then(|reasoning| reasoning.effort.clone()) {
        chat.insert("reasoning_effort".to_owned(), effort.into());
    }
    let format = parsed.text.as_ref().and_then(|text| text.format.as_ref()).filter(|format| !format.is_null());
    if let Some(format) = format.map(response_format).transpose()?.flatten() {
        chat.insert("response_format".to_owned(), format);
    }
    let conversation = input::read(parsed.instructions.as_deref(), parsed.input.as_ref(), images)?;
    if conversation.open {
        chat.insert("continue_final_message".to_owned(), true.into());
        chat.insert("add_generation_prompt".to_owned(), false.into());
    }
    chat.insert("messages".to_owned(), conversation.messages.into());
    Ok((Value::Object(chat), tools))
}

/// Whether log probabilities are requested.
pub(super) fn asks_for_probabilities(parsed: &ResponsesBody) -> bool {
    parsed.include.iter().flatten().any(|what| what == "message.output_text.logprobs")
}

fn refuse(body: &Map<String, Value>, parsed: &ResponsesBody) -> Result<(), ApiError> {
    for (field, why) in REFUSED {
        if body.get(field).is_some_and(|value| !value.is_null()) {
            return Err(ApiError::bad_field(field, format!("`{field}` is refused: {why}")));
        }
    }
    if parsed.background == Some(true) {
        return Err(ApiError::bad_field("background", "`background` is refused: answers are given at once"));
    }
    Ok(())
}

fn response_format(format: &Value) -> Result<Option<Value>, ApiError> {
    match format.get("type").and_then(Value::as_str).unwrap_or_default() {
        "text" => Ok(None),
        "json_object" => Ok(Some(json!({"type": "json_object"}))),
        "json_schema" => {
            let mut schema = format.as_object().cloned().unwrap_or_default();
            schema.remove("type");
            if !schema.get("schema").is_some_and(Value::is_object) {
                let message = "`text.format` has the type `json_schema`, but no `schema`";
                return Err(ApiError::bad_field("text.format.schema", message));
            }
            Ok(Some(json!({"type": "json_schema", "json_schema": schema})))
        }
        kind => {
            let message = format!("`text.format.type` is `{kind}`; it must be text, json_object or json_schema");
            Err(ApiError::bad_field("text.format.type", message))
        }
    }
}
