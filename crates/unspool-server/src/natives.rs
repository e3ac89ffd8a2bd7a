//! Merges the calls and reasoning that a chat server has parsed itself with a parser's events, with one numbering for
//! all calls.

use unspool::{Parser, Request, ToolChoice};

use crate::backend::Native;
use crate::reply::{Field, ReplyEvent};
use crate::unique;

/// The calls of an answer: the server's, and those found in its text.
#[derive(Debug, Default)]
pub struct Natives {
    /// A parser that starts after the thought, for answers whose reasoning the server returns itself.
    content: Option<Box<Parser>>,
    /// The request names the function, so its call is the answer.
    named: bool,
    /// The request wants no reasoning.
    hides_thoughts: bool,
    /// The indices of the server's calls.
    given: Vec<usize>,
    /// The indices of the calls that were found.
    found: Vec<usize>,
}

impl Natives {
    /// For answers to `request` from a server that may return reasoning itself; `content` is a parser that starts after
    /// it.
    #[must_use]
    pub fn new(request: &Request, content: Option<Parser>) -> Self {
        Self {
            content: content.map(Box::new),
            named: matches!(request.tool_choice, ToolChoice::Named(_)),
            hides_thoughts: request.include_reasoning == Some(false),
            ..Self::default()
        }
    }

    /// Whether a finished answer has calls of the server.
    #[must_use]
    pub fn ask_for_calls(&self) -> bool {
        !self.given.is_empty() && !self.named
    }

    /// The parser for the text of a server that returns reasoning itself; once.
    pub fn content(&mut self) -> Option<Parser> {
        self.content.take().map(|parser| *parser)
    }

    fn next(&self) -> usize {
        self.given.len() + self.found.len()
    }

    /// The event for the server's output, if the client should see it.
    pub fn event(&mut self, native: Native) -> Option<ReplyEvent> {
        Some(match native {
            Native::Reasoning(_) if self.hides_thoughts => return None,
            Native::Reasoning(text) => ReplyEvent::Reasoning(text),
            Native::Probabilities(_) if self.hides_thoughts => return None,
            Native::Probabilities(tokens) => ReplyEvent::Probabilities { field: Field::Reasoning, tokens },
            Native::CallStart { id, name } => {
                let index = self.next();
                self.given.push(index);
                // Clients refer to a call by its id.
                let id = if id.is_empty() { format!("chatcmpl-tool-{:016x}", unique::number()) } else { id };
                ReplyEvent::CallStart { index, id, name }
            }
            Native::CallArguments { call, json } => {
                ReplyEvent::CallArguments { index: self.given.get(call).copied().unwrap_or_default(), json }
            }
        })
    }

    /// Renumbers the calls that a parser found, after the existing ones.
    pub fn renumber(&mut self, events: &mut [ReplyEvent]) {
        for event in events {
            match event {
                ReplyEvent::CallStart { index, .. } => {
                    let number = self.next();
                    self.found.push(number);
                    *index = number;
                }
                ReplyEvent::CallArguments { index, .. } | ReplyEvent::CallEnd { index, .. } => {
                    *index = self.found.get(*index).copied().unwrap_or(*index);
                }
                _ => {}
            }
        }
    }

    /// The ends of the server's calls; if the answer was cut off, the last one is incomplete.
    pub fn ends(&self, cut: bool) -> impl Iterator<Item = ReplyEvent> {
        let last = self.given.len();
        let end = move |(number, index): (usize, &usize)| ReplyEvent::CallEnd {
            index: *index,
            complete: !cut || number + 1 < last,
        };
        self.given.iter().enumerate().map(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(index: usize, id: &str) -> ReplyEvent {
        ReplyEvent::CallStart { index, id: id.into(), name: "f".into() }
    }

    #[test]
    fn calls_of_both_have_one_numbering() {
        let mut natives = Natives::default();
        let given = |id: &str| Native::CallStart { id: id.into(), name: "f".into() };
        assert_eq!(natives.event(given("a")), Some(start(0, "a")));
        let mut found = [start(0, "b"), ReplyEvent::CallArguments { index: 0, json: "{}".into() }];
        natives.renumber(&mut found);
        assert_eq!(found, [start(1, "b"), ReplyEvent::CallArguments { index: 1, json: "{}".into() }]);
        assert_eq!(natives.event(given("c")), Some(start(2, "c")));
        let more = natives.event(Native::CallArguments { call: 1, json: "{".into() });
        assert_eq!(more, Some(ReplyEvent::CallArguments { index: 2, json: "{".into() }));
        let ends: Vec<_> = natives.ends(true).collect();
        let end = |index, complete| ReplyEvent::CallEnd { index, complete };
        assert_eq!(ends, [end(0, true), end(2, false)]);
        let made = natives.event(given(""));
        assert!(matches!(made, Some(ReplyEvent::CallStart { id, .. }) if id.starts_with("chatcmpl-tool-")));
    }
}
