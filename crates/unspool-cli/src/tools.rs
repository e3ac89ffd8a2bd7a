//! The tools of a request: a list with names, and the choice of `tool_choice` among them.

use serde_json::{Map, Value};
use unspool::Error;
use unspool::suggest;

/// Wraps a single tool into a list. Rejects early what would fail much later: tools without a name, and a choice that
/// is not in the list.
pub(crate) fn listed(fields: &mut Map<String, Value>) -> Result<(), Error> {
    match fields.get_mut("tools") {
        None | Some(Value::Null) => return Ok(()),
        Some(tools) if tools.is_object() => *tools = Value::Array(vec![tools.take()]),
        Some(_) => {}
    }
    let tools = fields.get("tools").and_then(Value::as_array).ok_or_else(|| {
        Error::request("no list of tools").hint("give a list as in an OpenAI request, or an object with `tools`")
    })?;
    let mut names = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        let Some(name) = name(tool) else {
            // Provider tools have their own type and no name.
            if tool.get("type").is_none_or(|kind| kind == "function" || kind == "custom") {
                let hint = "write {\"type\": \"function\", \"function\": {\"name\": \"…\", \"parameters\": {…}}}";
                return Err(Error::request(&format!("tools[{at}] has no name")).hint(hint));
            }
            continue;
        };
        names.push(name);
    }
    let chosen = fields.get("tool_choice").filter(|choice| choice.is_object()).and_then(name);
    match chosen.filter(|chosen| !names.contains(chosen)) {
        None => Ok(()),
        Some(chosen) => {
            let near = suggest::did_you_mean(&suggest::near(chosen, names.iter().copied()));
            let hint = near.unwrap_or_else(|| format!("the tools are `{}`", names.join("`, `")));
            Err(Error::request(&format!("`tool_choice` names `{chosen}`, which is not a tool of this request"))
                .hint(&hint))
        }
    }
}

/// The name of a tool, nested or flat.
fn name(tool: &Value) -> Option<&str> {
    let name = tool.pointer("/function/name").or_else(|| tool.get("name"))?;
    name.as_str().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(fields: Value) -> Result<Value, (String, String)> {
        let Value::Object(mut fields) = fields else { return Ok(Value::Null) };
        listed(&mut fields).map_err(|error| (error.message, error.hint.unwrap_or_default()))?;
        Ok(fields.remove("tools").unwrap_or_default())
    }

    #[test]
    fn one_tool_is_a_list() {
        let tool = json!({"name": "tide", "inputSchema": {"type": "object"}});
        assert_eq!(said(json!({"tools": tool})), Ok(json!([tool])));
        assert_eq!(said(json!({})), Ok(Value::Null));
    }

    #[test]
    fn faults_name_the_tool() {
        let tools = json!([{"name": "tide"}, {"type": "web_search"}, {"type": "function", "function": {}}]);
        let (message, hint) = said(json!({"tools": tools})).expect_err("one has no name");
        assert!(message == "tools[2] has no name" && hint.contains("\"name\""), "{message} {hint}");
        let choice = json!({"type": "function", "function": {"name": "tied"}});
        let (message, hint) =
            said(json!({"tools": [{"name": "tide"}], "tool_choice": choice})).expect_err("it is none");
        assert!(message.contains("`tied`") && hint.contains("did you mean `tide`?"), "{message} {hint}");
        assert!(said(json!({"tools": 1})).is_err());
    }
}
