//! The settings of `unspool serve`: one struct, with vLLM's names where vLLM has the same setting.

mod answers;
mod backend;
mod chat;
mod constraint;
mod http;
mod text;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use unspool::Limit;

pub use self::answers::{AnswerConfig, Incomplete, ReasoningField, token_count};
pub use self::backend::{BackendSpec, RemoteKind};
pub use self::chat::{ChatConfig, ChatStart, ChatTools};
pub use self::constraint::{ConstraintConfig, GrammarBackend, LevelOption, Switch};
pub use self::http::{HttpConfig, JsonList};
pub use self::text::{ImagePolicy, TemplateChoice, TextConfig};
use crate::capabilities::Capabilities;
use crate::error::StartupError;

/// The settings of the gateway. With the feature `clap` they are the arguments of a command, and the doc comments are
/// its help.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ServeConfig {
    /// Source of raw output: `mock` (no model), `replay:FILE` (recorded outputs), or servers of one kind: `vllm:URL`,
    /// `sglang:URL`, `llamacpp:URL`, `tgi:URL`, `openai:URL` (any server with raw /v1/completions), `chat:URL` (any
    /// chat server that leaves the markup in its text). Separate several URLs with commas
    #[cfg_attr(feature = "clap", arg(long, value_name = "BACKEND", default_value_t = BackendSpec::Mock))]
    pub backend: BackendSpec,

    /// Reasoning parser: a name from `unspool formats`, or `auto` to detect it from the model's files
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub reasoning_parser: Option<String>,

    /// Tool-call parser: a name from `unspool formats`, or `auto` to detect it from the model's files
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub tool_call_parser: Option<String>,

    /// Let the model decide whether to call tools (`tool_choice: "auto"`); needs --tool-call-parser
    #[cfg_attr(feature = "clap", arg(long))]
    pub enable_auto_tool_choice: bool,

    /// Format file of your own, for --reasoning-parser
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub reasoning_parser_plugin: Option<PathBuf>,

    /// Format file of your own, for --tool-call-parser
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub tool_parser_plugin: Option<PathBuf>,

    /// Set a limit of the parser: name, header, blank, argument, held_arguments, thought, arguments (in bytes, such as
    /// 64KiB), depth, calls or diagnostics; can be repeated
    #[cfg_attr(feature = "clap", arg(long = "limit", value_name = "NAME=VALUE"))]
    pub limits: Vec<Limit>,

    /// Folder of the checkpoint with tokenizer, chat template and configuration. The gateway then renders prompts
    /// itself
    #[cfg_attr(feature = "clap", arg(long, value_name = "FOLDER"))]
    pub model_dir: Option<PathBuf>,

    /// `tokenizer_config.json` of the checkpoint, in place of the one in --model-dir; for special tokens and settings
    /// of a format
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub tokenizer_config: Option<PathBuf>,

    /// Chat template in place of the model's: a file, or the template itself (a text with a brace or a line break);
    /// `format:NAME`: the one that `unspool template write NAME` generates; `chatml`: simple ChatML prompts; `none`: no
    /// prompts, only /v1/completions works
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEMPLATE"))]
    pub chat_template: Option<String>,

    /// How the template reads message content: as text, as a list of parts, or detected from the template
    #[cfg_attr(feature = "clap", arg(long, value_name = "FORMAT", default_value_t = ContentFormatOption::Auto))]
    pub chat_template_content_format: ContentFormatOption,

    /// Allow requests to bring their own chat template
    #[cfg_attr(feature = "clap", arg(long))]
    pub trust_request_chat_template: bool,

    /// Default template arguments, as a JSON object, for example '{"enable_thinking": false}'; requests can override
    /// them
    #[cfg_attr(feature = "clap", arg(long, value_name = "JSON"))]
    pub default_chat_template_kwargs: Option<String>,

    /// Omit tools from the prompt if `tool_choice` is "none"
    #[cfg_attr(feature = "clap", arg(long))]
    pub exclude_tools_when_tool_choice_none: bool,

    /// Address to listen on. The default is 127.0.0.1, or 0.0.0.0 (all interfaces) with an API key
    #[cfg_attr(feature = "clap", arg(long, value_name = "ADDRESS"))]
    pub host: Option<String>,

    /// Port to listen on; 0 picks a free one
    #[cfg_attr(feature = "clap", arg(long, value_name = "PORT", default_value_t = 8000))]
    pub port: u16,

    /// Keys that clients must send as `Authorization: Bearer KEY`; none: the API is open [env: VLLM_API_KEY]
    #[cfg_attr(feature = "clap", arg(long, value_name = "KEY", num_args = 1.., hide_env_values = true))]
    pub api_key: Vec<Secret>,

    /// Names of the model; answers use the first one, and other names are a 404. None: any name works
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", num_args = 1..))]
    pub served_model_name: Vec<String>,

    /// Tokens per second of the mock backend; 0: no limit
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", default_value_t = 200.0))]
    pub mock_rate: f64,

    /// Model name for the backend; none: the name in the request
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub backend_model: Option<String>,

    /// Key for the backend, sent as a bearer token
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "KEY", env = "UNSPOOL_BACKEND_API_KEY", hide_env_values = true)
    )]
    pub backend_api_key: Option<Secret>,

    /// Maximum silence of the backend, in seconds
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS", default_value_t = 600))]
    pub backend_timeout: u64,

    /// Seconds between health checks of several backends; 0: never
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS", default_value_t = 10))]
    pub backend_health_interval: u64,

    /// Maximum tokens to request if neither the request nor --max-model-len sets a limit
    #[cfg_attr(feature = "clap", arg(long, value_name = "TOKENS", default_value_t = 4096))]
    pub default_max_tokens: u64,

    /// Settings of answers
    #[cfg_attr(feature = "clap", command(flatten))]
    pub answers: AnswerConfig,

    /// Settings of structured outputs and the thinking budget
    #[cfg_attr(feature = "clap", command(flatten))]
    pub constraint: ConstraintConfig,

    /// Settings of backends that are chat servers
    #[cfg_attr(feature = "clap", command(flatten))]
    pub chat: ChatConfig,

    /// Settings of templates and tokens
    #[cfg_attr(feature = "clap", command(flatten))]
    pub text: TextConfig,

    /// Settings of HTTP
    #[cfg_attr(feature = "clap", command(flatten))]
    pub http: HttpConfig,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            backend: BackendSpec::Mock,
            reasoning_parser: None,
            tool_call_parser: None,
            enable_auto_tool_choice: false,
            reasoning_parser_plugin: None,
            tool_parser_plugin: None,
            limits: Vec::new(),
            model_dir: None,
            tokenizer_config: None,
            chat_template: None,
            chat_template_content_format: ContentFormatOption::Auto,
            trust_request_chat_template: false,
            default_chat_template_kwargs: None,
            exclude_tools_when_tool_choice_none: false,
            host: None,
            port: 8000,
            api_key: Vec::new(),
            served_model_name: Vec::new(),
            mock_rate: 200.0,
            backend_model: None,
            backend_api_key: None,
            backend_timeout: 600,
            backend_health_interval: 10,
            default_max_tokens: 4096,
            answers: AnswerConfig::default(),
            constraint: ConstraintConfig::default(),
            chat: ChatConfig::default(),
            text: TextConfig::default(),
            http: HttpConfig::default(),
        }
    }
}

impl ServeConfig {
    /// The address to listen on. Without a key the default is this machine only.
    #[must_use]
    pub fn address(&self) -> &str {
        let default = if self.keys().is_empty() { "127.0.0.1" } else { "0.0.0.0" };
        self.host.as_deref().unwrap_or(default)
    }

    /// The keys in effect, as in vLLM: those of `--api-key`, else the one in `VLLM_API_KEY`. Empty keys do not count.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let given: Vec<String> = if self.api_key.is_empty() {
            std::env::var("VLLM_API_KEY").into_iter().collect()
        } else {
            self.api_key.iter().map(|key| key.reveal().to_owned()).collect()
        };
        given.into_iter().filter(|key| !key.is_empty()).collect()
    }

    /// Checks the settings without accessing files or looking up names.
    ///
    /// # Errors
    /// Contradictory settings, or a value out of range.
    pub fn check(&self) -> Result<(), StartupError> {
        if self.enable_auto_tool_choice && self.tool_call_parser.is_none() {
            return Err(StartupError::new("--enable-auto-tool-choice is set, but --tool-call-parser is not")
                .hint("name the model's format with --tool-call-parser; `unspool formats` lists the names"));
        }
        if !(self.mock_rate.is_finite() && self.mock_rate >= 0.0) {
            return Err(StartupError::new(format!("--mock-rate is {}; it must be 0 or more", self.mock_rate))
                .hint("0 writes as fast as clients read"));
        }
        if self.keys().iter().any(|key| key.trim() != key || key.chars().any(char::is_control)) {
            // The message must not contain the key itself.
            return Err(StartupError::new("--api-key holds a key that no client can send")
                .hint("a key has no blanks around it and no line breaks or other control characters in it"));
        }
        for (flag, value) in
            [("--default-max-tokens", self.default_max_tokens), ("--backend-timeout", self.backend_timeout)]
        {
            if value == 0 {
                return Err(StartupError::new(format!("{flag} is 0; it must be 1 or more"))
                    .hint("leave it out for the default"));
            }
        }
        self.answers.check()?;
        self.constraint.check()?;
        self.text.check()?;
        self.http.check()
    }

    /// Checks the settings against the backend's capabilities.
    ///
    /// # Errors
    /// A setting that this kind of backend does not support.
    pub fn check_backend(&self, can: &Capabilities) -> Result<(), StartupError> {
        if self.answers.return_tokens_as_token_ids && !can.log_probabilities {
            return Err(StartupError::new(format!(
                "--return-tokens-as-token-ids is about log probabilities, which --backend {} does not give",
                self.backend.to_string().split(':').next().unwrap_or_default()
            ))
            .hint("it is for --backend vllm:URL and openai:URL, whose /v1/completions is passed through"));
        }
        self.constraint.check_backend(&self.backend, can)
    }
}

/// The form in which the template gets message content, in vLLM's terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ContentFormatOption {
    /// Detected from the template.
    #[default]
    Auto,
    /// As text.
    String,
    /// As a list of parts.
    Openai,
}

impl fmt::Display for ContentFormatOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::String => "string",
            Self::Openai => "openai",
        })
    }
}

impl FromStr for ContentFormatOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Auto, Self::String, Self::Openai];
        let found = all.into_iter().find(|option| option.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is no form of content; it can be auto, string or openai"))
    }
}

/// A key, which never appears in a log.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The key itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl From<&str> for Secret {
    fn from(key: &str) -> Self {
        Self(key.to_owned())
    }
}

impl FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(key: &str) -> Result<Self, Self::Err> {
        Ok(Self::from(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_choice_needs_a_parser() {
        let config = ServeConfig { enable_auto_tool_choice: true, ..ServeConfig::default() };
        let error = config.check().expect_err("no parser is named");
        assert!(error.message.contains("--tool-call-parser") && error.hint.is_some());
        let config = ServeConfig { tool_call_parser: Some("hermes".into()), ..ServeConfig::default() };
        assert_eq!(config.check(), Ok(()), "a parser alone serves required and named choices");
    }

    #[test]
    fn empty_keys_are_no_keys() {
        let config = ServeConfig { api_key: vec!["".into(), "k".into()], ..ServeConfig::default() };
        assert_eq!(config.keys(), ["k"]);
        assert!(!format!("{config:?}").contains("\"k\""), "a key shows in a log");
    }

    #[cfg(feature = "clap")]
    #[test]
    fn a_command_without_flags_is_the_default() {
        use clap::{Args as _, FromArgMatches as _};

        let read = |flags: &[&str]| {
            let matches =
                ServeConfig::augment_args(clap::Command::new("serve").no_binary_name(true)).try_get_matches_from(flags);
            matches.and_then(|matches| ServeConfig::from_arg_matches(&matches)).expect("the flags are known")
        };
        let without_key = |config: ServeConfig| format!("{:?}", ServeConfig { backend_api_key: None, ..config });
        assert_eq!(without_key(read(&[])), without_key(ServeConfig::default()));
        let flags = ["--api-key", "a", "b", "--api-key", "c", "--backend", "replay:x", "--enable-auto-tool-choice"];
        let config = read(&flags);
        assert_eq!((config.keys().concat().as_str(), config.enable_auto_tool_choice), ("abc", true));
        assert_eq!(config.backend, BackendSpec::Replay("x".into()));
    }
}
