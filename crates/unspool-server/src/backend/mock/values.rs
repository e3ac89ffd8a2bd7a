//! Values that match a JSON schema.

use serde_json::{Map, Number, Value};
use unspool_text::Rng;

use super::words;

/// Maximum nesting with optional members.
const ROOMY: usize = 3;
/// Maximum nesting; deeper values are null. Only a recursive schema gets there.
const DEEPEST: usize = 24;
/// Maximum length of a list or a string.
const LONGEST: usize = 1000;
/// Maximum number of values for one schema, so that a branching recursive schema stays small.
const MOST_VALUES: usize = 2000;

/// Generates values for the schemas of one document. `plain` values are single words, for limited syntaxes.
pub(super) struct ValueMaker<'a> {
    root: &'a Value,
    rng: &'a mut Rng,
    plain: bool,
    made: usize,
}

impl<'a> ValueMaker<'a> {
    /// `root` is the document for `$ref`.
    pub(super) fn new(root: &'a Value, rng: &'a mut Rng, plain: bool) -> Self {
        Self { root, rng, plain, made: 0 }
    }

    /// An object that matches the root schema.
    pub(super) fn arguments(&mut self) -> Map<String, Value> {
        match self.value(self.root, "", 0) {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    /// A value that matches `schema`; `name` is its name.
    pub(super) fn value(&mut self, schema: &Value, name: &str, depth: usize) -> Value {
        self.made += 1;
        if depth > DEEPEST || self.made > MOST_VALUES {
            return Value::Null;
        }
        let schema = &self.resolve(schema, depth);
        if let Some(fixed) = self.fixed(schema) {
            return fixed;
        }
        match self.kind(schema) {
            "object" => Value::Object(self.object(schema, depth)),
            "array" => Value::Array(self.array(schema, name, depth)),
            "integer" => self.integer(schema),
            "number" => self.number(schema),
            "boolean" => Value::Bool(self.rng.one_in(2)),
            "null" => Value::Null,
            _ => Value::String(self.string(schema, name)),
        }
    }

    /// The schema with its `$ref` resolved, its parts merged and one of its alternatives chosen.
    fn resolve(&mut self, schema: &Value, depth: usize) -> Map<String, Value> {
        let mut out = Map::new();
        self.merge(schema, &mut out, depth);
        out
    }

    fn merge(&mut self, schema: &Value, out: &mut Map<String, Value>, depth: usize) {
        let Some(object) = schema.as_object() else { return };
        self.made += 1;
        if depth > DEEPEST || self.made > MOST_VALUES {
            return;
        }
        for (key, value) in object {
            match (key.as_str(), value) {
                ("$ref", Value::String(pointer)) => {
                    let root = self.root;
                    if let Some(target) = pointer.strip_prefix('#').and_then(|path| root.pointer(path)) {
                        self.merge(target, out, depth + 1);
                    }
                }
                ("allOf", Value::Array(parts)) => parts.iter().for_each(|part| self.merge(part, out, depth + 1)),
                ("anyOf" | "oneOf", Value::Array(choices)) => {
                    if let Some(choice) = self.choose(choices, depth) {
                        self.merge(choice, out, depth + 1);
                    }
                }
                _ => join(out, key, value),
            }
        }
    }

    /// One of several schemas: at depth the simplest, above preferably not null.
    fn choose<'b>(&mut self, choices: &'b [Value], depth: usize) -> Option<&'b Value> {
        let is = |choice: &Value, kind: &str| choice.get("type").and_then(Value::as_str) == Some(kind);
        if depth > ROOMY
            && let Some(simple) = choices.iter().find(|choice| is(choice, "null") || is(choice, "string"))
        {
            return Some(simple);
        }
        let full: Vec<&Value> = choices.iter().filter(|choice| !is(choice, "null")).collect();
        self.rng.pick(&full).copied().or_else(|| choices.first())
    }

    /// The value, if the schema fixes or enumerates it.
    fn fixed(&mut self, schema: &Map<String, Value>) -> Option<Value> {
        if let Some(value) = schema.get("const") {
            return Some(value.clone());
        }
        if let Some(Value::Array(choices)) = schema.get("enum") {
            let full: Vec<&Value> = choices.iter().filter(|choice| !choice.is_null()).collect();
            return self.rng.pick(&full).copied().or_else(|| choices.first()).cloned();
        }
        match schema.get("examples") {
            Some(Value::Array(examples)) if !self.plain => self.rng.pick(examples).cloned(),
            // A pattern is not inverted here; the default is most likely to match.
            _ if schema.contains_key("pattern") => schema.get("default").cloned(),
            _ => None,
        }
    }

    fn kind<'b>(&mut self, schema: &'b Map<String, Value>) -> &'b str {
        match schema.get("type") {
            Some(Value::String(kind)) => kind,
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect();
                self.rng.pick(&kinds).copied().unwrap_or("null")
            }
            _ if schema.contains_key("properties") => "object",
            _ if schema.contains_key("items") || schema.contains_key("prefixItems") => "array",
            _ if schema.contains_key("minimum") || schema.contains_key("maximum") => "number",
            _ => "string",
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let least = size(schema, "minProperties").unwrap_or(0);
        let most = size(schema, "maxProperties").unwrap_or(usize::MAX);
        let mut out = Map::new();
        let mut optional_room = most.saturating_sub(required.len());
        for (key, property) in properties {
            let needed = required.contains(&key.as_str());
            let wanted = depth < ROOMY && optional_room > 0 && !self.rng.one_in(4);
            if needed || wanted {
                optional_room -= usize::from(!needed);
                out.insert(key.clone(), self.value(property, key, depth + 1));
            }
        }
        let further = schema.get("additionalProperties").cloned().unwrap_or(Value::Bool(true));
        for key in required {
            if !out.contains_key(key) {
                out.insert(key.to_owned(), self.value(&further, key, depth + 1));
            }
        }
        for (number, key) in words::WORDS.iter().enumerate() {
            if out.len() >= least.min(words::WORDS.len()) && (number > 0 || !further.is_object() || !out.is_empty()) {
                break;
            }
            if !out.contains_key(*key) && out.len() < most {
                out.insert((*key).to_owned(), self.value(&further, key, depth + 1));
            }
        }
        out
    }

    fn array(&mut self, schema: &Map<String, Value>, name: &str, depth: usize) -> Vec<Value> {
        let least = size(schema, "minItems").unwrap_or(0);
        let most = size(schema, "maxItems").unwrap_or(usize::MAX);
        let first: &[Value] = schema.get("prefixItems").and_then(Value::as_array).map_or(&[], Vec::as_slice);
        let usual = if depth < ROOMY { first.len().max(1 + self.rng.below(2)) } else { 0 };
        let count = usual.max(least).min(most);
        let any = Value::Bool(true);
        let rest = schema.get("items").unwrap_or(&any);
        let count = if *rest == Value::Bool(false) { count.min(first.len()) } else { count };
        let unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        let mut out: Vec<Value> = Vec::with_capacity(count);
        // Some extra attempts for items that must be unique.
        for _ in 0..count.saturating_mul(4) {
            if out.len() == count {
                break;
            }
            let item = self.value(first.get(out.len()).unwrap_or(rest), name, depth + 1);
            if !(unique && out.contains(&item)) {
                out.push(item);
            }
        }
        out
    }

    fn integer(&mut self, schema: &Map<String, Value>) -> Value {
        let (low, high) = bounds(schema);
        let low = low.map_or(i64::MIN, |(low, open)| {
            let up = low.ceil();
            as_integer(up).saturating_add(i64::from(open && up == low))
        });
        let high = high.map_or(i64::MAX, |(high, open)| {
            let down = high.floor();
            as_integer(down).saturating_sub(i64::from(open && down == high))
        });
        let step = schema.get("multipleOf").and_then(Value::as_i64).filter(|step| *step > 0).unwrap_or(1);
        // The bound nearest to 1, moved to a multiple of the step.
        let nearest = if low <= high { 1.clamp(low, high) } else { low };
        let up = nearest.saturating_add((step - nearest.rem_euclid(step)) % step);
        let start = if up <= high { up } else { high.saturating_sub(high.rem_euclid(step)) };
        let room = usize::try_from(high.saturating_sub(start) / step).unwrap_or(0).min(40);
        let times = i64::try_from(self.rng.below(room.saturating_add(1))).unwrap_or(0);
        Value::from(start.saturating_add(step.saturating_mul(times)))
    }

    fn number(&mut self, schema: &Map<String, Value>) -> Value {
        if schema.get("multipleOf").is_some_and(Value::is_i64) {
            return self.integer(schema);
        }
        let (low, high) = bounds(schema);
        let (low, high) = (low.map(|(low, _)| low), high.map(|(high, _)| high));
        // Halves, quarters and eighths are exact in binary.
        let eighths = (1 + self.rng.below(7)) as f64 / 8.0;
        let value = match (low, high) {
            (Some(low), Some(high)) => low + (high - low) * eighths,
            (Some(low), None) => low.max(0.0) + 1.0 + eighths,
            (None, Some(high)) => high.min(20.0) - eighths,
            (None, None) => self.rng.below(30) as f64 + eighths,
        };
        if let Some(step) = schema.get("multipleOf").and_then(Value::as_f64).filter(|step| *step > 0.0) {
            return Number::from_f64((value / step).ceil() * step).map_or(Value::from(0), Value::Number);
        }
        Number::from_f64(value).map_or(Value::from(0), Value::Number)
    }

    fn string(&mut self, schema: &Map<String, Value>, name: &str) -> String {
        let text = match schema.get("format").and_then(Value::as_str).and_then(of_format) {
            Some(text) => text.to_owned(),
            None => self.named(name),
        };
        let least = size(schema, "minLength").unwrap_or(0).min(LONGEST);
        let most = size(schema, "maxLength").unwrap_or(usize::MAX);
        let mut text: String = text.chars().take(most).collect();
        while text.chars().count() < least {
            let missing = least - text.chars().count();
            text.extend(self.rng.pick(words::WORDS).copied().unwrap_or("x").chars().take(missing));
        }
        text
    }

    fn named(&mut self, name: &str) -> String {
        let tells = |part: &str| tells(name, part);
        let fits = words::BY_NAME.iter().find(|(part, _)| tells(part)).map(|(_, values)| *values);
        let prose = words::PROSE_NAMES.iter().any(|part| tells(part));
        let values = match fits {
            _ if self.plain => words::WORDS,
            _ if prose => words::TEXTS,
            Some(values) => values,
            None => words::WORDS,
        };
        self.rng.pick(values).copied().unwrap_or_default().to_owned()
    }
}

/// Whether a name contains the word `part`: `file_path`, `filePath` and `filepath` contain `path`, but `width` does not
/// contain `id`.
fn tells(name: &str, part: &str) -> bool {
    let lower = name.to_lowercase();
    if part.len() > 3 {
        return lower.contains(part);
    }
    let in_snake_case = lower.split(|c: char| !c.is_alphanumeric()).any(|word| word == part);
    let capital = part.chars().next().map(|c| c.to_ascii_uppercase());
    let in_camel_case = lower.ends_with(part) && name.chars().rev().nth(part.len() - 1) == capital;
    in_snake_case || in_camel_case
}

/// Adds a keyword; for merged parts, properties and requirements add up.
fn join(out: &mut Map<String, Value>, key: &str, value: &Value) {
    match (out.get_mut(key), value) {
        (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => known.extend(more.clone()),
        (Some(Value::Array(known)), Value::Array(more)) if key == "required" => known.extend(more.iter().cloned()),
        (Some(Value::Array(known)), Value::Array(more)) if key == "enum" => {
            known.retain(|choice| more.contains(choice));
        }
        _ => {
            out.insert(key.to_owned(), value.clone());
        }
    }
}

/// A size in a schema, up to a maximum.
fn size(schema: &Map<String, Value>, key: &str) -> Option<usize> {
    let value = schema.get(key)?.as_f64()?;
    // Out-of-range values saturate, and the maximum applies.
    (value >= 0.0).then(|| (value as usize).min(LONGEST))
}

/// A bound, and whether the value itself is excluded.
type Bound = Option<(f64, bool)>;

/// The lower and the upper bound.
fn bounds(schema: &Map<String, Value>) -> (Bound, Bound) {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let is_true = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let low = match (number("minimum"), number("exclusiveMinimum")) {
        (Some(low), Some(open)) if low > open => Some((low, false)),
        (_, Some(open)) => Some((open, true)),
        // Draft 4 has the exclusion as a flag next to the bound.
        (low, None) => low.map(|low| (low, is_true("exclusiveMinimum"))),
    };
    let high = match (number("maximum"), number("exclusiveMaximum")) {
        (Some(high), Some(open)) if high < open => Some((high, false)),
        (_, Some(open)) => Some((open, true)),
        (high, None) => high.map(|high| (high, is_true("exclusiveMaximum"))),
    };
    (low, high)
}

/// A float as an integer; out of range it saturates.
fn as_integer(value: f64) -> i64 {
    value as i64
}

fn of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2026-03-14",
        "time" => "09:30:00Z",
        "date-time" => "2026-03-14T09:30:00Z",
        "duration" => "PT45M",
        "email" | "idn-email" => "ada@example.org",
        "hostname" | "idn-hostname" => "example.org",
        "ipv4" => "192.0.2.17",
        "ipv6" => "2001:db8::17",
        "uri" | "iri" | "uri-reference" | "url" => "https://example.org/tides",
        "uuid" => "7d9f2b34-51c0-4e8a-9f6d-0a1b2c3d4e5f",
        "json-pointer" => "/items/0",
        "regex" => "^[a-z]+$",
        "byte" => "dGlkZQ==",
        _ => return None,
    })
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
