//! Collects events of an answer into a step.

use unspool::Event;

use crate::reply::{Field, ReplyEvent};

/// Owns events, and joins neighbours of the same kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Fold {
    pub(super) events: Vec<ReplyEvent>,
}

impl Fold {
    pub(super) fn take(&mut self, event: Event<'_>) {
        match (self.last_of(&event), &event) {
            (Some(ReplyEvent::Reasoning(text)), Event::Reasoning(more))
            | (Some(ReplyEvent::Content(text)), Event::Content(more)) => return text.push_str(more),
            (Some(ReplyEvent::CallArguments { index, json }), Event::CallArguments { index: same, json: more })
                if index == same =>
            {
                return json.push_str(more);
            }
            _ => {}
        }
        self.events.push(match event {
            Event::Reasoning(text) => ReplyEvent::Reasoning(text.to_owned()),
            Event::Content(text) => ReplyEvent::Content(text.to_owned()),
            Event::CallStart { index, id, name } => {
                ReplyEvent::CallStart { index, id: id.to_owned(), name: name.to_owned() }
            }
            Event::CallArguments { index, json } => ReplyEvent::CallArguments { index, json: json.to_owned() },
            Event::CallEnd { index, complete } => ReplyEvent::CallEnd { index, complete },
            Event::Diagnostic(diagnostic) => ReplyEvent::Note(diagnostic),
        });
    }

    /// The last event; if that has the tokens of this field, the one before it.
    fn last_of(&mut self, event: &Event<'_>) -> Option<&mut ReplyEvent> {
        let own = match event {
            Event::Reasoning(_) => Field::Reasoning,
            Event::Content(_) => Field::Content,
            Event::CallArguments { index, .. } => Field::Call(*index),
            _ => return self.events.last_mut(),
        };
        match self.events.as_mut_slice() {
            [.., before, ReplyEvent::Probabilities { field, .. }] if *field == own => Some(before),
            [.., last] => Some(last),
            [] => None,
        }
    }

    /// As [`Fold::take`], for an owned event.
    pub(super) fn join(&mut self, event: ReplyEvent) {
        match event {
            ReplyEvent::Reasoning(text) => self.take(Event::Reasoning(&text)),
            ReplyEvent::Content(text) => self.take(Event::Content(&text)),
            ReplyEvent::CallArguments { index, json } => self.take(Event::CallArguments { index, json: &json }),
            ReplyEvent::Probabilities { field, tokens } => match self.events.last_mut() {
                Some(ReplyEvent::Probabilities { field: same, tokens: known }) if *same == field => {
                    known.extend(tokens);
                }
                _ => self.events.push(ReplyEvent::Probabilities { field, tokens }),
            },
            other => self.events.push(other),
        }
    }
}

/// The number of tokens per step, as in vLLM's `stream_interval`: the first output goes out at once, and the rest at
/// the end with the ending.
#[derive(Debug, Default)]
pub(super) struct Merging {
    /// Tokens per step; 0 and 1: one piece per step.
    pub(super) interval: u64,
    /// Token count at the last step; `None`: there was none.
    given_at: Option<u64>,
    /// Output that is not emitted yet.
    waiting: Fold,
}

impl Merging {
    /// For steps of this many tokens.
    pub(super) fn every(interval: u64) -> Self {
        Self { interval, ..Self::default() }
    }

    /// Takes the events of a piece; returns a step's events when due. `tokens`: the token count so far.
    pub(super) fn take(&mut self, events: Vec<ReplyEvent>, tokens: u64) -> Vec<ReplyEvent> {
        if self.interval <= 1 {
            return events;
        }
        events.into_iter().for_each(|event| self.waiting.join(event));
        let due = self.given_at.is_none_or(|given| tokens.saturating_sub(given) >= self.interval);
        if !due || self.waiting.events.is_empty() {
            return Vec::new();
        }
        self.given_at = Some(tokens);
        std::mem::take(&mut self.waiting.events)
    }

    /// All waiting events, followed by these.
    pub(super) fn rest(&mut self, events: Vec<ReplyEvent>) -> Vec<ReplyEvent> {
        events.into_iter().for_each(|event| self.waiting.join(event));
        std::mem::take(&mut self.waiting.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_kind_are_joined() {
        let mut fold = Fold::default();
        fold.take(Event::Content("a"));
        fold.take(Event::Content("b"));
        fold.take(Event::CallStart { index: 0, id: "i", name: "f" });
        fold.take(Event::CallArguments { index: 0, json: "{" });
        fold.take(Event::CallArguments { index: 0, json: "}" });
        fold.take(Event::CallArguments { index: 1, json: "{" });
        fold.take(Event::Content("c"));
        let expected = [
            ReplyEvent::Content("ab".into()),
            ReplyEvent::CallStart { index: 0, id: "i".into(), name: "f".into() },
            ReplyEvent::CallArguments { index: 0, json: "{}".into() },
            ReplyEvent::CallArguments { index: 1, json: "{".into() },
            ReplyEvent::Content("c".into()),
        ];
        assert_eq!(fold.events, expected);
    }
    #[test]
    fn steps_are_of_so_many_tokens_and_the_first_is_given_at_once() {
        let mut merging = Merging::every(3);
        let content = |text: &str| vec![ReplyEvent::Content(text.into())];
        assert!(merging.take(Vec::new(), 1).is_empty(), "nothing is to be seen yet");
        assert_eq!(merging.take(content("a"), 2), content("a"));
        assert!(merging.take(content("b"), 3).is_empty());
        assert!(merging.take(content("c"), 4).is_empty());
        assert_eq!(merging.take(content("d"), 5), content("bcd"));
        assert!(merging.take(content("e"), 6).is_empty());
        assert_eq!(merging.rest(content("f")), content("ef"));
        let mut plain = Merging::default();
        assert_eq!(plain.take(content("a"), 1), content("a"));
        assert_eq!(plain.take(content("b"), 2), content("b"));
    }
}
