//! Replies that are messages, each with a header: thoughts, answers and calls in sequence.

use std::borrow::Cow;

use crate::error::Error;
use crate::format::file::{Channels, RouteAs};
use crate::format::marker::literal_text;
use crate::format::template::{Part, Slot, Template};
use crate::render::words::Words;
use crate::scan::{Cut, cuts};

use super::calls::{Calls, is_message};
use super::fill;
use super::node::{Avoid, Node};
use super::params::framed_closer;
use super::reply::{Wish, content_markup, thought_text};

/// Builds the grammar of a reply: messages separated by the start of the next one, so that each kind of message occurs
/// once.
pub(super) fn reply(words: &Words<'_>, calls: Option<&mut Calls<'_>>, wish: Wish<'_>) -> Result<Node, Error> {
    let messages = Messages { words, channels: words.channels() };
    let start = Node::text(messages.start());
    let before = |piece: &Piece| Node::sequence([piece.closed(), start.clone()]);
    let call = calls.map(|calls| messages.calls(calls)).transpose()?;
    let answers = messages.answer(wish);
    let thought = messages.thought();
    let mut last = Vec::new();
    if let Some(call) = &call {
        let said = (!wish.must_call && wish.answer.is_none() && !answers.is_empty())
            .then(|| Node::choice(answers.iter().map(before)).optional());
        last.push(Node::sequence(said.into_iter().chain([messages.all_calls(call, &start, wish.once)])));
    }
    if !wish.must_call || call.is_none() {
        last.extend(answers.iter().map(Piece::ended));
    }
    let demands = wish.must_call || wish.answer.is_some();
    if !demands {
        last.push(thought.closed());
    }
    let rest = Node::sequence([before(&thought).many(), Node::choice(last)]);
    let (Some(Some(true)), Some(template)) = (wish.thought, words.thoughts.first()) else { return Ok(rest) };
    // The prompt has the thought's header, and possibly more of it.
    let (text, closer) = thought_text(words, template);
    let more = Node::sequence([start, rest]);
    let more = if demands { more } else { more.optional() };
    Ok(Node::sequence(std::iter::once(text).chain(closer).chain([more])))
}

/// A message without its start: everything but its last literal, and that literal.
#[derive(Debug, Clone)]
struct Piece {
    node: Node,
    /// A message that may end with the output, as text up to there.
    open: Option<Node>,
    end: String,
}

impl Piece {
    /// With its end, because something follows.
    fn closed(&self) -> Node {
        Node::sequence([self.node.clone(), Node::text(&*self.end)])
    }

    /// At the end of the output, where the marker is often the token that stops the model.
    fn ended(&self) -> Node {
        match &self.open {
            Some(open) => Node::choice([self.node.clone(), open.clone()]),
            None => Node::sequence([self.node.clone(), Node::text(&*self.end).optional()]),
        }
    }
}

struct Messages<'a> {
    words: &'a Words<'a>,
    channels: Option<&'a Channels>,
}

impl<'a> Messages<'a> {
    /// A message without its start, which the prompt contains for the first one.
    fn piece(&self, node: Node, open: Option<Node>, end: String) -> Piece {
        let start = self.start();
        let strip = |node: Node| if node.prefix().starts_with(&start) { node.behind(&start) } else { node };
        Piece { node: strip(node), open: open.map(strip), end }
    }

    /// One call, or several separated by the start of the next one.
    fn all_calls(&self, call: &Piece, start: &Node, once: bool) -> Node {
        let end = Node::text(&*call.end).optional();
        if once {
            return Node::sequence([call.node.clone(), end]);
        }
        let between = Node::sequence([Node::text(&*call.end), start.clone()]).prefix();
        Node::sequence([Node::List { of: Box::new(call.node.clone()), between }, end])
    }

    /// The text before each message but the first: its start and role, or the header's marker.
    fn start(&self) -> String {
        let Some(channels) = self.channels else {
            return self.words.contents().find_map(|c| c.header.clone()).unwrap_or_default();
        };
        let all = self.words.frames.first().map(|f| literal_text(f.before(|s| s == Slot::Content)));
        let first = all.unwrap_or_default();
        let Some(rest) = first.strip_prefix(channels.start.as_str()) else { return channels.start.clone() };
        let role = rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        first[..channels.start.len() + role].to_owned()
    }

    fn thought(&self) -> Piece {
        let Some(template) = self.words.thoughts.first() else {
            return self.piece(Node::Choice(Vec::new()), None, String::new());
        };
        let open = parts(template.before(|s| s == Slot::Thought));
        let (text, behind) = thought_text(self.words, template);
        self.piece(Node::sequence([open, text].into_iter().chain(behind)), None, String::new())
    }

    /// The possible messages of an answer.
    fn answer(&self, wish: Wish<'_>) -> Vec<Piece> {
        let mut all = Vec::new();
        for frame in self.words.frames.iter().take(1) {
            all.push(self.text(
                &parts(frame.before(|s| s == Slot::Content)),
                frame.after(|s| s == Slot::Content),
                wish,
            ));
        }
        let Some((channels, marker)) = self.channels.and_then(|c| Some((c, c.channel.as_ref()?))) else { return all };
        if wish.answer.is_some() {
            return all;
        }
        let said = channels.route.iter().filter(|r| r.r#as == RouteAs::Content && r.to.is_some());
        for name in said.filter_map(|r| r.channel.as_ref()) {
            let header = Node::text(format!("{marker}{name}{}", channels.body));
            let end: Vec<Part> = channels.end.first().map(|e| Part::Text(e.clone())).into_iter().collect();
            all.push(self.text(&header, &end, wish));
        }
        all
    }

    fn text(&self, header: &Node, behind: &[Part], wish: Wish<'_>) -> Piece {
        let (frame, end, _) = framed_closer(behind);
        if let Some(schema) = wish.answer {
            let json = Node::Json { schema: schema.clone(), without: Avoid::nothing() };
            return self.piece(Node::sequence([header.clone(), json, Node::text(frame)]), None, end);
        }
        let without = content_markup(self.words).but(&[end.as_str()]);
        let text = Node::Until { without: without.clone(), end: end.clone() };
        let open = Node::Rest { without: without.and([end]) };
        let open = Node::sequence([header.clone(), open]);
        self.piece(Node::sequence([header.clone(), text]), Some(open), String::new())
    }

    fn calls(&self, calls: &mut Calls<'_>) -> Result<Piece, Error> {
        let call = self.words.calls.first().ok_or_else(|| Error::grammar("the format shows no call"))?;
        let written = match self.words.blocks.first() {
            Some(block) => &Template { parts: spliced(block, call) },
            None => call,
        };
        let mut end = end_of(&written.parts);
        let node = if self.channels.is_some() {
            let mut all = Vec::new();
            for function in calls.functions {
                let message = self.message(written, &function.name);
                end = end_of(&message);
                // Further spellings of the header precede the same arguments.
                let further = calls.file.syntax.further_calls.iter().map(|further| &further.parts[..]);
                let spellings: Vec<&[Part]> = std::iter::once(&message[..]).chain(further).collect();
                let mut nodes = Vec::new();
                for parts in spellings {
                    nodes.push(calls.call_parts(parts, Some(function))?);
                }
                all.push(factored(nodes));
            }
            Node::choice(all)
        } else {
            calls.call_parts(&written.parts, None)?
        };
        Ok(self.piece(if end.is_empty() { node } else { cut(node, &end) }, None, end))
    }

    /// A template with the message around it, if it shows none: that of an answer, addressed to the function.
    fn message<'t>(&self, template: &'t Template, name: &str) -> Cow<'t, [Part]> {
        let (Some(channels), Some(frame)) = (self.channels, self.words.frames.first()) else {
            return Cow::Borrowed(&template.parts);
        };
        crate::render::addressed(channels, frame, template, name)
            .filter(|_| !is_message(template, &channels.start))
            .map_or(Cow::Borrowed(&template.parts[..]), Cow::Owned)
    }
}

/// A block with a call in place of its calls.
fn spliced(block: &Template, call: &Template) -> Vec<Part> {
    let mut out = Vec::new();
    for part in &block.parts {
        match part {
            Part::Slot(Slot::Calls) => out.extend(call.parts.iter().cloned()),
            part => out.push(part.clone()),
        }
    }
    out
}

/// One of several sequences; if all are equal after a first literal, the rest occurs once.
fn factored(nodes: Vec<Node>) -> Node {
    let split = |node: &Node| match node {
        Node::Sequence(all) => match all.split_first() {
            Some((first @ Node::Literal(_), rest)) => Some((first.clone(), rest.to_vec())),
            _ => None,
        },
        _ => None,
    };
    let Some(all) = nodes.iter().map(split).collect::<Option<Vec<_>>>() else { return Node::choice(nodes) };
    let (firsts, mut rests): (Vec<Node>, Vec<Vec<Node>>) = all.into_iter().unzip();
    let Some(rest) = rests.pop().filter(|rest| rests.iter().all(|other| other == rest)) else {
        return Node::choice(nodes);
    };
    Node::sequence(std::iter::once(Node::choice(firsts)).chain(rest))
}

/// The literal that ends a message's text, with the white space after it.
fn end_of(parts: &[Part]) -> String {
    let Some(Part::Text(text)) = parts.last() else { return String::new() };
    let marker = cuts(text).into_iter().rev().find_map(|cut| match cut {
        Cut::Literal(literal) => Some(literal.len()),
        Cut::Space(_) => None,
    });
    text[text.trim_end().len() - marker.unwrap_or(0)..].to_owned()
}

fn cut(node: Node, end: &str) -> Node {
    match node {
        Node::Literal(text) => Node::text(text.strip_suffix(end).unwrap_or(&text)),
        Node::Sequence(mut all) => {
            let last = all.pop().map(|n| cut(n, end));
            Node::sequence(all.into_iter().chain(last))
        }
        Node::Choice(all) => Node::choice(all.into_iter().map(|n| cut(n, end))),
        node => node,
    }
}

fn parts(all: &[Part]) -> Node {
    Node::sequence(fill::parts(all, &mut |_| Ok(Node::nothing())).unwrap_or_default())
}
