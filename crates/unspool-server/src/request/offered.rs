//! Prepares what a chat request offers, before it is checked.

use serde_json::Value;

use crate::error::ApiError;
use crate::hosted::{Ignored, is_hosted};

/// Removes provider tools and custom tools, and of the others those that are not allowed.
pub(super) fn tidy(body: &mut Value) -> Result<Ignored, ApiError> {
    let mut ignored = Ignored::default();
    let Some(fields) = body.as_object_mut() else { return Ok(ignored) };
    let kind = |tool: &Value| tool.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let leaves = |kind: &str| kind == "custom" || is_hosted(kind);
    if let Some(tools) = fields.get_mut("tools").and_then(Value::as_array_mut) {
        tools.retain(|tool| {
            let kind = kind(tool);
            if leaves(&kind) {
                ignored.note(&kind);
            }
            !leaves(&kind)
        });
    }
    let Some(choice) = fields.get("tool_choice").filter(|choice| choice.is_object()).cloned() else {
        return Ok(ignored);
    };
    let chosen = kind(&choice);
    if leaves(&chosen) {
        let message = format!("`tool_choice` names a tool of the type `{chosen}`, which is not there");
        return Err(ApiError::bad_field("tool_choice", message));
    }
    if chosen == "allowed_tools" {
        let mode = allow(&choice, fields.get_mut("tools"))?;
        fields.insert("tool_choice".to_owned(), mode.into());
    }
    Ok(ignored)
}

/// Removes all but the allowed tools; returns the choice among them.
fn allow(choice: &Value, tools: Option<&mut Value>) -> Result<String, ApiError> {
    // The API has the fields in an object with the same name; some clients omit it.
    let choice = choice.get("allowed_tools").unwrap_or(choice);
    let fault =
        |field: &str, message: &str| ApiError::bad_field(&format!("tool_choice.allowed_tools.{field}"), message);
    let mode = match choice.get("mode").and_then(Value::as_str) {
        Some(mode @ ("auto" | "required")) => mode.to_owned(),
        _ => return Err(fault("mode", "`mode` must be auto or required")),
    };
    let name = |tool: &Value| {
        let name = tool.pointer("/function/name").or_else(|| tool.get("name"));
        name.and_then(Value::as_str).map(str::to_owned)
    };
    let allowed: Vec<String> =
        choice.get("tools").and_then(Value::as_array).into_iter().flatten().filter_map(name).collect();
    if allowed.is_empty() {
        return Err(fault("tools", "no tool is allowed"));
    }
    let Some(tools) = tools.and_then(Value::as_array_mut) else {
        return Err(ApiError::bad_field("tool_choice", "`tool_choice` needs `tools`"));
    };
    if let Some(unknown) = allowed.iter().find(|own| !tools.iter().any(|tool| name(tool).as_ref() == Some(own))) {
        return Err(fault("tools", &format!("the tool `{unknown}` is not among the tools")));
    }
    tools.retain(|tool| name(tool).is_some_and(|name| allowed.contains(&name)));
    Ok(mode)
}
