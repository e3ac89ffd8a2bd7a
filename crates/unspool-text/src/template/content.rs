//! Detects the content format of a template from its text, by vLLM's rules: a template that loops over
//! `message.content` takes a list of parts, any other takes text. Assignments, slices, filters and macro parameters are
//! followed by name, ignoring scopes.

use std::collections::HashMap;

use minijinja::machinery;
use minijinja::syntax::SyntaxConfig;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form in which a template reads message content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContentFormat {
    /// As text; the text parts of a list are joined by line breaks.
    #[default]
    String,
    /// As a list of parts.
    OpenAi,
}

/// The format that a template reads; text, if unknown.
pub(super) fn format(source: &str, syntax: SyntaxConfig) -> ContentFormat {
    let tree = machinery::parse(source, "chat_template", syntax).ok().and_then(|tree| serde_json::to_value(&tree).ok());
    match tree.as_ref().map(loops_over_content) {
        Some(Ok(true)) => ContentFormat::OpenAi,
        _ => ContentFormat::String,
    }
}

/// An assignment target that is not a plain name: vLLM then gives up.
struct Lost;

fn loops_over_content(tree: &Value) -> Result<bool, Lost> {
    let lists = aliases(tree, "messages")?;
    let loops = all(tree, "stmt", "ForLoop");
    let mut messages = Vec::new();
    for looped in &loops {
        if lists.iter().any(|name| reads(&looped["iter"], name, None)) {
            messages.push(variable(&looped["target"]).ok_or(Lost)?);
        }
    }
    let is_content = |expr: &Value| messages.iter().any(|name| reads(expr, name, Some("content")));
    let in_macros = macro_loops(tree, &is_content);
    for looped in &loops {
        let iter = variable(&looped["iter"]);
        let bound = in_macros.get(&place(looped));
        let by_name = iter.is_some_and(|name| match bound {
            Some(parameters) => parameters.contains(&name),
            None => name == "content",
        });
        if is_content(&looped["iter"]) || by_name {
            return variable(&looped["target"]).map(|_| true).ok_or(Lost);
        }
    }
    Ok(false)
}

/// The names of the list called `root`, or of a part of it.
fn aliases<'a>(tree: &'a Value, root: &'a str) -> Result<Vec<&'a str>, Lost> {
    let sets = all(tree, "stmt", "Set");
    let mut names = vec![root];
    let mut next = 0;
    while let Some(name) = names.get(next).copied() {
        next += 1;
        for set in sets.iter().filter(|set| reads(&set["expr"], name, None)) {
            let target = variable(&set["target"]).ok_or(Lost)?;
            if !names.contains(&target) {
                names.push(target);
            }
        }
    }
    Ok(names)
}

/// For each loop inside a macro, the macro's parameters that receive message content somewhere.
fn macro_loops<'a>(tree: &'a Value, is_content: &impl Fn(&Value) -> bool) -> HashMap<Option<u64>, Vec<&'a str>> {
    let calls = all(tree, "expr", "Call");
    let mut out: HashMap<Option<u64>, Vec<&str>> = HashMap::new();
    for defined in all(tree, "stmt", "Macro") {
        let parameters: Vec<&str> = defined["args"].as_array().into_iter().flatten().filter_map(variable).collect();
        let own_calls = calls.iter().filter(|call| variable(&call["expr"]) == defined["name"].as_str());
        let mut given = Vec::new();
        for (at, argument) in own_calls.flat_map(|call| call["args"].as_array().into_iter().flatten().enumerate()) {
            let parameter = match (argument.get("Pos"), argument.get("Kwarg")) {
                (Some(expr), _) if is_content(expr) => parameters.get(at).copied(),
                (_, Some(pair)) if is_content(&pair[1]) => {
                    parameters.iter().find(|name| pair[0].as_str() == Some(name)).copied()
                }
                _ => None,
            };
            given.extend(parameter);
        }
        for looped in all(&defined["body"], "stmt", "ForLoop") {
            out.entry(place(looped)).or_default().extend(&given);
        }
    }
    out
}

/// Whether an expression is the variable `name` (or its field `key`), possibly sliced, filtered or tested.
fn reads(expr: &Value, name: &str, key: Option<&str>) -> bool {
    let node = &expr["inner"][0];
    match expr["expr"].as_str() {
        Some("Filter" | "Test" | "Slice") => reads(&node["expr"], name, key),
        Some("GetAttr") => key.is_some_and(|key| variable(&node["expr"]) == Some(name) && node["name"] == key),
        Some("GetItem") => key.is_some_and(|key| {
            let subscript = &node["subscript_expr"];
            variable(&node["expr"]) == Some(name)
                && subscript["expr"] == "Const"
                && subscript["inner"][0]["value"] == key
        }),
        _ => key.is_none() && variable(expr) == Some(name),
    }
}

/// The name of an expression that is a variable.
fn variable(expr: &Value) -> Option<&str> {
    if expr["expr"] == "Var" { expr["inner"][0]["id"].as_str() } else { None }
}

/// The position of a node, which identifies a loop.
fn place(node: &Value) -> Option<u64> {
    node["iter"]["inner"][1]["start_offset"].as_u64()
}

/// All nodes of a kind, parents before children.
fn all<'a>(tree: &'a Value, tag: &str, kind: &str) -> Vec<&'a Value> {
    let mut out = Vec::new();
    collect(tree, tag, kind, &mut out);
    out
}

fn collect<'a>(node: &'a Value, tag: &str, kind: &str, out: &mut Vec<&'a Value>) {
    match node {
        Value::Object(object) => {
            if object.get(tag).is_some_and(|own| own == kind)
                && let Some(inner) = object.get("inner").and_then(|inner| inner.get(0))
            {
                out.push(inner);
            }
            object.values().for_each(|child| collect(child, tag, kind, out));
        }
        Value::Array(items) => items.iter().for_each(|child| collect(child, tag, kind, out)),
        _ => {}
    }
}
