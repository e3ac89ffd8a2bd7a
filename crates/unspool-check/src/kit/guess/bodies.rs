//! Bodies of calls without tags: objects, JSON after a name, keyword arguments, literals.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{Calls, Core, Found};

/// Keys that models use for the function's name.
const NAME_KEYS: [&str; 10] =
    ["name", "tool_name", "function", "tool", "function_name", "fn", "action", "do", "call", "api"];
/// Keys that they use for the arguments.
const ARGUMENT_KEYS: [&str; 12] = [
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "with",
    "kwargs",
    "action_input",
    "tool_input",
    "payload",
    "inputs",
    "parameter",
];
/// Keys that they use for the call's id.
const ID_KEYS: [&str; 5] = ["id", "tool_call_id", "call_id", "no", "index"];

/// The outermost JSON values in a text, with their ranges.
fn values(text: &str) -> Vec<(Range<usize>, Value)> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(start) = text[at..].find(['{', '[']).map(|found| at + found) {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                let end = start + stream.byte_offset();
                out.push((start..end, value));
                at = end;
            }
            _ => at = start + 1,
        }
    }
    out
}

fn core(template: String, syntax: &'static str) -> Core {
    Core { template, param: None, string: Vec::new(), syntax }
}

/// Objects around name and arguments, alone or in a list.
pub(super) fn objects(text: &str, tools: &[String]) -> Option<Calls> {
    let mut out: Option<Calls> = None;
    for (at, value) in values(text) {
        let (list, objects) = match &value {
            Value::Array(items) if !items.is_empty() => (true, items.iter().collect::<Vec<_>>()),
            value => (false, vec![value]),
        };
        let read: Option<Vec<Read>> = objects.iter().map(|object| object_call(object, tools)).collect();
        let Some(read) = read else { continue };
        let Some((template, ..)) = read.first() else { continue };
        let template = if list { format!("[{template}]") } else { template.clone() };
        let calls = out.get_or_insert_with(|| Calls {
            core: core(template.clone(), "an object around name and arguments"),
            found: Vec::new(),
        });
        if calls.core.template != template {
            continue;
        }
        for (_, name, arguments) in read {
            // The calls of one list share a range.
            calls.found.push(Found { at: at.clone(), name, arguments });
        }
    }
    let mut out = out?;
    out.found.dedup_by(|b, a| a.at == b.at);
    Some(out)
}

/// An object's template, its function and its arguments.
type Read = (String, String, Map<String, Value>);

fn object_call(value: &Value, tools: &[String]) -> Option<Read> {
    let object = value.as_object()?;
    let name_key = object.iter().find(|(key, value)| {
        value.is_string()
            && (NAME_KEYS.contains(&key.as_str())
                || value.as_str().is_some_and(|name| tools.iter().any(|tool| tool == name)))
    });
    let arguments_key = object.iter().find(|(key, value)| value.is_object() && ARGUMENT_KEYS.contains(&key.as_str()));
    if let (Some((name_key, name)), Some((arguments_key, arguments))) = (name_key, arguments_key) {
        let parts: Vec<String> = object
            .keys()
            .filter_map(|key| match key {
                key if key == name_key => Some(format!("\"{key}\": {{name}}")),
                key if key == arguments_key => Some(format!("\"{key}\": {{json}}")),
                key if ID_KEYS.contains(&key.as_str()) => Some(format!("\"{key}\": {{id}}")),
                _ => None,
            })
            .collect();
        let usual = name_key == "name" && arguments_key == "arguments" && parts.len() == 2;
        let template = if usual { "{envelope}".to_owned() } else { format!("{{{}}}", parts.join(", ")) };
        return Some((template, name.as_str()?.to_owned(), arguments.as_object()?.clone()));
    }
    // The name is the key, only if it is known to be a name.
    let (name, arguments) = object
        .iter()
        .next()
        .filter(|(name, value)| object.len() == 1 && value.is_object() && tools.iter().any(|tool| tool == *name))?;
    Some(("{{name}: {json}}".to_owned(), name.clone(), arguments.as_object()?.clone()))
}

/// The identifier at the end of a text, with its position.
fn identifier_at_end(text: &str) -> Option<(usize, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let start =
        text.rfind(|c: char| !is_name(c)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let word = &text[start..];
    word.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some((start, word))
}

/// A name followed by JSON.
pub(super) fn json(text: &str, tools: &[String]) -> Option<Calls> {
    let mut out: Option<Calls> = None;
    for (at, value) in values(text).into_iter().filter(|(_, value)| value.is_object()) {
        let Some((start, name, between)) = name_before(&text[..at.start], tools) else { continue };
        let arguments = value.as_object().cloned().unwrap_or_default();
        let template = format!("{{name}}{between}{{json}}");
        let calls = out
            .get_or_insert_with(|| Calls { core: core(template.clone(), "JSON behind the name"), found: Vec::new() });
        if calls.core.template == template {
            calls.found.push(Found { at: start..at.end, name, arguments });
        }
    }
    out
}

/// The name before a body, and the text between them.
fn name_before(head: &str, tools: &[String]) -> Option<(usize, String, String)> {
    let near = &head[head.len().saturating_sub(120).max(floor(head, head.len().saturating_sub(120)))..];
    let base = head.len() - near.len();
    if let Some((at, tool)) = tools.iter().filter_map(|tool| near.rfind(tool.as_str()).map(|at| (at, tool))).max() {
        let between = &near[at + tool.len()..];
        return (!between.starts_with(|c: char| c.is_alphanumeric()))
            .then(|| (base + at, tool.clone(), between.to_owned()));
    }
    // Without known tool names: directly before the body, or after a marker.
    let mut end = near.len();
    loop {
        let before = near[..end].trim_end();
        let marked = before.strip_suffix(':').or_else(|| {
            let open = if before.ends_with('>') { '<' } else { before.ends_with(']').then_some('[')? };
            before.rfind(open).map(|at| &before[..at])
        });
        match marked
            .or_else(|| before.rfind("```").filter(|at| !before[at + 3..].contains('\n')).map(|at| &before[..at]))
        {
            Some(shorter) if shorter.len() < end => end = shorter.len(),
            _ => {
                end = before.len();
                break;
            }
        }
    }
    let (at, name) = identifier_at_end(&near[..end])?;
    Some((base + at, name.to_owned(), near[end..].to_owned()))
}

fn floor(text: &str, at: usize) -> usize {
    crate::border::floor(text, at)
}

/// Python's keyword arguments: `tide(harbour='Looe')`.
pub(super) fn kwargs(text: &str) -> Option<Calls> {
    let mut out = Calls { core: core("{name}({kwargs}".to_owned(), "Python keyword arguments"), found: Vec::new() };
    let mut from = 0;
    while let Some(open) = text[from..].find('(').map(|at| from + at) {
        from = open + 1;
        let Some((start, name)) = identifier_at_end(&text[..open]) else { continue };
        let Some(close) = closing(text, open, ')') else { continue };
        let inner = text[open + 1..close].trim();
        let Some(arguments) = keywords(inner) else { continue };
        out.found.push(Found { at: start..close, name: name.to_owned(), arguments });
        from = close + 1;
    }
    // Any word with brackets looks like a call without arguments; it counts only next to others.
    out.found.iter().any(|found| !found.arguments.is_empty()).then_some(out)
}

/// `a=1, b='x'` as names and values; values that are not simple literals stay text.
fn keywords(text: &str) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    for part in split(text) {
        let (key, value) = part.split_once('=')?;
        let key = key.trim();
        let named = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !named || value.starts_with('=') {
            return None;
        }
        out.insert(key.to_owned(), literal(value.trim()));
    }
    Some(out)
}

fn literal(text: &str) -> Value {
    let quoted = text.strip_prefix(['\'', '"']).and_then(|rest| rest.strip_suffix(['\'', '"']));
    match text {
        "True" | "true" => Value::Bool(true),
        "False" | "false" => Value::Bool(false),
        "None" | "null" => Value::Null,
        _ => quoted.map_or_else(
            || serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
            |text| Value::from(text.replace("\\'", "'").replace("\\\"", "\"")),
        ),
    }
}

/// The parts of a text between commas outside of quotes and brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut out, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                out.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(&text[start..]);
    out.retain(|part| !part.trim().is_empty());
    out
}

/// The position where the bracket at `open` closes, outside of quotes.
fn closing(text: &str, open: usize, close: char) -> Option<usize> {
    let opens = text[open..].chars().next()?;
    let (mut depth, mut quote, mut escaped) = (0_i32, None, false);
    for (at, c) in text[open..].char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(q), c) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c == opens => depth += 1,
            (None, c) if c == close => {
                depth -= 1;
                if depth == 0 {
                    return Some(open + at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Literals with unquoted names: `tide{harbour:<|"|>Looe<|"|>,days:3}`.
pub(super) fn literals(text: &str) -> Option<Calls> {
    let mut out: Option<Calls> = None;
    let mut from = 0;
    while let Some(open) = text[from..].find('{').map(|at| from + at) {
        from = open + 1;
        let Some((start, name)) = identifier_at_end(&text[..open]) else { continue };
        let inner = &text[open + 1..];
        let Some(colon) = inner.find([':', '}']).filter(|at| inner[*at..].starts_with(':')) else { continue };
        let key = &inner[..colon];
        if key.is_empty() || !key.chars().all(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let Some(string) = delimiter(inner) else { continue };
        let Some((end, arguments)) = literal_body(text, open, &string) else { continue };
        let calls = out.get_or_insert_with(|| Calls {
            core: Core {
                string: vec![string.clone()],
                ..core("{name}{literals}".to_owned(), "literals with bare names")
            },
            found: Vec::new(),
        });
        calls.found.push(Found { at: start..end, name: name.to_owned(), arguments });
        from = end;
    }
    out
}

/// The delimiter of strings: a marker after a colon that occurs there twice.
fn delimiter(inner: &str) -> Option<String> {
    let mut rest = inner;
    while let Some(colon) = rest.find(':') {
        let behind = &rest[colon + 1..];
        let mark = match behind.chars().next()? {
            '<' => behind.find('>').map(|end| &behind[..=end]),
            c @ ('"' | '\'' | '`' | '~' | '^' | '|') => Some(&behind[..c.len_utf8()]),
            _ => None,
        };
        if let Some(mark) = mark.filter(|mark| behind[mark.len()..].contains(*mark)) {
            return Some(mark.to_owned());
        }
        rest = behind;
    }
    None
}

/// The end of a body of literals, and its top-level arguments; values other than strings stay if they are JSON.
fn literal_body(text: &str, open: usize, string: &str) -> Option<(usize, Map<String, Value>)> {
    let (mut at, mut depth, mut out) = (open, 0_i32, Map::new());
    let mut key_from = open + 1;
    let mut key: Option<String> = None;
    while at < text.len() {
        let rest = &text[at..];
        if depth > 0 && rest.starts_with(string) {
            let close = rest[string.len()..].find(string)?;
            if let (1, Some(key)) = (depth, key.take()) {
                out.insert(key, Value::from(&rest[string.len()..string.len() + close]));
            }
            at += close + 2 * string.len();
            continue;
        }
        let c = rest.chars().next()?;
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ':' if depth == 1 && key.is_none() => {
                key = Some(text[key_from..at].trim_start_matches(',').trim().to_owned());
                key_from = at + 1;
            }
            _ => {}
        }
        let ends = (c == ',' && depth == 1) || depth == 0;
        if ends {
            if let Some(key) = key.take() {
                let value = text[key_from..at].trim();
                out.insert(key, serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)));
            }
            key_from = at + 1;
        }
        at += c.len_utf8();
        if depth == 0 {
            return Some((at, out));
        }
    }
    None
}
