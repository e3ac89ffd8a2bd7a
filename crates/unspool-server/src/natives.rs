//! What a chat server has taken apart already, among the events of a parser: one numbering for the calls of both.

use unspool::{Parser, Request, ToolChoice};

use crate::backend::Native;
use crate::reply::{Field, ReplyEvent};
use crate::unique;

/// The calls of an answer: those of the server, and those that were found in its text.
#[derive(Debug, Default)]
pub struct Natives {
    /// A parser that stands behind the thought, for answers whose thought the server gives by itself.
    content: Option<Box<Parser>>,
    /// The request names the function, so that its call is the answer.
    named: bool,
    /// The request wants no thoughts.
    hides_thoughts: bool,
    /// The numbers of the server's calls.
    given: Vec<usize>,
    /// The numbers of those that were found.
    found: Vec<usize>,
}

impl Natives {
    /// For answers to `request` of a server that may give thoughts by itself; `content` is a parser that stands behind them.
    #[must_use]
    pub fn new(request: &Request, content: Option<Parser>) -> Self {
        Self {
            content: content.map(Box::new),
            named: matches!(request.tool_choice, ToolChoice::Named(_)),
            hides_thoughts: request.include_reasoning == Some(false),
            ..Self::default()
        }
    }

    /// Whether an answer that came to its end asks for calls of the server's.
    #[must_use]
    pub fn ask_for_calls(&self) -> bool {
        !self.given.is_empty() && !self.named
    }

    /// The parser for the text of a server that gives thoughts by itself; once.
    pub fn content(&mut self) -> Option<Parser> {
        self.content.take().map(|parser| *parser)
    }

    fn next(&self) -> usize {
        self.given.len() + self.found.len()
    }

    /// The event of what the server gave, if it is one for the client.
    pub fn event(&mut self, native: Native) -> Option<ReplyEvent> {
        Some(match native {
            Native::Reasoning(_) if self.hides_thoughts => return None,
            Native::Reasoning(text) => ReplyEvent::Reasoning(text),
            Native::Probabilities(_) if self.hides_thoughts => return None,
            Native::Probabilities(tokens) => ReplyEvent::Probabilities { field: Field::Reasoning, tokens },
            Native::CallStart { id, name } => {
                let index = self.next();
                self.given.push(index);
                // Clients answer a call by its id.
                let id = if id.is_empty() { format!("chatcmpl-tool-{:016x}", unique::number()) } else { id };
                ReplyEvent::CallStart { index, id, name }
            }
            Native::CallArguments { call, json } => {
                ReplyEvent::CallArguments { index: self.given.get(call).copied().unwrap_or_default(), json }
            }
        })
    }

    /// Numbers what a parser found behind what there is.
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

    /// The ends of the server's calls; cut off with the answer, the last one is not complete.
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
