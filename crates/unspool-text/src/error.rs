//! Errors: what is wrong, where, and how to fix it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a model's files cannot be used, or a text cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextError {
    /// What is wrong, and where.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
    /// Whether the template raised it with `raise_exception`.
    #[serde(default)]
    pub by_template: bool,
}

impl TextError {
    /// An error without a hint.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, by_template: false }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same error, prefixed with a location.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TextError {}
