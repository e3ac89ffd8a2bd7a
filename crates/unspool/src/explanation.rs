//! What is wrong with words that somebody wrote, and what to do about it.

/// A fault without its place, which whoever reports it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// What is wrong.
    pub(crate) message: String,
    /// What to do about it; missing: the usual.
    pub(crate) hint: Option<String>,
}

impl Explanation {
    /// A fault with advice.
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
