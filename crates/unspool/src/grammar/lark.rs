//! A grammar as text for llguidance: its variant of Lark.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Grammar;
use super::avoid::{escaped, escaped_text};
use super::node::{Avoid, Node};
use super::schema;

/// The text of a grammar.
pub(super) fn write(grammar: &Grammar) -> String {
    let mut writer = Writer::default();
    let root = writer.node(&grammar.root);
    for (i, rule) in grammar.rules.iter().enumerate() {
        let body = writer.node(rule);
        writer.lines.push(format!("value_{i}: {body}"));
    }
    let mut out = format!("%llguidance {{}}\n\nstart: {root}\n");
    for line in &writer.lines {
        let _ = writeln!(out, "{line}");
    }
    out
}

#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    /// Names of rules and terminals by definition.
    names: HashMap<String, String>,
}

/// Any valid UTF-8 text.
const ANY: &str = "/(?s:.*)/";

impl Writer {
    fn named(&mut self, kind: &str, body: String) -> String {
        if let Some(name) = self.names.get(&body) {
            return name.clone();
        }
        let name = format!("{kind}_{}", self.names.len());
        self.lines.push(format!("{name}: {body}"));
        self.names.insert(body, name.clone());
        name
    }

    fn node(&mut self, node: &Node) -> String {
        match node {
            Node::Literal(text) => Value::from(text.as_str()).to_string(),
            Node::Sequence(all) => all.iter().map(|n| self.node(n)).collect::<Vec<_>>().join(" "),
            Node::Choice(all) => {
                let all: Vec<String> = all.iter().map(|n| self.node(n)).collect();
                self.named("choice", all.join(" | "))
            }
            Node::Repeat { of, least, most } => {
                let of = self.node(of);
                let of = self.named("part", of);
                match (least, most) {
                    (0, Some(1)) => format!("{of}?"),
                    (0, None) => format!("{of}*"),
                    (1, None) => format!("{of}+"),
                    (least, Some(most)) => format!("{of}{{{least},{most}}}"),
                    (least, None) => format!("{of}{{{least},}}"),
                }
            }
            Node::List { of, between } => {
                let of = self.node(of);
                let of = self.named("item", of);
                if between.is_empty() {
                    format!("{of}+")
                } else {
                    format!("{of} ({} {of})*", Value::from(between.as_str()))
                }
            }
            Node::Until { without, end } => self.until(without, end),
            Node::Rest { without } => self.named("TEXT", without_literals(&expressions(without))),
            Node::Free { without, rest, trigger, then, once, ends } => {
                let call = self.triggered(without, trigger, then);
                let rest = self.rest(rest, trigger, ends);
                let ending = self.ending(ends);
                if *once { self.named("free", format!("{rest} | {call} {ending}")) } else { format!("{call}* {rest}") }
            }
            Node::Regex(pattern) => self.named("PATTERN", format!("/{pattern}/")),
            Node::Json { schema, without } => {
                let mut schema = schema::guarded(schema, without, true);
                if let Value::Object(map) = &mut schema {
                    map.insert("x-guidance".to_owned(), json!({"coerce_one_of": true}));
                }
                self.named("json", format!("%json {schema}"))
            }
            Node::Counted(both) => self.node(&both[0]),
            Node::Rule(at) => format!("value_{at}"),
        }
    }

    /// Text and the following literal are one terminal: otherwise a lexer would assign the literal's beginning to the
    /// text.
    fn until(&mut self, without: &Avoid, end: &str) -> String {
        let mut all = expressions(without);
        all.extend(expressions(&Avoid { literals: vec![end.to_owned()], ..without.clone() }));
        self.named("UNTIL", format!("({}) {}", without_literals(&all), Value::from(end)))
    }

    /// Text up to a trigger, and its continuation.
    fn triggered(&mut self, without: &Avoid, trigger: &str, then: &Node) -> String {
        let until = self.until(without, trigger);
        let then = self.node(then);
        self.named("triggered", format!("{until} {then}"))
    }

    /// One of some literals, or none.
    fn ending(&mut self, ends: &[String]) -> String {
        let all: Vec<String> = ends.iter().map(|end| Value::from(end.as_str()).to_string()).collect();
        if all.is_empty() { String::new() } else { format!("{}?", self.named("ending", all.join(" | "))) }
    }

    /// Text to the end of the output, or to a literal that ends it.
    fn rest(&mut self, rest: &Avoid, trigger: &str, ends: &[String]) -> String {
        // Once the trigger is complete, the text must not continue without it.
        let over = rest.literals.iter().any(|l| trigger.contains(l.as_str()));
        let rest = if over { rest.clone() } else { rest.clone().and([trigger]) };
        let mut all = vec![self.named("TEXT", without_literals(&expressions(&rest)))];
        all.extend(ends.iter().map(|end| self.until(&rest.clone().but(&[end.as_str()]), end)));
        self.named("rest", all.join(" | "))
    }
}

/// A terminal for any text that matches none of these expressions.
fn without_literals(expressions: &[String]) -> String {
    if expressions.is_empty() {
        return ANY.to_owned();
    }
    format!("{ANY} & ~/(?s:.*)(?:{})(?s:.*)/", expressions.join("|"))
}

/// The literals as expressions, for a tag with blanks inside in all its spellings.
fn expressions(avoid: &Avoid) -> Vec<String> {
    let of = |literal: &String| {
        if avoid.loose && literal.contains(is_punctuation) { loose(literal) } else { spaced(literal) }
    };
    avoid.literals.iter().map(of).collect()
}

/// A literal with any run of white space in place of its own, as the parser reads it.
fn spaced(literal: &str) -> String {
    let words: Vec<String> = literal.split_whitespace().map(escaped_text).collect();
    if words.is_empty() { escaped_text(literal) } else { words.join(r"[ \t\r\n]*") }
}

fn is_punctuation(c: char) -> bool {
    matches!(c, '<' | '>' | '/' | '=')
}

fn loose(literal: &str) -> String {
    let mut out = String::new();
    let mut last = ' ';
    for (i, c) in literal.chars().enumerate() {
        if i > 0 && (is_punctuation(c) || is_punctuation(last)) {
            out.push_str(r"[ \t\r\n]*");
        }
        out.push_str(&escaped(c));
        last = c;
    }
    out
}
