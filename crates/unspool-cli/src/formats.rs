//! `unspool formats`: the table of all names, or one format in full.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::Args;
use serde::Serialize;
use unspool::format::file::{Example, FormatFile, StartState};
use unspool::setup::Half;
use unspool::suggest;
use unspool::{Registry, Setup};

mod file;
mod flags;
mod markdown;

use crate::failure::Failure;
use crate::setup::Plugins;

pub(crate) const EXAMPLES: &str = "\
Examples:
  unspool formats
  unspool formats qwen3_coder
  unspool formats --model Qwen/Qwen3-8B
  unspool formats --model models/qwen3
  unspool formats my_model.toml
  unspool formats kimi_k2 --explain
  unspool formats --json | jq -r '.[] | select(.tools) | .name'";

/// What to list, and in which form.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// A parser's name, another server's name for it, or a model (Qwen/Qwen3-8B); or a format file of your own, to run
    /// its examples; without it, the table of all names
    name: Option<String>,

    /// A model: its id (Qwen/Qwen3-8B), its folder, or its chat template; prints its flags, the reason, and equivalent
    /// names
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["name", "explain", "markdown"])]
    model: Option<String>,

    /// Also print the compiled states, what may follow in each, and the limits
    #[arg(long, requires = "name")]
    explain: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Print the JSON schema of format files, for editors
    #[arg(long, conflicts_with_all = ["name", "model", "json", "markdown"])]
    schema: bool,

    /// Print the page docs/formats.md
    #[arg(long, conflicts_with_all = ["name", "json"])]
    markdown: bool,

    #[command(flatten)]
    plugins: Plugins,
}

/// One row of the table.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    /// The file that has the name.
    file: String,
    /// One line about it.
    note: String,
    reasoning: Option<Thinking>,
    tools: Option<Calls>,
}

/// How the reasoning half of a name works.
#[derive(Debug, Serialize)]
struct Thinking {
    /// The file of this half.
    file: String,
    /// Checkpoints with this format, as globs.
    models: Vec<String>,
    /// A thought as the model writes it.
    thought: Option<String>,
    /// Where a reply begins if the prompt says nothing.
    start: StartState,
    /// The template arguments that switch thinking, and the default.
    switches: Vec<String>,
    default: bool,
    /// What happens to a thought that the end of the output cuts off.
    cut_off: String,
    /// Tool-call parsers that are known to work with it.
    goes_with: Vec<String>,
}

/// How the tools half of a name works.
#[derive(Debug, Serialize)]
struct Calls {
    /// The file of this half.
    file: String,
    /// Checkpoints with this format, as globs.
    models: Vec<String>,
    /// A call as the model writes it.
    call: Option<String>,
    /// The wrapper of several calls.
    block: Option<String>,
    /// Reasoning parsers that are known to work with it.
    goes_with: Vec<String>,
}

/// Prints the table or one format.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if options.schema {
        return Ok(anstream::stdout().write_all(json(&unspool_check::kit::schema())?.as_bytes())?);
    }
    let mut registry = options.plugins.registry()?;
    if let Some(path) = options.name.as_deref().filter(|name| file::is_file(name)) {
        return own_file(&mut registry, path, options.json);
    }
    let rows = rows(&registry)?;
    if let Some(model) = &options.model {
        let text = flags::of(&registry, model, options.json)?.ok_or_else(|| unlisted(model, &registry))?;
        return Ok(anstream::stdout().write_all(text.as_bytes())?);
    }
    let text = match &options.name {
        None if options.json => json(&rows)?,
        None if options.markdown => markdown::page(&registry, &rows)?,
        None => table(&rows),
        Some(name) => match rows.iter().find(|row| row.name == *name) {
            Some(row) => one(&registry, row, options)?,
            None => flags::of(&registry, name, options.json)?.ok_or_else(|| unknown(name, &rows))?,
        },
    };
    Ok(anstream::stdout().write_all(text.as_bytes())?)
}

/// Loads the user's own file and runs its examples.
fn own_file(registry: &mut Registry, path: &str, as_json: bool) -> Result<(), Failure> {
    let tried = file::tried(registry, path)?;
    let text = if as_json { json(&tried)? } else { tried.told() };
    anstream::stdout().write_all(text.as_bytes())?;
    if tried.is_true() { Ok(()) } else { Err(Failure::Differs) }
}

fn one(registry: &Registry, row: &Row, options: &Options) -> Result<String, Failure> {
    let mut text = if options.json { json(row)? } else { full(registry, row)? };
    if options.explain {
        text.push_str(&explained(registry, row)?);
    }
    Ok(text)
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
    let file_of = |half| registry.file(half, name).map(|(file, _)| file);
    let thinker = reasoning.then(|| registry.words(Half::Reasoning, name)).transpose()?;
    let caller = tools.then(|| registry.words(Half::Tools, name)).transpose()?;
    let words = || thinker.iter().chain(&caller);
    Ok(Row {
        name: name.to_owned(),
        file: file_of(half)?,
        note: words().next().map(|words| words.note.clone()).unwrap_or_default(),
        reasoning: thinker
            .map(|words| {
                Ok::<_, Failure>(thinking(&words, file_of(Half::Reasoning)?, registry.partners(Half::Reasoning, name)))
            })
            .transpose()?,
        tools: caller
            .map(|words| Ok::<_, Failure>(calls(&words, file_of(Half::Tools)?, registry.partners(Half::Tools, name))))
            .transpose()?,
    })
}

fn thinking(words: &FormatFile, file: String, goes_with: Vec<String>) -> Thinking {
    let mut switches = words.switches.keys.to_vec();
    let off = words.switches.effort_off.iter().map(|value| format!("reasoning_effort={value}"));
    switches.extend(off.chain(words.switches.effort.iter().map(|value| format!("reasoning_effort={value}"))));
    let cut_off = match &words.cutoff.unanswered {
        Some(switch) => format!("reasoning; content with {switch}"),
        None => "reasoning".to_owned(),
    };
    Thinking {
        file,
        models: words.models.reasoning.to_vec(),
        thought: words.reasoning.thought.first().cloned().or_else(|| words.checkpoint.clone()),
        start: words.start.state,
        switches,
        default: words.switches.default,
        cut_off,
        goes_with,
    }
}

fn calls(words: &FormatFile, file: String, goes_with: Vec<String>) -> Calls {
    Calls {
        file,
        models: words.models.tools.to_vec(),
        call: words.tools.written.first().or(words.tools.call.first()).cloned().or_else(|| words.checkpoint.clone()),
        block: words.tools.block.first().cloned(),
        goes_with,
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
    if !row.note.is_empty() {
        line("note", &row.note);
    }
    if let Some(thinking) = &row.reasoning {
        if !thinking.models.is_empty() {
            line("models", &thinking.models.join(", "));
        }
        line("thought", &shown(thinking.thought.as_deref()));
        line("begins in", &thinking.begins());
        line("switches", &thinking.switched());
        line("cut off", &thinking.cut_off);
        line("goes with", &format!("--tool-call-parser {}", listed(&thinking.goes_with)));
    }
    if let Some(calls) = &row.tools {
        if !calls.models.is_empty() {
            line("models", &calls.models.join(", "));
        }
        line("call", &shown(calls.call.as_deref()));
        if let Some(block) = &calls.block {
            line("block", &shown(Some(block)));
        }
        line("goes with", &format!("--reasoning-parser {}", listed(&calls.goes_with)));
    }
    for example in examples(registry, row)? {
        write_example(&mut out, &example);
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

/// Names in one line.
fn listed(names: &[String]) -> String {
    if names.is_empty() { "(any)".to_owned() } else { names.join(", ") }
}

/// The examples for a name, or those of its file if there are none.
fn examples(registry: &Registry, row: &Row) -> Result<Vec<Example>, Failure> {
    let halves = [(Half::Reasoning, row.reasoning.is_some()), (Half::Tools, row.tools.is_some())];
    let (mut own, mut all): (Vec<Example>, Vec<Example>) = (Vec::new(), Vec::new());
    for (half, _) in halves.into_iter().filter(|(_, there)| *there) {
        let words = registry.words(half, &row.name)?;
        for example in &words.example {
            let names = example.parsers(&words);
            let is_own = [names.reasoning, names.tools].into_iter().flatten().any(|name| name == row.name);
            let list = if is_own { &mut own } else { &mut all };
            if !list.contains(example) {
                list.push(example.clone());
            }
        }
    }
    Ok(if own.is_empty() { all } else { own })
}

/// A raw output and its parts.
fn write_example(out: &mut String, example: &Example) {
    let _ = writeln!(out, "\nexample");
    let mut part = |key: &str, text: &str| {
        for (i, line) in text.lines().enumerate() {
            let written = format!("  {:11}{line}", if i == 0 { key } else { "" });
            let _ = writeln!(out, "{}", written.trim_end());
        }
    };
    part("prompt", example.prompt.as_deref().unwrap_or_default());
    part("output", &example.text);
    part("reasoning", example.reasoning.as_deref().unwrap_or_default());
    part("content", example.content.as_deref().unwrap_or_default());
    for call in &example.calls {
        part("call", &format!("{}({})", call.name, call.arguments));
    }
}

/// The compiled states of the pair that a name forms by itself.
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

fn unknown(name: &str, rows: &[Row]) -> Failure {
    let hint = suggest::did_you_mean(&suggest::near(name, rows.iter().map(|row| row.name.as_str())));
    Failure::usage(
        format!("no parser is named `{name}`"),
        format!("{}`unspool formats` lists all names", hint.map(|hint| hint + " ").unwrap_or_default()),
    )
}

/// A model that no format lists.
fn unlisted(model: &str, registry: &Registry) -> Failure {
    let globs: Vec<String> =
        registry.models().map(|m| m.globs().iter().map(|g| (*g).to_owned()).collect()).unwrap_or_default();
    let hint = suggest::did_you_mean(&suggest::near(model, globs.iter().map(String::as_str)));
    Failure::usage(
        format!("no format file lists the model `{model}`"),
        format!(
            "{}its folder or its chat template says more: `unspool formats --model DIR`",
            hint.map(|hint| hint + " ").unwrap_or_default()
        ),
    )
}

fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| Failure::Io(error.to_string()))
}

/// Maximum width of a line of the tables.
const WIDEST: usize = 100;
/// Maximum width of a marker in them.
const MARKER: usize = 26;

/// Both tables: how each name reads reasoning, and how it reads calls.
fn table(rows: &[Row]) -> String {
    let mut thinkers = vec![["name", "opener", "closer", "thinks"].map(str::to_owned)];
    let mut callers = vec![["name", "call"].map(str::to_owned)];
    let room = rows.iter().filter(|row| row.tools.is_some()).map(|row| row.name.len()).max().unwrap_or(0);
    for row in rows {
        if let Some(thinking) = &row.reasoning {
            let [opener, closer] = thinking.markers().map(|marker| short(&marker, MARKER));
            let thinks = match (thinking.switches.is_empty(), thinking.default) {
                (true, _) => "always",
                (false, true) => "switchable",
                (false, false) => "if asked",
            };
            thinkers.push([row.name.clone(), opener, closer, thinks.to_owned()]);
        }
        if let Some(calls) = &row.tools {
            callers.push([row.name.clone(), short(&shown(calls.call.as_deref()), WIDEST - room - 4)]);
        }
    }
    format!(
        "--reasoning-parser\n{}\n--tool-call-parser\n{}\n`unspool formats NAME` shows one in full, `unspool formats --model MODEL` the flags of a model.\n",
        aligned(&thinkers),
        aligned(&callers)
    )
}

/// Shortens a text to a width by cutting its middle.
fn short(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let end = most / 3;
    let start: String = text.chars().take(most - end - 1).collect();
    format!("{start}…{}", text.chars().skip(count - end).collect::<String>())
}

/// Pads the columns to the width of their cells.
fn aligned<const N: usize>(lines: &[[String; N]]) -> String {
    let width = |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for cells in lines {
        let line: String = cells.iter().zip(&widths).map(|(cell, width)| format!("  {cell:width$}")).collect();
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

impl Thinking {
    /// Opener and closer without surrounding white space. A format of messages, or of a checkpoint, has none.
    fn markers(&self) -> [String; 2] {
        match self.thought.as_deref().and_then(|thought| thought.split_once("{thought}")) {
            Some((opener, closer)) => [opener, closer].map(|text| shown(Some(text.trim()))),
            None => [self.thought.clone().unwrap_or_else(|| "(headers)".to_owned()), String::new()],
        }
    }

    fn begins(&self) -> String {
        format!("{:?}", self.start).to_lowercase()
    }

    /// What switches thinking, and the default.
    fn switched(&self) -> String {
        let default = if self.default { "on" } else { "off" };
        let switches = if self.switches.is_empty() { "none".to_owned() } else { self.switches.join(", ") };
        format!("{switches} ({default})")
    }
}
