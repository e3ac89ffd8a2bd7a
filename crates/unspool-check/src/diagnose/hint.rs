//! A one-line hint about a reply without the expected calls: which parser reads it, or what happened to its markers.

use serde::Serialize;
use serde_json::Value;
use unspool::Message;

use super::input::raw;
use super::report::Cause;
use super::{Formats, Input, Kind, Question, diagnose};
use crate::border;

/// Maximum size of a reply to check, in bytes.
const LONGEST: usize = 16 << 10;

/// The hint about such a reply. It contains none of its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hint {
    /// The cause.
    pub kind: Cause,
    /// A sentence.
    pub message: String,
    /// The flags that would parse the reply; empty: flags are not the cause.
    pub flags: Vec<String>,
}

impl Formats {
    /// Whether a reply deserves a check: it has no call, and its content has a marker of some format.
    #[must_use]
    pub fn has_markup(&self, message: &Message) -> bool {
        message.tool_calls.is_empty() && self.marks().iter().any(|mark| message.content.contains(mark.as_str()))
    }

    /// The hint for such a reply; `names` are those of its reasoning and tool-call parser, `request` its request's
    /// fields. It takes some milliseconds, so do not call it on a thread that serves requests.
    #[must_use]
    pub fn hint(&self, names: [Option<&str>; 2], request: &Value, text: &str) -> Option<Hint> {
        let text = &text[..border::floor(text, LONGEST)];
        let input = Input { kind: Kind::Raw, outputs: vec![raw(text)] };
        let mut question = Question::new(&input, self);
        (question.reasoning_parser, question.tool_call_parser) = (names[0], names[1]);
        question.request = request;
        let verdict = diagnose(&question).ok()?.verdict;
        // A single reply is too little evidence for the other causes.
        let told = matches!(
            verdict.kind,
            Cause::WrongParser | Cause::UnknownPair | Cause::StrippedMarkers | Cause::LookAlikes | Cause::NoFormat
        );
        told.then_some(Hint { kind: verdict.kind, message: verdict.message, flags: verdict.flags })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unspool::{Registry, Setup};

    use super::*;

    #[test]
    fn a_hint_names_the_parser_and_quotes_nothing() {
        let formats = Formats::new(Registry::builtin(), Setup::default());
        let text = "Secret.\n<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\"}}\n</tool_call>";
        let message = Message { content: text.to_owned(), ..Message::default() };
        assert!(formats.has_markup(&message));
        let hint = formats.hint([None, Some("mistral")], &json!({}), text).expect("there is one");
        assert_eq!(hint.kind, Cause::WrongParser);
        assert!(hint.flags.join(" ").contains("hermes"), "{hint:?}");
        let told = format!("{} {}", hint.message, hint.flags.join(" "));
        assert!(!["Secret", "tide", "Looe"].iter().any(|word| told.contains(word)), "{told}");
    }

    #[test]
    fn words_are_worth_none() {
        let formats = Formats::new(Registry::builtin(), Setup::default());
        let said = |text: &str| formats.has_markup(&Message { content: text.to_owned(), ..Message::default() });
        assert!(!said("High water is at six [1], <b>as ever</b>."));
        assert!(said("I will. <tool_call>{}"));
    }
}
