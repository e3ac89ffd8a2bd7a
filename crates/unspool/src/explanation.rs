//! An error in a user's input, and how to fix it.

/// An error without its location, which the caller knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// What is wrong.
    pub(crate) message: String,
    /// How to fix it; `None`: the usual hint.
    pub(crate) hint: Option<String>,
}

impl Explanation {
    /// An error with a hint.
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }
}

impl From<String> for Explanation {
    fn from(message: String) -> Self {
        Self { message, hint: None }
    }
}

impl From<&str> for Explanation {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}
