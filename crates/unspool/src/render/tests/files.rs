//! The built-in format files.

use std::path::Path;

use serde_json::Map;
use toml::{Table, Value};

use crate::format::file::FormatFile;

/// The file of a name, its variants and variables applied.
pub(super) fn named(half: &str, name: &str, kwargs: &Map<String, serde_json::Value>) -> FormatFile {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../formats");
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let mut table: Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        let names = table.get("names").and_then(|n| n.get(half));
        if !names.and_then(Value::as_array).is_some_and(|n| n.iter().any(|n| n.as_str() == Some(name))) {
            continue;
        }
        for variant in table.remove("variant").and_then(|v| v.as_array().cloned()).unwrap_or_default() {
            if let Value::Table(variant) = variant
                && holds(&variant, name, kwargs)
            {
                merge(&mut table, variant);
            }
        }
        return words(table).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    panic!("no format has the {half} name {name:?}")
}

fn words(mut table: Table) -> Result<FormatFile, toml::de::Error> {
    for (name, value) in table.remove("vars").and_then(|v| v.as_table().cloned()).unwrap_or_default() {
        let text = value.as_str().unwrap_or_default().to_owned();
        replace(&mut Value::Table(table.clone()), &name, &text, &mut table);
    }
    if let Some(tools) = table.get_mut("tools").and_then(Value::as_table_mut) {
        tools.remove("bare_call");
    }
    table.try_into()
}

/// Replaces a variable in all texts.
fn replace(value: &mut Value, name: &str, text: &str, out: &mut Table) {
    fn walk(value: &mut Value, pattern: &str, text: &str) {
        match value {
            Value::String(s) => *s = s.replace(pattern, text),
            Value::Array(a) => a.iter_mut().for_each(|v| walk(v, pattern, text)),
            Value::Table(t) => t.iter_mut().for_each(|(_, v)| walk(v, pattern, text)),
            _ => {}
        }
    }
    walk(value, &format!("{{{name}}}"), text);
    if let Value::Table(table) = value {
        *out = table.clone();
    }
}

/// Whether a variant's conditions hold, those on the checkpoint apart: nothing is known of it here.
fn holds(variant: &Table, name: &str, kwargs: &Map<String, serde_json::Value>) -> bool {
    let named = variant
        .get("names")
        .and_then(Value::as_array)
        .is_none_or(|names| names.iter().any(|n| n.as_str() == Some(name)));
    let Some(when) = variant.get("when").and_then(Value::as_table) else { return named };
    let asked = when.get("kwarg").and_then(Value::as_table);
    named
        && when.len() == 1
        && asked.is_some_and(|w| w.iter().all(|(k, v)| kwargs.get(k).and_then(|g| g.as_str()) == v.as_str()))
}

fn merge(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (_, _) if key == "names" || key == "when" => {}
            (Some(Value::Table(a)), Value::Table(b)) => merge(a, b),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}
