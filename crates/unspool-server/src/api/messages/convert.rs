//! Translates a Messages request into the equivalent chat request, so that both APIs share checks and prompts.

use serde_json::{Map, Value, json};

use super::types::{Choice, MessagesBody, OutputConfig, Thinking};
use super::{changes, history};
use crate::api::alias;
use crate::error::ApiError;
use crate::hosted::{Ignored, is_hosted};

/// Fields that exist only in this API; all others go into the chat request, and from there to the backend.
const OWN_FIELDS: [&str; 18] = [
    "messages",
    "max_tokens",
    "system",
    "stream",
    "stop_sequences",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "output_format",
    "metadata",
    "service_tier",
    "container",
    "mcp_servers",
    "context_management",
    "cache_control",
    "betas",
    "inference_geo",
];

/// Fields for features that exist only on Anthropic's own servers.
const HOSTED: [&str; 2] = ["container", "mcp_servers"];

/// Minimum thinking budget, as in Anthropic's API.
const LEAST_BUDGET: i64 = 1024;

/// This API's names of chat request fields.
const NAMES: [(&str, &str); 6] = [
    ("thinking_token_budget", "thinking.budget_tokens"),
    ("max_completion_tokens", "max_tokens"),
    ("stop", "stop_sequences"),
    ("parallel_tool_calls", "tool_choice.disable_parallel_tool_use"),
    ("response_format", "output_config.format"),
    ("reasoning_effort", "output_config.effort"),
];

/// An error about the chat request, in this API's terms.
pub(super) fn in_own_words(error: ApiError) -> ApiError {
    alias::renamed(error, &NAMES)
}

/// What the server demands of a body and takes of it.
pub(super) struct Terms {
    /// Whether the request must limit the answer, as everything but counting does.
    pub(super) answered: bool,
    /// Whether images are allowed.
    pub(super) images: bool,
    /// Maximum number of tools, those that messages add included.
    pub(super) most_tools: usize,
}

/// The chat request.
pub(super) fn chat_body(
    body: Map<String, Value>,
    parsed: MessagesBody,
    terms: &Terms,
) -> Result<(Value, Ignored), ApiError> {
    refuse(&parsed, terms.answered)?;
    let mut ignored = Ignored::default();
    let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    HOSTED.iter().filter(|field| body.get(**field).is_some_and(|value| !empty(value))).for_each(|f| ignored.note(f));
    let mut chat: Map<String, Value> =
        body.into_iter().filter(|(key, _)| !OWN_FIELDS.contains(&key.as_str())).collect();
    let mut kwargs = parsed.chat_template_kwargs.unwrap_or_default();
    let max_tokens = parsed.max_tokens;
    let older = parsed.output_format.map(|format| OutputConfig { effort: None, format: Some(format) });
    for config in older.into_iter().chain(parsed.output_config) {
        output(config, &mut chat)?;
    }
    if let Some(thinking) = parsed.thinking {
        self::thinking(&thinking, max_tokens, &mut chat, &mut kwargs)?;
    }
    if !kwargs.is_empty() {
        chat.insert("chat_template_kwargs".to_owned(), Value::Object(kwargs));
    }
    if let Some(max_tokens) = max_tokens {
        chat.insert("max_completion_tokens".to_owned(), max_tokens.into());
    }
    if let Some(stops) = parsed.stop_sequences {
        chat.insert("stop".to_owned(), stops.into());
    }
    let offered = changes::applied(parsed.tools.unwrap_or_default(), &parsed.messages, terms.most_tools)?;
    tools(&offered, parsed.tool_choice, &mut chat, &mut ignored)?;
    let messages = history::messages(parsed.system.as_ref(), &parsed.messages, terms.images)?;
    // As in Anthropic's API, the model continues a last message of the assistant.
    let open = messages.last().is_some_and(|last| last["role"] == "assistant" && last.get("tool_calls").is_none());
    if open {
        chat.insert("continue_final_message".to_owned(), true.into());
        chat.insert("add_generation_prompt".to_owned(), false.into());
    }
    chat.insert("messages".to_owned(), messages.into());
    Ok((Value::Object(chat), ignored))
}

fn refuse(parsed: &MessagesBody, answered: bool) -> Result<(), ApiError> {
    if parsed.messages.is_empty() {
        return Err(ApiError::bad_field("messages", "`messages` must hold one message at least"));
    }
    match parsed.max_tokens {
        Some(tokens) if tokens < 1 => {
            Err(ApiError::bad_field("max_tokens", format!("`max_tokens` is {tokens}; it must be 1 or more")))
        }
        None if answered => {
            Err(ApiError::bad_field("max_tokens", "`max_tokens` is missing; the Messages API requires it"))
        }
        _ => Ok(()),
    }
}

fn output(config: OutputConfig, chat: &mut Map<String, Value>) -> Result<(), ApiError> {
    if let Some(effort) = config.effort {
        chat.insert("reasoning_effort".to_owned(), effort.into());
    }
    let Some(format) = config.format else { return Ok(()) };
    match (format.kind.as_str(), format.schema) {
        ("json_schema", Some(schema)) => {
            let format = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}});
            chat.insert("response_format".to_owned(), format);
            Ok(())
        }
        ("json_schema", None) => Err(ApiError::bad_field(
            "output_config.format.schema",
            "`output_config.format` has the type `json_schema`, but no `schema`",
        )),
        (kind, _) => Err(ApiError::bad_field(
            "output_config.format.type",
            format!("`output_config.format.type` is `{kind}`; it must be json_schema"),
        )),
    }
}

/// Switches thinking on or off. The budget works as in chat, and the chat template may pass it to the model.
fn thinking(
    thinking: &Thinking,
    max_tokens: Option<i64>,
    chat: &mut Map<String, Value>,
    kwargs: &mut Map<String, Value>,
) -> Result<(), ApiError> {
    let mut switch = |key: &str, value: Value| {
        kwargs.entry(key).or_insert(value);
    };
    match (thinking.kind.as_str(), thinking.budget_tokens) {
        ("disabled", _) => {
            chat.insert("reasoning_effort".to_owned(), "none".into());
            Ok(())
        }
        // The model's own default applies.
        ("adaptive", _) => Ok(()),
        ("enabled", Some(budget)) => {
            if budget < LEAST_BUDGET || max_tokens.is_some_and(|most| budget >= most) {
                let message = format!(
                    "`thinking.budget_tokens` is {budget}; it must be {LEAST_BUDGET} or more, and less than `max_tokens`"
                );
                return Err(ApiError::bad_field("thinking.budget_tokens", message));
            }
            switch("enable_thinking", true.into());
            switch("thinking", true.into());
            switch("thinking_budget", budget.into());
            chat.insert("thinking_token_budget".to_owned(), budget.into());
            Ok(())
        }
        ("enabled", None) => {
            Err(ApiError::bad_field("thinking.budget_tokens", "`thinking` is enabled, but has no `budget_tokens`"))
        }
        (kind, _) => {
            let message = format!("`thinking.type` is `{kind}`; it must be enabled, disabled or adaptive");
            Err(ApiError::bad_field("thinking.type", message))
        }
    }
}

fn tools(
    tools: &[Value],
    choice: Option<Choice>,
    chat: &mut Map<String, Value>,
    ignored: &mut Ignored,
) -> Result<(), ApiError> {
    let kind = |tool: &Value| tool.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    tools.iter().map(kind).filter(|kind| is_hosted(kind)).for_each(|kind| ignored.note(&kind));
    let own = tools.iter().enumerate().filter(|(_, tool)| !is_hosted(&kind(tool)));
    let own = own.map(tool).collect::<Result<Vec<_>, _>>()?;
    let (any, offered) = (!tools.is_empty(), !own.is_empty());
    if offered {
        chat.insert("tools".to_owned(), own.into());
    }
    let Some(choice) = choice else { return Ok(()) };
    let word = match (choice.kind.as_str(), choice.name) {
        ("auto", _) => json!("auto"),
        ("any", _) => json!("required"),
        ("none", _) => json!("none"),
        ("tool", Some(name)) if !name.is_empty() => json!({"type": "function", "function": {"name": name}}),
        ("tool", _) => return Err(ApiError::bad_field("tool_choice.name", "`tool_choice` names no tool")),
        (kind, _) => {
            let message = format!("`tool_choice.type` is `{kind}`; it must be auto, any, tool or none");
            return Err(ApiError::bad_field("tool_choice.type", message));
        }
    };
    // The default choice of clients means nothing if no tool is left.
    if offered || !any || word != "auto" {
        chat.insert("tool_choice".to_owned(), word);
    }
    if let Some(alone) = choice.disable_parallel_tool_use {
        chat.insert("parallel_tool_calls".to_owned(), (!alone).into());
    }
    Ok(())
}

fn tool((index, tool): (usize, &Value)) -> Result<Value, ApiError> {
    let place = format!("tools[{index}]");
    match tool.get("type").and_then(Value::as_str) {
        None | Some("custom") => {}
        Some(kind) => {
            let message =
                format!("a tool has the type `{kind}`; only tools with a name and an `input_schema` are served");
            return Err(ApiError::bad_field(&place, message));
        }
    }
    let Some(schema @ Value::Object(_)) = tool.get("input_schema") else {
        let message = format!("{place} needs an `input_schema`, an object");
        let error = ApiError::bad_field(&format!("{place}.input_schema"), message);
        let other = ["inputSchema", "parameters", "function"].iter().find(|key| tool.get(key).is_some());
        return Err(match other {
            Some(key) => error.hint(format!(
                "what stands under `{key}` is another API's; here it is {{\"name\": …, \"input_schema\": …}}"
            )),
            None => error,
        });
    };
    let mut function = json!({"name": tool.get("name"), "parameters": schema});
    // As in vLLM, a schema without a type is one of an object.
    if function["parameters"].get("type").is_none() {
        function["parameters"]["type"] = "object".into();
    }
    for key in ["description", "strict"] {
        if let Some(value) = tool.get(key).filter(|value| !value.is_null()) {
            function[key] = value.clone();
        }
    }
    Ok(json!({"type": "function", "function": function}))
}
