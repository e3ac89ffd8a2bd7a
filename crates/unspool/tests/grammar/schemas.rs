//! Schemas of many kinds, one tool each: what the grammar admits fits them, or the grammar says what it cannot write.

use serde_json::{Value, json};
use unspool::grammar::{Options, StrictLevel};

use super::machine::Random;
use super::pairs::Names;
use super::{Case, check_calls, messages, names_with_calls, sample_count};

/// Parameters, and whether a format may refuse their keys.
fn parameters() -> Vec<(&'static str, Value, bool)> {
    let object =
        |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    let leg = json!({"type": "object", "properties": {"to": {"type": "string", "maxLength": 3}, "at": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}}, "required": ["to"]});
    let mut shared = object(
        json!({"a": {"$ref": "#/$defs/mark"}, "b": {"type": "array", "items": {"$ref": "#/$defs/mark"}}}),
        json!(["a"]),
    );
    shared["$defs"] = json!({"mark": {"anyOf": [{"enum": ["north", "south"]}, {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"], "additionalProperties": false}]}});
    vec![
        (
            "sea-state.2",
            object(
                json!({"level": {"enum": [0, 1, "two", null, true, 2.5]}, "depth": {"type": "integer", "exclusiveMinimum": 2, "maximum": 7}}),
                json!(["level", "depth"]),
            ),
            false,
        ),
        (
            "both",
            json!({"allOf": [object(json!({"a": {"type": "string"}}), json!([])), object(json!({"b": {"type": "integer"}}), json!(["b"]))]}),
            false,
        ),
        (
            "legs",
            object(json!({"legs": {"type": "array", "items": leg, "minItems": 1, "maxItems": 3}}), json!(["legs"])),
            false,
        ),
        (
            "either",
            object(
                json!({"v": {"oneOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}, "w": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "boolean"}]}}),
                json!(["v", "w"]),
            ),
            false,
        ),
        ("shared", shared, false),
        ("nothing", json!({}), false),
        ("none", json!({"type": "object", "properties": {}, "additionalProperties": false}), false),
        ("anything", json!({"type": "object"}), false),
        ("counts", json!({"type": "object", "additionalProperties": {"type": "integer"}}), false),
        ("unlisted", json!({"type": "object", "required": ["port"]}), false),
        (
            "fixed",
            object(
                json!({"n": {"const": 5}, "s": {"const": "a quay's \"end\""}, "z": {"const": null}}),
                json!(["n", "s"]),
            ),
            false,
        ),
        (
            "lengths",
            object(
                json!({"u": {"type": "string", "minLength": 2, "maxLength": 5}, "t": {"type": ["integer", "string", "null"]}, "i": {"type": "integer", "minimum": -3, "maximum": 12}}),
                json!(["u", "t"]),
            ),
            false,
        ),
        (
            "patterns",
            object(
                json!({"p": {"type": "string", "pattern": "^(\\d{2}|x)-[a-f]+$"}, "q": {"type": "string", "pattern": "[0-9]"}}),
                json!(["p", "q"]),
            ),
            false,
        ),
        (
            "pairs",
            object(
                json!({"at": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": false, "minItems": 2}, "open": {"type": "object"}, "all": {"type": "array"}}),
                json!(["at", "open", "all"]),
            ),
            false,
        ),
        (
            "many",
            object(
                json!({"a": {"type": "boolean"}, "b": {"type": "string"}, "c": {"type": "null"}, "d": {"type": "number"}, "e": {"type": "string"}}),
                json!(["b", "d"]),
            ),
            false,
        ),
        ("dots", object(json!({"a-b": {"type": "integer"}, "x.y": {"type": "string"}}), json!(["a-b", "x.y"])), true),
        ("letters", object(json!({"é": {"type": "boolean"}, "größe": {"type": "string"}}), json!(["é"])), true),
        ("blanks", object(json!({"a b": {"type": "string"}}), json!(["a b"])), true),
        ("quotes", object(json!({"q\"q": {"type": "integer"}}), json!(["q\"q"])), true),
    ]
}

/// Samples of one tool; whether its keys were refused.
fn held(names: &Names, name: &str, parameters: &Value, choice: &Value) -> Result<bool, String> {
    let tools = json!([{"type": "function", "function": {"name": name, "parameters": parameters}}]);
    let fields = json!({"tools": tools, "tool_choice": choice});
    let options = Options { level: StrictLevel::Parameter, ..Options::default() };
    if let Err(refused) = names.pair().grammar(&super::request(&fields), &options) {
        let key = parameters["properties"].as_object().into_iter().flatten().map(|(key, _)| format!("`{key}`"));
        let is_said = key.into_iter().any(|key| refused.message.contains(&key));
        return if is_said { Ok(true) } else { Err(format!("{names}, {name}: {refused}")) };
    }
    let about = format!("{names}, {name}, {choice}");
    let mut case = Case::of(names.pair(), &about, messages::markers(names), &fields, &options)?;
    let mut found = false;
    for number in 0..(3 + sample_count() / 50) as u64 {
        let mut random = Random::new(&about, number);
        let text = match case.machine.sample(&mut case.matcher, &mut random) {
            Ok(text) => text,
            // Of values that nest without end, a random walk does not always find out.
            Err(why) if why.starts_with("a text without end") => continue,
            Err(why) => return Err(format!("{about}: {why}")),
        };
        found = true;
        let fault = |why: String| format!("{about}: {why}\n  text: {text:?}");
        let message = case.parse_all(&text, &mut random).map_err(fault)?;
        check_calls(&message, &tools, true).map_err(fault)?;
        if choice == "required" && message.tool_calls.is_empty() {
            return Err(fault("no call".to_owned()));
        }
        case.dump.sampled(&text);
    }
    if found { Ok(false) } else { Err(format!("{about}: no text at all")) }
}

fn part(part: usize) {
    let mut faults = Vec::new();
    for names in names_with_calls().iter().filter(|n| n.reasoning.is_none()).skip(part).step_by(4) {
        for (name, parameters, may_refuse) in parameters() {
            match held(names, name, &parameters, &json!("required")) {
                Ok(true) if !may_refuse => faults.push(format!("{names}, {name}: refused")),
                Ok(_) => {}
                Err(fault) => faults.push(fault),
            }
        }
    }
    super::report(&faults);
}

#[test]
fn schemas_of_many_kinds_are_held_1() {
    part(0);
}

#[test]
fn schemas_of_many_kinds_are_held_2() {
    part(1);
}

#[test]
fn schemas_of_many_kinds_are_held_3() {
    part(2);
}

#[test]
fn schemas_of_many_kinds_are_held_4() {
    part(3);
}
