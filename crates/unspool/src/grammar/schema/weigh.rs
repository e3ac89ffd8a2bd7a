//! The weight of a schema, and standalone parts of one.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::error::Error;
use crate::grammar::limit::Weight;
use crate::grammar::pattern;

use super::Place;
use super::explicit::Explicit;
use super::view::View;

/// Where schemas have their definitions.
const SHARED: [&str; 2] = ["$defs", "definitions"];

impl<'a> Place<'a> {
    /// Charges a schema that goes into the grammar unchanged.
    pub(in crate::grammar) fn take(self) -> Result<(), Error> {
        self.weigh(self.schema)?;
        if merges(self.schema) {
            Explicit::new(Self { root: self.schema, ..self }).whole()?;
        }
        Ok(())
    }

    /// Charges a JSON value.
    fn weigh(self, value: &Value) -> Result<(), Error> {
        const AROUND: usize = 4;
        let bytes = match value {
            Value::String(text) => text.len(),
            Value::Number(_) => 2 * AROUND,
            Value::Object(map) => map.keys().map(|key| key.len() + AROUND).sum(),
            Value::Null | Value::Bool(_) | Value::Array(_) => 0,
        };
        self.budget.take(Weight { nodes: 1, bytes: bytes + AROUND })?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.weigh(item)),
            Value::Object(map) => map.iter().try_for_each(|(key, value)| {
                match (key.as_str(), value) {
                    ("pattern", Value::String(text)) => self.weigh_pattern(text)?,
                    ("patternProperties", Value::Object(all)) => {
                        all.keys().try_for_each(|key| self.weigh_pattern(key))?;
                    }
                    _ => {}
                }
                self.weigh(value)
            }),
            _ => Ok(()),
        }
    }

    /// Charges a pattern by its expanded size.
    pub(in crate::grammar) fn weigh_pattern(self, text: &str) -> Result<(), Error> {
        self.budget.take(Weight { nodes: 1, bytes: pattern::weight(text) })
    }

    /// A standalone schema: with the definitions that it refers to, from the root of this one.
    pub(in crate::grammar) fn alone(self, schema: Value) -> Result<Value, Error> {
        let schema = self.with_definitions(schema)?;
        if merges(&schema) {
            Explicit::new(Place { root: &schema, schema: &schema, budget: self.budget }).whole()?;
        }
        Ok(schema)
    }

    fn with_definitions(self, schema: Value) -> Result<Value, Error> {
        let Value::Object(mut map) = schema else { return Ok(schema) };
        let mut needed = HashSet::new();
        let mut open = Vec::new();
        for (key, value) in map.iter().filter(|(key, _)| !SHARED.contains(&key.as_str())) {
            self.references(value, &mut |name| open.push(name))?;
            if let ("$ref", Value::String(text)) = (key.as_str(), value) {
                open.extend(self.shared(text));
            }
        }
        while let Some((key, name)) = open.pop() {
            if needed.insert((key, name)) {
                let definition = &self.root[key][name];
                self.references(definition, &mut |name| open.push(name))?;
            }
        }
        for key in SHARED.into_iter().filter(|_| !needed.is_empty()) {
            let Some(Value::Object(all)) = self.root.get(key).filter(|_| !map.contains_key(key)) else { continue };
            let mut own = Map::new();
            for (name, definition) in all.iter().filter(|(name, _)| needed.contains(&(key, name.as_str()))) {
                self.at(definition).weigh(definition)?;
                own.insert(name.clone(), definition.clone());
            }
            if !own.is_empty() {
                map.insert(key.to_owned(), own.into());
            }
        }
        Ok(Value::Object(map))
    }

    /// The definition that a reference points into.
    fn shared(self, reference: &str) -> Option<(&'static str, &'a str)> {
        let path = reference.strip_prefix("#/")?;
        let (key, rest) = path.split_once('/')?;
        let key = SHARED.into_iter().find(|shared| *shared == key)?;
        let name = rest.split('/').next().unwrap_or(rest).replace("~1", "/").replace("~0", "~");
        let (name, _) = self.root.get(key)?.as_object()?.get_key_value(&name)?;
        Some((key, name))
    }

    /// Calls `tell` for all definitions that a schema refers to.
    fn references(self, value: &Value, tell: &mut impl FnMut((&'static str, &'a str))) -> Result<(), Error> {
        self.budget.step(1)?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.references(item, tell)),
            Value::Object(map) => map.iter().try_for_each(|(key, value)| {
                if let ("$ref", Value::String(text)) = (key.as_str(), value) {
                    self.shared(text).into_iter().for_each(&mut *tell);
                }
                self.references(value, tell)
            }),
            _ => Ok(()),
        }
    }

    /// The schema of one type of a view, charged.
    pub(in crate::grammar) fn of_type(self, view: &View<'a>, name: &str) -> Result<Value, Error> {
        for value in view.below() {
            self.weigh(value)?;
        }
        Ok(view.of_type(name))
    }
}

/// Whether a schema contains `allOf`.
fn merges(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(merges),
        Value::Object(map) => map.iter().any(|(key, value)| key == "allOf" || merges(value)),
        _ => false,
    }
}
