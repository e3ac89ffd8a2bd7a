//! Where every parser writes its answer: strings that are large enough from the start, so that the answer costs
//! the same copy everywhere and no allocation anywhere.

use serde_json::Value;
use unspool::{Event, Message, Sink};

const MOST_CALLS: usize = 4;

/// The fields of a reply.
pub(crate) struct Answer {
    pub(crate) reasoning: String,
    pub(crate) content: String,
    /// Name and arguments.
    calls: [(String, String); MOST_CALLS],
    started: usize,
    /// Whether the parser reported an error.
    pub(crate) failed: bool,
}

impl Answer {
    pub(crate) fn for_text(text: &str) -> Self {
        let room = || String::with_capacity(text.len() + 64);
        Self {
            reasoning: room(),
            content: room(),
            calls: std::array::from_fn(|_| (String::with_capacity(64), room())),
            started: 0,
            failed: false,
        }
    }

    pub(crate) fn name(&mut self, index: usize, name: &str) {
        self.started = self.started.max(index + 1);
        if let Some((kept, _)) = self.calls.get_mut(index) {
            kept.push_str(name);
        }
    }

    pub(crate) fn arguments(&mut self, index: usize, json: &str) {
        if let Some((_, kept)) = self.calls.get_mut(index) {
            kept.push_str(json);
        }
    }

    /// Whether this is the message, but for outer white space and the spelling of the JSON.
    pub(crate) fn is(&self, message: &Message) -> bool {
        let same_call = |((name, arguments), call): (&(String, String), &unspool::ToolCall)| {
            let json = |text: &str| serde_json::from_str::<Value>(text).ok();
            *name == call.name && json(arguments) == json(&call.arguments)
        };
        !self.failed
            && self.reasoning.trim() == message.reasoning
            && self.content.trim() == message.content
            && self.started == message.tool_calls.len()
            && self.calls.iter().zip(&message.tool_calls).all(same_call)
    }
}

impl Sink for Answer {
    #[inline]
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Reasoning(text) => self.reasoning.push_str(text),
            Event::Content(text) => self.content.push_str(text),
            Event::CallStart { index, name, .. } => self.name(index, name),
            Event::CallArguments { index, json } => self.arguments(index, json),
            Event::CallEnd { .. } | Event::Note(_) => {}
        }
    }
}
