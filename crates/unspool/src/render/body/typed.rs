//! How the reader types untyped text.

use serde_json::value::RawValue;

use crate::format::file::Silent;
use crate::limits::Limits;
use crate::schema::{FunctionSchema, Kinds, Type, TypeId};
use crate::typing::{Converted, Rules, Want, convert};

use super::super::RenderError;
use super::super::value::{Json, same};

/// A place in a function's schema.
#[derive(Clone, Copy)]
pub(super) struct Typed<'a> {
    schema: Option<&'a FunctionSchema>,
    id: Option<TypeId>,
}

impl<'a> Typed<'a> {
    /// The place of a parameter.
    pub(super) fn parameter(schema: Option<&'a FunctionSchema>, key: &str) -> Self {
        Self { schema, id: schema.and_then(|s| s.parameter(key)) }
    }

    /// The schema's type there.
    pub(super) fn of(self) -> Option<&'a Type> {
        self.schema?.get(self.id?)
    }

    /// The place of an object's member.
    pub(super) fn member(self, key: &str) -> Self {
        Self { id: self.of().and_then(|t| t.member(key)), ..self }
    }

    /// The place of a list's item.
    pub(super) fn item(self, index: usize) -> Self {
        Self { id: self.of().and_then(|t| t.item(index)), ..self }
    }

    /// The kinds that the schema allows there.
    pub(super) fn kinds(self) -> Kinds {
        self.of().map(|t| t.kinds).unwrap_or_default()
    }

    /// The type that the reader expects there.
    pub(super) fn want(self) -> Want<'a> {
        Want::Schema(self.of())
    }
}

/// The rules of conversion.
pub(super) fn rules(silent: Silent, python: bool, limits: &Limits) -> Rules {
    Rules { silent, python, depth: limits.depth }
}

/// Checks that `text`, written for `raw`, is read back as that value.
pub(super) fn check(text: &str, raw: &RawValue, want: Want<'_>, rules: Rules) -> Result<(), RenderError> {
    let value = Json::open(raw)?;
    let read = convert(text, want, rules);
    let fits = match (&read, &value) {
        (Converted::Text(read), Json::String(meant)) => read == meant,
        (Converted::Text(_), _) => false,
        (Converted::Json(json) | Converted::Repaired(json), _) => {
            serde_json::from_str::<&RawValue>(json).is_ok_and(|json| same(json, raw))
        }
    };
    if fits {
        return Ok(());
    }
    let became = match read {
        Converted::Text(text) => format!("the text {text:?}"),
        Converted::Json(json) | Converted::Repaired(json) => json.into_owned(),
    };
    let why = format!("is a {} that the format's untyped text cannot say: it is read as {became}", value.type_name());
    Err(RenderError::at("", why))
}
