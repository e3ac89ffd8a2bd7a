//! The settings of templates and tokens.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::StartupError;

/// Default maximum length of a text to tokenize, in characters: more than the longest contexts hold.
const LONGEST_TEXT: usize = 4_000_000;

/// The value of `--chat-template`: a keyword or a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateChoice<'a> {
    /// Not set: the model's own files, or the backend.
    Unsaid,
    /// `chatml`: the gateway's simple prompts.
    ChatMl,
    /// `none`: no prompts; only raw completions work.
    Nothing,
    /// A template: a file, a name, or its text.
    Given(&'a str),
}

impl<'a> TemplateChoice<'a> {
    /// Interprets the flag's value. Add further keywords here; a file with such a name is given as `./chatml`.
    #[must_use]
    pub fn of(flag: Option<&'a str>) -> Self {
        match flag {
            None => Self::Unsaid,
            Some("chatml") => Self::ChatMl,
            Some("none") => Self::Nothing,
            Some(template) => Self::Given(template),
        }
    }
}

/// What happens to images that the model cannot see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImagePolicy {
    /// The request is refused.
    #[default]
    Refuse,
    /// A text replaces the image.
    Placeholder,
}

impl fmt::Display for ImagePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "refuse",
            Self::Placeholder => "placeholder",
        })
    }
}

impl FromStr for ImagePolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Refuse, Self::Placeholder]
            .into_iter()
            .find(|how| how.to_string() == text)
            .ok_or_else(|| "it must be refuse or placeholder".to_owned())
    }
}

/// Settings of prompts and tokens.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Templates and tokens"))]
pub struct TextConfig {
    /// Maximum length of a text to tokenize, in characters, for `/tokenize` and prompts
    #[cfg_attr(feature = "clap", arg(long, value_name = "CHARS", default_value_t = LONGEST_TEXT))]
    pub max_tokenize_chars: usize,

    /// Number of prompts rendered or texts tokenized at once; others wait. 0: the number of processors
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER", default_value_t = 0))]
    pub text_workers: usize,

    /// Images for backends that take none: `refuse`, or `placeholder` (a text replaces each)
    #[cfg_attr(feature = "clap", arg(long, value_name = "HOW", default_value_t = ImagePolicy::Refuse))]
    pub image_policy: ImagePolicy,

    /// The program that renders the templates of requests. It must call [`unspool_text::worker::run`] if its first
    /// argument is [`unspool_text::sandbox::ARGUMENT`].
    #[cfg_attr(feature = "clap", arg(skip))]
    pub template_worker: Option<PathBuf>,
}

impl Default for TextConfig {
    fn default() -> Self {
        Self {
            max_tokenize_chars: LONGEST_TEXT,
            text_workers: 0,
            image_policy: ImagePolicy::Refuse,
            template_worker: None,
        }
    }
}

impl TextConfig {
    /// Checks the settings without opening anything.
    ///
    /// # Errors
    /// A value out of range.
    pub fn check(&self) -> Result<(), StartupError> {
        if self.max_tokenize_chars == 0 {
            return Err(StartupError::new("--max-tokenize-chars is 0; it must be 1 or more")
                .hint(format!("the default is {LONGEST_TEXT} characters")));
        }
        Ok(())
    }

    /// Number of prompts rendered or texts tokenized at once.
    #[must_use]
    pub fn workers(&self) -> usize {
        match self.text_workers {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            set => set,
        }
    }
}
