//! Keeps markup out of the strings of a schema.

use serde_json::{Map, Value, json};

use crate::grammar::node::Avoid;
use crate::grammar::{avoid, pattern};

/// The schema with all strings constrained to contain none of the literals. `plain`: including those without
/// constraints of their own, which a backend with its own keyword does not need.
pub(in crate::grammar) fn guarded(schema: &Value, avoid: &Avoid, plain: bool) -> Value {
    if avoid.is_nothing() {
        return schema.clone();
    }
    let guard = Guard { avoid, plain };
    let mut out = guard.schema(schema);
    if plain && let Value::Object(map) = &mut out {
        let definitions = map.entry("$defs").or_insert_with(|| json!({}));
        if let Value::Object(definitions) = definitions {
            definitions.insert(ANYTHING.to_owned(), guard.anything());
            definitions.insert(TEXT.to_owned(), json!({"type": "string", "pattern": guard.text()}));
        }
    }
    out
}

/// Name of the definition of any value.
const ANYTHING: &str = "any_value";
/// Name of the definition of any string.
const TEXT: &str = "any_text";

struct Guard<'a> {
    avoid: &'a Avoid,
    plain: bool,
}

impl Guard<'_> {
    fn schema(&self, schema: &Value) -> Value {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => return schema.clone(),
            _ => return self.any(),
        };
        if map.contains_key("const") || map.contains_key("enum") {
            return self.listed(map);
        }
        let says = ["type", "$ref", "anyOf", "oneOf", "allOf", "properties", "items", "prefixItems"];
        if !says.iter().any(|k| map.contains_key(*k)) {
            return self.any();
        }
        let mut out = Map::new();
        for (key, value) in map {
            out.insert(key.clone(), self.word(key, value));
        }
        let is = |name: &str| match map.get("type") {
            Some(Value::String(own)) => own == name,
            Some(Value::Array(names)) => names.iter().any(|n| n == name),
            _ => false,
        };
        if is("string") && self.is_unbounded(&out) {
            return json!({"$ref": format!("#/$defs/{TEXT}")});
        }
        if is("string") {
            self.string(&mut out);
        }
        if self.plain && (is("array") || map.contains_key("items")) && !out.contains_key("items") {
            out.insert("items".to_owned(), self.any());
        }
        if is("object") || map.contains_key("properties") {
            self.members(&mut out);
        }
        Value::Object(out)
    }

    fn word(&self, key: &str, value: &Value) -> Value {
        match (key, value) {
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(map)) => {
                map.iter().map(|(k, v)| (k.clone(), self.schema(v))).collect::<Map<_, _>>().into()
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter().map(|v| self.schema(v)).collect::<Vec<_>>().into()
            }
            ("items" | "additionalProperties", value) if !value.is_boolean() => self.schema(value),
            _ => value.clone(),
        }
    }

    /// Listed values except those with a literal.
    fn listed(&self, map: &Map<String, Value>) -> Value {
        let mut out = map.clone();
        let clean = |v: &Value| !self.avoid.literals.iter().any(|l| v.to_string().contains(l.as_str()));
        if let Some(Value::Array(values)) = out.get_mut("enum") {
            values.retain(clean);
        }
        Value::Object(out)
    }

    /// Whether it has no constraint beyond being a string.
    fn is_unbounded(&self, map: &Map<String, Value>) -> bool {
        let bounds = ["pattern", "format", "minLength", "maxLength"];
        self.plain && map.get("type").is_some_and(|t| t == "string") && !bounds.iter().any(|k| map.contains_key(*k))
    }

    fn text(&self) -> String {
        format!("^{}$", avoid::expression(self.avoid))
    }

    fn string(&self, map: &mut Map<String, Value>) {
        let bound = |key: &str| map.get(key).and_then(Value::as_u64);
        let pattern = if let Some(Value::String(pattern)) = map.get("pattern") {
            pattern::without(pattern, self.avoid)
        } else if map.contains_key("format") {
            return;
        } else if let (None, None) = (bound("minLength"), bound("maxLength")) {
            if !self.plain {
                return;
            }
            self.text()
        } else {
            let (least, most) = (bound("minLength").unwrap_or(0), bound("maxLength"));
            let most = most.map(|m| m.to_string()).unwrap_or_default();
            format!("^{}{{{least},{most}}}$", avoid::character(self.avoid))
        };
        map.remove("minLength");
        map.remove("maxLength");
        map.insert("pattern".to_owned(), pattern.into());
    }

    /// Names of additional members are texts, too.
    fn members(&self, map: &mut Map<String, Value>) {
        let others = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => return,
            None if map.contains_key("patternProperties") => return,
            None | Some(Value::Bool(true)) => self.any(),
            Some(schema) => schema.clone(),
        };
        if !self.plain {
            return;
        }
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
        if !map.contains_key("properties") {
            map.insert("patternProperties".to_owned(), json!({ self.text(): others }));
        }
    }

    fn any(&self) -> Value {
        if self.plain { json!({"$ref": format!("#/$defs/{ANYTHING}")}) } else { Value::Bool(true) }
    }

    fn anything(&self) -> Value {
        let text = self.text();
        json!({"anyOf": [
            {"$ref": format!("#/$defs/{TEXT}")},
            {"type": ["number", "boolean", "null"]},
            {"type": "array", "items": self.any()},
            {"type": "object", "patternProperties": {text: self.any()}, "additionalProperties": false},
        ]})
    }
}
