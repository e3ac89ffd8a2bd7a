//! The options that choose a pair of parsers, shared by several commands.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};
use unspool::Pair;
use unspool::setup::Half;
use unspool::{Limit, Limits, Registry};

use crate::failure::{Failure, warn};
use crate::files;
use crate::place::{AUTO, Place};
use crate::tools;

/// A user's own format files.
#[derive(Debug, Args)]
pub(crate) struct Plugins {
    /// Format file of your own, with all of its parsers; can be repeated
    #[arg(long = "format", value_name = "FILE", help_heading = "Formats")]
    formats: Vec<PathBuf>,

    /// Format file of your own with a reasoning parser; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Formats")]
    reasoning_parser_plugin: Vec<PathBuf>,

    /// Format file of your own with a tool-call parser; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Formats")]
    tool_parser_plugin: Vec<PathBuf>,
}

/// Limits of the parser.
#[derive(Debug, Args)]
pub(crate) struct LimitOptions {
    /// Set a limit of the parser: name, header, blank, argument, held_arguments, thought, arguments (in bytes, such as
    /// 64KiB), depth, calls or diagnostics; can be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", help_heading = "Limits")]
    limits: Vec<Limit>,
}

impl LimitOptions {
    /// The defaults, overridden by the given limits.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        self.limits.iter().for_each(|limit| limits.set(limit));
        limits
    }
}

/// Prints warnings about a pair that works but is probably wrong.
pub(crate) fn tell_warnings(pair: &Pair) {
    for warning in pair.warnings() {
        warn(&warning.message, warning.hint.as_deref());
    }
}

/// The names of the two halves.
#[derive(Debug, Args)]
pub(crate) struct ParserNames {
    /// Reasoning parser; `unspool formats` lists the names
    #[arg(long, value_name = "NAME", help_heading = "Formats")]
    pub(crate) reasoning_parser: Option<String>,

    /// Tool-call parser; `unspool formats` lists the names
    #[arg(long, value_name = "NAME", help_heading = "Formats")]
    pub(crate) tool_call_parser: Option<String>,

    /// The checkpoint's `model_type`; `gpt_oss` selects harmony whatever the names
    #[arg(long, value_name = "TYPE", help_heading = "Formats")]
    pub(crate) model_type: Option<String>,
}

impl ParserNames {
    /// The names of the halves, with `auto` resolved from the model's files.
    pub(crate) fn told(&self, registry: &Registry, place: Option<&Place>) -> Result<[Option<String>; 2], Failure> {
        let named = |half: Half, given: &Option<String>| match (place, given.as_deref()) {
            (None, Some(AUTO)) => Err(Failure::usage(
                format!("{} auto needs the model's files", half.flag()),
                "give the folder of the checkpoint, or its chat template, with --model-dir",
            )),
            (Some(place), given) => place.named(registry, half, given),
            (None, given) => Ok(given.map(str::to_owned)),
        };
        Ok([named(Half::Reasoning, &self.reasoning_parser)?, named(Half::Tools, &self.tool_call_parser)?])
    }
}

impl Plugins {
    /// The built-in formats and the user's own.
    ///
    /// A file that appears under both options is loaded once.
    pub(crate) fn registry(&self) -> Result<Registry, Failure> {
        let mut registry = Registry::builtin();
        let mut loaded: Vec<(&PathBuf, Vec<Half>)> = Vec::new();
        for path in &self.formats {
            let text = files::text("--format", path)?;
            let names = registry.add(&path.display().to_string(), &text)?;
            loaded.push((path, names.into_iter().map(|(half, _)| half).collect()));
        }
        let reasoning = self.reasoning_parser_plugin.iter().map(|path| (path, Half::Reasoning));
        let tools = self.tool_parser_plugin.iter().map(|path| (path, Half::Tools));
        for (path, half) in reasoning.chain(tools) {
            let known = loaded.iter().position(|(other, _)| *other == path);
            let index = match known {
                Some(index) => index,
                None => {
                    let text = files::text(option(half), path)?;
                    let names = registry.add(&path.display().to_string(), &text)?;
                    loaded.push((path, names.into_iter().map(|(half, _)| half).collect()));
                    loaded.len() - 1
                }
            };
            if loaded.get(index).is_some_and(|(_, halves)| !halves.contains(&half)) {
                return Err(no_such_half(path, half));
            }
        }
        for warning in registry.warnings() {
            warn(&warning.message, warning.hint.as_deref());
        }
        Ok(registry)
    }
}

fn option(half: Half) -> &'static str {
    match half {
        Half::Reasoning => "--reasoning-parser-plugin",
        Half::Tools => "--tool-parser-plugin",
    }
}

fn no_such_half(path: &Path, half: Half) -> Failure {
    let (brings, key, other) = match half {
        Half::Reasoning => ("reasoning parser", "names.reasoning", Half::Tools),
        Half::Tools => ("tool-call parser", "names.tools", Half::Reasoning),
    };
    Failure::usage(
        format!("{}: the file has no {brings}", path.display()),
        format!("name one with `{key}`, or give the file with `{}`", option(other)),
    )
}

/// The request of `--request`, with its tools replaced by those of `--tools`.
pub(crate) fn request_fields(request: Option<&Path>, tools: Option<&Path>) -> Result<Map<String, Value>, Failure> {
    let mut fields = match request {
        None => Map::new(),
        Some(path) => match files::json("--request", path)? {
            Value::Object(fields) => fields,
            _ => {
                let message = format!("{}: the request is not an object", path.display());
                return Err(Failure::usage(message, "give the JSON body of a chat request"));
            }
        },
    };
    if let Some(path) = tools {
        let tools = match files::json("--tools", path)? {
            Value::Object(mut object) if object.contains_key("tools") => object.remove("tools").unwrap_or_default(),
            other => other,
        };
        fields.insert("tools".to_owned(), tools);
    }
    let path = tools.or(request).map(|path| format!("{}: ", path.display())).unwrap_or_default();
    tools::listed(&mut fields)
        .map_err(|error| Failure::Usage { message: format!("{path}{}", error.message), hint: error.hint })?;
    Ok(fields)
}
