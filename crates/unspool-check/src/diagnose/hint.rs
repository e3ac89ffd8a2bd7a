//! One line about a reply whose calls did not come out: which parser reads it, or what happened to its marks.

use serde::Serialize;
use serde_json::Value;
use unspool::Message;

use super::input::raw;
use super::report::Cause;
use super::{Formats, Input, Kind, Question, diagnose};
use crate::border;

/// Most of a reply that is looked at for a hint, in bytes.
const LONGEST: usize = 16 << 10;

/// What is told of such a reply. None of its text is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hint {
    /// What it is.
    pub kind: Cause,
    /// In a sentence.
    pub message: String,
    /// The flags that would read the reply; empty: flags are not the cause.
    pub flags: Vec<String>,
}

impl Formats {
    /// Whether a reply is worth a hint: it has no call, and a mark of some format stands in its answer.
    #[must_use]
    pub fn has_markup(&self, message: &Message) -> bool {
        message.tool_calls.is_empty() && self.marks().iter().any(|mark| message.content.contains(mark.as_str()))
    }

    /// The hint for a reply that is worth one; `names` are those of the reasoning and the tool-call parser that read it, `request`
    /// its fields. It takes some milliseconds, so it has no place on a thread that serves.
    #[must_use]
    pub fn hint(&self, names: [Option<&str>; 2], request: &Value, text: &str) -> Option<Hint> {
        let text = &text[..border::floor(text, LONGEST)];
        let input = Input { kind: Kind::Raw, outputs: vec![raw(text)] };
        let mut question = Question::new(&input, self);
        (question.reasoning_parser, question.tool_call_parser) = (names[0], names[1]);
        question.request = request;
        let verdict = diagnose(&question).ok()?.verdict;
        // Of the other causes a reply alone says too little.
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
