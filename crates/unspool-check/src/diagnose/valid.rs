//! Whether a call's arguments fit the schema of the function.

use serde_json::Value;

/// Deepest nesting that is looked at; what lies deeper counts as fitting.
const DEEPEST: usize = 32;

/// Whether arguments are an object that the parameters' schema allows, as far as the plain words of JSON Schema say.
pub(super) fn fits(arguments: &str, parameters: &Value) -> bool {
    let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(arguments) else { return false };
    allows(parameters, &value, parameters, 0)
}

fn allows(schema: &Value, value: &Value, root: &Value, depth: usize) -> bool {
    let Some(words) = schema.as_object().filter(|_| depth < DEEPEST) else { return schema != &Value::Bool(false) };
    let deeper = |schema: &Value, value: &Value| allows(schema, value, root, depth + 1);
    if let Some(target) = words.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#')) {
        return root.pointer(target).is_none_or(|target| deeper(target, value));
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
    if listed("enum").is_some_and(|all| !all.contains(value)) || words.get("const").is_some_and(|one| one != value) {
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
                && members.iter().all(|(name, member)| match properties.and_then(|own| own.get(name)).or(additional) {
                    Some(schema) => deeper(schema, member),
                    None => true,
                })
        }
        Value::Array(items) => words.get("items").is_none_or(|schema| items.iter().all(|item| deeper(schema, item))),
        _ => true,
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
    }
}
