//! The elements of a call so far, and their JSON.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::body::object::Object;
use crate::body::tag::{self, Tag};
use crate::body::{Cx, Out, Repair, give};
use crate::diagnostic::DiagnosticKind;
use crate::json::write::string_piece;
use crate::limits::Limits;
use crate::schema::{FunctionSchema, Kinds, Type, TypeId};
use crate::typing::{Rules, Want, convert};

/// Maximum nesting, because writing is recursive.
const DEEPEST: usize = 256;

/// The cost of an element in addition to its text, in bytes, so that empty ones are bounded too. It is at most what the
/// model writes for one, so a list of short items is as long as any other list.
const NODE_COST: usize = 8;

/// Elements that are read and not written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Their names; neighbours with the same name share one.
    keys: Vec<String>,
    /// Their texts, if each is in one piece.
    texts: String,
    /// Those that are complete and at the top level.
    roots: Vec<usize>,
    /// The open ones, outermost first.
    open: Vec<usize>,
    /// Number of stored bytes.
    size: usize,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Node {
    /// Index of its name.
    key: usize,
    /// Range of its text in all texts.
    text: (usize, usize),
    /// The part of its text after another element's.
    more: String,
    children: Vec<usize>,
    /// How much of the text has been searched for tags of its own name, and the number of open ones.
    counted: usize,
    own_tags: u32,
}

impl Tree {
    fn key(&self, node: &Node) -> &str {
        self.keys.get(node.key).map_or("", String::as_str)
    }

    /// The text of an element after its first `from` bytes.
    fn text<'t>(&'t self, node: &'t Node, from: usize) -> Cow<'t, str> {
        text_of(&self.texts, node, from)
    }

    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the open element is at the top level and has no children.
    pub(super) fn is_leaf(&self) -> bool {
        matches!(self.open[..], [one] if self.nodes.get(one).is_some_and(|n| n.children.is_empty()))
    }

    pub(super) fn is_full(&self, limits: &Limits) -> bool {
        self.size > limits.argument
    }

    /// Name of the innermost open element.
    pub(super) fn innermost(&self) -> Option<&str> {
        self.nodes.get(*self.open.last()?).map(|n| self.key(n))
    }

    /// Whether an element of this name is open.
    pub(super) fn has_open(&self, key: &str) -> bool {
        self.open.iter().any(|i| self.nodes.get(*i).is_some_and(|node| self.key(node) == key))
    }

    /// Whether the innermost element's text opens a tag of the element's own name and does not close it.
    pub(super) fn holds_own_tag(&mut self) -> bool {
        let Some(node) = self.open.last().and_then(|i| self.nodes.get_mut(*i)) else { return false };
        let rest = text_of(&self.texts, node, node.counted);
        let key = self.keys.get(node.key).map_or("", String::as_str);
        let mut own_tags = node.own_tags;
        for (at, _) in rest.match_indices('<') {
            match tag::tag(key, &rest.as_bytes()[at..]) {
                Tag::Opens => own_tags = own_tags.saturating_add(1),
                Tag::Closes => own_tags = own_tags.saturating_sub(1),
                Tag::Other | Tag::Partial => {}
            }
        }
        let read = rest.len();
        node.counted += read;
        node.own_tags = own_tags;
        node.own_tags > 0
    }

    /// Opens an element; false if it is too deep or too large.
    pub(super) fn open(&mut self, key: &str, limits: &Limits) -> bool {
        let size = self.size + key.len() + NODE_COST;
        if self.open.len() >= limits.depth.min(DEEPEST) || size > limits.argument && self.is_open() {
            return false;
        }
        self.size = size;
        let last = self.nodes.last().map(|node| node.key).filter(|last| self.keys.get(*last).is_some_and(|k| k == key));
        let key = last.unwrap_or_else(|| {
            self.keys.push(key.to_owned());
            self.keys.len() - 1
        });
        self.open.push(self.nodes.len());
        self.nodes.push(Node { key, ..Node::default() });
        true
    }

    /// Adds text to the innermost element. If there is not enough room, adds nothing and returns the number of bytes
    /// that would fit.
    pub(super) fn push_text(&mut self, text: &str, limits: &Limits) -> Option<usize> {
        if !text.is_empty() && self.size + text.len() > limits.argument {
            return Some(limits.argument.saturating_sub(self.size));
        }
        self.size += text.len();
        let node = self.open.last().and_then(|i| self.nodes.get_mut(*i))?;
        let (from, to) = node.text;
        if from == to && node.more.is_empty() {
            node.text = (self.texts.len(), self.texts.len() + text.len());
            self.texts.push_str(text);
        } else if to == self.texts.len() && node.more.is_empty() {
            node.text.1 += text.len();
            self.texts.push_str(text);
        } else {
            node.more.push_str(text);
        }
        None
    }

    pub(super) fn close(&mut self) {
        let Some(node) = self.open.pop() else { return };
        match self.open.last().and_then(|i| self.nodes.get_mut(*i)) {
            Some(parent) => parent.children.push(node),
            None => self.roots.push(node),
        }
    }

    /// Takes the open leaf's name and text. It stays open, and empty.
    pub(super) fn take_leaf(&mut self) -> (String, String) {
        self.size = 0;
        let Some(node) = self.open.last().and_then(|i| self.nodes.get(*i)) else { return Default::default() };
        let taken = (self.key(node).to_owned(), self.text(node, 0).into_owned());
        if let Some(node) = self.open.last().and_then(|i| self.nodes.get_mut(*i)) {
            (node.text, node.more, node.counted) = ((0, 0), String::new(), 0);
        }
        taken
    }

    /// The stored text of the open top-level element, for a diagnostic.
    pub(super) fn open_text(&self) -> String {
        let mut text = String::new();
        let mut next: Vec<usize> = self.open.iter().rev().copied().collect();
        while let Some(node) = next.pop().and_then(|i| self.nodes.get(i)) {
            let separator = if text.is_empty() { "" } else { "; " };
            text.extend([separator, self.key(node), ": ", &self.text(node, 0)]);
            next.extend(node.children.iter().rev());
        }
        text
    }

    /// Writes the complete elements as members, and removes them. They end at `at` in the input of the step.
    pub(super) fn write(&mut self, object: &mut Object, cx: &mut Cx<'_>, (rules, at): (Rules, usize)) {
        let roots = std::mem::take(&mut self.roots);
        let schema = cx.schema;
        let mut writer = Writer { tree: self, schema, rules, out: cx.out, at };
        for (key, nodes) in writer.groups(&roots) {
            object.key(writer.out, key);
            writer.group(&nodes, schema.and_then(|s| s.parameter(key)));
        }
        if self.open.is_empty() {
            self.nodes.clear();
            self.keys.clear();
            self.texts.clear();
            self.size = 0;
        }
    }
}

/// The text of an element after its first `from` bytes, in one piece.
fn text_of<'t>(texts: &'t str, node: &'t Node, from: usize) -> Cow<'t, str> {
    let (first, end) = node.text;
    let before = texts.get(first.saturating_add(from).min(end)..end).unwrap_or_default();
    let behind = node.more.get(from.saturating_sub(end.saturating_sub(first))..).unwrap_or_default();
    match (before, behind) {
        (before, "") => before.into(),
        ("", behind) => behind.into(),
        (before, behind) => [before, behind].concat().into(),
    }
}

struct Writer<'a, 'o> {
    tree: &'a Tree,
    schema: Option<&'a FunctionSchema>,
    rules: Rules,
    out: &'o mut dyn Out,
    /// The end of the elements in the input of the step.
    at: usize,
}

impl<'a> Writer<'a, '_> {
    fn type_of(&self, id: Option<TypeId>) -> Option<&'a Type> {
        self.schema.zip(id).and_then(|(schema, id)| schema.get(id))
    }

    /// Elements grouped by name, in order of first occurrence.
    fn groups(&self, nodes: &[usize]) -> Vec<(&'a str, Vec<usize>)> {
        let mut groups: Vec<(&'a str, Vec<usize>)> = Vec::new();
        let mut places: HashMap<&'a str, usize> = HashMap::new();
        let tree = self.tree;
        for &at in nodes {
            let Some(node) = tree.nodes.get(at) else { continue };
            let key = tree.key(node);
            let place = *places.entry(key).or_insert(groups.len());
            match groups.get_mut(place) {
                Some((_, nodes)) => nodes.push(at),
                None => groups.push((key, vec![at])),
            }
        }
        groups
    }

    /// The value of one name: several elements are a list.
    fn group(&mut self, nodes: &[usize], id: Option<TypeId>) {
        if let [one] = nodes {
            self.value(*one, id);
            return;
        }
        let of = self.type_of(id);
        let items = of.filter(|t| t.kinds.has(Kinds::ARRAY));
        self.list(nodes, |index| items.map_or(id, |t| t.item(index)));
    }

    fn list(&mut self, nodes: &[usize], item: impl Fn(usize) -> Option<TypeId>) {
        self.out.args("[");
        for (index, node) in nodes.iter().enumerate() {
            if index > 0 {
                self.out.args(", ");
            }
            self.value(*node, item(index));
        }
        self.out.args("]");
    }

    fn value(&mut self, at: usize, id: Option<TypeId>) {
        let tree = self.tree;
        let Some(node) = tree.nodes.get(at) else { return };
        let of = self.type_of(id);
        let kinds = of.map_or(Kinds::default(), |t| t.kinds);
        let text = tree.text(node, 0);
        if node.children.is_empty() {
            self.leaf(&text, of, kinds);
        } else if kinds.has(Kinds::ARRAY) && !kinds.has(Kinds::OBJECT) && text.trim().is_empty() {
            self.list(&node.children, |index| of.and_then(|t| t.item(index)));
        } else {
            self.object(node, of);
        }
    }

    fn leaf(&mut self, text: &str, of: Option<&Type>, kinds: Kinds) {
        if text.trim().is_empty() && !kinds.has(Kinds::STRING) {
            if kinds.has(Kinds::ARRAY) {
                return self.out.args("[]");
            }
            if kinds.has(Kinds::OBJECT) {
                return self.out.args("{}");
            }
        }
        give(&convert(text, Want::Schema(of), self.rules), &mut Placeless(self.out), text, self.at);
    }

    fn object(&mut self, node: &Node, of: Option<&Type>) {
        let mut before = "{";
        for (key, nodes) in self.groups(&node.children) {
            self.key(before, key);
            self.group(&nodes, of.and_then(|t| t.member(key)));
            before = ", ";
        }
        let tree = self.tree;
        let text = tree.text(node, 0);
        let text = text.trim();
        if !text.is_empty() {
            let mut key = String::from("$text");
            while node.children.iter().any(|i| tree.nodes.get(*i).is_some_and(|n| tree.key(n) == key)) {
                key.insert(0, '$');
            }
            self.key(before, &key);
            self.out.args("\"");
            string_piece(text, |json| self.out.args(json));
            self.out.args("\"");
        }
        self.out.args("}");
    }

    fn key(&mut self, before: &str, key: &str) {
        self.out.args(before);
        self.out.args("\"");
        string_piece(key, |json| self.out.args(json));
        self.out.args("\": ");
    }
}

/// The position of a value in the tree is not stored: its JSON is written without one.
struct Placeless<'a>(&'a mut dyn Out);

impl Out for Placeless<'_> {
    fn args(&mut self, json: &str) {
        self.0.args(json);
    }

    fn report(&mut self, kind: DiagnosticKind, at: usize, text: &str, message: &str) {
        self.0.report(kind, at, text, message);
    }

    fn repaired(&mut self, repair: Repair<'_>) {
        self.0.repaired(repair);
    }
}
