//! Rewrites a schema with keywords that xgrammar enforces.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::grammar::limit::{Budget, Limit};
use crate::grammar::pattern;

use super::view::View;
use super::{Part, Place};

/// A schema for xgrammar, which forbids everything that is not explicit: additional members and items are explicit,
/// required members that are not listed are listed, and `allOf` is merged into one schema.
pub(in crate::grammar) fn explicit(schema: &Value) -> Value {
    let budget = Budget::new(Limit { bytes: usize::MAX, nodes: usize::MAX }, &|| true);
    // When the grammar was built, the same was within the limit.
    Explicit::new(Place::root(schema, &budget)).whole().unwrap_or_else(|_| schema.clone())
}

/// Writes explicit schemas.
pub(super) struct Explicit<'a> {
    place: Place<'a>,
    /// Names of merged schemas, by address. Each is written once, because it may be recursive.
    names: HashMap<*const Value, String>,
    definitions: Map<String, Value>,
}

impl<'a> Explicit<'a> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Self { place, names: HashMap::new(), definitions: Map::new() }
    }

    /// The complete schema.
    pub(super) fn whole(mut self) -> Result<Value, Error> {
        let mut out = self.schema(self.place.schema)?;
        if let (Value::Object(map), false) = (&mut out, self.definitions.is_empty()) {
            let own = map.entry("$defs").or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(own) = own {
                own.append(&mut self.definitions);
            }
        }
        Ok(out)
    }

    fn schema(&mut self, schema: &'a Value) -> Result<Value, Error> {
        let Value::Object(map) = schema else { return Ok(schema.clone()) };
        if !map.contains_key("allOf") {
            return self.words(map.iter().map(|(key, value)| (key.as_str(), value)));
        }
        if let (Some(Value::Array(all)), 1) = (map.get("allOf"), View::of(schema).map_or(0, |view| view.len()))
            && let [one] = all.as_slice()
        {
            return self.schema(one);
        }
        if std::ptr::eq(schema, self.place.root) {
            let mut out = self.merged(schema)?;
            let own = |key: &&str| map.get(*key).and_then(Value::as_object);
            for (key, definitions) in ["$defs", "definitions"].iter().filter_map(|key| Some((*key, own(key)?))) {
                let all = definitions
                    .iter()
                    .map(|(k, v)| Ok::<_, Error>((k.clone(), self.schema(v)?)))
                    .collect::<Result<Map<_, _>, _>>()?;
                if let Value::Object(out) = &mut out {
                    out.insert(key.to_owned(), all.into());
                }
            }
            return Ok(out);
        }
        if let Some(name) = self.names.get(&std::ptr::from_ref(schema)) {
            return Ok(json!({"$ref": format!("#/$defs/{name}")}));
        }
        let name = self.new_name();
        self.names.insert(std::ptr::from_ref(schema), name.clone());
        let out = self.merged(schema)?;
        self.definitions.insert(name.clone(), out);
        Ok(json!({"$ref": format!("#/$defs/{name}")}))
    }

    fn new_name(&self) -> String {
        let taken = self.place.root.get("$defs").and_then(Value::as_object);
        let free = |name: &String| taken.is_none_or(|own| !own.contains_key(name));
        let names = (self.names.len()..).map(|i| format!("all_{i}"));
        names.into_iter().find(free).unwrap_or_default()
    }

    /// Merges all parts of a schema.
    fn merged(&mut self, schema: &'a Value) -> Result<Value, Error> {
        let mut all = Vec::new();
        for part in self.place.at(schema).alternatives()? {
            match part {
                Part::Words(view) if !view.has("allOf") => all.push(self.view(&view)?),
                Part::Any => all.push(Value::Bool(true)),
                _ => {}
            }
        }
        Ok(match <[Value; 1]>::try_from(all) {
            Ok([one]) => one,
            Err(all) if all.is_empty() => schema.clone(),
            Err(all) => json!({ "anyOf": all }),
        })
    }

    fn view(&mut self, view: &View<'a>) -> Result<Value, Error> {
        if let Some(Value::Object(map)) = view.source() {
            return self.words(map.iter().map(|(key, value)| (key.as_str(), value)));
        }
        let mut out = Map::new();
        for (key, value) in view.words() {
            let said = if key == "properties" { self.members(&view.members())? } else { value.clone() };
            out.insert(key.to_owned(), said);
        }
        for (key, value) in view.said().filter(|(key, _)| *key != "properties") {
            out.insert(key.to_owned(), self.word(key, value)?);
        }
        say(&mut out);
        Ok(Value::Object(out))
    }

    fn words(&mut self, words: impl Iterator<Item = (&'a str, &'a Value)>) -> Result<Value, Error> {
        let mut out = Map::new();
        for (key, value) in words {
            out.insert(key.to_owned(), self.word(key, value)?);
        }
        say(&mut out);
        Ok(Value::Object(out))
    }

    fn members(&mut self, members: &[(&'a str, &'a Value)]) -> Result<Value, Error> {
        let each = members.iter().map(|(key, value)| Ok::<_, Error>(((*key).to_owned(), self.schema(value)?)));
        Ok(each.collect::<Result<Map<_, _>, _>>()?.into())
    }

    fn word(&mut self, key: &str, value: &'a Value) -> Result<Value, Error> {
        self.place.budget.step(1)?;
        Ok(match (key, value) {
            ("patternProperties", Value::Object(all)) => {
                let each = all.iter().map(|(k, v)| Ok::<_, Error>((pattern::in_json(k), self.schema(v)?)));
                each.collect::<Result<Map<_, _>, _>>()?.into()
            }
            ("properties" | "$defs" | "definitions", Value::Object(all)) => {
                let all: Vec<(&str, &Value)> = all.iter().map(|(k, v)| (k.as_str(), v)).collect();
                self.members(&all)?
            }
            ("anyOf" | "oneOf" | "prefixItems", Value::Array(all)) => {
                all.iter().map(|one| self.schema(one)).collect::<Result<Vec<_>, _>>()?.into()
            }
            ("items" | "additionalProperties", value) => self.schema(value)?,
            (_, value) => value.clone(),
        })
    }
}

/// Makes implicit keywords explicit.
fn say(out: &mut Map<String, Value>) {
    let is = |name: &str| match out.get("type") {
        Some(Value::String(own)) => own == name,
        Some(Value::Array(names)) => names.iter().any(|n| n == name),
        _ => false,
    };
    let (object, string, array) = (is("object"), is("string"), is("array"));
    if object {
        say_members(out);
    }
    if string {
        say_text(out);
    }
    if array && !out.contains_key("items") && !out.contains_key("unevaluatedItems") {
        out.insert("items".to_owned(), Value::Bool(true));
    }
}

/// xgrammar applies patterns and lengths to the text between the quotes, escapes included.
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
    let required = map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<String> = required.filter(|k| !lists(k)).map(str::to_owned).collect();
    if missing.is_empty() || map.contains_key("patternProperties") {
        return;
    }
    if let Value::Object(properties) = map.entry("properties").or_insert_with(|| json!({})) {
        properties.extend(missing.into_iter().map(|key| (key, others.clone())));
    }
}
