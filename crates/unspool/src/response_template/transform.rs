//! How a template builds a value from captures and content.

use std::borrow::Cow;

use serde_json::Value;

use crate::explanation::Explanation;

use super::value::Val;

/// The shape of a value, with slots.
#[derive(Debug)]
pub(super) enum Shape {
    /// `{name}` or `{name.key…}`.
    Slot(String, Vec<String>),
    /// A constant of the template.
    Fixed(Value),
    List(Vec<Shape>),
    Map(Vec<(String, Shape)>),
}

/// The names for slots.
pub(super) struct Scope<'s, 'a> {
    pub(super) captures: &'a [(String, String)],
    pub(super) content: &'s Val<'a>,
    /// The names are those of the content's members, not of the content.
    pub(super) each: bool,
}

impl<'a> Scope<'_, 'a> {
    fn value(&self, name: &str, path: &[String]) -> Option<Val<'a>> {
        let captured = self.captures.iter().find(|(n, _)| n == name).map(|(_, text)| Val::Text(text.as_str()));
        let mut value = match captured {
            Some(value) => value,
            None if self.each => self.content.member(name)?,
            None if name == "content" => self.content.clone(),
            None => return None,
        };
        for key in path {
            value = value.member(key)?;
        }
        Some(value)
    }
}

impl Shape {
    /// Parses a transform. `groups`: the names of the patterns' captures.
    pub(super) fn parse(value: &Value, at: &str, groups: &[String], each: bool) -> Result<Self, Explanation> {
        match value {
            Value::Object(map) => {
                let member =
                    |(key, value)| Ok((String::clone(key), Self::parse(value, &format!("{at}.{key}"), groups, each)?));
                map.iter().map(member).collect::<Result<_, Explanation>>().map(Self::Map)
            }
            Value::Array(list) => {
                let item = |(i, value)| Self::parse(value, &format!("{at}[{i}]"), groups, each);
                list.iter().enumerate().map(item).collect::<Result<_, Explanation>>().map(Self::List)
            }
            Value::String(text) => Self::from_text(text, at, groups, each),
            other => Ok(Self::Fixed(other.clone())),
        }
    }

    fn from_text(text: &str, at: &str, groups: &[String], each: bool) -> Result<Self, Explanation> {
        if let Some((name, path)) = slot(text) {
            if !each && name != "content" && !groups.contains(&name) {
                return Err(Explanation::new(
                    format!("{at}: `{{{name}}}` names nothing"),
                    "slots are `{content}` and the named groups of the field's patterns",
                ));
            }
            return Ok(Self::Slot(name, path));
        }
        let has_slot = text
            .match_indices('{')
            .any(|(i, _)| text[i..].find('}').is_some_and(|end| slot(&text[i..=i + end]).is_some()));
        if has_slot {
            return Err(Explanation::new(
                format!("{at}: a slot must be the whole text"),
                "write `\"{name}\"` without text around it",
            ));
        }
        Ok(Self::Fixed(Value::String(text.to_owned())))
    }

    /// Whether a slot uses this member of the content; the entire content counts as every member.
    pub(super) fn takes(&self, key: &str, each: bool) -> bool {
        match self {
            Self::Slot(name, _) if each => name == key,
            Self::Slot(name, path) => name == "content" && path.first().is_none_or(|first| first == key),
            Self::Fixed(_) => false,
            Self::List(items) => items.iter().any(|item| item.takes(key, each)),
            Self::Map(members) => members.iter().any(|(_, item)| item.takes(key, each)),
        }
    }

    /// Fills the slots. Omits members with an empty slot.
    pub(super) fn fill<'a>(&'a self, scope: &Scope<'_, 'a>) -> Option<Val<'a>> {
        match self {
            Self::Slot(name, path) => scope.value(name, path),
            Self::Fixed(value) => Some(Val::Fixed(value)),
            Self::List(items) => Some(Val::List(items.iter().filter_map(|item| item.fill(scope)).collect())),
            Self::Map(members) => {
                let filled = members.iter().filter_map(|(key, v)| Some((Cow::Borrowed(key.as_str()), v.fill(scope)?)));
                Some(Val::Map { members: filled.collect(), whole: true })
            }
        }
    }
}

/// The name and path of a text that is a slot.
fn slot(text: &str) -> Option<(String, Vec<String>)> {
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let is_word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let mut parts = inside.split('.').map(str::to_owned);
    let name = parts.next().filter(|name| is_word(name) && !name.starts_with(|c: char| c.is_ascii_digit()))?;
    let path: Vec<String> = parts.collect();
    path.iter().all(|part| is_word(part)).then_some((name, path))
}
