//! Sets of JSON kinds.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A set of kinds of JSON value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kinds(u8);

/// In the order in which the parser tries them.
const NAMES: [(&str, Kinds); 8] = [
    ("null", Kinds::NULL),
    ("integer", Kinds::INTEGER),
    ("number", Kinds::NUMBER),
    ("boolean", Kinds::BOOLEAN),
    ("object", Kinds::OBJECT),
    ("array", Kinds::ARRAY),
    ("string", Kinds::STRING),
    ("any", Kinds::ANY),
];

impl Kinds {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const INTEGER: Self = Self(2);
    pub(crate) const NUMBER: Self = Self(4);
    pub(crate) const BOOLEAN: Self = Self(8);
    pub(crate) const OBJECT: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const STRING: Self = Self(64);
    /// A type whose name is unknown in JSON Schema: any JSON.
    pub(crate) const ANY: Self = Self(128);

    /// Whether the schema gives no type.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set has at least one of these kinds.
    pub(crate) fn has(self, kinds: Self) -> bool {
        self.0 & kinds.0 != 0
    }

    /// Whether the set has more than one kind.
    pub(crate) fn several(self) -> bool {
        self.0.count_ones() > 1
    }

    /// The kinds of both sets.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The kinds that both sets allow. An empty set allows all. If the sets exclude each other, the schema is wrong,
    /// and either will do. `null` stays: `["string", "null"]` with an `enum` of strings means it.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        if self.is_empty() || other == Self::ANY {
            return if self.is_empty() { other } else { self };
        }
        if other.is_empty() || self == Self::ANY {
            return if other.is_empty() { self } else { other };
        }
        let with_integers = |k: Self| if k.has(Self::NUMBER) { k.or(Self::INTEGER) } else { k };
        let mut both = Self(with_integers(self).0 & with_integers(other).0);
        if both.has(Self::NUMBER) && !(self.has(Self::INTEGER) || other.has(Self::INTEGER)) {
            both = Self(both.0 & !Self::INTEGER.0);
        }
        if both.is_empty() { self.or(other) } else { Self(both.0 | ((self.0 | other.0) & Self::NULL.0)) }
    }

    /// The kind for a type's name; understands names of other languages.
    pub(crate) fn named(name: &str) -> Self {
        let name = name.trim().to_ascii_lowercase();
        let begins = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
        match name.as_str() {
            "null" | "none" | "nonetype" | "nil" | "void" => Self::NULL,
            "str" | "string" | "text" | "char" | "varchar" => Self::STRING,
            "object" | "dict" | "map" | "mapping" | "struct" | "record" => Self::OBJECT,
            "array" | "list" | "tuple" | "set" | "sequence" => Self::ARRAY,
            _ if begins(&["bool"]) => Self::BOOLEAN,
            _ if name != "interval" && begins(&["int", "uint", "long", "short", "unsigned"]) => Self::INTEGER,
            _ if begins(&["num", "float", "double", "decimal"]) => Self::NUMBER,
            _ if begins(&["dict", "map<", "map["]) => Self::OBJECT,
            _ if begins(&["list", "array", "tuple"]) => Self::ARRAY,
            _ => Self::ANY,
        }
    }

    /// The kind of a JSON value.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(n) if n.is_f64() => Self::NUMBER,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (name, kind) in NAMES {
            if self.has(kind) {
                write!(f, "{}{name}", if first { "" } else { "|" })?;
                first = false;
            }
        }
        Ok(())
    }
}
