//! Templates: the exact text that a chat template writes, with slots for what varies.

use std::fmt;

use crate::suggest::{did_you_mean, near};

/// A slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Slot {
    /// The text of a thought.
    Thought,
    /// The text of the answer.
    Content,
    /// One or more calls.
    Calls,
    /// Name of the function.
    Name,
    /// Id of the call.
    Id,
    /// Position of the call, from 0.
    Index,
    /// Position of the call, from 1.
    Number,
    /// Name of a parameter.
    Key,
    /// JSON type of a value.
    Type,
    /// `true` if the value is a string, else `false`.
    String,
    /// A parameter's value.
    Value,
    /// JSON object(s) around name and arguments.
    Envelope,
    /// Arguments as raw JSON.
    Json,
    /// Flat parameters.
    Params,
    /// Nested elements.
    Elements,
    /// Python keyword arguments.
    Kwargs,
    /// Gemma literals.
    Literals,
}

const SLOTS: &[(&str, Slot)] = &[
    ("thought", Slot::Thought),
    ("content", Slot::Content),
    ("calls", Slot::Calls),
    ("name", Slot::Name),
    ("id", Slot::Id),
    ("index", Slot::Index),
    ("number", Slot::Number),
    ("key", Slot::Key),
    ("type", Slot::Type),
    ("string", Slot::String),
    ("value", Slot::Value),
    ("envelope", Slot::Envelope),
    ("json", Slot::Json),
    ("params", Slot::Params),
    ("elements", Slot::Elements),
    ("kwargs", Slot::Kwargs),
    ("literals", Slot::Literals),
];

impl Slot {
    /// The slot of this name in a template.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        SLOTS.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
    }

    /// The name that a template writes between braces.
    #[must_use]
    pub fn name(self) -> &'static str {
        SLOTS.iter().find(|(_, s)| *s == self).map_or("", |(n, _)| n)
    }

    /// Whether an argument syntax takes over in this slot.
    #[must_use]
    pub fn is_body(self) -> bool {
        matches!(self, Self::Envelope | Self::Json | Self::Params | Self::Elements | Self::Kwargs | Self::Literals)
    }
}

/// One part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Literal text, white space included.
    Text(String),
    /// A slot.
    Slot(Slot),
    /// `{?text}`: an optional part of the marker.
    Optional(String),
    /// `{*text}`: any short text; the renderer writes `text`.
    Free(String),
    /// ` a="{slot}" b="{slot}"`: attributes of a tag, without surrounding white space.
    Attrs(Vec<(String, Slot)>),
}

/// A template, parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    /// Its parts in order. Neighbouring parts are never both text.
    pub parts: Vec<Part>,
}

/// Why a template is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// The error, in one sentence.
    pub message: String,
    /// How to fix it, if known.
    pub hint: Option<String>,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// An unknown slot, or a brace that is not closed.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = source;
        while let Some(open) = rest.find('{') {
            push_text(&mut parts, &rest[..open]);
            let after = &rest[open + 1..];
            let Some(close) = after.find('}') else {
                let message = format!("`{{` without `}}` in template {source:?}");
                return Err(TemplateError { message, hint: None });
            };
            let inner = &after[..close];
            rest = &after[close + 1..];
            if let Some(text) = inner.strip_prefix('?') {
                parts.push(Part::Optional(text.to_owned()));
            } else if let Some(text) = inner.strip_prefix('*') {
                parts.push(Part::Free(text.to_owned()));
            } else if let Some(slot) = Slot::named(inner) {
                rest = push_slot(&mut parts, slot, rest);
            } else {
                let message = format!("unknown slot `{{{inner}}}` in template {source:?}");
                let hint = did_you_mean(&near(inner, SLOTS.iter().map(|(name, _)| *name)));
                return Err(TemplateError { message, hint });
            }
        }
        push_text(&mut parts, rest);
        Ok(Self { parts })
    }

    /// The position of the first part that is this slot.
    #[must_use]
    pub fn position(&self, wanted: impl Fn(Slot) -> bool) -> Option<usize> {
        self.parts.iter().position(|p| matches!(p, Part::Slot(s) if wanted(*s)))
    }

    /// The body slot, if the template has one.
    #[must_use]
    pub fn body(&self) -> Option<Slot> {
        self.parts.iter().find_map(|p| match p {
            Part::Slot(s) if s.is_body() => Some(*s),
            _ => None,
        })
    }

    /// Whether the template has this slot, attributes included.
    #[must_use]
    pub fn has(&self, slot: Slot) -> bool {
        self.parts.iter().any(|p| match p {
            Part::Slot(s) => *s == slot,
            Part::Attrs(attrs) => attrs.iter().any(|(_, s)| *s == slot),
            _ => false,
        })
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    if text.is_empty() {
        return;
    }
    if let Some(Part::Text(last)) = parts.last_mut() {
        last.push_str(text);
    } else {
        parts.push(Part::Text(text.to_owned()));
    }
}

/// Adds a slot; `a="{slot}"` becomes an attribute. Returns the rest.
fn push_slot<'a>(parts: &mut Vec<Part>, slot: Slot, rest: &'a str) -> &'a str {
    if let (Some(Part::Text(before)), Some(after)) = (parts.last_mut(), rest.strip_prefix('"'))
        && let Some(header) = before.strip_suffix("=\"")
    {
        let start = header.rfind(|c: char| c.is_whitespace()).map_or(0, |i| i + 1);
        let attr = (header[start..].to_owned(), slot);
        let kept = header[..start].trim_end().to_owned();
        if kept.is_empty() {
            parts.pop();
        } else {
            *before = kept;
        }
        if let Some(Part::Attrs(attrs)) = parts.last_mut() {
            attrs.push(attr);
        } else {
            parts.push(Part::Attrs(vec![attr]));
        }
        return after;
    }
    parts.push(Part::Slot(slot));
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_become_one_part() {
        let t = Template::parse("<|open|>call tool=\"{name}\" index=\"{number}\"<|sep|>{params}<|close|>").unwrap();
        assert_eq!(
            t.parts,
            vec![
                Part::Text("<|open|>call".into()),
                Part::Attrs(vec![("tool".into(), Slot::Name), ("index".into(), Slot::Number)]),
                Part::Text("<|sep|>".into()),
                Part::Slot(Slot::Params),
                Part::Text("<|close|>".into()),
            ]
        );
    }

    #[test]
    fn an_unknown_slot_is_an_error() {
        assert!(Template::parse("<a>{nmae}</a>").unwrap_err().message.contains("nmae"));
    }
}
