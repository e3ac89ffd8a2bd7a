//! Where every parser writes its answer: strings that are large enough from the start, so that the answer costs
//! the same copy everywhere and no allocation anywhere.

use serde_json::Value;
use unspool::{Event, Message, Sink, ToolCall};

/// The fields of a reply.
pub(crate) struct Answer {
    pub(crate) reasoning: String,
    pub(crate) content: String,
    calls: Vec<Call>,
    started: usize,
    /// Whether the parser reported an error.
    pub(crate) failed: bool,
}

struct Call {
    name: String,
    arguments: String,
}

impl Answer {
    /// Room for a message, and for all of its text in each of the two fields of text.
    pub(crate) fn for_message(message: &Message, text: &str) -> Self {
        let room = |bytes: usize| String::with_capacity(bytes + 64);
        let call = |call: &ToolCall| Call { name: room(call.name.len()), arguments: room(call.arguments.len() * 2) };
        Self {
            reasoning: room(text.len()),
            content: room(text.len()),
            calls: message.tool_calls.iter().map(call).collect(),
            started: 0,
            failed: false,
        }
    }

    /// Empties it and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.reasoning.clear();
        self.content.clear();
        for call in &mut self.calls {
            call.name.clear();
            call.arguments.clear();
        }
        self.started = 0;
        self.failed = false;
    }

    pub(crate) fn name(&mut self, index: usize, name: &str) {
        self.started = self.started.max(index + 1);
        if let Some(call) = self.calls.get_mut(index) {
            call.name.push_str(name);
        }
    }

    pub(crate) fn arguments(&mut self, index: usize, json: &str) {
        if let Some(call) = self.calls.get_mut(index) {
            call.arguments.push_str(json);
        }
    }

    /// Whether this is the message, but for outer white space and the spelling of the JSON.
    pub(crate) fn is(&self, message: &Message) -> bool {
        let same_call = |(own, call): (&Call, &ToolCall)| {
            let json = |text: &str| serde_json::from_str::<Value>(text).ok();
            own.name == call.name && json(&own.arguments) == json(&call.arguments)
        };
        !self.failed
            && self.reasoning.trim() == message.reasoning.trim()
            && self.content.trim() == message.content.trim()
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
            Event::CallEnd { .. } | Event::Diagnostic(_) => {}
        }
    }
}
