//! Tools and their schemas, as far as typing needs them.

use std::collections::HashMap;

use serde_json::Value;

/// The tools of a request.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    functions: HashMap<String, FunctionSchema>,
}

/// What the parameters of one function may be.
#[derive(Debug, Clone, Default)]
pub struct FunctionSchema {}

impl ToolSet {
    /// Reads OpenAI tools: a list of `{"type": "function", "function": {"name", "parameters"}}`, also flat (Responses API).
    /// What cannot be read is left out of typing, never an error.
    #[must_use]
    pub fn from_openai(tools: &Value) -> Self {
        let _ = tools;
        Self::default()
    }

    /// The schema of a function.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FunctionSchema> {
        self.functions.get(name)
    }

    /// Whether the request has no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }
}
