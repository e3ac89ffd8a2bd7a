//! Nested elements: a value is text, or further elements.

use serde_json::Value;

use crate::error::Error;
use crate::format::marker::literal_text;
use crate::format::syntax::Format;
use crate::format::template::{Slot, Template};
use crate::limits::Limits;

use super::node::{Avoid, Node};
use super::params::{arranged, members};
use super::rules::{Begun, Key, Rules};
use super::schema::{ANY, Branch, Place, View};
use super::{fill, text};

/// Elements of a format.
pub(super) struct Elements<'a, 'r> {
    open: &'a Template,
    close: &'a Template,
    /// The beginnings of tags.
    tags: Avoid,
    item: &'a str,
    rules: &'r mut Rules<'a>,
    limits: &'a Limits,
    /// Contents that are built after those that use them: position, closing tag, rule.
    later: Vec<(Place<'a>, String, Begun)>,
}

impl<'a, 'r> Elements<'a, 'r> {
    pub(super) fn new((file, limits): (&'a Format, &'a Limits), rules: &'r mut Rules<'a>) -> Self {
        let (open, close) = &file.syntax.element;
        let begins = [open, close].map(|t| literal_text(t.before(|s| s == Slot::Key)));
        let tags = Avoid { loose: file.tools.loose, ..Avoid::nothing() }.and(begins);
        Self { open, close, tags, item: &file.tools.elements.item, rules, limits, later: Vec::new() }
    }

    /// Arguments that match a schema.
    pub(super) fn strict(mut self, place: Place<'a>) -> Result<Node, Error> {
        let mut all = Vec::new();
        for object in place.objects()? {
            all.push(self.object(place, &object)?);
        }
        while let Some((place, close, begun)) = self.later.pop() {
            self.rules.resume();
            let node = self.inside(place, &close)?;
            self.rules.end(begun, node)?;
        }
        Ok(Node::choice(all))
    }

    /// Any of the declared elements with any text. A closing tag repeats the name of its opening tag, which a grammar
    /// can only require for a known name.
    pub(super) fn free(mut self, place: Place<'a>) -> Result<Node, Error> {
        let properties = place.object()?.map(|object| object.members()).unwrap_or_default();
        let all = properties.iter().map(|(key, _)| self.element(key, place.any())).collect::<Result<Vec<_>, _>>()?;
        Ok(if all.is_empty() { Node::nothing() } else { Node::choice(all).many() })
    }

    fn object(&mut self, place: Place<'a>, object: &View<'a>) -> Result<Node, Error> {
        let all = members(object, |key, schema| self.element(key, place.at(schema)))?;
        arranged(all, "", self.rules)
    }

    fn element(&mut self, key: &str, place: Place<'a>) -> Result<Node, Error> {
        crate::render::check_key(key, false, self.limits)
            .map_err(|e| Error::grammar(&format!("parameter `{key}` {}", e.message)))?;
        let tag = |template: &Template| {
            fill::parts(&template.parts, &mut |_| Ok(Node::text(key))).map(|parts| Node::sequence(parts).prefix())
        };
        let (open, close) = (tag(self.open)?, tag(self.close)?);
        let content = self.content(place.target(), &close)?;
        Ok(Node::sequence([Node::text(open), content]))
    }

    /// The contents of an element, and its closing tag.
    fn content(&mut self, place: Place<'a>, close: &str) -> Result<Node, Error> {
        let key = Key::Value(std::ptr::from_ref(place.schema).addr(), close.to_owned());
        if let Some(known) = self.rules.find(&key) {
            return Ok(known);
        }
        if self.rules.is_deep() {
            let (begun, node) = self.rules.promise(key);
            self.later.push((place, close.to_owned(), begun));
            return Ok(node);
        }
        let begun = self.rules.begin(key);
        let node = self.inside(place, close)?;
        self.rules.end(begun, node)
    }

    fn inside(&mut self, place: Place<'a>, close: &str) -> Result<Node, Error> {
        let mut leaves = Vec::new();
        let mut all = Vec::new();
        for branch in place.branches()? {
            match branch {
                Branch::Other("object", view) => {
                    let inner = self.nested(place, &view)?;
                    all.push(Node::sequence([inner, Node::text(close)]));
                }
                Branch::Other("array", view) => {
                    let inner = self.array(place, &view)?;
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
        all.extend(slot.leaves(place, &leaves, !all.is_empty())?);
        Ok(Node::choice(all))
    }

    /// An object's members, whatever the element's name.
    fn nested(&mut self, place: Place<'a>, object: &View<'a>) -> Result<Node, Error> {
        let Some(source) = object.source() else { return self.object(place, object) };
        let key = Key::Members(std::ptr::from_ref(source).addr());
        if let Some(known) = self.rules.find(&key) {
            return Ok(known);
        }
        let begun = self.rules.begin(key);
        let node = self.object(place, object)?;
        self.rules.end(begun, node)
    }

    fn array(&mut self, place: Place<'a>, view: &View<'a>) -> Result<Node, Error> {
        let size = |key: &str| view.size(key).and_then(|n| usize::try_from(n).ok());
        let item = self.item;
        let first = view.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // A tuple is written completely.
        let mut all = first.iter().map(|one| self.element(item, place.at(one))).collect::<Result<Vec<_>, _>>()?;
        let of = self.element(item, place.at(view.get("items").unwrap_or(&ANY)))?;
        if !self.rules.is_impossible(&of) {
            let least = size("minItems").unwrap_or(0).saturating_sub(first.len());
            let most = size("maxItems").map(|most| most.saturating_sub(first.len()));
            all.push(Node::Repeat { of: Box::new(of), least, most });
        }
        Ok(Node::sequence(all))
    }
}
