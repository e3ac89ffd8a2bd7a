//! The inverse of parsing: a message in a format's own syntax.

mod body;
mod calls;
mod edges;
pub(crate) mod markup;
#[cfg(test)]
mod tests;
mod text;
mod value;
pub(crate) mod words;
mod writer;

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::format::syntax::Format;
use crate::limits::Limits;
use crate::message::Message;
use crate::pair::Pair;
use crate::request::Request;

pub(crate) use body::check_key;
pub(crate) use calls::{addressed, check_name};
use words::Words;
use writer::Writer;

/// A value that the syntax cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RenderError {
    /// The path of the value: `reasoning`, `content`, `tool_calls[0].name`, `tool_calls[0].arguments.port`; or
    /// `format`, `request`.
    pub(crate) place: String,
    /// The error, as a sentence without its subject.
    pub(crate) message: String,
}

impl RenderError {
    fn at(place: &str, message: impl Into<String>) -> Self {
        Self { place: place.to_owned(), message: message.into() }
    }

    /// The same error with its path inside another one.
    fn inside(mut self, outer: &str) -> Self {
        let border = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        self.place = format!("{outer}{border}{}", self.place);
        self
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.place, self.message)
    }
}

impl From<RenderError> for Error {
    fn from(error: RenderError) -> Self {
        Self::new(ErrorKind::CannotRender, error.to_string()).at(error.place)
    }
}

impl Pair {
    /// Renders a message as the model would write it after a prompt that says nothing about thinking.
    ///
    /// # Errors
    /// A value that the syntax cannot express, with its path.
    pub fn render(&self, message: &Message, request: &Request) -> Result<String, Error> {
        let plan = self.formats(request)?;
        let tools = plan.tools.as_ref().filter(|_| self.gives_calls());
        Ok(render((plan.reasoning.as_ref(), tools), self.limits(), message, request)?)
    }
}

/// Renders a message with the keys of a pair's two halves, as the model would write it after a prompt that says nothing
/// about thinking. The result parses to the same message; a value for which that is impossible is an error.
pub(crate) fn render(
    (reasoning, tools): (Option<&Format>, Option<&Format>),
    limits: &Limits,
    message: &Message,
    request: &Request,
) -> Result<String, RenderError> {
    let words = Words::read(reasoning, tools, (request, limits))?;
    let message = &*edges::trimmed(&words, message);
    let mut writer = Writer::new(&words);
    let thought_end = text::write_thought(&mut writer, &words, message)?;
    let answer_end = text::write_answer(&mut writer, &words, message)?;
    calls::write(&mut writer, &words, message, request)?;
    // A literal may begin in one part and end in the next, so each check includes the following text.
    text::check_thought(&words, message, request, &writer.out[thought_end..])?;
    text::check_answer(&words, message, request, &writer.out[answer_end..])?;
    Ok(writer.out)
}
