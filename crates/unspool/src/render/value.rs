//! JSON values as written: keys in order, with repeated keys and all digits.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::RenderError;

/// A JSON value, parsed by one level.
#[derive(Debug)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    /// Its digits.
    Number(&'a str),
    String(String),
    Array(Vec<&'a RawValue>),
    Object(Vec<(String, &'a RawValue)>),
}

impl<'a> Json<'a> {
    /// Parses one level of a value.
    pub(super) fn open(raw: &'a RawValue) -> Result<Self, RenderError> {
        let text = raw.get();
        let unreadable = |e: serde_json::Error| RenderError::at("", format!("is not readable JSON: {e}"));
        Ok(match text.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => Self::String(serde_json::from_str(text).map_err(unreadable)?),
            Some(b'[') => Self::Array(serde_json::from_str::<Items<'_>>(text).map_err(unreadable)?.0),
            Some(b'{') => Self::Object(serde_json::from_str::<Members<'_>>(text).map_err(unreadable)?.0),
            _ => Self::Number(text),
        })
    }

    /// Name of its JSON type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }
}

/// Parses the arguments of a call into an object's members, in order.
pub(super) fn arguments(text: &str) -> Result<Vec<(String, &RawValue)>, RenderError> {
    let members: Members<'_> = serde_json::from_str(text)
        .map_err(|e| RenderError::at("", format!("must be the JSON text of an object: {e}")))?;
    Ok(members.0)
}

/// Checks that a call's arguments are the JSON text of an object, nested at most `depth` levels.
pub(super) fn check(text: &str, depth: usize) -> Result<(), RenderError> {
    arguments(text)?;
    if nesting(text) > depth {
        return Err(RenderError::at("", format!("is nested deeper than {depth} levels")));
    }
    Ok(())
}

/// The nesting depth of JSON text.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether a number fits a double. If values are not JSON, a greater one is read as text.
pub(super) fn fits_double(digits: &str) -> bool {
    !digits.contains(['.', 'e', 'E']) || digits.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The first key that occurs twice.
pub(super) fn repeated<'k>(members: &'k [(String, &RawValue)]) -> Option<&'k str> {
    let mut seen = std::collections::HashSet::new();
    members.iter().map(|(key, _)| key.as_str()).find(|key| !seen.insert(*key))
}

/// Whether two JSON texts are the same value: keys in the same order, numbers with the same digits.
pub(super) fn same(one: &RawValue, other: &RawValue) -> bool {
    let (Ok(one), Ok(other)) = (Json::open(one), Json::open(other)) else { return false };
    match (one, other) {
        (Json::Null, Json::Null) => true,
        (Json::Bool(a), Json::Bool(b)) => a == b,
        (Json::Number(a), Json::Number(b)) => a == b,
        (Json::String(a), Json::String(b)) => a == b,
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().zip(&b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => false,
    }
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

struct Items<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Items<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_seq(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_repeats_and_digits_are_kept() {
        let members = arguments("{\"b\": 1.50, \"a\": [1e3, {}], \"b\": null}").unwrap();
        let texts: Vec<_> = members.iter().map(|(k, v)| (k.as_str(), v.get())).collect();
        assert_eq!(texts, [("b", "1.50"), ("a", "[1e3, {}]"), ("b", "null")]);
        assert_eq!(repeated(&members), Some("b"));
    }

    #[test]
    fn what_is_no_object_or_too_deep_is_refused() {
        assert!(check("[1]", 8).is_err());
        assert!(check("{\"a\": 1", 8).is_err());
        assert!(check("{\"a\": \"[[[[[[[[[\"}", 2).is_ok());
        assert!(check("{\"a\": [[1]]}", 2).is_err());
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(check(&deep, 128).is_err());
    }

    #[test]
    fn only_written_floats_can_be_too_great() {
        assert!(fits_double("123456789012345678901234567890"));
        assert!(fits_double("1e308"));
        assert!(!fits_double("-1e999"));
    }
}
