//! From Python's values to JSON.

use pyo3::prelude::*;
use serde_json::Value;

/// A value as JSON. Numbers beyond 64 bits, such as the `model_max_length` of many tokenizers, become floats.
pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    match pythonize::depythonize(object) {
        Ok(value) => Ok(value),
        Err(first) => {
            let text = object.py().import("json")?.call_method1("dumps", (object,));
            let read = text.ok().and_then(|text| serde_json::from_str(text.extract::<&str>().ok()?).ok());
            Ok(read.ok_or(first)?)
        }
    }
}
