//! Values of a region, built by the template from its content and captures.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value;

use super::json::{Node, NodeKind};
use crate::format::file::Silent;
use crate::json::write;
use crate::limits::Limits;
use crate::schema::FunctionSchema;
use crate::typing::{Rules, Want, convert};

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Val<'a> {
    /// Text without a type.
    Text(&'a str),
    /// JSON that the model wrote, and the text that contains it.
    Json(Rc<Node>, &'a str),
    /// A constant of the template.
    Fixed(&'a Value),
    /// JSON text from elsewhere.
    Given(Cow<'a, str>),
    List(Vec<Val<'a>>),
    /// An object; `whole` if it is complete.
    Map {
        members: Vec<(Cow<'a, str>, Val<'a>)>,
        whole: bool,
    },
}

impl<'a> Val<'a> {
    /// A member of an object.
    pub(super) fn member(&self, key: &str) -> Option<Self> {
        match self {
            Self::Json(node, text) => node.member(key).map(|node| Self::Json(node, text)),
            Self::Map { members, .. } => members.iter().rev().find(|(name, _)| name == key).map(|(_, v)| v.clone()),
            _ => None,
        }
    }

    /// The elements of a list.
    pub(super) fn elements(&self) -> Option<Vec<Self>> {
        match self {
            Self::List(items) => Some(items.clone()),
            Self::Json(node, text) => match &node.kind {
                NodeKind::List(items) => Some(items.iter().map(|node| Self::Json(node.clone(), text)).collect()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The text of a complete string.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(node, _) => match &node.kind {
                NodeKind::Text(text) if node.complete => Some(text),
                _ => None,
            },
            Self::Fixed(value) => value.as_str(),
            _ => None,
        }
    }

    /// The names of an object's members.
    pub(super) fn keys(&self) -> Vec<&str> {
        match self {
            Self::Json(node, _) => node.keys(),
            Self::Map { members, .. } => members.iter().map(|(name, _)| &**name).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether it is complete.
    pub(super) fn is_whole(&self) -> bool {
        match self {
            Self::Text(_) | Self::Fixed(_) | Self::Given(_) => true,
            Self::Json(node, _) => node.complete,
            Self::List(items) => items.iter().all(Val::is_whole),
            Self::Map { members, whole } => *whole && members.iter().all(|(_, v)| v.is_whole()),
        }
    }

    /// The model's text, if known.
    pub(super) fn raw(&self) -> String {
        match self {
            Self::Json(node, text) => text.get(node.span.clone()).unwrap_or_default().to_owned(),
            other => other.json(),
        }
    }

    /// The model's text, if it breaks off and its JSON text contains less.
    pub(super) fn broken_off(&self) -> Option<String> {
        match self {
            Self::Json(node, _) if !node.complete && !node.plain => Some(self.raw()),
            _ => None,
        }
    }

    /// The JSON text; untyped text is a string.
    pub(super) fn json(&self) -> String {
        match self {
            Self::Text(text) => {
                let mut out = String::new();
                write::string(&mut out, text);
                out
            }
            Self::Json(node, text) => node.json(text),
            Self::Fixed(value) => value.to_string(),
            Self::Given(json) => json.to_string(),
            Self::List(items) => format!("[{}]", items.iter().map(Val::json).collect::<Vec<_>>().join(", ")),
            Self::Map { .. } => self.arguments(None, &Limits::default()),
        }
    }

    /// The JSON text of arguments. Untyped members of an object are converted by the schema; a string as arguments
    /// passes through verbatim.
    pub(super) fn arguments(&self, schema: Option<&FunctionSchema>, limits: &Limits) -> String {
        let Self::Map { members, whole } = self else {
            return match self.text() {
                Some(text) if text.trim().is_empty() => "{}".to_owned(),
                Some(text) => text.to_owned(),
                None => match self.json() {
                    json if json == "null" => "{}".to_owned(),
                    json => json,
                },
            };
        };
        let mut out = String::from("{");
        for (i, (key, value)) in members.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            write::string(&mut out, key);
            out.push_str(": ");
            value.typed(&mut out, schema, key, limits);
        }
        if *whole {
            out.push('}');
        }
        out
    }

    /// Writes a member's JSON text.
    fn typed(&self, out: &mut String, schema: Option<&FunctionSchema>, key: &str, limits: &Limits) {
        let rules = Rules { silent: Silent::Text, python: false, depth: limits.depth };
        let of = schema.and_then(|schema| schema.get(schema.parameter(key)?));
        match self {
            Self::Text(text) => convert(text, Want::Schema(of), rules).write(&mut |piece| out.push_str(piece)),
            Self::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    let item_of = of.map(|of| of.item(i).and_then(|id| schema?.get(id)).unwrap_or(of));
                    match item {
                        Self::Text(text) => {
                            convert(text, Want::Schema(item_of), rules).write(&mut |piece| out.push_str(piece));
                        }
                        other => out.push_str(&other.json()),
                    }
                }
                out.push(']');
            }
            other => out.push_str(&other.json()),
        }
    }
}
