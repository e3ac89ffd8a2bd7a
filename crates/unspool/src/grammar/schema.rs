//! JSON schemas as grammars need them.

use serde_json::{Map, Value, json};

use super::node::Avoid;
use super::{avoid, pattern};

/// Deepest nesting of references and unions that is looked through.
const DEEPEST: usize = 32;

/// One way to be a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Branch {
    /// This value.
    Const(Value),
    /// A string.
    Text(Map<String, Value>),
    /// A value of another type, given by its schema.
    Other(&'static str, Value),
    /// Any value.
    Any,
}

/// The JSON types but string.
const TYPES: [&str; 6] = ["null", "integer", "number", "boolean", "object", "array"];

/// A schema inside the schema that its references look into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) root: &'a Value,
    pub(super) schema: &'a Value,
}

impl<'a> Place<'a> {
    pub(super) fn root(root: &'a Value) -> Self {
        Self { root, schema: root }
    }

    pub(super) fn at(self, schema: &'a Value) -> Self {
        Self { schema, ..self }
    }

    /// The ways to be a value here.
    pub(super) fn branches(self) -> Vec<Branch> {
        let mut out = Vec::new();
        for schema in self.alternatives(self.schema.clone(), 0) {
            for branch in branches_of(schema) {
                if !out.contains(&branch) {
                    out.push(branch);
                }
            }
        }
        out
    }

    /// The schema as one object without references, unions and `allOf` at its top.
    pub(super) fn object(self) -> Option<Map<String, Value>> {
        let mut all = self.alternatives(self.schema.clone(), 0);
        match (all.len(), all.pop()) {
            (1, Some(Value::Object(map))) => Some(map),
            _ => None,
        }
    }

    fn resolve(self, reference: &str) -> Option<Value> {
        self.root.pointer(reference.strip_prefix('#')?).cloned()
    }

    /// The schemas of which one holds, without references, unions and `allOf` at their top.
    fn alternatives(self, schema: Value, depth: usize) -> Vec<Value> {
        let Value::Object(mut map) = schema else { return vec![schema] };
        if depth > DEEPEST {
            return vec![Value::Object(map)];
        }
        if let Some(Value::String(reference)) = map.remove("$ref") {
            let Some(target) = self.resolve(&reference) else { return vec![Value::Object(map)] };
            return self.alternatives(merged(map, target), depth + 1);
        }
        if let Some(Value::Array(parts)) = map.remove("allOf") {
            let whole = parts.into_iter().fold(Value::Object(map), |whole, part| match whole {
                Value::Object(map) => merged(map, self.opened(part)),
                other => other,
            });
            return self.alternatives(whole, depth + 1);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(parts)) = map.remove(key) {
                let each = parts.into_iter().map(|part| merged(map.clone(), self.opened(part)));
                return each.flat_map(|whole| self.alternatives(whole, depth + 1)).collect();
            }
        }
        vec![Value::Object(map)]
    }

    /// A part whose reference is followed, so that it can be merged.
    fn opened(self, part: Value) -> Value {
        match part.get("$ref").and_then(Value::as_str).and_then(|r| self.resolve(r)) {
            Some(target) if part.as_object().is_some_and(|m| m.len() == 1) => target,
            _ => part,
        }
    }

    /// The schema by itself: with the definitions that its references look into.
    pub(super) fn alone(self, schema: Value) -> Value {
        let Value::Object(mut map) = schema else { return schema };
        for key in ["$defs", "definitions"] {
            if let (Some(definitions), false) = (self.root.get(key), map.contains_key(key)) {
                map.insert(key.to_owned(), definitions.clone());
            }
        }
        Value::Object(map)
    }
}

/// Both hold: members and requirements add up, of other words the second counts.
fn merged(mut one: Map<String, Value>, other: Value) -> Value {
    let Value::Object(other) = other else {
        return if other == Value::Bool(false) { other } else { Value::Object(one) };
    };
    for (key, value) in other {
        match (one.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => known.extend(more),
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                known.extend(more.into_iter().filter(|m| !known.contains(m)).collect::<Vec<_>>());
            }
            (Some(Value::Array(known)), Value::Array(more)) if matches!(key.as_str(), "enum" | "type") => {
                known.retain(|v| more.contains(v));
            }
            (_, value) => {
                one.insert(key, value);
            }
        }
    }
    Value::Object(one)
}

fn branches_of(schema: Value) -> Vec<Branch> {
    let map = match schema {
        Value::Object(map) => map,
        Value::Bool(false) => return Vec::new(),
        _ => return vec![Branch::Any],
    };
    let names: Vec<&str> = match map.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let values = match (map.get("const"), map.get("enum")) {
        (Some(value), _) => vec![value.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        _ => Vec::new(),
    };
    if !values.is_empty() {
        let fits = |v: &Value| names.is_empty() || names.iter().any(|n| is_of(v, n));
        return values.into_iter().filter(fits).map(Branch::Const).collect();
    }
    let mut names: Vec<&str> = if names.is_empty() { implied(&map).into_iter().collect() } else { names };
    if names.is_empty() {
        return vec![Branch::Any];
    }
    if map.get("nullable") == Some(&Value::Bool(true)) && !names.contains(&"null") {
        names.push("null");
    }
    names.iter().map(|name| of_type(name, &map)).collect()
}

fn of_type(name: &str, map: &Map<String, Value>) -> Branch {
    if name == "string" {
        return Branch::Text(map.clone());
    }
    let Some(name) = TYPES.into_iter().find(|t| *t == name) else { return Branch::Any };
    let mut map = map.clone();
    map.remove("nullable");
    map.insert("type".to_owned(), name.into());
    Branch::Other(name, Value::Object(map))
}

fn implied(map: &Map<String, Value>) -> Option<&'static str> {
    let has = |keys: &[&str]| keys.iter().any(|k| map.contains_key(*k));
    if has(&["properties", "additionalProperties", "patternProperties", "required"]) {
        Some("object")
    } else if has(&["items", "prefixItems"]) {
        Some("array")
    } else {
        None
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(n) => name == "number" || name == "integer" && !n.is_f64(),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// The keys that a schema's object must have.
pub(super) fn required(map: &Map<String, Value>) -> Vec<&str> {
    map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The schema of arguments: an object whatever else it says. An object that lists its members has no others unless it
/// says so.
pub(super) fn arguments(schema: &Value) -> Value {
    let mut schema = if schema.is_object() { schema.clone() } else { json!({}) };
    if let Value::Object(map) = &mut schema
        && !["type", "$ref", "anyOf", "oneOf", "allOf"].iter().any(|k| map.contains_key(*k))
    {
        map.insert("type".to_owned(), "object".into());
    }
    close(&mut schema, true);
    schema
}

/// Any JSON object.
pub(super) fn any_object() -> Value {
    json!({"type": "object"})
}

/// Closes the objects of a schema that list their members and say nothing of others.
fn close(schema: &mut Value, alone: bool) {
    let Value::Object(map) = schema else { return };
    let composed = ["allOf", "anyOf", "oneOf", "$ref"].iter().any(|k| map.contains_key(*k));
    for (key, inner) in map.iter_mut() {
        match key.as_str() {
            "properties" | "$defs" | "definitions" | "patternProperties" => {
                inner.as_object_mut().into_iter().flat_map(|m| m.values_mut()).for_each(|s| close(s, true));
            }
            "items" | "additionalProperties" => close(inner, true),
            "prefixItems" | "anyOf" | "oneOf" => {
                inner.as_array_mut().into_iter().flatten().for_each(|s| close(s, alone && !has_members(s)));
            }
            _ => {}
        }
    }
    let open = ["additionalProperties", "patternProperties", "unevaluatedProperties"];
    if alone && !composed && map.contains_key("properties") && !open.iter().any(|k| map.contains_key(*k)) {
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

/// A schema for xgrammar, which takes what is not said for forbidden: further members and items are said, members that are
/// required and not listed are listed, and of what all must hold (`allOf`) one schema is made.
pub(super) fn explicit(schema: &Value) -> Value {
    said(Place::root(schema))
}

fn said(place: Place<'_>) -> Value {
    let Value::Object(map) = place.schema else { return place.schema.clone() };
    if map.contains_key("allOf") {
        let all = place.alternatives(place.schema.clone(), 0);
        let all: Vec<Value> = all.iter().filter(|s| s.get("allOf").is_none()).map(|s| said(place.at(s))).collect();
        return match <[Value; 1]>::try_from(all) {
            Ok([one]) => one,
            Err(all) if all.is_empty() => place.schema.clone(),
            Err(all) => json!({ "anyOf": all }),
        };
    }
    let each = |value: &Value| said(place.at(value));
    let inner = |(key, value): (&String, &Value)| {
        let value = match (key.as_str(), value) {
            ("patternProperties", Value::Object(all)) => {
                all.iter().map(|(k, v)| (pattern::in_json(k), each(v))).collect::<Map<_, _>>().into()
            }
            ("properties" | "$defs" | "definitions", Value::Object(all)) => {
                all.iter().map(|(k, v)| (k.clone(), each(v))).collect::<Map<_, _>>().into()
            }
            ("anyOf" | "oneOf" | "prefixItems", Value::Array(all)) => all.iter().map(each).collect(),
            ("items" | "additionalProperties", value) => each(value),
            (_, value) => value.clone(),
        };
        (key.clone(), value)
    };
    let mut out: Map<String, Value> = map.iter().map(inner).collect();
    let is = |name: &str| match map.get("type") {
        Some(Value::String(own)) => own == name,
        Some(Value::Array(names)) => names.iter().any(|n| n == name),
        _ => false,
    };
    if is("object") {
        say_members(&mut out);
    }
    if is("string") {
        say_text(&mut out);
    }
    if is("array") && !out.contains_key("items") && !out.contains_key("unevaluatedItems") {
        out.insert("items".to_owned(), Value::Bool(true));
    }
    Value::Object(out)
}

/// Patterns and lengths are of the text between the quotes, to xgrammar: escapes and all.
fn say_text(map: &mut Map<String, Value>) {
    let bound = |key: &str| map.get(key).and_then(Value::as_u64);
    let pattern = match (map.get("pattern").and_then(Value::as_str), bound("minLength"), bound("maxLength")) {
        (Some(pattern), ..) => pattern::in_json(pattern),
        (None, None, None) => return,
        (None, least, most) => pattern::length_in_json(least.unwrap_or(0), most),
    };
    map.remove("minLength");
    map.remove("maxLength");
    map.insert("pattern".to_owned(), pattern.into());
}

fn say_members(map: &mut Map<String, Value>) {
    let says = ["additionalProperties", "patternProperties", "unevaluatedProperties"];
    if !says.iter().any(|k| map.contains_key(*k)) {
        map.insert("additionalProperties".to_owned(), Value::Bool(true));
    }
    let others = map.get("additionalProperties").cloned().unwrap_or(Value::Bool(true));
    let lists = |key: &&str| map.get("properties").is_some_and(|p| p.get(*key).is_some());
    let missing: Vec<String> = required(map).into_iter().filter(|k| !lists(k)).map(str::to_owned).collect();
    if missing.is_empty() || map.contains_key("patternProperties") {
        return;
    }
    if let Value::Object(properties) = map.entry("properties").or_insert_with(|| json!({})) {
        properties.extend(missing.into_iter().map(|key| (key, others.clone())));
    }
}

/// Whether a branch shares its object with the members of others.
fn has_members(schema: &Value) -> bool {
    schema.get("allOf").is_some()
}

/// The schema with all its strings bounded so that none has one of the literals. `plain`: also those that have no bound
/// of their own; a backend with a word for that needs it not.
pub(super) fn guarded(schema: &Value, avoid: &Avoid, plain: bool) -> Value {
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

    /// Listed values without those that have a literal.
    fn listed(&self, map: &Map<String, Value>) -> Value {
        let mut out = map.clone();
        let clean = |v: &Value| !self.avoid.literals.iter().any(|l| v.to_string().contains(l.as_str()));
        if let Some(Value::Array(values)) = out.get_mut("enum") {
            values.retain(clean);
        }
        Value::Object(out)
    }

    /// Whether it says no more than that it is a string.
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

    /// Names of members that the schema does not list are texts, too.
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
