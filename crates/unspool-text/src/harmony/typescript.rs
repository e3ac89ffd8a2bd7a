//! JSON schemas as types in harmony's notation.

use std::fmt::Write as _;

use serde_json::Value;

/// Maximum nesting; deeper types are `any`.
const DEEPEST: usize = 64;

/// The type of a schema, with its inner lines indented by `indent`.
pub(super) fn of(schema: &Value, indent: &str) -> String {
    if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
        let line = |variant: &Value| {
            let notes = [described(variant).map(str::to_owned), default(variant)];
            format!("\n{indent} | {}{}", nullable(variant, &format!("{indent}   ")), trailing(&notes))
        };
        return variants.iter().map(line).collect();
    }
    match schema.get("type") {
        Some(Value::Array(types)) => {
            let names =
                types.iter().filter_map(Value::as_str).map(|name| if name == "integer" { "number" } else { name });
            let names: Vec<&str> = names.collect();
            if names.is_empty() { "any".to_owned() } else { names.join(" | ") }
        }
        Some(Value::String(name)) => named(name, schema, indent),
        _ => "any".to_owned(),
    }
}

fn named(name: &str, schema: &Value, indent: &str) -> String {
    match name {
        // Four blanks per level.
        "object" if indent.len() / 4 < DEEPEST => object(schema, indent),
        "string" => {
            let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
            let values: Vec<String> = values.filter_map(Value::as_str).map(|value| format!("\"{value}\"")).collect();
            if values.is_empty() { "string".to_owned() } else { values.join(" | ") }
        }
        "number" | "integer" => "number".to_owned(),
        "boolean" => "boolean".to_owned(),
        "array" => match schema.get("items") {
            Some(items) => format!("{}[]", of(items, indent)),
            None => "Array<any>".to_owned(),
        },
        _ => "any".to_owned(),
    }
}

fn object(schema: &Value, indent: &str) -> String {
    let mut out = String::new();
    if let Some(text) = described(schema) {
        let _ = writeln!(out, "{indent}// {text}");
    }
    out.push_str("{\n");
    let required = schema.get("required").and_then(Value::as_array);
    for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let optional = !required.into_iter().flatten().any(|name| name == key);
        let name = format!("{indent}{key}{}", if optional { "?" } else { "" });
        if let Some(title) = property.get("title").and_then(Value::as_str) {
            let _ = write!(out, "{indent}// {title}\n{indent}//\n");
        }
        let variants = property.get("oneOf").and_then(Value::as_array);
        if let (None, Some(text)) = (variants, described(property)) {
            let _ = writeln!(out, "{indent}// {text}");
        }
        examples(property, indent, &mut out);
        if let Some(variants) = variants {
            choice(&name, property, variants, &mut out);
            continue;
        }
        let kind = nullable(property, &format!("{indent}    "));
        let _ = writeln!(out, "{name}: {kind},{}", trailing(&[default(property)]));
    }
    let _ = write!(out, "{indent}}}");
    out
}

fn examples(property: &Value, indent: &str, out: &mut String) {
    let Some(examples) = property.get("examples").and_then(Value::as_array).filter(|all| !all.is_empty()) else {
        return;
    };
    let _ = writeln!(out, "{indent}// Examples:");
    for example in examples.iter().filter_map(Value::as_str) {
        let _ = writeln!(out, "{indent}// - \"{example}\"");
    }
}

/// A property with one of several types, one per line.
fn choice(name: &str, property: &Value, variants: &[Value], out: &mut String) {
    let indent = &name[..name.len() - name.trim_start_matches(' ').len()];
    let text = described(property);
    // If the first type already has the property's description, it would appear twice.
    let above = text.filter(|text| variants.first().and_then(described) != Some(text));
    if let Some(text) = above {
        let _ = writeln!(out, "{indent}// {text}");
    }
    if let Some(default) = default(property) {
        let _ = writeln!(out, "{indent}// {default}");
    }
    let _ = writeln!(out, "{name}:");
    for (index, variant) in variants.iter().enumerate() {
        let own = described(variant).filter(|own| Some(*own) != text && !(index == 0 && above.is_some()));
        let notes = [own.map(str::to_owned), default(variant)];
        let _ = writeln!(out, "{indent} | {}{}", nullable(variant, &format!("{indent}   ")), trailing(&notes));
    }
    let _ = writeln!(out, "{indent},");
}

fn described(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}

fn nullable(schema: &Value, indent: &str) -> String {
    let kind = of(schema, indent);
    let null = schema.get("nullable").and_then(Value::as_bool) == Some(true) && !kind.contains("null");
    if null { format!("{kind} | null") } else { kind }
}

/// The default of a schema, in quotes if it is text; a value of an enumeration has no quotes.
fn default(schema: &Value) -> Option<String> {
    let listed = schema.get("enum").and_then(Value::as_array).is_some_and(|values| !values.is_empty());
    Some(match schema.get("default")? {
        Value::String(text) if listed => format!("default: {text}"),
        other => format!("default: {other}"),
    })
}

fn trailing(notes: &[Option<String>]) -> String {
    let notes: Vec<&str> = notes.iter().flatten().map(String::as_str).collect();
    if notes.is_empty() { String::new() } else { format!(" // {}", notes.join(" ")) }
}
