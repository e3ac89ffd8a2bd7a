//! Arguments in the syntaxes that are not JSON.

mod elements;
mod kwargs;
mod literals;
mod params;
mod typed;

use serde_json::value::RawValue;

use crate::call_header::ends_name;
use crate::format::file::Escape;
use crate::format::syntax::Format;
use crate::format::template::Slot;
use crate::limits::Limits;
use crate::schema::FunctionSchema;

use super::RenderError;
use super::markup::Literals;
use super::words::Words;

/// Members of an object in order.
pub(super) type Members<'a> = [(String, &'a RawValue)];

/// The format's settings for its argument syntax.
pub(super) struct Syntax<'a> {
    words: &'a Words<'a>,
    file: &'a Format,
    /// Literals that are structure inside a value.
    structure: Literals,
}

impl<'a> Syntax<'a> {
    pub(super) fn new(words: &'a Words<'a>, file: &'a Format) -> Self {
        Self { words, file, structure: words.in_value() }
    }

    /// The limits of the parser that will read the output.
    pub(super) fn limits(&self) -> &'a Limits {
        self.words.limits
    }

    /// Writes the value of an attribute.
    pub(super) fn attribute(&self, text: &str, out: &mut String) {
        escape(self.file.tools.params.attr, text, true, out);
    }
}

/// The arguments of one call.
#[derive(Clone, Copy)]
pub(super) struct Cx<'a> {
    pub(super) syntax: &'a Syntax<'a>,
    /// Schema of the function, if the request has it.
    pub(super) schema: Option<&'a FunctionSchema>,
}

impl Cx<'_> {
    /// Writes the arguments in the syntax of this slot.
    pub(super) fn write(&self, slot: Slot, arguments: &Members<'_>, out: &mut String) -> Result<(), RenderError> {
        match slot {
            Slot::Params => params::write(self, arguments, out),
            Slot::Kwargs => kwargs::write(self.syntax.limits(), arguments, out),
            Slot::Literals => literals::write(self, arguments, out),
            Slot::Elements => elements::write(self, arguments, out),
            _ => Ok(()),
        }
    }
}

/// Writes text, with markup as entities if the format has them; quotes are markup only in attributes.
fn escape(how: Escape, text: &str, quotes: bool, out: &mut String) {
    if how == Escape::None {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if quotes => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
}

/// Checks that a key is valid in a tag.
pub(crate) fn check_key(key: &str, loose: bool, limits: &Limits) -> Result<(), RenderError> {
    let refuse = |why: &str| Err(RenderError::at("", format!("is no key that the format can write: it {why}")));
    if key.is_empty() {
        return refuse("is empty");
    }
    if key.len() > limits.name {
        return refuse("is longer than a key may be");
    }
    if key.bytes().any(ends_name) || key.contains(char::is_control) || key.trim() != key {
        return refuse("has a bracket, a quote, a line break or outer white space");
    }
    if key.ends_with('/') || loose && key.contains(['=', '/']) {
        return refuse("has a character that belongs to the tags of the format");
    }
    Ok(())
}
