use serde_json::{Value, json};

use super::{Parts, Sampler};

fn tools() -> Value {
    json!([
        {"type": "function", "function": {"name": "tide", "parameters": {
            "type": "object",
            "properties": {"port": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7}},
            "required": ["port"],
        }}},
        {"type": "function", "name": "ping"},
        {"type": "web_search"},
    ])
}

/// Many values of one schema.
fn values(schema: &Value) -> Vec<Value> {
    let mut sampler = Sampler::new(1);
    (0..200).map(|_| sampler.value(schema)).collect()
}

#[test]
fn the_same_seed_makes_the_same_messages() {
    let make = |seed| {
        let mut sampler = Sampler::new(seed);
        (0..20).map(|_| sampler.message(&tools())).collect::<Vec<_>>()
    };
    assert_eq!(make(3), make(3));
    assert_ne!(make(3), make(4));
}

#[test]
fn a_message_has_the_parts_that_were_asked_for() {
    let mut sampler = Sampler::new(5);
    let message = sampler.message_of(&tools(), Parts { reasoning: false, content: true, calls: 2 });
    assert!(message.reasoning.is_empty() && !message.content.is_empty());
    assert_eq!(message.tool_calls.len(), 2);
    assert!(message.tool_calls.iter().all(|c| c.complete && ["tide", "ping"].contains(&c.name.as_str())));
    assert!(sampler.message_of(&Value::Null, Parts { reasoning: true, content: true, calls: 2 }).tool_calls.is_empty());
}

#[test]
fn messages_are_of_all_kinds() {
    let mut sampler = Sampler::new(9);
    let messages: Vec<_> = (0..200).map(|_| sampler.message(&tools())).collect();
    for count in 0..=3 {
        assert!(messages.iter().any(|m| m.tool_calls.len() == count), "{count} calls");
    }
    assert!(messages.iter().any(|m| m.reasoning.is_empty()));
    assert!(messages.iter().all(|m| !m.content.is_empty() || !m.tool_calls.is_empty()));
    assert!(messages.iter().any(|m| !m.content.is_empty() && !m.tool_calls.is_empty()));
}

#[test]
fn arguments_are_json_with_what_is_required() {
    let mut sampler = Sampler::new(2);
    for call in sampler.calls(&tools(), 100) {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        if call.name == "tide" {
            assert!(arguments["port"].is_string(), "{arguments}");
            assert!(arguments.get("days").is_none_or(|d| (1..=7).contains(&d.as_i64().unwrap())), "{arguments}");
        } else {
            assert_eq!(arguments, json!({}));
        }
    }
    assert_eq!(super::json_text(&json!({"a": [1, "ü"], "b": {}})), "{\"a\": [1, \"ü\"], \"b\": {}}");
}

#[test]
fn numbers_keep_their_bounds() {
    for value in values(&json!({"type": "integer", "exclusiveMinimum": 3, "maximum": 20, "multipleOf": 5})) {
        assert!([5, 10, 15, 20].contains(&value.as_i64().unwrap()), "{value}");
    }
    for value in values(&json!({"type": "number", "minimum": 0.25, "exclusiveMaximum": 0.5})) {
        assert!((0.25..0.5).contains(&value.as_f64().unwrap()), "{value}");
    }
    assert!(values(&json!({"type": "integer"})).iter().any(|v| v.as_i64().unwrap() < 0));
}

#[test]
fn lists_and_texts_keep_their_bounds() {
    for value in values(
        &json!({"type": "array", "minItems": 2, "maxItems": 4, "items": {"type": "integer"}, "uniqueItems": true}),
    ) {
        let items = value.as_array().unwrap();
        assert!((2..=4).contains(&items.len()) && items.iter().all(Value::is_i64), "{value}");
        assert!((1..items.len()).all(|i| !items[..i].contains(&items[i])), "{value}");
    }
    for value in values(&json!({"type": "string", "minLength": 4, "maxLength": 6})) {
        assert!((4..=6).contains(&value.as_str().unwrap().chars().count()), "{value}");
    }
    for value in values(&json!({"type": "string", "format": "uuid"})) {
        assert_eq!(value.as_str().unwrap().len(), 36, "{value}");
    }
}

#[test]
fn unions_references_and_listed_values_are_followed() {
    let schema = json!({
        "type": "object",
        "properties": {
            "one": {"enum": ["a", 2]},
            "only": {"const": [true]},
            "either": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Name"}, {"type": "null"}]},
            "both": {"allOf": [{"$ref": "#/$defs/Named"}, {"properties": {"b": {"type": "boolean"}}, "required": ["b"]}]},
            "nullable": {"type": ["string", "null"]},
        },
        "required": ["one", "only", "either", "both", "nullable", "undeclared"],
        "$defs": {
            "Name": {"type": "string", "maxLength": 3},
            "Named": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        },
    });
    let values = values(&schema);
    for value in &values {
        assert!([json!("a"), json!(2)].contains(&value["one"]), "{value}");
        assert_eq!(value["only"], json!([true]));
        assert!(value["both"]["a"].is_i64() && value["both"]["b"].is_boolean(), "{value}");
        assert!(value["undeclared"].is_string(), "{value}");
    }
    for test in [Value::is_i64, Value::is_string, Value::is_null] {
        assert!(values.iter().any(|v| test(&v["either"])));
    }
    assert!(values.iter().any(|v| v["nullable"].is_null()) && values.iter().any(|v| v["nullable"].is_string()));
}

#[test]
fn schemas_without_end_come_to_one() {
    let tree = json!({"$ref": "#/$defs/Tree", "$defs": {"Tree": {
        "type": "object",
        "properties": {"leaf": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "minItems": 1}},
        "required": ["leaf", "kids"],
    }}});
    assert!(values(&tree)[0]["kids"][0]["leaf"].is_i64());
    let circle = json!({"$ref": "#"});
    assert!(values(&circle)[0].is_string());
    for odd in [json!(true), json!(null), json!({"type": 7, "enum": [], "anyOf": []}), json!({"$ref": "other.json"})] {
        assert_eq!(values(&odd).len(), 200);
    }
}
