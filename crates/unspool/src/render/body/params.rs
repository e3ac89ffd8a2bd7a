//! Flat parameters.

use serde_json::value::RawValue;

use crate::body::unclosed;
use crate::format::file::{Trim, Typed as Winner};
use crate::format::template::{Slot, Template};
use crate::scan::Literal;
use crate::schema::Kinds;
use crate::typing::Want;

use super::super::RenderError;
use super::super::value::Json;
use super::super::writer::{Fill, fill_parts};
use super::typed::{self, Typed};
use super::{Cx, Members, check_key, escape};
use crate::format::marker::literal_text;

/// Writes parameters one after the other.
pub(super) fn write(cx: &Cx<'_>, arguments: &Members<'_>, out: &mut String) -> Result<(), RenderError> {
    let Some(template) = cx.syntax.words.params.first() else {
        return Err(RenderError::at("", "have no place: the format shows no parameter"));
    };
    check_unwrapped(cx, arguments)?;
    for (key, raw) in arguments {
        let parameter = Parameter { cx, template, key, raw };
        parameter.write(out).map_err(|e| e.inside(key))?;
    }
    Ok(())
}

/// The reader takes a first parameter of some names for all arguments if the schema does not know it and it holds an
/// object.
fn check_unwrapped(cx: &Cx<'_>, arguments: &Members<'_>) -> Result<(), RenderError> {
    let Some((key, raw)) = arguments.first() else { return Ok(()) };
    let is_wrapper = cx.syntax.file.tools.params.unwrap.iter().any(|name| name == key);
    if !is_wrapper || cx.schema.is_some_and(|s| s.declares(key)) {
        return Ok(());
    }
    let is_object = match Json::open(raw)? {
        Json::Object(_) => true,
        Json::String(text) => text.trim_start().starts_with('{'),
        _ => false,
    };
    if is_object {
        return Err(RenderError::at(key, "is a wrapper in this format: what it holds is read as all the arguments"));
    }
    Ok(())
}

struct Parameter<'a> {
    cx: &'a Cx<'a>,
    template: &'a Template,
    key: &'a str,
    raw: &'a RawValue,
}

impl Parameter<'_> {
    fn write(&self, out: &mut String) -> Result<(), RenderError> {
        let tools = &self.cx.syntax.file.tools;
        check_key(self.key, tools.loose, self.cx.syntax.limits())?;
        let value = Json::open(self.raw)?;
        let plain = match &value {
            Json::String(text) => text.as_str(),
            _ => self.raw.get(),
        };
        self.check(&value, plain)?;
        let mut text = String::new();
        escape(tools.params.escape, plain, false, &mut text);
        self.check_structure(&text)?;
        let mut fill = Tag { parameter: self, type_name: value.type_name(), text: &text };
        fill_parts(&self.template.parts, true, out, &mut fill)
    }

    /// Checks that the value is read back unchanged.
    fn check(&self, value: &Json<'_>, text: &str) -> Result<(), RenderError> {
        let tools = &self.cx.syntax.file.tools;
        let is_text = matches!(value, Json::String(_));
        if !is_text && text.len() > self.cx.syntax.limits().argument {
            return Err(RenderError::at("", "is longer than a value may be whose type needs its end"));
        }
        if is_text && tools.params.trim == Trim::All && text.trim() != text {
            return Err(RenderError::at("", "has outer white space, which the format trims"));
        }
        if tools.params.marks && text.contains(['\u{120}', '\u{10a}']) {
            return Err(RenderError::at("", "has a byte-level mark, which the format reads as white space"));
        }
        let place = Typed::parameter(self.cx.schema, self.key);
        let model_decides = tools.params.typed == Winner::Model;
        let want = if self.template.has(Slot::String) {
            if is_text {
                return Ok(());
            }
            Want::Json
        } else if self.template.has(Slot::Type) && model_decides {
            Want::Kinds(Kinds::named(value.type_name()))
        } else {
            place.want()
        };
        let rules = typed::rules(tools.silent, tools.python, self.cx.syntax.limits());
        typed::check(text, self.raw, want, rules)
    }

    /// Checks that nothing inside the value is read as its end.
    fn check_structure(&self, text: &str) -> Result<(), RenderError> {
        let closer = literal_text(self.template.after(|s| s == Slot::Value));
        match self.cx.syntax.structure.within(text, &closer) {
            Some(literal) => Err(RenderError::at("", format!("has {literal:?}, which ends the value"))),
            None if ends_in_repeat(text, closer.trim()) => Err(RenderError::at(
                "",
                format!("ends in {:?}, which counts once with the closer behind it", closer.trim()),
            )),
            None => Ok(()),
        }
    }
}

/// Whether a value ends in its own closer without as many openers: such a run counts as one closer.
fn ends_in_repeat(text: &str, closer: &str) -> bool {
    let (mut rest, mut closers) = (text.trim_end(), 0);
    while let Some(before) = rest.strip_suffix(closer).filter(|_| !closer.is_empty()) {
        (rest, closers) = (before.trim_end(), closers + 1);
    }
    closers > unclosed(rest, &Literal::new(closer, false))
}

/// Fills the parameter's template.
struct Tag<'a> {
    parameter: &'a Parameter<'a>,
    type_name: &'static str,
    text: &'a str,
}

impl Fill for Tag<'_> {
    fn slot(&mut self, slot: Slot, out: &mut String) -> Result<(), RenderError> {
        match slot {
            Slot::Key => out.push_str(self.parameter.key),
            Slot::Value => out.push_str(self.text),
            Slot::Type => out.push_str(self.type_name),
            Slot::String => out.push_str(if self.type_name == "string" { "true" } else { "false" }),
            _ => {}
        }
        Ok(())
    }

    fn attribute(&mut self, slot: Slot, out: &mut String) -> Result<(), RenderError> {
        let mut text = String::new();
        self.slot(slot, &mut text)?;
        self.parameter.cx.syntax.attribute(&text, out);
        Ok(())
    }
}
