//! Rules: shared parts of a grammar are built and written once, and values may be recursive.

use std::collections::HashMap;
use std::hash::Hash;

use super::limit::{Budget, Weight};
use super::node::Node;
use crate::error::Error;

/// The identity of a rule: the address of its schema, and other inputs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A value that matches the schema at an address, followed by a closing tag or nothing.
    Value(usize, String),
    /// The text between the brackets of an object whose schema is at an address.
    Members(usize),
    /// Any value.
    Anything,
    /// Any string.
    Text,
}

impl Key {
    pub(super) fn value(schema: &serde_json::Value) -> Self {
        Self::Value(std::ptr::from_ref(schema).addr(), String::new())
    }
}

/// Parts up to this size are repeated instead of shared.
const SMALL: Weight = Weight { nodes: 4, bytes: 512 };
/// Nesting of values beyond which a rule is built later rather than at once.
const DEEPEST: usize = 48;

/// Builds rules.
#[derive(Debug)]
pub(super) struct Rules<'a> {
    pub(super) budget: &'a Budget<'a>,
    made: Vec<Rule>,
    /// The names for the current tool's schema.
    names: HashMap<Key, Named>,
    depth: usize,
}

#[derive(Debug)]
struct Rule {
    node: Node,
    impossible: bool,
}

#[derive(Debug, Clone)]
enum Named {
    Rule(usize),
    /// It is too small for one.
    Node(Node),
}

/// A rule in progress.
#[derive(Debug)]
pub(super) struct Begun {
    key: Option<Key>,
    at: usize,
}

impl<'a> Rules<'a> {
    pub(super) fn new(budget: &'a Budget<'a>) -> Self {
        Self { budget, made: Vec::new(), names: HashMap::new(), depth: 0 }
    }

    /// The node for a key, if it is in progress or complete.
    pub(super) fn find(&self, key: &Key) -> Option<Node> {
        self.names.get(key).map(|named| match named {
            Named::Rule(at) => Node::Rule(*at),
            Named::Node(node) => node.clone(),
        })
    }

    /// Begins the rule for a key.
    pub(super) fn begin(&mut self, key: Key) -> Begun {
        let at = self.new_rule();
        self.names.insert(key.clone(), Named::Rule(at));
        self.depth += 1;
        Begun { key: Some(key), at }
    }

    /// Whether the next level would nest too deep.
    pub(super) fn is_deep(&self) -> bool {
        self.depth > DEEPEST
    }

    /// Reserves a rule that is built later.
    pub(super) fn promise(&mut self, key: Key) -> (Begun, Node) {
        let at = self.new_rule();
        self.names.insert(key.clone(), Named::Rule(at));
        (Begun { key: Some(key), at }, Node::Rule(at))
    }

    /// Continues with a reserved rule.
    pub(super) fn resume(&mut self) {
        self.depth += 1;
    }

    fn new_rule(&mut self) -> usize {
        // Until it is built this is unknown, and a recursive rule may well match something.
        self.made.push(Rule { node: Node::Choice(Vec::new()), impossible: false });
        self.made.len() - 1
    }

    /// Completes a rule. A small node without rules needs none.
    pub(super) fn end(&mut self, begun: Begun, node: Node) -> Result<Node, Error> {
        self.depth -= 1;
        let weight = node.weight();
        self.budget.take(weight)?;
        let impossible = self.is_impossible(&node);
        let mut says_rules = false;
        node.each_rule(&mut |_| says_rules = true);
        let is_light = weight.nodes <= SMALL.nodes && weight.bytes <= SMALL.bytes && !says_rules && !has_schema(&node);
        let is_small = is_light || matches!(node, Node::Rule(at) if at != begun.at);
        let said = if is_small { node.clone() } else { Node::Rule(begun.at) };
        if let (true, Some(key)) = (is_small, begun.key) {
            self.names.insert(key, Named::Node(node.clone()));
        }
        if let Some(rule) = self.made.get_mut(begun.at) {
            *rule = Rule { node, impossible };
        }
        Ok(said)
    }

    /// A rule for a node that is used several times.
    pub(super) fn rule(&mut self, node: Node) -> Result<Node, Error> {
        self.depth += 1;
        let at = self.new_rule();
        self.end(Begun { key: None, at }, node)
    }

    /// Whether no text matches, as far as that is known.
    pub(super) fn is_impossible(&self, node: &Node) -> bool {
        node.is_impossible(&|at| self.made.get(at).is_some_and(|rule| rule.impossible))
    }

    /// Clears the names for one tool's schema before the next.
    pub(super) fn forget_names(&mut self) {
        self.names.retain(|key, _| matches!(key, Key::Anything | Key::Text));
    }

    /// All rules, by index.
    pub(super) fn into_nodes(self) -> Vec<Node> {
        self.made.into_iter().map(|rule| rule.node).collect()
    }
}

fn has_schema(node: &Node) -> bool {
    match node {
        Node::Json { schema, .. } => schema.as_object().is_some_and(|map| map.len() > 1),
        node => node.parts().iter().any(has_schema),
    }
}
