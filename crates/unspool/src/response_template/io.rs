//! What goes into a machine and comes out of it. A build without templates has these types as well.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::body::Eof;
use crate::diagnostic::DiagnosticKind;
use crate::limits::Limits;
use crate::schema::ToolSet;

/// A call in a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call<'a> {
    /// Name of the function.
    pub(crate) name: &'a str,
    /// The id that the model wrote.
    pub(crate) id: Option<&'a str>,
    /// JSON text of the arguments; for an incomplete call, as far as it goes.
    pub(crate) arguments: &'a str,
    /// The arguments are as the model meant them.
    pub(crate) complete: bool,
    /// Its region, in the input of the step.
    pub(crate) region: Range<usize>,
}

/// Receives a machine's output. Ranges are offsets in the input of the step.
pub(crate) trait MachineOut {
    /// More reasoning.
    fn reasoning(&mut self, text: &str, at: Range<usize>);
    /// More content.
    fn content(&mut self, text: &str, at: Range<usize>);
    /// A complete call.
    fn call(&mut self, call: Call<'_>);
    /// Reasoning ends, as the byte before `at` shows. May be called again.
    fn answering(&mut self, at: usize);
    /// An anomaly.
    fn report(&mut self, kind: DiagnosticKind, at: usize, text: &str, message: &str);
}

/// The context of a step.
pub(crate) struct MachineCx<'a> {
    /// The output.
    pub(crate) out: &'a mut dyn MachineOut,
    /// The request's tools, for the types of untyped values.
    pub(crate) tools: &'a ToolSet,
    /// The limits.
    pub(crate) limits: &'a Limits,
    /// Whether the input is the last.
    pub(crate) eof: Eof,
}

/// The position of a reply, for the gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// Nothing yet, and a thought may come.
    #[default]
    Waiting,
    /// In a thought.
    Thinking,
    /// In the answer or a call.
    Answering,
}

/// The halves that a machine serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Halves {
    /// Separate reasoning from content.
    pub(crate) reasoning: bool,
    /// Read calls.
    pub(crate) tools: bool,
}
