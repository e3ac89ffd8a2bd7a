//! Detection of a checkpoint's format.

use pyo3::prelude::*;
use unspool::{Checkpoint, Half};

use crate::error::Fault;
use crate::formats::registry;
use crate::message::quoted;
use crate::vocabulary::Vocabulary;

/// The names that a checkpoint's files indicate, one for each half, and the reason. A name is None if the files do not
/// decide; the reason then says what is missing.
#[pyclass(frozen, eq, get_all, module = "unspool")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Detected {
    reasoning: Option<String>,
    tools: Option<String>,
    reasoning_why: String,
    tools_why: String,
}

#[pymethods]
impl Detected {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = |name: &Option<String>| name.as_deref().map_or(Ok("None".to_owned()), |name| quoted(py, name));
        Ok(format!("Detected(reasoning={}, tools={})", name(&self.reasoning)?, name(&self.tools)?))
    }
}

/// Detects the format of a checkpoint (its directory, or any vocabulary that `Pair` takes).
#[pyfunction]
pub(crate) fn detect(checkpoint: &Bound<'_, PyAny>) -> PyResult<Detected> {
    let vocabulary = Vocabulary::of_object(checkpoint)?;
    let vocabulary = vocabulary.get();
    let registry = registry()?;
    let has_token = |text: &str| vocabulary.has(text);
    let types = vocabulary.model_types();
    let checkpoint =
        Checkpoint { template: vocabulary.chat_template(), has_token: Some(&has_token), model_types: &types };
    let half = |half: Half| match registry.detect(half, &checkpoint) {
        Ok(found) => Ok((Some(found.name), found.why)),
        Err(error) if error.kind == unspool::ErrorKind::Unsure => Ok((None, error.message)),
        Err(error) => Err(Fault::from(error)),
    };
    let ((reasoning, reasoning_why), (tools, tools_why)) = (half(Half::Reasoning)?, half(Half::Tools)?);
    Ok(Detected { reasoning, tools, reasoning_why, tools_why })
}
