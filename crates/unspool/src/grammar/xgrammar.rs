//! A grammar as a structural tag: the JSON that xgrammar compiles.

use serde_json::{Map, Value, json};

use super::Grammar;
use super::node::{Avoid, Node};
use super::schema;

/// How often a rule is written inside itself: a tag has no names, so a value nests at most so deep.
const UNROLLED: usize = 3;

/// The structural tag of a grammar.
pub(super) fn write(grammar: &Grammar) -> Value {
    let writer = Writer { rules: &grammar.rules };
    json!({"type": "structural_tag", "format": writer.node(&grammar.root, UNROLLED)})
}

struct Writer<'a> {
    rules: &'a [Node],
}

impl Writer<'_> {
    fn node(&self, node: &Node, depth: usize) -> Value {
        let nodes = |nodes: &[Node]| nodes.iter().map(|n| self.node(n, depth)).collect::<Vec<_>>();
        match node {
            Node::Literal(text) => json!({"type": "const_string", "value": text}),
            Node::Sequence(all) => json!({"type": "sequence", "elements": nodes(all)}),
            Node::Choice(all) => {
                let possible: Vec<Node> = all.iter().filter(|n| !self.is_too_deep(n, depth)).cloned().collect();
                match possible.as_slice() {
                    [one] => self.node(one, depth),
                    all => json!({"type": "or", "elements": nodes(all)}),
                }
            }
            Node::Repeat { of, least: 0, .. } if self.is_too_deep(of, depth) => self.node(&Node::nothing(), depth),
            Node::Repeat { of, least, most } => repeat(&self.node(of, depth), *least, *most),
            Node::List { of, between } => self.list(of, between, depth),
            Node::Until { without, end } => {
                let (excludes, begun) = without.plain_before(end);
                let text = tag("", &any_text(&excludes), &end[..begun]);
                if begun == end.len() {
                    return text;
                }
                json!({"type": "sequence", "elements": [text, {"type": "const_string", "value": &end[begun..]}]})
            }
            Node::Rest { without } => any_text(&without.plain()),
            Node::Free { without, rest, trigger, then, once, ends } => {
                let (excludes, begun) = without.plain_before(trigger);
                let tags = json!({
                    "type": "triggered_tags", "triggers": [&trigger[..begun]],
                    "tags": self.tags(trigger, then, depth),
                    "at_least_one": false, "stop_after_first": once, "excludes": excludes,
                });
                let text = || any_text(&rest.plain());
                let all = match (rest == without, once) {
                    (true, _) => tags,
                    (false, true) => json!({"type": "or", "elements": [text(), tags]}),
                    (false, false) => json!({"type": "sequence", "elements": [tags, text()]}),
                };
                if ends.is_empty() {
                    all
                } else {
                    json!({"type": "sequence", "elements": [all, self.node(&ending(ends), depth)]})
                }
            }
            Node::Regex(pattern) => json!({"type": "regex", "pattern": pattern}),
            Node::Json { schema, without } => json_schema(schema, without),
            Node::Rule(at) => match self.rules.get(*at) {
                Some(rule) if depth > 0 => self.node(rule, depth - 1),
                _ => json!({"type": "or", "elements": []}),
            },
        }
    }

    /// Whether a node cannot be written without going deeper than rules are unrolled.
    fn is_too_deep(&self, node: &Node, depth: usize) -> bool {
        match node {
            Node::Rule(at) => depth == 0 || self.rules.get(*at).is_none_or(|rule| self.is_too_deep(rule, depth - 1)),
            Node::Sequence(all) => all.iter().any(|n| self.is_too_deep(n, depth)),
            Node::Choice(all) => all.iter().all(|n| self.is_too_deep(n, depth)),
            Node::Repeat { of, least, .. } => *least > 0 && self.is_too_deep(of, depth),
            Node::List { of, .. } => self.is_too_deep(of, depth),
            _ => false,
        }
    }

    /// The alternatives of a node as tags: their first literals as begins, their last ones as ends. `before`: a literal that
    /// stands before all of them.
    fn tags(&self, before: &str, node: &Node, depth: usize) -> Vec<Value> {
        let each = alternatives(node).iter().filter(|n| !self.is_too_deep(n, depth));
        each.map(|node| {
            let mut parts = match node {
                Node::Sequence(all) => all.clone(),
                one => vec![one.clone()],
            };
            let mut begin = before.to_owned();
            if let Some(Node::Literal(text)) = parts.first() {
                begin.push_str(text);
                parts.remove(0);
            }
            let mut end = String::new();
            if let Some(Node::Literal(text)) = parts.last() {
                end.clone_from(text);
                parts.pop();
            }
            tag(&begin, &self.node(&Node::sequence(parts), depth), &end)
        })
        .collect()
    }

    /// A list: tags, if each of its members ends in a literal, for a tag must say where it ends.
    fn list(&self, of: &Node, between: &str, depth: usize) -> Value {
        let ends = |node: &Node| match node {
            Node::Sequence(all) => matches!(all.last(), Some(Node::Literal(_))),
            node => matches!(node, Node::Literal(_)),
        };
        if !alternatives(of).iter().all(ends) {
            let more = Node::sequence([Node::text(between), of.clone()]).many();
            return self.node(&Node::sequence([of.clone(), more]), depth);
        }
        json!({
            "type": "tags_with_separator", "tags": self.tags("", of, depth), "separator": between,
            "at_least_one": true, "stop_after_first": false,
        })
    }
}

/// One of some literals, or none.
fn ending(ends: &[String]) -> Node {
    Node::choice(ends.iter().map(Node::text)).optional()
}

fn alternatives(node: &Node) -> &[Node] {
    match node {
        Node::Choice(all) => all,
        one => std::slice::from_ref(one),
    }
}

fn tag(begin: &str, content: &Value, end: &str) -> Value {
    json!({"type": "tag", "begin": begin, "content": content, "end": end})
}

fn any_text(excludes: &[String]) -> Value {
    json!({"type": "any_text", "excludes": excludes})
}

fn repeat(content: &Value, least: usize, most: Option<usize>) -> Value {
    match (least, most) {
        (0, Some(1)) => json!({"type": "optional", "content": content}),
        (0, None) => json!({"type": "star", "content": content}),
        (1, None) => json!({"type": "plus", "content": content}),
        (least, most) => {
            let most = most.and_then(|m| i64::try_from(m).ok()).unwrap_or(-1);
            json!({"type": "repeat", "min": least, "max": most, "content": content})
        }
    }
}

fn json_schema(schema: &Value, without: &Avoid) -> Value {
    let mut out = Map::new();
    out.insert("type".to_owned(), "json_schema".into());
    // A string's own bounds and entities are beyond the word for literals: those are written into the schema.
    out.insert("json_schema".to_owned(), schema::explicit(&schema::guarded(schema, without, without.entities)));
    if !without.literals.is_empty() && !without.entities {
        out.insert("excludes".to_owned(), without.plain().into());
    }
    Value::Object(out)
}
