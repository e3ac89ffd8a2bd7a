//! `unspool stream`: JSON Lines in, JSON Lines out.

mod hex;
mod input;
mod jobs;
mod reply;
mod start;

use std::io::{self, BufReader, BufWriter, Write};
use std::num::NonZeroUsize;

use clap::Args;

use crate::failure::Failure;
use crate::setup::{LimitOptions, Plugins};
use input::{Lines, Next};
use reply::Session;
use start::Starter;

pub(crate) const EXAMPLES: &str = r#"Example:
  unspool stream <<'EOF'
  {"start": {"reasoning_parser": "qwen3"}}
  {"delta": {"text": "<think>Hm.</think>Yes."}}
  {"finish": "stop"}
  EOF

`unspool stream --help` explains the lines."#;

pub(crate) const PROTOCOL: &str = r#"In, one JSON object a line, many replies one after another:
  {"start": {FIELDS}}  A reply begins. All fields are optional:
    reasoning_parser, tool_parser, model_type   names
    model              the checkpoint's name: its tokens are checked
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
  {"finish": "stop"}   The output is over: "stop", "length", "tool_calls"
                       or null (not known).

Out, one JSON object a line; what a line of input brings is written
before the command waits for more:
  {"event": {"reasoning": {"text"}}}
  {"event": {"content": {"text"}}}
  {"event": {"call_start": {"index", "id", "name"}}}
  {"event": {"call_arguments": {"index", "json"}}}
  {"event": {"call_end": {"index", "complete"}}}
  {"event": {"diagnostic": {"kind", "offset", "text", "message"}}}
  {"message": {"reasoning", "content", "tool_calls", "finish_reason",
               "reasoning_tokens", "reasoning_end_token", "diagnostics"}}
                       The whole reply, after `finish`.
  {"error": {"kind", "message", "hint", "line"}}
                       A line that cannot be used. After a refused `start`
                       its deltas and its finish answer nothing; the next
                       `start` works.

docs/stream.md lists all fields and all kinds of diagnostics and errors.

Example:
  unspool stream <<'EOF'
  {"start": {"reasoning_parser": "qwen3"}}
  {"delta": {"text": "<think>Hm.</think>Yes."}}
  {"finish": "stop"}
  EOF"#;

/// What to know before the first line.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    plugins: Plugins,

    #[command(flatten)]
    limits: LimitOptions,

    /// Longest line of input, in bytes; a longer one is an error, and the next line works
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    max_line_size: usize,

    /// How many replies are read at once. With more than one, a reply is answered when its last line has come; the order stays
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    jobs: NonZeroUsize,
}

/// Bytes of input that are read at once.
const READ: usize = 64 << 10;

/// Answers lines until the input ends.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let starter = Starter::new(options.plugins.registry()?, options.limits.limits());
    let output = BufWriter::with_capacity(READ, io::stdout().lock());
    match options.jobs.get() {
        1 => one_by_one(Session::new(starter), lines(options.max_line_size), output),
        jobs => jobs::run(jobs, &starter, options.max_line_size, output),
    }
}

/// The lines of standard input.
fn lines(longest: usize) -> Lines<BufReader<io::StdinLock<'static>>> {
    // The lock has a buffer of its own, which is not used: this one asks for more at once.
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
