//! Converts untyped text to JSON, with the same rules for all formats.
//!
//! The kinds that the schema allows are tried in a fixed order: null, integer, number, boolean, object, array, string.
//! A text that converts to none of them is JSON if it decodes and a string is not allowed, otherwise it stays a string.
//! Digits are preserved (no float round trip), and JSON inside a text passes through verbatim, including its inner
//! values.

mod guess;
mod json;
mod number;
mod python;

use std::borrow::Cow;

use crate::format::file::Silent;
use crate::schema::{Kinds, Type};

pub(crate) use guess::{Forms, Guess};
pub(crate) use number::is_plain;

/// Maximum length of a text that can be null, a number or a boolean, in bytes.
const LONGEST_SCALAR: usize = 1024;

/// The keys of a format file that affect untyped text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// The type of a text without a type in the schema.
    pub(crate) silent: Silent,
    /// Accept Python literals.
    pub(crate) python: bool,
    /// Maximum nesting of JSON.
    pub(crate) depth: usize,
}

/// The wanted type of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Want<'a> {
    /// JSON according to the model; a string if it is not.
    Json,
    /// By the schema; `None`: it gives no type.
    Schema(Option<&'a Type>),
    /// One of these kinds.
    Kinds(Kinds),
}

/// A converted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Converted<'a> {
    /// A string with this value.
    Text(&'a str),
    /// This JSON text.
    Json(Cow<'a, str>),
    /// This JSON text, from a spelling outside of the format: a Python literal, or a backslash that begins no escape.
    Repaired(Cow<'a, str>),
}

impl Converted<'_> {
    /// Writes the JSON text.
    pub(crate) fn write(&self, write: &mut impl FnMut(&str)) {
        match self {
            Self::Json(json) | Self::Repaired(json) => write(json),
            Self::Text(text) => {
                write("\"");
                crate::json::write::string_piece(text, &mut *write);
                write("\"");
            }
        }
    }
}

/// JSON text, and whether its spelling belongs to the format.
struct Spelled<'a> {
    json: Cow<'a, str>,
    known: bool,
}

impl<'a> Spelled<'a> {
    fn known(json: impl Into<Cow<'a, str>>) -> Self {
        Self { json: json.into(), known: true }
    }

    fn converted(self) -> Converted<'a> {
        if self.known { Converted::Json(self.json) } else { Converted::Repaired(self.json) }
    }
}

/// Converts one text.
pub(crate) fn convert<'a>(text: &'a str, want: Want<'_>, rules: Rules) -> Converted<'a> {
    const NO_STRINGS: &[Box<str>] = &[];
    let (kinds, strings) = match want {
        Want::Json => return any_json(text, Rules { python: false, ..rules }),
        Want::Kinds(kinds) => (kinds, NO_STRINGS),
        Want::Schema(None) => (Kinds::default(), NO_STRINGS),
        Want::Schema(Some(of)) => (of.kinds, &of.strings[..]),
    };
    if kinds.is_empty() {
        return match rules.silent {
            Silent::Text => Converted::Text(text),
            Silent::Json => any_json(text, rules),
        };
    }
    if let Some(spelled) = scalar(text.trim(), kinds, rules).or_else(|| container(text.trim(), kinds, rules)) {
        return spelled.converted();
    }
    if kinds.has(Kinds::STRING) {
        let is_listed = |text: &str| strings.iter().any(|s| **s == *text);
        let trimmed = text.trim();
        return Converted::Text(if is_listed(trimmed) && !is_listed(text) { trimmed } else { text });
    }
    any_json(text, rules)
}

/// The text as an object, if it is one.
pub(crate) fn object(text: &str, rules: Rules) -> Option<Cow<'_, str>> {
    container(text.trim(), Kinds::OBJECT, rules).map(|spelled| spelled.json)
}

/// The JSON text of Python's `0x10`, `0o17` or `0b11`.
pub(crate) fn with_base(text: &str) -> Option<Cow<'_, str>> {
    number::with_base(text)
}

/// Whether a text is spelled like a number, a boolean or null.
pub(crate) fn spells_scalar(text: &str) -> bool {
    let is_number = |b: u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'_' | b'e' | b'E');
    let digits = text.trim_start_matches(['+', '-', '.']);
    digits.bytes().next().is_some_and(|b| b.is_ascii_digit()) && text.bytes().all(is_number)
        || number::with_base(text).is_some()
        || ["null", "true", "false", "none"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn scalar<'a>(text: &'a str, kinds: Kinds, rules: Rules) -> Option<Spelled<'a>> {
    if text.len() > LONGEST_SCALAR {
        return None;
    }
    if kinds.has(Kinds::NULL) {
        let is_none = text == "None";
        if text.eq_ignore_ascii_case("null") || rules.python && is_none {
            return Some(Spelled::known("null"));
        }
        // If no string is allowed it can mean nothing else.
        if is_none && !kinds.has(Kinds::STRING) {
            return Some(Spelled { json: "null".into(), known: false });
        }
    }
    if kinds.has(Kinds::INTEGER)
        && let Some(integer) = number::integer(text)
    {
        return Some(Spelled::known(integer));
    }
    // As with `None`: if no string is allowed, Python's `0x10` can mean nothing else, in any format.
    if kinds.has(Kinds::INTEGER.or(Kinds::NUMBER))
        && (rules.python || !kinds.has(Kinds::STRING))
        && let Some(integer) = number::with_base(text)
    {
        return Some(Spelled { json: integer, known: rules.python });
    }
    if kinds.has(Kinds::NUMBER)
        && let Some(number) = number::number(text)
    {
        return Some(Spelled::known(number));
    }
    if kinds.has(Kinds::BOOLEAN) {
        if text == "1" || text.eq_ignore_ascii_case("true") {
            return Some(Spelled::known("true"));
        }
        if text == "0" || text.eq_ignore_ascii_case("false") {
            return Some(Spelled::known("false"));
        }
    }
    None
}

fn container<'a>(text: &'a str, kinds: Kinds, rules: Rules) -> Option<Spelled<'a>> {
    if !kinds.has(Kinds::OBJECT.or(Kinds::ARRAY)) || !text.starts_with(['{', '[', '(']) {
        return None;
    }
    if let Some(kind) = json::kind(text, rules.depth) {
        return kinds.has(kind).then(|| json::passed_on(text));
    }
    let python::Literal { json, is_pythons } = python::literal(text, rules.depth)?;
    // If no string is allowed, a literal in Python's own spelling is what the model meant, even in a format without
    // such literals.
    if !rules.python && (kinds.has(Kinds::STRING) || !is_pythons) {
        return None;
    }
    let kind = if json.starts_with('{') { Kinds::OBJECT } else { Kinds::ARRAY };
    let fits = kinds.has(kind) && json.starts_with(['{', '[']);
    fits.then_some(Spelled { json: json.into(), known: rules.python })
}

/// Any JSON value, or any Python literal; else a string.
fn any_json(text: &str, rules: Rules) -> Converted<'_> {
    let trimmed = text.trim();
    if let Some(kind) = json::kind(trimmed, rules.depth) {
        let is_number = kind.has(Kinds::INTEGER.or(Kinds::NUMBER));
        if is_number && !(trimmed.len() <= LONGEST_SCALAR && number::is_finite(trimmed)) {
            return Converted::Text(text);
        }
        return json::passed_on(trimmed).converted();
    }
    if rules.python
        && let Some(literal) = python::literal(trimmed, rules.depth)
    {
        return Converted::Json(Cow::Owned(literal.json));
    }
    Converted::Text(text)
}

#[cfg(test)]
mod tests;
