//! The settings of backends that are chat servers.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::Secret;
use crate::error::StartupError;

/// Settings of backends that are chat servers or third-party servers.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Backends of other kinds"))]
pub struct ChatConfig {
    /// Where answers of --backend chat begin: `reasoning` (the prompt opens a thought) or `content`; none: as the
    /// format says
    #[cfg_attr(feature = "clap", arg(long, value_name = "WHERE"))]
    pub chat_start: Option<ChatStart>,

    /// Whether --backend chat receives the tools of requests: `pass` or `omit`
    #[cfg_attr(feature = "clap", arg(long, value_name = "HOW", default_value_t = ChatTools::Pass))]
    pub chat_tools: ChatTools,

    /// File with the key for the backend, in place of --backend-api-key
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub backend_api_key_file: Option<PathBuf>,

    /// Send vLLM's own fields (such as `skip_special_tokens`) to --backend openai and chat, even if the server does not
    /// identify as vLLM or SGLang
    #[cfg_attr(feature = "clap", arg(long))]
    pub backend_extensions: bool,
}

impl ChatConfig {
    /// Reads the backend's key from the file.
    ///
    /// # Errors
    /// The file cannot be read, it contains no key, or another setting has one too.
    pub fn key(&self, given: Option<&Secret>) -> Result<Option<String>, StartupError> {
        let given = given.map(|key| key.reveal().to_owned()).filter(|key| !key.is_empty());
        let Some(path) = &self.backend_api_key_file else { return Ok(given) };
        if given.is_some() {
            return Err(StartupError::new("--backend-api-key and --backend-api-key-file are both set")
                .hint("leave one of them out; UNSPOOL_BACKEND_API_KEY counts as the first"));
        }
        let shown = path.display();
        let fault =
            |what: String, hint: &str| Err(StartupError::new(format!("--backend-api-key-file: {what}")).hint(hint));
        let text = match unspool_text::model_dir::read_regular(path) {
            Ok(text) => String::from_utf8_lossy(&text).trim().to_owned(),
            Err(error) => {
                return fault(format!("cannot read {shown}: {error}"), "the file holds the key and nothing else");
            }
        };
        if text.is_empty() || text.chars().any(char::is_control) {
            return fault(format!("{shown} holds no key"), "the file holds the key on one line and nothing else");
        }
        Ok(Some(text))
    }
}

/// Where an answer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatStart {
    /// After the thought.
    Content,
    /// In a thought that the prompt has opened.
    Reasoning,
}

impl FromStr for ChatStart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "content" => Ok(Self::Content),
            "reasoning" => Ok(Self::Reasoning),
            _ => Err("it must be content or reasoning".to_owned()),
        }
    }
}

/// Whether a chat server receives the tools of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChatTools {
    /// As tools.
    #[default]
    Pass,
    /// Not at all: the messages describe them, or nothing does.
    Omit,
}

impl fmt::Display for ChatTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Omit => "omit",
        })
    }
}

impl FromStr for ChatTools {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Pass, Self::Omit]
            .into_iter()
            .find(|how| how.to_string() == text)
            .ok_or_else(|| "it must be pass or omit".to_owned())
    }
}
