//! The startup of formats, prompts and the backend.

use std::path::Path;
use std::sync::Arc;

use unspool::setup::{Half, SetupWarning};
use unspool::{Detected, Limits, Pair, Registry, Setup};

use crate::backend::Backend;
use crate::backend::mock::Mock;
use crate::backend::remote::Remote;
use crate::backend::replay::Replay;
use crate::budget::ReasoningMarkers;
use crate::config::{BackendSpec, RemoteKind, ServeConfig, TemplateChoice};
use crate::error::StartupError;
use crate::model::{Model, ModelPrompts};
use crate::prompt::{ChatMl, NoPrompt, PromptRenderer, Unprompted};
use crate::request::ToolRules;

/// The parser name that is resolved from the model's files.
const AUTO: &str = "auto";

/// The allowed tool choices. A chat server may return calls by itself.
pub(super) fn rules(config: &ServeConfig, chats: bool) -> ToolRules {
    ToolRules { has_parser: config.tool_call_parser.is_some() || chats, auto: config.enable_auto_tool_choice || chats }
}

/// The formats: the built-in ones with the plugins, tools first as in vLLM.
pub(super) fn registry(config: &ServeConfig) -> Result<Registry, StartupError> {
    let mut registry = Registry::builtin();
    plug(&mut registry, config.tool_parser_plugin.as_deref(), Half::Tools)?;
    if config.reasoning_parser_plugin != config.tool_parser_plugin {
        plug(&mut registry, config.reasoning_parser_plugin.as_deref(), Half::Reasoning)?;
    }
    Ok(registry)
}

/// The name of a half, with `auto` resolved from the model's files.
pub(super) fn named(
    given: Option<&str>,
    half: Half,
    (registry, model): (&Registry, &Model),
) -> Result<Option<String>, StartupError> {
    if given != Some(AUTO) {
        return Ok(given.map(str::to_owned));
    }
    let Detected { name, why } = model.detect(registry, half)?;
    tracing::info!("{} auto: `{name}`, for {why}", half.flag());
    Ok(Some(name))
}

pub(super) fn warn_of(warnings: &[SetupWarning]) {
    for warning in warnings {
        match &warning.hint {
            Some(hint) => tracing::warn!("{}; hint: {hint}", warning.message),
            None => tracing::warn!("{}", warning.message),
        }
    }
}

/// vLLM refuses a length beyond the model's files; here another process runs the model, so this is only a warning.
pub(super) fn warn_of_length(set: Option<u64>, own: Option<u64>) {
    if let (Some(set), Some(own)) = (set, own)
        && set > own
    {
        tracing::warn!(
            "--max-model-len is {set}, but the model's own files say {own}; hint: does the backend take as many?"
        );
    }
}

/// The room that a prompt of this many bytes surely leaves, if its token count is unknown. Two bytes per token is a low
/// estimate; if even that leaves nothing, the backend decides.
pub(super) fn sure_room(longest: u64, bytes: usize) -> u64 {
    longest.saturating_sub(bytes as u64 / 2).max(longest / 8).max(1)
}

pub(super) fn limits(config: &ServeConfig) -> Limits {
    let mut limits = Limits::default();
    config.limits.iter().for_each(|limit| limits.set(limit));
    limits
}

fn plug(registry: &mut Registry, file: Option<&Path>, half: Half) -> Result<(), StartupError> {
    let Some(path) = file else { return Ok(()) };
    let (flag, to_name) = match half {
        Half::Tools => ("--tool-parser-plugin", "--tool-call-parser"),
        Half::Reasoning => ("--reasoning-parser-plugin", "--reasoning-parser"),
    };
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        StartupError::new(format!("cannot read the format file {shown} of {flag}: {error}"))
            .hint("plugins are format files (TOML), no Python modules; `unspool formats NAME` shows one")
    })?;
    let brought = registry.add(&shown, &text)?;
    if brought.iter().any(|(brought, _)| *brought == half) {
        return Ok(());
    }
    let key = if half == Half::Tools { "names.tools" } else { "names.reasoning" };
    Err(StartupError::new(format!("the format file {shown} of {flag} has no name for {to_name}"))
        .hint(format!("name one with `{key}`, or give the file with the other plugin flag")))
}

/// The source of prompts without a template. The gateway never makes up prompts: a model that gets another model's kind
/// of prompt answers worse, and nobody sees why.
///
/// # Errors
/// There is no source, and the settings do not ask for one.
fn otherwise(
    kind: RemoteKind,
    config: &ServeConfig,
    model: &Model,
    pair: &Pair,
) -> Result<Arc<dyn PromptRenderer>, StartupError> {
    const RAW: &str = "it was started with --chat-template none: POST /v1/completions takes prompts as they are";
    const ABSENT: &str = "the backend makes none either; start the gateway with --model-dir or --chat-template";
    match TemplateChoice::of(config.chat_template.as_deref()) {
        TemplateChoice::ChatMl => Ok(Arc::new(ChatMl::new(pair.clone()))),
        TemplateChoice::Nothing => Ok(Arc::new(Unprompted { hint: RAW })),
        _ if model.has_template() || kind.makes_prompts() => Ok(Arc::new(Unprompted { hint: ABSENT })),
        _ => Err(StartupError::new(format!("nobody makes prompts for --backend {kind}: no chat template is known")).hint(
            "give the model's folder with --model-dir, or its template with --chat-template FILE; `--chat-template chatml` \
             makes simple prompts, `--chat-template none` serves /v1/completions alone, and --backend chat:URL leaves the \
             prompt to the server",
        )),
    }
}

pub(super) fn open(
    config: &ServeConfig,
    registry: &Registry,
    mut setup: Setup,
    model: &Arc<Model>,
) -> Result<(Pair, Arc<dyn Backend>), StartupError> {
    let prompts = |otherwise: Arc<dyn PromptRenderer>| -> Arc<dyn PromptRenderer> {
        Arc::new(ModelPrompts::new(Arc::clone(model), otherwise))
    };
    match &config.backend {
        BackendSpec::Mock => {
            let (mock, pair) = Mock::new(registry, &setup, config.mock_rate)?;
            let thoughts = ReasoningMarkers::new(&config.constraint.reasoning()?, &pair, model);
            Ok((pair, Arc::new(mock.with_thoughts(thoughts))))
        }
        BackendSpec::Replay(path) => {
            let replay = Replay::open(path)?;
            if !model.has_tokenizer() {
                setup.vocabulary = replay.vocabulary();
            }
            Ok((registry.pair(&setup)?, Arc::new(replay.with_prompts(prompts(Arc::new(NoPrompt))))))
        }
        BackendSpec::Remote { kind, urls } => {
            let pair = registry.pair(&setup)?;
            let renderer = prompts(otherwise(*kind, config, model, &pair)?);
            let remote = Remote::new((*kind, urls), config, (model, &pair), renderer)?;
            Ok((pair, Arc::new(remote)))
        }
    }
}
