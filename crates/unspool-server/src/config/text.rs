//! The settings around templates and tokens.

use std::path::PathBuf;

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

    /// The program that renders the templates of requests; it does what [`unspool_text::worker::run`] does if its first
    /// argument is [`unspool_text::sandbox::ARGUMENT`].
    #[cfg_attr(feature = "clap", arg(skip))]
    pub template_worker: Option<PathBuf>,
}

impl Default for TextConfig {
    fn default() -> Self {
        Self { max_tokenize_chars: LONGEST_TEXT, text_workers: 0, template_worker: None }
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
