//! Values in syntaxes with untyped text up to a closer.

use serde_json::{Map, Value};

use crate::error::Error;
use crate::format::file::Escape;

use super::node::{Avoid, Node};
use super::schema::{Branch, Place, View};
use super::{avoid, pattern};

/// Characters that do not begin a number, a container or quoted text.
const NO_VALUE_START: &str = r#"\s\[\{\(\)\]\}0-9+\-.'""#;

/// The context of a value in a text.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// Literals that the text must not contain.
    pub(super) avoid: Avoid,
    /// The literal that ends it.
    pub(super) end: String,
    /// White space that the template writes before that literal, not part of the value.
    pub(super) frame: String,
    /// Entities in the text.
    pub(super) escape: Escape,
    /// Outer white space is dropped.
    pub(super) trimmed: bool,
}

impl Slot {
    /// A value and its end, which parses to a value that matches the schema.
    pub(super) fn value(&self, place: Place<'_>) -> Result<Node, Error> {
        self.one_of(place, &place.branches()?)
    }

    /// A value of one of several branches, and its end.
    pub(super) fn one_of(&self, place: Place<'_>, branches: &[Branch<'_>]) -> Result<Node, Error> {
        Ok(Node::choice(self.leaves(place, branches, false)?))
    }

    /// The values of several branches, each with its end. `nested`: something other than text is allowed there too, so
    /// the text must be more than white space.
    pub(super) fn leaves(&self, place: Place<'_>, branches: &[Branch<'_>], nested: bool) -> Result<Vec<Node>, Error> {
        let mixed = nested || branches.iter().any(is_bounded);
        let mut out = Vec::new();
        let constants: Vec<Node> = branches.iter().filter_map(|branch| self.constant(branch)).collect();
        if !constants.is_empty() {
            out.push(self.ended(Node::choice(constants)));
        }
        let mut schemas = Vec::new();
        for branch in branches {
            match branch {
                Branch::Const(_) | Branch::Shared(_) => {}
                Branch::Text(view) => out.push(self.text(place, view, [mixed, nested])?),
                Branch::Other(name @ ("object" | "array"), view) => schemas.push(place.of_type(view, name)?),
                Branch::Other(name, view) => out.push(self.ended(scalar(name, view))),
                Branch::Any => out.push(self.anything()),
            }
        }
        if !schemas.is_empty() {
            // One schema for all, so that shared definitions occur once.
            let schema = if schemas.len() == 1 { schemas.remove(0) } else { serde_json::json!({ "anyOf": schemas }) };
            let without = Avoid { entities: self.escape == Escape::Xml, ..self.avoid.clone() }.and([self.end.as_str()]);
            out.push(self.ended(Node::Json { schema: place.alone(schema)?, without }));
        }
        Ok(out)
    }

    /// Any text.
    pub(super) fn anything(&self) -> Node {
        Node::Until { without: self.avoid.clone(), end: self.end.clone() }
    }

    /// One text.
    fn constant(&self, branch: &Branch<'_>) -> Option<Node> {
        let mut text = match branch {
            Branch::Const(Value::String(text)) => text.clone(),
            Branch::Const(other) => other.to_string(),
            _ => return None,
        };
        if self.escape == Escape::Xml {
            text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        }
        let has_markup = self.avoid.literals.iter().chain([&self.end]).any(|l| text.contains(l.as_str()));
        let is_lost = self.trimmed && text.trim() != text;
        (!has_markup && !is_lost).then(|| Node::text(text))
    }

    /// A string. `mixed`: its text must not look like a value of another type that the schema constrains.
    fn text(&self, place: Place<'_>, view: &View<'_>, [mixed, nested]: [bool; 2]) -> Result<Node, Error> {
        let without = self.avoid.clone().and([self.end.as_str()]);
        if let Some(expression) = bounded(place, view, &without)? {
            return Ok(self.ended(Node::Regex(expression)));
        }
        if !mixed {
            return Ok(self.anything());
        }
        let start = Node::Regex(format!("[^{NO_VALUE_START}{}]", avoid::firsts(&without)));
        let text = Node::sequence([start, self.anything()]);
        Ok(if nested { text } else { Node::choice([Node::text(&*self.end), text]) })
    }

    fn ended(&self, value: Node) -> Node {
        Node::sequence([value, Node::text(&*self.frame).optional(), Node::text(&*self.end)])
    }
}

/// Whether a value of this branch has constraints beyond its type.
fn is_bounded(branch: &Branch<'_>) -> bool {
    match branch {
        Branch::Const(value) => !value.is_string() && !value.is_null(),
        Branch::Other("object" | "array", _) => true,
        Branch::Other(_, view) => view.is_bounded(),
        _ => false,
    }
}

/// An integer as written: no longer than a double can represent.
const WHOLE: &str = "-?(?:0|[1-9][0-9]{0,29})";

/// A value that is not a string and contains none. An unconstrained number is short enough for a double, because the
/// parser would make text of a greater one.
pub(super) fn scalar(name: &str, view: &View<'_>) -> Node {
    let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    let bounded = bounds.iter().any(|k| view.has(k));
    match name {
        "integer" if !bounded => Node::Regex(WHOLE.to_owned()),
        "number" if !bounded => any_number(),
        "boolean" => Node::choice([Node::text("true"), Node::text("false")]),
        "null" => Node::text("null"),
        name => {
            let mut schema = Map::from_iter([("type".to_owned(), name.into())]);
            schema.extend(bounds.iter().filter_map(|k| Some(((*k).to_owned(), view.get(k)?.clone()))));
            Node::Json { schema: schema.into(), without: Avoid::nothing() }
        }
    }
}

/// Any number.
pub(super) fn any_number() -> Node {
    Node::Regex(format!(r"{WHOLE}(?:\.[0-9]{{1,30}})?(?:[eE][+\-]?[0-9]{{1,2}})?"))
}

/// An expression for a string with a length constraint or a pattern.
pub(super) fn bounded(place: Place<'_>, view: &View<'_>, avoid: &Avoid) -> Result<Option<String>, Error> {
    if let Some(Value::String(said)) = view.get("pattern") {
        place.weigh_pattern(said)?;
        let whole = pattern::without(said, avoid);
        return Ok(Some(whole.trim_start_matches('^').trim_end_matches('$').to_owned()));
    }
    let (least, most) = (view.size("minLength"), view.size("maxLength"));
    if least.is_none() && most.is_none() {
        return Ok(None);
    }
    let most = most.map(|m| m.to_string()).unwrap_or_default();
    Ok(Some(format!("{}{{{},{most}}}", avoid::character(avoid), least.unwrap_or(0))))
}
