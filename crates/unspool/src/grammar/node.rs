//! The nodes of a grammar, before it is written for a backend.

use std::collections::HashSet;

use serde_json::Value;

use super::limit::Weight;

/// A node of a grammar: a set of texts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// This text.
    Literal(String),
    /// All in sequence.
    Sequence(Vec<Node>),
    /// One of them.
    Choice(Vec<Node>),
    /// A repetition.
    Repeat { of: Box<Node>, least: usize, most: Option<usize> },
    /// At least one, with a separator.
    List { of: Box<Node>, between: String },
    /// Any text without some literals and without `end`, and then `end`.
    Until { without: Avoid, end: String },
    /// Any text without some literals, up to the end of the output.
    Rest { without: Avoid },
    /// Any text without some literals in which `then` follows every `trigger`. With `once`, that happens at most once
    /// and ends the output. Text after the last of them has none of `rest`; if that is less than `without`, the text
    /// may have more. The text may end with one of `ends`.
    Free { without: Avoid, rest: Avoid, trigger: String, then: Box<Node>, once: bool, ends: Vec<String> },
    /// A regular expression for the entire text. It only uses what all backends read alike: classes, groups,
    /// repetitions, `\n`, `\t`, `\\`.
    Regex(String),
    /// JSON that matches a schema. No string in it contains one of the literals.
    Json { schema: Value, without: Avoid },
    /// Calls with counted positions; and the same with any positions, which is shorter if nothing can be shared.
    Counted(Box<[Node; 2]>),
    /// A rule by its index: a shared or recursive part.
    Rule(usize),
}

/// Literals that a text must not contain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Avoid {
    pub(crate) literals: Vec<String>,
    /// Blanks are allowed inside their tags.
    pub(crate) loose: bool,
    /// Markup is written as entities: `&` only begins `&lt;`, `&gt;` or `&amp;`. Only for JSON.
    pub(crate) entities: bool,
}

impl Avoid {
    /// No literal.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// Adds these literals; omits those that contain another one, because they are redundant.
    #[must_use]
    pub(crate) fn and(mut self, more: impl IntoIterator<Item = impl Into<String>>) -> Self {
        for literal in more {
            let literal: String = literal.into();
            if literal.is_empty() || self.literals.iter().any(|l| literal.contains(l.as_str())) {
                continue;
            }
            self.literals.retain(|l| !l.contains(&literal));
            self.literals.push(literal);
        }
        self
    }

    /// All but these.
    #[must_use]
    pub(crate) fn but(mut self, less: &[&str]) -> Self {
        self.literals.retain(|l| !less.contains(&l.as_str()));
        self
    }

    /// The plain literals for a text before `end`, and how much of `end` is a literal that ends the text: its
    /// beginning, if that must not occur in the text by itself.
    pub(crate) fn plain_before(&self, end: &str) -> (Vec<String>, usize) {
        let all = self.clone().and([end]).plain();
        let begun = all.iter().filter(|l| end.starts_with(l.as_str())).map(String::len).min();
        let literals = all.into_iter().filter(|l| !end.contains(l.as_str())).collect();
        (literals, begun.unwrap_or(end.len()))
    }

    /// Whether any text is allowed.
    pub(crate) fn is_nothing(&self) -> bool {
        self.literals.is_empty() && !self.entities
    }

    /// Equivalent literals for a backend that supports neither blanks in tags nor expressions: for a tag with blanks
    /// inside, the common part of all its spellings.
    pub(crate) fn plain(&self) -> Vec<String> {
        let mut out = Self::nothing();
        for literal in &self.literals {
            out = out.and([literal.as_str()]);
            if self.loose && literal.starts_with('<') {
                out = out.and(loose_spellings(literal));
            }
        }
        out.literals
    }
}

/// A set of beginnings such that every spelling of a tag with blanks inside has one.
fn loose_spellings(tag: &str) -> Vec<String> {
    const BLANKS: [char; 4] = [' ', '\n', '\t', '\r'];
    let word_end = tag.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
    let mut out = vec![tag[..word_end].to_owned()];
    let Some(second) = tag.chars().nth(1) else { return out };
    for blank in BLANKS {
        out.push(format!("<{blank}{second}"));
        out.extend(BLANKS.map(|more| format!("<{blank}{more}")));
        if second == '/' {
            out.push(format!("</{blank}"));
        }
    }
    out
}

impl Node {
    /// A literal.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Literal(text.into())
    }

    /// The empty text.
    pub(crate) fn nothing() -> Self {
        Self::Literal(String::new())
    }

    /// A sequence; inner sequences are flattened, neighbouring literals joined.
    pub(crate) fn sequence(nodes: impl IntoIterator<Item = Node>) -> Self {
        let mut out: Vec<Node> = Vec::new();
        for node in nodes {
            match node {
                Self::Sequence(inner) => inner.into_iter().for_each(|n| push(&mut out, n)),
                node => push(&mut out, node),
            }
        }
        match out.len() {
            0 => Self::nothing(),
            1 => out.remove(0),
            _ => Self::Sequence(out),
        }
    }

    /// A choice; a choice of one is that one.
    pub(crate) fn choice(nodes: impl IntoIterator<Item = Node>) -> Self {
        let mut out: Vec<Node> = Vec::new();
        for node in nodes {
            match node {
                Self::Choice(inner) => out.extend(inner),
                node => out.push(node),
            }
        }
        if out.len() > 1 {
            let mut seen = HashSet::new();
            let is_new: Vec<bool> = out.iter().map(|node| seen.insert(node)).collect();
            let mut is_new = is_new.into_iter();
            out.retain(|_| is_new.next().unwrap_or(false));
        }
        if out.len() == 1 { out.remove(0) } else { Self::Choice(out) }
    }

    /// Makes it optional.
    pub(crate) fn optional(self) -> Self {
        match self {
            Self::Literal(text) if text.is_empty() => Self::Literal(text),
            node => Self::Repeat { of: Box::new(node), least: 0, most: Some(1) },
        }
    }

    /// Any number of it, including none.
    pub(crate) fn many(self) -> Self {
        Self::Repeat { of: Box::new(self), least: 0, most: None }
    }

    /// Whether no text matches; `impossible` says it for rules.
    pub(crate) fn is_impossible(&self, impossible: &impl Fn(usize) -> bool) -> bool {
        match self {
            Self::Choice(nodes) => nodes.iter().all(|n| n.is_impossible(impossible)),
            Self::Sequence(nodes) => nodes.iter().any(|n| n.is_impossible(impossible)),
            Self::List { of, .. } => of.is_impossible(impossible),
            Self::Repeat { of, least, .. } => *least > 0 && of.is_impossible(impossible),
            Self::Counted(both) => both[0].is_impossible(impossible),
            Self::Rule(at) => impossible(*at),
            _ => false,
        }
    }

    /// Its child nodes.
    pub(crate) fn parts(&self) -> &[Node] {
        match self {
            Self::Sequence(all) | Self::Choice(all) => all,
            Self::Counted(both) => &both[..],
            Self::Repeat { of, .. } | Self::List { of, .. } | Self::Free { then: of, .. } => std::slice::from_ref(of),
            _ => &[],
        }
    }

    /// Calls `tell` for every rule it refers to.
    pub(crate) fn each_rule(&self, tell: &mut impl FnMut(usize)) {
        match self {
            Self::Rule(at) => tell(*at),
            node => node.parts().iter().for_each(|part| part.each_rule(tell)),
        }
    }

    /// Bytes of its own literals.
    pub(crate) fn own_bytes(&self) -> usize {
        let literals = |avoid: &Avoid| avoid.literals.iter().map(|l| l.len() + 4).sum::<usize>();
        match self {
            Self::Literal(text) | Self::Regex(text) => text.len(),
            Self::List { between, .. } => between.len(),
            Self::Until { without, end } => literals(without) + end.len(),
            Self::Rest { without } | Self::Json { without, .. } => literals(without),
            Self::Free { without, rest, trigger, .. } => literals(without) + literals(rest) + trigger.len(),
            Self::Sequence(_) | Self::Choice(_) | Self::Repeat { .. } | Self::Counted(_) | Self::Rule(_) => 0,
        }
    }

    /// Its weight, without the schemas in it.
    pub(crate) fn weight(&self) -> Weight {
        let mut weight = Weight { nodes: 1, bytes: self.own_bytes() };
        self.parts().iter().for_each(|part| weight += part.weight());
        weight
    }

    /// The common prefix literal of all its texts.
    pub(crate) fn prefix(&self) -> String {
        match self {
            Self::Literal(text) => text.clone(),
            Self::Sequence(nodes) => nodes.first().map(Self::prefix).unwrap_or_default(),
            Self::List { of, .. } => of.prefix(),
            Self::Choice(nodes) => {
                let mut prefixes = nodes.iter().map(Self::prefix);
                let first = prefixes.next().unwrap_or_default();
                prefixes.fold(first, |a, b| common(&a, &b).to_owned())
            }
            _ => String::new(),
        }
    }

    /// The rest after a common prefix literal.
    pub(crate) fn behind(self, prefix: &str) -> Self {
        if prefix.is_empty() {
            return self;
        }
        match self {
            Self::Literal(text) => Self::text(text.strip_prefix(prefix).unwrap_or(&text)),
            Self::Sequence(mut nodes) => {
                let first = nodes.remove(0).behind(prefix);
                Self::sequence(std::iter::once(first).chain(nodes))
            }
            Self::Choice(nodes) => Self::choice(nodes.into_iter().map(|n| n.behind(prefix))),
            Self::List { of, between } => {
                let more = Self::sequence([Self::text(between), (*of).clone()]).many();
                Self::sequence([of.behind(prefix), more])
            }
            node => node,
        }
    }
}

fn push(out: &mut Vec<Node>, node: Node) {
    // An optional text before a text is part of it, because lexers need an unambiguous reading.
    if let (Node::Until { without, .. } | Node::Rest { without } | Node::Free { without, .. }, Some(before)) =
        (&node, out.last())
        && let Node::Repeat { of, least: 0, most: Some(1) } = before
        && let Node::Literal(text) = &**of
        && !without.literals.iter().any(|l| text.contains(l.as_str()))
    {
        out.pop();
    }
    match (out.last_mut(), node) {
        (_, Node::Literal(text)) if text.is_empty() => {}
        (Some(Node::Literal(last)), Node::Literal(text)) => last.push_str(&text),
        (_, node) => out.push(node),
    }
}

/// The longest common beginning.
fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let end = one.char_indices().zip(other.chars()).find(|((_, a), b)| a != b).map(|((i, _), _)| i);
    let shorter = one.len().min(other.len());
    let end = end.unwrap_or(shorter);
    &one[..(0..=end).rev().find(|i| one.is_char_boundary(*i)).unwrap_or(0)]
}
