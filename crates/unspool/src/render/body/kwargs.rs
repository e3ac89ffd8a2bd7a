//! Python keyword arguments.

use serde_json::value::RawValue;

use crate::limits::Limits;

use super::super::RenderError;
use super::super::value::{Json, fits_double};
use super::Members;

/// Writes `port='Looe', days=3`.
pub(super) fn write(limits: &Limits, arguments: &Members<'_>, out: &mut String) -> Result<(), RenderError> {
    for (i, (key, value)) in arguments.iter().enumerate() {
        check_keyword(key, limits).map_err(|e| e.inside(key))?;
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(key);
        out.push('=');
        literal(value, out).map_err(|e| e.inside(key))?;
    }
    Ok(())
}

fn check_keyword(key: &str, limits: &Limits) -> Result<(), RenderError> {
    if key.len() > limits.name {
        return Err(RenderError::at("", "is longer than a key may be"));
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if key.starts_with(|c: char| c.is_alphabetic() || c == '_') && key.chars().all(is_word) {
        return Ok(());
    }
    Err(RenderError::at("", "is no keyword that Python could write"))
}

/// Writes a value as a Python literal.
fn literal(raw: &RawValue, out: &mut String) -> Result<(), RenderError> {
    match Json::open(raw)? {
        Json::Null => out.push_str("None"),
        Json::Bool(value) => out.push_str(if value { "True" } else { "False" }),
        Json::Number(digits) if fits_double(digits) => out.push_str(digits),
        Json::Number(_) => return Err(RenderError::at("", "is a number beyond a double, which is read as text")),
        Json::String(text) => quoted(&text, out),
        Json::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                literal(item, out).map_err(|e| e.inside(&format!("[{i}]")))?;
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (i, (key, value)) in members.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                quoted(key, out);
                out.push_str(": ");
                literal(value, out).map_err(|e| e.inside(key))?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// Writes a string as Python's `repr` does: in single quotes unless it has some and no double ones.
fn quoted(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c == quote => {
                out.push('\\');
                out.push(c);
            }
            _ if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(json: &str) -> String {
        let mut out = String::new();
        write(&Limits::default(), &super::super::super::value::arguments(json).unwrap(), &mut out).unwrap();
        out
    }

    #[test]
    fn values_are_python_literals() {
        assert_eq!(
            written("{\"a\": [true, null, -1.50, 1e3], \"b\": {\"k\": {}}, \"c\": []}"),
            "a=[True, None, -1.50, 1e3], b={'k': {}}, c=[]"
        );
    }

    #[test]
    fn strings_are_quoted_as_python_does() {
        assert_eq!(written(r#"{"a": "it's \\ so"}"#), r#"a="it's \\ so""#);
        assert_eq!(written(r#"{"a": "it's \"so\""}"#), r#"a='it\'s "so"'"#);
        assert_eq!(written(r#"{"a": "one\ntwo\u0001"}"#), r"a='one\ntwo\x01'");
    }

    #[test]
    fn what_python_has_no_literal_for_is_refused() {
        for json in ["{\"a-b\": 1}", "{\"1a\": 1}", "{\"a\": [1e999]}", "{\"a\": \"\\ud800\"}"] {
            let arguments = super::super::super::value::arguments(json).unwrap();
            assert!(write(&Limits::default(), &arguments, &mut String::new()).is_err(), "{json}");
        }
    }
}
