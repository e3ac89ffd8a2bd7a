//! Calls: headers, arguments, blocks.

use std::collections::HashMap;

use serde_json::Value;

use crate::error::Error;
use crate::format::file::{Container, Delimited, Escape, Free, Group, Shape};
use crate::format::syntax::Format;
use crate::format::template::{Part, Slot, Template};
use crate::json::write::string;
use crate::render::words::Words;

use super::elements::Elements;
use super::node::{Avoid, Node};
use super::notation::{Gemma, Python, keyword, plain_key};
use super::params::{ANY_KEY, Params, arranged, members};
use super::rules::Rules;
use super::schema::{self, ANY, Place, View};
use super::values::{Values, separated};
use super::{fill, text};

/// Number of calls in a reply with their own position in the header, if the format writes one; later calls have any
/// number.
const COUNTED: usize = 8;
/// Maximum number of headers for that: with many functions, fewer positions are counted.
const MOST_HEADS: usize = 2048;

/// A function that may be called.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) name: String,
    /// The schema of its arguments, which are an object.
    pub(super) schema: Value,
    /// Whether the arguments must fit it.
    pub(super) strict: bool,
}

/// All calls of a reply, or one block or call.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// White space at the beginning of the template.
    pub(super) lead: String,
    pub(super) node: Node,
    /// The separator of units.
    pub(super) between: String,
    /// Whether a reply has only one unit, with all calls.
    pub(super) single: bool,
    /// Its line breaks are optional.
    pub(super) compact: bool,
}

/// Builds the grammar of calls.
pub(super) struct Calls<'a> {
    pub(super) words: &'a Words<'a>,
    pub(super) file: &'a Format,
    pub(super) functions: &'a [Function],
    /// At most one call.
    pub(super) once: bool,
    /// Number of earlier calls in the conversation.
    pub(super) calls_before: usize,
    pub(super) rules: Rules<'a>,
    /// The arguments of functions, each built once.
    pub(super) arguments: HashMap<(String, Slot), Node>,
}

type Filled = Result<Node, Error>;

impl<'a> Calls<'a> {
    /// A block of calls, or a call if the format has no blocks.
    pub(super) fn unit(&mut self) -> Result<Unit, Error> {
        let between = self.file.tools.between.first().cloned().unwrap_or_default();
        let call = self.words.calls.first().ok_or_else(|| Error::grammar("the format shows no call"))?;
        let compact = self.is_compact();
        let Some(block) = self.words.blocks.first() else {
            let (lead, _) = fill::lead(&call.parts);
            let node = self.call_parts(&call.parts, None)?;
            let single = self.in_list();
            return Ok(Unit { between: format!("{between}{lead}"), lead, node, single, compact });
        };
        let (lead, parts) = fill::lead(&block.parts);
        let parts = fill::spelled(&parts, compact);
        let each = self.file.tools.group == Group::Each;
        let calls = if each { self.call(call, None)? } else { self.calls(call, &between)? };
        let node = Node::sequence(fill::parts(&parts, &mut |slot| match slot {
            Slot::Calls => Ok(calls.clone()),
            _ => Ok(Node::nothing()),
        })?);
        Ok(Unit { between: lead.clone(), lead, node, single: !each, compact })
    }

    /// Whether line breaks of the templates are optional.
    fn is_compact(&self) -> bool {
        self.file.grammar.spellings.iter().any(|s| s == "compact")
    }

    /// One call in its own message, if replies are messages. `parts`: the message with the call inside.
    pub(super) fn call_parts(&mut self, parts: &[Part], only: Option<&'a Function>) -> Filled {
        let (_, parts) = fill::lead(parts);
        self.filled(&parts, None, only)
    }

    fn calls(&mut self, call: &Template, between: &str) -> Filled {
        if self.once {
            return self.call(call, Some(0));
        }
        let counts =
            call.has(Slot::Index) || call.has(Slot::Number) || call.has(Slot::Id) && self.native_id().is_some();
        if !counts {
            let of = Box::new(self.call(call, None)?);
            return Ok(Node::List { of, between: between.to_owned() });
        }
        let any = self.call(call, None)?;
        let mut all = Node::sequence([Node::text(between), any.clone()]).many();
        for position in (0..COUNTED.min(MOST_HEADS / self.functions.len().max(1))).rev() {
            let one = self.call(call, Some(position))?;
            let sep = Node::text(if position > 0 { between } else { "" });
            let node = Node::sequence([sep, one, all]);
            all = if position > 0 { node.optional() } else { node };
        }
        let any = Node::List { of: Box::new(any), between: between.to_owned() };
        Ok(Node::Counted(Box::new([all, any])))
    }

    fn call(&mut self, call: &Template, position: Option<usize>) -> Filled {
        self.filled(&call.parts, position, None)
    }

    /// The call's template for each function.
    fn filled(&mut self, parts: &[Part], position: Option<usize>, only: Option<&'a Function>) -> Filled {
        let parts = &fill::spelled(parts, self.is_compact());
        if parts.contains(&Part::Slot(Slot::Envelope)) && only.is_none() {
            let envelope = self.envelope()?;
            return Ok(Node::sequence(fill::parts(parts, &mut |_| Ok(envelope.clone()))?));
        }
        let functions = only.map_or(self.functions, std::slice::from_ref);
        let mut all = Vec::new();
        for function in functions {
            let mut slot = |slot: Slot| self.slot(slot, function, position);
            let node = Node::sequence(fill::parts(parts, &mut slot)?);
            self.rules.budget.take(node.weight())?;
            all.push(node);
        }
        Ok(Node::choice(all))
    }

    fn slot(&mut self, slot: Slot, function: &'a Function, position: Option<usize>) -> Filled {
        let digits = || Node::Regex("[0-9]{1,4}".to_owned());
        match slot {
            Slot::Name => self.name(function),
            Slot::Id => self.id(function, position),
            Slot::Index => Ok(position.map_or_else(digits, |p| Node::text((self.calls_before + p).to_string()))),
            Slot::Number => Ok(position.map_or_else(digits, |p| Node::text((p + 1).to_string()))),
            Slot::Envelope => self.object(function),
            Slot::Json | Slot::Params | Slot::Elements | Slot::Kwargs | Slot::Literals => {
                self.arguments(slot, function)
            }
            _ => Ok(Node::nothing()),
        }
    }

    /// The arguments of a function; a rule if they are long.
    fn arguments(&mut self, slot: Slot, function: &'a Function) -> Filled {
        let key = (function.name.clone(), slot);
        if let Some(known) = self.arguments.get(&key) {
            return Ok(known.clone());
        }
        self.rules.budget.is_for(Some(&function.name));
        self.rules.forget_names();
        let node = match slot {
            Slot::Json => self.json(function),
            Slot::Params => self.params(function),
            Slot::Elements => self.elements(function),
            Slot::Kwargs => self.kwargs(function),
            _ => self.literals(function),
        }?;
        let node = self.rules.rule(node)?;
        self.arguments.insert(key, node.clone());
        Ok(node)
    }

    fn name(&self, function: &Function) -> Filled {
        crate::render::check_name(&function.name, self.file.tools.loose, self.words.limits)
            .map_err(|e| Error::grammar(&format!("the function's name {:?} {}", function.name, e.message)))?;
        let in_attribute = self.words.calls.first().is_some_and(|call| {
            call.parts.iter().any(|p| matches!(p, Part::Attrs(a) if a.iter().any(|(_, s)| *s == Slot::Name)))
        });
        let escaped = in_attribute && self.file.tools.params.attr == Escape::Xml;
        Ok(Node::text(if escaped { super::escaped_attribute(&function.name) } else { function.name.clone() }))
    }

    fn native_id(&self) -> Option<&'a Template> {
        self.file.syntax.call_id.as_ref()
    }

    fn id(&mut self, function: &'a Function, position: Option<usize>) -> Filled {
        let Some(shape) = self.native_id() else { return Ok(Node::Regex("[A-Za-z0-9_\\-]{1,64}".to_owned())) };
        let parts = fill::parts(&shape.parts, &mut |slot| self.slot(slot, function, position))?;
        Ok(Node::sequence(parts))
    }

    /// The arguments as JSON.
    fn json(&self, function: &'a Function) -> Filled {
        let schema = if function.strict {
            self.place(function).take()?;
            function.schema.clone()
        } else {
            schema::any_object()
        };
        Ok(Node::Json { schema, without: Avoid::nothing() })
    }

    fn place(&self, function: &'a Function) -> Place<'a> {
        Place::root(&function.schema, self.rules.budget)
    }

    /// Whether calls form one JSON list.
    fn in_list(&self) -> bool {
        let has_separator = self.file.tools.between.iter().any(|s| !s.is_empty());
        let container = self.file.tools.envelope.container;
        let in_envelope = self.words.calls.first().and_then(Template::body) == Some(Slot::Envelope);
        in_envelope && (container == Container::Array || container == Container::Either && !has_separator)
    }

    fn envelope(&mut self) -> Filled {
        let functions = self.functions;
        let all = functions.iter().map(|function| self.object(function)).collect::<Result<Vec<_>, _>>()?;
        let object = Node::choice(all);
        if !self.in_list() {
            return Ok(object);
        }
        let of = if self.once { object } else { Node::List { of: Box::new(object), between: ", ".to_owned() } };
        Ok(Node::sequence([Node::text("["), of, Node::text("]")]))
    }

    /// One object around name and arguments.
    fn object(&mut self, function: &'a Function) -> Filled {
        let words = &self.file.tools.envelope;
        let quoted = |text: &str| {
            let mut out = String::new();
            string(&mut out, text);
            out
        };
        let name = quoted(&function.name);
        if words.shape == Shape::Key {
            let header = Node::text(format!("{{{name}: "));
            return Ok(Node::sequence([header, self.arguments(Slot::Json, function)?, Node::text("}")]));
        }
        let mut all = vec![Node::text("{")];
        if let Some(key) = words.id.first() {
            all.push(Node::text(format!("{}: \"", quoted(key))));
            all.push(Node::Regex("[A-Za-z0-9_\\-]{1,64}".to_owned()));
            all.push(Node::text("\", "));
        }
        let name_key = quoted(words.name.first().map_or("name", String::as_str));
        let arguments_key = quoted(words.arguments.first().map_or("arguments", String::as_str));
        all.push(Node::text(format!("{name_key}: {name}, {arguments_key}: ")));
        all.extend([self.arguments(Slot::Json, function)?, Node::text("}")]);
        Ok(Node::sequence(all))
    }

    /// Literals that are structure inside a value.
    fn in_value(&self) -> Avoid {
        let avoid = Avoid { loose: self.file.tools.loose, ..Avoid::nothing() }.and(self.words.in_value().texts());
        match self.words.channels() {
            Some(channels) => avoid.and([&channels.start, &channels.body]).and(channels.end.iter()),
            None => avoid,
        }
    }

    fn params(&mut self, function: &'a Function) -> Filled {
        let param = self.words.params.first().ok_or_else(|| Error::grammar("the format shows no parameter"))?;
        let params = Params::new((self.file, self.words.limits), param, self.in_value());
        let place = self.place(function);
        match self.file.grammar.free {
            _ if function.strict => params.strict(place, &mut self.rules),
            Free::Declared => params.declared(place),
            Free::Any => params.free(place),
        }
    }

    fn elements(&mut self, function: &'a Function) -> Filled {
        let place = self.place(function);
        let elements = Elements::new((self.file, self.words.limits), &mut self.rules);
        if function.strict { elements.strict(place) } else { elements.free(place) }
    }

    fn kwargs(&mut self, function: &'a Function) -> Filled {
        let place = self.place(function);
        let others = function.schema.get("additionalProperties").filter(|_| function.strict);
        let object = place.object()?.filter(|o| function.strict && lists(o));
        let values = Values::new(Python { closers: self.words.block_ends() }, place, &mut self.rules);
        if let Some(object) = object {
            return values.keyed(&object, |key| {
                let why = || Error::grammar(&format!("parameter `{key}` is no keyword that Python could write"));
                keyword(key).ok_or_else(why)
            });
        }
        let value = values.single(others.unwrap_or(&ANY))?;
        if others == Some(&Value::Bool(false)) {
            return Ok(Node::nothing());
        }
        let member = Node::sequence([Node::Regex("[A-Za-z_][A-Za-z0-9_]{0,63}".to_owned()), Node::text("="), value]);
        separated(member, (0, None), ", ", &mut self.rules)
    }

    fn literals(&mut self, function: &'a Function) -> Filled {
        let words = &self.file.tools.literals;
        let open = words.string.first().map_or("\"", String::as_str);
        let close = words.string.get(1).map_or(open, String::as_str);
        let inner = if words.delimited == Delimited::Untyped {
            self.delimited(function, open, close)?
        } else {
            let (avoid, place) = (self.in_value(), self.place(function));
            Values::new(Gemma { open, close, avoid }, place, &mut self.rules).arguments(function.strict)?
        };
        Ok(Node::sequence([Node::text("{"), inner, Node::text("}")]))
    }

    /// Members whose values are untyped text between delimiters.
    fn delimited(&mut self, function: &'a Function, open: &str, close: &str) -> Filled {
        let slot = text::Slot {
            avoid: self.in_value().and([open]).but(&[close]),
            end: close.to_owned(),
            frame: String::new(),
            escape: Escape::None,
            trimmed: false,
        };
        let place = self.place(function);
        let Some(object) = place.object()?.filter(|o| function.strict && lists(o)) else {
            let key = Node::Regex(ANY_KEY.to_owned());
            let others = function.schema.get("additionalProperties").filter(|_| function.strict).unwrap_or(&ANY);
            if others == &Value::Bool(false) {
                return Ok(Node::nothing());
            }
            let member = Node::sequence([key, Node::text(format!(":{open}")), slot.value(place.at(others))?]);
            return separated(member, (0, None), ",", &mut self.rules);
        };
        let all = members(&object, |key, schema| {
            let named = plain_key(key)
                .ok_or_else(|| Error::grammar(&format!("parameter `{key}` is no key that the format can write")))?;
            Ok(Node::sequence([Node::text(named), Node::text(open), slot.value(place.at(schema))?]))
        })?;
        arranged(all, ",", &mut self.rules)
    }
}

/// Whether an object lists its members.
fn lists(object: &View<'_>) -> bool {
    object.has("properties") || object.has("required")
}

/// Whether a template begins with a message.
pub(super) fn is_message(template: &Template, start: &str) -> bool {
    template.first_literal().is_some_and(|l| l.starts_with(start))
}
