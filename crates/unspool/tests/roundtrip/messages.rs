//! Messages that try to be mistaken for markup.

use std::path::Path;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, Union};
use serde_json::{Value, json};
use unspool::message::{Message, ToolCall};

use super::pairs::Names;

/// Types that a schema may say, with whether it is said at all.
pub(crate) fn tools() -> Value {
    let function = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    json!([
        function(
            "tide",
            json!({
                "type": "object",
                "properties": {
                    "port": {"type": "string"},
                    "days": {"type": "integer", "minimum": 0},
                    "height": {"type": "number"},
                    "wet": {"type": "boolean"},
                    "note": {"type": ["string", "null"]},
                    "scale": {"enum": ["m", "ft"]},
                    "marks": {"type": "array", "items": {"type": "string"}},
                    "boat": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "feet": {"type": "number"}, "crew": {"type": "array", "items": {"type": "string"}}},
                        "required": ["name"],
                    },
                },
                "required": ["port"],
            })
        ),
        function(
            "harbour.log-2",
            json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
        ),
        function("ping", json!({"type": "object", "properties": {}})),
    ])
}

/// The texts between the slots of all templates of a format's file.
pub(crate) fn markers(names: &Names) -> Vec<String> {
    static FILES: LazyLock<Vec<(String, Vec<String>)>> = LazyLock::new(files);
    let wanted: Vec<String> =
        [&names.reasoning, &names.tools].into_iter().flatten().map(|n| format!("\"{n}\"")).collect();
    let mut out = vec!["<think>".to_owned(), "</think>".to_owned()];
    let ours = FILES.iter().filter(|(text, _)| wanted.iter().any(|name| text.contains(name)));
    out.extend(ours.flat_map(|(_, markers)| markers.clone()));
    out
}

/// The text of each format's file, and its markers.
fn files() -> Vec<(String, Vec<String>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../formats");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut file: toml::Table = text.parse().unwrap();
        // The marks of chat templates are no markers of replies, and their rules name other files' formats.
        file.remove("detect");
        let mut markers = Vec::new();
        let text = file.to_string();
        collect(&toml::Value::Table(file), &mut markers);
        (text, markers)
    };
    std::fs::read_dir(directory).unwrap().map(read).collect()
}

fn collect(value: &toml::Value, out: &mut Vec<String>) {
    match value {
        toml::Value::String(text) => {
            let pieces = text.split(['{', '}']).step_by(2).flat_map(str::split_whitespace);
            out.extend(pieces.filter(|p| p.contains(|c: char| !c.is_alphanumeric())).map(str::to_owned));
        }
        toml::Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        toml::Value::Table(table) => table.values().for_each(|item| collect(item, out)),
        _ => {}
    }
}

/// Pieces of ordinary text, and some that look like the beginning of something.
const PIECES: &[&str] = &[
    "word",
    " and ",
    "Looe",
    ". ",
    ", ",
    "\n",
    "\n\n",
    " ",
    "\t",
    "é",
    "潮",
    "🌊",
    "5",
    "0.50",
    "null",
    "true",
    "<",
    ">",
    "</",
    "<b>",
    "</b>",
    "[",
    "]",
    "[1]",
    "{",
    "}",
    "{\"a\": 1}",
    "(",
    ")",
    "f(x)",
    ")]",
    "=",
    ":",
    "\"",
    "'",
    "\\",
    "\\n",
    "&amp;",
    "&",
    "`",
    "```",
    "```json\n",
    "|",
    "functools",
    "function call",
    "<|",
    "|>",
    "<co",
    "Here is",
    "\r\n",
    "name",
    "\"name\": ",
];

/// Text in which `wild` percent of the pieces are a marker or part of one.
fn text(markers: &[String], wild: u32) -> BoxedStrategy<String> {
    let whole = select(markers.to_vec());
    let part = (select(markers.to_vec()), any::<proptest::sample::Index>()).prop_map(|(marker, at)| {
        let ends: Vec<usize> = marker.char_indices().map(|(i, _)| i).chain([marker.len()]).collect();
        marker[..*at.get(&ends)].to_owned()
    });
    let plain = select(PIECES).prop_map(str::to_owned);
    let piece = Union::new_weighted(vec![(200 - 2 * wild, plain.boxed()), (wild, part.boxed()), (wild, whole.boxed())]);
    vec(piece, 1..12).prop_map(|pieces| pieces.concat()).boxed()
}

fn json_string(text: &str) -> String {
    Value::from(text).to_string()
}

fn string(markers: &[String]) -> BoxedStrategy<String> {
    text(markers, 4).prop_map(|t| json_string(&t)).boxed()
}

fn number() -> BoxedStrategy<String> {
    let odd = select(vec!["0", "-7", "1.50", "1e3", "12345678901234567890", "-0.0", "2.0", "1E+05", "1e999"]);
    Union::new(vec![any::<i32>().prop_map(|n| n.to_string()).boxed(), odd.prop_map(str::to_owned).boxed()]).boxed()
}

fn list(item: BoxedStrategy<String>) -> BoxedStrategy<String> {
    vec(item, 0..4).prop_map(|items| format!("[{}]", items.join(", "))).boxed()
}

/// Any JSON, nested.
fn anything(markers: &[String]) -> BoxedStrategy<String> {
    let leaf = Union::new(vec![
        string(markers),
        number(),
        select(vec!["true", "false", "null", "{}", "[]", "\"\"", "\" \"", "\"null\"", "\"5\""])
            .prop_map(str::to_owned)
            .boxed(),
    ]);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let key = select(vec!["a", "b", "name", "two words", "c-d"]);
        let object = vec((key, inner.clone()), 0..3).prop_map(|members| {
            let members: Vec<String> = members.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
            format!("{{{}}}", members.join(","))
        });
        Union::new(vec![list(inner.boxed()), object.boxed()])
    })
    .boxed()
}

/// A parameter of `tide`, mostly with a value of its type.
fn member(markers: &[String]) -> BoxedStrategy<(&'static str, String)> {
    let bool = select(vec!["true", "false"]).prop_map(str::to_owned).boxed();
    let note = Union::new(vec![string(markers), Just("null".to_owned()).boxed()]).boxed();
    let scale = select(vec!["\"m\"", "\"ft\"", "\" m\""]).prop_map(str::to_owned).boxed();
    let boat = (string(markers), number(), list(string(markers)))
        .prop_map(|(name, feet, crew)| format!("{{\"name\": {name}, \"feet\": {feet}, \"crew\": {crew}}}"))
        .boxed();
    let of = |key: &'static str, value: BoxedStrategy<String>| value.prop_map(move |v| (key, v)).boxed();
    let keys = select(vec!["port", "days", "note", "unknown", "marks", "arguments"]);
    Union::new_weighted(vec![
        (4, of("port", string(markers))),
        (2, of("days", any::<u16>().prop_map(|n| n.to_string()).boxed())),
        (2, of("height", number())),
        (1, of("wet", bool)),
        (2, of("note", note)),
        (1, of("scale", scale)),
        (2, of("marks", list(string(markers)))),
        (2, of("boat", boat)),
        (2, of("unknown", string(markers))),
        (1, (keys, anything(markers)).boxed()),
    ])
    .boxed()
}

fn call(markers: &[String]) -> BoxedStrategy<ToolCall> {
    let tide = vec(member(markers), 0..4).prop_map(|members| {
        let members: Vec<String> = members.iter().map(|(k, v)| format!("{}: {v}", json_string(k))).collect();
        ("tide", format!("{{{}}}", members.join(", ")))
    });
    let log = string(markers).prop_map(|text| ("harbour.log-2", format!("{{\"text\":{text}}}")));
    let other = select(vec![("ping", "{}".to_owned()), ("unknown", "{\"a\": \"b\"}".to_owned())]);
    Union::new_weighted(vec![(4, tide.boxed()), (1, log.boxed()), (1, other.boxed())])
        .prop_map(|(name, arguments)| ToolCall {
            name: name.to_owned(),
            arguments,
            complete: true,
            ..ToolCall::default()
        })
        .boxed()
}

/// A message for a pair: parts are left out at random, and all may have pieces of markup.
pub(crate) fn wild(names: &Names) -> BoxedStrategy<Message> {
    let markers = markers(names);
    let maybe =
        |text: BoxedStrategy<String>| Union::new_weighted(vec![(1, Just(String::new()).boxed()), (3, text)]).boxed();
    let names = names.clone();
    let calls = Union::new_weighted(vec![(1, Just(Vec::new()).boxed()), (3, vec(call(&markers), 1..4).boxed())]);
    (maybe(text(&markers, 2)), maybe(text(&markers, 2)), calls)
        .prop_map(move |(reasoning, content, tool_calls)| {
            names.fit(Message { reasoning, content, tool_calls, ..Message::default() })
        })
        .boxed()
}
