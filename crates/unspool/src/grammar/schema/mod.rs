//! JSON schemas in the form that grammars need.

mod explicit;
mod guard;
mod view;
mod weigh;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::limit::Budget;
use crate::error::Error;

pub(super) use explicit::explicit;
pub(super) use guard::guarded;
pub(super) use view::View;

/// Maximum length of a chain of references without other keywords.
const MOST_STEPS: usize = 32;

/// One alternative of a value.
#[derive(Debug, Clone)]
pub(super) enum Branch<'a> {
    /// This value.
    Const(&'a Value),
    /// A string.
    Text(View<'a>),
    /// A value of another type, given by its schema.
    Other(&'static str, View<'a>),
    /// The target of a reference, if those are kept.
    Shared(&'a Value),
    /// Any value.
    Any,
}

/// A schema without references, unions and `allOf` at its top.
#[derive(Debug, Clone)]
pub(super) enum Part<'a> {
    Words(View<'a>),
    /// The target of a reference.
    Shared(&'a Value),
    /// Any value.
    Any,
    /// No value.
    Nothing,
}

/// Any value.
pub(super) static ANY: Value = Value::Bool(true);

/// The JSON types but string.
const TYPES: [&str; 6] = ["null", "integer", "number", "boolean", "object", "array"];

/// A schema inside the root schema of its references.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) root: &'a Value,
    pub(super) schema: &'a Value,
    budget: &'a Budget<'a>,
}

impl<'a> Place<'a> {
    pub(super) fn root(root: &'a Value, budget: &'a Budget<'a>) -> Self {
        Self { root, schema: root, budget }
    }

    pub(super) fn at(self, schema: &'a Value) -> Self {
        Self { schema, ..self }
    }

    /// Any value at all.
    pub(super) fn any(self) -> Self {
        self.at(&ANY)
    }

    /// The target of its references, if it has no other keywords.
    pub(super) fn target(self) -> Self {
        let mut at = self;
        // A cycle of references leads nowhere; a chain this long counts as one.
        for _ in 0..MOST_STEPS {
            let Some(target) = View::of(at.schema).and_then(|view| self.reference(&view)) else { break };
            at = self.at(target);
        }
        at
    }

    /// The reference of a view without other keywords.
    fn reference(self, view: &View<'a>) -> Option<&'a Value> {
        let reference = view.get("$ref").filter(|_| view.len() == 1)?;
        self.resolve(reference.as_str()?)
    }

    fn resolve(self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// The alternatives of a value here.
    pub(super) fn branches(self) -> Result<Vec<Branch<'a>>, Error> {
        self.branches_of(self.alternatives()?)
    }

    fn branches_of(self, parts: Vec<Part<'a>>) -> Result<Vec<Branch<'a>>, Error> {
        let mut out = Vec::new();
        let (mut values, mut views) = (HashSet::new(), HashSet::new());
        for part in parts {
            for branch in branches_of(part) {
                let is_new = match &branch {
                    Branch::Shared(target) => views.insert(("$ref", vec![std::ptr::from_ref(*target).addr()])),
                    Branch::Const(value) => values.insert(*value),
                    Branch::Text(view) => views.insert(("string", view.identity())),
                    Branch::Other(name, view) => views.insert((name, view.identity())),
                    Branch::Any => views.insert(("", Vec::new())),
                };
                self.budget.step(1)?;
                out.extend(is_new.then_some(branch));
            }
        }
        Ok(out)
    }

    /// The schema as one object without references, unions and `allOf` at its top.
    pub(super) fn object(self) -> Result<Option<View<'a>>, Error> {
        let mut all = self.alternatives()?;
        Ok(match (all.len(), all.pop()) {
            (1, Some(Part::Words(view))) => Some(view),
            _ => None,
        })
    }

    /// The possible objects.
    pub(super) fn objects(self) -> Result<Vec<View<'a>>, Error> {
        if let Some(object) = self.object()? {
            return Ok(vec![object]);
        }
        let object = |branch| match branch {
            Branch::Other("object", view) => Some(view),
            _ => None,
        };
        Ok(self.branches()?.into_iter().filter_map(object).collect())
    }

    /// The alternatives of a value here; the target of a reference in a union is an alternative by itself.
    pub(super) fn shared_branches(self) -> Result<Vec<Branch<'a>>, Error> {
        self.branches_of(self.ways(true)?)
    }

    fn alternatives(self) -> Result<Vec<Part<'a>>, Error> {
        self.ways(false)
    }

    /// The alternative schemas, without references, unions and `allOf` at their top. A repeated alternative is examined
    /// once, so the time for nested unions is linear in their size. `shared`: keep references.
    fn ways(self, shared: bool) -> Result<Vec<Part<'a>>, Error> {
        let mut out = Vec::new();
        let mut seen = HashSet::new();
        let mut open = vec![Part::of(self.schema)];
        while let Some(part) = open.pop() {
            let Part::Words(view) = part else {
                out.push(part);
                continue;
            };
            self.budget.step(1 + view.len())?;
            if !seen.insert(view.identity()) {
                continue;
            }
            if let Some(target) = self.reference(&view).filter(|_| shared) {
                out.push(Part::Shared(target));
                continue;
            }
            match self.opened(view)? {
                Unwrapped::Whole(view) => out.push(Part::Words(view)),
                Unwrapped::Into(parts) => open.extend(parts.into_iter().rev()),
            }
        }
        Ok(out)
    }

    /// Resolves the outermost reference, `allOf` or union of a schema.
    fn opened(self, mut view: View<'a>) -> Result<Unwrapped<'a>, Error> {
        if let Some(reference) = view.remove("$ref").and_then(Value::as_str) {
            return Ok(Unwrapped::Into(match self.resolve(reference) {
                Some(target) => vec![Part::both(view, target)],
                None => return Ok(Unwrapped::Whole(view)),
            }));
        }
        if let Some(Value::Array(parts)) = view.remove("allOf") {
            let mut whole = Part::Words(view);
            for part in parts {
                let Part::Words(view) = whole else { break };
                self.budget.step(1 + view.len())?;
                whole = Part::both(view, self.followed(part));
            }
            return Ok(Unwrapped::Into(vec![whole]));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(parts)) = view.remove(key) {
                self.budget.step(parts.len().saturating_mul(1 + view.len()))?;
                // If it has no other keywords, each part is an alternative by itself.
                let each = parts.iter().map(|part| match view.is_empty() {
                    true => Part::of(part),
                    false => Part::both(view.clone(), self.followed(part)),
                });
                return Ok(Unwrapped::Into(each.collect()));
            }
        }
        Ok(Unwrapped::Whole(view))
    }

    /// A part with its reference resolved, so that it can be merged.
    fn followed(self, part: &'a Value) -> &'a Value {
        View::of(part).and_then(|view| self.reference(&view)).unwrap_or(part)
    }
}

/// The result of resolving a schema's outermost reference, `allOf` or union.
enum Unwrapped<'a> {
    /// It had none.
    Whole(View<'a>),
    /// One of these.
    Into(Vec<Part<'a>>),
}

impl<'a> Part<'a> {
    fn of(schema: &'a Value) -> Self {
        match View::of(schema) {
            Some(view) => Self::Words(view),
            None if *schema == Value::Bool(false) => Self::Nothing,
            None => Self::Any,
        }
    }

    fn both(view: View<'a>, other: &'a Value) -> Self {
        view.merged(other).map_or(Self::Nothing, Self::Words)
    }
}

fn branches_of(part: Part<'_>) -> Vec<Branch<'_>> {
    let view = match part {
        Part::Words(view) => view,
        Part::Any => return vec![Branch::Any],
        Part::Shared(target) => return vec![Branch::Shared(target)],
        Part::Nothing => return Vec::new(),
    };
    let mut names = view.types();
    let values = view.values();
    if !values.is_empty() {
        let fits = |v: &&Value| names.is_empty() || names.iter().any(|n| is_of(v, n));
        return values.into_iter().filter(fits).map(Branch::Const).collect();
    }
    if names.is_empty() {
        names.extend(implied(&view));
    }
    if names.is_empty() {
        return vec![Branch::Any];
    }
    if view.get("nullable") == Some(&Value::Bool(true)) && !names.contains(&"null") {
        names.push("null");
    }
    let of_type = |name: &str| match name {
        "string" => Branch::Text(view.clone()),
        name => TYPES.into_iter().find(|t| *t == name).map_or(Branch::Any, |t| Branch::Other(t, view.clone())),
    };
    // A list of types cannot add more than all types.
    names.into_iter().take(2 * TYPES.len()).map(of_type).collect()
}

fn implied(view: &View<'_>) -> Option<&'static str> {
    let has = |keys: &[&str]| keys.iter().any(|k| view.has(k));
    if has(&["properties", "additionalProperties", "patternProperties", "required"]) {
        Some("object")
    } else if has(&["items", "prefixItems"]) {
        Some("array")
    } else {
        None
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(n) => name == "number" || name == "integer" && !n.is_f64(),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// The schema of arguments: an object whatever else it says. An object that lists its members has no others unless it
/// explicitly allows them.
pub(super) fn arguments(schema: &Value) -> Value {
    let mut schema = if schema.is_object() { schema.clone() } else { Value::Object(Map::new()) };
    if let Value::Object(map) = &mut schema
        && !["type", "$ref", "anyOf", "oneOf", "allOf"].iter().any(|k| map.contains_key(*k))
    {
        map.insert("type".to_owned(), "object".into());
    }
    close(&mut schema, true);
    schema
}

/// Any JSON object.
pub(super) fn any_object() -> Value {
    json!({"type": "object"})
}

/// Closes the objects of a schema that list their members and do not mention others; and removes keywords that do not
/// constrain values.
fn close(schema: &mut Value, alone: bool) {
    let Value::Object(map) = schema else { return };
    map.retain(|key, _| view::counts(key) || matches!(key.as_str(), "$defs" | "definitions"));
    let composed = ["allOf", "anyOf", "oneOf", "$ref"].iter().any(|k| map.contains_key(*k));
    for (key, inner) in map.iter_mut() {
        match key.as_str() {
            "properties" | "$defs" | "definitions" | "patternProperties" => {
                inner.as_object_mut().into_iter().flat_map(|m| m.values_mut()).for_each(|s| close(s, true));
            }
            "items" | "additionalProperties" => close(inner, true),
            "prefixItems" | "anyOf" | "oneOf" => {
                inner.as_array_mut().into_iter().flatten().for_each(|s| close(s, alone && !has_members(s)));
            }
            _ => {}
        }
    }
    let open = ["additionalProperties", "patternProperties", "unevaluatedProperties"];
    if alone && !composed && map.contains_key("properties") && !open.iter().any(|k| map.contains_key(*k)) {
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

/// Whether a branch shares its object with the members of others.
fn has_members(schema: &Value) -> bool {
    schema.get("allOf").is_some()
}
