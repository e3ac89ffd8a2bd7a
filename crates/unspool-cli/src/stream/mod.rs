//! `unspool stream`: JSON Lines in, JSON Lines out.

mod hex;
mod reply;
mod start;

use std::io::{self, BufRead as _, BufWriter, Write};

use clap::Args;

use crate::failure::Failure;
use crate::setup::{LimitOptions, Plugins};
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

Out, one JSON object a line, written at once after each line of input:
  {"event": {"reasoning": {"text"}}}
  {"event": {"content": {"text"}}}
  {"event": {"call_start": {"index", "id", "name"}}}
  {"event": {"call_arguments": {"index", "json"}}}
  {"event": {"call_end": {"index", "complete"}}}
  {"event": {"diagnostic": {"kind", "offset", "text", "message"}}}
  {"message": {"reasoning", "content", "tool_calls", "finish_reason",
               "reasoning_tokens", "gate_step", "diagnostics"}}
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
}

/// Answers lines until the input ends.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut session = Session::new(Starter::new(options.plugins.registry()?, options.limits.limits()));
    let mut input = io::stdin().lock();
    let mut output = BufWriter::new(io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        match read.map_err(|error| Failure::Io(format!("cannot read standard input: {error}")))? {
            0 => return Ok(()),
            _ => session.line(&line, &mut output)?,
        }
        output.flush()?;
    }
}
