//! Values of syntaxes with nested notations: Python literals, Gemma's literals, elements.

use serde_json::Value;

use super::node::Node;
use super::params::{arranged, members};
use super::rules::{Begun, Key, Rules};
use super::schema::{ANY, Branch, Place, View};
use super::text;
use crate::error::Error;

/// A notation for values.
pub(super) trait Notation {
    /// A string that matches its schema.
    fn string(&self, place: Place<'_>, schema: &View<'_>) -> Result<Node, Error>;
    /// `null`, `true`, `false`.
    fn word(&self, word: &'static str) -> Node {
        Node::text(word)
    }
    /// A constant, if the notation can express it.
    fn constant(&self, value: &Value) -> Option<Node>;
    /// The text before a member's value; `None` if the notation has no such key.
    fn key(&self, key: &str) -> Option<Node>;
    /// A key that is not in a schema.
    fn any_key(&self) -> Node;
    /// The separator of members or items.
    fn comma(&self) -> &'static str;
}

/// Builds the rules of values.
pub(super) struct Values<'a, 'r, N> {
    notation: N,
    root: Place<'a>,
    rules: &'r mut Rules<'a>,
    /// Values that are built after those that use them.
    later: Vec<(Place<'a>, Begun)>,
}

impl<'a, 'r, N: Notation> Values<'a, 'r, N> {
    pub(super) fn new(notation: N, root: Place<'a>, rules: &'r mut Rules<'a>) -> Self {
        Self { notation, root, rules, later: Vec::new() }
    }

    /// The members of the arguments, with separators.
    pub(super) fn arguments(mut self, strict: bool) -> Result<Node, Error> {
        if !strict {
            return self.open_members(&ANY);
        }
        let mut all = Vec::new();
        for object in self.root.objects()? {
            all.push(self.object_members(&object)?);
        }
        self.finish()?;
        Ok(Node::choice(all))
    }

    /// The members of an object, each built by `key` and its value, with separators.
    pub(super) fn keyed(mut self, object: &View<'a>, key: impl Fn(&str) -> Result<Node, Error>) -> Result<Node, Error> {
        let all = members(object, |name, schema| Ok(Node::sequence([key(name)?, self.value(schema)?])))?;
        let node = arranged(all, self.notation.comma(), self.rules)?;
        self.finish()?;
        Ok(node)
    }

    /// One value and its rules.
    pub(super) fn single(mut self, schema: &'a Value) -> Result<Node, Error> {
        let node = self.value(schema)?;
        self.finish()?;
        Ok(node)
    }

    /// Builds the postponed values.
    fn finish(&mut self) -> Result<(), Error> {
        while let Some((place, begun)) = self.later.pop() {
            self.rules.resume();
            let node = self.inside(place)?;
            self.rules.end(begun, node)?;
        }
        Ok(())
    }

    /// A value that matches a schema.
    fn value(&mut self, schema: &'a Value) -> Result<Node, Error> {
        let place = self.root.at(schema).target();
        let key = Key::value(place.schema);
        if let Some(known) = self.rules.find(&key) {
            return Ok(known);
        }
        if self.rules.is_deep() {
            let (begun, node) = self.rules.promise(key);
            self.later.push((place, begun));
            return Ok(node);
        }
        let begun = self.rules.begin(key);
        let node = self.inside(place)?;
        self.rules.end(begun, node)
    }

    fn inside(&mut self, place: Place<'a>) -> Result<Node, Error> {
        let mut all = Vec::new();
        for branch in place.shared_branches()? {
            match branch {
                Branch::Shared(schema) => all.push(self.value(schema)?),
                Branch::Const(value) => all.extend(self.notation.constant(value)),
                Branch::Text(view) => all.push(self.text(place, &view)?),
                Branch::Other(name, view) => all.push(self.typed(name, &view)?),
                Branch::Any => all.push(self.anything()?),
            }
        }
        Ok(Node::choice(all))
    }

    /// A string; all unconstrained ones share a rule.
    fn text(&mut self, place: Place<'a>, view: &View<'a>) -> Result<Node, Error> {
        if ["pattern", "minLength", "maxLength"].iter().any(|key| view.has(key)) {
            return self.notation.string(place, view);
        }
        if let Some(known) = self.rules.find(&Key::Text) {
            return Ok(known);
        }
        let begun = self.rules.begin(Key::Text);
        let node = self.notation.string(place, view)?;
        self.rules.end(begun, node)
    }

    fn anything(&mut self) -> Result<Node, Error> {
        if let Some(rule) = self.rules.find(&Key::Anything) {
            return Ok(rule);
        }
        let begun = self.rules.begin(Key::Anything);
        let mut all = vec![self.text(self.root, &View::default())?, text::any_number()];
        all.extend(["null", "true", "false"].map(|w| self.notation.word(w)));
        let item = self.value(&ANY)?;
        all.push(bracketed("[", separated(item, (0, None), self.notation.comma(), self.rules)?, "]"));
        let members = self.open_members(&ANY)?;
        all.push(bracketed("{", members, "}"));
        self.rules.end(begun, Node::choice(all))
    }

    fn typed(&mut self, name: &str, view: &View<'a>) -> Result<Node, Error> {
        Ok(match name {
            "null" => self.notation.word("null"),
            "boolean" => Node::choice([self.notation.word("true"), self.notation.word("false")]),
            "array" => self.array(view)?,
            "object" => self.object(view)?,
            name => text::scalar(name, view),
        })
    }

    fn array(&mut self, view: &View<'a>) -> Result<Node, Error> {
        let size = |key: &str| view.size(key).and_then(|n| usize::try_from(n).ok());
        let (least, most) = (size("minItems").unwrap_or(0), size("maxItems"));
        let first = view.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let items = self.value(view.get("items").unwrap_or(&ANY))?;
        let comma = self.notation.comma();
        let none = self.rules.is_impossible(&items);
        if first.is_empty() && none {
            return Ok(Node::text("[]"));
        }
        if first.is_empty() {
            return Ok(bracketed("[", separated(items, (least, most), comma, self.rules)?, "]"));
        }
        // A tuple is written completely.
        let mut all = Vec::new();
        for (i, item) in first.iter().enumerate() {
            all.push(Node::text(if i > 0 { comma } else { "" }));
            all.push(self.value(item)?);
        }
        if !none {
            let more = Node::sequence([Node::text(comma), items]);
            let least = least.saturating_sub(first.len());
            all.push(Node::Repeat { of: Box::new(more), least, most: most.map(|m| m.saturating_sub(first.len())) });
        }
        Ok(bracketed("[", Node::sequence(all), "]"))
    }

    /// An object; equal schemas share a rule.
    fn object(&mut self, view: &View<'a>) -> Result<Node, Error> {
        let key = view.source().map(|source| Key::Members(std::ptr::from_ref(source).addr()));
        if let Some(known) = key.as_ref().and_then(|key| self.rules.find(key)) {
            return Ok(known);
        }
        let begun = key.map(|key| self.rules.begin(key));
        let node = bracketed("{", self.object_members(view)?, "}");
        match begun {
            Some(begun) => self.rules.end(begun, node),
            None => Ok(node),
        }
    }

    fn object_members(&mut self, object: &View<'a>) -> Result<Node, Error> {
        let others = object.get("additionalProperties").unwrap_or(&ANY);
        if !object.has("properties") && object.required().is_empty() && *others != Value::Bool(false) {
            return self.open_members(others);
        }
        let all = members(object, |key, schema| {
            let key_node = self
                .notation
                .key(key)
                .ok_or_else(|| Error::grammar(&format!("parameter `{key}` is no key that the format can write")))?;
            Ok(Node::sequence([key_node, self.value(schema)?]))
        })?;
        arranged(all, self.notation.comma(), self.rules)
    }

    /// Members with any names, whose values match a schema.
    fn open_members(&mut self, schema: &'a Value) -> Result<Node, Error> {
        let value = self.value(schema)?;
        let member = Node::sequence([self.notation.any_key(), value]);
        separated(member, (0, None), self.notation.comma(), self.rules)
    }
}

fn bracketed(open: &str, inner: Node, close: &str) -> Node {
    Node::sequence([Node::text(open), inner, Node::text(close)])
}

/// A repetition of a node with a separator.
pub(super) fn separated(
    of: Node,
    (least, most): (usize, Option<usize>),
    between: &str,
    rules: &mut Rules<'_>,
) -> Result<Node, Error> {
    if most == Some(0) {
        return Ok(Node::nothing());
    }
    if least <= 1 && most.is_none() {
        let list = Node::List { of: Box::new(of), between: between.to_owned() };
        return Ok(if least == 0 { list.optional() } else { list });
    }
    let of = rules.rule(of)?;
    let more = Node::Repeat {
        of: Box::new(Node::sequence([Node::text(between), of.clone()])),
        least: least.saturating_sub(1),
        most: most.map(|m| m - 1),
    };
    let all = Node::sequence([of, more]);
    Ok(if least == 0 { all.optional() } else { all })
}
