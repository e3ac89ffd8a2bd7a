//! The notations of nested values.

use serde_json::Value;

use super::node::{Avoid, Node};
use super::params::ANY_KEY;
use super::schema::{Place, View};
use super::values::Notation;
use super::{avoid, text};
use crate::error::Error;

/// Python's literals.
pub(super) struct Python {
    /// Closers that end a call directly after its bracket, even in a string.
    pub(super) closers: Vec<String>,
}

impl Python {
    fn quoted(&self, quote: char) -> Node {
        let inner = avoid::behind_bracket(&self.closers, &[quote, '\\', '\n', '\r'], r#"\\[nrt\\'"]"#);
        Node::Regex(format!("{quote}{inner}{quote}"))
    }

    /// Whether a closer follows a bracket in a text.
    fn is_closed_in(&self, text: &str) -> bool {
        let behind = text.split(')').skip(1).map(str::trim_start);
        behind.into_iter().any(|rest| self.closers.iter().any(|closer| rest.starts_with(closer.as_str())))
    }
}

impl Notation for Python {
    fn string(&self, place: Place<'_>, schema: &View<'_>) -> Result<Node, Error> {
        let quoted = |quote: char| {
            let mut avoid = Avoid::nothing().and([quote.to_string().as_str(), "\\", "\n", "\r"]);
            if !self.closers.is_empty() {
                avoid = avoid.and([")"]);
            }
            Ok::<_, Error>(match text::bounded(place, schema, &avoid)? {
                Some(expression) => Node::Regex(format!("{quote}(?:{expression}){quote}")),
                None => self.quoted(quote),
            })
        };
        Ok(Node::choice([quoted('\'')?, quoted('"')?]))
    }

    fn word(&self, word: &'static str) -> Node {
        Node::text(match word {
            "null" => "None",
            "true" => "True",
            _ => "False",
        })
    }

    fn constant(&self, value: &Value) -> Option<Node> {
        let text = python(value);
        (!self.is_closed_in(&text)).then(|| Node::text(text))
    }

    fn key(&self, key: &str) -> Option<Node> {
        Some(Node::text(format!("{}: ", python(&Value::from(key)))))
    }

    fn any_key(&self) -> Node {
        Node::sequence([self.quoted('\''), Node::text(": ")])
    }

    fn comma(&self) -> &'static str {
        ", "
    }
}

/// A value in Python's notation.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(n) => n.to_string(),
        Value::String(text) => {
            let inner: String = text
                .chars()
                .map(|c| match c {
                    '\\' => r"\\".to_owned(),
                    '\'' => r"\'".to_owned(),
                    '\n' => r"\n".to_owned(),
                    '\r' => r"\r".to_owned(),
                    '\t' => r"\t".to_owned(),
                    c if c.is_ascii_control() => format!(r"\x{:02x}", u32::from(c)),
                    c => c.to_string(),
                })
                .collect();
            format!("'{inner}'")
        }
        Value::Array(items) => format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members = members.iter().map(|(k, v)| format!("{}: {}", python(&Value::from(k.as_str())), python(v)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Python's keyword arguments: names as keys, literals as values.
pub(super) fn keyword(key: &str) -> Option<Node> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_keyword = key.starts_with(|c: char| c.is_alphabetic() || c == '_') && key.chars().all(is_word);
    is_keyword.then(|| Node::text(format!("{key}=")))
}

/// Gemma's literals.
pub(super) struct Gemma<'a> {
    pub(super) open: &'a str,
    pub(super) close: &'a str,
    /// Literals that a string must not contain, besides its delimiters.
    pub(super) avoid: Avoid,
}

impl Gemma<'_> {
    fn delimiters(&self) -> Avoid {
        self.avoid.clone().and([self.open, self.close])
    }

    fn text(&self, value: &Value) -> Option<String> {
        Some(match value {
            Value::String(text) if self.delimiters().literals.iter().any(|l| text.contains(l.as_str())) => return None,
            Value::String(text) => format!("{}{text}{}", self.open, self.close),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|i| self.text(i)).collect::<Option<_>>()?;
                format!("[{}]", items.join(","))
            }
            Value::Object(members) => {
                let member = |(k, v): (&String, &Value)| Some(format!("{}{}", plain_key(k)?, self.text(v)?));
                format!("{{{}}}", members.iter().map(member).collect::<Option<Vec<_>>>()?.join(","))
            }
            other => other.to_string(),
        })
    }
}

impl Notation for Gemma<'_> {
    fn string(&self, place: Place<'_>, schema: &View<'_>) -> Result<Node, Error> {
        let text = match text::bounded(place, schema, &self.delimiters())? {
            Some(expression) => Node::sequence([Node::Regex(expression), Node::text(self.close)]),
            None => Node::Until { without: self.delimiters().but(&[self.close]), end: self.close.to_owned() },
        };
        Ok(Node::sequence([Node::text(self.open), text]))
    }

    fn constant(&self, value: &Value) -> Option<Node> {
        self.text(value).map(Node::text)
    }

    fn key(&self, key: &str) -> Option<Node> {
        plain_key(key).map(Node::text)
    }

    fn any_key(&self) -> Node {
        Node::sequence([Node::Regex(ANY_KEY.to_owned()), Node::text(":")])
    }

    fn comma(&self) -> &'static str {
        ","
    }
}

pub(super) fn plain_key(key: &str) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$');
    (!key.is_empty() && key.chars().all(plain)).then(|| format!("{key}:"))
}
