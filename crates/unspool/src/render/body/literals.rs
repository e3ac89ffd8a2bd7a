//! Gemma literals.

use serde_json::value::RawValue;

use crate::format::file::{Delimited, Silent};
use crate::typing::Rules;

use super::super::RenderError;
use super::super::value::{Json, fits_double};
use super::typed::{self, Typed};
use super::{Cx, Members};

/// Writes `{port:<|"|>Looe<|"|>,days:3}`.
pub(super) fn write(cx: &Cx<'_>, arguments: &Members<'_>, out: &mut String) -> Result<(), RenderError> {
    let tools = &cx.syntax.file.tools;
    let words = &tools.literals;
    let open = words.string.first().map_or("\"", String::as_str);
    let close = words.string.get(1).map_or(open, String::as_str);
    let literals = Literals { open, close, rules: typed::rules(tools.silent, tools.python, cx.syntax.limits()) };
    out.push('{');
    for (i, (key, raw)) in arguments.iter().enumerate() {
        out.push_str(if i > 0 { "," } else { "" });
        literals.key(key, out).map_err(|e| e.inside(key))?;
        let place = Typed::parameter(cx.schema, key);
        let written = match words.delimited {
            Delimited::String => literals.value(raw, place, out),
            Delimited::Untyped => literals.untyped(raw, place, out),
        };
        written.map_err(|e| e.inside(key))?;
    }
    out.push('}');
    Ok(())
}

struct Literals<'a> {
    open: &'a str,
    close: &'a str,
    rules: Rules,
}

impl Literals<'_> {
    fn key(&self, key: &str, out: &mut String) -> Result<(), RenderError> {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$');
        if key.is_empty() || !key.chars().all(plain) {
            return Err(RenderError::at("", "is no key that the format can write"));
        }
        out.push_str(key);
        out.push(':');
        Ok(())
    }

    fn delimited(&self, text: &str, out: &mut String) -> Result<(), RenderError> {
        if text.contains(self.open) || text.contains(self.close) {
            return Err(RenderError::at("", format!("has {:?}, which delimits strings", self.close)));
        }
        out.push_str(self.open);
        out.push_str(text);
        out.push_str(self.close);
        Ok(())
    }

    /// A value that the schema types: its text between delimiters.
    fn untyped(&self, raw: &RawValue, place: Typed<'_>, out: &mut String) -> Result<(), RenderError> {
        let value = Json::open(raw)?;
        let text = match &value {
            Json::String(text) => text.as_str(),
            _ => raw.get(),
        };
        // Without a schema, a delimited text is JSON if it decodes.
        typed::check(text, raw, place.want(), Rules { silent: Silent::Json, ..self.rules })?;
        self.delimited(text, out)
    }

    fn value(&self, raw: &RawValue, place: Typed<'_>, out: &mut String) -> Result<(), RenderError> {
        match Json::open(raw)? {
            Json::String(text) => self.delimited(&text, out)?,
            Json::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    self.value(item, place.item(i), out).map_err(|e| e.inside(&format!("[{i}]")))?;
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    self.key(key, out).map_err(|e| e.inside(key))?;
                    self.value(value, place.member(key), out).map_err(|e| e.inside(key))?;
                }
                out.push('}');
            }
            Json::Number(digits) if !fits_double(digits) => {
                return Err(RenderError::at("", "is a number beyond a double, which is read as text"));
            }
            _ => {
                // A bare value is typed by the schema, else by its spelling.
                typed::check(raw.get(), raw, place.want(), Rules { silent: Silent::Json, ..self.rules })?;
                out.push_str(raw.get());
            }
        }
        Ok(())
    }
}
