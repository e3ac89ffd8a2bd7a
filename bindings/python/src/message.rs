//! A complete reply.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde::Serialize;
use serde_json::Value;
use unspool::{Finish, FinishReason, Spans, ToolSet};

use crate::call::ToolCall;
use crate::error::Fault;
use crate::place::Place;

/// The result of `__reduce__`: a callable and its arguments.
type Reduced<'py, Args> = PyResult<(Bound<'py, PyAny>, Args)>;

/// A value's name in the JSON interfaces.
pub(crate) fn name_of(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        other => other.map(|value| value.to_string()).unwrap_or_default(),
    }
}

/// A problem in the output. `docs/stream.md` describes `kind` and `offset` (in bytes of the output as UTF-8). A repair
/// (`kind` is `"repaired"`) also has `read`: the text that was read instead of `text`, empty if `text` was skipped.
#[pyclass(frozen, eq, get_all, module = "unspool", from_py_object)]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Diagnostic {
    kind: String,
    offset: u64,
    text: String,
    message: String,
    read: Option<String>,
}

impl From<&unspool::Diagnostic> for Diagnostic {
    fn from(diagnostic: &unspool::Diagnostic) -> Self {
        Self {
            kind: name_of(diagnostic.kind),
            offset: diagnostic.offset,
            text: diagnostic.text.clone(),
            message: diagnostic.message.clone(),
            read: diagnostic.read.clone(),
        }
    }
}

#[pymethods]
impl Diagnostic {
    #[new]
    #[pyo3(signature = (kind, offset, text, message, read = None))]
    fn new(kind: String, offset: u64, text: String, message: String, read: Option<String>) -> Self {
        Self { kind, offset, text, message, read }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = |text: &str| quoted(py, text);
        let (kind, quote, message) = (text(&self.kind)?, text(&self.text)?, text(&self.message)?);
        let read = match &self.read {
            Some(read) => format!(", read={}", text(read)?),
            None => String::new(),
        };
        Ok(format!("Diagnostic({kind}, {}, {quote}, {message}{read})", self.offset))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Reduced<'py, (String, u64, String, String, Option<String>)> {
        let note = slf.get();
        let args = (note.kind.clone(), note.offset, note.text.clone(), note.message.clone(), note.read.clone());
        Ok((slf.get_type().into_any(), args))
    }
}

/// A parsed reply.
///
/// `reasoning` and `content` are texts, empty if there are none; `tool_calls` and `diagnostics` are lists.
/// `finish_reason` is `"stop"`, `"length"` or `"tool_calls"`. `reasoning_tokens` and `reasoning_end_token` are None
/// without token ids. `reasoning_places` and `content_places` list the ranges of the texts in the output; they exclude
/// markers and dropped white space. Places do not count when messages are compared.
#[pyclass(frozen, eq, module = "unspool", from_py_object)]
#[derive(Debug, Clone)]
pub(crate) struct Message {
    #[pyo3(get)]
    reasoning: String,
    #[pyo3(get)]
    content: String,
    #[pyo3(get)]
    tool_calls: Vec<ToolCall>,
    #[pyo3(get)]
    diagnostics: Vec<Diagnostic>,
    #[pyo3(get)]
    finish_reason: String,
    #[pyo3(get)]
    reasoning_tokens: Option<u64>,
    #[pyo3(get)]
    reasoning_end_token: Option<i64>,
    #[pyo3(get)]
    reasoning_places: Vec<Place>,
    #[pyo3(get)]
    content_places: Vec<Place>,
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.reasoning == other.reasoning
            && self.content == other.content
            && self.tool_calls == other.tool_calls
            && self.diagnostics == other.diagnostics
            && self.finish_reason == other.finish_reason
            && self.reasoning_tokens == other.reasoning_tokens
            && self.reasoning_end_token == other.reasoning_end_token
    }
}

impl Message {
    pub(crate) fn finish_reason(&self) -> &str {
        &self.finish_reason
    }

    /// The message that a parser read, with places.
    pub(crate) fn of(
        (message, spans): (unspool::Message, Spans),
        parser: &unspool::Parser,
        finish: &Finish,
        tools: &ToolSet,
    ) -> Self {
        let known = (message.diagnostics.as_slice(), tools);
        let calls = message.tool_calls.into_iter().enumerate();
        let call = |(nth, call)| ToolCall::read(call, spans.calls.get(nth), parser, known);
        Self {
            tool_calls: calls.map(call).collect(),
            diagnostics: message.diagnostics.iter().map(Diagnostic::from).collect(),
            reasoning_places: Place::all(parser, &spans.reasoning),
            content_places: Place::all(parser, &spans.content),
            reasoning: message.reasoning,
            content: message.content,
            finish_reason: name_of(finish.reason),
            reasoning_tokens: finish.reasoning_tokens,
            reasoning_end_token: finish.reasoning_end_token,
        }
    }

    /// The core's message, for rendering.
    pub(crate) fn to_core(&self) -> unspool::Message {
        let call = |call: &ToolCall| unspool::ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            complete: call.complete,
        };
        unspool::Message {
            reasoning: self.reasoning.clone(),
            content: self.content.clone(),
            tool_calls: self.tool_calls.iter().map(call).collect(),
            diagnostics: Vec::new(),
        }
    }
}

#[pymethods]
impl Message {
    #[new]
    #[pyo3(signature = (reasoning = "", content = "", tool_calls = Vec::new(), *, diagnostics = Vec::new(), finish_reason = "stop", reasoning_tokens = None, reasoning_end_token = None, reasoning_places = Vec::new(), content_places = Vec::new()))]
    fn new(
        reasoning: Option<&str>,
        content: Option<&str>,
        tool_calls: Vec<ToolCall>,
        diagnostics: Vec<Diagnostic>,
        finish_reason: &str,
        reasoning_tokens: Option<u64>,
        reasoning_end_token: Option<i64>,
        reasoning_places: Vec<Place>,
        content_places: Vec<Place>,
    ) -> PyResult<Self> {
        reason(Some(finish_reason))?;
        Ok(Self {
            reasoning: reasoning.unwrap_or_default().to_owned(),
            content: content.unwrap_or_default().to_owned(),
            tool_calls,
            diagnostics,
            finish_reason: finish_reason.to_owned(),
            reasoning_tokens,
            reasoning_end_token,
            reasoning_places,
            content_places,
        })
    }

    /// Creates a message from an OpenAI assistant message (a dict): `content`, `reasoning` (or `reasoning_content`) and
    /// `tool_calls`.
    #[staticmethod]
    pub(crate) fn from_openai(message: &Bound<'_, PyAny>) -> PyResult<Self> {
        let value = crate::json::of(message)?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let calls = value.get("tool_calls").and_then(Value::as_array).cloned().unwrap_or_default();
        let calls = calls.iter().enumerate().map(|(index, call)| {
            let name = call.pointer("/function/name").and_then(Value::as_str);
            let name = name.ok_or_else(|| {
                Fault::new("message", "the call has no `function.name`").at(format!("tool_calls[{index}]"))
            })?;
            let arguments = match call.pointer("/function/arguments") {
                None | Some(Value::Null) => "{}".to_owned(),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            Ok(ToolCall::of(unspool::ToolCall { id, name: name.to_owned(), arguments, complete: true }))
        });
        let reasoning = Some(text("reasoning")).filter(|text| !text.is_empty());
        Ok(Self {
            reasoning: reasoning.unwrap_or_else(|| text("reasoning_content")),
            content: text("content"),
            tool_calls: calls.collect::<Result<_, Fault>>()?,
            diagnostics: Vec::new(),
            finish_reason: "stop".to_owned(),
            reasoning_tokens: None,
            reasoning_end_token: None,
            reasoning_places: Vec::new(),
            content_places: Vec::new(),
        })
    }

    /// The message as in an OpenAI answer: `role`, `content` (None if empty), and `reasoning` and `tool_calls` if there
    /// are any.
    fn to_openai<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let message = PyDict::new(py);
        message.set_item("role", "assistant")?;
        message.set_item("content", (!self.content.is_empty()).then_some(&self.content))?;
        if !self.reasoning.is_empty() {
            message.set_item("reasoning", &self.reasoning)?;
        }
        if !self.tool_calls.is_empty() {
            let calls = self.tool_calls.iter().map(|call| call.to_openai(py)).collect::<PyResult<Vec<_>>>()?;
            message.set_item("tool_calls", PyList::new(py, calls)?)?;
        }
        Ok(message)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let calls: Vec<String> = self.tool_calls.iter().map(|call| call.__repr__(py)).collect::<PyResult<_>>()?;
        let mut out = format!(
            "Message(reasoning={}, content={}, tool_calls=[{}], finish_reason={}",
            quoted(py, &self.reasoning)?,
            quoted(py, &self.content)?,
            calls.join(", "),
            quoted(py, &self.finish_reason)?,
        );
        if !self.diagnostics.is_empty() {
            out.push_str(&format!(", {} diagnostics", self.diagnostics.len()));
        }
        Ok(out + ")")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let message = slf.get();
        let fields = PyDict::new(py);
        fields.set_item("reasoning", &message.reasoning)?;
        fields.set_item("content", &message.content)?;
        fields.set_item("tool_calls", message.tool_calls.clone())?;
        fields.set_item("diagnostics", message.diagnostics.clone())?;
        fields.set_item("finish_reason", &message.finish_reason)?;
        fields.set_item("reasoning_tokens", message.reasoning_tokens)?;
        fields.set_item("reasoning_end_token", message.reasoning_end_token)?;
        fields.set_item("reasoning_places", message.reasoning_places.clone())?;
        fields.set_item("content_places", message.content_places.clone())?;
        let class = slf.get_type().into_any();
        let partial = py.import("functools")?.getattr("partial")?.call((class,), Some(&fields))?;
        Ok((partial, PyTuple::empty(py)))
    }
}

/// A text as Python's `repr` writes it.
pub(crate) fn quoted(py: Python<'_>, text: &str) -> PyResult<String> {
    text.into_bound_py_any(py)?.repr()?.extract()
}

/// The engine's finish reason.
pub(crate) fn reason(reason: Option<&str>) -> Result<Option<FinishReason>, Fault> {
    match reason {
        None => Ok(None),
        Some("stop") => Ok(Some(FinishReason::Stop)),
        Some("length") => Ok(Some(FinishReason::Length)),
        Some("tool_calls") => Ok(Some(FinishReason::ToolCalls)),
        Some(other) => Err(Fault::new("argument", format!("`{other}` is no reason to finish"))
            .hint("an engine says \"stop\", \"length\" or \"tool_calls\"; None if it said nothing")
            .at("reason")),
    }
}
