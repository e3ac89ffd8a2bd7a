//! Random texts of a grammar, for a backend without a model.

use serde_json::{Value, json};

use crate::sample::Sampler;
use crate::sample::pattern::fitting;

use super::Grammar;
use super::node::{Avoid, Node};

/// Maximum nesting of rules; beyond it the shortest choice is taken.
const DEEPEST: usize = 4;

/// A text of a grammar, with plausible words and values.
pub(super) fn text(grammar: &Grammar, sampler: &mut Sampler) -> String {
    let mut writer = Writer { rules: &grammar.rules, sampler, out: String::new(), depth: 0, thinks: grammar.thinks };
    writer.node(&grammar.root);
    writer.out
}

struct Writer<'a> {
    rules: &'a [Node],
    sampler: &'a mut Sampler,
    out: String,
    depth: usize,
    /// The next text is a thought.
    thinks: bool,
}

impl Writer<'_> {
    fn node(&mut self, node: &Node) {
        match node {
            Node::Literal(text) => self.out.push_str(text),
            Node::Sequence(all) => all.iter().for_each(|n| self.node(n)),
            Node::Choice(all) => self.choice(all),
            Node::Repeat { of, least, most } => {
                let more = if self.depth > DEEPEST { 0 } else { self.sampler.below(2) };
                let count = (least + more).min(most.unwrap_or(usize::MAX));
                (0..count).for_each(|_| self.node(of));
            }
            Node::List { of, between } => {
                let more = if self.depth > DEEPEST { 0 } else { self.sampler.below(2) };
                self.node(of);
                for _ in 0..more {
                    self.out.push_str(between);
                    self.node(of);
                }
            }
            Node::Until { without, end } => {
                self.words(without, end);
                self.out.push_str(end);
            }
            Node::Rest { without } => self.words(without, ""),
            Node::Free { without, trigger, then, .. } => {
                self.words(without, trigger);
                if self.sampler.below(2) == 0 {
                    self.out.push_str(trigger);
                    self.node(then);
                }
            }
            Node::Regex(pattern) => self.pattern(pattern),
            Node::Json { schema, without } => self.json(schema, without),
            Node::Counted(both) => self.node(&both[0]),
            Node::Rule(at) => {
                self.depth += 1;
                if let Some(rule) = self.rules.get(*at) {
                    self.node(rule);
                }
                self.depth -= 1;
            }
        }
    }

    /// One of several; at depth one that ends.
    fn choice(&mut self, all: &[Node]) {
        let flat: Vec<&Node> = all.iter().filter(|n| self.depth < DEEPEST || !deepens(n)).collect();
        let all = if flat.is_empty() { all.iter().collect() } else { flat };
        if let Some(node) = all.get(self.sampler.below(all.len())) {
            self.node(node);
        }
    }

    fn words(&mut self, without: &Avoid, end: &str) {
        let text = if std::mem::take(&mut self.thinks) { self.sampler.thought() } else { self.word() };
        // If such a word is markup, others are used.
        let is_markup = |text: &str| without.literals.iter().any(|l| text.contains(l.as_str()));
        let clean = !is_markup(&text) && (end.is_empty() || !text.contains(end));
        self.out.push_str(if clean { &text } else { "quay" });
    }

    fn word(&mut self) -> String {
        match self.sampler.value(&json!({"type": "string"})) {
            Value::String(text) => text,
            _ => String::new(),
        }
    }

    /// A text that matches an expression, about as short as possible.
    fn pattern(&mut self, pattern: &str) {
        if let Ok(hir) = regex_syntax::Parser::new().parse(pattern) {
            let sampler = &mut *self.sampler;
            fitting(&hir, &mut |n| sampler.below(n), &mut self.out);
        }
    }

    fn json(&mut self, schema: &Value, without: &Avoid) {
        for _ in 0..8 {
            let value = self.sampler.value(schema);
            let text = crate::sample::json_text(&value);
            if !without.literals.iter().any(|l| text.contains(l.as_str())) {
                self.out.push_str(&text);
                return;
            }
        }
    }
}

/// Whether a node contains rules.
fn deepens(node: &Node) -> bool {
    match node {
        Node::Rule(_) => true,
        Node::Sequence(all) | Node::Choice(all) => all.iter().any(deepens),
        Node::Repeat { of, least, .. } => *least > 0 && deepens(of),
        Node::List { of, .. } => deepens(of),
        Node::Counted(both) => deepens(&both[0]),
        _ => false,
    }
}
