//! The settings around templates and tokens.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::StartupError;

/// Longest text to be tokenized by default, in characters: more than the longest contexts hold.
const LONGEST_TEXT: usize = 4_000_000;

/// What `--chat-template` says: a word, or a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateChoice<'a> {
    /// Nothing: the model's own files, or the backend.
    Unsaid,
    /// `chatml`: the simple prompts of this gateway.
    ChatMl,
    /// `none`: no prompts; only raw completions are served.
    Nothing,
    /// A template: a file, a name, or its text.
    Given(&'a str),
}

impl<'a> TemplateChoice<'a> {
    /// What the flag's value says. Further words belong here; a file of such a name is given as `./chatml`.
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

/// What becomes of images that the model cannot see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImagePolicy {
    /// The request is refused.
    #[default]
    Refuse,
    /// A text stands where the image was.
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

/// How far prompts and tokens are made here.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Templates and tokens"))]
pub struct TextConfig {
    /// Longest text to be tokenized, in characters: of `/tokenize` and of prompts
    #[cfg_attr(feature = "clap", arg(long, value_name = "CHARS", default_value_t = LONGEST_TEXT))]
    pub max_tokenize_chars: usize,

    /// How many prompts are rendered or texts tokenized at once; others wait. 0: as many as there are processors
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER", default_value_t = 0))]
    pub text_workers: usize,

    /// What becomes of images in front of backends that take none: `refuse`, or `placeholder` (a text stands where one was)
    #[cfg_attr(feature = "clap", arg(long, value_name = "HOW", default_value_t = ImagePolicy::Refuse))]
    pub image_policy: ImagePolicy,

    /// The program that renders the templates of requests; it does what [`unspool_text::worker::run`] does if its first
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
    /// Checks what can be checked without opening anything.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn check(&self) -> Result<(), StartupError> {
        if self.max_tokenize_chars == 0 {
            return Err(StartupError::new("--max-tokenize-chars is 0; it must be 1 or more")
                .hint(format!("the default is {LONGEST_TEXT} characters")));
        }
        Ok(())
    }

    /// How many prompts are rendered or texts tokenized at once.
    #[must_use]
    pub fn workers(&self) -> usize {
        match self.text_workers {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            set => set,
        }
    }
}
