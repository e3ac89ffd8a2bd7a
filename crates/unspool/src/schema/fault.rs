//! Finds the unusable parts of a schema.

use serde_json::Value;

/// Maximum number of values of a schema to check.
const MOST: usize = 1 << 14;
/// Keys whose values are data, not schemas.
const DATA: [&str; 5] = ["enum", "const", "default", "example", "examples"];

/// The first fault of a function's parameters; `None` if they are missing.
pub(super) fn find(parameters: &Value) -> Option<String> {
    match parameters {
        Value::Null | Value::Bool(true) => return None,
        Value::Object(_) => {}
        _ => return Some("the parameters are no schema".to_owned()),
    }
    let mut open = vec![parameters];
    for _ in 0..MOST {
        match open.pop()? {
            Value::Object(map) => {
                if let Some(target) = map.get("$ref").and_then(Value::as_str)
                    && target.strip_prefix('#').and_then(|path| parameters.pointer(path)).is_none()
                {
                    return Some(format!("the reference `{target}` leads nowhere in the schema"));
                }
                open.extend(map.iter().filter(|(key, _)| !DATA.contains(&key.as_str())).map(|(_, value)| value));
            }
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_says_nothing_is_no_fault() {
        for schema in [
            json!(null),
            json!(true),
            json!({}),
            json!({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}),
            json!({"properties": {"a": {"default": {"$ref": "nowhere"}, "enum": [{"$ref": "#/x"}]}}}),
        ] {
            assert_eq!(find(&schema), None, "{schema}");
        }
    }

    #[test]
    fn what_is_no_schema_or_leads_nowhere_is() {
        for schema in [json!([1]), json!("object"), json!(3), json!(false)] {
            assert_eq!(find(&schema).as_deref(), Some("the parameters are no schema"), "{schema}");
        }
        for target in ["#/$defs/B", "https://example.org/b.json"] {
            let schema =
                json!({"properties": {"a": {"anyOf": [{"type": "null"}, {"$ref": target}]}}, "$defs": {"A": {}}});
            assert_eq!(find(&schema), Some(format!("the reference `{target}` leads nowhere in the schema")));
        }
    }
}
