//! The caller's request and prompt.

use pyo3::prelude::*;
use serde_json::{Map, Value};
use unspool::{Prompt, PromptToken, Request};

use crate::error::Fault;

/// A request from `request=` and `tools=`; `tools` replaces those in `request`.
pub(crate) fn request(request: Option<&Bound<'_, PyAny>>, tools: Option<&Bound<'_, PyAny>>) -> PyResult<Request> {
    Ok(of_json(&json(request, tools)?)?)
}

/// The same as JSON.
pub(crate) fn json(request: Option<&Bound<'_, PyAny>>, tools: Option<&Bound<'_, PyAny>>) -> PyResult<Value> {
    let mut fields = match request {
        None => Map::new(),
        Some(request) => match crate::json::of(request)? {
            Value::Object(fields) => fields,
            _ => return Err(Fault::new("argument", "`request` is no dict").at("request").into()),
        },
    };
    if let Some(tools) = tools {
        match crate::json::of(tools)? {
            Value::Array(tools) => fields.insert("tools".to_owned(), Value::Array(tools)),
            tool @ Value::Object(_) => fields.insert("tools".to_owned(), Value::Array(vec![tool])),
            _ => return Err(Fault::new("argument", "`tools` is neither a list nor a tool").at("tools").into()),
        };
    }
    Ok(Value::Object(fields))
}

/// Reads the fields; `calls_wanted`, `calls_before` and `id_seed` are unspool's own.
pub(crate) fn of_json(fields: &Value) -> Result<Request, Fault> {
    let mut request = Request::from_openai(fields)?;
    let number = |key: &str| fields.get(key).and_then(Value::as_u64);
    request.calls_before = number("calls_before").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    request.id_seed = number("id_seed");
    request.calls_wanted = fields.get("calls_wanted").and_then(Value::as_bool);
    Ok(request)
}

/// The end of a prompt, as text or as ids.
#[derive(Debug, FromPyObject)]
pub(crate) enum GivenPrompt {
    /// As text.
    #[pyo3(transparent)]
    Text(String),
    /// As ids.
    #[pyo3(transparent)]
    Ids(Vec<u32>),
    /// Ids with their bytes.
    #[pyo3(transparent)]
    Tokens(Vec<(u32, Vec<u8>)>),
}

/// What is known about where a reply begins.
pub(crate) enum Known {
    Nothing,
    Text(String),
    Ids(Vec<u32>),
    Tokens(Vec<PromptToken>),
    Content,
    Reasoning,
}

impl Known {
    /// From `prompt=` and `start=`; only one may be given.
    pub(crate) fn of(prompt: Option<GivenPrompt>, start: Option<&str>) -> Result<Self, Fault> {
        match (prompt, start) {
            (None, None) => Ok(Self::Nothing),
            (None, Some("content")) => Ok(Self::Content),
            (None, Some("reasoning")) => Ok(Self::Reasoning),
            (None, Some(other)) => Err(Fault::new("argument", format!("a reply does not start in `{other}`"))
                .hint("write \"content\" or \"reasoning\", or give the prompt")
                .at("start")),
            (Some(_), Some(_)) => Err(Fault::new("argument", "`prompt` and `start` both say where the reply begins")
                .hint("give one of them; `start` is for those who do not have the prompt")
                .at("start")),
            (Some(GivenPrompt::Text(text)), None) => Ok(Self::Text(text)),
            (Some(GivenPrompt::Ids(ids)), None) => Ok(Self::Ids(ids)),
            (Some(GivenPrompt::Tokens(tokens)), None) => {
                Ok(Self::Tokens(tokens.into_iter().map(|(id, bytes)| PromptToken { id, bytes }).collect()))
            }
        }
    }

    pub(crate) fn prompt(&self) -> Prompt<'_> {
        match self {
            Self::Nothing => Prompt::Unknown,
            Self::Text(text) => Prompt::Text(text),
            Self::Ids(ids) => Prompt::Ids(ids),
            Self::Tokens(tokens) => Prompt::Tokens(tokens),
            Self::Content => Prompt::Content,
            Self::Reasoning => Prompt::Reasoning,
        }
    }
}
