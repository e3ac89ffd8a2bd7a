//! The flags for a model, found by its id, its folder, its chat template, or another server's name for its format.

use std::path::Path;

use serde::Serialize;
use unspool::Registry;
use unspool::setup::Half;
use unspool_check::names::{self, Found};

use super::json;
use crate::failure::Failure;
use crate::place::Place;

/// The parsers for a model, or for another server's name.
#[derive(Debug, Serialize)]
struct Flags<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    reasoning: Option<String>,
    tools: Option<String>,
    why: Of<Option<String>>,
    also: Of<Vec<String>>,
}

/// A value for each half.
#[derive(Debug, Serialize)]
struct Of<T> {
    reasoning: T,
    tools: T,
}

/// The flags for an alias or a model. A model is an id, a folder, or a file with a chat template. `None`: no format
/// lists it.
pub(super) fn of(registry: &Registry, name: &str, as_json: bool) -> Result<Option<String>, Failure> {
    let alias = |half| {
        let own = registry.alias(half, name)?;
        let why = "another server's name for it".to_owned();
        Some(Found { name: own.to_owned(), why, also: names::alike(registry, half, own) })
    };
    let aliases = [alias(Half::Reasoning), alias(Half::Tools)];
    let is_alias = aliases.iter().any(Option::is_some);
    let found = if is_alias {
        aliases
    } else if Path::new(name).exists() {
        of_place(registry, name)?
    } else {
        [Half::Reasoning, Half::Tools].map(|half| names::of_model(registry, half, name))
    };
    if found.iter().all(Option::is_none) {
        return Ok(None);
    }
    told(name, is_alias, &found, as_json).map(Some)
}

/// Finds the parsers by the files, or by the folder's name if they do not say.
fn of_place(registry: &Registry, path: &str) -> Result<[Option<Found>; 2], Failure> {
    let place = Place::open("--model", Path::new(path), None)?;
    let found = place.with_checkpoint(|checkpoint| {
        [Half::Reasoning, Half::Tools].map(|half| names::of_files(registry, half, &checkpoint))
    });
    if found.iter().any(Option::is_some) {
        return Ok(found);
    }
    let by_name = [Half::Reasoning, Half::Tools].map(|half| names::of_model(registry, half, path));
    if by_name.iter().any(Option::is_some) {
        return Ok(by_name);
    }
    place.with_checkpoint(|checkpoint| registry.detect(Half::Tools, &checkpoint))?;
    Ok(by_name)
}

fn told(name: &str, is_alias: bool, found: &[Option<Found>; 2], as_json: bool) -> Result<String, Failure> {
    let [reasoning, tools] = found;
    if as_json {
        let of_both = |own: fn(&Found) -> String| [reasoning, tools].map(|found| found.as_ref().map(own));
        let [own_reasoning, own_tools] = of_both(|found| found.name.clone());
        let [why_reasoning, why_tools] = of_both(|found| found.why.clone());
        let also = |found: &Option<Found>| found.as_ref().map(|found| found.also.clone()).unwrap_or_default();
        return json(&Flags {
            alias: Some(name).filter(|_| is_alias),
            model: Some(name).filter(|_| !is_alias),
            reasoning: own_reasoning,
            tools: own_tools,
            why: Of { reasoning: why_reasoning, tools: why_tools },
            also: Of { reasoning: also(reasoning), tools: also(tools) },
        });
    }
    let halves = || [Half::Reasoning, Half::Tools].into_iter().zip(found).filter_map(|(h, f)| Some((h, f.as_ref()?)));
    let flags: Vec<String> = halves().map(|(half, found)| format!("{} {}", half.flag(), found.name)).collect();
    let kind = if is_alias { "alias" } else { "model" };
    let mut out = format!("{kind:11}{name}\n{:11}{}\n", "flags", flags.join(" "));
    for (_, found) in halves() {
        out.push_str(&format!("{:11}`{}`: {}\n", "why", found.name, found.why));
    }
    for (half, found) in halves().filter(|(_, found)| !found.also.is_empty()) {
        out.push_str(&format!("{:11}{} {}\n", "the same", half.flag(), found.also.join(", ")));
    }
    Ok(out)
}
