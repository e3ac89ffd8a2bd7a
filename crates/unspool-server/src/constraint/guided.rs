//! Guided JSON: calls as plain JSON in place of a format's own syntax, for backends that only accept a schema. A call
//! of one named function is its arguments; required calls are a list of objects with name and parameters.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use unspool::ToolChoice;

use crate::error::ApiError;
use crate::request::ChatRequest;

/// Where schemas have their definitions.
const SHARED: [&str; 2] = ["$defs", "definitions"];

/// The schema of the calls that a request requires; `None`: it requires none.
///
/// # Errors
/// Two functions have different definitions with one name, which cannot both be at the root.
pub(super) fn calls(request: &ChatRequest) -> Result<Option<Value>, ApiError> {
    let functions = || request.tools.iter().filter_map(|tool| tool.get("function"));
    let name = |function: &Value| function.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    match &request.parse.tool_choice {
        ToolChoice::Named(wanted) => Ok(functions().find(|function| name(function) == *wanted).map(parameters)),
        ToolChoice::Required => {
            let mut shared = Map::new();
            let mut seen = HashSet::new();
            let mut items = Vec::new();
            for function in functions() {
                let mut schema = parameters(function);
                lift(&mut schema, &mut shared, &name(function))?;
                if seen.insert(name(function)) {
                    items.push(json!({
                        "properties": {"name": {"type": "string", "enum": [name(function)]}, "parameters": schema},
                        "required": ["name", "parameters"],
                    }));
                }
            }
            let mut list = json!({"type": "array", "minItems": 1, "items": {"type": "object", "anyOf": items}});
            if request.parse.parallel_tool_calls == Some(false) {
                list["maxItems"] = 1.into();
            }
            if let Some(root) = list.as_object_mut() {
                root.extend(shared);
            }
            Ok(Some(list))
        }
        ToolChoice::Auto | ToolChoice::None => Ok(None),
    }
}

/// A function's schema; without one it takes an empty object.
fn parameters(function: &Value) -> Value {
    let given = function.get("parameters").filter(|value| !value.is_null());
    given.cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}}))
}

/// Moves a schema's definitions to the root, where its references point.
fn lift(schema: &mut Value, shared: &mut Map<String, Value>, function: &str) -> Result<(), ApiError> {
    let Some(schema) = schema.as_object_mut() else { return Ok(()) };
    for key in SHARED {
        let Some(Value::Object(own)) = schema.remove(key) else { continue };
        let entry = shared.entry(key).or_insert_with(|| json!({}));
        for (name, definition) in own {
            if entry.get(&name).is_some_and(|other| *other != definition) {
                let message =
                    format!("the function `{function}` defines `{name}` otherwise than another function does");
                return Err(ApiError::bad_field("tools", message)
                    .hint("give the definitions names of their own: all functions share one schema here"));
            }
            entry[&name] = definition;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ToolRules;

    fn schema(more: Value) -> Result<Option<Value>, ApiError> {
        let tool = |name: &str, kind: &str| {
            json!({"type": "function", "function": {"name": name, "parameters": {
                "type": "object", "properties": {"port": {"$ref": "#/$defs/port"}}, "$defs": {"port": {"type": kind}}}}})
        };
        let mut body = json!({"messages": [{"role": "user", "content": "a"}],
            "tools": [tool("tide", "string"), tool("wind", "string"), {"type": "function", "function": {"name": "now"}}]});
        if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
            body.extend(more);
        }
        calls(&ChatRequest::read(body.clone(), ToolRules { has_parser: true, auto: true })?)
    }

    #[test]
    fn a_demand_is_a_list_and_a_named_call_its_arguments() {
        let list = schema(json!({"tool_choice": "required", "parallel_tool_calls": false})).expect("it can be said");
        let list = list.expect("a call is demanded");
        assert_eq!(
            (&list["minItems"], &list["maxItems"], &list["$defs"]["port"]["type"]),
            (&json!(1), &json!(1), &json!("string"))
        );
        let items = list["items"]["anyOf"].as_array().expect("there are functions");
        assert_eq!(items.len(), 3);
        assert_eq!(
            items[0]["properties"]["parameters"],
            json!({"type": "object", "properties": {"port": {"$ref": "#/$defs/port"}}})
        );
        let named = schema(json!({"tool_choice": {"type": "function", "function": {"name": "now"}}}));
        assert_eq!(named, Ok(Some(json!({"type": "object", "properties": {}}))));
        assert_eq!(schema(json!({})), Ok(None));
    }

    #[test]
    fn definitions_of_one_name_must_agree() {
        let tool = |name: &str, kind: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object", "$defs": {"port": {"type": kind}}}}});
        let tools = json!([tool("tide", "string"), tool("wind", "integer")]);
        let told = schema(json!({"tool_choice": "required", "tools": tools})).expect_err("they do not");
        assert_eq!((told.status.as_u16(), told.param.as_deref()), (400, Some("tools")));
        assert!(told.message.contains("`wind`") && told.hint.is_some());
    }
}
