//! Faults of a call, and whether its arguments match the function's schema.

use std::cell::Cell;

use serde::Serialize;
use serde_json::Value;
use unspool::{Diagnostic, DiagnosticKind, Span, ToolCall, ToolSet};

/// Maximum nesting to check; deeper values count as matching.
const DEEPEST: usize = 32;
/// Maximum work of one check, in schemas and their listed items; what is left counts as matching. A few references to itself
/// make a schema that takes exponential time.
const MOST_STEPS: usize = 100_000;

/// The fault of a call. Of several faults it is the first in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// The output ended inside the call.
    Unclosed,
    /// The arguments are not a JSON object, or their syntax broke.
    InvalidJson,
    /// The function is not among the request's tools.
    UnknownTool,
    /// The arguments do not match the function's schema.
    SchemaMismatch,
    /// None.
    Ok,
}

/// The fault of a call in a reply. `place` is the span of the entire call, `diagnostics` are the reply's. Without tools
/// no function is unknown. Checks the schema keywords `type`, `enum`, `const`, `required`, `properties`,
/// `additionalProperties`, `items`, `anyOf`, `oneOf`, `allOf` and `$ref`.
#[must_use]
pub fn status(call: &ToolCall, place: Span, diagnostics: &[Diagnostic], tools: &ToolSet) -> CallStatus {
    if !call.complete {
        let broken = |note: &Diagnostic| {
            note.kind == DiagnosticKind::CallBroken && place.start <= note.offset && note.offset <= place.end
        };
        return if diagnostics.iter().any(broken) { CallStatus::InvalidJson } else { CallStatus::Unclosed };
    }
    if !fits(&call.arguments, &Value::Null) {
        return CallStatus::InvalidJson;
    }
    if tools.is_empty() {
        return CallStatus::Ok;
    }
    match tools.definitions().find(|tool| tool.name == call.name) {
        None => CallStatus::UnknownTool,
        Some(tool) if fits(&call.arguments, &tool.parameters) => CallStatus::Ok,
        Some(_) => CallStatus::SchemaMismatch,
    }
}

/// Whether arguments are an object that the parameters' schema allows, by the basic keywords of JSON Schema.
pub(crate) fn fits(arguments: &str, parameters: &Value) -> bool {
    let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(arguments) else { return false };
    Check { root: parameters, left: Cell::new(MOST_STEPS) }.allows(parameters, &value, 0)
}

/// The check of one value.
struct Check<'a> {
    root: &'a Value,
    /// Steps that are left.
    left: Cell<usize>,
}

impl Check<'_> {
    /// Takes steps; false if too few are left.
    fn spend(&self, steps: usize) -> bool {
        let left = self.left.get().checked_sub(steps);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    fn allows(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        let Some(words) = schema.as_object().filter(|_| depth < DEEPEST) else { return schema != &Value::Bool(false) };
        let lists = words.values().filter_map(Value::as_array).map(Vec::len).sum::<usize>();
        if !self.spend(1 + lists) {
            return true;
        }
        let deeper = |schema: &Value, value: &Value| self.allows(schema, value, depth + 1);
        if let Some(target) = words.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#')) {
            return self.root.pointer(target).is_none_or(|target| deeper(target, value));
        }
        let kinds = match words.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !kinds.is_empty() && !kinds.iter().any(|kind| is_kind(kind, value)) {
            return false;
        }
        let listed = |key: &str| words.get(key).and_then(Value::as_array);
        if listed("enum").is_some_and(|all| !all.contains(value)) || words.get("const").is_some_and(|one| one != value)
        {
            return false;
        }
        for key in ["anyOf", "oneOf"] {
            if listed(key).is_some_and(|any| !any.iter().any(|one| deeper(one, value))) {
                return false;
            }
        }
        if listed("allOf").is_some_and(|all| !all.iter().all(|one| deeper(one, value))) {
            return false;
        }
        match value {
            Value::Object(members) => {
                let required = listed("required").into_iter().flatten().filter_map(Value::as_str);
                let properties = words.get("properties").and_then(Value::as_object);
                let additional = words.get("additionalProperties");
                required.into_iter().all(|name| members.contains_key(name))
                    && members.iter().all(|(name, member)| {
                        match properties.and_then(|own| own.get(name)).or(additional) {
                            Some(schema) => deeper(schema, member),
                            None => true,
                        }
                    })
            }
            Value::Array(items) => {
                words.get("items").is_none_or(|schema| items.iter().all(|item| deeper(schema, item)))
            }
            _ => true,
        }
    }
}

fn is_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_fault_has_its_status() {
        use unspool::spans::Both;
        use unspool::{Delta, Message, Prompt, Registry, Request, Setup, Spans};

        let setup = Setup { tool_parser: Some("hermes".to_owned()), ..Setup::default() };
        let pair = Registry::builtin().pair(&setup).expect("it is built in");
        let request = Request::from_openai(&json!({"tools": [{"name": "tide", "parameters":
            {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}}]}))
        .expect("it is one");
        let said = |output: &str| {
            let mut parser = pair.parser(&request, Prompt::Unknown).expect("it is possible");
            let mut both = Both(Message::default(), Spans::default());
            parser.push(Delta::text(output), &mut both);
            parser.finish(None, &mut both);
            let Both(message, spans) = both;
            let calls = message.tool_calls.iter().zip(&spans.calls);
            calls.map(|(call, at)| status(call, at.whole, &message.diagnostics, &request.tools)).collect::<Vec<_>>()
        };
        let call = |body: &str| format!("<tool_call>\n{body}\n</tool_call>\n");
        let [good, unknown, unfit, not_json] = [
            r#"{"name": "tide", "arguments": {"port": "Looe"}}"#,
            r#"{"name": "wind", "arguments": {"port": "Looe"}}"#,
            r#"{"name": "tide", "arguments": {"port": 3}}"#,
            r#"{"name": "tide", "arguments": [1]}"#,
        ]
        .map(call);
        let cut = "<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Lo";
        use CallStatus::{InvalidJson, Ok, SchemaMismatch, Unclosed, UnknownTool};
        let all = format!("{good}{unknown}{unfit}{not_json}{cut}");
        assert_eq!(said(&all), [Ok, UnknownTool, SchemaMismatch, InvalidJson, Unclosed]);
        let broken = call(r#"{"name": "tide", "arguments": {"port": Looe! harbour}}"#);
        assert_eq!(said(&format!("{good}{broken}")), [Ok, InvalidJson]);
    }

    #[test]
    fn arguments_fit_their_schema() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "integer"}, "b": {"anyOf": [{"type": "null"}, {"enum": ["x", "y"]}]},
            "c": {"type": "array", "items": {"$ref": "#/$defs/c"}}}, "additionalProperties": false,
            "$defs": {"c": {"type": ["string", "number"]}}});
        for good in [r#"{"a": 1}"#, r#"{"a": 2.0, "b": "x"}"#, r#"{"a": 3, "c": ["x", 1.5], "b": null}"#] {
            assert!(fits(good, &schema), "{good}");
        }
        for bad in [
            "",
            "[1]",
            "{}",
            r#"{"a": "1"}"#,
            r#"{"a": 1, "b": "z"}"#,
            r#"{"a": 1, "c": [true]}"#,
            r#"{"a": 1, "d": 1}"#,
        ] {
            assert!(!fits(bad, &schema), "{bad}");
        }
        assert!(fits("{\"x\": 1}", &Value::Null), "no schema says nothing");
        let endless = json!({"$ref": "#"});
        assert!(fits("{}", &endless));
        let all = json!({"allOf": vec![json!({"$ref": "#"}); 6]});
        assert!(fits("{}", &all), "the check ends, and what it did not see counts as matching");
        let long = json!({"properties": {"a": {"items": {"enum": (0..50_000).collect::<Vec<_>>()}}}});
        let items = json!({"a": vec![49_999; 50_000]});
        assert!(fits(&items.to_string(), &long));
    }
}
