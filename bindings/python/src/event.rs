//! What a parser says.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::message::{Diagnostic, quoted};

/// One step of a reply, as soon as it is certain.
///
/// | `kind` | fields |
/// |---|---|
/// | `"reasoning"` | `text`: more of the thought |
/// | `"content"` | `text`: more of the answer |
/// | `"call_start"` | `index` (from 0), `id`, `name`: a call begins |
/// | `"call_arguments"` | `index`, `text`: more of the JSON text of the arguments |
/// | `"call_end"` | `index`, `complete`: the call is over |
/// | `"diagnostic"` | `diagnostic`: something odd in the output |
///
/// A field that a kind does not have is None.
#[pyclass(frozen, eq, module = "unspool")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Reasoning(String),
    Content(String),
    Start { index: usize, id: String, name: String },
    Arguments { index: usize, json: String },
    End { index: usize, complete: bool },
    Note(Diagnostic),
}

impl From<unspool::Event<'_>> for Event {
    fn from(event: unspool::Event<'_>) -> Self {
        use unspool::Event as Core;
        Self(match event {
            Core::Reasoning(text) => Kind::Reasoning(text.to_owned()),
            Core::Content(text) => Kind::Content(text.to_owned()),
            Core::CallStart { index, id, name } => Kind::Start { index, id: id.to_owned(), name: name.to_owned() },
            Core::CallArguments { index, json } => Kind::Arguments { index, json: json.to_owned() },
            Core::CallEnd { index, complete } => Kind::End { index, complete },
            Core::Diagnostic(diagnostic) => Kind::Note(Diagnostic::from(&diagnostic)),
        })
    }
}

impl Event {
    fn name_of_kind(&self) -> &'static str {
        match &self.0 {
            Kind::Reasoning(_) => "reasoning",
            Kind::Content(_) => "content",
            Kind::Start { .. } => "call_start",
            Kind::Arguments { .. } => "call_arguments",
            Kind::End { .. } => "call_end",
            Kind::Note(_) => "diagnostic",
        }
    }
}

#[pymethods]
impl Event {
    /// `"reasoning"`, `"content"`, `"call_start"`, `"call_arguments"`, `"call_end"` or `"diagnostic"`.
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        match &self.0 {
            Kind::Reasoning(_) => intern!(py, "reasoning"),
            Kind::Content(_) => intern!(py, "content"),
            Kind::Start { .. } => intern!(py, "call_start"),
            Kind::Arguments { .. } => intern!(py, "call_arguments"),
            Kind::End { .. } => intern!(py, "call_end"),
            Kind::Note(_) => intern!(py, "diagnostic"),
        }
    }

    /// The text of reasoning or content, or the piece of JSON text.
    #[getter]
    fn text(&self) -> Option<&str> {
        match &self.0 {
            Kind::Reasoning(text) | Kind::Content(text) | Kind::Arguments { json: text, .. } => Some(text),
            _ => None,
        }
    }

    /// Position of the call in the reply, from 0.
    #[getter]
    fn index(&self) -> Option<usize> {
        match &self.0 {
            Kind::Start { index, .. } | Kind::Arguments { index, .. } | Kind::End { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// The call's id: the one that the model wrote, or one made for it.
    #[getter]
    fn id(&self) -> Option<&str> {
        match &self.0 {
            Kind::Start { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Name of the function.
    #[getter]
    fn name(&self) -> Option<&str> {
        match &self.0 {
            Kind::Start { name, .. } => Some(name),
            _ => None,
        }
    }

    /// False if the output ended, or the body broke, before the arguments were complete.
    #[getter]
    fn complete(&self) -> Option<bool> {
        match &self.0 {
            Kind::End { complete, .. } => Some(*complete),
            _ => None,
        }
    }

    /// What is odd.
    #[getter]
    fn diagnostic(&self) -> Option<Diagnostic> {
        match &self.0 {
            Kind::Note(diagnostic) => Some(diagnostic.clone()),
            _ => None,
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let kind = self.name_of_kind();
        Ok(match &self.0 {
            Kind::Reasoning(text) | Kind::Content(text) => format!("<{kind} {}>", quoted(py, text)?),
            Kind::Start { index, id, name } => format!("<{kind} {index} {} id={}>", quoted(py, name)?, quoted(py, id)?),
            Kind::Arguments { index, json } => format!("<{kind} {index} {}>", quoted(py, json)?),
            Kind::End { index, complete } => {
                format!("<{kind} {index}{}>", if *complete { "" } else { " incomplete" })
            }
            Kind::Note(_) => format!("<{kind} {}>", self.diagnostic().into_pyobject(py)?.repr()?),
        })
    }
}
