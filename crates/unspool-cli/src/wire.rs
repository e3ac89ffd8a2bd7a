//! The JSON shapes of events and messages, as `parse` and `stream` write them.

use serde::Serialize;
use unspool::{Diagnostic, Event, Finish, FinishReason, Message, Parser, Span, ToolCall};

/// One event: a borrowed view of [`Event`] under the name of its kind.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EventShape<'a> {
    Reasoning(Placed<Text<'a>>),
    Content(Placed<Text<'a>>),
    CallStart(Placed<CallStart<'a>>),
    CallArguments(Placed<CallArguments<'a>>),
    CallEnd(Placed<CallEnd>),
    Diagnostic(Placed<&'a Diagnostic>),
}

/// An event's data and span.
#[derive(Debug, Serialize)]
pub(crate) struct Placed<T> {
    #[serde(flatten)]
    what: T,
    #[serde(flatten)]
    place: Location,
}

/// A position in the output.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Location {
    /// Bytes.
    span: [u64; 2],
    /// Output tokens; missing without ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<[u64; 2]>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Text<'a> {
    text: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct CallStart<'a> {
    index: usize,
    id: &'a str,
    name: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct CallArguments<'a> {
    index: usize,
    json: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct CallEnd {
    index: usize,
    complete: bool,
}

impl Location {
    /// The position of a range that this parser has read.
    pub(crate) fn new(span: Span, parser: &Parser) -> Self {
        let tokens = parser.token_range(span).map(|tokens| [tokens.start, tokens.end]);
        Self { tokens, ..Self::of(span) }
    }

    /// A position in bytes only.
    pub(crate) fn of(span: Span) -> Self {
        Self { span: [span.start, span.end], tokens: None }
    }
}

impl<'a> EventShape<'a> {
    pub(crate) fn new(event: &'a Event<'_>, place: Location) -> Self {
        match event {
            Event::Reasoning(text) => Self::Reasoning(Placed { what: Text { text }, place }),
            Event::Content(text) => Self::Content(Placed { what: Text { text }, place }),
            Event::CallStart { index, id, name } => {
                Self::CallStart(Placed { what: CallStart { index: *index, id, name }, place })
            }
            Event::CallArguments { index, json } => {
                Self::CallArguments(Placed { what: CallArguments { index: *index, json }, place })
            }
            Event::CallEnd { index, complete } => {
                Self::CallEnd(Placed { what: CallEnd { index: *index, complete: *complete }, place })
            }
            Event::Diagnostic(diagnostic) => Self::Diagnostic(Placed { what: diagnostic, place }),
        }
    }
}

/// The complete reply. A field without text is null, as in OpenAI's API.
#[derive(Debug, Serialize)]
pub(crate) struct MessageShape<'a> {
    reasoning: Option<&'a str>,
    content: Option<&'a str>,
    tool_calls: Vec<Placed<&'a ToolCall>>,
    finish_reason: FinishReason,
    reasoning_tokens: Option<u64>,
    reasoning_end_token: Option<i64>,
    /// The old name of `reasoning_end_token`, kept for one release.
    gate_step: Option<i64>,
    diagnostics: &'a [Diagnostic],
}

impl<'a> MessageShape<'a> {
    /// The message with the spans of its calls.
    pub(crate) fn new(message: &'a Message, finish: &Finish, place: impl Fn(usize) -> Location) -> Self {
        let text = |text: &'a str| (!text.is_empty()).then_some(text);
        Self {
            reasoning: text(&message.reasoning),
            content: text(&message.content),
            tool_calls: (message.tool_calls.iter().enumerate())
                .map(|(index, what)| Placed { what, place: place(index) })
                .collect(),
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
        serde_json::to_string(&EventShape::new(event, Location::of(Span::new(3, 5)))).unwrap()
    }

    #[test]
    fn every_event_stands_under_its_kind() {
        assert_eq!(shape(&Event::Reasoning("a\n")), r#"{"reasoning":{"text":"a\n","span":[3,5]}}"#);
        assert_eq!(shape(&Event::Content("é")), r#"{"content":{"text":"é","span":[3,5]}}"#);
        assert_eq!(
            shape(&Event::CallStart { index: 0, id: "call_1", name: "f" }),
            r#"{"call_start":{"index":0,"id":"call_1","name":"f","span":[3,5]}}"#
        );
        assert_eq!(
            shape(&Event::CallArguments { index: 0, json: "{\"a\"" }),
            r#"{"call_arguments":{"index":0,"json":"{\"a\"","span":[3,5]}}"#
        );
        assert_eq!(
            shape(&Event::CallEnd { index: 0, complete: true }),
            r#"{"call_end":{"index":0,"complete":true,"span":[3,5]}}"#
        );
        let note = Diagnostic::new(DiagnosticKind::NotJson, 7, "{a", "not JSON");
        assert_eq!(
            shape(&Event::Diagnostic(note)),
            r#"{"diagnostic":{"kind":"not_json","offset":7,"text":"{a","message":"not JSON","span":[3,5]}}"#
        );
    }

    #[test]
    fn a_message_without_text_says_null() {
        let json =
            serde_json::to_string(&MessageShape::new(&Message::default(), &Finish::default(), |_| Location::default()))
                .unwrap();
        let fields = r#""finish_reason":"stop","reasoning_tokens":null,"reasoning_end_token":null,"gate_step":null,"diagnostics":[]"#;
        assert_eq!(json, format!(r#"{{"reasoning":null,"content":null,"tool_calls":[],{fields}}}"#));
    }
}
