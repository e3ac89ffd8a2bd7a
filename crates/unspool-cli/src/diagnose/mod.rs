//! `unspool diagnose`: why tool calls or reasoning do not arrive.

mod picture;
mod url;

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use unspool::{Checkpoint, Setup};
use unspool_check::diagnose::{Formats, Input, Question, Report, Served, diagnose};

use crate::failure::Failure;
use crate::files;
use crate::place::Place;
use crate::progress;
use crate::setup::{self, ParserNames, Plugins};

pub(crate) const EXAMPLES: &str = "\
Examples:
  unspool diagnose output.txt --tools tools.json
  unspool diagnose answer.json --reasoning-parser qwen3 --tool-call-parser hermes
  unspool diagnose stream.log --model-dir models/qwen3 --serve-args \"$(cat serve.sh)\"
  unspool diagnose --url http://127.0.0.1:8000 --request request.json --model-dir models/qwen3 --json

Exit codes: 0 nothing is wrong, 1 something is, 2 it could not check: the command line, or a file that it names, is wrong.";

/// The input and what is known about it.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Raw output, a response body, a log of server-sent events, JSON Lines or a recording; `-` or nothing: standard
    /// input
    file: Option<PathBuf>,

    #[command(flatten)]
    names: ParserNames,

    /// The command line that starts the server, or its flags
    #[arg(long, value_name = "LINE", allow_hyphen_values = true, help_heading = "Server")]
    serve_args: Option<String>,

    /// A running vLLM or compatible server, queried whole, streamed and raw
    #[arg(long, value_name = "URL", conflicts_with = "file", help_heading = "Server")]
    url: Option<String>,

    /// API key for the server of --url
    #[arg(long, value_name = "KEY", requires = "url", help_heading = "Server")]
    api_key: Option<String>,

    /// The model's id, such as Qwen/Qwen3-8B
    #[arg(long, value_name = "ID", help_heading = "Model")]
    model: Option<String>,

    /// Folder of the checkpoint, or only its chat template
    #[arg(long, value_name = "DIR", help_heading = "Model")]
    model_dir: Option<PathBuf>,

    /// JSON file with the request's tools (a list, or an object with `tools`)
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    tools: Option<PathBuf>,

    /// JSON file with the chat request
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    request: Option<PathBuf>,

    /// File with the rendered prompt or its end
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    prompt: Option<PathBuf>,

    #[command(flatten)]
    plugins: Plugins,

    /// Print the diagnosis as JSON
    #[arg(long)]
    json: bool,
}

/// Diagnoses the input and prints the report.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let report = progress::during("looking", || options.report())?;
    let text = if options.json {
        serde_json::to_string_pretty(&report).map_err(|error| Failure::Io(error.to_string()))? + "\n"
    } else {
        picture::of(&report)
    };
    anstream::stdout().write_all(text.as_bytes())?;
    io::stdout().flush()?;
    if report.has_findings() { Err(Failure::Differs) } else { Ok(()) }
}

impl Options {
    fn report(&self) -> Result<Report, Failure> {
        let registry = self.plugins.registry()?;
        let place = self.model_dir.as_deref().map(|path| Place::open("--model-dir", path, None)).transpose()?;
        let request = Value::Object(setup::request_fields(self.request.as_deref(), self.tools.as_deref())?);
        let served = self.serve_args.as_deref().map(Served::read);
        let names = self.names.told(&registry, place.as_ref())?;
        let asked = self
            .url
            .as_deref()
            .map(|url| url::ask(url, self.api_key.as_deref(), &request, place.as_ref().map(Place::prompter)));
        let asked = asked.transpose()?;
        let prompt = self.prompt.as_deref().map(|path| files::text("--prompt", path)).transpose()?;
        let input = match &asked {
            Some(asked) => asked.input.clone(),
            None => Input::read(&files::raw(self.file.as_deref())?).map_err(|e| Failure::usage(e.message, e.hint))?,
        };
        let base = match &place {
            Some(place) => {
                Setup { vocabulary: place.vocabulary(), tokenizer_config: place.tokenizer_config(), ..Setup::default() }
            }
            None => Setup::default(),
        };
        let formats = Formats::new(registry, base);
        let question = Question {
            reasoning_parser: names[0].as_deref(),
            tool_call_parser: names[1].as_deref(),
            request: asked.as_ref().map_or(&request, |asked| &asked.request),
            prompt: prompt.as_deref().or_else(|| asked.as_ref()?.prompt.as_deref()),
            model: self.model.as_deref(),
            prompter: place.as_ref().map(Place::prompter),
            served: served.as_ref(),
            server: asked.as_ref().map(|asked| &asked.server),
            ..Question::new(&input, &formats)
        };
        let made = |checkpoint: Checkpoint<'_>| diagnose(&Question { checkpoint, ..question });
        Ok(match &place {
            Some(place) => place.with_checkpoint(made),
            None => made(Checkpoint::default()),
        }?)
    }
}
