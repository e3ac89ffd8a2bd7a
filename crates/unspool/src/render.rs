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

/// A value that the syntax cannot say: an [`Error`] in the making, whose place grows on the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RenderError {
    /// Which value: `reasoning`, `content`, `tool_calls[0].name`, `tool_calls[0].arguments.port`; or `format`, `request`.
    pub(crate) place: String,
    /// What is wrong with it, as a sentence without its subject.
    pub(crate) message: String,
}

impl RenderError {
    fn at(place: &str, message: impl Into<String>) -> Self {
        Self { place: place.to_owned(), message: message.into() }
    }

    /// The same error, its place being inside another one.
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
    /// Writes a message as the model would write it after a prompt that says nothing about thinking.
    ///
    /// # Errors
    /// [`ErrorKind::CannotRender`] for a value that the syntax cannot say, with its place; those of [`Pair::parser`].
    pub fn render(&self, message: &Message, request: &Request) -> Result<String, Error> {
        let plan = self.formats(request)?;
        let tools = plan.tools.as_ref().filter(|_| self.gives_calls());
        Ok(render((plan.reasoning.as_ref(), tools), self.limits(), message, request)?)
    }
}

/// Writes a message with the words of a pair's two halves, as a model writes it after a prompt that says nothing about
/// thinking. What is written is read as the same message again; a value that cannot be written so is refused.
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
    // A literal may begin in one part and end in the next, so each is checked with what stands behind it.
    text::check_thought(&words, message, request, &writer.out[thought_end..])?;
    text::check_answer(&words, message, request, &writer.out[answer_end..])?;
    Ok(writer.out)
}
