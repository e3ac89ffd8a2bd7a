//! Checks the laws over random texts: the split changes nothing, and no text is lost.

use serde_json::json;
use unspool::format::file::{FormatFile, StartState};
use unspool::{Half, Request};
use unspool_text::Rng;

use super::reading::{Read, Reader};
use super::texts::Pieces;
use super::trial::{Effort, Line, Step, Subject};
use crate::diagnose::Outcome;

/// All pairs.
pub(super) fn line(subjects: &[Subject], effort: Effort) -> Line {
    let mut faults = Vec::new();
    let mut texts = 0;
    for subject in subjects {
        texts += effort.count;
        faults.extend(subject_faults(subject, effort));
    }
    if subjects.is_empty() {
        return Line::new(Step::Laws, Outcome::Unknown, "no pair can be tried without its checkpoint");
    }
    Line::of_faults(Step::Laws, format!("hold over {texts} texts glued from its markers"), "are broken", faults)
}

/// The request for random texts: the functions of the examples, and one more.
fn request(subject: &Subject) -> Request {
    let mut tools: Vec<serde_json::Value> = subject
        .words
        .example
        .iter()
        .filter_map(|example| example.request()["tools"].as_array().cloned())
        .flatten()
        .collect();
    tools.push(json!({"type": "function", "function": {"name": "tide", "parameters": {"type": "object", "properties":
        {"harbour": {"type": "string"}, "days": {"type": "integer"}}}}}));
    let request = Request::from_openai(&json!({"tools": tools})).unwrap_or_default();
    Request { id_seed: Some(0), ..request }
}

/// The first violated law of a pair.
fn subject_faults(subject: &Subject, effort: Effort) -> Option<String> {
    let request = request(subject);
    let reader = Reader { pair: &subject.pair, request: &request, prompt: None };
    let halves = [Half::Reasoning, Half::Tools].map(|half| subject.pair.words(half));
    let words: Vec<&FormatFile> = halves.iter().flatten().collect();
    let pieces = Pieces::new(&words);
    // The text of a header is dropped, wherever it comes from.
    let keeps_all = words.iter().all(|words| words.channels.is_none() && words.start.state != StartState::Header);
    let mut rng = Rng::new(effort.seed);
    for _ in 0..effort.count {
        let (text, words) = pieces.glued(&mut rng);
        let told = |what: &str| Some(format!("{}: {what}\n  text: {text:?}", subject.name()));
        let Ok(whole) = reader.whole(&text) else { return told("the request is refused") };
        match reader.changed(&text, &whole) {
            Err(error) => return told(&error.message),
            Ok(Some((how, _))) => return told(&format!("{how} it is read otherwise")),
            Ok(None) => {}
        }
        if keeps_all && let Some(word) = words.iter().find(|word| !holds(&whole, word)) {
            return told(&format!("the word `{word}` is lost"));
        }
    }
    None
}

/// Whether the result contains a word.
fn holds(read: &Read, word: &str) -> bool {
    let calls = || read.calls.iter().flat_map(|call| [&call.name, &call.arguments, &call.id]);
    let notes = || read.notes.iter().map(|(_, _, text)| text);
    [&read.reasoning, &read.content].into_iter().chain(calls()).chain(notes()).any(|text| text.contains(word))
}
