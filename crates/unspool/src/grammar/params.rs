//! Members of arguments: flat parameters and nested elements, each a tag of its own.

use serde_json::{Map, Value};

use crate::format::file::{Escape, FormatFile, Trim, Typed};
use crate::format::template::{Part, Slot, Template};
use crate::limits::Limits;
use crate::scan::{Cut, cuts};

use super::node::{Avoid, Node};
use super::schema::{self, Branch, Place};
use super::text;
use super::{GrammarError, fill};

/// Parameters up to this number may come in any order; of more there are too many orders.
const ANY_ORDER: usize = 3;

/// A name that a schema does not say.
pub(super) const ANY_KEY: &str = "[A-Za-z_][A-Za-z0-9_.\\-]{0,63}";

/// The members of an object with `comma` between two: each required one once, each other one at most once.
pub(super) fn members<E>(
    object: &Map<String, Value>,
    comma: &str,
    mut member: impl FnMut(&str, &Value) -> Result<Node, E>,
) -> Result<Node, E> {
    let required = schema::required(object);
    let empty = Map::new();
    let properties = object.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let mut all = Vec::new();
    for (key, schema) in properties {
        all.push((member(key, schema)?, required.contains(&key.as_str())));
    }
    // A required member that the schema does not describe may be anything.
    for key in required.iter().filter(|k| !properties.contains_key(**k)) {
        all.push((member(key, object.get("additionalProperties").unwrap_or(&Value::Bool(true)))?, true));
    }
    all.retain(|(node, needed)| *needed || !node.is_impossible());
    Ok(if all.len() <= ANY_ORDER { any_order(&all, "", comma) } else { in_order(&all, comma) })
}

type Member = (Node, bool);

/// Members in the order of the schema.
fn in_order(all: &[Member], comma: &str) -> Node {
    let first_needed = all.iter().position(|(_, needed)| *needed);
    let starts = first_needed.map_or(all.len(), |at| at + 1);
    if comma.is_empty() {
        return behind(all, comma);
    }
    let ways = (0..starts).map(|at| Node::sequence([all[at].0.clone(), behind(&all[at + 1..], comma)]));
    let ways = Node::choice(ways);
    if first_needed.is_none() { ways.optional() } else { ways }
}

/// Members behind another one, in order.
fn behind(all: &[Member], comma: &str) -> Node {
    Node::sequence(all.iter().map(|(node, needed)| {
        let node = Node::sequence([Node::text(comma), node.clone()]);
        if *needed { node } else { node.optional() }
    }))
}

/// Members in any order; `before` stands before the first.
fn any_order(all: &[Member], before: &str, comma: &str) -> Node {
    let ways = (0..all.len()).map(|first| {
        let mut rest = all.to_vec();
        let (node, _) = rest.remove(first);
        Node::sequence([Node::text(before), node, any_order(&rest, comma, comma)])
    });
    let ways: Vec<Node> = ways.collect();
    if ways.is_empty() {
        Node::nothing()
    } else if all.iter().any(|(_, needed)| *needed) {
        Node::choice(ways)
    } else {
        Node::choice(ways).optional()
    }
}

/// Flat parameters.
pub(super) struct Params<'a> {
    file: &'a FormatFile,
    limits: &'a Limits,
    template: &'a Template,
    slot: text::Slot,
    /// White space behind the end of a value.
    behind: Vec<Node>,
    /// Line breaks of the template may be missing.
    compact: bool,
}

impl<'a> Params<'a> {
    /// The parameters of a format. `avoid`: literals that are structure inside a value.
    pub(super) fn new((file, limits): (&'a FormatFile, &'a Limits), template: &'a Template, avoid: Avoid) -> Self {
        let at = template.position(|s| s == Slot::Value).map_or(template.parts.len(), |at| at + 1);
        let (frame, end, mut behind) = closer(&template.parts[at..]);
        let compact = file.grammar.spellings.iter().any(|s| s == "compact");
        if compact {
            let is_blank = |n: &Node| matches!(n, Node::Literal(text) if text.trim().is_empty());
            behind = behind.into_iter().map(|n| if is_blank(&n) { n.optional() } else { n }).collect();
        }
        let params = &file.tools.params;
        let slot = text::Slot { avoid, end, frame, escape: params.escape, trimmed: params.trim == Trim::All };
        Self { file, limits, template, slot, behind, compact }
    }

    /// Arguments that fit a schema.
    pub(super) fn strict(&self, root: &Value) -> Result<Node, GrammarError> {
        let place = Place::root(root);
        let alternatives: Vec<Node> = match place.object() {
            Some(object) => vec![self.object(place, &object)?],
            None => {
                let objects = place.branches().into_iter().filter_map(|b| match b {
                    Branch::Other("object", Value::Object(map)) => Some(map),
                    _ => None,
                });
                objects.map(|object| self.object(place, &object)).collect::<Result<_, _>>()?
            }
        };
        Ok(Node::choice(alternatives))
    }

    fn object(&self, place: Place<'_>, object: &Map<String, Value>) -> Result<Node, GrammarError> {
        let others = object.get("additionalProperties").unwrap_or(&Value::Bool(true));
        if !object.contains_key("properties") && schema::required(object).is_empty() && *others != Value::Bool(false) {
            return Ok(self.parameter(&Node::Regex(ANY_KEY.to_owned()), place.at(others)).many());
        }
        members(object, "", |key, schema| {
            crate::render::check_key(key, self.file.tools.loose, self.limits)
                .map_err(|e| GrammarError::new(&format!("parameter `{key}` {}", e.message)))?;
            Ok(self.parameter(&Node::text(self.attribute(key)), place.at(schema)))
        })
    }

    /// The parameters that a schema declares, with values of their types, in any number; any where it declares none.
    pub(super) fn declared(&self, root: &Value) -> Result<Node, GrammarError> {
        let place = Place::root(root);
        let properties = place.object().and_then(|o| o.get("properties").and_then(Value::as_object).cloned());
        let Some(properties) = properties.filter(|p| !p.is_empty()) else { return Ok(self.free()) };
        let one = |(key, schema): (&String, &Value)| {
            crate::render::check_key(key, self.file.tools.loose, self.limits)
                .map_err(|e| GrammarError::new(&format!("parameter `{key}` {}", e.message)))?;
            let kinds: Vec<Value> = place.at(schema).branches().into_iter().map(of_kind).collect();
            let kinds = serde_json::json!({ "anyOf": kinds });
            Ok(self.parameter(&Node::text(self.attribute(key)), place.at(&kinds)))
        };
        let all = properties.iter().map(one).collect::<Result<Vec<_>, GrammarError>>()?;
        Ok(Node::choice(all).many())
    }

    /// Any parameters with any values.
    pub(super) fn free(&self) -> Node {
        let any = Value::Bool(true);
        self.parameter(&Node::Regex(ANY_KEY.to_owned()), Place::root(&any)).many()
    }

    fn attribute(&self, key: &str) -> String {
        let is_attribute =
            self.template.parts.iter().any(|p| matches!(p, Part::Attrs(a) if a.iter().any(|(_, s)| *s == Slot::Key)));
        if is_attribute && self.file.tools.params.attr == Escape::Xml {
            super::escaped_attribute(key)
        } else {
            key.to_owned()
        }
    }

    fn parameter(&self, key: &Node, place: Place<'_>) -> Node {
        let says_string = self.template.has(Slot::String);
        if !says_string && !self.template.has(Slot::Type) {
            return self.written(key, "", self.slot.value(place));
        }
        let by_model = self.file.tools.params.typed == Typed::Model;
        let mut all = Vec::new();
        for branch in place.branches() {
            for (name, schema) in typed(&branch, by_model) {
                let word = if says_string { if name == "string" { "true" } else { "false" } } else { name };
                let value = if name == "string" && branch == Branch::Any {
                    self.slot.anything()
                } else {
                    self.slot.value(place.at(&schema))
                };
                all.push(self.written(key, word, value));
            }
        }
        Node::choice(all)
    }

    /// The template with a key, a word for the type, and a value with its end.
    fn written(&self, key: &Node, word: &str, value: Node) -> Node {
        let at = self.template.position(|s| s == Slot::Value).unwrap_or(self.template.parts.len());
        let head = fill::spelled(&self.template.parts[..at], self.compact);
        let head = fill::parts(&head, &mut |slot| match slot {
            Slot::Key => Ok(key.clone()),
            Slot::Type | Slot::String => Ok(Node::text(word)),
            _ => Ok(Node::nothing()),
        });
        let head = head.unwrap_or_default();
        Node::sequence(head.into_iter().chain([value]).chain(self.behind.iter().cloned()))
    }
}

/// The schema of a branch that says no more than its type, or its value.
fn of_kind(branch: Branch) -> Value {
    match branch {
        Branch::Const(value) => serde_json::json!({ "const": value }),
        Branch::Text(_) => serde_json::json!({ "type": "string" }),
        Branch::Other(name, _) => serde_json::json!({ "type": name }),
        Branch::Any => Value::Bool(true),
    }
}

/// The ways in which a parameter that says its type can be of a branch: the word for the type, and the schema.
fn typed(branch: &Branch, by_model: bool) -> Vec<(&'static str, Value)> {
    let of = |name: &'static str| (name, serde_json::json!({ "type": name }));
    match branch {
        Branch::Const(value) => vec![(type_name(value), serde_json::json!({ "const": value }))],
        Branch::Text(map) => vec![("string", Value::Object(map.clone()))],
        Branch::Other("integer", schema) => vec![("number", schema.clone())],
        Branch::Other(name, schema) => vec![(name, schema.clone())],
        Branch::Any if by_model => ["string", "number", "boolean", "null", "object", "array"].map(of).to_vec(),
        Branch::Any => vec![of("string")],
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The parts behind a value: the white space before its closer, the closer up to the next cut, and the rest.
fn closer(parts: &[Part]) -> (String, String, Vec<Node>) {
    let (frame, text, more) = framed_closer(parts);
    let end = cuts(&text).into_iter().next();
    let end = if let Some(Cut::Literal(end)) = end { end } else { "" };
    let rest = Node::text(&text[end.len()..]);
    (frame, end.to_owned(), std::iter::once(rest).chain(more).collect())
}

/// The parts behind a text: the white space before its closer, the closer with what it is made of, and the rest.
pub(super) fn framed_closer(parts: &[Part]) -> (String, String, Vec<Node>) {
    let mut frame = String::new();
    let mut parts = parts.iter();
    for part in parts.by_ref() {
        let (Part::Text(text) | Part::Optional(text)) = part else { break };
        let closer = text.trim_start();
        frame.push_str(&text[..text.len() - closer.len()]);
        if closer.is_empty() {
            continue;
        }
        let end = closer.trim_end();
        let rest = Node::text(&closer[end.len()..]);
        let more = fill::parts(parts.as_slice(), &mut |_| Ok(Node::nothing())).unwrap_or_default();
        return (frame, end.to_owned(), std::iter::once(rest).chain(more).collect());
    }
    (frame, String::new(), Vec::new())
}
