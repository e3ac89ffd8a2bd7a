//! One call of a function.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use unspool::{CallSpans, Diagnostic, ToolSet};
use unspool_check::calls;

use crate::message::{name_of, quoted};
use crate::place::Place;

/// One call of a function.
///
/// `arguments` is JSON text; it is cut short if `complete` is false. `status` is `"ok"`, `"invalid_json"` (the
/// arguments are not a JSON object, or their syntax broke), `"unclosed"` (the output ended inside the call),
/// `"unknown_tool"` or `"schema_mismatch"`; it is None if the call was not parsed. `place` is the range of the whole
/// call, and `argument_places` are the ranges of its arguments. Places do not count when calls are compared.
#[pyclass(frozen, eq, get_all, module = "unspool", from_py_object)]
#[derive(Debug, Clone)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) complete: bool,
    pub(crate) status: Option<String>,
    pub(crate) place: Option<Place>,
    pub(crate) argument_places: Vec<Place>,
}

impl PartialEq for ToolCall {
    fn eq(&self, other: &Self) -> bool {
        let said = |call: &Self| (call.id.clone(), call.name.clone(), call.arguments.clone(), call.complete);
        said(self) == said(other)
    }
}

impl ToolCall {
    /// A parsed call without places.
    pub(crate) fn of(call: unspool::ToolCall) -> Self {
        Self {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
            complete: call.complete,
            status: None,
            place: None,
            argument_places: Vec::new(),
        }
    }

    /// A parsed call with its places.
    pub(crate) fn read(
        call: unspool::ToolCall,
        spans: Option<&CallSpans>,
        parser: &unspool::Parser,
        (diagnostics, tools): (&[Diagnostic], &ToolSet),
    ) -> Self {
        let Some(spans) = spans else { return Self::of(call) };
        let status = calls::status(&call, spans.whole, diagnostics, tools);
        Self {
            status: Some(name_of(status)),
            place: Some(Place::of(parser, spans.whole)),
            argument_places: Place::all(parser, &spans.arguments),
            ..Self::of(call)
        }
    }
}

#[pymethods]
impl ToolCall {
    #[new]
    #[pyo3(signature = (id, name, arguments, complete = true, *, status = None, place = None, argument_places = Vec::new()))]
    fn new(
        id: String,
        name: String,
        arguments: String,
        complete: bool,
        status: Option<String>,
        place: Option<Place>,
        argument_places: Vec<Place>,
    ) -> Self {
        Self { id, name, arguments, complete, status, place, argument_places }
    }

    /// The call as in an OpenAI message.
    pub(crate) fn to_openai<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let function = PyDict::new(py);
        function.set_item("name", &self.name)?;
        function.set_item("arguments", &self.arguments)?;
        let call = PyDict::new(py);
        call.set_item("id", &self.id)?;
        call.set_item("type", "function")?;
        call.set_item("function", function)?;
        Ok(call)
    }

    pub(crate) fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let cut = if self.complete { "" } else { ", complete=False" };
        let text = |text: &str| quoted(py, text);
        Ok(format!("ToolCall({}, {}, {}{cut})", text(&self.id)?, text(&self.name)?, text(&self.arguments)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, call) = (slf.py(), slf.get());
        let fields = PyDict::new(py);
        fields.set_item("status", &call.status)?;
        fields.set_item("place", call.place)?;
        fields.set_item("argument_places", call.argument_places.clone())?;
        let class = slf.get_type().into_any();
        let partial = py.import("functools")?.getattr("partial")?.call((class,), Some(&fields))?;
        let args = (&call.id, &call.name, &call.arguments, call.complete).into_pyobject(py)?;
        Ok((partial, args))
    }
}
