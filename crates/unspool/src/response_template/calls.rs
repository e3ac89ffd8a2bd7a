//! The calls of a region.

use super::spec::Field;
use super::transform::Scope;
use super::value::Val;
use crate::limits::Limits;
use crate::schema::ToolSet;

/// One call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReadCall {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) arguments: String,
    pub(super) complete: bool,
}

/// The contents of a region.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReadRegion {
    pub(super) calls: Vec<ReadCall>,
    /// Text without a place in the calls.
    pub(super) left: Vec<String>,
}

/// How a region ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// With its closer.
    Closed,
    /// With the output, which the model ended.
    Stopped,
    /// With the output, which was cut.
    Cut,
}

/// A region's text.
pub(super) struct RegionText<'a> {
    pub(super) text: &'a str,
    pub(super) captures: &'a [(String, String)],
    pub(super) ending: Ending,
}

/// Reads the calls of a region; `None` if it has none, or one without a name.
pub(super) fn read(field: &Field, region: &RegionText<'_>, tools: &ToolSet, limits: &Limits) -> Option<ReadRegion> {
    let parsed = field.content.read(region.text, region.ending, limits.depth)?;
    let whole = parsed.value.is_whole();
    let mut left: Vec<String> = parsed.left.iter().map(|text| (*text).to_owned()).collect();
    let candidates = candidates(field, &parsed.value, region)?;
    let mut calls = Vec::new();
    for (i, (candidate, content)) in candidates.iter().enumerate() {
        match call(candidate, region, whole) {
            Some(found) => {
                match &found.arguments {
                    None if found.complete => left.extend(strangers(field, content)),
                    // Text that breaks off before or in the arguments may contain more than the call.
                    None => left.push(content.raw()),
                    Some(arguments) => left.extend(arguments.broken_off()),
                }
                calls.push(found);
            }
            // In a list that breaks off before its last call has a name, the earlier calls remain.
            None if !whole && i > 0 && i + 1 == candidates.len() => left.push(candidate.json()),
            None => return None,
        }
    }
    let calls: Vec<ReadCall> = calls.into_iter().map(|found| found.read(tools, limits)).collect();
    (!calls.is_empty()).then_some(ReadRegion { calls, left })
}

/// The possible calls, each with its content.
fn candidates<'a>(field: &'a Field, content: &Val<'a>, region: &RegionText<'a>) -> Option<Vec<(Val<'a>, Val<'a>)>> {
    let own = |value: Val<'a>| (value.clone(), value);
    Some(match &field.transform {
        None => content.elements().unwrap_or_else(|| vec![content.clone()]).into_iter().map(own).collect(),
        Some(shape) if field.each => {
            let fill = |content: Val<'a>| {
                let value = shape.fill(&Scope { captures: region.captures, content: &content, each: true })?;
                Some((value, content))
            };
            content.elements()?.into_iter().filter_map(fill).collect()
        }
        Some(shape) => {
            let value = shape.fill(&Scope { captures: region.captures, content, each: false })?;
            let values = value.elements().unwrap_or_else(|| vec![value]);
            values.into_iter().map(|value| (value, content.clone())).collect()
        }
    })
}

/// The members of an object that do not belong to a call.
fn strangers<'a>(field: &'a Field, content: &'a Val<'_>) -> impl Iterator<Item = String> + 'a {
    let is_known = |key: &&str| match &field.transform {
        Some(shape) => shape.takes(key, field.each),
        None => matches!(*key, "id" | "type" | "function" | "name" | "arguments"),
    };
    let written = |key: &str| Some(format!("\"{key}\": {}", content.member(key)?.json()));
    content.keys().into_iter().filter(move |key| !is_known(key)).filter_map(written)
}

/// A call with untyped arguments.
struct Found<'a> {
    name: String,
    id: Option<String>,
    arguments: Option<Val<'a>>,
    complete: bool,
}

/// A value as a call. `whole`: the region's content is complete.
fn call<'a>(value: &Val<'a>, region: &RegionText<'_>, whole: bool) -> Option<Found<'a>> {
    let function = value.member("function").unwrap_or_else(|| value.clone());
    let name = function.member("name")?.text()?.trim().to_owned();
    if name.is_empty() {
        return None;
    }
    let id = value.member("id").and_then(|id| id.text().map(str::to_owned)).filter(|id| !id.is_empty());
    let arguments = function.member("arguments");
    let complete = match &arguments {
        None => whole,
        Some(Val::Text(text)) if region.ending != Ending::Closed => is_json(text),
        Some(arguments) => arguments.is_whole(),
    };
    Some(Found { name, id, arguments, complete })
}

impl Found<'_> {
    fn read(self, tools: &ToolSet, limits: &Limits) -> ReadCall {
        let arguments = match self.arguments {
            Some(arguments) => arguments.arguments(tools.get(&self.name), limits),
            None if self.complete => "{}".to_owned(),
            None => String::new(),
        };
        ReadCall { name: self.name, id: self.id, arguments, complete: self.complete }
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
