//! Streams of the three APIs, read to the same end.

use serde_json::{Value, json};

use crate::common::{Choice, Events, Folded};

/// What a stream said, whatever the API.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) thought: String,
    pub(crate) text: String,
    pub(crate) arguments: String,
    /// The message of the failure.
    pub(crate) error: Option<String>,
    /// The word that the API has for how the answer ended.
    pub(crate) ending: Value,
}

/// Reads a stream, and checks that it ends as the API's streams do.
pub(crate) fn told(surface: &str, text: &str) -> Told {
    match surface {
        "responses" => told_by_responses(text),
        "messages" => told_by_messages(text),
        _ => {
            let folded = Folded::of(text);
            let error = folded.error.as_ref().map(|error| {
                assert!(error["type"].is_string() && error["code"].is_u64(), "{error}");
                text_of(&error["message"])
            });
            let Choice { reasoning, content, calls, finish, .. } = folded.one().clone();
            let arguments = calls.iter().map(|call| call.arguments.as_str()).collect();
            Told { thought: reasoning, text: content, arguments, error, ending: finish.into() }
        }
    }
}

pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn told_by_responses(text: &str) -> Told {
    let mut told = Told::default();
    let events = Events::of(text).0;
    for (number, (name, data)) in events.iter().enumerate() {
        assert_eq!((&data["type"], &data["sequence_number"]), (&json!(name), &json!(number)), "{text}");
        match name.as_str() {
            "response.reasoning_text.delta" => told.thought += &text_of(&data["delta"]),
            "response.output_text.delta" => told.text += &text_of(&data["delta"]),
            "response.function_call_arguments.delta" => told.arguments += &text_of(&data["delta"]),
            _ => {}
        }
    }
    let (name, data) = events.last().expect("a stream has events");
    assert!(["response.completed", "response.incomplete", "response.failed"].contains(&name.as_str()), "{text}");
    let response = &data["response"];
    let output = response["output"].as_array().expect("a response has items");
    let part = |kind: &str| output.iter().filter(|item| item["type"] == kind).collect::<Vec<_>>();
    let folded: String = part("message").iter().map(|item| text_of(&item["content"][0]["text"])).collect();
    assert_eq!(folded, told.text, "the last event holds what was streamed");
    told.ending = response["status"].clone();
    assert_eq!(response["error"].is_null(), name != "response.failed", "{response}");
    told.error = response["error"]["message"].as_str().map(str::to_owned);
    told
}

fn told_by_messages(text: &str) -> Told {
    let mut told = Told::default();
    let events = Events::of(text).0;
    for (name, data) in &events {
        assert_eq!(&data["type"], name.as_str(), "{text}");
        if name == "content_block_delta" {
            let delta = &data["delta"];
            told.thought += &text_of(&delta["thinking"]);
            told.text += &text_of(&delta["text"]);
            told.arguments += &text_of(&delta["partial_json"]);
        }
    }
    let named =
        |wanted: &str| events.iter().filter(|(name, _)| name == wanted).map(|(_, data)| data).collect::<Vec<_>>();
    assert_eq!(named("message_start").len(), 1, "{text}");
    match events.last().map(|(name, data)| (name.as_str(), data)) {
        Some(("error", data)) => {
            assert!(named("message_stop").is_empty() && data["error"]["type"].is_string(), "{text}");
            told.error = Some(text_of(&data["error"]["message"]));
        }
        last => {
            assert_eq!(last.map(|(name, _)| name), Some("message_stop"), "{text}");
            assert_eq!(named("content_block_start").len(), named("content_block_stop").len(), "{text}");
            told.ending = named("message_delta")[0]["delta"]["stop_reason"].clone();
        }
    }
    told
}
