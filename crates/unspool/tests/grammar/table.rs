//! The table of docs/grammars.md, made from the grammars themselves.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use unspool::Request;
use unspool::grammar::{Options, StrictLevel};
use unspool::setup::{Half, Pair, Registry, Setup};

const BEGIN: &str = "<!-- table begins -->\n";
const END: &str = "<!-- table ends -->\n";

/// A grammar's text for a tool with one parameter of a type.
fn grammar(pair: &Pair, kind: &str, strict: bool, choice: &Value, level: StrictLevel) -> Result<Option<String>, ()> {
    let parameters = json!({"type": "object", "properties": {"port": {"type": kind}}, "required": ["port"]});
    let function = json!({"name": "tide", "parameters": parameters, "strict": strict});
    let fields = json!({"tools": [{"type": "function", "function": function}], "tool_choice": choice});
    let grammar = pair.grammar(&Request::from_openai(&fields).unwrap(), &Options { level, ..Options::default() });
    grammar.map(|g| g.map(|g| g.lark())).map_err(|_| ())
}

/// What a cell says: whether the parameter's type counts.
fn cell(pair: &Pair, strict: bool, choice: &Value, level: StrictLevel) -> &'static str {
    let of = |kind: &str| grammar(pair, kind, strict, choice, level);
    match (of("string"), of("integer")) {
        (Err(()), _) | (_, Err(())) => "refused²",
        (Ok(None), _) => "–¹",
        (text, number) if text == number => "free",
        _ => "schema",
    }
}

/// What a checkpoint brings that has its own description of a reply.
fn tokenizer_config() -> Value {
    let call = json!({"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}});
    let calls = json!({"open": "<do>", "close": "</do>", "content": "json", "transform": call});
    json!({"response_template": {"version": 1, "start_anchor": "<|bot|>", "fields": {"tool_calls": calls}}})
}

fn table() -> String {
    let levels =
        [("auto", StrictLevel::Auto), ("function", StrictLevel::Function), ("parameter", StrictLevel::Parameter)];
    let named = json!({"type": "function", "function": {"name": "tide"}});
    let choices = [("auto", json!("auto")), ("required", json!("required")), ("named", named)];
    let mut out = String::from("| format | ");
    let columns: Vec<String> = choices
        .iter()
        .flat_map(|(choice, _)| levels.iter().map(move |(level, _)| format!("{choice}, {level}")))
        .collect();
    let _ = writeln!(out, "{} |", columns.join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(columns.len()));
    for name in Registry::builtin().names(Half::Tools) {
        let setup = Setup { tool_parser: Some(name.clone()), tokenizer_config: tokenizer_config(), ..Setup::default() };
        let pair = Registry::builtin().pair(&setup).unwrap_or_else(|e| panic!("{name}: {e}"));
        let cells: Vec<String> = choices
            .iter()
            .flat_map(|(_, choice)| levels.iter().map(move |(_, level)| (choice, *level)))
            .map(|(choice, level)| {
                let [plain, strict] = [false, true].map(|strict| cell(&pair, strict, choice, level));
                if plain == strict { plain.to_owned() } else { format!("{plain} / {strict}") }
            })
            .collect();
        let _ = writeln!(out, "| `{name}` | {} |", cells.join(" | "));
    }
    out
}

#[test]
fn the_table_in_the_docs_is_what_the_grammars_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grammars.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let right = format!("{before}{BEGIN}\n{}\n{END}{after}", table());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &right).unwrap();
    }
    let is_right = text == right || std::env::var_os("UPDATE_DOCS").is_some();
    assert!(is_right, "docs/grammars.md is old: run this test with UPDATE_DOCS=1");
}
