//! A grammar as a structural tag: JSON for xgrammar.

use serde_json::{Map, Value, json};

use super::node::{Avoid, Node};
use super::tidy::Order;
use super::{Grammar, ebnf, schema};

/// Parts with more bytes than this as tags are written as EBNF, where shared parts occur once.
const LONG: usize = 1 << 10;
/// If counted calls have more bytes than this as tags, their positions are not counted.
const LONGEST: usize = 100 << 10;
/// Rules are inlined up to this depth; deeper or recursive ones become EBNF.
const DEEPEST: usize = 64;

/// The structural tag of a grammar.
pub(super) fn write(grammar: &Grammar) -> Value {
    let writer = Writer::new(grammar);
    json!({"type": "structural_tag", "format": writer.node(&grammar.root, 0)})
}

struct Writer<'a> {
    rules: &'a [Node],
    /// The facts about each rule.
    facts: Vec<Facts>,
}

/// The facts about a node and its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Facts {
    /// It can be written as EBNF.
    plain: bool,
    /// Approximate size as tags, in bytes.
    length: usize,
}

impl<'a> Writer<'a> {
    fn new(grammar: &'a Grammar) -> Self {
        // A rule that is used before its facts are known is recursive.
        let holds_itself = Facts { plain: true, length: usize::MAX };
        let mut writer = Self { rules: &grammar.rules, facts: vec![holds_itself; grammar.rules.len()] };
        let order = Order::of(&grammar.root, &grammar.rules);
        loop {
            let before = writer.facts.clone();
            for at in &order.rules {
                writer.facts[*at] = writer.facts_of(&grammar.rules[*at]);
            }
            if before.iter().zip(&writer.facts).all(|(a, b)| a.plain == b.plain) {
                return writer;
            }
        }
    }

    fn facts_of(&self, node: &Node) -> Facts {
        const AROUND: usize = 40;
        if let Node::Rule(at) = node {
            return self.facts.get(*at).copied().unwrap_or(Facts { plain: true, length: 0 });
        }
        if let Node::Counted(both) = node {
            let counted = self.facts_of(&both[0]);
            return if is_short(counted) { counted } else { self.facts_of(&both[1]) };
        }
        let schema = match node {
            Node::Json { schema, .. } => length_of(schema),
            _ => 0,
        };
        let mut facts = Facts { plain: ebnf::can_say(node), length: AROUND + node.own_bytes() + schema };
        for part in node.parts() {
            let part = self.facts_of(part);
            facts.plain &= part.plain;
            facts.length = facts.length.saturating_add(part.length);
        }
        facts
    }

    fn node(&self, node: &Node, depth: usize) -> Value {
        let facts = self.facts_of(node);
        if facts.plain && facts.length > LONG {
            return json!({"type": "grammar", "grammar": ebnf::write(node, self.rules)});
        }
        match node {
            Node::Literal(text) => json!({"type": "const_string", "value": text}),
            Node::Sequence(all) => {
                let parts = self.grouped(all, Node::sequence);
                match parts.as_slice() {
                    [one] => self.node(one, depth),
                    all => json!({"type": "sequence", "elements": self.nodes(all, depth)}),
                }
            }
            Node::Choice(all) => json!({"type": "or", "elements": self.nodes(&self.grouped(all, Node::choice), depth)}),
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
            Node::Free { .. } => self.free(node, depth),
            Node::Regex(pattern) => json!({"type": "regex", "pattern": pattern}),
            Node::Json { schema, without } => json_schema(schema, without),
            Node::Counted(both) => {
                let [counted, any] = &**both;
                self.node(if is_short(self.facts_of(counted)) { counted } else { any }, depth)
            }
            Node::Rule(at) => match self.rules.get(*at) {
                Some(rule) if depth < DEEPEST => self.node(rule, depth + 1),
                _ => json!({"type": "or", "elements": []}),
            },
        }
    }

    /// Whether a node itself determines its end.
    fn ends(&self, node: &Node) -> bool {
        match node {
            Node::Sequence(all) => all.last().is_some_and(|last| self.ends(last)),
            Node::Rule(at) => matches!(self.rules.get(*at), Some(Node::Json { .. })),
            node => matches!(node, Node::Literal(_) | Node::Json { .. }),
        }
    }

    fn nodes(&self, nodes: &[Node], depth: usize) -> Vec<Value> {
        nodes.iter().map(|node| self.node(node, depth)).collect()
    }

    /// Joins neighbours that EBNF can express together, if they are long enough.
    fn grouped(&self, all: &[Node], join: impl Fn(Vec<Node>) -> Node) -> Vec<Node> {
        let mut out = Vec::new();
        for run in all.chunk_by(|a, b| self.facts_of(a).plain == self.facts_of(b).plain) {
            let together = run.iter().map(|node| self.facts_of(node).length).fold(0, usize::saturating_add);
            if run.len() > 1 && self.facts_of(&run[0]).plain && together > LONG {
                out.push(join(run.to_vec()));
            } else {
                out.extend_from_slice(run);
            }
        }
        out
    }

    fn free(&self, node: &Node, depth: usize) -> Value {
        let Node::Free { without, rest, trigger, then, once, ends } = node else { return Value::Null };
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
            return all;
        }
        json!({"type": "sequence", "elements": [all, self.node(&ending(ends), depth)]})
    }

    /// The alternatives of a node as tags: their first literals as beginnings, their last ones as ends. `before`: a
    /// literal before all of them.
    fn tags(&self, before: &str, node: &Node, depth: usize) -> Vec<Value> {
        let tag_of = |node: &Node| {
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
        };
        alternatives(node).iter().map(tag_of).collect()
    }

    /// A list: tags if each member ends in a literal or in JSON, because a tag must have an end.
    fn list(&self, of: &Node, between: &str, depth: usize) -> Value {
        if !alternatives(of).iter().all(|node| self.ends(node)) {
            let more = Node::sequence([Node::text(between), of.clone()]).many();
            return self.node(&Node::sequence([of.clone(), more]), depth);
        }
        json!({
            "type": "tags_with_separator", "tags": self.tags("", of, depth), "separator": between,
            "at_least_one": true, "stop_after_first": false,
        })
    }
}

/// Approximate size of a JSON value, in bytes.
fn length_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| 1 + length_of(item)).sum::<usize>(),
        Value::Object(map) => 2 + map.iter().map(|(key, value)| key.len() + 4 + length_of(value)).sum::<usize>(),
        _ => 4,
    }
}

/// Whether to count calls: not if each position would repeat all schemas, and those are long.
fn is_short(counted: Facts) -> bool {
    counted.plain || counted.length <= LONGEST
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
    // xgrammar's keyword for excluded literals does not cover a string's own constraints and entities: those go into
    // the schema.
    out.insert("json_schema".to_owned(), schema::explicit(&schema::guarded(schema, without, without.entities)));
    if !without.literals.is_empty() && !without.entities {
        out.insert("excludes".to_owned(), without.plain().into());
    }
    Value::Object(out)
}
