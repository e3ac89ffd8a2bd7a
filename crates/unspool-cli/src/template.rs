//! `unspool template`: compares chat templates with parsers, and with each other.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use unspool::{Half, Setup};
use unspool_check::marks;
use unspool_check::template::{Conversation, Finding, Side, Subject, Verdict, diff};
use unspool_check::write::Wish;

use crate::failure::{Failure, warn};
use crate::files;
use crate::place::Place;
use crate::progress;
use crate::setup::{ParserNames, Plugins, tell_warnings};

pub(crate) const EXAMPLES: &str = "\
Examples:
  unspool template check chat_template.jinja --reasoning-parser qwen3 --tool-call-parser hermes
  unspool template check models/qwen3 --reasoning-parser auto --tool-call-parser auto
  unspool template diff models/qwen3 deployed.jinja

Exit codes: 0 they fit, 1 they differ, 2 the command line or a file that it names is wrong.";

/// The heading for markers and tokens.
const VOCABULARY: &str = "markers in the vocabulary";

/// What to do with a template.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Render conversations, parse each assistant turn, and compare
    #[command(after_help = "\
Examples:
  unspool template check chat_template.jinja --reasoning-parser qwen3 --tool-call-parser hermes
  unspool template check models/qwen3 --reasoning-parser auto --tool-call-parser auto
  unspool template check chat_template.jinja --tool-call-parser hermes --tokenizer-config tokenizer_config.json --json

Exit codes: 0 template and parsers fit, 1 they differ, 2 the command line or a file that it names is wrong.")]
    Check(Box<CheckOptions>),

    /// Render the same conversations with two templates, and show where the prompts differ
    #[command(after_help = "\
Examples:
  unspool template diff models/qwen3 deployed.jinja
  unspool template diff old.jinja new.jinja --json

Exit codes: 0 the prompts are the same, 1 they differ, 2 the command line or a file that it names is wrong.")]
    Diff(DiffOptions),

    /// Generate the chat template of a format, for a checkpoint without one or with one that does not fit its parser
    #[command(after_help = "\
Examples:
  unspool template write hermes > hermes.jinja
  unspool template write qwen3_coder --reasoning-parser qwen3
  unspool template write mistral/v3 --instructions my_words.txt

A name may have a flavour behind it, where checkpoints of one parser write other turns: mistral/v3.

Exit codes: 0 it is written, 2 the command line is wrong, or no template is known for the format.")]
    Write(WriteOptions),
}

/// What to generate.
#[derive(Debug, Args)]
pub(crate) struct WriteOptions {
    /// A parser's name, with a flavour if it has several: mistral/v3
    name: String,

    #[command(flatten)]
    names: ParserNames,

    #[command(flatten)]
    plugins: Plugins,

    /// File with your own instructions for the model on how to write calls
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
}

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// The chat template, or the folder of the checkpoint
    place: PathBuf,

    #[command(flatten)]
    names: ParserNames,

    #[command(flatten)]
    plugins: Plugins,

    /// `tokenizer_config.json` of the checkpoint, for its special tokens
    #[arg(long, value_name = "FILE")]
    tokenizer_config: Option<PathBuf>,

    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// What to compare.
#[derive(Debug, Args)]
pub(crate) struct DiffOptions {
    /// A chat template, or the folder of a checkpoint
    a: PathBuf,

    /// Another one
    b: PathBuf,

    /// `tokenizer_config.json` of the checkpoint, for the special tokens of templates without a folder
    #[arg(long, value_name = "FILE")]
    tokenizer_config: Option<PathBuf>,

    /// Print the differences as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the action.
pub(crate) fn run(action: &Action) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let differs = match action {
        Action::Write(options) => {
            out.write_all(options.template()?.as_bytes())?;
            false
        }
        Action::Check(options) => options.run(&mut out)?,
        Action::Diff(options) => options.run(&mut out)?,
    };
    out.flush()?;
    if differs { Err(Failure::Differs) } else { Ok(()) }
}

impl WriteOptions {
    fn template(&self) -> Result<String, Failure> {
        let registry = self.plugins.registry()?;
        let mut wish = Wish::named(&registry, &self.name);
        let given = |own: &Option<String>, named: Option<String>| own.clone().or(named);
        wish.reasoning_parser = given(&self.names.reasoning_parser, wish.reasoning_parser);
        wish.tool_parser = given(&self.names.tool_call_parser, wish.tool_parser);
        let own = self.instructions.as_ref().map(|path| files::text("--instructions", path)).transpose()?;
        wish.instructions = own.map(|text| text.trim().to_owned());
        if let (Some(thinker), None) = (&wish.reasoning_parser, &wish.tool_parser) {
            let partners = registry.partners(Half::Reasoning, thinker);
            let known = format!("`{}`", partners.join("`, `"));
            let hint = if partners.is_empty() { "any".to_owned() } else { known };
            warn(
                "no tool-call parser is named, so the template shows no tools",
                Some(&format!("name one with --tool-call-parser; with `{thinker}` goes {hint}")),
            );
        }
        wish.template(&registry).map_err(|error| {
            let (message, hint) = error.told();
            Failure::usage(format!("{}: {message}", self.name), hint)
        })
    }
}

impl CheckOptions {
    fn run(&self, out: &mut impl Write) -> Result<bool, Failure> {
        let findings = progress::during("rendering", || self.findings())?;
        let differs = findings.iter().any(|finding| finding.verdict == Verdict::Differs);
        if self.json {
            writeln!(out, "{}", json!({"fits": !differs, "findings": findings}))?;
            return Ok(differs);
        }
        for finding in &findings {
            show(finding, out)?;
        }
        // Show one difference only: an error in one conversation usually repeats in all.
        if let Some(finding) = findings.iter().find(|finding| finding.written.is_some()) {
            picture(finding, out)?;
        }
        Ok(differs)
    }

    fn findings(&self) -> Result<Vec<Finding>, Failure> {
        let place = Place::open("CHAT_TEMPLATE", &self.place, self.tokenizer_config.as_deref())?;
        let registry = self.plugins.registry()?;
        let [reasoning_parser, tool_parser] = self.names.told(&registry, Some(&place))?;
        let setup = Setup {
            reasoning_parser,
            tool_parser,
            model_type: self.names.model_type.clone(),
            vocabulary: place.vocabulary(),
            tokenizer_config: place.tokenizer_config(),
            ..Setup::default()
        };
        let (reasoning, tools) = (setup.reasoning_parser.is_some(), setup.tool_parser.is_some());
        if !reasoning && !tools {
            return Err(Failure::usage(
                "no parser is named",
                "name --reasoning-parser, --tool-call-parser or both; `auto` tells them from the template",
            ));
        }
        let pair = registry.pair(&setup)?;
        tell_warnings(&pair);
        let mut findings = Subject { prompter: place.prompter(), pair: &pair, reasoning, tools }.findings();
        let special = &setup.vocabulary.special;
        let shown = self.place.display().to_string();
        if let (false, Err(error)) = (special.is_empty(), pair.check_vocabulary(|t| special.contains_key(t), &shown)) {
            findings.push(Finding::new(VOCABULARY, Verdict::Differs, error.message));
        }
        if !special.is_empty() {
            // Models do spell such markers and parsers read them, but with a template of another family this is a hint.
            let spelt = |mark: &&String| !special.contains_key(*mark);
            let marks: Vec<String> =
                marks::of_pair(&pair).iter().filter(spelt).map(|mark| format!("`{mark}`")).collect();
            if !marks.is_empty() {
                let message =
                    format!("not single entries of the vocabulary, so the model spells them: {}", marks.join(", "));
                findings.push(Finding::new(VOCABULARY, Verdict::Note, message));
            }
        }
        Ok(findings)
    }
}

fn show(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    let said = if finding.message.is_empty() { String::new() } else { format!(": {}", finding.message) };
    let line = finding.line.map(|line| format!(" (line {line} of the template)")).unwrap_or_default();
    writeln!(out, "{:8}{}{said}{line}", finding.verdict.word(), finding.check)
}

/// Both sides of a difference, one below the other.
fn picture(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    let (Some(written), Some(parsed)) = (&finding.written, &finding.parsed) else { return Ok(()) };
    let line = finding.line.map(|line| format!(", line {line},")).unwrap_or_default();
    writeln!(out, "\n{}\nthe template{line} writes", finding.check)?;
    written.split('\n').try_for_each(|line| writeln!(out, "  | {line}"))?;
    writeln!(out, "the parser reads")?;
    for (key, value) in parsed.as_object().into_iter().flatten() {
        match value {
            Value::Array(calls) => {
                for call in calls {
                    let text = |key: &str| call[key].as_str().unwrap_or_default();
                    writeln!(out, "  | {:11}{} {}", "call", text("name"), text("arguments"))?;
                }
            }
            value if value == "" => {}
            value => writeln!(out, "  | {key:11}{value}")?,
        }
    }
    Ok(())
}

impl DiffOptions {
    fn run(&self, out: &mut impl Write) -> Result<bool, Failure> {
        let open = |option, path| Place::open(option, path, self.tokenizer_config.as_deref());
        let (a, b) = (open("A", &self.a)?, open("B", &self.b)?);
        let conversations = diff(a.prompter(), b.prompter());
        // If neither template renders, that is no difference.
        let differs = |it: &Conversation| !it.same && !it.errors.iter().all(Option::is_some);
        let any = conversations.iter().any(differs);
        if self.json {
            writeln!(out, "{}", json!({"same": !any, "conversations": conversations}))?;
        } else {
            conversations.iter().try_for_each(|one| show_conversation(one, out))?;
        }
        Ok(any)
    }
}

fn show_conversation(one: &Conversation, out: &mut impl Write) -> io::Result<()> {
    let places = match one.places {
        1 => ": 1 place".to_owned(),
        0 => String::new(),
        n => format!(": {n} places"),
    };
    writeln!(out, "{:8}{}{places}", if one.same { "same" } else { "differs" }, one.conversation)?;
    for (name, error) in ["A", "B"].iter().zip(&one.errors) {
        if let Some(error) = error {
            writeln!(out, "          {name} cannot render it: {error}")?;
        }
    }
    for difference in &one.differences {
        for (name, side) in [("A", &difference.a), ("B", &difference.b)] {
            writeln!(out, "          {name}{}", shown(side))?;
        }
    }
    Ok(())
}

fn shown(side: &Side) -> String {
    let line = side.line.map(|line| format!(", line {line}")).unwrap_or_default();
    let points = match (side.text.is_empty(), side.text.chars().count() > side.code_points.len()) {
        (true, _) => "nothing".to_owned(),
        (false, more) => format!("{}{}", side.code_points.join(" "), if more { " …" } else { "" }),
    };
    format!(" at byte {}{line}: {points} in {:?}", side.offset, side.around)
}
