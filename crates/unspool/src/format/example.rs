//! Examples of a format.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::file::FormatFile;

/// `[[example]]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Example {
    /// Names of the two halves; `None`: the first ones of the file.
    pub names: Option<ExampleNames>,
    /// Raw output.
    pub text: String,
    /// End of the prompt.
    pub prompt: Option<String>,
    /// Relevant request fields. Without `tools`, they are derived from the expected calls.
    pub request: BTreeMap<String, Value>,
    /// The relevant part of `tokenizer_config.json`.
    pub tokenizer_config: Value,
    /// Expected reasoning.
    pub reasoning: Option<String>,
    /// Expected content.
    pub content: Option<String>,
    /// Expected calls: `{ name, arguments }`.
    pub calls: Vec<ExampleCall>,
}

impl Example {
    /// The names that parse the example.
    #[must_use]
    pub fn parsers(&self, file: &FormatFile) -> ExampleNames {
        let first = || ExampleNames {
            reasoning: file.names.reasoning.first().cloned(),
            tools: file.names.tools.first().cloned(),
        };
        self.names.clone().unwrap_or_else(first)
    }

    /// The request as an OpenAI body. Without tools, they are derived from the expected calls.
    #[must_use]
    pub fn request(&self) -> Value {
        let mut request: Map<String, Value> = self.request.clone().into_iter().collect();
        let tools = || self.calls.iter().map(ExampleCall::tool).collect();
        request.entry("tools").or_insert_with(tools);
        Value::Object(request)
    }
}

/// `example.names`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExampleNames {
    /// The reasoning parser.
    pub reasoning: Option<String>,
    /// The tool-call parser.
    pub tools: Option<String>,
}

/// One expected call of an example.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExampleCall {
    /// Name of the function.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
}

impl ExampleCall {
    /// A function whose parameters have the types of these arguments.
    fn tool(&self) -> Value {
        let kind = |value: &Value| match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(n) if n.is_i64() || n.is_u64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let arguments = self.arguments.as_object().into_iter().flatten();
        let properties: Map<String, Value> = arguments.map(|(k, v)| (k.clone(), json!({"type": kind(v)}))).collect();
        let parameters = json!({"type": "object", "properties": properties});
        json!({"type": "function", "function": {"name": self.name, "parameters": parameters}})
    }
}
