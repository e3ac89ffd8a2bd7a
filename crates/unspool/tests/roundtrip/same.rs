//! Whether two messages are the same: texts byte by byte, arguments as JSON with keys in order and digits kept.

use serde_json::value::RawValue;
use unspool::message::Message;

pub(crate) fn messages(meant: &Message, parsed: &Message) -> Result<(), String> {
    let differ =
        |what: &str, a: &str, b: &str| if a == b { Ok(()) } else { Err(format!("{what}: {b:?} instead of {a:?}")) };
    // White space beside markup is not written where it would not be read.
    differ("reasoning", meant.reasoning.trim(), parsed.reasoning.trim())?;
    differ("content", meant.content.trim(), parsed.content.trim())?;
    if meant.tool_calls.len() != parsed.tool_calls.len() {
        return Err(format!("{} calls instead of {}", parsed.tool_calls.len(), meant.tool_calls.len()));
    }
    for (i, (a, b)) in meant.tool_calls.iter().zip(&parsed.tool_calls).enumerate() {
        differ(&format!("name of call {i}"), &a.name, &b.name)?;
        if !b.complete {
            return Err(format!("call {i} is not complete"));
        }
        differ(&format!("arguments of call {i}"), &canonical(&a.arguments), &canonical(&b.arguments))?;
    }
    Ok(())
}

/// JSON text without white space, its strings written one way; other text as it is.
fn canonical(json: &str) -> String {
    let Ok(raw) = serde_json::from_str::<&RawValue>(json) else { return format!("no JSON: {json}") };
    let text = raw.get();
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            let end = string_end(rest);
            let quoted = &rest[..end];
            out.push_str(
                &serde_json::from_str::<String>(quoted).map_or_else(|_| quoted.to_owned(), |s| format!("{s:?}")),
            );
            rest = &rest[end..];
            continue;
        }
        if !c.is_ascii_whitespace() {
            out.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Where the JSON string ends with which `text` begins.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (i, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return i + 1,
            _ => {}
        }
    }
    text.len()
}
