//! `unspool formats`: the table of all names, or one format in full.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::Args;
use serde::Serialize;
use unspool::format::file::{FormatFile, StartState};
use unspool::setup::Half;
use unspool::{Registry, Setup};

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
    /// The file that has the name.
    file: String,
    reasoning: Option<Thinking>,
    tools: Option<Calls>,
}

/// How a name's reasoning half reads thoughts.
#[derive(Debug, Serialize)]
struct Thinking {
    /// A thought as the model writes it.
    thought: Option<String>,
    /// Where a reply begins if the prompt says nothing.
    start: StartState,
    /// What switches thinking, and whether it is on without.
    switches: Vec<String>,
    default: bool,
    /// What becomes of a thought that the output's end cuts off.
    cut_off: String,
}

/// How a name's tools half reads calls.
#[derive(Debug, Serialize)]
struct Calls {
    /// A call as the model writes it.
    call: Option<String>,
    /// The wrapper of several calls.
    block: Option<String>,
}

/// Prints the table or one format.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let registry = options.plugins.registry()?;
    let rows = rows(&registry)?;
    let text = match &options.name {
        None if options.json => json(&rows)?,
        None => table(&rows),
        Some(name) => {
            let known: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
            let row = rows.into_iter().find(|row| row.name == *name).ok_or_else(|| unknown(name, &known))?;
            let mut text = if options.json { json(&row)? } else { full(&registry, &row)? };
            if options.explain {
                text.push_str(&explained(&registry, &row)?);
            }
            text
        }
    };
    Ok(anstream::stdout().write_all(text.as_bytes())?)
}

/// All names of both halves, sorted.
fn rows(registry: &Registry) -> Result<Vec<Row>, Failure> {
    let (reasoning, tools) = (registry.names(Half::Reasoning), registry.names(Half::Tools));
    let mut names: Vec<&String> = reasoning.iter().chain(&tools).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| row(registry, name, reasoning.contains(name), tools.contains(name))).collect()
}

fn row(registry: &Registry, name: &str, reasoning: bool, tools: bool) -> Result<Row, Failure> {
    let half = if reasoning { Half::Reasoning } else { Half::Tools };
    let (file, _) = registry.file(half, name)?;
    Ok(Row {
        name: name.to_owned(),
        file,
        reasoning: if reasoning { Some(thinking(&registry.words(Half::Reasoning, name)?)) } else { None },
        tools: if tools { Some(calls(&registry.words(Half::Tools, name)?)) } else { None },
    })
}

fn thinking(words: &FormatFile) -> Thinking {
    let mut switches = words.switches.keys.to_vec();
    let off = words.switches.effort_off.iter().map(|value| format!("reasoning_effort={value}"));
    switches.extend(off.chain(words.switches.effort.iter().map(|value| format!("reasoning_effort={value}"))));
    let cut_off = match &words.cutoff.unanswered {
        Some(switch) => format!("reasoning; content with {switch}"),
        None => "reasoning".to_owned(),
    };
    Thinking {
        thought: words.reasoning.thought.first().cloned().or_else(|| words.checkpoint.clone()),
        start: words.start.state,
        switches,
        default: words.switches.default,
        cut_off,
    }
}

fn calls(words: &FormatFile) -> Calls {
    Calls {
        call: words.tools.call.first().cloned().or_else(|| words.checkpoint.clone()),
        block: words.tools.block.first().cloned(),
    }
}

/// One format: its row, then its file.
fn full(registry: &Registry, row: &Row) -> Result<String, Failure> {
    let half = if row.reasoning.is_some() { Half::Reasoning } else { Half::Tools };
    let mut out = String::new();
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(out, "{key:11}{value}");
    };
    line("name", &row.name);
    if let Some(thinking) = &row.reasoning {
        line("thought", &shown(thinking.thought.as_deref()));
        line("begins in", &format!("{:?}", thinking.start).to_lowercase());
        let switches = if thinking.switches.is_empty() { "none".to_owned() } else { thinking.switches.join(", ") };
        line("switches", &format!("{switches} (without: {})", if thinking.default { "on" } else { "off" }));
        line("cut off", &thinking.cut_off);
    }
    if let Some(calls) = &row.tools {
        line("call", &shown(calls.call.as_deref()));
        if let Some(block) = &calls.block {
            line("block", &shown(Some(block)));
        }
    }
    let (path, text) = registry.file(half, &row.name)?;
    let _ = write!(out, "\n# {path}\n{text}");
    if let (true, Some(_)) = (half == Half::Reasoning, &row.tools) {
        let (other, text) = registry.file(Half::Tools, &row.name)?;
        if other != path {
            let _ = write!(out, "\n# {other}\n{text}");
        }
    }
    Ok(out)
}

/// The compiled states of the pair that a name makes by itself.
fn explained(registry: &Registry, row: &Row) -> Result<String, Failure> {
    let setup = Setup {
        reasoning_parser: row.reasoning.as_ref().map(|_| row.name.clone()),
        tool_parser: row.tools.as_ref().map(|_| row.name.clone()),
        ..Setup::default()
    };
    Ok(format!("\n{}", registry.pair(&setup)?.explain()))
}

/// A template in one line.
fn shown(template: Option<&str>) -> String {
    template.map_or_else(|| "-".to_owned(), |text| text.replace('\n', "\\n"))
}

fn unknown(name: &str, known: &[String]) -> Failure {
    let hint = names::did_you_mean(&names::near(name, known.iter().map(String::as_str)));
    Failure::usage(
        format!("no parser is named `{name}`"),
        format!("{}`unspool formats` lists all names", hint.map(|hint| hint + " ").unwrap_or_default()),
    )
}

fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| Failure::Io(error.to_string()))
}

fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("name".len());
    let thought = |row: &Row| shown(row.reasoning.as_ref().and_then(|half| half.thought.as_deref()));
    let call = |row: &Row| shown(row.tools.as_ref().and_then(|half| half.call.as_deref()));
    let wide = rows.iter().map(|row| thought(row).chars().count()).max().unwrap_or(0).min(44);
    let mut out = format!("{:width$}  {:wide$}  tools\n", "name", "reasoning");
    for row in rows {
        let _ = writeln!(out, "{:width$}  {:wide$}  {}", row.name, thought(row), call(row));
    }
    out
}
