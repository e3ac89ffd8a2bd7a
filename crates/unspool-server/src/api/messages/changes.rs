//! Changes of the tools that a conversation tells: blocks `tool_addition` and `tool_removal`, mostly in system messages.
//!
//! A chat template shows one list of tools, so the list is the one that holds at the conversation's end.

use serde_json::Value;

use super::types::InputMessage;
use crate::error::ApiError;

/// Whether a block of this kind changes the tools, and says nothing else.
pub(super) fn is_change(kind: &str) -> bool {
    matches!(kind, "tool_addition" | "tool_removal")
}

/// The tools as they are at the end of the conversation: at no point more than `most`.
pub(super) fn applied(mut tools: Vec<Value>, messages: &[InputMessage], most: usize) -> Result<Vec<Value>, ApiError> {
    // A tool that was removed may come back by its name.
    let mut removed: Vec<Value> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        for (at, block) in message.content.as_array().into_iter().flatten().enumerate() {
            let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
            if !is_change(kind) {
                continue;
            }
            let place = format!("messages[{index}].content[{at}].tool");
            let target = target(block.get("tool"), &place)?;
            match (kind, target) {
                (_, Target::Hosted) => {}
                ("tool_addition", Target::Defined(tool)) => {
                    tools.retain(|known| !is_named(known, tool.get("name")));
                    tools.push(tool.clone());
                }
                ("tool_addition", Target::Named(name)) => {
                    if let Some(at) = removed.iter().position(|tool| is_named(tool, Some(name))) {
                        tools.push(removed.remove(at));
                    }
                }
                (_, Target::Defined(tool)) => remove(tool.get("name"), &mut tools, &mut removed),
                (_, Target::Named(name)) => remove(Some(name), &mut tools, &mut removed),
            }
            if tools.len().max(removed.len()) > most {
                let message = format!("`{place}` makes more than {most} tools");
                let hint = "the server's --max-tools sets how many are allowed";
                return Err(ApiError::bad_field(&place, message).hint(hint));
            }
        }
    }
    Ok(tools)
}

/// What a change is about.
enum Target<'a> {
    Defined(&'a Value),
    Named(&'a Value),
    /// Of a server that only the provider reaches.
    Hosted,
}

fn target<'a>(tool: Option<&'a Value>, place: &str) -> Result<Target<'a>, ApiError> {
    let field = |key: &str| tool.and_then(|tool| tool.get(key));
    let kind = field("type").and_then(Value::as_str).unwrap_or_default();
    match (kind, field("definition"), field("name")) {
        ("tool_definition", Some(definition), _) if definition["name"].is_string() => Ok(Target::Defined(definition)),
        ("tool_reference", _, Some(name)) if name.is_string() => Ok(Target::Named(name)),
        (kind, ..) if kind.starts_with("mcp_") => Ok(Target::Hosted),
        _ => {
            let message =
                format!("`{place}` must be a `tool_definition` with a named `definition`, or a `tool_reference`");
            Err(ApiError::bad_field(place, message))
        }
    }
}

fn is_named(tool: &Value, name: Option<&Value>) -> bool {
    tool.get("name").is_some_and(|own| Some(own) == name)
}

fn remove(name: Option<&Value>, tools: &mut Vec<Value>, removed: &mut Vec<Value>) {
    let (gone, left) = std::mem::take(tools).into_iter().partition(|tool| is_named(tool, name));
    *tools = left;
    removed.extend::<Vec<Value>>(gone);
}
