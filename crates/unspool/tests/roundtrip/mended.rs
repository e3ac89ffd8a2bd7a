//! Puts typical model mistakes into the text of each format: the call stays the same, and the repair is reported.

use serde_json::json;
use unspool::diagnostic::DiagnosticKind;
use unspool::message::Message;
use unspool::{Pair, Request, ToolCall};

use crate::pairs::all_names;
use crate::{cut, parse, report};

/// A fault: its name, what it makes of a written call, and what tells of it.
type Fault = (&'static str, fn(&str) -> Option<String>, DiagnosticKind);

const FAULTS: &[Fault] = &[
    ("doubled opener", doubled_opener, DiagnosticKind::Repaired),
    ("doubled closer", doubled_closer, DiagnosticKind::Repaired),
    ("a brace too many", brace_too_many, DiagnosticKind::UnplacedText),
    ("a backslash that begins no escape", stray_backslash, DiagnosticKind::Repaired),
];

/// Names whose written call begins or ends in a marker that is not the call's own: a thought's, a message's, half a tag.
const OTHER_MARKERS: &[&str] =
    &["cohere_command4", "kimi_k3", "minimax_m3", "muse", "muse_glimmer", "musespark1x", "openai"];

/// The marker at the start of `text`.
fn marker(text: &str) -> Option<&str> {
    let end = match text.as_bytes().first()? {
        b'<' => text.find('>')? + 1,
        b'[' if text[1..].starts_with(|c: char| c.is_ascii_uppercase()) => text.find(']')? + 1,
        _ => return None,
    };
    Some(&text[..end]).filter(|marker| !marker.contains(['=', '"', '{', '\n']))
}

fn doubled_opener(text: &str) -> Option<String> {
    let call = text.trim_start();
    Some(format!("{}\n{call}", marker(call)?))
}

fn doubled_closer(text: &str) -> Option<String> {
    let call = text.trim_end();
    let closer = &call[call.rfind('<')?..];
    let is_closer = closer.starts_with("</") || closer.starts_with("<|") || closer.starts_with("<｜");
    (is_closer && closer.ends_with('>')).then(|| format!("{call}\n{closer}"))
}

fn brace_too_many(text: &str) -> Option<String> {
    let at = text.rfind("\"}")? + 2;
    let (json, rest) = text.split_at(at + text[at..].chars().take_while(|c| matches!(c, '}' | ']')).count());
    rest.trim_start().starts_with(['<', '`']).then(|| format!("{json}}}{rest}"))
}

fn stray_backslash(text: &str) -> Option<String> {
    text.contains("\"port\":\"Looe").then(|| text.replace("Looe", "Lo\\oe"))
}

fn call(pair: &Pair, request: &Request) -> Option<String> {
    let arguments = "{\"port\":\"Looe\"}".to_owned();
    let call = ToolCall { id: "call00001".to_owned(), name: "tide".to_owned(), arguments, complete: true };
    pair.render(&Message { tool_calls: vec![call], ..Message::default() }, request).ok()
}

#[test]
fn faults_of_models_are_mended_in_every_format() {
    let tools = json!({"tools": [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object",
        "properties": {"port": {"type": "string"}}}}}]});
    let request = Request::from_openai(&tools).unwrap();
    let (mut faults, mut tried) = (Vec::new(), vec![0; FAULTS.len()]);
    for names in all_names().into_iter().filter(|names| names.tools.is_some() && names.reasoning.is_none()) {
        let pair = names.pair();
        let Some(text) = call(&pair, &request) else { continue };
        for (i, (what, spoil, told)) in FAULTS.iter().enumerate() {
            let other = names.tools.as_ref().is_some_and(|name| OTHER_MARKERS.contains(&name.as_str()));
            let Some(spoilt) = spoil(&text).filter(|_| i > 1 || !other) else { continue };
            tried[i] += 1;
            let characters: Vec<&str> = spoilt.char_indices().map(|(i, c)| &spoilt[i..i + c.len_utf8()]).collect();
            for pieces in [&[spoilt.as_str()][..], &characters, &cut(&spoilt, 5)] {
                let (message, _) = parse(&pair, &request, pieces.iter().copied());
                let port = if *what == FAULTS[3].0 { "Lo\\oe" } else { "Looe" };
                let is_call = |call: &ToolCall| {
                    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap_or_default();
                    call.name == "tide" && call.complete && arguments["port"] == port
                };
                let is_told = message.diagnostics.iter().any(|note| note.kind == *told);
                if message.tool_calls.len() != 1
                    || !is_call(&message.tool_calls[0])
                    || !message.content.is_empty()
                    || !is_told
                {
                    faults.push(format!("{names}, {what}: {message:?} of {spoilt:?} in {} pieces", pieces.len()));
                    break;
                }
            }
        }
    }
    report(&faults);
    assert!(tried.iter().all(|count| *count >= 3), "{tried:?}");
}
