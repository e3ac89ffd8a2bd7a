//! JSON in a structural tag.

use serde_json::{Map, Value};

use super::super::validate;
use super::{Ends, Reader, texts};

impl Reader<'_> {
    /// One JSON value that fits the schema of a node.
    pub(super) fn json(&self, node: &Value, at: usize) -> Ends {
        let rest = &self.text[at..];
        let Some(end) = span(rest) else { return Ends::new() };
        let text = &rest[..end];
        let Ok(value) = super::super::json_value(text) else { return Ends::new() };
        let is_apart = rest.starts_with(|c: char| c.is_whitespace());
        let clean = !texts(node, "excludes").iter().any(|l| text.contains(l.as_str()));
        let fits = fits(&node["json_schema"], &value, node["any_order"] == true);
        (!is_apart && clean && fits).then_some(at + end).into_iter().collect()
    }
}

/// Length of the JSON value that a text begins with: a number or word goes on while it can, of anything else the brackets
/// and quotes say where it ends.
fn span(text: &str) -> Option<usize> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let word = text.len() - text.trim_start_matches(is_word).len();
    if word > 0 {
        return Some(word);
    }
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 && !quoted {
            return Some(i + c.len_utf8());
        }
    }
    None
}

/// Whether a value fits, with the members of objects in the order of their schema and no others.
pub(super) fn fits(schema: &Value, value: &Value, any_order: bool) -> bool {
    validate::check(schema, schema, value).is_ok() && is_plain(schema, schema, value, any_order)
}

fn is_plain(root: &Value, schema: &Value, value: &Value, any_order: bool) -> bool {
    let schema = resolved(root, schema);
    match value {
        Value::Array(items) => items.iter().all(|item| is_plain(root, &schema["items"], item, any_order)),
        Value::Object(members) => {
            let Some(properties) = schema["properties"].as_object() else { return true };
            let places: Option<Vec<usize>> = members.keys().map(|k| properties.keys().position(|p| p == k)).collect();
            let is_open = schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
            let in_order = |places: Vec<usize>| any_order || places.is_sorted();
            places.map_or(is_open, in_order)
                && members
                    .iter()
                    .all(|(k, v)| properties.get(k).is_none_or(|schema| is_plain(root, schema, v, any_order)))
        }
        _ => true,
    }
}

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|r| root.pointer(r.strip_prefix('#')?));
    target.unwrap_or(schema)
}

/// The members of an object in the order of its schema.
pub(super) fn ordered(schema: &Value, value: Value) -> Value {
    match (value, schema.get("properties").and_then(Value::as_object)) {
        (Value::Object(mut members), Some(properties)) => {
            let mut out = Map::new();
            for (key, schema) in properties {
                if let Some(value) = members.remove(key) {
                    out.insert(key.clone(), ordered(schema, value));
                }
            }
            out.extend(members);
            Value::Object(out)
        }
        (value, _) => value,
    }
}
