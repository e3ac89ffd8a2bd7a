//! Compares two templates: renders the same conversations, and shows where the prompts differ.

use serde::Serialize;
use serde_json::{Map, Value, json};
use unspool_text::Prompter;

use super::conversations::{Case, cases, long, question};
use super::strokes::strokes;
use super::turn::Stage;
use crate::marks::named;

/// Maximum number of reported differences per conversation.
const MOST: usize = 20;
/// Maximum number of characters with code points per difference.
const POINTS: usize = 8;

/// One conversation, rendered with both templates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conversation {
    /// Its description.
    pub conversation: String,
    /// Whether both prompts are the same.
    pub same: bool,
    /// The rendering errors of A and B.
    pub errors: [Option<String>; 2],
    /// The differences, at most twenty.
    pub differences: Vec<Difference>,
    /// The total number of differences.
    pub places: usize,
}

/// One place where two prompts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What A writes.
    pub a: Side,
    /// What B writes.
    pub b: Side,
}

/// One template's output at a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Its offset in the prompt, in bytes.
    pub offset: usize,
    /// The template's line.
    pub line: Option<usize>,
    /// The differing characters; may be empty.
    pub text: String,
    /// The first of them as code points.
    pub code_points: Vec<String>,
    /// The prompt around them.
    pub around: String,
}

/// Renders the conversations of a check with both templates, as a prompt for a new turn and as a history; also with
/// each value of the given template arguments.
#[must_use]
pub fn diff(a: &Prompter, b: &Prompter) -> Vec<Conversation> {
    let (usual, on, off) = (Map::new(), switched(true), switched(false));
    let mut out = Vec::new();
    let new = |name: &str, before: Vec<Value>| (name.to_owned(), before, true);
    let mut all = vec![new("a question", vec![question()])];
    all.push(new("several rounds", long().before));
    all.extend(cases().iter().map(|case: &Case| (case.name.to_owned(), case.messages(), false)));
    for (name, messages, generation_prompt) in &all {
        let stages = [Stage::new(a, &usual), Stage::new(b, &usual)];
        out.push(compared(name, &stages, (messages, *generation_prompt)));
    }
    for (name, kwargs) in [("with thinking switched on", &on), ("with thinking switched off", &off)] {
        let stages = [Stage::new(a, kwargs), Stage::new(b, kwargs)];
        out.push(compared(&format!("a question, {name}"), &stages, (&[question()], true)));
    }
    let bare = [a, b].map(|prompter| Stage { tools: Vec::new(), ..Stage::new(prompter, &usual) });
    out.push(compared("a question without tools", &bare, (&[question()], true)));
    out
}

fn switched(on: bool) -> Map<String, Value> {
    ["enable_thinking", "thinking"].iter().map(|name| ((*name).to_owned(), json!(on))).collect()
}

fn compared(name: &str, stages: &[Stage<'_>; 2], (messages, new): (&[Value], bool)) -> Conversation {
    let texts = [0, 1].map(|i| stages[i].render(messages, new));
    let errors = [0, 1].map(|i| texts[i].as_ref().err().map(|error| error.message.clone()));
    let mut out =
        Conversation { conversation: name.to_owned(), same: false, errors, differences: Vec::new(), places: 0 };
    let [Ok(a), Ok(b)] = texts else { return out };
    let found = strokes(&a, &b);
    out.same = found.is_empty();
    out.places = found.len();
    let side = |i: usize, text: &str, range: std::ops::Range<usize>| Side {
        offset: range.start,
        line: stages[i].line(messages, new, range.start),
        code_points: text[range.clone()].chars().take(POINTS).map(named).collect(),
        around: around(text, &range),
        text: text[range].to_owned(),
    };
    out.differences =
        found.into_iter().take(MOST).map(|(x, y)| Difference { a: side(0, &a, x), b: side(1, &b, y) }).collect();
    out
}

/// A part of a text with some surrounding characters.
fn around(text: &str, range: &std::ops::Range<usize>) -> String {
    let before = text[..range.start].char_indices().rev().take(20).last().map_or(range.start, |(at, _)| at);
    let after = text[range.end..].char_indices().nth(20).map_or(text.len(), |(at, _)| range.end + at);
    text[before..after].to_owned()
}
