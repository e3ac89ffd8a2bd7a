//! A part of a grammar as EBNF, which a structural tag can contain. There rules have names, so shared parts occur once,
//! and values may be recursive.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::node::Node;
use super::number::Bounds;

/// Whether a node itself, ignoring those below it, can be written.
pub(super) fn can_say(node: &Node) -> bool {
    match node {
        Node::Json { schema, without } => without.is_nothing() && is_number(schema),
        _ => true,
    }
}

fn is_number(schema: &Value) -> bool {
    let bounds = ["type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    let kind = schema.get("type").and_then(Value::as_str);
    matches!(kind, Some("integer" | "number"))
        && schema.as_object().is_some_and(|map| map.keys().all(|key| bounds.contains(&key.as_str())))
}

/// The grammar of a node with these rules.
pub(super) fn write(root: &Node, rules: &[Node]) -> String {
    let mut writer = Writer {
        texts: HashMap::new(),
        lines: Vec::new(),
        names: HashMap::new(),
        places: vec![None; rules.len()],
        said: 0,
        open: Vec::new(),
    };
    let root = writer.node(root);
    while let Some(at) = writer.open.pop() {
        let Some(rule) = rules.get(at) else { continue };
        let name = writer.place(at);
        let body = writer.node(rule);
        writer.lines.push(format!("{name} ::= {body}"));
    }
    let mut out = format!("root ::= {root}\n");
    for line in &writer.lines {
        let _ = writeln!(out, "{line}");
    }
    out
}

struct Writer<'a> {
    /// The results for texts up to an end, because the same text occurs in many places.
    texts: HashMap<&'a Node, String>,
    lines: Vec<String>,
    /// Names by definition.
    names: HashMap<String, String>,
    /// Numbers of rules, in order of first use.
    places: Vec<Option<usize>>,
    said: usize,
    /// Rules that are used and not written yet.
    open: Vec<usize>,
}

/// For a larger step, multiples are any numbers.
const MOST_REMAINDERS: i128 = 1000;

impl<'a> Writer<'a> {
    fn named(&mut self, body: String) -> String {
        if let Some(name) = self.names.get(&body) {
            return name.clone();
        }
        let name = format!("p{}", self.names.len());
        self.lines.push(format!("{name} ::= {body}"));
        self.names.insert(body, name.clone());
        name
    }

    fn place(&self, at: usize) -> String {
        format!("r{}", self.places.get(at).copied().flatten().unwrap_or(at))
    }

    fn rule(&mut self, at: usize) -> String {
        if self.places.get(at).is_some_and(Option::is_none) {
            self.places[at] = Some(self.said);
            self.said += 1;
            self.open.push(at);
        }
        self.place(at)
    }

    fn node(&mut self, node: &'a Node) -> String {
        match node {
            Node::Literal(text) => quoted(text),
            Node::Sequence(all) => all.iter().map(|n| self.node(n)).collect::<Vec<_>>().join(" "),
            Node::Choice(all) => {
                let all: Vec<String> = all.iter().map(|n| self.node(n)).collect();
                format!("({})", all.join(" | "))
            }
            Node::Repeat { of, least, most } => {
                let of = self.one(of);
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
                let of = self.named(of);
                if between.is_empty() { format!("{of}+") } else { format!("{of} ({} {of})*", quoted(between)) }
            }
            Node::Until { without, end } => {
                if let Some(said) = self.texts.get(node) {
                    return said.clone();
                }
                let (excludes, begun) = without.plain_before(end);
                let text = self.text(&excludes, Some(&end[..begun]), None);
                let said = format!("{text} {}", quoted(end));
                self.texts.insert(node, said.clone());
                said
            }
            Node::Rest { without } => self.text(&without.plain(), None, None),
            Node::Free { without, rest, trigger, then, once, ends } => {
                let (excludes, begun) = without.plain_before(trigger);
                let then = format!("{} {}", quoted(&trigger[begun..]), self.node(then));
                let then = self.named(then);
                let tags = self.text(&excludes, None, Some((&trigger[..begun], &then, !once)));
                let text = if rest == without { None } else { Some(self.text(&rest.plain(), None, None)) };
                let all = match (text, once) {
                    (None, _) => tags,
                    (Some(text), true) => format!("({text} | {tags})"),
                    (Some(text), false) => format!("{tags} {text}"),
                };
                let ends: Vec<String> = ends.iter().map(|end| quoted(end)).collect();
                if ends.is_empty() { all } else { format!("{all} ({})?", ends.join(" | ")) }
            }
            Node::Regex(pattern) => self.named(format!("Regex({})", quoted(pattern))),
            Node::Json { schema, .. } => self.number(schema),
            Node::Counted(both) => self.node(&both[0]),
            Node::Rule(at) => self.rule(*at),
        }
    }

    /// A node to which a repetition operator can be attached.
    fn one(&mut self, node: &'a Node) -> String {
        let said = self.node(node);
        match node {
            Node::Choice(_) | Node::Rule(_) | Node::Regex(_) | Node::Literal(_) => said,
            _ => format!("({said})"),
        }
    }

    /// Any text without some literals, up to an end or with a triggered part.
    fn text(&mut self, excludes: &[String], end: Option<&str>, trigger: Option<(&str, &str, bool)>) -> String {
        let excludes: Vec<String> = excludes.iter().map(String::as_str).chain(end).map(quoted).collect();
        let mut all = Vec::new();
        if let Some((trigger, rule, again)) = trigger {
            all.push(format!("({}, {rule})", quoted(trigger)));
            all.push(format!("loop_after_dispatch={again}"));
        }
        all.push(format!("excludes=({})", excludes.join(", ")));
        self.named(format!("TagDispatch({})", all.join(", ")))
    }

    fn number(&mut self, schema: &Value) -> String {
        let bounds = Bounds { schema };
        let is_whole = schema.get("type").is_some_and(|kind| kind == "integer");
        if let Some(step) = bounds.multiple_of().filter(|step| is_whole && bounds.is_free() && *step <= MOST_REMAINDERS)
        {
            return self.multiple(step, bounds.has_negative());
        }
        let expression = if is_whole { bounds.integer() } else { bounds.number_expression() };
        // If no number matches, no text does: an empty class.
        self.named(expression.map_or_else(|| "[^\\x00-\\U0010FFFF]".to_owned(), |e| format!("Regex({})", quoted(&e))))
    }

    /// Integers that are multiples: one rule per remainder.
    fn multiple(&mut self, step: i128, negative: bool) -> String {
        let name = |rest: i128| format!("m{step}.{rest}");
        let root = format!("m{step}{}", if negative { "n" } else { "p" });
        let line = format!("{root} ::= ");
        if self.lines.iter().any(|known| known.starts_with(&line)) {
            return root;
        }
        let digits = |from: i128, rest: i128| {
            (from..10).map(move |digit| format!("\"{digit}\" {}", name((rest * 10 + digit) % step)))
        };
        let first: Vec<String> = digits(1, 0).collect();
        let sign = if negative { "\"-\"? " } else { "" };
        if !self.lines.iter().any(|known| known.starts_with(&format!("{} ::= ", name(0)))) {
            for rest in 0..step {
                let end = (rest == 0).then(|| "\"\"".to_owned());
                let all: Vec<String> = end.into_iter().chain(digits(0, rest)).collect();
                self.lines.push(format!("{} ::= {}", name(rest), all.join(" | ")));
            }
        }
        self.lines.push(format!("{line}\"0\" | {sign}({})", first.join(" | ")));
        root
    }
}

/// A literal.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
