//! What a completions server says, read with patience.

use serde::Deserialize;
use serde_json::Value;

use crate::backend::{BackendError, BackendFault, Piece, StopReason};

/// One event, or the whole answer of a server that does not stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    index: Option<u64>,
    text: Option<String>,
    finish_reason: Option<String>,
    stop_reason: Option<Value>,
    matched_stop: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

/// The pieces that the data of one event holds.
pub(super) fn read(data: &[u8], mut take: impl FnMut(Piece)) -> Result<(), BackendError> {
    let answer: Answer = serde_json::from_slice(data).map_err(|error| {
        BackendError::new(BackendFault::BadAnswer, format!("the backend sent an event that cannot be read: {error}"))
    })?;
    if let Some(error) = answer.error.filter(|error| !error.is_null()) {
        let message = error_message(&error).unwrap_or_else(|| "no reason given".to_owned());
        return Err(BackendError::new(BackendFault::Died, format!("the backend broke off: {message}")));
    }
    for choice in answer.choices.into_iter().flatten().filter(|choice| choice.index.unwrap_or(0) == 0) {
        if let Some(text) = choice.text.filter(|text| !text.is_empty()) {
            take(Piece::Tokens { text, ids: Vec::new() });
        }
        if let Some(word) = choice.finish_reason {
            let at = choice.stop_reason.or(choice.matched_stop).filter(|at| !at.is_null());
            take(Piece::Stopped { reason: StopReason::of_word(&word), at });
        }
    }
    if let Some(Usage { prompt_tokens: Some(prompt), completion_tokens: Some(completion) }) = answer.usage {
        take(Piece::Usage { prompt, completion });
    }
    Ok(())
}

/// The words of an error body, in the forms that servers use.
pub(super) fn error_message(error: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    text(error)
        .or_else(|| error.get("message").and_then(text))
        .or_else(|| error.get("error").and_then(error_message))
        .or_else(|| error.get("detail").map(|detail| text(detail).unwrap_or_else(|| detail.to_string())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn odd_answers_are_understood() {
        let mut pieces = Vec::new();
        let data = json!({"id": 1, "choices": [{"text": "a", "finish_reason": null}, {"index": 1, "text": "other"}], "usage": null});
        read(data.to_string().as_bytes(), |piece| pieces.push(piece)).expect("it can be read");
        read(
            b"{\"choices\": [], \"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 4, \"total_tokens\": 7}}",
            |piece| {
                pieces.push(piece);
            },
        )
        .expect("it can be read");
        read(b"{\"choices\": [{\"text\": \"\", \"finish_reason\": \"stop\", \"matched_stop\": 9}]}", |piece| {
            pieces.push(piece);
        })
        .expect("it can be read");
        let expected = [
            Piece::Tokens { text: "a".into(), ids: vec![] },
            Piece::Usage { prompt: 3, completion: 4 },
            Piece::Stopped { reason: StopReason::Stop, at: Some(json!(9)) },
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn errors_are_told_in_the_backends_words() {
        let told = read(b"{\"error\": {\"message\": \"out of memory\"}}", |_| {}).expect_err("it is an error");
        assert!(told.message.contains("out of memory"));
        assert_eq!(read(b"{\"choi", |_| {}).map_err(|error| error.fault), Err(BackendFault::BadAnswer));
        for (body, words) in [
            (json!({"object": "error", "message": "too long"}), "too long"),
            (json!({"detail": [{"loc": 1}]}), "[{\"loc\":1}]"),
            (json!({"error": "Unauthorized"}), "Unauthorized"),
        ] {
            assert_eq!(error_message(&body).as_deref(), Some(words));
        }
    }
}
