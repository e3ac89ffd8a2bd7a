//! `unspool parse`: parses one raw output.

mod picture;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::Value;
use unspool::{
    Delta, Event, FinishReason, IncompleteCalls, Message, Pair, Prompt, Registry, Request, Setup, Sink, Span, Spans,
    Vocabulary,
};

use unspool_check::diagnose::Formats;

use crate::failure::{Failure, warn};
use crate::files;
use crate::place::Place;
use crate::setup::{self, LimitOptions, ParserNames, Plugins, tell_warnings};
use crate::wire::{EventShape, Location, MessageShape};

pub(crate) const EXAMPLES: &str = "\
Examples:
  unspool parse --reasoning-parser qwen3 --tool-call-parser hermes --tools tools.json output.txt
  llm raw | unspool parse --reasoning-parser deepseek_r1 --prompt $'<think>\\n' --json
  unspool parse --tool-call-parser qwen3_coder --request request.json --chunk 3 --events output.txt
  unspool parse --model-dir models/qwen3 --reasoning-parser auto --tool-call-parser auto --tools tools.json output.txt

tools.json is a list as in an OpenAI request:
  [{\"type\": \"function\", \"function\": {\"name\": \"tide\", \"parameters\": {\"type\": \"object\", \"properties\":
    {\"harbour\": {\"type\": \"string\"}}}}}]
Without tools there are no calls, as with an API: the markup stays content.";

/// What to parse, and what to show.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// File with the raw output, with special tokens as text; `-` or nothing: standard input
    file: Option<PathBuf>,

    #[command(flatten)]
    names: ParserNames,

    #[command(flatten)]
    plugins: Plugins,

    #[command(flatten)]
    limits: LimitOptions,

    /// JSON file with the request's tools (a list, or an object with `tools`)
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    tools: Option<PathBuf>,

    /// JSON file with an OpenAI chat request: tools, `tool_choice`, `chat_template_kwargs` …
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    request: Option<PathBuf>,

    /// End of the rendered prompt, which says where the reply begins (such as `$'<think>\n'`)
    #[arg(long, value_name = "TEXT", help_heading = "Request")]
    prompt: Option<String>,

    /// File with the rendered prompt
    #[arg(long, value_name = "FILE", conflicts_with = "prompt", help_heading = "Request")]
    prompt_file: Option<PathBuf>,

    /// Folder of the checkpoint, or only its chat template, to resolve `auto` as a parser's name
    #[arg(long, value_name = "DIR", help_heading = "Formats")]
    model_dir: Option<PathBuf>,

    /// `tokenizer_config.json` of the checkpoint, for special tokens and settings of a format
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    tokenizer_config: Option<PathBuf>,

    /// The engine's finish reason
    #[arg(long, value_name = "REASON", default_value = "stop", help_heading = "Request")]
    finish: Reason,

    /// What happens to a call that never completes
    #[arg(long, value_name = "HOW", default_value = "stream", help_heading = "Request")]
    incomplete_calls: Incomplete,

    /// Split the text into deltas of N characters; the result is the same, the events are smaller
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    chunk: Option<u64>,

    /// Print the events as JSON Lines
    #[arg(long, conflicts_with = "json")]
    events: bool,

    /// Print the message as JSON
    #[arg(long)]
    json: bool,
}

/// The engine's finish reason.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Reason {
    /// The model ended the reply
    Stop,
    /// The output was cut (`max_tokens`)
    Length,
    /// The engine reports tool calls
    #[value(name = "tool_calls")]
    ToolCalls,
}

/// What happens to a call that never completes.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Incomplete {
    /// It goes out with the arguments so far
    Stream,
    /// Its raw text becomes content
    Text,
    /// Its raw text goes only to a diagnostic
    Drop,
}

/// Parses the output and prints the requested form.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let registry = options.plugins.registry()?;
    let setup = options.setup(&registry)?;
    let pair = registry.pair(&setup)?;
    tell_warnings(&pair);
    tell_missing_tokens(&pair, &setup);
    let request = options.request()?;
    let prompt = options.prompt()?;
    let mut parser = pair.parser(&request, prompt.as_deref().map_or(Prompt::Unknown, Prompt::Text))?;
    if options.names.tool_call_parser.is_some() && request.tools.is_empty() {
        warn("there are no tools, so there are no calls", Some("name them with `--tools FILE` or `--request FILE`"));
    }
    let raw = files::raw(options.file.as_deref())?;

    let mut output =
        Output { events: options.events.then(|| BufWriter::new(io::stdout().lock())), ..Output::default() };
    for piece in pieces(&raw, options.chunk) {
        parser.push(Delta::text(piece), &mut output);
    }
    let finish = parser.finish(Some(options.finish.into()), &mut output);
    let Output { events, message, spans, fault } = output;
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    if let Some(mut events) = events {
        return Ok(events.flush()?);
    }
    if options.json {
        let place = |index: usize| Location::of(spans.calls.get(index).map(|call| call.whole).unwrap_or_default());
        let shape = MessageShape::new(&message, &finish, place);
        let text = serde_json::to_string_pretty(&shape).map_err(|error| Failure::Io(error.to_string()))?;
        return Ok(io::stdout().write_all((text + "\n").as_bytes())?);
    }
    picture::print(&message, &finish, &raw)?;
    options.hint(registry, &setup, &message, &raw)
}

impl Options {
    fn setup(&self, registry: &Registry) -> Result<Setup, Failure> {
        let config = self.tokenizer_config.as_deref();
        let place = self.model_dir.as_deref().map(|path| Place::open("--model-dir", path, config)).transpose()?;
        let (vocabulary, tokenizer_config) = match (&place, config) {
            (Some(place), _) => (place.vocabulary(), place.tokenizer_config()),
            (None, Some(path)) => {
                let config = files::json("--tokenizer-config", path)?;
                (Vocabulary::of_tokenizer_config(&config), config)
            }
            (None, None) => (Vocabulary::default(), Value::Null),
        };
        let [reasoning_parser, tool_parser] = self.names.told(registry, place.as_ref())?;
        Ok(Setup {
            reasoning_parser,
            tool_parser,
            model_type: self.names.model_type.clone(),
            vocabulary,
            tokenizer_config,
            incomplete_calls: self.incomplete_calls.into(),
            limits: self.limits.limits(),
            ..Setup::default()
        })
    }

    fn request(&self) -> Result<Request, Failure> {
        let fields = setup::request_fields(self.request.as_deref(), self.tools.as_deref())?;
        Ok(Request::from_openai(&Value::Object(fields))?)
    }

    /// A hint about markup in the answer of a reply without calls.
    fn hint(&self, registry: Registry, setup: &Setup, message: &Message, raw: &str) -> Result<(), Failure> {
        let names = [setup.reasoning_parser.as_deref(), setup.tool_parser.as_deref()];
        let base = Setup {
            vocabulary: setup.vocabulary.clone(),
            tokenizer_config: setup.tokenizer_config.clone(),
            ..Setup::default()
        };
        // The hint reads every format's file, so it is skipped for a reply without anything like markup.
        if !message.tool_calls.is_empty() || !message.content.contains(['<', '[', '|']) {
            return Ok(());
        }
        let formats = Formats::new(registry, base);
        if !formats.has_markup(message) {
            return Ok(());
        }
        let request = Value::Object(setup::request_fields(self.request.as_deref(), self.tools.as_deref())?);
        if let Some(hint) = formats.hint(names, &request, raw) {
            let flags = if hint.flags.is_empty() { String::new() } else { format!("{}; ", hint.flags.join(" ")) };
            let what = format!("the answer has markup but no call: {}", hint.message);
            warn(&what, Some(&format!("{flags}`unspool diagnose` says more")));
        }
        Ok(())
    }

    fn prompt(&self) -> Result<Option<String>, Failure> {
        match &self.prompt_file {
            Some(path) => files::text("--prompt-file", path).map(Some),
            None => Ok(self.prompt.clone()),
        }
    }
}

/// Warns about missing tokens. It is only a warning, because markers that the tokenizer's configuration does not
/// declare may be ordinary entries of its vocabulary, which is unknown here.
fn tell_missing_tokens(pair: &Pair, setup: &Setup) {
    let special = &setup.vocabulary.special;
    if special.is_empty() {
        return;
    }
    let model = setup.tokenizer_config.get("name_or_path").and_then(Value::as_str).unwrap_or("--tokenizer-config");
    if let Err(error) = pair.check_vocabulary(|token| special.contains_key(token), model) {
        warn(&error.message, error.hint.as_deref());
    }
}

/// Splits the text into deltas of `chunk` characters; `None`: one delta.
fn pieces(text: &str, chunk: Option<u64>) -> impl Iterator<Item = &str> {
    let size = chunk.and_then(|chunk| usize::try_from(chunk).ok()).unwrap_or(usize::MAX);
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

/// Folds the message; writes the events if requested.
#[derive(Default)]
struct Output<'a> {
    events: Option<BufWriter<io::StdoutLock<'a>>>,
    message: Message,
    spans: Spans,
    fault: Option<io::Error>,
}

impl Sink for Output<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.event_at(event, Span::default());
    }

    fn event_at(&mut self, event: Event<'_>, span: Span) {
        if let (Some(out), None) = (&mut self.events, &self.fault) {
            let shape = EventShape::new(&event, Location::of(span));
            let written = serde_json::to_writer(&mut *out, &shape).map_err(io::Error::from);
            self.fault = written.and_then(|()| out.write_all(b"\n")).err();
        }
        self.spans.event_at(event.clone(), span);
        self.message.event_at(event, span);
    }
}

impl From<Reason> for FinishReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Stop => Self::Stop,
            Reason::Length => Self::Length,
            Reason::ToolCalls => Self::ToolCalls,
        }
    }
}

impl From<Incomplete> for IncompleteCalls {
    fn from(how: Incomplete) -> Self {
        match how {
            Incomplete::Stream => Self::Stream,
            Incomplete::Text => Self::Text,
            Incomplete::Drop => Self::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_characters() {
        assert_eq!(pieces("añb🍵c", Some(2)).collect::<Vec<_>>(), ["añ", "b🍵", "c"]);
        assert_eq!(pieces("añb", None).collect::<Vec<_>>(), ["añb"]);
        assert_eq!(pieces("", Some(1)).count(), 0);
    }
}
