//! The table of docs/grammars.md, made from the grammars themselves.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use unspool::Request;
use unspool::grammar::{Options, StrictLevel};
use unspool::setup::{Half, Registry, Setup};

const BEGIN: &str = "<!-- table begins -->\n";
const END: &str = "<!-- table ends -->\n";

/// What a cell says.
fn cell(setup: &Setup, strict: bool, choice: &Value, level: StrictLevel) -> &'static str {
    let Ok(pair) = Registry::builtin().pair(setup) else { return "refused²" };
    let parameters = json!({"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]});
    let function = json!({"name": "tide", "parameters": parameters, "strict": strict});
    let fields = json!({"tools": [{"type": "function", "function": function}], "tool_choice": choice});
    let request = Request::from_openai(&fields).unwrap();
    match pair.grammar(&request, &Options { level, ..Options::default() }) {
        Err(_) => "refused²",
        Ok(None) => "–¹",
        Ok(Some(grammar)) if grammar.lark().contains("port") => "schema",
        Ok(Some(_)) => "free",
    }
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
        let setup = Setup { tool_parser: Some(name.clone()), ..Setup::default() };
        let cells: Vec<String> = choices
            .iter()
            .flat_map(|(_, choice)| levels.iter().map(move |(_, level)| (choice, *level)))
            .map(|(choice, level)| {
                let [plain, strict] = [false, true].map(|strict| cell(&setup, strict, choice, level));
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
