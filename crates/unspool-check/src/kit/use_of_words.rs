//! Checks whether each key of a file has an effect.

use toml::{Table, Value};
use unspool::{Half, Registry};

use super::trial::{Line, Step, Tested};
use crate::diagnose::Outcome;

/// Tables and keys that affect neither parsing nor rendering.
const ASIDE: [&str; 7] = ["names", "models", "note", "pairs", "example", "detect", "extends"];

/// The keys without effect.
pub(super) fn line(base: &Registry, path: &str, text: &str, of: &Tested) -> Line {
    let Ok(table) = text.parse::<Table>() else {
        return Line::new(Step::Words, Outcome::Unknown, "the file is no TOML");
    };
    let mut with = base.clone();
    if with.add(path, text).is_err() {
        return Line::new(Step::Words, Outcome::Unknown, "the file cannot be read");
    }
    let before = resolved(&with, of);
    let (mut idle, mut tried) = (Vec::new(), 0);
    for key in keys(&table) {
        let mut without = table.clone();
        remove(&mut without, &key);
        tried += 1;
        let mut fresh = base.clone();
        // A required key has an effect.
        if fresh.add(path, &without.to_string()).is_ok() && resolved(&fresh, of) == before {
            idle.push(format!("`{}` says what holds without it", key.join(".")));
        }
    }
    let message = match idle.len() {
        0 => format!("each of {tried} makes a difference"),
        count => format!("{} of {tried} make a difference", tried - count),
    };
    Line { details: idle, ..Line::new(Step::Words, Outcome::Pass, message) }
}

/// The file's resolved keys for each name.
fn resolved(registry: &Registry, of: &Tested) -> Vec<Option<unspool::format::file::FormatFile>> {
    let halves = [(Half::Reasoning, &of.reasoning), (Half::Tools, &of.tools)];
    halves.into_iter().flat_map(|(half, names)| names.iter().map(move |name| registry.words(half, name).ok())).collect()
}

/// The keys of a table, with those of its inner tables separately.
fn keys(table: &Table) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    for (key, value) in table.iter().filter(|(key, _)| !ASIDE.contains(&key.as_str()) && *key != "vars") {
        match value {
            Value::Table(inner) if !inner.is_empty() => {
                for (deeper, _) in inner {
                    out.push(vec![key.clone(), deeper.clone()]);
                }
            }
            Value::Array(items) if items.iter().all(Value::is_table) => {}
            _ => out.push(vec![key.clone()]),
        }
    }
    out
}

fn remove(table: &mut Table, key: &[String]) {
    match key {
        [last] => {
            table.remove(last);
        }
        [first, rest @ ..] => {
            if let Some(Value::Table(inner)) = table.get_mut(first) {
                remove(inner, rest);
            }
        }
        [] => {}
    }
}
