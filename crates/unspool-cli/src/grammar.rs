//! `unspool grammar`: the grammar that constrains a model to its format.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use unspool::grammar::{self, Grammar, Limit, StrictLevel};
use unspool::{Request, Setup};

use crate::failure::{Failure, warn};
use crate::files;
use crate::setup::{self, ParserNames, Plugins};

pub(crate) const EXAMPLES: &str = "\
Examples:
  unspool grammar --tool-call-parser hermes --tools tools.json --tool-choice required
  unspool grammar --tool-call-parser glm45 --tools tools.json --tool-strict-level parameter \\
    --target llguidance
  unspool grammar --tool-call-parser kimi_k2 --request request.json | jq .format

Send the tag as `structured_outputs.structural_tag` (vLLM) or `response_format` (SGLang) of a
request. It applies after reasoning; for a backend without a reasoning parser, `--with-thought`
adds the thought to the grammar.";

/// The request and the notation of the grammar.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    names: ParserNames,

    #[command(flatten)]
    plugins: Plugins,

    /// JSON file with the request's tools (a list, or an object with `tools`)
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    tools: Option<PathBuf>,

    /// JSON file with an OpenAI chat request: tools, `tool_choice`, `parallel_tool_calls`, `response_format` …
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    request: Option<PathBuf>,

    /// `auto`, `required`, `none` or the name of a function, in place of the request's `tool_choice`
    #[arg(long, value_name = "CHOICE", help_heading = "Request")]
    tool_choice: Option<String>,

    /// How strictly to constrain calls to their schemas
    #[arg(long, value_name = "LEVEL", default_value = "auto")]
    tool_strict_level: Level,

    /// Maximum size of the grammar: `bytes` of its schemas and of the written grammar, `nodes` of its tree
    #[arg(long, value_name = "LIMIT", default_value_t = Limit::default())]
    grammar_limit: Limit,

    /// Include the thought, for a backend that applies the grammar from the first token on
    #[arg(long)]
    with_thought: bool,

    /// Notation of the grammar, by its compiler
    #[arg(long, value_name = "BACKEND", default_value = "xgrammar")]
    target: Target,
}

/// How strictly to constrain calls to their schemas.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Level {
    /// Only required calls and strict tools; strict tools to their schemas
    Auto,
    /// Always; strict tools to their schemas
    Function,
    /// Always; all tools to their schemas
    Parameter,
}

/// The compiler of the grammar.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Target {
    /// A structural tag, as JSON: vLLM, `SGLang`
    Xgrammar,
    /// Lark text: llama.cpp, `SGLang`, vLLM's guidance backend
    Llguidance,
}

/// Prints the grammar.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let pair = options.plugins.registry()?.pair(&options.setup())?;
    let fields = options.fields()?;
    let request = Request::from_openai(&fields)?;
    let wanted = grammar::Options {
        level: options.tool_strict_level.into(),
        with_thought: options.with_thought,
        answer: grammar::answer_schema(&fields)?,
        limit: options.grammar_limit,
        ..grammar::Options::default()
    };
    let Some(grammar) = pair.grammar(&request, &wanted)? else {
        warn("there is nothing to constrain", Some(why_nothing(&request)));
        return Ok(());
    };
    let text = options.target.text(&grammar)?;
    options.grammar_limit.check(text.len())?;
    Ok(io::stdout().write_all(text.as_bytes())?)
}

fn why_nothing(request: &Request) -> &'static str {
    if request.tools.is_empty() {
        return "name the tools with `--tools FILE`, or the form of the answer with `response_format` in `--request FILE`";
    }
    "under `auto` only strict tools are held to a grammar; ask for more with `--tool-choice required` or \
     `--tool-strict-level function`"
}

impl Options {
    fn setup(&self) -> Setup {
        Setup {
            reasoning_parser: self.names.reasoning_parser.clone(),
            tool_parser: self.names.tool_call_parser.clone(),
            model_type: self.names.model_type.clone(),
            ..Setup::default()
        }
    }

    fn fields(&self) -> Result<Value, Failure> {
        let mut fields = setup::request_fields(self.request.as_deref(), self.tools.as_deref())?;
        if let Some(choice) = &self.tool_choice {
            let choice = match choice.as_str() {
                "auto" | "required" | "none" => json!(choice),
                name => json!({"type": "function", "function": {"name": name}}),
            };
            fields.insert("tool_choice".to_owned(), choice);
        }
        Ok(Value::Object(fields))
    }
}

impl Target {
    fn text(self, grammar: &Grammar) -> Result<String, Failure> {
        match self {
            Self::Llguidance => Ok(grammar.lark()),
            Self::Xgrammar => serde_json::to_string_pretty(&grammar.structural_tag())
                .map(|text| text + "\n")
                .map_err(|error| Failure::Io(files::reason(&error))),
        }
    }
}

impl From<Level> for StrictLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Auto => Self::Auto,
            Level::Function => Self::Function,
            Level::Parameter => Self::Parameter,
        }
    }
}
