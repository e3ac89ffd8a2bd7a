//! `unspool new`, `unspool test`, `unspool fmt` and `unspool cases`: tools for writing a format file.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde_json::{Value, json};
use unspool_check::diagnose::{Input, Outcome};
use unspool_check::kit::{self, Effort, Tested, Wanted};

use crate::failure::{Failure, warn};
use crate::files;
use crate::place::Place;
use crate::progress;
use crate::setup::{self, Plugins};

pub(crate) const NEW_EXAMPLES: &str = "\
Examples:
  unspool new heron --from output.txt
  unspool new heron --from output.txt --from other.txt --tools tools.json
  unspool new heron --from output.txt --template chat_template.jinja --output formats/heron.toml

Then: unspool test heron.toml";

pub(crate) const TEST_EXAMPLES: &str = "\
Examples:
  unspool test heron.toml
  unspool test formats/*.toml --json

Exit codes: 0 everything passed, 1 something failed, 2 a file cannot be read.";

pub(crate) const FMT_EXAMPLES: &str = "\
Examples:
  unspool fmt heron.toml
  unspool fmt --check formats/*.toml

Exit codes: 0 done, or nothing to do; 1 with --check: a file needs formatting; 2 a file cannot be read.";

pub(crate) const CASES_EXAMPLES: &str = "\
Examples:
  unspool cases hermes > hermes.jsonl
  unspool cases hermes --count 200 --seed 3
  unspool cases qwen3_coder --reasoning-parser qwen3 --pytest > test_qwen3_coder.py
  unspool cases heron --format heron.toml";

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// The input of the draft.
#[derive(Debug, Args)]
pub(crate) struct NewOptions {
    /// The name of the format, as in --tool-call-parser
    name: String,

    /// Raw output of the model, special tokens included, ideally with reasoning and calls; can be repeated
    #[arg(long, value_name = "FILE", required_unless_present = "template")]
    from: Vec<PathBuf>,

    /// The model's chat template, or the folder of the checkpoint
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,

    /// JSON file with the tools of the requests; function names improve the draft
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,

    /// Output file; `-`: standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    plugins: Plugins,
}

/// What to test.
#[derive(Debug, Args)]
pub(crate) struct TestOptions {
    /// Format files
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Number of random texts, messages and samples for each pair of names
    #[arg(long, value_name = "N", default_value_t = Effort::default().count)]
    count: u64,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = Effort::default().seed)]
    seed: u64,

    #[command(flatten)]
    plugins: Plugins,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What to format.
#[derive(Debug, Args)]
pub(crate) struct FmtOptions {
    /// Format files, rewritten in place
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Change nothing; list the files that need formatting
    #[arg(long)]
    check: bool,
}

/// Which cases to write.
#[derive(Debug, Args)]
pub(crate) struct CasesOptions {
    /// A tool-call parser, or a reasoning parser
    name: String,

    /// The reasoning parser for it; by default the one with the same name, if it exists
    #[arg(long, value_name = "NAME", help_heading = "Formats")]
    reasoning_parser: Option<String>,

    /// Number of random cases, in addition to the format's examples
    #[arg(long, value_name = "N", default_value_t = 50)]
    count: u64,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write a Python test file instead of JSON Lines
    #[arg(long)]
    pytest: bool,

    #[command(flatten)]
    plugins: Plugins,
}

/// Drafts a format file.
pub(crate) fn new(options: &NewOptions) -> Result<(), Failure> {
    let registry = options.plugins.registry()?;
    if !options.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) || options.name.is_empty() {
        return Err(Failure::usage(
            format!("`{}` cannot be a format's name", options.name),
            "letters, digits, `_`, `-` and `.` make one",
        ));
    }
    let mut outputs = Vec::new();
    for path in &options.from {
        let text = files::raw(Some(path))?;
        let input = Input::read(&text).map_err(|error| Failure::usage(error.message, error.hint))?;
        outputs.extend(input.outputs.into_iter().map(|output| output.raw));
    }
    let place = options.template.as_deref().map(|path| Place::open("--template", path, None)).transpose()?;
    let tools = setup::request_fields(None, options.tools.as_deref())?.remove("tools").unwrap_or_default();
    let wanted = Wanted {
        name: &options.name,
        outputs: &outputs,
        tools: &tools,
        template: place.as_ref().map(Place::prompter),
        registry: &registry,
    };
    let made = progress::during("looking for thoughts and calls", || kit::new(&wanted)).ok_or_else(|| {
        Failure::usage(
            "neither a thought nor a call can be seen there",
            "give an output with special tokens that has a call (`skip_special_tokens: false`), or the chat template",
        )
    })?;
    for note in &made.notes {
        warn(note, None);
    }
    let path = options.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", options.name)));
    if path == Path::new("-") {
        return Ok(io::stdout().write_all(made.text.as_bytes())?);
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| {
        Failure::usage(
            format!("cannot write {}: {error}", path.display()),
            "`--output FILE` names another file; one that is there is not written over",
        )
    })?;
    file.write_all(made.text.as_bytes()).map_err(|error| Failure::Io(error.to_string()))?;
    Ok(writeln!(io::stdout(), "{}: try it with `unspool test {}`", path.display(), path.display())?)
}

/// Tests format files.
pub(crate) fn test(options: &TestOptions) -> Result<(), Failure> {
    let registry = options.plugins.registry()?;
    let effort = Effort { count: options.count, seed: options.seed };
    let mut all = Vec::new();
    for path in &options.files {
        let text = files::text("FILE", path)?;
        let name = path.display().to_string();
        let tested = progress::during(&format!("trying {name}"), || kit::test(&registry, &name, &text, effort));
        if !options.json {
            anstream::stdout().write_all(told(&tested).as_bytes())?;
        }
        all.push(tested);
    }
    let good = all.iter().all(Tested::is_good);
    if options.json {
        let text = serde_json::to_string_pretty(&json!({"good": good, "files": all}));
        writeln!(io::stdout(), "{}", text.map_err(|error| Failure::Io(error.to_string()))?)?;
    }
    if good { Ok(()) } else { Err(Failure::Differs) }
}

/// One line for each check.
fn told(tested: &Tested) -> String {
    let mut out = format!("{}\n", tested.file);
    for line in &tested.lines {
        let (style, word) = match line.result {
            Outcome::Pass => (GOOD, "pass"),
            Outcome::Fail => (BAD, "fail"),
            Outcome::Unknown => (DIM, "?"),
        };
        out.push_str(&format!("{style}{word:4}{style:#}  {}: {}\n", line.step.words(), line.message));
        for detail in &line.details {
            out.push_str(&format!("      {}\n", detail.replace('\n', "\n      ")));
        }
    }
    out
}

/// Formats format files.
pub(crate) fn fmt(options: &FmtOptions) -> Result<(), Failure> {
    let mut changed = false;
    for path in &options.files {
        let text = files::text("FILE", path)?;
        let arranged = kit::arranged(&text).map_err(|error| {
            Failure::usage(format!("{}: {error}", path.display()), "only valid TOML can be formatted")
        })?;
        if arranged == text {
            continue;
        }
        changed = true;
        let word = if options.check { "not formatted" } else { "formatted" };
        writeln!(io::stdout(), "{}: {word}", path.display())?;
        if !options.check {
            fs::write(path, arranged)
                .map_err(|error| Failure::Io(format!("cannot write {}: {error}", path.display())))?;
        }
    }
    if changed && options.check { Err(Failure::Differs) } else { Ok(()) }
}

/// Writes cases.
pub(crate) fn cases(options: &CasesOptions) -> Result<(), Failure> {
    let registry = options.plugins.registry()?;
    let effort = Effort { count: options.count, seed: options.seed };
    let made = || kit::cases(&registry, &options.name, options.reasoning_parser.as_deref(), effort);
    let cases = progress::during("making cases", made)?;
    let text = if options.pytest {
        kit::pytest(&cases)
    } else {
        cases.iter().map(|case: &Value| format!("{case}\n")).collect()
    };
    Ok(io::stdout().write_all(text.as_bytes())?)
}
