//! From a JSON schema to a flat list of types.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Kinds, Type, TypeId};

/// Maximum number of subschemas examined for one type: `anyOf` and `$ref` may nest without end.
const MOST_PARTS: usize = 512;
/// Maximum nesting of `anyOf` and `$ref` for one type.
const DEEPEST: usize = 32;
/// Maximum number of types of one function; further ones are ignored.
const MOST_TYPES: usize = 1 << 16;

/// The types of a schema; the first is the schema itself.
pub(super) fn types(root: &Value) -> Vec<Type> {
    let mut compiler = Compiler { root, found: HashMap::new(), schemas: Vec::new() };
    compiler.type_of(root);
    let mut types = Vec::new();
    while let Some(schema) = compiler.schemas.get(types.len()).copied() {
        types.push(compiler.compile(schema));
    }
    types
}

struct Compiler<'a> {
    root: &'a Value,
    /// Types by the address of their schema: a schema with several references, or a recursive one, is one type.
    found: HashMap<*const Value, TypeId>,
    schemas: Vec<&'a Value>,
}

/// The combined constraints of one schema.
#[derive(Default)]
struct Facts<'a> {
    kinds: Kinds,
    /// The only strings allowed; `None`: any.
    strings: Option<Vec<&'a str>>,
    properties: Vec<(&'a str, &'a Value)>,
    additional: Option<&'a Value>,
    first_items: Vec<&'a Value>,
    items: Option<&'a Value>,
}

impl<'a> Compiler<'a> {
    fn type_of(&mut self, schema: &'a Value) -> Option<TypeId> {
        if let Some(id) = self.found.get(&std::ptr::from_ref(schema)) {
            return Some(*id);
        }
        if self.schemas.len() >= MOST_TYPES {
            return None;
        }
        let id = TypeId(u32::try_from(self.schemas.len()).ok()?);
        self.found.insert(std::ptr::from_ref(schema), id);
        self.schemas.push(schema);
        Some(id)
    }

    fn compile(&mut self, schema: &'a Value) -> Type {
        let mut budget = MOST_PARTS;
        let facts = self.facts(schema, 0, &mut budget);
        let mut properties = HashMap::new();
        for (name, schema) in facts.properties {
            if let Some(id) = self.type_of(schema) {
                properties.entry(name.into()).or_insert(id);
            }
        }
        Type {
            kinds: facts.kinds,
            strings: facts.strings.unwrap_or_default().into_iter().map(Into::into).collect(),
            properties,
            additional: facts.additional.and_then(|s| self.type_of(s)),
            first_items: facts.first_items.into_iter().map_while(|s| self.type_of(s)).collect(),
            items: facts.items.and_then(|s| self.type_of(s)),
        }
    }

    fn facts(&self, schema: &'a Value, depth: usize, budget: &mut usize) -> Facts<'a> {
        let Value::Object(map) = schema else { return Facts::default() };
        if depth > DEEPEST || *budget == 0 {
            return Facts::default();
        }
        *budget -= 1;
        let mut facts = own_facts(map);
        if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|r| self.resolve(r)) {
            facts.narrow(self.facts(target, depth + 1, budget));
        }
        for part in list(map, "allOf") {
            facts.narrow(self.facts(part, depth + 1, budget));
        }
        for key in ["anyOf", "oneOf"] {
            let mut branches: Option<Facts<'a>> = None;
            for part in list(map, key) {
                let branch = self.facts(part, depth + 1, budget);
                match &mut branches {
                    None => branches = Some(branch),
                    Some(all) => all.widen(branch),
                }
            }
            facts.narrow(branches.unwrap_or_default());
        }
        if facts.kinds.is_empty() {
            facts.kinds = implied(map);
        } else if map.get("nullable") == Some(&Value::Bool(true)) {
            facts.kinds = facts.kinds.or(Kinds::NULL);
        }
        facts
    }

    fn resolve(&self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }
}

/// The constraints of a schema without its subschemas.
fn own_facts(map: &Map<String, Value>) -> Facts<'_> {
    let mut facts = Facts::default();
    match map.get("type") {
        Some(Value::String(name)) => facts.kinds = Kinds::named(name),
        Some(Value::Array(names)) => {
            facts.kinds = names.iter().filter_map(Value::as_str).map(Kinds::named).fold(Kinds::default(), Kinds::or);
        }
        _ => {}
    }
    let values: Vec<&Value> = match (map.get("const"), map.get("enum")) {
        (Some(value), _) => vec![value],
        (None, Some(Value::Array(values))) => values.iter().collect(),
        _ => Vec::new(),
    };
    if !values.is_empty() {
        let kinds = values.iter().map(|v| Kinds::of(v)).fold(Kinds::default(), Kinds::or);
        facts.kinds = facts.kinds.and(kinds);
        let strings: Vec<&str> = values.iter().filter_map(|v| v.as_str()).collect();
        facts.strings = (!strings.is_empty()).then_some(strings);
    }
    if let Some(Value::Object(properties)) = map.get("properties") {
        facts.properties = properties.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
    }
    facts.additional = map.get("additionalProperties").filter(|s| s.is_object());
    facts.first_items = list(map, "prefixItems").collect();
    match map.get("items") {
        Some(Value::Array(first)) => facts.first_items = first.iter().collect(),
        items => facts.items = items.filter(|s| s.is_object()),
    }
    facts
}

/// The kind that the keywords of a schema without a type imply.
fn implied(map: &Map<String, Value>) -> Kinds {
    let has = |keys: &[&str]| keys.iter().any(|k| map.get(*k).is_some_and(|v| v.is_object() || v.is_array()));
    if has(&["properties", "additionalProperties", "patternProperties", "required"]) {
        Kinds::OBJECT
    } else if has(&["items", "prefixItems"]) {
        Kinds::ARRAY
    } else {
        Kinds::default()
    }
}

fn list<'a>(map: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    map.get(key).and_then(Value::as_array).into_iter().flatten()
}

impl<'a> Facts<'a> {
    /// Both apply.
    fn narrow(&mut self, mut other: Facts<'a>) {
        self.kinds = self.kinds.and(other.kinds);
        self.strings = match (self.strings.take(), other.strings.take()) {
            (Some(mut own), Some(others)) if own.iter().any(|s| others.contains(s)) => {
                own.retain(|s| others.contains(s));
                Some(own)
            }
            (own, others) => own.or(others),
        };
        self.members(other);
    }

    /// One of them applies. A branch without constraints adds nothing.
    fn widen(&mut self, mut other: Facts<'a>) {
        self.strings = match (self.strings.take(), other.strings.take()) {
            (Some(mut own), Some(others)) => {
                own.extend(others);
                Some(own)
            }
            (Some(own), None) if !other.kinds.has(Kinds::STRING) => Some(own),
            (None, Some(others)) if !self.kinds.has(Kinds::STRING) => Some(others),
            _ => None,
        };
        self.kinds = self.kinds.or(other.kinds);
        self.members(other);
    }

    fn members(&mut self, other: Facts<'a>) {
        self.properties.extend(other.properties);
        self.additional = self.additional.or(other.additional);
        if self.first_items.is_empty() {
            self.first_items = other.first_items;
        }
        self.items = self.items.or(other.items);
    }
}
