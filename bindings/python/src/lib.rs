//! The Python module `unspool._unspool`: a thin layer over the crate `unspool`. The docstrings describe classes and
//! functions for users; the types are in `python/unspool/_unspool.pyi`.

#![allow(clippy::too_many_arguments, reason = "keywords of Python")]

mod call;
mod detect;
mod diagnose;
mod error;
mod event;
mod formats;
mod gate;
mod grammar;
mod json;
mod message;
mod options;
mod pair;
mod parser;
mod place;
mod request;
mod vocabulary;

use pyo3::prelude::*;

/// Parses the raw output of a language model into reasoning, content and tool calls.
#[pymodule(gil_used = false)]
mod _unspool {
    #[pymodule_export]
    use crate::call::ToolCall;
    #[pymodule_export]
    use crate::detect::{Detected, detect};
    #[pymodule_export]
    use crate::diagnose::diagnose;
    #[pymodule_export]
    use crate::event::Event;
    #[pymodule_export]
    use crate::formats::{add_formats, formats};
    #[pymodule_export]
    use crate::gate::Gate;
    #[pymodule_export]
    use crate::grammar::Grammar;
    #[pymodule_export]
    use crate::message::{Diagnostic, Message};
    #[pymodule_export]
    use crate::pair::Pair;
    #[pymodule_export]
    use crate::parser::{End, Parser, Snapshot};
    #[pymodule_export]
    use crate::place::Place;
    #[pymodule_export]
    use crate::vocabulary::Vocabulary;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
