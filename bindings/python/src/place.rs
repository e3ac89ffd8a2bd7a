//! Positions in an output.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A half-open range.
pub(crate) type Range = (u64, u64);

/// A source range in the output, as half-open ranges: `span` in bytes of the output as UTF-8, `char_span` in characters
/// of `str`, `tokens` in output tokens (None without ids; a token that crosses a boundary belongs to both sides).
#[pyclass(frozen, eq, get_all, module = "unspool", from_py_object)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) span: Range,
    pub(crate) char_span: Range,
    pub(crate) tokens: Option<Range>,
}

impl Place {
    /// The place of a span of a parser's output.
    pub(crate) fn of(parser: &unspool::Parser, span: unspool::Span) -> Self {
        let pair = |range: std::ops::Range<u64>| (range.start, range.end);
        Self {
            span: (span.start, span.end),
            char_span: parser.char_range(span).map_or((span.start, span.end), pair),
            tokens: parser.token_range(span).map(pair),
        }
    }

    /// The same for several.
    pub(crate) fn all(parser: &unspool::Parser, spans: &[unspool::Span]) -> Vec<Self> {
        spans.iter().map(|span| Self::of(parser, *span)).collect()
    }
}

#[pymethods]
impl Place {
    #[new]
    #[pyo3(signature = (span, char_span, tokens = None))]
    fn new(span: Range, char_span: Range, tokens: Option<Range>) -> Self {
        Self { span, char_span, tokens }
    }

    fn __repr__(&self) -> String {
        let tokens = self.tokens.map_or_else(String::new, |tokens| format!(", tokens={tokens:?}"));
        format!("Place({:?}, {:?}{tokens})", self.span, self.char_span)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let place = slf.get();
        let args = (place.span, place.char_span, place.tokens).into_pyobject(slf.py())?;
        Ok((slf.get_type().into_any(), args))
    }
}
