//! Whether a value fits a schema: the words that the test's tools use.

use serde_json::Value;

pub(crate) fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let map = match schema {
        Value::Object(map) => map,
        Value::Bool(false) => return Err(format!("{value} where nothing may be")),
        _ => return Ok(()),
    };
    let fault = |why: &str| Err(format!("{value} {why} {schema}"));
    for (word, said) in map {
        match word.as_str() {
            "$ref" => {
                let target = root.pointer(said.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
                check(root, target, value)?;
            }
            "type" => {
                let names: Vec<&str> = said
                    .as_str()
                    .map_or_else(|| said.as_array().unwrap().iter().filter_map(Value::as_str).collect(), |n| vec![n]);
                if !names.iter().any(|n| is_of(value, n)) {
                    return fault("is of none of the types of");
                }
            }
            "enum" if !said.as_array().unwrap().contains(value) => return fault("is not listed in"),
            "const" if said != value => return fault("is not the value of"),
            "anyOf" | "oneOf" if !said.as_array().unwrap().iter().any(|s| check(root, s, value).is_ok()) => {
                return fault("fits no branch of");
            }
            "allOf" => said.as_array().unwrap().iter().try_for_each(|s| check(root, s, value))?,
            "minimum" if value.as_f64().is_some_and(|v| v < said.as_f64().unwrap()) => return fault("is less than in"),
            "exclusiveMinimum" if value.as_f64().is_some_and(|v| v <= said.as_f64().unwrap()) => {
                return fault("is no more than in");
            }
            "maximum" if value.as_f64().is_some_and(|v| v > said.as_f64().unwrap()) => return fault("is more than in"),
            "minLength" | "maxLength" | "minItems" | "maxItems" => {
                size(word, said, value).or_else(|()| fault("is too long or short for"))?;
            }
            "pattern" => {
                let pattern = fancy_regex::Regex::new(said.as_str().unwrap()).unwrap();
                if value.as_str().is_some_and(|t| !pattern.is_match(t).unwrap()) {
                    return fault("does not fit the pattern of");
                }
            }
            "items" => {
                let first = map.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
                value.as_array().into_iter().flatten().skip(first).try_for_each(|v| check(root, said, v))?;
            }
            "prefixItems" => {
                value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .zip(said.as_array().unwrap())
                    .try_for_each(|(v, s)| check(root, s, v))?;
            }
            "required" => {
                let has = |key: &Value| value.get(key.as_str().unwrap()).is_some();
                if value.is_object() && !said.as_array().unwrap().iter().all(has) {
                    return fault("lacks a member of");
                }
            }
            _ => {}
        }
    }
    members(root, schema, value)
}

fn members(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, member) in value.as_object().into_iter().flatten() {
        match (properties.and_then(|p| p.get(key)), schema.get("additionalProperties")) {
            (Some(schema), _) | (None, Some(schema)) => check(root, schema, member)?,
            (None, None) => {}
        }
    }
    Ok(())
}

fn size(word: &str, said: &Value, value: &Value) -> Result<(), ()> {
    let len = match (word, value) {
        ("minLength" | "maxLength", Value::String(text)) => text.chars().count(),
        ("minItems" | "maxItems", Value::Array(items)) => items.len(),
        _ => return Ok(()),
    } as u64;
    let said = said.as_u64().unwrap();
    let fits = if word.starts_with("min") { len >= said } else { len <= said };
    if fits { Ok(()) } else { Err(()) }
}

fn is_of(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(n) => {
            name == "number" || name == "integer" && (!n.is_f64() || n.as_f64().is_some_and(|f| f.fract() == 0.0))
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}
