//! `unspool template`: chat templates held against parsers.

mod check;
mod conversations;
mod turn;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use unspool::setup::Half;
use unspool::{Checkpoint, Registry, Setup, Vocabulary};
use unspool_text::{ModelFolder, Prompter};

use crate::failure::Failure;
use crate::files;
use crate::setup::{ParserNames, Plugins, tell_warnings};
use check::{Finding, Subject, Verdict};

pub(crate) const EXAMPLES: &str = "\
Examples:
  unspool template check chat_template.jinja --reasoning-parser qwen3 --tool-call-parser hermes
  unspool template check models/qwen3 --reasoning-parser auto --tool-call-parser auto
  unspool template check chat_template.jinja --tool-call-parser hermes --tokenizer-config tokenizer_config.json --json

Exit codes: 0 template and parsers fit, 1 they differ, 2 the command line or a file that it names is wrong.";

/// The name of a parser that stands for the one that the model's files tell.
const AUTO: &str = "auto";

/// What to do with a template.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Render conversations, parse each turn of the assistant, and compare
    #[command(after_help = EXAMPLES)]
    Check(Options),
}

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct Options {
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

/// Does it.
pub(crate) fn run(action: &Action) -> Result<(), Failure> {
    let Action::Check(options) = action;
    let findings = options.findings()?;
    let mut out = BufWriter::new(io::stdout().lock());
    if options.json {
        let fits = !findings.iter().any(|finding| finding.verdict == Verdict::Differs);
        let list: Vec<Value> = findings.iter().map(Finding::json).collect();
        writeln!(out, "{}", json!({"fits": fits, "findings": list}))?;
    } else {
        findings.iter().try_for_each(|finding| show(finding, &mut out))?;
    }
    out.flush()?;
    let differing = findings.iter().filter(|finding| finding.verdict == Verdict::Differs).count();
    if differing == 0 { Ok(()) } else { Err(Failure::Differs) }
}

fn show(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    let said = if finding.message.is_empty() { String::new() } else { format!(": {}", finding.message) };
    let line = finding.line.map(|line| format!(" (line {line} of the template)")).unwrap_or_default();
    writeln!(out, "{:8}{}{said}{line}", finding.verdict.word(), finding.what)?;
    if let Some((written, parsed)) = &finding.picture {
        writeln!(out, "        the template writes  {written:?}")?;
        writeln!(out, "        the parser reads     {parsed}")?;
    }
    Ok(())
}

impl Options {
    fn findings(&self) -> Result<Vec<Finding>, Failure> {
        let folder =
            if self.place.is_dir() { Some(ModelFolder::open(&self.place).map_err(text_failure)?) } else { None };
        let given = match &folder {
            Some(_) => None,
            None => Some(files::text("CHAT_TEMPLATE", &self.place)?),
        };
        let prompter = Prompter::new(folder.as_ref(), given.as_deref(), None)
            .map_err(|error| text_failure(error.at(&self.shown())))?;
        let registry = self.plugins.registry()?;
        let config =
            self.tokenizer_config.as_deref().map(|path| files::json("--tokenizer-config", path)).transpose()?;
        let config = config.or_else(|| folder.as_ref().map(|folder| folder.tokenizer_config().clone()));
        let mut setup = Setup {
            model_type: self.names.model_type.clone(),
            vocabulary: vocabulary(folder.as_ref(), config.as_ref()),
            ..Setup::default()
        };
        let source = prompter.template(true).map(|template| template.source().to_owned());
        setup.reasoning_parser = self.named(Half::Reasoning, (&registry, folder.as_ref()), source.as_deref())?;
        setup.tool_parser = self.named(Half::Tools, (&registry, folder.as_ref()), source.as_deref())?;
        let (has_reasoning, has_tools) = (setup.reasoning_parser.is_some(), setup.tool_parser.is_some());
        if !has_reasoning && !has_tools {
            return Err(Failure::usage(
                "no parser is named",
                "name --reasoning-parser, --tool-call-parser or both; `auto` tells them from the template",
            ));
        }
        setup.tokenizer_config = config.unwrap_or_default();
        let known = !setup.vocabulary.special.is_empty();
        let special = setup.vocabulary.special.clone();
        let pair = registry.pair(&setup)?;
        tell_warnings(&pair);
        let mut findings = Subject { prompter: &prompter, pair: &pair, has_reasoning, has_tools }.findings();
        if let (true, Err(error)) = (known, pair.check_vocabulary(|text| special.contains_key(text), &self.shown())) {
            findings.push(Finding::differs("tokens of the format", error.message));
        }
        Ok(findings)
    }

    fn shown(&self) -> String {
        self.place.display().to_string()
    }

    /// The name of a half, `auto` being told from the template and the folder.
    fn named(
        &self,
        half: Half,
        (registry, folder): (&Registry, Option<&ModelFolder>),
        template: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        let given = match half {
            Half::Reasoning => &self.names.reasoning_parser,
            Half::Tools => &self.names.tool_call_parser,
        };
        if given.as_deref() != Some(AUTO) {
            return Ok(given.clone());
        }
        let types: Vec<&str> = folder
            .into_iter()
            .flat_map(|folder| folder.model_type().into_iter().chain(folder.architectures()))
            .collect();
        let has = |text: &str| folder.is_some_and(|folder| folder.tokenizer().entries().added().contains_key(text));
        let has_token: Option<&dyn Fn(&str) -> bool> = if folder.is_some() { Some(&has) } else { None };
        let checkpoint = Checkpoint { template, has_token, model_types: &types };
        Ok(Some(registry.detect(half, &checkpoint)?.name))
    }
}

fn vocabulary(folder: Option<&ModelFolder>, config: Option<&Value>) -> Vocabulary {
    match folder {
        Some(folder) => {
            let entries = folder.tokenizer().entries();
            Vocabulary { special: entries.added().clone(), hidden: entries.special().to_vec(), bytes: None }
        }
        None => config.map(Vocabulary::of_tokenizer_config).unwrap_or_default(),
    }
}

fn text_failure(error: unspool_text::TextError) -> Failure {
    Failure::Usage { message: error.message, hint: error.hint }
}
