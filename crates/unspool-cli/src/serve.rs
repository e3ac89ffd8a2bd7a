//! `unspool serve`: the gateway.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracing::level_filters::LevelFilter;
use unspool::Registry;
use unspool_check::write::Wish;
use unspool_server::{ServeConfig, StartupError};

use crate::failure::Failure;
use crate::files;
use crate::place::AUTO;

pub(crate) const EXAMPLES: &str = "\
Examples:
  Without a model: plausible answers in a model's own syntax, through the real parser
    unspool serve --reasoning-parser qwen3 --tool-call-parser qwen3_coder --enable-auto-tool-choice
  In front of two vLLM servers, with the model's own tokenizer and chat template
    unspool serve --backend vllm:http://10.0.0.1:8001,http://10.0.0.2:8001 \\
      --model-dir models/qwen3 --reasoning-parser qwen3 --tool-call-parser hermes \\
      --enable-auto-tool-choice
  In front of any server with a raw completions API
    unspool serve --backend openai:http://127.0.0.1:8080 --chat-template template.jinja \\
      --reasoning-parser deepseek_r1 --port 9000
  In front of a chat server that leaves calls in its text (Ollama, LM Studio, llama.cpp, hosted APIs)
    unspool serve --backend chat:http://127.0.0.1:11434 --reasoning-parser qwen3 --tool-call-parser qwen3_coder
  With automatic format detection, HTTPS, and flags from a file
    unspool serve --config gateway.yaml --model-dir models/qwen3 \\
      --reasoning-parser auto --tool-call-parser auto \\
      --ssl-certfile certificate.pem --ssl-keyfile key.pem
  Recorded outputs, in order
    unspool serve --backend replay:outputs.jsonl --tool-call-parser hermes --enable-auto-tool-choice

Then any OpenAI client works, with the base URL http://127.0.0.1:8000/v1:
  curl -N http://127.0.0.1:8000/v1/chat/completions -H 'content-type: application/json' \\
    -d '{\"model\": \"any\", \"stream\": true, \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'

With --model-dir you can look at the rendered prompt:
  curl http://127.0.0.1:8000/v1/chat/completions/render -H 'content-type: application/json' \\
    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'

Ctrl-C lets running answers finish; a second one ends the gateway at once.";

/// The gateway's options.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    config: ServeConfig,

    /// YAML file with flags: names without their dashes, for example `port: 8000`; the command line takes precedence
    #[arg(long = "config", value_name = "FILE")]
    _config_file: Option<PathBuf>,

    /// Removed from vLLM; recognised to give a better error than for a misspelt flag
    #[arg(long, hide = true, num_args = 0..=1, value_name = "BOOL")]
    enable_reasoning: Option<Option<String>>,

    /// Log level on standard error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: Level,

    /// Log format. Neither contains what users and models say
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
}

/// Log format.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    /// Text lines
    Text,
    /// JSON Lines
    Json,
}

/// Log level.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Level {
    /// Nothing
    Off,
    /// Errors
    Error,
    /// Also warnings
    Warn,
    /// Also startup and requests
    Info,
    /// Also each step of a request
    Debug,
    /// Everything
    Trace,
}

/// Serves until the process receives a signal to end.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if options.enable_reasoning.is_some() {
        return Err(Failure::usage(
            "--enable-reasoning was removed".to_owned(),
            "--reasoning-parser NAME alone turns it on".to_owned(),
        ));
    }
    let log = tracing_subscriber::fmt().with_writer(io::stderr).with_max_level(LevelFilter::from(options.log));
    match options.log_format {
        LogFormat::Text => log.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => log.json().flatten_event(true).with_current_span(false).init(),
    }
    let mut config = options.config.clone();
    config.text.template_worker = own_program();
    if let Some(name) = config.chat_template.as_deref().and_then(|text| text.strip_prefix(OF_FORMAT)) {
        config.chat_template = Some(written(name, &config)?);
    }
    Ok(unspool_server::run_blocking(&config, announce)?)
}

/// Prefix of a format's name in --chat-template.
const OF_FORMAT: &str = "format:";

/// The chat template generated from a format's file, for the configured parsers.
fn written(name: &str, config: &ServeConfig) -> Result<String, Failure> {
    let mut registry = Registry::builtin();
    for path in [&config.tool_parser_plugin, &config.reasoning_parser_plugin].into_iter().flatten() {
        registry.add(&path.display().to_string(), &files::text("a plugin", path)?)?;
    }
    let mut wish = Wish::named(&registry, name);
    // The template must not teach what the configured parsers do not read.
    let named = |parser: &Option<String>| parser.clone().filter(|name| name != AUTO);
    if config.reasoning_parser.as_deref() != Some(AUTO) {
        wish.reasoning_parser.clone_from(&config.reasoning_parser);
    }
    if wish.tool_parser.is_none() {
        wish.tool_parser = named(&config.tool_call_parser);
    }
    wish.template(&registry).map_err(|error| {
        let (message, hint) = error.told();
        Failure::usage(format!("--chat-template {OF_FORMAT}{name}: {message}"), hint)
    })
}

/// This program, to be started again for the templates of requests.
fn own_program() -> Option<PathBuf> {
    // On Linux this is the running program even after its file was replaced.
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { Some(running) } else { std::env::current_exe().ok() }
}

/// Prints the address, for people and for scripts that asked for a free port.
fn announce(place: &str) {
    // Ignore a closed standard output; the gateway serves anyway.
    let _ = writeln!(io::stdout(), "listening on {place}");
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Off => Self::OFF,
            Level::Error => Self::ERROR,
            Level::Warn => Self::WARN,
            Level::Info => Self::INFO,
            Level::Debug => Self::DEBUG,
            Level::Trace => Self::TRACE,
        }
    }
}

impl From<StartupError> for Failure {
    fn from(error: StartupError) -> Self {
        Self::Usage { message: error.message, hint: error.hint }
    }
}
