//! Values that match a JSON schema.

use serde_json::{Map, Number, Value};

use super::pattern::fitting;
use crate::random::Random;

/// Beyond this depth only required members are generated.
const SHALLOW: usize = 4;
/// Beyond this depth a recursive schema is abandoned.
const DEEPEST: usize = 24;

/// Maximum length of a list, whatever its schema requires.
const MOST_ITEMS: usize = 256;

const WORDS: &[&str] =
    &["Looe", "Fowey", "quay 3", "low water", "Gannet", "north-east", "reel four", "café", "3 boats", "O'Neill"];
const KEYS: &[&str] = &["berth", "depth", "crew", "flag"];

/// Generates values of one schema, and resolves its references.
pub(super) struct Maker<'a> {
    pub(super) random: &'a mut Random,
    pub(super) root: &'a Value,
}

impl<'a> Maker<'a> {
    /// A value of a subschema.
    pub(super) fn value(&mut self, schema: &'a Value, depth: usize) -> Value {
        let Some(map) = schema.as_object().filter(|_| depth < DEEPEST) else { return self.text(&Map::new()) };
        if let Some(value) = map.get("const") {
            return value.clone();
        }
        if let Some(values) = map.get("enum").and_then(Value::as_array).filter(|v| !v.is_empty()) {
            return self.random.any(values).cloned().unwrap_or_default();
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|r| self.resolve(r)) {
            return self.value(target, depth + 1);
        }
        let union = ["anyOf", "oneOf"].iter().find_map(|k| map.get(*k)).and_then(Value::as_array);
        if let Some(branches) = union.filter(|b| !b.is_empty() && !map.contains_key("properties")) {
            let branch = self.branch(branches, depth);
            return self.value(branch, depth + 1);
        }
        if let Some(parts) = map.get("allOf").and_then(Value::as_array) {
            return self.all_of(map, parts, depth);
        }
        let name = self.type_name(map, depth);
        self.of_type(name, map, depth)
    }

    fn resolve(&self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// One branch of a union: usually any that is not null; at depth the smallest.
    fn branch(&mut self, branches: &'a [Value], depth: usize) -> &'a Value {
        let is_null = |b: &&Value| b.get("type").is_some_and(|t| t == "null");
        let others: Vec<&Value> = branches.iter().filter(|b| !is_null(b)).collect();
        let null = branches.iter().find(is_null);
        match null {
            Some(null) if others.is_empty() || depth > SHALLOW || self.random.chance(1, 5) => null,
            _ if depth > SHALLOW => others.iter().min_by_key(|b| b.to_string().len()).copied().unwrap_or(&Value::Null),
            _ => self.random.any(&others).copied().unwrap_or(&Value::Null),
        }
    }

    /// All parts apply: members of objects are merged, otherwise the most specific part is used.
    fn all_of(&mut self, map: &'a Map<String, Value>, parts: &'a [Value], depth: usize) -> Value {
        let mut value = Value::Null;
        for part in parts {
            match (self.value(part, depth + 1), &mut value) {
                (Value::Object(more), Value::Object(all)) => all.extend(more),
                (part, value) if value.is_null() || part.is_object() => *value = part,
                _ => {}
            }
        }
        if map.contains_key("properties") {
            let own = self.object(map, depth);
            match &mut value {
                Value::Object(all) => all.extend(own),
                _ => value = Value::Object(own),
            }
        }
        value
    }

    fn type_name(&mut self, map: &'a Map<String, Value>, depth: usize) -> &'a str {
        match map.get("type") {
            Some(Value::String(name)) => name,
            Some(Value::Array(names)) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                let others: Vec<&str> = names.iter().copied().filter(|n| *n != "null").collect();
                let is_null =
                    others.is_empty() || names.len() > others.len() && (depth > SHALLOW || self.random.chance(1, 5));
                if is_null { "null" } else { self.random.pick(&others) }
            }
            _ if map.contains_key("properties") || map.contains_key("additionalProperties") => "object",
            _ if map.contains_key("items") || map.contains_key("prefixItems") => "array",
            _ if map.contains_key("minimum") || map.contains_key("maximum") => "number",
            _ => "string",
        }
    }

    fn of_type(&mut self, name: &str, map: &'a Map<String, Value>, depth: usize) -> Value {
        match name {
            "null" => Value::Null,
            "boolean" => Value::Bool(self.random.chance(1, 2)),
            "integer" => self.integer(map),
            "number" => self.number(map),
            "array" => self.array(map, depth),
            "object" => Value::Object(self.object(map, depth)),
            _ => self.text(map),
        }
    }

    fn object(&mut self, map: &'a Map<String, Value>, depth: usize) -> Map<String, Value> {
        let required: Vec<&str> =
            map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let mut out = Map::new();
        for (key, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if required.contains(&key.as_str()) || depth <= SHALLOW && self.random.chance(1, 2) {
                out.insert(key.clone(), self.value(schema, depth + 1));
            }
        }
        let additional = map.get("additionalProperties").filter(|s| s.is_object());
        for key in required {
            if !out.contains_key(key) {
                let value = self.value(additional.unwrap_or(&Value::Null), depth + 1);
                out.insert(key.to_owned(), value);
            }
        }
        if let Some(schema) = additional.filter(|_| !map.contains_key("properties") && depth <= SHALLOW) {
            let key = self.random.pick(KEYS).to_owned();
            out.insert(key, self.value(schema, depth + 1));
        }
        out
    }

    fn array(&mut self, map: &'a Map<String, Value>, depth: usize) -> Value {
        let first: &[Value] = map.get("prefixItems").and_then(Value::as_array).map_or(&[], Vec::as_slice);
        let least = size(map, "minItems").unwrap_or(0).max(first.len()).min(MOST_ITEMS);
        let most = size(map, "maxItems").unwrap_or(least + 3).max(least);
        let more = if depth > SHALLOW { 0 } else { self.random.below(most - least + 1).min(3) };
        let unique = map.get("uniqueItems") == Some(&Value::Bool(true));
        let items = map.get("items").filter(|i| i.is_object()).unwrap_or(&Value::Null);
        let mut out: Vec<Value> = Vec::new();
        for i in 0..least + more {
            let mut item = self.value(first.get(i).unwrap_or(items), depth + 1);
            for _ in 0..32 {
                if !unique || !out.contains(&item) {
                    break;
                }
                item = self.value(first.get(i).unwrap_or(items), depth + 1);
            }
            out.push(item);
        }
        Value::Array(out)
    }

    fn integer(&mut self, map: &Map<String, Value>) -> Value {
        let (least, most) = bounds(map);
        let step = map.get("multipleOf").and_then(Value::as_i64).filter(|s| *s > 0).unwrap_or(1);
        let (first, last) = (whole(least.ceil()).div_euclid(step), whole(most.floor()).div_euclid(step));
        let first = if first.saturating_mul(step) < whole(least.ceil()) { first + 1 } else { first };
        Value::from(self.random.between(first, last).saturating_mul(step))
    }

    /// A number with at most two decimals, if the bounds allow.
    fn number(&mut self, map: &Map<String, Value>) -> Value {
        let (least, most) = bounds(map);
        let cents = self.random.between(whole((least * 100.0).ceil()), whole((most * 100.0).floor()));
        let value = (cents as f64 / 100.0).clamp(least, most.max(least));
        Number::from_f64(value).map_or(Value::from(0), Value::Number)
    }

    fn text(&mut self, map: &Map<String, Value>) -> Value {
        if let Some(pattern) = map.get("pattern").and_then(Value::as_str)
            && let Ok(hir) = regex_syntax::Parser::new().parse(pattern)
        {
            let mut text = String::new();
            fitting(&hir, &mut |n| self.random.below(n), &mut text);
            return Value::from(text);
        }
        let two = |random: &mut Random, first: i64, last: i64| format!("{:02}", random.between(first, last));
        let text = match map.get("format").and_then(Value::as_str) {
            Some("date") => format!("2026-{}-{}", two(self.random, 1, 12), two(self.random, 1, 28)),
            Some("time") => format!("{}:{}:00Z", two(self.random, 0, 23), two(self.random, 0, 59)),
            Some("date-time") => format!("2026-05-{}T{}:30:00Z", two(self.random, 1, 28), two(self.random, 0, 23)),
            Some("email") => format!("crew{}@example.org", self.random.below(100)),
            Some("uri" | "url") => format!("https://example.org/log/{}", self.random.below(1000)),
            Some("ipv4") => format!("192.0.2.{}", self.random.below(255)),
            Some("uuid") => {
                let (high, low) = (self.random.next(), self.random.next());
                let hex = format!("{high:016x}{low:016x}");
                format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
            }
            _ => self.random.pick(WORDS).to_owned(),
        };
        let least = size(map, "minLength").unwrap_or(0).min(1 << 16);
        let most = size(map, "maxLength").unwrap_or(usize::MAX);
        let padding = std::iter::repeat_n('a', least.saturating_sub(text.chars().count()));
        Value::String(text.chars().chain(padding).take(most.max(least)).collect())
    }
}

fn size(map: &Map<String, Value>, key: &str) -> Option<usize> {
    map.get(key)?.as_u64().and_then(|n| usize::try_from(n).ok())
}

/// Minimum and maximum; a missing one is near the other or near zero.
fn bounds(map: &Map<String, Value>) -> (f64, f64) {
    const SPAN: f64 = 100.0;
    let is_whole = map.get("type").is_some_and(|t| t == "integer");
    let next = if is_whole { 1.0 } else { 0.01 };
    let number = |key: &str| map.get(key).and_then(Value::as_f64);
    let least = number("minimum").or_else(|| number("exclusiveMinimum").map(|n| n + next));
    let most = number("maximum").or_else(|| number("exclusiveMaximum").map(|n| n - next));
    match (least, most) {
        (Some(least), Some(most)) => (least, most),
        (Some(least), None) => (least, least + SPAN),
        (None, Some(most)) => (most - SPAN, most),
        (None, None) => (-5.0, SPAN),
    }
}

/// A bound as an integer; for distant ones an approximation is enough.
fn whole(bound: f64) -> i64 {
    const FAR: f64 = 9e15;
    bound.clamp(-FAR, FAR) as i64
}
