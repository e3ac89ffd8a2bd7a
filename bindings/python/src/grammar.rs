//! The grammar of the replies to a request.

use pyo3::prelude::*;
use unspool::grammar::{Options, StrictLevel};

use crate::error::Fault;

/// A grammar for the replies to one request. Created by `Pair.grammar`.
#[pyclass(frozen, module = "unspool")]
pub(crate) struct Grammar {
    core: unspool::grammar::Grammar,
}

impl Grammar {
    pub(crate) fn new(core: unspool::grammar::Grammar) -> Self {
        Self { core }
    }
}

#[pymethods]
impl Grammar {
    /// The structural tag (a dict), for xgrammar.
    fn structural_tag<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::pythonize(py, &self.core.structural_tag())?)
    }

    /// The grammar as Lark text, for llguidance.
    fn lark(&self) -> String {
        self.core.lark()
    }

    /// The JSON schema, if the grammar is nothing but JSON of that schema.
    fn json_schema<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.core.json_schema().map(|schema| pythonize::pythonize(py, schema)).transpose()?)
    }

    fn __repr__(&self) -> String {
        format!("<Grammar of {} bytes of Lark>", self.core.lark().len())
    }
}

/// The arguments of `Pair.grammar` besides the request.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wishes {
    pub(crate) strict_level: String,
    pub(crate) enforce: bool,
    pub(crate) with_thought: bool,
    pub(crate) thought_open: Option<bool>,
}

impl Wishes {
    pub(crate) fn options(self, answer: Option<serde_json::Value>) -> Result<Options, Fault> {
        let level = match self.strict_level.as_str() {
            "auto" => StrictLevel::Auto,
            "function" => StrictLevel::Function,
            "parameter" => StrictLevel::Parameter,
            other => {
                return Err(Fault::new("argument", format!("no strict level is named `{other}`"))
                    .hint("the levels are \"auto\", \"function\" and \"parameter\"")
                    .at("strict_level"));
            }
        };
        let (enforce, with_thought, thought_open) = (self.enforce, self.with_thought, self.thought_open);
        Ok(Options { level, enforce, with_thought, thought_open, answer, ..Options::default() })
    }
}
