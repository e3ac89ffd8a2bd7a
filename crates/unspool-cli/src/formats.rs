//! `unspool formats`: the table of all names, or one format in full.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::Args;
use serde::Serialize;
use unspool::Registry;
use unspool::setup::Half;

use crate::failure::Failure;
use crate::names;
use crate::setup::Plugins;

pub(crate) const EXAMPLES: &str = "\
Examples:
  unspool formats
  unspool formats qwen3_coder
  unspool formats kimi_k2 --explain
  unspool formats --json | jq -r '.[] | select(.tools) | .name'";

/// What to list, and how.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// A parser's name; without it, the table of all names
    name: Option<String>,

    /// Also print the compiled states, what may follow in each, and the limits
    #[arg(long, requires = "name")]
    explain: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    plugins: Plugins,
}

/// One row of the table.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    reasoning: bool,
    tools: bool,
}

/// Prints the table or one format.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let rows = rows(&options.plugins.registry()?);
    let rows = match &options.name {
        None => rows,
        Some(name) => {
            let known: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
            let found = rows.into_iter().find(|row| row.name == *name);
            vec![found.ok_or_else(|| unknown(name, &known))?]
        }
    };
    let text = if options.json { json(&rows, options.name.is_some())? } else { table(&rows) };
    Ok(anstream::stdout().write_all(text.as_bytes())?)
}

/// All names of both halves, sorted.
fn rows(registry: &Registry) -> Vec<Row> {
    let (reasoning, tools) = (registry.names(Half::Reasoning), registry.names(Half::Tools));
    let mut names: Vec<&String> = reasoning.iter().chain(&tools).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| Row { name: name.clone(), reasoning: reasoning.contains(name), tools: tools.contains(name) })
        .collect()
}

fn unknown(name: &str, known: &[String]) -> Failure {
    let hint = names::did_you_mean(&names::near(name, known.iter().map(String::as_str)));
    Failure::usage(
        format!("no parser is named `{name}`"),
        format!("{}`unspool formats` lists all names", hint.map(|hint| hint + " ").unwrap_or_default()),
    )
}

fn json(rows: &[Row], one: bool) -> Result<String, Failure> {
    let text = match rows {
        [row] if one => serde_json::to_string_pretty(row),
        _ => serde_json::to_string_pretty(rows),
    };
    text.map(|text| text + "\n").map_err(|error| Failure::Io(error.to_string()))
}

fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("name".len());
    let mut out = format!("{:width$}  reasoning  tools\n", "name");
    let mark = |there: bool| if there { "yes" } else { "-" };
    for row in rows {
        let _ = writeln!(out, "{:width$}  {:9}  {}", row.name, mark(row.reasoning), mark(row.tools));
    }
    out
}
