//! From the core's errors to `unspool.Error`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use unspool::grammar::GrammarError;
use unspool::render::RenderError;
use unspool::request::RequestError;
use unspool::setup::SetupErrorKind;
use unspool::{LimitError, SetupError};
use unspool_text::TextError;

/// What `unspool.Error` is made from.
#[derive(Debug)]
pub(crate) struct Fault {
    kind: &'static str,
    message: String,
    hint: Option<String>,
    place: Option<String>,
}

impl Fault {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, place: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }
}

impl From<SetupError> for Fault {
    fn from(error: SetupError) -> Self {
        let kind = match error.kind {
            SetupErrorKind::UnknownName => "unknown_name",
            SetupErrorKind::BadFormat => "bad_format",
            SetupErrorKind::BadPair => "bad_pair",
            SetupErrorKind::BadCheckpoint => "bad_checkpoint",
            SetupErrorKind::MissingTokens => "missing_tokens",
            SetupErrorKind::Unsure => "unsure",
            _ => "setup",
        };
        Self { kind, message: error.message, hint: error.hint, place: None }
    }
}

impl From<RequestError> for Fault {
    fn from(error: RequestError) -> Self {
        Self { kind: "request", message: error.message, hint: error.hint, place: None }
    }
}

impl From<GrammarError> for Fault {
    fn from(error: GrammarError) -> Self {
        Self { kind: "grammar", message: error.message, hint: error.hint, place: None }
    }
}

impl From<RenderError> for Fault {
    fn from(error: RenderError) -> Self {
        Self::new("render", error.to_string()).at(error.place)
    }
}

impl From<TextError> for Fault {
    fn from(error: TextError) -> Self {
        Self { kind: "bad_checkpoint", message: error.message, hint: error.hint, place: None }
    }
}

impl From<LimitError> for Fault {
    fn from(error: LimitError) -> Self {
        Self::new("argument", error.message).hint(error.hint).at("limits")
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        Python::attach(|py| {
            let made = class(py).and_then(|class| class.call1((fault.message, fault.kind, fault.hint, fault.place)));
            match made {
                Ok(error) => PyErr::from_value(error),
                Err(error) => error,
            }
        })
    }
}

fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "unspool._error", "Error")
}
