//! The JSON shapes of events and messages, as `parse` and `stream` write them.

use serde::Serialize;
use unspool::{Diagnostic, Event, Finish, FinishReason, Message, ToolCall};

/// One event. A borrowed picture of [`Event`] under the name of its kind.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EventShape<'a> {
    Reasoning { text: &'a str },
    Content { text: &'a str },
    CallStart { index: usize, id: &'a str, name: &'a str },
    CallArguments { index: usize, json: &'a str },
    CallEnd { index: usize, complete: bool },
    Diagnostic(&'a Diagnostic),
}

impl<'a> From<&'a Event<'_>> for EventShape<'a> {
    fn from(event: &'a Event<'_>) -> Self {
        match event {
            Event::Reasoning(text) => Self::Reasoning { text },
            Event::Content(text) => Self::Content { text },
            Event::CallStart { index, id, name } => Self::CallStart { index: *index, id, name },
            Event::CallArguments { index, json } => Self::CallArguments { index: *index, json },
            Event::CallEnd { index, complete } => Self::CallEnd { index: *index, complete: *complete },
            Event::Diagnostic(diagnostic) => Self::Diagnostic(diagnostic),
        }
    }
}

/// The whole reply. A field that has no text is null, as in OpenAI's API.
#[derive(Debug, Serialize)]
pub(crate) struct MessageShape<'a> {
    reasoning: Option<&'a str>,
    content: Option<&'a str>,
    tool_calls: &'a [ToolCall],
    finish_reason: FinishReason,
    reasoning_tokens: Option<u64>,
    reasoning_end_token: Option<i64>,
    /// The old name of `reasoning_end_token`, kept for a release.
    gate_step: Option<i64>,
    diagnostics: &'a [Diagnostic],
}

impl<'a> MessageShape<'a> {
    pub(crate) fn new(message: &'a Message, finish: &Finish) -> Self {
        let text = |text: &'a str| (!text.is_empty()).then_some(text);
        Self {
            reasoning: text(&message.reasoning),
            content: text(&message.content),
            tool_calls: &message.tool_calls,
            finish_reason: finish.reason,
            reasoning_tokens: finish.reasoning_tokens,
            reasoning_end_token: finish.reasoning_end_token,
            gate_step: finish.reasoning_end_token,
            diagnostics: &message.diagnostics,
        }
    }
}

#[cfg(test)]
mod tests {
    use unspool::DiagnosticKind;

    use super::*;

    fn shape(event: &Event<'_>) -> String {
        serde_json::to_string(&EventShape::from(event)).unwrap()
    }

    #[test]
    fn every_event_stands_under_its_kind() {
        assert_eq!(shape(&Event::Reasoning("a\n")), r#"{"reasoning":{"text":"a\n"}}"#);
        assert_eq!(shape(&Event::Content("é")), r#"{"content":{"text":"é"}}"#);
        assert_eq!(
            shape(&Event::CallStart { index: 0, id: "call_1", name: "f" }),
            r#"{"call_start":{"index":0,"id":"call_1","name":"f"}}"#
        );
        assert_eq!(
            shape(&Event::CallArguments { index: 0, json: "{\"a\"" }),
            r#"{"call_arguments":{"index":0,"json":"{\"a\""}}"#
        );
        assert_eq!(shape(&Event::CallEnd { index: 0, complete: true }), r#"{"call_end":{"index":0,"complete":true}}"#);
        let note = Diagnostic::new(DiagnosticKind::NotJson, 7, "{a", "not JSON");
        assert_eq!(
            shape(&Event::Diagnostic(note)),
            r#"{"diagnostic":{"kind":"not_json","offset":7,"text":"{a","message":"not JSON"}}"#
        );
    }

    #[test]
    fn a_message_without_text_says_null() {
        let json = serde_json::to_string(&MessageShape::new(&Message::default(), &Finish::default())).unwrap();
        let fields = r#""finish_reason":"stop","reasoning_tokens":null,"reasoning_end_token":null,"gate_step":null,"diagnostics":[]"#;
        assert_eq!(json, format!(r#"{{"reasoning":null,"content":null,"tool_calls":[],{fields}}}"#));
    }
}
