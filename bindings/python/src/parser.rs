//! The parser of one reply.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use unspool::{Delta, Sink, Spans, ToolSet};

use crate::error::Fault;
use crate::event::Event;
use crate::message::{self, Message};

/// Parses one reply: `push` its deltas, then `finish`. Created by `Pair.parser`.
#[pyclass(module = "unspool")]
pub(crate) struct Parser {
    core: unspool::Parser,
    message: unspool::Message,
    spans: Spans,
    /// The tools of the request.
    tools: Arc<ToolSet>,
    /// Whether deltas may carry ids alone.
    has_bytes: bool,
}

impl Parser {
    pub(crate) fn new(core: unspool::Parser, tools: Arc<ToolSet>, has_bytes: bool) -> Self {
        Self { core, message: unspool::Message::default(), spans: Spans::default(), tools, has_bytes }
    }
}

/// Collects events for Python and builds the message from them.
struct Collector<'a> {
    events: Vec<Event>,
    message: &'a mut unspool::Message,
    spans: &'a mut Spans,
}

impl Sink for Collector<'_> {
    fn event(&mut self, event: unspool::Event<'_>) {
        self.event_at(event, unspool::Span::default());
    }

    fn event_at(&mut self, event: unspool::Event<'_>, span: unspool::Span) {
        self.events.push(Event::new(event.clone(), span));
        self.spans.event_at(event.clone(), span);
        self.message.event_at(event, span);
    }
}

#[pymethods]
impl Parser {
    /// Takes the next piece of output and returns its events. Model output is never an error.
    ///
    /// `text` is the new text, including special tokens; None: it is decoded from the ids, which requires a vocabulary
    /// with bytes. `ids` are the ids of the new tokens; None: unknown.
    #[pyo3(signature = (text = None, ids = None))]
    fn push(&mut self, text: Option<&str>, ids: Option<Vec<u32>>) -> PyResult<Vec<Event>> {
        let ids = ids.unwrap_or_default();
        if text.is_none() && !ids.is_empty() && !self.has_bytes {
            return Err(Fault::new("no_vocab", "ids without text, and the vocabulary has no bytes")
                .hint("give `Pair` a tokenizer or a checkpoint's folder, or give `text` with each delta")
                .at("ids")
                .into());
        }
        let mut collector = Collector { events: Vec::new(), message: &mut self.message, spans: &mut self.spans };
        self.core.push(Delta { text, ids: &ids }, &mut collector);
        let mut events = collector.events;
        events.iter_mut().for_each(|event| event.locate(&self.core));
        Ok(events)
    }

    /// Ends the output. `reason`: the engine's finish reason, `"stop"`, `"length"` or `"tool_calls"`; None if unknown.
    #[pyo3(signature = (reason = None))]
    fn finish(&mut self, reason: Option<&str>) -> PyResult<End> {
        let reason = message::reason(reason)?;
        let mut collector = Collector { events: Vec::new(), message: &mut self.message, spans: &mut self.spans };
        let finish = self.core.finish(reason, &mut collector);
        let mut events = collector.events;
        events.iter_mut().for_each(|event| event.locate(&self.core));
        let said = (std::mem::take(&mut self.message), std::mem::take(&mut self.spans));
        let message = Message::of(said, &self.core, &finish, &self.tools);
        Ok(End { events, message })
    }

    /// Replaces the parser's request, for callers that learn it late. An `Error` of kind `request` if a call has
    /// already begun. The new request's thinking switches have no effect: the start of the reply is already decided.
    #[pyo3(signature = (request = None, *, tools = None))]
    fn set_request(&mut self, request: Option<&Bound<'_, PyAny>>, tools: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let request = crate::request::request(request, tools)?;
        self.core.set_request(&request).map_err(Fault::from)?;
        self.tools = request.tools;
        Ok(())
    }

    /// The state after the last delta, to resume elsewhere: a snapshot can be pickled, and
    /// `Pair.parser(…).restore(snapshot)` loads it.
    fn snapshot(&self) -> PyResult<Snapshot> {
        let state = (self.core.snapshot(), &self.message, &self.spans);
        let bytes = serde_json::to_vec(&state).map_err(|error| Fault::new("snapshot", error.to_string()))?;
        Ok(Snapshot { bytes })
    }

    /// Resumes from a snapshot of a parser of the same pair and request.
    fn restore(&mut self, snapshot: &Snapshot) -> PyResult<()> {
        let (state, message, spans): (unspool::Snapshot, unspool::Message, Spans) =
            serde_json::from_slice(&snapshot.bytes)
                .map_err(|error| Fault::new("snapshot", format!("the snapshot cannot be read: {error}")))?;
        self.core.restore(state).map_err(Fault::from)?;
        self.message = message;
        self.spans = spans;
        Ok(())
    }

    /// Number of calls so far.
    #[getter]
    fn calls(&self) -> usize {
        self.core.calls()
    }

    /// Number of bytes held because they are undecided.
    #[getter]
    fn held_bytes(&self) -> usize {
        self.core.held_bytes()
    }

    /// Whether reasoning is open.
    #[getter]
    fn is_thinking(&self) -> bool {
        self.core.is_thinking()
    }

    /// Whether reasoning is over, or there was none.
    #[getter]
    fn reasoning_ended(&self) -> bool {
        self.core.reasoning_ended()
    }

    /// Number of reasoning tokens so far; None without ids.
    #[getter]
    fn reasoning_tokens(&self) -> Option<u64> {
        self.core.reasoning_tokens()
    }

    /// Index of the output token after which reasoning was over; -1: before the output; None: not yet, or no ids.
    #[getter]
    fn reasoning_end_token(&self) -> Option<i64> {
        self.core.reasoning_end_token()
    }

    fn __repr__(&self) -> String {
        format!("<Parser: {} calls, {} bytes held>", self.core.calls(), self.core.held_bytes())
    }
}

/// The end of a reply: the last events and the complete message.
#[pyclass(frozen, module = "unspool")]
pub(crate) struct End {
    events: Vec<Event>,
    message: Message,
}

#[pymethods]
impl End {
    /// The events held until the end.
    #[getter]
    fn events(&self) -> Vec<Event> {
        self.events.clone()
    }

    /// The complete reply.
    #[getter]
    fn message(&self) -> Message {
        self.message.clone()
    }

    /// `"stop"`, `"length"` or `"tool_calls"`, for the client.
    #[getter]
    fn finish_reason(&self) -> &str {
        self.message.finish_reason()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let message: String = self.message().into_pyobject(py)?.repr()?.extract()?;
        Ok(format!("<End: {} events, {message}>", self.events.len()))
    }
}

/// A parser's state.
#[pyclass(frozen, eq, module = "unspool")]
#[derive(PartialEq)]
pub(crate) struct Snapshot {
    bytes: Vec<u8>,
}

#[pymethods]
impl Snapshot {
    #[new]
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// The state as bytes, for `Snapshot(bytes)`.
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    fn __repr__(&self) -> String {
        format!("<Snapshot of {} bytes>", self.bytes.len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let bytes = PyBytes::new(slf.py(), &slf.get().bytes);
        Ok((slf.get_type().into_any(), PyTuple::new(slf.py(), [bytes])?))
    }
}
