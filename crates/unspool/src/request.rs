//! The fields of a request that affect the parser.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::schema::ToolSet;

/// `tool_choice`, as in OpenAI's API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// No calls; markup stays content.
    None,
    /// The model decides.
    #[default]
    Auto,
    /// At least one call.
    Required,
    /// This function.
    Named(String),
}

/// What happens to a call that never completes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncompleteCalls {
    /// Arguments stream; a call that is cut off is a partial call.
    #[default]
    Stream,
    /// A call is announced when it is complete and its arguments are JSON; the raw text of any other becomes content.
    Text,
    /// As `Text`, but the raw text goes only to a diagnostic.
    Drop,
}

/// The shape of generated call ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallIds {
    /// As the format says (`ids.call`).
    #[default]
    Format,
    /// `chatcmpl-tool-` and 16 hexadecimal digits, whatever the format says.
    Random,
    /// This many letters and digits.
    Letters(usize),
    /// A text in which `{name}` is the function and `{index}` the call's number in the conversation.
    Pattern(String),
    /// Empty: the consumer of the events generates the ids.
    Left,
}

/// The request fields that a parser needs.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The tools; empty: no calls, unless [`Request::calls_wanted`] is set.
    pub tools: Arc<ToolSet>,
    /// Whether to parse calls; `None`: if there are tools. Set it if the tools are unknown: values then get their type
    /// from their spelling, and no function is unknown. `tool_choice: none` still applies.
    pub calls_wanted: Option<bool>,
    /// Which calls are allowed.
    pub tool_choice: ToolChoice,
    /// False: only the first call goes out.
    pub parallel_tool_calls: Option<bool>,
    /// False: no reasoning goes out.
    pub include_reasoning: Option<bool>,
    /// `chat_template_kwargs`, unchanged.
    pub chat_template_kwargs: Map<String, Value>,
    /// Top-level `reasoning_effort`.
    pub reasoning_effort: Option<String>,
    /// Number of calls already in the conversation; native ids continue from there.
    pub calls_before: usize,
    /// Seed of generated ids; `None`: random.
    pub id_seed: Option<u64>,
}

impl Request {
    /// Whether to parse calls, if the pair has a tools half.
    #[must_use]
    pub fn wants_calls(&self) -> bool {
        self.tool_choice != ToolChoice::None && self.calls_wanted.unwrap_or(!self.tools.is_empty())
    }

    /// Reads the fields of an OpenAI chat request (an object with `tools`, `tool_choice`, …). Ignores unknown fields.
    ///
    /// # Errors
    /// A field has a value of the wrong type.
    pub fn from_openai(request: &Value) -> Result<Self, Error> {
        let mut out = Self {
            tools: Arc::new(ToolSet::from_openai(request.get("tools").unwrap_or(&Value::Null))),
            ..Self::default()
        };
        out.tool_choice = tool_choice(request.get("tool_choice"))?;
        out.parallel_tool_calls = boolean(request, "parallel_tool_calls")?;
        out.include_reasoning = boolean(request, "include_reasoning")?;
        match request.get("chat_template_kwargs") {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => out.chat_template_kwargs = map.clone(),
            Some(_) => {
                return Err(Error::request("`chat_template_kwargs` must be an object").at("chat_template_kwargs"));
            }
        }
        match request.get("reasoning_effort") {
            None | Some(Value::Null) => {}
            Some(Value::String(s)) => out.reasoning_effort = Some(s.clone()),
            Some(_) => return Err(Error::request("`reasoning_effort` must be a string").at("reasoning_effort")),
        }
        Ok(out)
    }
}

fn boolean(request: &Value, key: &str) -> Result<Option<bool>, Error> {
    match request.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(b)) => Ok(Some(*b)),
        Some(_) => Err(Error::request(&format!("`{key}` must be a boolean")).at(key)),
    }
}

fn tool_choice(value: Option<&Value>) -> Result<ToolChoice, Error> {
    match value {
        None | Some(Value::Null) => Ok(ToolChoice::Auto),
        Some(Value::String(s)) => match s.as_str() {
            "none" => Ok(ToolChoice::None),
            "auto" => Ok(ToolChoice::Auto),
            "required" => Ok(ToolChoice::Required),
            other => Err(Error::request(&format!(
                "`tool_choice` is {other:?}; it must be \"none\", \"auto\", \"required\" or a function"
            ))
            .at("tool_choice")),
        },
        Some(object) => object
            .pointer("/function/name")
            .or_else(|| object.get("name"))
            .and_then(Value::as_str)
            .map(|name| ToolChoice::Named(name.to_owned()))
            .ok_or_else(|| Error::request("`tool_choice` names no function").at("tool_choice")),
    }
}

/// One token of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptToken {
    /// Its id.
    pub id: u32,
    /// Its bytes; they may end inside a character.
    pub bytes: Vec<u8>,
}

/// The rendered prompt (or its end), which says where the reply begins.
#[derive(Debug, Clone, Copy, Default)]
pub enum Prompt<'a> {
    /// Unknown: the format's start state applies.
    #[default]
    Unknown,
    /// As text.
    Text(&'a str),
    /// As tokens.
    Tokens(&'a [PromptToken]),
    /// As ids alone. What is known of their text is what the pair's vocabulary says.
    Ids(&'a [u32]),
    /// Not known, but it has ended the thought (or there is none): the reply begins with its answer or its calls.
    Content,
    /// Not known, but it has opened a thought, with which the reply begins.
    Reasoning,
}
