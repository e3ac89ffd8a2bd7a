//! The table of docs/grammars.md, made from the grammars themselves.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use unspool::Request;
use unspool::grammar::{Options, StrictLevel};
use unspool::setup::{Half, Setup};
use unspool::{Pair, Registry};

const BEGIN: &str = "<!-- table begins -->\n";
const END: &str = "<!-- table ends -->\n";

/// What a cell is about.
#[derive(Clone)]
struct Column {
    title: String,
    choice: Value,
    level: StrictLevel,
    /// `parallel_tool_calls` is false.
    once: bool,
    /// The answer must have a form.
    formed: bool,
}

/// A grammar's text for a tool with one parameter of a type, and an answer of a type where that must have a form.
fn grammar(pair: &Pair, kinds: [&str; 2], strict: bool, column: &Column) -> Result<Option<String>, ()> {
    let object = |kind: &str| json!({"type": "object", "properties": {"port": {"type": kind}}, "required": ["port"]});
    let function = json!({"name": "tide", "parameters": object(kinds[0]), "strict": strict});
    let tools = json!([{"type": "function", "function": function}]);
    let mut fields = json!({"tools": tools, "tool_choice": column.choice});
    if column.once {
        fields["parallel_tool_calls"] = false.into();
    }
    let answer = column.formed.then(|| object(kinds[1]));
    let options = Options { level: column.level, answer, ..Options::default() };
    let grammar = pair.grammar(&Request::from_openai(&fields).unwrap(), &options);
    grammar.map(|g| g.map(|g| g.lark())).map_err(|_| ())
}

/// What a cell says: whether the parameter's type counts, and whether the answer's does.
fn cell(pair: &Pair, strict: bool, column: &Column) -> String {
    let of = |kinds: [&str; 2]| grammar(pair, kinds, strict, column);
    let calls = match (of(["string", "string"]), of(["integer", "string"])) {
        (Err(()), _) | (_, Err(())) => return "refused²".to_owned(),
        (Ok(None), _) => return "–¹".to_owned(),
        (text, number) if text == number => "free",
        _ => "schema",
    };
    let is_held = of(["string", "string"]) != of(["string", "integer"]);
    assert_eq!(is_held, column.formed, "the answer's form in {}", column.title);
    calls.to_owned()
}

fn columns() -> Vec<Column> {
    let levels =
        [("auto", StrictLevel::Auto), ("function", StrictLevel::Function), ("parameter", StrictLevel::Parameter)];
    let named = json!({"type": "function", "function": {"name": "tide"}});
    let choices = [("auto", json!("auto")), ("required", json!("required")), ("named", named)];
    let column = |title: String, choice: &Value, level| Column {
        title,
        choice: choice.clone(),
        level,
        once: false,
        formed: false,
    };
    let mut all: Vec<Column> = choices
        .iter()
        .flat_map(|(name, choice)| levels.iter().map(move |(level, is)| (format!("{name}, {level}"), choice, *is)))
        .map(|(title, choice, level)| column(title, choice, level))
        .collect();
    let auto = column(String::new(), &json!("auto"), StrictLevel::Auto);
    all.push(Column { title: "one call³".to_owned(), once: true, ..auto.clone() });
    all.push(Column { title: "or an answer⁴".to_owned(), formed: true, ..auto });
    all
}

/// What a checkpoint brings that has its own description of a reply.
fn tokenizer_config() -> Value {
    let call = json!({"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}});
    let calls = json!({"open": "<do>", "close": "</do>", "content": "json", "transform": call});
    json!({"response_template": {"version": 1, "start_anchor": "<|bot|>", "fields": {"tool_calls": calls}}})
}

fn table() -> String {
    let columns = columns();
    let titles: Vec<&str> = columns.iter().map(|c| c.title.as_str()).collect();
    let mut out = format!("| format | {} |\n|---|{}\n", titles.join(" | "), "---|".repeat(titles.len()));
    for name in Registry::builtin().names(Half::Tools) {
        let setup = Setup { tool_parser: Some(name.clone()), tokenizer_config: tokenizer_config(), ..Setup::default() };
        let pair = Registry::builtin().pair(&setup).unwrap_or_else(|e| panic!("{name}: {e}"));
        let row = columns.iter().map(|column| {
            let [plain, strict] = [false, true].map(|strict| cell(&pair, strict, column));
            if plain == strict { plain } else { format!("{plain} / {strict}") }
        });
        let _ = writeln!(out, "| `{name}` | {} |", row.collect::<Vec<_>>().join(" | "));
    }
    out
}

/// Checks that a page has this table between its two marks, or writes it there if `UPDATE_DOCS` is set.
pub(crate) fn check(page: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let right = format!("{before}{BEGIN}\n{table}\n{END}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, right).unwrap();
        return;
    }
    assert!(text == right, "{page} is old\nhint: UPDATE_DOCS=1 cargo test -p unspool --test grammar told");
}

#[test]
fn the_table_of_levels_is_told_as_the_grammars_are() {
    check("docs/grammars.md", &table());
}
