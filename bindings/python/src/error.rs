//! Converts the core's errors to `unspool.Error`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use unspool::{Error, ErrorKind};
use unspool_text::TextError;

/// The source of an `unspool.Error`.
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

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        // A limit is an argument of the caller, like the other settings.
        let kind = if error.kind == ErrorKind::BadLimit { "argument" } else { error.kind.as_str() };
        Self { kind, message: error.message, hint: error.hint, place: error.place }
    }
}

impl From<TextError> for Fault {
    fn from(error: TextError) -> Self {
        Self { kind: "bad_checkpoint", message: error.message, hint: error.hint, place: None }
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
