//! `unspool stream`: JSON Lines in, JSON Lines out.

mod hex;
mod input;
mod jobs;
mod reply;
mod start;

use std::io::{self, BufReader, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::place::Place;
use crate::setup::{LimitOptions, ParserNames, Plugins, request_fields};
use input::{Lines, Next};
use reply::Session;
use start::{Defaults, Starter};

pub(crate) const EXAMPLES: &str = r#"Example:
  unspool stream <<'EOF'
  {"start": {"reasoning_parser": "qwen3"}}
  {"delta": {"text": "<think>Hm.</think>Yes."}}
  {"finish": "stop"}
  EOF
  unspool stream --tool-call-parser hermes --tools tools.json < outputs.jsonl

`unspool stream --help` explains the lines."#;

pub(crate) const PROTOCOL: &str = r#"Input, one JSON object per line, many replies one after another:
  {"start": {FIELDS}}  A reply begins. All fields are optional:
    reasoning_parser, tool_parser, model_type   names
    model              the checkpoint's name, to check its tokens
    tools, request     OpenAI tools; fields of an OpenAI chat request
    prompt             end of the rendered prompt, or as tokens:
    prompt_tokens      [[id, "text"] or [id, null, "hex"], ...]
    special_tokens     {"text": id} of the vocabulary
    hidden_special_tokens   ["text", ...] that never show
    tokenizer_config   the object of tokenizer_config.json
    vocab              {"id": "text" or {"hex": "..."}}, for ids alone
    incomplete_calls   "stream" (default), "text" or "drop"
    limits             {"name": 256, "arguments": "16MiB", ...}
  {"delta": {"text": "...", "ids": [1, 2]}}
                       A piece of output. Either may be missing; ids alone
                       need `vocab`.
  {"finish": "stop"}   The output is complete: "stop", "length",
                       "tool_calls" or null (unknown).
  {"id": ..., "text": "...", FIELDS}
                       A complete output, answered by one message line
                       with the same id. It may have a `finish` and the
                       fields of a start; the flags set the defaults.

Output, one JSON object per line; the command answers a line before it
waits for more input:
  {"event": {"reasoning": {"text"}}}
  {"event": {"content": {"text"}}}
  {"event": {"call_start": {"index", "id", "name"}}}
  {"event": {"call_arguments": {"index", "json"}}}
  {"event": {"call_end": {"index", "complete"}}}
  {"event": {"diagnostic": {"kind", "offset", "text", "message"}}}
  {"message": {"reasoning", "content", "tool_calls", "finish_reason",
               "reasoning_tokens", "reasoning_end_token", "diagnostics"}}
                       The complete reply, after `finish`.
  {"error": {"kind", "message", "hint", "line"}}
                       An invalid line. After a refused `start` its deltas
                       and its finish produce no output; the next `start`
                       works.

Example:
  unspool stream <<'EOF'
  {"start": {"reasoning_parser": "qwen3"}}
  {"delta": {"text": "<think>Hm.</think>Yes."}}
  {"finish": "stop"}
  EOF"#;

/// Settings for all lines.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    names: ParserNames,

    #[command(flatten)]
    plugins: Plugins,

    #[command(flatten)]
    limits: LimitOptions,

    /// Folder of the checkpoint, or only its chat template, for its tokens and to resolve `auto` as a parser's name
    #[arg(long, value_name = "DIR", help_heading = "Formats")]
    model_dir: Option<PathBuf>,

    /// JSON file with the default tools of replies (a list, or an object with `tools`)
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    tools: Option<PathBuf>,

    /// Write no events, but one `message` line for each reply
    #[arg(long)]
    messages: bool,

    /// Maximum length of an input line, in bytes; a longer one is an error and is skipped
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    max_line_size: usize,

    /// Number of replies to parse in parallel. With more than one, a reply is answered after its last line; the order
    /// stays
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    jobs: NonZeroUsize,
}

/// Size of the input buffer, in bytes.
const READ: usize = 64 << 10;

/// Answers lines until the input ends.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let starter = Starter::new(options.plugins.registry()?, options.limits.limits(), options.defaults()?);
    let output = BufWriter::with_capacity(READ, io::stdout().lock());
    match options.jobs.get() {
        1 => one_by_one(Session::new(starter, options.messages), lines(options.max_line_size), output),
        jobs => {
            let sessions = (0..jobs).map(|_| Session::new(starter.clone(), options.messages)).collect();
            jobs::run(sessions, options.max_line_size, output)
        }
    }
}

impl Options {
    /// The default fields of a start.
    fn defaults(&self) -> Result<Defaults, Failure> {
        let mut fields = Map::new();
        let names = &self.names;
        let said = [
            ("reasoning_parser", &names.reasoning_parser),
            ("tool_parser", &names.tool_call_parser),
            ("model_type", &names.model_type),
        ];
        for (field, name) in said {
            fields.extend(name.as_ref().map(|name| (field.to_owned(), json!(name))));
        }
        if self.tools.is_some() {
            fields.extend(request_fields(None, self.tools.as_deref())?);
        }
        if let Some(path) = &self.model_dir {
            let place = Place::open("--model-dir", path, None)?;
            let vocabulary = place.vocabulary();
            fields.insert("special_tokens".to_owned(), json!(vocabulary.special));
            fields.insert("hidden_special_tokens".to_owned(), json!(vocabulary.hidden));
            fields.insert("tokenizer_config".to_owned(), place.tokenizer_config());
        }
        let raw = |(name, value): (String, Value)| to_raw_value(&value).map(|raw| (name, raw));
        let fields: Result<_, _> = fields.into_iter().map(raw).collect();
        fields.map(Arc::new).map_err(|error| Failure::Io(error.to_string()))
    }
}

/// The lines of standard input.
fn lines(longest: usize) -> Lines<BufReader<io::StdinLock<'static>>> {
    // The lock's own buffer stays unused: this one reads more at once.
    Lines::new(BufReader::with_capacity(READ, io::stdin().lock()), longest)
}

fn one_by_one(
    mut session: Session,
    mut lines: Lines<BufReader<io::StdinLock<'_>>>,
    mut output: impl Write,
) -> Result<(), Failure> {
    loop {
        match lines.next().map_err(|error| unread(&error))? {
            Next::End => return Ok(output.flush()?),
            Next::Line(line) => session.line(line, &mut output)?,
            Next::TooLong => session.too_long(lines.longest(), &mut output)?,
        }
        if !lines.has_more() {
            output.flush()?;
        }
    }
}

fn unread(error: &io::Error) -> Failure {
    Failure::Io(format!("cannot read standard input: {error}"))
}
