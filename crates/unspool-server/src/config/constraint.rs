//! The settings of structured outputs, with vLLM's names where vLLM has the same setting.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use unspool::budget::ReasoningConfig;
use unspool::grammar::{Limit, StrictLevel};

use super::backend::BackendSpec;
use crate::capabilities::{Capabilities, Notation, Waits};
use crate::error::StartupError;

/// Settings of structured outputs and of the thinking budget.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Constraints"))]
pub struct ConstraintConfig {
    /// How strictly to constrain calls: `auto` (required calls and strict tools), `function` (every call is
    /// well-formed), `parameter` (every call matches its schema)
    #[cfg_attr(feature = "clap", arg(long, value_name = "LEVEL", default_value_t = LevelOption::default()))]
    pub tool_strict_level: LevelOption,

    /// Maximum size of a request's grammar, and so of the work to build it: `bytes` of the schemas and of the written
    /// grammar, `nodes` of its tree. Beyond it: 400
    #[cfg_attr(feature = "clap", arg(long, value_name = "LIMIT", default_value_t = Limit::default()))]
    pub grammar_limit: Limit,

    /// Notation for the backend: `auto` (by its kind), `xgrammar` (structural tags), `guidance` (llguidance grammars),
    /// `outlines` or `lm-format-enforcer` (JSON schemas only), `none` (pass only what clients send)
    #[cfg_attr(
        feature = "clap",
        arg(long = "structured-outputs-config.backend", value_name = "NAME", default_value_t = GrammarBackend::Auto)
    )]
    pub structured_outputs_backend: GrammarBackend,

    /// Apply constraints from the first token on, without a thought before them
    #[cfg_attr(
        feature = "clap",
        arg(
            long = "structured-outputs-config.enable_in_reasoning",
            value_name = "BOOL",
            num_args = 0..=1,
            default_value_t = Switch(false),
            default_missing_value = "true",
        )
    )]
    pub enable_in_reasoning: Switch,

    /// The backend was started with its own reasoning parser: it applies constraints after the thought, and a vLLM
    /// enforces `thinking_token_budget`. Without this flag the gateway does both
    #[cfg_attr(feature = "clap", arg(long))]
    pub backend_reasoning_parser: bool,

    /// Texts that begin a thought and that end it when its budget is used up, as a JSON object:
    /// '{"reasoning_start_str": "<think>", "reasoning_end_str": "Enough.</think>"}'; the default for each is the
    /// format's own
    #[cfg_attr(feature = "clap", arg(long, value_name = "JSON"))]
    pub reasoning_config: Option<String>,

    /// Whether calls may be constrained at all; `None`: read `VLLM_ENFORCE_STRICT_TOOL_CALLING` from the environment.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub enforce: Option<bool>,
}

impl ConstraintConfig {
    /// Checks the settings without accessing files or looking up names.
    ///
    /// # Errors
    /// An invalid `--reasoning-config`.
    pub fn check(&self) -> Result<(), StartupError> {
        self.reasoning().map(drop)
    }

    /// Checks the settings against the backend's capabilities.
    ///
    /// # Errors
    /// A notation that the backend does not read, or a reasoning parser that it cannot have.
    pub fn check_backend(&self, backend: &BackendSpec, can: &Capabilities) -> Result<(), StartupError> {
        let BackendSpec::Remote { kind, .. } = backend else { return Ok(()) };
        if self.backend_reasoning_parser && can.waits == Waits::Never {
            return Err(StartupError::new(format!("--backend-reasoning-parser does not go with a {kind} backend"))
                .hint("only a vLLM and an SGLang wait for the end of a thought by themselves; leave the flag out"));
        }
        let named = self.structured_outputs_backend;
        if named.notation().is_none_or(|notation| can.notations.contains(&notation)) {
            return Ok(());
        }
        let fault = format!("--structured-outputs-config.backend is {named}, which a {kind} backend does not read");
        Err(StartupError::new(fault).hint(can.notation_hint))
    }

    /// Parses `--reasoning-config`.
    ///
    /// # Errors
    /// It is not a JSON object of texts.
    pub fn reasoning(&self) -> Result<ReasoningConfig, StartupError> {
        let Some(text) = &self.reasoning_config else { return Ok(ReasoningConfig::default()) };
        let value: Value = serde_json::from_str(text).map_err(|error| {
            StartupError::new(format!("--reasoning-config is not JSON: {error}"))
                .hint("write it like --reasoning-config '{\"reasoning_end_str\": \"</think>\"}'")
        })?;
        let read = ReasoningConfig::read(&value);
        read.map_err(|error| StartupError { message: error.message, hint: error.hint })
    }

    /// Whether calls may be constrained. Reads the environment as vLLM does: yes if the variable is not set.
    #[must_use]
    pub fn enforces(&self) -> bool {
        let told = || enforces(std::env::var("VLLM_ENFORCE_STRICT_TOOL_CALLING").ok().as_deref());
        self.enforce.unwrap_or_else(told)
    }
}

fn enforces(said: Option<&str>) -> bool {
    said.is_none_or(|said| ["true", "1"].contains(&said.to_lowercase().as_str()))
}

/// `--tool-strict-level`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LevelOption(pub StrictLevel);

impl fmt::Display for LevelOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            StrictLevel::Auto => "auto",
            StrictLevel::Function => "function",
            StrictLevel::Parameter => "parameter",
        })
    }
}

impl FromStr for LevelOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [StrictLevel::Auto, StrictLevel::Function, StrictLevel::Parameter].map(Self);
        let found = all.into_iter().find(|option| option.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is no level; it can be auto, function or parameter"))
    }
}

/// `--structured-outputs-config.backend`: the engine's grammar backend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GrammarBackend {
    /// The default for the kind of server.
    #[default]
    Auto,
    /// xgrammar: structural tags.
    Xgrammar,
    /// llguidance grammars.
    Guidance,
    /// Outlines: JSON schemas.
    Outlines,
    /// lm-format-enforcer: JSON schemas.
    LmFormatEnforcer,
    /// None: only what a client sends passes through.
    None,
}

impl GrammarBackend {
    /// The notation that it reads; `None` for `auto` and `none`.
    #[must_use]
    pub fn notation(self) -> Option<Notation> {
        match self {
            Self::Auto | Self::None => None,
            Self::Xgrammar => Some(Notation::Tag),
            Self::Guidance => Some(Notation::Lark),
            Self::Outlines | Self::LmFormatEnforcer => Some(Notation::Json),
        }
    }

    const ALL: [Self; 6] =
        [Self::Auto, Self::Xgrammar, Self::Guidance, Self::Outlines, Self::LmFormatEnforcer, Self::None];
}

impl fmt::Display for GrammarBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Xgrammar => "xgrammar",
            Self::Guidance => "guidance",
            Self::Outlines => "outlines",
            Self::LmFormatEnforcer => "lm-format-enforcer",
            Self::None => "none",
        })
    }
}

impl FromStr for GrammarBackend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|backend| backend.to_string() == text);
        let names = || Self::ALL.map(|backend| backend.to_string()).join(", ");
        found.ok_or_else(|| format!("no grammar backend is called `{text}`; it can be {}", names()))
    }
}

/// A switch with an optional value, like vLLM's dotted flags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switch(pub bool);

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_lowercase().as_str() {
            "true" | "1" => Ok(Self(true)),
            "false" | "0" => Ok(Self(false)),
            _ => Err(format!("`{text}` is neither true nor false")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_alike() {
        for text in ["auto", "xgrammar", "guidance", "outlines", "lm-format-enforcer", "none"] {
            assert_eq!(text.parse::<GrammarBackend>().map(|read| read.to_string()).as_deref(), Ok(text));
        }
        for text in ["auto", "function", "parameter"] {
            assert_eq!(text.parse::<LevelOption>().map(|read| read.to_string()).as_deref(), Ok(text));
        }
        assert!("strict".parse::<LevelOption>().is_err() && "lark".parse::<GrammarBackend>().is_err());
        assert_eq!(
            ["True", "1", "false"].map(|text| text.parse()),
            [Ok(Switch(true)), Ok(Switch(true)), Ok(Switch(false))]
        );
        assert!("yes".parse::<Switch>().is_err());
    }

    #[test]
    fn the_reasoning_config_is_an_object_of_texts() {
        let read = |text: &str| {
            ConstraintConfig { reasoning_config: Some(text.to_owned()), ..ConstraintConfig::default() }.reasoning()
        };
        assert_eq!(
            read("{\"reasoning_end_str\": \"So.</think>\"}").map(|config| config.end).as_deref(),
            Ok("So.</think>")
        );
        for odd in ["<think>", "[]", "{\"reasoning_end_str\": 1}"] {
            assert!(read(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn the_environment_is_read_as_in_vllm() {
        for (said, enforced) in
            [(None, true), (Some("1"), true), (Some("TRUE"), true), (Some("0"), false), (Some("yes"), false)]
        {
            assert_eq!(enforces(said), enforced, "{said:?}");
        }
    }
}
