//! Values of syntaxes whose values are untyped text up to a closer.

use serde_json::{Map, Value};

use crate::format::file::Escape;

use super::node::{Avoid, Node};
use super::schema::{Branch, Place};
use super::{avoid, pattern};

/// Characters with which no number, container or quoted text begins.
const NO_VALUE_START: &str = r#"\s\[\{\(\)\]\}0-9+\-.'""#;

/// How a value stands in a text.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// What the text must not have.
    pub(super) avoid: Avoid,
    /// The literal that ends it.
    pub(super) end: String,
    /// White space that the template writes before that literal; no part of the value.
    pub(super) frame: String,
    /// Entities in the text.
    pub(super) escape: Escape,
    /// Outer white space goes.
    pub(super) trimmed: bool,
}

impl Slot {
    /// A value and its end: what is read there fits the schema.
    pub(super) fn value(&self, place: Place<'_>) -> Node {
        Node::choice(self.leaves(place, &place.branches(), false))
    }

    /// The values of some branches, each with its end. `nested`: something else that is no text may stand there too, so
    /// that the text must be more than white space.
    pub(super) fn leaves(&self, place: Place<'_>, branches: &[Branch], nested: bool) -> Vec<Node> {
        let mixed = nested || branches.iter().any(is_bounded);
        let leaf = |branch: &Branch| match branch {
            Branch::Const(value) => self.constant(value),
            Branch::Text(map) => Some(self.text(map, mixed, nested)),
            Branch::Other(_, schema) => Some(self.json(place.alone(schema.clone()))),
            Branch::Any => Some(self.anything()),
        };
        branches.iter().filter_map(leaf).collect()
    }

    /// Any text.
    pub(super) fn anything(&self) -> Node {
        Node::Until { without: self.avoid.clone(), end: self.end.clone() }
    }

    /// A text that is JSON of a type that is no string.
    pub(super) fn json(&self, schema: Value) -> Node {
        if !matches!(schema.get("type").and_then(Value::as_str), Some("object" | "array")) {
            return self.ended(scalar(schema));
        }
        let without = Avoid { entities: self.escape == Escape::Xml, ..self.avoid.clone() }.and([self.end.as_str()]);
        self.ended(Node::Json { schema, without })
    }

    /// One text.
    pub(super) fn constant(&self, value: &Value) -> Option<Node> {
        let mut text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if self.escape == Escape::Xml {
            text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        }
        let has_markup = self.avoid.literals.iter().chain([&self.end]).any(|l| text.contains(l.as_str()));
        let is_lost = self.trimmed && text.trim() != text;
        (!has_markup && !is_lost).then(|| self.ended(Node::text(text)))
    }

    /// A string. `mixed`: its text must not look like a value of another type that the schema bounds.
    fn text(&self, map: &Map<String, Value>, mixed: bool, nested: bool) -> Node {
        let without = self.avoid.clone().and([self.end.as_str()]);
        if let Some(expression) = bounded(map, &without) {
            return Node::sequence([
                Node::Regex(expression),
                Node::text(&*self.frame).optional(),
                Node::text(&*self.end),
            ]);
        }
        if !mixed {
            return self.anything();
        }
        let start = Node::Regex(format!("[^{NO_VALUE_START}{}]", avoid::firsts(&without)));
        let text = Node::sequence([start, self.anything()]);
        if nested { text } else { Node::choice([Node::text(&*self.end), text]) }
    }

    fn ended(&self, value: Node) -> Node {
        Node::sequence([value, Node::text(&*self.frame).optional(), Node::text(&*self.end)])
    }
}

/// Whether a value of this branch must be more than of its type.
fn is_bounded(branch: &Branch) -> bool {
    match branch {
        Branch::Const(value) => !value.is_string() && !value.is_null(),
        Branch::Other("object" | "array", _) => true,
        Branch::Other(_, Value::Object(map)) => map.len() > 1,
        _ => false,
    }
}

/// A value that is no string and holds none. A number without bounds has so many digits that a double holds it: of a
/// greater one the reader makes text.
pub(super) fn scalar(schema: Value) -> Node {
    const WHOLE: &str = "-?(?:0|[1-9][0-9]{0,29})";
    let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    let bounded = bounds.iter().any(|k| schema.get(*k).is_some());
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") if !bounded => Node::Regex(WHOLE.to_owned()),
        Some("number") if !bounded => Node::Regex(format!(r"{WHOLE}(?:\.[0-9]{{1,30}})?(?:[eE][+\-]?[0-9]{{1,2}})?")),
        Some("boolean") => Node::choice([Node::text("true"), Node::text("false")]),
        Some("null") => Node::text("null"),
        _ => Node::Json { schema, without: Avoid::nothing() },
    }
}

/// An expression for a string whose schema bounds its length or says a pattern.
pub(super) fn bounded(map: &Map<String, Value>, avoid: &Avoid) -> Option<String> {
    if let Some(Value::String(said)) = map.get("pattern") {
        let whole = pattern::without(said, avoid);
        return Some(whole.trim_start_matches('^').trim_end_matches('$').to_owned());
    }
    let bound = |key: &str| map.get(key).and_then(Value::as_u64);
    let (least, most) = (bound("minLength"), bound("maxLength"));
    if least.is_none() && most.is_none() {
        return None;
    }
    let most = most.map(|m| m.to_string()).unwrap_or_default();
    Some(format!("{}{{{},{most}}}", avoid::character(avoid), least.unwrap_or(0)))
}
