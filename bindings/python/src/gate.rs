//! The start of a grammar.

use pyo3::prelude::*;

/// Follows the ids of one reply and reports when reasoning is over, for an engine that constrains what follows. Created
/// by `Pair.gate`.
#[pyclass(module = "unspool")]
pub(crate) struct Gate {
    core: unspool::Gate,
}

impl Gate {
    pub(crate) fn new(core: unspool::Gate) -> Self {
        Self { core }
    }
}

#[pymethods]
impl Gate {
    /// Takes the ids of one step and returns `(grammar_start, constraint_start)`, positions in this step. Ids before
    /// the first are not fed to the grammar; if it is negative, that many ids of earlier steps are fed first. Ids from
    /// the second on are masked. A value one above the number of ids means: not yet.
    #[expect(clippy::needless_pass_by_value, reason = "what Python gives is made for this call")]
    fn advance(&mut self, ids: Vec<u32>) -> (i64, i64) {
        let bounds = self.core.advance(&ids);
        (bounds.grammar_start, bounds.constraint_start)
    }

    /// Whether reasoning is over, or there was none.
    #[getter]
    fn ended(&self) -> bool {
        self.core.is_reasoning_end()
    }

    /// Whether reasoning ended in the last step.
    #[getter]
    fn ended_in_step(&self) -> bool {
        self.core.ended_in_step()
    }

    /// `(content, constraint)` as positions in the output's ids: the first id that is not reasoning, and the first that
    /// a grammar may forbid. None while reasoning continues.
    #[getter]
    fn reasoning_end(&self) -> Option<(u64, u64)> {
        self.core.reasoning_end().map(|end| (end.content, end.constraint))
    }

    /// Number of reasoning ids so far.
    #[getter]
    fn reasoning_tokens(&self) -> u64 {
        self.core.reasoning_tokens()
    }

    /// A gate with the same state.
    fn copy(&self) -> Self {
        Self { core: self.core.clone() }
    }

    fn __repr__(&self) -> String {
        let state = if self.core.is_reasoning_end() { "open" } else { "closed" };
        format!("<Gate: {state}, {} reasoning tokens>", self.core.reasoning_tokens())
    }
}
