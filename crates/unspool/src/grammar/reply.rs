//! Complete replies: text and calls, thoughts, structured answers.

use serde_json::Value;

use crate::error::Error;
use crate::format::marker::{is_markup, is_word};
use crate::format::template::{Part, Slot, Template};
use crate::render::words::{Thinking, Words};
use crate::scan::{Cut, cuts};

use super::calls::{Calls, Unit};
use super::fill;
use super::messages;
use super::node::{Avoid, Node};
use super::params::framed_closer;

/// The requirements for a reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish<'a> {
    /// A call is required.
    pub(super) must_call: bool,
    /// At most one call.
    pub(super) once: bool,
    /// The thought is part of the grammar; and whether it is already open, if known.
    pub(super) thought: Option<Option<bool>>,
    /// The answer, if there is one, is JSON that matches this schema.
    pub(super) answer: Option<&'a Value>,
}

/// Builds the grammar of a reply. `calls`: `None` if the request allows none.
pub(super) fn reply(words: &Words<'_>, calls: Option<&mut Calls<'_>>, wish: Wish<'_>) -> Result<Node, Error> {
    if words.channels().is_some() || words.contents().any(|c| c.header.is_some()) {
        return messages::reply(words, calls, wish);
    }
    let (thought, blank) = match wish.thought {
        Some(open) => thought(words, open.unwrap_or(words.thinking == Thinking::Open))?,
        None => (Node::nothing(), Node::nothing()),
    };
    let answer = wish.answer.map(|schema| Node::sequence([blank.clone(), framed(words, schema)]));
    let rest = match (calls, answer) {
        (None, Some(answer)) => answer,
        (None, None) => Node::Rest { without: Avoid::nothing() },
        (Some(calls), answer) => {
            let unit = calls.unit()?;
            match answer {
                _ if wish.must_call => required(words, calls, &unit, wish.once),
                Some(answer) => Node::choice([required(words, calls, &unit, wish.once), answer]),
                None => Node::sequence([blank, auto(words, calls, unit, wish.once)]),
            }
        }
    };
    Ok(Node::sequence([thought, rest]))
}

/// White space before calls: a model writes some after its thought, whatever the template has there.
const BLANKS: &str = r"[ \t\r\n]{1,4}";

/// Only calls, and markup that never shows: an empty answer frame, and the end of the message.
fn required(words: &Words<'_>, calls: &Calls<'_>, unit: &Unit, once: bool) -> Node {
    let blanks = Node::Regex(BLANKS.to_owned()).optional();
    let ends = &calls.file.grammar.ends;
    let ends = if ends.is_empty() { Node::nothing() } else { Node::choice(ends.iter().map(Node::text)).optional() };
    let units = if unit.single || once {
        unit.node.clone()
    } else if let Some(separator) = unit.between.strip_suffix(unit.lead.as_str()).filter(|_| unit.compact) {
        let lead = Node::text(&*unit.lead).optional();
        let more = Node::sequence([Node::text(separator), lead, unit.node.clone()]).many();
        Node::sequence([unit.node.clone(), more])
    } else {
        Node::List { of: Box::new(unit.node.clone()), between: unit.between.clone() }
    };
    let frame = match empty_frame(words) {
        Some(frame) => Node::sequence([frame, blanks.clone()]).optional(),
        None => Node::nothing(),
    };
    Node::sequence([blanks, frame, units, ends])
}

/// The frame of an empty answer; the prompt may have opened it.
fn empty_frame(words: &Words<'_>) -> Option<Node> {
    let [open, close] = words.frames.first()?.around(Slot::Content);
    Some(Node::sequence([Node::text(open.trim()).optional(), Node::text(close.trim())]))
}

/// Text and calls in any mix.
fn auto(words: &Words<'_>, calls: &Calls<'_>, unit: Unit, once: bool) -> Node {
    let markup = content_markup(words);
    if let Some(keys) = words.bare_json() {
        return bare(keys, calls, unit, once, markup);
    }
    if words.calls_at_start_only() {
        // Calls count only if nothing precedes them, so text begins with something that begins no call.
        let first: String = unit.node.prefix().chars().take(1).map(|c| format!("\\{c}")).collect();
        let text = Node::sequence([Node::Regex(format!("[^\\s{first}]")), Node::Rest { without: markup }]);
        return Node::choice([text.optional(), required(words, calls, &unit, once)]);
    }
    let trigger = trigger(&unit.node, &markup);
    let then = Box::new(unit.node.behind(&trigger));
    let without = markup.but(&[trigger.as_str()]);
    let ends = calls.file.grammar.ends.to_vec();
    Node::Free { rest: without.clone(), without, trigger, then, once, ends }
}

/// JSON that is a call without any marker: text without calls may contain other JSON, text with calls none.
fn bare(keys: &[String], calls: &Calls<'_>, unit: Unit, once: bool, markup: Avoid) -> Node {
    let others = calls.words.calls.iter().skip(1).filter_map(Template::first_literal);
    let markup = markup.and(others);
    // A key may be written with escapes.
    let rest = markup.clone().and(keys.iter().map(|k| format!("\"{k}\""))).and(["\\u006", "\\u004"]);
    let trigger = trigger(&unit.node, &markup);
    Node::Free {
        without: markup.and(["{", "["]),
        rest,
        then: Box::new(unit.node.behind(&trigger)),
        trigger,
        once,
        ends: Vec::new(),
    }
}

/// The literal that begins calls: up to the first cut, and not beyond one that text must not contain anyway.
fn trigger(node: &Node, markup: &Avoid) -> String {
    let prefix = node.prefix();
    let first = cuts(&prefix).into_iter().find_map(|cut| match cut {
        Cut::Literal(literal) => Some(literal),
        Cut::Space(_) => None,
    });
    let first = first.unwrap_or(&prefix);
    markup.literals.iter().find(|l| first.starts_with(l.as_str())).map_or_else(|| first.to_owned(), Clone::clone)
}

/// Markup that text must not contain: thinking markers, openers and closers of calls, dropped markers. Frames are
/// allowed, because they are dropped.
pub(super) fn content_markup(words: &Words<'_>) -> Avoid {
    let content = words.in_content();
    let frames: Vec<String> = words.frames.iter().flat_map(|f| f.around(Slot::Content)).collect();
    let is_frame = |l: &&str| words.channels().is_none() && frames.iter().any(|f| f == l);
    let plain = words.blocks.iter().chain(words.calls).filter_map(Template::first_literal);
    let plain: Vec<&str> = plain.filter(|l| !is_markup(l) && is_word(l)).collect();
    let thoughts = words.thoughts.iter().flat_map(|t| t.around(Slot::Thought));
    let thoughts: Vec<String> =
        thoughts.filter(|_| words.thinking != Thinking::Unknown && !words.thinks_in_content()).collect();
    Avoid { loose: words.loose(), ..Avoid::nothing() }
        .and(content.texts().filter(|l| !is_frame(l)))
        .and(thoughts)
        .and(plain)
}

/// A thought before everything else, and the white space after it. An open one must be closed, any other is optional.
fn thought(words: &Words<'_>, is_open: bool) -> Result<(Node, Node), Error> {
    let none = (Node::nothing(), Node::nothing());
    let (Some(template), false) = (words.thoughts.first(), words.thinking == Thinking::Unknown) else {
        return Ok(none);
    };
    if words.thinks_in_content() {
        return Ok(none);
    }
    let at = template.before(|s| s == Slot::Thought);
    let (_, open) = fill::lead(at);
    let open = Node::sequence(fill::parts(&open, &mut |_| Ok(Node::nothing()))?);
    let (inner, behind) = thought_text(words, template);
    let (behind, blank): (Vec<Node>, Vec<Node>) = behind.into_iter().partition(|n| !is_blank(n));
    let inner = Node::sequence(std::iter::once(inner).chain(behind.into_iter().map(Node::optional)));
    let node =
        if is_open { Node::sequence([open.optional(), inner]) } else { Node::sequence([open, inner]).optional() };
    Ok((node, Node::sequence(blank.into_iter().map(Node::optional))))
}

fn is_blank(node: &Node) -> bool {
    matches!(node, Node::Literal(text) if text.trim().is_empty())
}

/// The text of a thought with its closer, and the template's text after it.
pub(super) fn thought_text(words: &Words<'_>, template: &Template) -> (Node, Vec<Node>) {
    let (_, end, behind) = framed_closer(template.after(|s| s == Slot::Thought));
    let without = Avoid { loose: words.loose(), ..Avoid::nothing() }.and(words.in_thought().texts());
    (Node::Until { without: without.but(&[end.as_str()]), end }, behind)
}

/// A structured answer, with or without its frame.
fn framed(words: &Words<'_>, schema: &Value) -> Node {
    let json = Node::Json { schema: schema.clone(), without: Avoid::nothing() };
    let Some(frame) = words.frames.first() else { return json };
    let nothing = |parts: &[Part]| {
        let parts = fill::parts(parts, &mut |_| Ok(Node::nothing())).unwrap_or_default();
        Node::sequence(parts).optional()
    };
    Node::sequence([nothing(frame.before(|s| s == Slot::Content)), json, nothing(frame.after(|s| s == Slot::Content))])
}
