//! Nested elements.

use serde_json::value::RawValue;

use crate::format::marker::literal_text;
use crate::format::template::{Slot, Template};
use crate::limits::Limits;
use crate::schema::Kinds;
use crate::typing::Rules;

use super::super::RenderError;
use super::super::markup::Literals;
use super::super::value::{Json, repeated};
use super::super::writer::fill_parts;
use super::typed::{self, Typed};
use super::{Cx, Members, check_key};

/// Writes `<port>Looe</port><days>3</days>`.
pub(super) fn write(cx: &Cx<'_>, arguments: &Members<'_>, out: &mut String) -> Result<(), RenderError> {
    let tools = &cx.syntax.file.tools;
    let (open, close) = &cx.syntax.file.syntax.element;
    let mut tags = Literals::new(tools.loose);
    tags.add([open, close].map(|t| literal_text(t.before(|s| s == Slot::Key))));
    let limits = cx.syntax.limits();
    let rules = typed::rules(tools.silent, tools.python, limits);
    let elements = Elements { open, close, item: &tools.elements.item, tags, rules, limits };
    elements.members(arguments, |key| Typed::parameter(cx.schema, key), out)
}

struct Elements<'a> {
    open: &'a Template,
    close: &'a Template,
    /// Name of a list's elements.
    item: &'a str,
    /// The beginnings of tags.
    tags: Literals,
    rules: Rules,
    limits: &'a Limits,
}

impl Elements<'_> {
    fn members<'s>(
        &self,
        members: &Members<'_>,
        place: impl Fn(&str) -> Typed<'s>,
        out: &mut String,
    ) -> Result<(), RenderError> {
        if let Some(key) = repeated(members) {
            return Err(RenderError::at(key, "comes twice, which the format reads as a list"));
        }
        for (key, raw) in members {
            self.check_name(key).map_err(|e| e.inside(key))?;
            self.element(key, raw, place(key), out).map_err(|e| e.inside(key))?;
        }
        Ok(())
    }

    fn check_name(&self, key: &str) -> Result<(), RenderError> {
        check_key(key, false, self.limits)?;
        if key.starts_with(['/', '$']) || key.contains(char::is_whitespace) {
            return Err(RenderError::at("", "is no name that an element can have"));
        }
        Ok(())
    }

    fn element(&self, key: &str, raw: &RawValue, place: Typed<'_>, out: &mut String) -> Result<(), RenderError> {
        let tag = |template: &Template, out: &mut String| {
            fill_parts(&template.parts, true, out, &mut |_: Slot, out: &mut String| {
                out.push_str(key);
                Ok(())
            })
        };
        tag(self.open, out)?;
        self.value(raw, place, out)?;
        tag(self.close, out)
    }

    fn value(&self, raw: &RawValue, place: Typed<'_>, out: &mut String) -> Result<(), RenderError> {
        let kinds = place.kinds();
        match Json::open(raw)? {
            Json::Array(items) => {
                let is_clear =
                    kinds.has(Kinds::ARRAY) && (!items.is_empty() || !kinds.has(Kinds::STRING.or(Kinds::OBJECT)));
                if !is_clear {
                    return Err(RenderError::at("", "is a list, which only the schema could tell from other elements"));
                }
                for (i, item) in items.iter().enumerate() {
                    self.element(self.item, item, place.item(i), out).map_err(|e| e.inside(&format!("[{i}]")))?;
                }
                Ok(())
            }
            Json::Object(members) => {
                let says_object = kinds.has(Kinds::OBJECT) && !kinds.has(Kinds::STRING.or(Kinds::ARRAY));
                let is_clear = if members.is_empty() { says_object } else { kinds.is_empty() || says_object };
                if !is_clear {
                    return Err(RenderError::at(
                        "",
                        "is an object, which only the schema could tell from other elements",
                    ));
                }
                self.members(&members, |key| place.member(key), out)
            }
            Json::String(text) => self.leaf(&text, raw, place, out),
            _ => self.leaf(raw.get(), raw, place, out),
        }
    }

    fn leaf(&self, text: &str, raw: &RawValue, place: Typed<'_>, out: &mut String) -> Result<(), RenderError> {
        let refuse = |why: String| Err(RenderError::at("", why));
        let kinds = place.kinds();
        if text.trim().is_empty() && (!text.is_empty() || kinds.has(containers())) {
            return refuse("is white space or nothing, which an element cannot say".to_owned());
        }
        if !kinds.is_empty() && kinds.or(containers()) == containers() {
            return refuse("is no list or object, and the schema allows nothing else".to_owned());
        }
        if text.len() > self.limits.argument {
            return refuse("is longer than a value may be whose type needs its end".to_owned());
        }
        if let Some(tag) = self.tags.within(text, "") {
            return refuse(format!("has {tag:?}, which begins a tag"));
        }
        typed::check(text, raw, place.want(), self.rules)?;
        out.push_str(text);
        Ok(())
    }
}

fn containers() -> Kinds {
    Kinds::OBJECT.or(Kinds::ARRAY)
}
