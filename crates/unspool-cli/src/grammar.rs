//! `unspool grammar`: the grammar that holds a model to its format.

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

The tag goes into a request's `structured_outputs.structural_tag` (vLLM) or `response_format`
(SGLang). It holds from where reasoning ends; for a backend that knows no reasoning parser,
`--with-thought` puts the thought into the grammar.";

/// What the grammar is for, and how it is written.
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

    /// `auto`, `required`, `none` or the name of a function, in place of the request's own
    #[arg(long, value_name = "CHOICE", help_heading = "Request")]
    tool_choice: Option<String>,

    /// How strictly calls are held to their schemas
    #[arg(long, value_name = "LEVEL", default_value = "auto")]
    tool_strict_level: Level,

    /// How large the grammar may be: `bytes` of its schemas and of the grammar as it is written, `nodes` of which it is made
    #[arg(long, value_name = "LIMIT", default_value_t = Limit::default())]
    grammar_limit: Limit,

    /// Begin with the thought, for a backend that applies the grammar from the first token
    #[arg(long)]
    with_thought: bool,

    /// For which backend the grammar is written
    #[arg(long, value_name = "BACKEND", default_value = "xgrammar")]
    target: Target,
}

/// How strictly calls are held to their schemas.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Level {
    /// Only if a call is demanded or a tool is strict; strict tools to their schemas
    Auto,
    /// Always; strict tools to their schemas
    Function,
    /// Always; all tools to their schemas
    Parameter,
}

/// Who compiles the grammar.
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
        warn("nothing is to be constrained", Some(why_nothing(&request)));
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
