//! Finds out why tool calls or reasoning do not arrive: nine checks, a ranking of all formats, and one verdict.
//!
//! The diagnosis uses only its arguments. This module reads no files and sends no requests: the caller passes the
//! files' contents and, if it queried a server, its answers.
//!
//! ```
//! use serde_json::json;
//! use unspool::{Registry, Setup};
//! use unspool_check::diagnose::{Cause, Formats, Input, Question, diagnose};
//!
//! let input = Input::read("<tool_call>\n{\"name\": \"tide\", \"arguments\": {}}\n</tool_call>").expect("it is not empty");
//! let formats = Formats::new(Registry::builtin(), Setup::default());
//! let mut question = Question::new(&input, &formats);
//! question.tool_call_parser = Some("mistral");
//! let report = diagnose(&question).expect("the request is fine");
//! assert_eq!(report.verdict.kind, Cause::WrongParser);
//! assert_eq!(report.ranking[0].valid_calls, 1);
//! ```

mod checks;
mod events;
mod formats;
mod hint;
mod input;
mod rank;
mod report;
mod served;
mod stripped;
mod survey;
mod verdict;

pub use formats::Formats;
pub use hint::Hint;
pub use input::{Input, InputError, Kind, Output};
pub use rank::Entry;
pub use report::{Cause, Check, Evidence, Given, Outcome, Report, Subject, Verdict};
pub use served::Served;

use serde_json::Value;
use unspool::Checkpoint;
use unspool::Error;
use unspool_text::Prompter;

use survey::Survey;

/// Maximum length of a ranked output, in bytes.
const LONGEST: usize = 1 << 20;
/// Maximum number of ranked outputs.
const MOST_RANKED: usize = 20;

/// The inputs of a diagnosis.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The output to diagnose.
    pub input: &'a Input,
    /// The formats.
    pub formats: &'a Formats,
    /// `--reasoning-parser`
    pub reasoning_parser: Option<&'a str>,
    /// `--tool-call-parser`
    pub tool_call_parser: Option<&'a str>,
    /// The fields of the request: tools, `tool_choice`, `chat_template_kwargs`, the messages.
    pub request: &'a Value,
    /// The rendered prompt, or its end.
    pub prompt: Option<&'a str>,
    /// The id of the model.
    pub model: Option<&'a str>,
    /// The known facts about the checkpoint's files.
    pub checkpoint: Checkpoint<'a>,
    /// Renders with the chat template in use, if known.
    pub prompter: Option<&'a Prompter>,
    /// All flags of the server, if known.
    pub served: Option<&'a Served>,
    /// The answers of a running server.
    pub server: Option<&'a Server>,
}

impl<'a> Question<'a> {
    /// Creates a question about an input with no other facts.
    #[must_use]
    pub fn new(input: &'a Input, formats: &'a Formats) -> Self {
        Self {
            input,
            formats,
            reasoning_parser: None,
            tool_call_parser: None,
            request: &Value::Null,
            prompt: None,
            model: None,
            checkpoint: Checkpoint::default(),
            prompter: None,
            served: None,
            server: None,
        }
    }
}

/// The answers of a running server to one request in several variants.
#[derive(Debug, Clone, Default)]
pub struct Server {
    /// The complete answer of the chat API.
    pub whole: Option<Output>,
    /// The same as a stream.
    pub streamed: Option<Output>,
    /// The version that the server reports.
    pub version: Option<String>,
}

/// Makes the diagnosis.
///
/// # Errors
/// A field of the request with the wrong type.
pub fn diagnose(question: &Question<'_>) -> Result<Report, Error> {
    let survey = Survey::new(question)?;
    let checks = checks::all(&survey);
    let verdict = verdict::of(&survey, &checks);
    let given = Given { kind: question.input.kind, outputs: question.input.outputs.len() };
    Ok(Report { input: given, checks, ranking: survey.ranking, verdict })
}
