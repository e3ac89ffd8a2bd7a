use serde_json::json;

use super::*;

/// Values of a schema, one by each seed.
fn values(schema: &Value, count: u64) -> Vec<Value> {
    (0..count)
        .map(|seed| {
            let mut rng = Rng::new(seed);
            ValueMaker::new(schema, &mut rng, seed % 5 == 0).value(schema, "thing", 0)
        })
        .collect()
}

fn all(schema: &Value, fits: impl Fn(&Value) -> bool) {
    for value in values(schema, 200) {
        assert!(fits(&value), "{value} does not fit {schema}");
    }
}

#[test]
fn scalars_keep_their_bounds() {
    all(&json!({"type": "integer", "minimum": 3, "maximum": 5}), |v| v.as_i64().is_some_and(|n| (3..=5).contains(&n)));
    all(&json!({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}), |v| *v == json!(4));
    all(&json!({"type": "integer", "maximum": -7}), |v| v.as_i64().is_some_and(|n| n <= -7));
    all(&json!({"type": "integer", "minimum": 10, "multipleOf": 15}), |v| {
        v.as_i64().is_some_and(|n| n >= 10 && n % 15 == 0)
    });
    all(&json!({"type": "integer", "maximum": -7, "multipleOf": 5}), |v| {
        v.as_i64().is_some_and(|n| n <= -7 && n % 5 == 0)
    });
    all(&json!({"type": "number", "minimum": 0, "maximum": 1}), |v| {
        v.as_f64().is_some_and(|n| (0.0..=1.0).contains(&n))
    });
    all(&json!({"type": "number", "exclusiveMaximum": 0}), |v| v.as_f64().is_some_and(|n| n < 0.0));
    all(&json!({"type": "number", "multipleOf": 0.5}), |v| v.as_f64().is_some_and(|n| (n * 2.0).fract() == 0.0));
    all(&json!({"type": "string", "minLength": 12, "maxLength": 14}), |v| {
        v.as_str().is_some_and(|s| (12..=14).contains(&s.chars().count()))
    });
    all(&json!({"type": "boolean"}), Value::is_boolean);
    all(&json!({"type": "null"}), Value::is_null);
}

#[test]
fn choices_are_taken_from_the_schema() {
    all(&json!({"enum": ["eco", 3, null]}), |v| *v == json!("eco") || *v == json!(3));
    all(&json!({"const": {"a": 1}}), |v| *v == json!({"a": 1}));
    all(&json!({"type": ["integer", "null"]}), Value::is_i64);
    all(&json!({"anyOf": [{"type": "null"}, {"type": "integer"}, {"type": "boolean"}]}), |v| {
        v.is_i64() || v.is_boolean()
    });
    all(&json!({"type": "string", "pattern": "^v[0-9]$", "default": "v3"}), |v| *v == json!("v3"));
}

#[test]
fn objects_hold_what_is_required_and_nothing_unknown() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["city", "days"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "hint": {"type": "string"}}
    });
    all(&schema, |v| {
        let object = v.as_object().expect("an object is asked for");
        object["city"].is_string()
            && object["days"].is_i64()
            && object.keys().all(|k| ["city", "days", "hint"].contains(&&**k))
    });
    let open = json!({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2});
    all(&open, |v| v.as_object().is_some_and(|o| o.len() >= 2 && o.values().all(Value::is_i64)));
    let joined = json!({"allOf": [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"properties": {"b": {"type": "boolean"}}, "required": ["b"]},
    ]});
    all(&joined, |v| v["a"].is_i64() && v["b"].is_boolean());
}

#[test]
fn lists_keep_their_length_and_kind() {
    let schema =
        json!({"type": "array", "minItems": 2, "maxItems": 3, "uniqueItems": true, "items": {"enum": [1, 2, 3]}});
    all(&schema, |v| {
        let items = v.as_array().expect("an array is asked for");
        let mut seen: Vec<_> = items.iter().map(Value::to_string).collect();
        seen.sort();
        seen.dedup();
        (2..=3).contains(&items.len()) && seen.len() == items.len()
    });
    let tuple = json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": false});
    all(&tuple, |v| v.as_array().is_some_and(|items| items.len() == 2 && items[0].is_i64() && items[1].is_boolean()));
    all(&json!({"type": "array", "maxItems": 0}), |v| *v == json!([]));
}

#[test]
fn references_are_followed_also_in_circles() {
    let tree = json!({
        "$defs": {"node": {"type": "object", "required": ["label"], "properties": {
            "label": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
        "$ref": "#/$defs/node"
    });
    all(&tree, |v| v["label"].is_string());
    for hostile in [
        json!({"$ref": "#"}),
        json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"type": "array", "minItems": 1_000_000, "items": {"type": "array", "minItems": 1_000_000}}),
        json!({"type": 4, "properties": [], "required": "x", "enum": 3, "anyOf": {}, "minimum": "y"}),
        json!({"type": "integer", "minimum": 1e300, "maximum": -1e300, "multipleOf": -2}),
        json!(true),
    ] {
        // It ends, and does not panic.
        let _ = values(&hostile, 5);
    }
}

#[test]
fn names_tell_what_they_hold() {
    for (name, part, yes) in [
        ("file_path", "path", true),
        ("filePath", "path", true),
        ("user_id", "id", true),
        ("userId", "id", true),
        ("ID", "id", true),
        ("width", "id", false),
        ("paid", "id", false),
        ("", "id", false),
    ] {
        assert_eq!(tells(name, part), yes, "{name} {part}");
    }
}
