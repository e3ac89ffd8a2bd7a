//! JSON as a template's values.

use minijinja::Value;
use serde_json::{Map, Number};

/// An object; its keys keep their order.
pub(super) fn object(map: &Map<String, serde_json::Value>) -> Value {
    Value::from_pairs(map.iter().map(|(key, value)| (key.as_str(), of(value))))
}

fn of(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::from(()),
        serde_json::Value::Bool(truth) => Value::from(*truth),
        serde_json::Value::Number(number) => self::number(number),
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(items) => items.iter().map(of).collect(),
        serde_json::Value::Object(map) => object(map),
    }
}

fn number(number: &Number) -> Value {
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => Value::from(number),
        (None, Some(number)) => Value::from(number),
        (None, None) => Value::from(number.as_f64().unwrap_or(f64::NAN)),
    }
}
