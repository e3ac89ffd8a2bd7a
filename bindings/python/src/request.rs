//! What a caller says of a request and its prompt.

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
        Some(request) => match pythonize::depythonize(request)? {
            Value::Object(fields) => fields,
            _ => return Err(Fault::new("argument", "`request` is no dict").at("request").into()),
        },
    };
    if let Some(tools) = tools {
        match pythonize::depythonize(tools)? {
            Value::Array(tools) => fields.insert("tools".to_owned(), Value::Array(tools)),
            _ => return Err(Fault::new("argument", "`tools` is no list").at("tools").into()),
        };
    }
    Ok(Value::Object(fields))
}

/// Reads the fields; `calls_before` and `id_seed` are ours.
pub(crate) fn of_json(fields: &Value) -> Result<Request, Fault> {
    let mut request = Request::from_openai(fields)?;
    let number = |key: &str| fields.get(key).and_then(Value::as_u64);
    request.calls_before = number("calls_before").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    request.id_seed = number("id_seed");
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

/// A prompt with room for its tokens.
pub(crate) enum OwnedPrompt {
    Unknown,
    Text(String),
    Tokens(Vec<PromptToken>),
}

impl OwnedPrompt {
    pub(crate) fn of(given: Option<GivenPrompt>, pair: &unspool::Pair) -> Self {
        match given {
            None => Self::Unknown,
            Some(GivenPrompt::Text(text)) => Self::Text(text),
            Some(GivenPrompt::Ids(ids)) => Self::Tokens(pair.prompt_tokens(&ids)),
            Some(GivenPrompt::Tokens(tokens)) => {
                Self::Tokens(tokens.into_iter().map(|(id, bytes)| PromptToken { id, bytes }).collect())
            }
        }
    }

    pub(crate) fn borrow(&self) -> Prompt<'_> {
        match self {
            Self::Unknown => Prompt::Unknown,
            Self::Text(text) => Prompt::Text(text),
            Self::Tokens(tokens) => Prompt::Tokens(tokens),
        }
    }
}
