//! The events of a parser.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::message::{Diagnostic, quoted};
use crate::place::{Place, Range};

/// One step of a reply, as soon as it is certain.
///
/// | `kind` | fields |
/// |---|---|
/// | `"reasoning"` | `text`: more reasoning |
/// | `"content"` | `text`: more content |
/// | `"call_start"` | `index` (from 0), `id`, `name`: a call begins |
/// | `"call_arguments"` | `index`, `text`: more of the arguments' JSON text |
/// | `"call_end"` | `index`, `complete`: the call ends |
/// | `"diagnostic"` | `diagnostic`: a problem in the output |
///
/// Fields that a kind does not have are None.
#[pyclass(frozen, eq, module = "unspool")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    what: Kind,
    place: Place,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Reasoning(String),
    Content(String),
    Start { index: usize, id: String, name: String },
    Arguments { index: usize, json: String },
    End { index: usize, complete: bool },
    Note(Diagnostic),
}

impl From<unspool::Event<'_>> for Kind {
    fn from(event: unspool::Event<'_>) -> Self {
        use unspool::Event as Core;
        match event {
            Core::Reasoning(text) => Kind::Reasoning(text.to_owned()),
            Core::Content(text) => Kind::Content(text.to_owned()),
            Core::CallStart { index, id, name } => Kind::Start { index, id: id.to_owned(), name: name.to_owned() },
            Core::CallArguments { index, json } => Kind::Arguments { index, json: json.to_owned() },
            Core::CallEnd { index, complete } => Kind::End { index, complete },
            Core::Diagnostic(diagnostic) => Kind::Note(Diagnostic::from(&diagnostic)),
        }
    }
}

impl Event {
    /// The core's event, before its characters and tokens are known.
    pub(crate) fn new(event: unspool::Event<'_>, span: unspool::Span) -> Self {
        let span = (span.start, span.end);
        Self { what: Kind::from(event), place: Place { span, char_span: span, tokens: None } }
    }

    /// Looks up the ranges of characters and tokens.
    pub(crate) fn locate(&mut self, parser: &unspool::Parser) {
        let (start, end) = self.place.span;
        self.place = Place::of(parser, unspool::Span::new(start, end));
    }

    fn name_of_kind(&self) -> &'static str {
        match &self.what {
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
        match &self.what {
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
        match &self.what {
            Kind::Reasoning(text) | Kind::Content(text) | Kind::Arguments { json: text, .. } => Some(text),
            _ => None,
        }
    }

    /// The source range in the output: a half-open range `(start, end)` of bytes of the output as UTF-8. It is empty
    /// for JSON that the parser writes itself; a `call_end` has the range of the whole call.
    #[getter]
    fn span(&self) -> Range {
        self.place.span
    }

    /// The same as a half-open range of characters of `str`.
    #[getter]
    fn char_span(&self) -> Range {
        self.place.char_span
    }

    /// The same as a half-open range of output tokens; None without ids.
    #[getter]
    fn tokens(&self) -> Option<Range> {
        self.place.tokens
    }

    /// Position of the call in the reply, from 0.
    #[getter]
    fn index(&self) -> Option<usize> {
        match &self.what {
            Kind::Start { index, .. } | Kind::Arguments { index, .. } | Kind::End { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// The call's id: the model's own, or a generated one.
    #[getter]
    fn id(&self) -> Option<&str> {
        match &self.what {
            Kind::Start { id, .. } => Some(id),
            _ => None,
        }
    }

    /// The name of the function.
    #[getter]
    fn name(&self) -> Option<&str> {
        match &self.what {
            Kind::Start { name, .. } => Some(name),
            _ => None,
        }
    }

    /// False if the output ended, or the body broke, before the arguments were complete.
    #[getter]
    fn complete(&self) -> Option<bool> {
        match &self.what {
            Kind::End { complete, .. } => Some(*complete),
            _ => None,
        }
    }

    /// The diagnostic.
    #[getter]
    fn diagnostic(&self) -> Option<Diagnostic> {
        match &self.what {
            Kind::Note(diagnostic) => Some(diagnostic.clone()),
            _ => None,
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let kind = self.name_of_kind();
        Ok(match &self.what {
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
