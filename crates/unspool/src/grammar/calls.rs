//! Calls: heads, arguments, blocks.

use serde_json::{Map, Value};

use crate::format::file::{Container, Delimited, Escape, Free, Group, Shape};
use crate::format::syntax::Format;
use crate::format::template::{Part, Slot, Template};
use crate::json::write::string;
use crate::render::words::Words;

use super::elements::Elements;
use super::node::{Avoid, Node, Rules};
use super::notation::{Gemma, Python, keyword, plain_key};
use super::params::{ANY_KEY, Params, members};
use super::schema::{self, Place};
use super::values::{Values, separated};
use super::{GrammarError, fill, text};

/// So many calls of a reply have their position in their head where the format writes it; later ones any number.
const COUNTED: usize = 8;

/// A function that may be called.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) name: String,
    /// The schema of its arguments.
    pub(super) parameters: Value,
    /// Whether the arguments must fit it.
    pub(super) strict: bool,
}

/// All calls of a reply, or one block or call of them.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// White space with which the template begins.
    pub(super) lead: String,
    pub(super) node: Node,
    /// What stands between two units.
    pub(super) between: String,
    /// Whether a reply has only one unit, in which all calls are.
    pub(super) single: bool,
    /// Its line breaks may be missing.
    pub(super) compact: bool,
}

/// Makes the grammar of calls.
pub(super) struct Calls<'a> {
    pub(super) words: &'a Words<'a>,
    pub(super) file: &'a Format,
    pub(super) functions: &'a [Function],
    /// One call only.
    pub(super) once: bool,
    /// Calls already in the conversation.
    pub(super) calls_before: usize,
    /// Rules of nested values.
    pub(super) rules: Rules,
}

type Filled = Result<Node, GrammarError>;

impl<'a> Calls<'a> {
    /// A block of calls, or a call where the format has no blocks.
    pub(super) fn unit(&mut self) -> Result<Unit, GrammarError> {
        let between = self.file.tools.between.first().cloned().unwrap_or_default();
        let call = self.words.calls.first().ok_or_else(|| GrammarError::new("the format shows no call"))?;
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

    /// Whether line breaks of the templates may be missing.
    fn is_compact(&self) -> bool {
        self.file.grammar.spellings.iter().any(|s| s == "compact")
    }

    /// One call in a message of its own, where replies are messages. `parts`: the message with the call inside.
    pub(super) fn call_parts(&mut self, parts: &[Part], only: Option<&Function>) -> Filled {
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
        let later = Node::sequence([Node::text(between), self.call(call, None)?]).many();
        let mut all = later;
        for position in (0..COUNTED).rev() {
            let one = self.call(call, Some(position))?;
            let sep = Node::text(if position > 0 { between } else { "" });
            let node = Node::sequence([sep, one, all]);
            all = if position > 0 { node.optional() } else { node };
        }
        Ok(all)
    }

    fn call(&mut self, call: &Template, position: Option<usize>) -> Filled {
        self.filled(&call.parts, position, None)
    }

    /// The call's template for each function.
    fn filled(&mut self, parts: &[Part], position: Option<usize>, only: Option<&Function>) -> Filled {
        let parts = &fill::spelled(parts, self.is_compact());
        if parts.contains(&Part::Slot(Slot::Envelope)) && only.is_none() {
            let envelope = self.envelope()?;
            return Ok(Node::sequence(fill::parts(parts, &mut |_| Ok(envelope.clone()))?));
        }
        let functions = only.map_or(self.functions, std::slice::from_ref);
        let mut all = Vec::new();
        for function in functions {
            let mut slot = |slot: Slot| self.slot(slot, function, position);
            all.push(Node::sequence(fill::parts(parts, &mut slot)?));
        }
        Ok(Node::choice(all))
    }

    fn slot(&mut self, slot: Slot, function: &Function, position: Option<usize>) -> Filled {
        let digits = || Node::Regex("[0-9]{1,4}".to_owned());
        match slot {
            Slot::Name => self.name(function),
            Slot::Id => self.id(function, position),
            Slot::Index => Ok(position.map_or_else(digits, |p| Node::text((self.calls_before + p).to_string()))),
            Slot::Number => Ok(position.map_or_else(digits, |p| Node::text((p + 1).to_string()))),
            Slot::Json => Ok(self.json(function)),
            Slot::Envelope => self.object(function),
            Slot::Params => self.params(function),
            Slot::Elements => self.elements(function),
            Slot::Kwargs => self.kwargs(function),
            Slot::Literals => self.literals(function),
            _ => Ok(Node::nothing()),
        }
    }

    fn name(&self, function: &Function) -> Filled {
        crate::render::check_name(&function.name, self.file.tools.loose, self.words.limits)
            .map_err(|e| GrammarError::new(&format!("the function's name {:?} {}", function.name, e.message)))?;
        let in_attribute = self.words.calls.first().is_some_and(|call| {
            call.parts.iter().any(|p| matches!(p, Part::Attrs(a) if a.iter().any(|(_, s)| *s == Slot::Name)))
        });
        let escaped = in_attribute && self.file.tools.params.attr == Escape::Xml;
        Ok(Node::text(if escaped { super::escaped_attribute(&function.name) } else { function.name.clone() }))
    }

    fn native_id(&self) -> Option<&'a Template> {
        self.file.syntax.call_id.as_ref()
    }

    fn id(&mut self, function: &Function, position: Option<usize>) -> Filled {
        let Some(shape) = self.native_id() else { return Ok(Node::Regex("[A-Za-z0-9_\\-]{1,64}".to_owned())) };
        let parts = fill::parts(&shape.parts, &mut |slot| self.slot(slot, function, position))?;
        Ok(Node::sequence(parts))
    }

    /// The arguments as JSON.
    fn json(&self, function: &Function) -> Node {
        let schema = if function.strict { schema::arguments(&function.parameters) } else { schema::any_object() };
        Node::Json { schema, without: Avoid::nothing() }
    }

    /// Whether calls are written as one JSON list.
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
    fn object(&mut self, function: &Function) -> Filled {
        let words = &self.file.tools.envelope;
        let quoted = |text: &str| {
            let mut out = String::new();
            string(&mut out, text);
            out
        };
        let name = quoted(&function.name);
        if words.shape == Shape::Key {
            let head = Node::text(format!("{{{name}: "));
            return Ok(Node::sequence([head, self.json(function), Node::text("}")]));
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
        all.extend([self.json(function), Node::text("}")]);
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

    fn params(&self, function: &Function) -> Filled {
        let param = self.words.params.first().ok_or_else(|| GrammarError::new("the format shows no parameter"))?;
        let params = Params::new((self.file, self.words.limits), param, self.in_value());
        let schema = schema::arguments(&function.parameters);
        match self.file.grammar.free {
            _ if function.strict => params.strict(&schema),
            Free::Declared => params.declared(&schema),
            Free::Any => Ok(params.free()),
        }
    }

    fn elements(&mut self, function: &Function) -> Filled {
        let schema = schema::arguments(&function.parameters);
        self.rules.forget_names();
        let mut elements = Elements::new((self.file, self.words.limits), &mut self.rules);
        if function.strict { elements.strict(&schema) } else { elements.free(&schema) }
    }

    fn kwargs(&mut self, function: &Function) -> Filled {
        let schema = schema::arguments(&function.parameters);
        let mut values = Values::new(Python { closers: self.words.block_ends() }, &schema, &mut self.rules);
        let any = Value::Bool(true);
        let place = Place::root(&schema);
        let object =
            place.object().filter(|o| function.strict && (o.contains_key("properties") || o.contains_key("required")));
        let Some(object) = object else {
            let closed = function.strict && schema.get("additionalProperties") == Some(&Value::Bool(false));
            let others = schema.get("additionalProperties").filter(|_| function.strict).unwrap_or(&any);
            let value = values.value(place.at(others))?;
            let member =
                Node::sequence([Node::Regex("[A-Za-z_][A-Za-z0-9_]{0,63}".to_owned()), Node::text("="), value]);
            return Ok(if closed { Node::nothing() } else { separated(member, 0, None, ", ") });
        };
        members(&object, ", ", |key, schema| {
            let named = keyword(key).ok_or_else(|| {
                GrammarError::new(&format!("parameter `{key}` is no keyword that Python could write"))
            })?;
            Ok(Node::sequence([named, values.value(place.at(schema))?]))
        })
    }

    fn literals(&mut self, function: &Function) -> Filled {
        let words = &self.file.tools.literals;
        let open = words.string.first().map_or("\"", String::as_str);
        let close = words.string.get(1).map_or(open, String::as_str);
        let schema = schema::arguments(&function.parameters);
        let inner = if words.delimited == Delimited::Untyped {
            self.delimited(function, &schema, open, close)?
        } else {
            let avoid = self.in_value();
            let mut values = Values::new(Gemma { open, close, avoid }, &schema, &mut self.rules);
            values.arguments(function.strict)?
        };
        Ok(Node::sequence([Node::text("{"), inner, Node::text("}")]))
    }

    /// Members whose values are untyped text between delimiters.
    fn delimited(&self, function: &Function, schema: &Value, open: &str, close: &str) -> Filled {
        let slot = text::Slot {
            avoid: self.in_value().and([open]).but(&[close]),
            end: close.to_owned(),
            frame: String::new(),
            escape: Escape::None,
            trimmed: false,
        };
        let place = Place::root(schema);
        let any = Value::Bool(true);
        let is_listed = |o: &Map<String, Value>| o.contains_key("properties") || o.contains_key("required");
        let Some(object) = place.object().filter(|o| function.strict && is_listed(o)) else {
            let key = Node::Regex(ANY_KEY.to_owned());
            let others = schema.get("additionalProperties").filter(|_| function.strict).unwrap_or(&any);
            if others == &Value::Bool(false) {
                return Ok(Node::nothing());
            }
            let member = Node::sequence([key, Node::text(format!(":{open}")), slot.value(place.at(others))]);
            return Ok(separated(member, 0, None, ","));
        };
        members(&object, ",", |key, schema| {
            let named = plain_key(key)
                .ok_or_else(|| GrammarError::new(&format!("parameter `{key}` is no key that the format can write")))?;
            Ok(Node::sequence([Node::text(named), Node::text(open), slot.value(place.at(schema))]))
        })
    }
}

/// Whether a template begins with a message.
pub(super) fn is_message(template: &Template, start: &str) -> bool {
    template.first_literal().is_some_and(|l| l.starts_with(start))
}
