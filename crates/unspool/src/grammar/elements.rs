//! Nested elements: a value is text, or further elements.

use serde_json::{Map, Value};

use crate::format::marker::literal_text;
use crate::format::syntax::Format;
use crate::format::template::{Slot, Template};
use crate::limits::Limits;

use super::node::{Avoid, Node, Rules};
use super::params::members;
use super::schema::{Branch, Place};
use super::{GrammarError, fill, text};

/// Elements of a format.
pub(super) struct Elements<'a> {
    open: &'a Template,
    close: &'a Template,
    /// What begins a tag.
    tags: Avoid,
    item: &'a str,
    rules: &'a mut Rules,
    limits: &'a Limits,
}

impl<'a> Elements<'a> {
    pub(super) fn new((file, limits): (&'a Format, &'a Limits), rules: &'a mut Rules) -> Self {
        let (open, close) = &file.syntax.element;
        let begins = [open, close].map(|t| literal_text(t.before(|s| s == Slot::Key)));
        let tags = Avoid { loose: file.tools.loose, ..Avoid::nothing() }.and(begins);
        Self { open, close, tags, item: &file.tools.elements.item, rules, limits }
    }

    /// Arguments that fit a schema.
    pub(super) fn strict(&mut self, root: &Value) -> Result<Node, GrammarError> {
        let place = Place::root(root);
        let objects: Vec<Map<String, Value>> = match place.object() {
            Some(object) => vec![object],
            None => place.branches().into_iter().filter_map(object_of).collect(),
        };
        let all = objects.iter().map(|o| self.object(place, o)).collect::<Result<Vec<_>, _>>()?;
        Ok(Node::choice(all))
    }

    /// Any of the declared elements with any text. A closing tag says the name of its opening tag again, which no grammar
    /// can ask of a name that it does not know.
    pub(super) fn free(&mut self, root: &Value) -> Result<Node, GrammarError> {
        let any = Value::Bool(true);
        let place = Place::root(root);
        let properties = place.object().and_then(|o| o.get("properties").and_then(Value::as_object).cloned());
        let keys = properties.unwrap_or_default();
        let all = keys.keys().map(|key| self.element(key, place.at(&any))).collect::<Result<Vec<_>, _>>()?;
        Ok(if all.is_empty() { Node::nothing() } else { Node::choice(all).many() })
    }

    fn object(&mut self, place: Place<'_>, object: &Map<String, Value>) -> Result<Node, GrammarError> {
        members(object, "", |key, schema| self.element(key, place.at(schema)))
    }

    fn element(&mut self, key: &str, place: Place<'_>) -> Result<Node, GrammarError> {
        crate::render::check_key(key, false, self.limits)
            .map_err(|e| GrammarError::new(&format!("parameter `{key}` {}", e.message)))?;
        let tag = |template: &Template| {
            fill::parts(&template.parts, &mut |_| Ok(Node::text(key))).map(|parts| Node::sequence(parts).prefix())
        };
        let (open, close) = (tag(self.open)?, tag(self.close)?);
        let content = self.content(place, &close)?;
        Ok(Node::sequence([Node::text(open), content]))
    }

    /// What stands in an element, and its closing tag.
    fn content(&mut self, place: Place<'_>, close: &str) -> Result<Node, GrammarError> {
        let mut leaves = Vec::new();
        let mut all = Vec::new();
        for branch in place.branches() {
            match branch {
                Branch::Other("object", Value::Object(map)) => {
                    let inner = self.nested(place, &map)?;
                    all.push(Node::sequence([inner, Node::text(close)]));
                }
                Branch::Other("array", schema) => {
                    let inner = self.array(place, &schema)?;
                    all.push(Node::sequence([inner, Node::text(close)]));
                }
                leaf => leaves.push(leaf),
            }
        }
        let slot = text::Slot {
            avoid: self.tags.clone(),
            end: close.to_owned(),
            frame: String::new(),
            escape: crate::format::file::Escape::None,
            trimmed: false,
        };
        all.extend(slot.leaves(place, &leaves, !all.is_empty()));
        Ok(Node::choice(all))
    }

    /// An object's members; an object that may nest in itself is a rule.
    fn nested(&mut self, place: Place<'_>, object: &Map<String, Value>) -> Result<Node, GrammarError> {
        let key = Value::Object(object.clone()).to_string();
        if let Some(rule) = self.rules.find(&key) {
            return Ok(rule);
        }
        let at = self.rules.begin(key);
        let node = self.object(place, object)?;
        Ok(self.rules.end(at, node))
    }

    fn array(&mut self, place: Place<'_>, schema: &Value) -> Result<Node, GrammarError> {
        let size = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let any = Value::Bool(true);
        let item = self.item;
        let first: Vec<Value> = schema.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
        // A tuple is written in full.
        let mut all = first.iter().map(|one| self.element(item, place.at(one))).collect::<Result<Vec<_>, _>>()?;
        let of = self.element(item, place.at(schema.get("items").unwrap_or(&any)))?;
        if !of.is_impossible() {
            let least = size("minItems").unwrap_or(0).saturating_sub(first.len());
            let most = size("maxItems").map(|most| most.saturating_sub(first.len()));
            all.push(Node::Repeat { of: Box::new(of), least, most });
        }
        Ok(Node::sequence(all))
    }
}

fn object_of(branch: Branch) -> Option<Map<String, Value>> {
    match branch {
        Branch::Other("object", Value::Object(map)) => Some(map),
        _ => None,
    }
}
