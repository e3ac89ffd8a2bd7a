//! Replies in the form of a checkpoint's own template: its literals around names and values.

use serde_json::{Value, json};

use crate::error::Error;
use crate::format::file::Escape;
use crate::json::write::string;
use crate::response_template::{CallContent, CallRegion, Outline, Piece, Region, TemplateSpec};

use super::calls::Function;
use super::node::{Avoid, Node};
use super::params::{ANY_KEY, arranged, members};
use super::reply::Wish;
use super::rules::Rules;
use super::schema::{self, ANY, Place, View};
use super::text;

/// Builds the grammar of a reply.
pub(super) fn reply<'a>(
    spec: &TemplateSpec,
    functions: Option<&'a [Function]>,
    wish: Wish<'_>,
    rules: &mut Rules<'a>,
) -> Result<Node, Error> {
    let outline = spec.outline().map_err(|why| Error {
        hint: Some("leave the demand out, or serve this model with a parser of its own format".to_owned()),
        ..Error::grammar(&format!("the checkpoint's `response_template` has no grammar: {why}"))
    })?;
    let reply = Reply { outline: &outline, wish };
    let calls = match (functions, &outline.calls) {
        (Some(functions), Some(region)) => Some(reply.calls(region, functions, rules)?),
        (Some(_), None) => return Err(Error::grammar("the checkpoint's `response_template` has no calls")),
        (None, _) => None,
    };
    let rest = match &calls {
        Some(calls) if wish.must_call => reply.only(calls),
        Some(calls) if wish.answer.is_none() => reply.auto(calls),
        Some(calls) => Node::choice([reply.only(calls), reply.answer()]),
        None => reply.answer(),
    };
    Ok(match wish.thought {
        Some(open) => Node::sequence([reply.thought(open == Some(true)), rest]),
        None => rest,
    })
}

struct Reply<'a> {
    outline: &'a Outline,
    wish: Wish<'a>,
}

/// A call of one of the functions, without the end of its region.
struct Call {
    node: Node,
    close: Vec<String>,
}

impl Call {
    fn whole(&self) -> Node {
        Node::sequence([self.node.clone(), one_of(&self.close)])
    }
}

impl Reply<'_> {
    /// The openers of top-level regions.
    fn openers(&self) -> Avoid {
        let thought = self.outline.thought.iter().flat_map(|r| r.open.iter());
        let answer = self.outline.answer.iter().flat_map(|r| r.open.iter());
        let call = self.outline.calls.iter().filter_map(|r| match r.open.first() {
            Some(Piece::Text(text)) => Some(text),
            _ => None,
        });
        Avoid::nothing().and(thought.chain(answer).chain(call))
    }

    /// Only calls.
    fn only(&self, call: &Call) -> Node {
        let whole = call.whole();
        if self.wish.once { whole } else { Node::List { of: Box::new(whole), between: String::new() } }
    }

    fn auto(&self, call: &Call) -> Node {
        if self.outline.answer.is_some() {
            // An answer has its own region and ends the reply.
            let before = if self.wish.once { Node::nothing() } else { call.whole().many() };
            return Node::choice([self.only(call), Node::sequence([before, self.answer()])]);
        }
        let trigger = call.node.prefix();
        let trigger = trigger.trim_end_matches('{').to_owned();
        let trigger = match self.outline.calls.as_ref().and_then(|r| r.open.first()) {
            Some(Piece::Text(text)) => text.clone(),
            _ => trigger,
        };
        let without = self.openers().but(&[trigger.as_str()]);
        let then = Box::new(call.whole().behind(&trigger));
        Node::Free { rest: without.clone(), without, trigger, then, once: self.wish.once, ends: Vec::new() }
    }

    fn answer(&self) -> Node {
        let region = self.outline.answer.as_ref();
        let (open, close) = region.map_or((&[][..], &[][..]), |r| (&r.open[..], &r.close[..]));
        let open = open.first().map_or_else(Node::nothing, Node::text);
        let body = match self.wish.answer {
            Some(schema) => {
                let json = Node::Json { schema: schema.clone(), without: Avoid::nothing().and(close) };
                let end = if close.is_empty() { Node::nothing() } else { one_of(close).optional() };
                Node::sequence([json, end])
            }
            None => {
                let without = if region.is_some() { Avoid::nothing() } else { self.openers() };
                ended(&without, close, true)
            }
        };
        Node::sequence([open, body])
    }

    /// The thought. An open one must be closed, any other is optional.
    fn thought(&self, is_open: bool) -> Node {
        let Some(Region { open, close }) = &self.outline.thought else { return Node::nothing() };
        let rest = ended(&Avoid::nothing(), close, false);
        if is_open {
            return rest;
        }
        let open = open.first().map_or_else(Node::nothing, Node::text);
        Node::sequence([open, rest]).optional()
    }

    fn calls<'a>(&self, region: &CallRegion, functions: &'a [Function], rules: &mut Rules<'a>) -> Result<Call, Error> {
        let mut writer = Writer { region, rules };
        let only = if let CallContent::Only(name) = &region.content { Some(name) } else { None };
        let callable = functions.iter().filter(|function| only.is_none_or(|only| *only == function.name));
        let all = callable.map(|function| writer.call(function)).collect::<Result<Vec<_>, _>>()?;
        if let (true, Some(only)) = (all.is_empty(), only) {
            let message = format!("the checkpoint's `response_template` calls `{only}` and no other function");
            return Err(Error::grammar(&message).hint("leave the demand out, or give the request this tool"));
        }
        Ok(Call { node: Node::choice(all), close: region.close.clone() })
    }
}

/// Text up to one of some ends, or to the end of the output.
fn ended(without: &Avoid, close: &[String], open: bool) -> Node {
    let until = close
        .iter()
        .map(|end| Node::Until { without: without.clone().and(close).but(&[end.as_str()]), end: end.clone() });
    let rest = Node::Rest { without: without.clone().and(close) };
    Node::choice(until.chain((open || close.is_empty()).then_some(rest)))
}

fn one_of(texts: &[String]) -> Node {
    Node::choice(texts.iter().map(Node::text))
}

struct Writer<'a, 'r> {
    region: &'r CallRegion,
    rules: &'r mut Rules<'a>,
}

impl<'a> Writer<'a, '_> {
    fn call(&mut self, function: &'a Function) -> Result<Node, Error> {
        self.rules.budget.is_for(Some(&function.name));
        self.rules.forget_names();
        let mut all = Vec::new();
        for piece in &self.region.open {
            all.push(match piece {
                Piece::Text(text) => Node::text(text),
                Piece::Name(pattern) => Node::text(fitting(&function.name, pattern, "the function's name")?),
                _ => Node::nothing(),
            });
        }
        let content = self.content(function)?;
        all.push(self.rules.rule(content)?);
        Ok(Node::sequence(all))
    }

    fn content(&mut self, function: &'a Function) -> Result<Node, Error> {
        let place = Place::root(&function.schema, self.rules.budget);
        let json = || {
            let schema = if function.strict {
                place.take()?;
                function.schema.clone()
            } else {
                schema::any_object()
            };
            Ok(Node::Json { schema, without: Avoid::nothing().and(&self.region.close) })
        };
        match &self.region.content {
            CallContent::Arguments | CallContent::Only(_) => json(),
            CallContent::Envelope { name, arguments, listed } => {
                let mut header = String::from(if *listed { "[{" } else { "{" });
                string(&mut header, name);
                header.push_str(": ");
                string(&mut header, &function.name);
                header.push_str(", ");
                string(&mut header, arguments);
                header.push_str(": ");
                Ok(Node::sequence([Node::text(header), json()?, Node::text(if *listed { "}]" } else { "}" })]))
            }
            CallContent::Tags { tag, json, trimmed } => {
                Tags::new(self.region, tag, [*json, *trimmed]).arguments(place, function.strict, self.rules)
            }
        }
    }
}

/// Parameters as tags.
struct Tags<'a> {
    tag: &'a [Piece],
    json: bool,
    slot: text::Slot,
}

impl<'a> Tags<'a> {
    fn new(region: &CallRegion, tag: &'a [Piece], [json, trimmed]: [bool; 2]) -> Self {
        let mut avoid = Avoid::nothing().and(&region.close);
        if let Some(Piece::Text(open)) = tag.first() {
            avoid = avoid.and([open]);
        }
        let at = tag.iter().position(|p| *p == Piece::Value).map_or(tag.len(), |at| at + 1);
        let end = match tag.get(at) {
            Some(Piece::Text(end)) => end.clone(),
            _ => String::new(),
        };
        Self { tag, json, slot: text::Slot { avoid, end, frame: String::new(), escape: Escape::None, trimmed } }
    }

    fn arguments(&self, place: Place<'_>, strict: bool, rules: &mut Rules<'_>) -> Result<Node, Error> {
        if !strict {
            return Ok(self.tag_of(None, place.any())?.many());
        }
        let mut all = Vec::new();
        for object in place.objects()? {
            all.push(self.object(place, &object, rules)?);
        }
        Ok(Node::choice(all))
    }

    fn object(&self, place: Place<'_>, object: &View<'_>, rules: &mut Rules<'_>) -> Result<Node, Error> {
        let others = object.get("additionalProperties").unwrap_or(&ANY);
        if !object.has("properties") && object.required().is_empty() && *others != Value::Bool(false) {
            return Ok(self.tag_of(None, place.at(others))?.many());
        }
        let all = members(object, |key, schema| self.tag_of(Some(key), place.at(schema)))?;
        arranged(all, "", rules)
    }

    /// One parameter; without a key, of any name.
    fn tag_of(&self, key: Option<&str>, place: Place<'_>) -> Result<Node, Error> {
        let mut all = Vec::new();
        let mut rest = self.tag.iter();
        for piece in rest.by_ref() {
            all.push(match piece {
                Piece::Text(text) => Node::text(text),
                Piece::Name(pattern) => match key {
                    Some(key) => Node::text(fitting(key, pattern, "the parameter")?),
                    None => Node::Regex(ANY_KEY.to_owned()),
                },
                Piece::Value => break,
                Piece::Again => Node::nothing(),
            });
        }
        all.push(self.value(place)?);
        for piece in rest.skip(1) {
            all.push(match (piece, key) {
                (Piece::Text(text), _) => Node::text(text),
                (Piece::Again, Some(key)) => Node::text(key),
                (Piece::Again, None) => {
                    return Err(Error::grammar("a tag says its name again, which needs a schema with names"));
                }
                _ => Node::nothing(),
            });
        }
        all.push(Node::text("\n").optional());
        Ok(Node::sequence(all))
    }

    fn value(&self, place: Place<'_>) -> Result<Node, Error> {
        if !self.json {
            return self.slot.value(place);
        }
        let without = self.slot.avoid.clone().and([&self.slot.end]);
        let schema = match place.schema {
            Value::Bool(true) => json!({"type": ["object", "array", "string", "number", "boolean", "null"]}),
            schema => {
                place.take()?;
                place.alone(schema.clone())?
            }
        };
        Ok(Node::sequence([Node::Json { schema, without }, Node::text(&*self.slot.end)]))
    }
}

/// Checks that a name matches the template's pattern entirely.
fn fitting(name: &str, pattern: &str, what: &str) -> Result<String, Error> {
    let whole = fancy_regex::Regex::new(&format!(r"\A(?s:{pattern})\z"));
    let fits = whole.is_ok_and(|regex| regex.is_match(name).unwrap_or(false));
    if fits {
        Ok(name.to_owned())
    } else {
        Err(Error::grammar(&format!("{what} `{name}` cannot be written in the template's tags")))
    }
}
