//! Members of arguments: flat parameters and nested elements, each in its own tag.

use std::collections::HashSet;

use serde_json::Value;

use crate::error::Error;
use crate::format::file::{Escape, FormatFile, Trim, Typed};
use crate::format::template::{Part, Slot, Template};
use crate::limits::Limits;
use crate::scan::{Cut, cuts};

use super::fill;
use super::node::{Avoid, Node};
use super::rules::Rules;
use super::schema::{self, Branch, Place, View};
use super::text;

/// Up to this number parameters come in any order; the number of orders grows too fast for more.
const ANY_ORDER: usize = 3;

/// A name that is not in a schema.
pub(super) const ANY_KEY: &str = "[A-Za-z_][A-Za-z0-9_.\\-]{0,63}";

/// A member, and whether it is required.
pub(super) type Member = (Node, bool);

/// The members of an object, in the order of the schema. `member` builds one from a key and a schema.
pub(super) fn members<'a>(
    object: &View<'a>,
    mut member: impl FnMut(&'a str, &'a Value) -> Result<Node, Error>,
) -> Result<Vec<Member>, Error> {
    let (properties, required) = (object.members(), object.required());
    let needed: HashSet<&str> = required.iter().copied().collect();
    let described: HashSet<&str> = properties.iter().map(|(key, _)| *key).collect();
    let mut all = Vec::new();
    for (key, schema) in properties {
        all.push((member(key, schema)?, needed.contains(key)));
    }
    // A required member that the schema does not describe may be anything.
    let others = object.get("additionalProperties").unwrap_or(&schema::ANY);
    let mut said = described;
    for key in required.into_iter().filter(|key| said.insert(key)) {
        all.push((member(key, others)?, true));
    }
    Ok(all)
}

/// Members separated by `comma`: each required one once, each other one at most once.
pub(super) fn arranged(mut all: Vec<Member>, comma: &str, rules: &mut Rules<'_>) -> Result<Node, Error> {
    all.retain(|(node, needed)| *needed || !rules.is_impossible(node));
    if all.len() <= ANY_ORDER {
        // A separator is in one literal with the following key, because lexers need an unambiguous reading.
        let is_said_again = all.len() > 1 && comma.is_empty();
        for (node, _) in all.iter_mut().filter(|_| is_said_again) {
            *node = rules.rule(node.clone())?;
        }
        return Ok(any_order(&all, "", comma));
    }
    if comma.is_empty() {
        return Ok(behind(&all, comma));
    }
    in_order(&all, comma, rules)
}

/// Members in the order of the schema.
fn in_order(all: &[Member], comma: &str, rules: &mut Rules<'_>) -> Result<Node, Error> {
    let first_needed = all.iter().position(|(_, needed)| *needed);
    let (may_begin, later) = all.split_at(first_needed.map_or(all.len(), |at| at + 1));
    let (first, _) = begun(may_begin, comma, rules)?;
    let all = Node::sequence([first, behind(later, comma)]);
    Ok(if first_needed.is_none() { all.optional() } else { all })
}

/// Members of which the first present one has no separator before it; and the same members all with one. Each half is
/// shared, so the result has at most twice as many nodes as members.
fn begun(all: &[Member], comma: &str, rules: &mut Rules<'_>) -> Result<(Node, Node), Error> {
    if let [(first, _)] = all {
        return Ok((first.clone(), behind(all, comma)));
    }
    let (left, right) = all.split_at(all.len() / 2);
    let (left, left_behind) = begun(left, comma, rules)?;
    let (right, right_behind) = begun(right, comma, rules)?;
    let right_behind = rules.rule(right_behind)?;
    let first = Node::choice([Node::sequence([left, right_behind.clone()]), right]);
    Ok((first, Node::sequence([left_behind, right_behind])))
}

/// Members after another one, in order.
fn behind(all: &[Member], comma: &str) -> Node {
    Node::sequence(all.iter().map(|(node, needed)| {
        let node = Node::sequence([Node::text(comma), node.clone()]);
        if *needed { node } else { node.optional() }
    }))
}

/// Members in any order; `before` precedes the first.
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
    /// White space after a value.
    behind: Vec<Node>,
    /// Line breaks of the template are optional.
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

    /// Arguments that match a schema.
    pub(super) fn strict(&self, place: Place<'_>, rules: &mut Rules<'_>) -> Result<Node, Error> {
        let mut all = Vec::new();
        for object in place.objects()? {
            all.push(self.object(place, &object, rules)?);
        }
        Ok(Node::choice(all))
    }

    fn object(&self, place: Place<'_>, object: &View<'_>, rules: &mut Rules<'_>) -> Result<Node, Error> {
        let others = object.get("additionalProperties").unwrap_or(&schema::ANY);
        if !object.has("properties") && object.required().is_empty() && *others != Value::Bool(false) {
            let key = Node::Regex(ANY_KEY.to_owned());
            return Ok(self.parameter(&key, place, &place.at(others).branches()?)?.many());
        }
        let all = members(object, |key, schema| self.named(key, place, &place.at(schema).branches()?))?;
        arranged(all, "", rules)
    }

    /// The parameters that a schema declares, with values of their types, in any number; any parameters if it declares
    /// none.
    pub(super) fn declared(&self, place: Place<'_>) -> Result<Node, Error> {
        let properties = place.object()?.map(|object| object.members()).unwrap_or_default();
        if properties.is_empty() {
            return self.free(place);
        }
        let mut all = Vec::new();
        for (key, schema) in properties {
            let kinds: Vec<Branch<'_>> = place.at(schema).branches()?.into_iter().map(of_kind).collect();
            all.push(self.named(key, place, &kinds)?);
        }
        Ok(Node::choice(all).many())
    }

    /// Any parameters with any values.
    pub(super) fn free(&self, place: Place<'_>) -> Result<Node, Error> {
        Ok(self.parameter(&Node::Regex(ANY_KEY.to_owned()), place, &[Branch::Any])?.many())
    }

    /// A parameter whose name is in the schema.
    fn named(&self, key: &str, place: Place<'_>, branches: &[Branch<'_>]) -> Result<Node, Error> {
        crate::render::check_key(key, self.file.tools.loose, self.limits)
            .map_err(|e| Error::grammar(&format!("parameter `{key}` {}", e.message)))?;
        self.parameter(&Node::text(self.attribute(key)), place, branches)
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

    fn parameter(&self, key: &Node, place: Place<'_>, branches: &[Branch<'_>]) -> Result<Node, Error> {
        let says_string = self.template.has(Slot::String);
        if !says_string && !self.template.has(Slot::Type) {
            return Ok(self.written(key, "", self.slot.one_of(place, branches)?));
        }
        let by_model = self.file.tools.params.typed == Typed::Model;
        let (mut ways, mut all): (Vec<(&str, Vec<Branch<'_>>)>, Vec<Node>) = (Vec::new(), Vec::new());
        for branch in branches {
            for (name, typed) in typed(branch, by_model) {
                let word = if says_string { if name == "string" { "true" } else { "false" } } else { name };
                if name == "string" && matches!(branch, Branch::Any) {
                    all.push(self.written(key, word, self.slot.anything()));
                    continue;
                }
                match ways.iter_mut().find(|(known, _)| *known == word) {
                    Some((_, branches)) => branches.push(typed),
                    None => ways.push((word, vec![typed])),
                }
            }
        }
        for (word, branches) in ways {
            all.push(self.written(key, word, self.slot.one_of(place, &branches)?));
        }
        Ok(Node::choice(all))
    }

    /// The template with a key, a word for the type, and a value with its end.
    fn written(&self, key: &Node, word: &str, value: Node) -> Node {
        let at = self.template.position(|s| s == Slot::Value).unwrap_or(self.template.parts.len());
        let header = fill::spelled(&self.template.parts[..at], self.compact);
        let header = fill::parts(&header, &mut |slot| match slot {
            Slot::Key => Ok(key.clone()),
            Slot::Type | Slot::String => Ok(Node::text(word)),
            _ => Ok(Node::nothing()),
        });
        let header = header.unwrap_or_default();
        Node::sequence(header.into_iter().chain([value]).chain(self.behind.iter().cloned()))
    }
}

/// A branch without constraints beyond its type or its value.
fn of_kind(branch: Branch<'_>) -> Branch<'_> {
    match branch {
        Branch::Text(_) => Branch::Text(View::default()),
        Branch::Other(name, _) => Branch::Other(name, View::default()),
        branch => branch,
    }
}

/// The ways in which a parameter with a type in its markup can match a branch: the word for the type, and the branch.
fn typed<'a>(branch: &Branch<'a>, by_model: bool) -> Vec<(&'static str, Branch<'a>)> {
    let string = || ("string", Branch::Text(View::default()));
    match branch {
        Branch::Const(value) => vec![(type_name(value), branch.clone())],
        Branch::Text(_) => vec![("string", branch.clone())],
        Branch::Other("integer", _) => vec![("number", branch.clone())],
        Branch::Other(name, _) => vec![(name, branch.clone())],
        Branch::Any if by_model => {
            let others =
                ["number", "boolean", "null", "object", "array"].map(|n| (n, Branch::Other(n, View::default())));
            std::iter::once(string()).chain(others).collect()
        }
        Branch::Any => vec![string()],
        Branch::Shared(_) => Vec::new(),
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

/// The parts after a value: the white space before its closer, the closer up to the next cut, and the rest.
fn closer(parts: &[Part]) -> (String, String, Vec<Node>) {
    let (frame, text, more) = framed_closer(parts);
    let end = cuts(&text).into_iter().next();
    let end = if let Some(Cut::Literal(end)) = end { end } else { "" };
    let rest = Node::text(&text[end.len()..]);
    (frame, end.to_owned(), std::iter::once(rest).chain(more).collect())
}

/// The parts after a text: the white space before its closer, the closer with its components, and the rest.
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
