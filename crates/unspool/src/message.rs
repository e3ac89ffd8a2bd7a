//! The fold of events: one message.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::event::{Event, Sink};

/// One tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// Name of the function.
    pub name: String,
    /// JSON text of the arguments; cut where the output was cut if not `complete`.
    pub arguments: String,
    /// Whether the arguments are complete.
    pub complete: bool,
}

/// A reply: the concatenation of its events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The reasoning.
    pub reasoning: String,
    /// The content.
    pub content: String,
    /// The calls, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Anomalies in the output.
    pub diagnostics: Vec<Diagnostic>,
}

impl Sink for Message {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Reasoning(text) => self.reasoning.push_str(text),
            Event::Content(text) => self.content.push_str(text),
            Event::CallStart { id, name, .. } => {
                self.tool_calls.push(ToolCall { id: id.to_owned(), name: name.to_owned(), ..ToolCall::default() });
            }
            Event::CallArguments { index, json } => {
                if let Some(call) = self.tool_calls.get_mut(index) {
                    call.arguments.push_str(json);
                }
            }
            Event::CallEnd { index, complete } => {
                if let Some(call) = self.tool_calls.get_mut(index) {
                    call.complete = complete;
                }
            }
            Event::Diagnostic(diagnostic) => self.diagnostics.push(diagnostic),
        }
    }
}
