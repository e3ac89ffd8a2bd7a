//! Values of syntaxes that nest in a notation of their own: Python literals, Gemma's literals, elements.

use serde_json::{Map, Value};

use super::GrammarError;
use super::node::{Node, Rules};
use super::params::members;
use super::schema::{self, Branch, Place};
use super::text;

/// What a notation looks like.
pub(super) trait Notation {
    /// A string that fits its schema.
    fn string(&self, schema: &Map<String, Value>) -> Node;
    /// `null`, `true`, `false`.
    fn word(&self, word: &'static str) -> Node {
        Node::text(word)
    }
    /// A value that cannot be anything else, if the notation can say it.
    fn constant(&self, value: &Value) -> Option<Node>;
    /// What stands before a member's value; nothing if the notation has no such key.
    fn key(&self, key: &str) -> Option<Node>;
    /// A key that no schema says.
    fn any_key(&self) -> Node;
    /// What stands between two members or items.
    fn comma(&self) -> &'static str;
}

/// Makes the rules of values.
pub(super) struct Values<'a, N> {
    notation: N,
    root: &'a Value,
    rules: &'a mut Rules,
}

impl<'a, N: Notation> Values<'a, N> {
    pub(super) fn new(notation: N, root: &'a Value, rules: &'a mut Rules) -> Self {
        rules.forget_names();
        Self { notation, root, rules }
    }

    /// The members of the arguments, with the text between two.
    pub(super) fn arguments(&mut self, strict: bool) -> Result<Node, GrammarError> {
        let place = Place::root(self.root);
        if !strict {
            return Ok(self.open_members(place.at(&Value::Bool(true))));
        }
        let objects: Vec<Map<String, Value>> = match place.object() {
            Some(object) => vec![object],
            None => place.branches().into_iter().filter_map(object_of).collect(),
        };
        let all = objects.iter().map(|object| self.object_members(place, object)).collect::<Result<Vec<_>, _>>()?;
        Ok(Node::choice(all))
    }

    /// A value that fits a schema.
    pub(super) fn value(&mut self, place: Place<'_>) -> Result<Node, GrammarError> {
        let mut all = Vec::new();
        for branch in place.branches() {
            match branch {
                Branch::Const(value) => all.extend(self.notation.constant(&value)),
                Branch::Text(map) => all.push(self.notation.string(&map)),
                Branch::Other(name, schema) => all.push(self.typed(place, name, &schema)?),
                Branch::Any => all.push(self.anything()?),
            }
        }
        Ok(Node::choice(all))
    }

    fn anything(&mut self) -> Result<Node, GrammarError> {
        if let Some(rule) = self.rules.find("") {
            return Ok(rule);
        }
        let at = self.rules.begin(String::new());
        let any = Value::Bool(true);
        let place = Place { root: self.root, schema: &any };
        let number = serde_json::json!({"type": "number"});
        let mut all = vec![self.notation.string(&Map::new()), text::scalar(number)];
        all.extend(["null", "true", "false"].map(|w| self.notation.word(w)));
        let item = self.value(place)?;
        all.push(self.bracketed("[", separated(item, 0, None, self.notation.comma()), "]"));
        let members = self.open_members(place);
        all.push(self.bracketed("{", members, "}"));
        Ok(self.rules.end(at, Node::choice(all)))
    }

    fn typed(&mut self, place: Place<'_>, name: &str, schema: &Value) -> Result<Node, GrammarError> {
        Ok(match name {
            "null" => self.notation.word("null"),
            "boolean" => Node::choice([self.notation.word("true"), self.notation.word("false")]),
            "array" => self.array(place, schema)?,
            "object" => self.object(place, schema)?,
            _ => text::scalar(schema.clone()),
        })
    }

    fn array(&mut self, place: Place<'_>, schema: &Value) -> Result<Node, GrammarError> {
        let size = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let (least, most) = (size("minItems").unwrap_or(0), size("maxItems"));
        let first: Vec<Value> = schema.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
        let any = Value::Bool(true);
        let items = self.value(place.at(schema.get("items").unwrap_or(&any)))?;
        let comma = self.notation.comma();
        let none = items.is_impossible();
        if first.is_empty() && none {
            return Ok(Node::text("[]"));
        }
        if first.is_empty() {
            return Ok(self.bracketed("[", separated(items, least, most, comma), "]"));
        }
        // A tuple is written in full.
        let mut all = Vec::new();
        for (i, item) in first.iter().enumerate() {
            all.push(Node::text(if i > 0 { comma } else { "" }));
            all.push(self.value(place.at(item))?);
        }
        if !none {
            let more = Node::sequence([Node::text(comma), items]);
            let least = least.saturating_sub(first.len());
            all.push(Node::Repeat { of: Box::new(more), least, most: most.map(|m| m.saturating_sub(first.len())) });
        }
        Ok(self.bracketed("[", Node::sequence(all), "]"))
    }

    /// An object; one that may nest in itself is a rule.
    fn object(&mut self, place: Place<'_>, schema: &Value) -> Result<Node, GrammarError> {
        let key = schema.to_string();
        if let Some(rule) = self.rules.find(&key) {
            return Ok(rule);
        }
        let at = self.rules.begin(key);
        let members = self.object_members(place, &schema.as_object().cloned().unwrap_or_default())?;
        let node = self.bracketed("{", members, "}");
        Ok(self.rules.end(at, node))
    }

    fn object_members(&mut self, place: Place<'_>, object: &Map<String, Value>) -> Result<Node, GrammarError> {
        let others = object.get("additionalProperties").cloned().unwrap_or(Value::Bool(true));
        if !object.contains_key("properties") && schema::required(object).is_empty() && others != Value::Bool(false) {
            return Ok(self.open_members(place.at(&others)));
        }
        let comma = self.notation.comma();
        members(object, comma, |key, schema| {
            let key_node = self
                .notation
                .key(key)
                .ok_or_else(|| GrammarError::new(&format!("parameter `{key}` is no key that the format can write")))?;
            let value = self.value(place.at(schema))?;
            Ok(Node::sequence([key_node, value]))
        })
    }

    /// Members of any names, with values that fit the schema of a place.
    fn open_members(&mut self, place: Place<'_>) -> Node {
        let value = self.value(place).unwrap_or_else(|_| Node::nothing());
        let member = Node::sequence([self.notation.any_key(), value]);
        separated(member, 0, None, self.notation.comma())
    }

    fn bracketed(&self, open: &str, inner: Node, close: &str) -> Node {
        Node::sequence([Node::text(open), inner, Node::text(close)])
    }
}

fn object_of(branch: Branch) -> Option<Map<String, Value>> {
    match branch {
        Branch::Other("object", Value::Object(map)) => Some(map),
        _ => None,
    }
}

/// So many of a node with a separator between two.
pub(super) fn separated(of: Node, least: usize, most: Option<usize>, between: &str) -> Node {
    if most == Some(0) {
        return Node::nothing();
    }
    if least <= 1 && most.is_none() {
        let list = Node::List { of: Box::new(of), between: between.to_owned() };
        return if least == 0 { list.optional() } else { list };
    }
    let more = Node::Repeat {
        of: Box::new(Node::sequence([Node::text(between), of.clone()])),
        least: least.saturating_sub(1),
        most: most.map(|m| m - 1),
    };
    let all = Node::sequence([of, more]);
    if least == 0 { all.optional() } else { all }
}
