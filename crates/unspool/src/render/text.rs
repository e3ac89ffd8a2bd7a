//! Reasoning and content.

use crate::format::file::{Filter, Opener};
use crate::format::template::{Part, Slot};
use crate::message::Message;
use crate::request::{Request, ToolChoice};

use super::RenderError;
use super::markup::{Literals, json_may_call};
use super::words::{Thinking, Words};
use super::writer::Writer;
use crate::format::marker::literal_text;

const THOUGHT: &str = "reasoning";
const ANSWER: &str = "content";

/// Writes the thought; if a reply begins in a thought, also an empty one. Returns the end of its text.
pub(super) fn write_thought(
    writer: &mut Writer<'_>,
    words: &Words<'_>,
    message: &Message,
) -> Result<usize, RenderError> {
    let text = message.reasoning.as_str();
    let is_empty = text.is_empty() && message.content.is_empty() && message.tool_calls.is_empty();
    let must_close = words.thinking == Thinking::Open && !words.thinks_in_content();
    if is_empty || text.is_empty() && !must_close {
        return Ok(0);
    }
    let (Some(template), Some(file)) = (words.thoughts.first(), words.reasoning) else {
        return Err(RenderError::at(THOUGHT, "has no place: the format shows no thought"));
    };
    let at = template.before(|s| s == Slot::Thought).len();
    let parts = match file.reasoning.opener {
        Opener::Output => &template.parts[..],
        Opener::Prompt => &template.parts[at..],
    };
    writer.text(parts, text)
}

/// Checks that the thought parses back. `follows`: the text after it.
pub(super) fn check_thought(
    words: &Words<'_>,
    message: &Message,
    request: &Request,
    follows: &str,
) -> Result<(), RenderError> {
    let text = message.reasoning.as_str();
    if text.is_empty() {
        return Ok(());
    }
    let refuse = |why: &str| Err(RenderError::at(THOUGHT, why));
    let Some(file) = words.reasoning else { return refuse("has no place: the pair has no reasoning half") };
    if words.thinking == Thinking::Unknown {
        return refuse("has no place: thinking is off in this request");
    }
    if words.thinks_in_content() {
        return refuse("has no place: the format gives thoughts as content");
    }
    if request.include_reasoning == Some(false) {
        return refuse("is filtered: `include_reasoning` is false in this request");
    }
    let moved = file.cutoff.unanswered.as_ref().and_then(|key| request.chat_template_kwargs.get(key));
    if moved.is_some_and(|v| v == true) && message.content.trim().is_empty() {
        return refuse("becomes content: the request asks for that where no answer follows");
    }
    if file.reasoning.opener == Opener::Prompt && text.starts_with(char::is_whitespace) {
        return refuse("begins with white space, which the format reads as framing");
    }
    check_text(THOUGHT, text, follows, &words.in_thought())?;
    check_filters(THOUGHT, text, words)
}

/// Writes the answer, in its frame if the format has frames. Returns the end of its text.
pub(super) fn write_answer(
    writer: &mut Writer<'_>,
    words: &Words<'_>,
    message: &Message,
) -> Result<usize, RenderError> {
    let mut text = message.content.as_str();
    if words.thinks_in_content() && words.thinking == Thinking::Open {
        text = behind_opener(words, message)?;
    }
    if text.is_empty() {
        return Ok(0);
    }
    // A thought that is content precedes any frame.
    match words.frames.first().filter(|_| !words.thinks_in_content()) {
        Some(frame) => writer.text(&frame.parts, text),
        None => writer.text(&[Part::Slot(Slot::Content)], text),
    }
}

/// If thoughts are content, the parser prepends the opener that the prompt wrote; the reply itself does not have it.
fn behind_opener<'m>(words: &Words<'_>, message: &'m Message) -> Result<&'m str, RenderError> {
    let opener = words.thoughts.first().map(|t| literal_text(t.before(|s| s == Slot::Thought))).unwrap_or_default();
    match message.content.strip_prefix(opener.as_str()) {
        Some(rest) if !rest.starts_with(char::is_whitespace) => Ok(rest),
        _ if message.content.is_empty() && message.tool_calls.is_empty() => Ok(""),
        _ => {
            let why = format!("must begin with {opener:?} and a thought: the format gives thoughts as content");
            Err(RenderError::at(ANSWER, why))
        }
    }
}

/// Checks that the answer parses back. `follows`: the text after it.
pub(super) fn check_answer(
    words: &Words<'_>,
    message: &Message,
    request: &Request,
    follows: &str,
) -> Result<(), RenderError> {
    let text = message.content.as_str();
    if text.is_empty() {
        return Ok(());
    }
    let refuse = |why: &str| Err(RenderError::at(ANSWER, why));
    if words.channels().is_some() && words.frames.is_empty() {
        return refuse("has no place: the format shows no message to the user (`content.frame`)");
    }
    check_text(ANSWER, text, follows, &words.in_content())?;
    check_filters(ANSWER, text, words)?;
    if words.plain_headers().iter().any(|o| o.begins_in(text, follows, words.limits)) {
        return refuse("has text that the format reads as the beginning of a call");
    }
    let calls_follow = !message.tool_calls.is_empty();
    if calls_follow && leaves_a_thought_open(words, text, follows) {
        return refuse("leaves a thought open, in which the format reads no call");
    }
    if calls_follow && words.calls_at_start_only() {
        return refuse("has no place before calls: in this format they count only where nothing precedes");
    }
    if words.bare_json().is_some_and(|keys| json_may_call(text, keys, calls_follow)) {
        return refuse("has JSON that the format may read as a call");
    }
    let guided = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_));
    if guided && text.trim_start().starts_with(['{', '[']) {
        return refuse("begins with a bracket, which is read as calls where the request demands some");
    }
    Ok(())
}

/// Whether text with thoughts ends inside one that `follows` does not end.
fn leaves_a_thought_open(words: &Words<'_>, text: &str, follows: &str) -> bool {
    let Some(file) = words.reasoning.filter(|_| words.thinks_in_content()) else { return false };
    let ended = file.reasoning.ends.iter().any(|end| follows.trim_start().starts_with(end.trim()));
    !ended
        && words
            .thoughts
            .iter()
            .map(|thought| thought.around(Slot::Thought))
            .any(|[open, close]| !open.is_empty() && text.rfind(&open) > text.rfind(&close))
}

/// Checks that a text has no markup and is more than white space.
fn check_text(place: &str, text: &str, follows: &str, markup: &Literals) -> Result<(), RenderError> {
    if text.trim().is_empty() {
        return Err(RenderError::at(place, "is white space only, which is dropped"));
    }
    match markup.within(text, follows) {
        Some(literal) => Err(RenderError::at(place, format!("has {literal:?}, which the format reads as markup"))),
        None => Ok(()),
    }
}

/// Checks that no filter of the format changes a text.
fn check_filters(place: &str, text: &str, words: &Words<'_>) -> Result<(), RenderError> {
    for filter in words.contents().flat_map(|c| &c.filter) {
        let marks: &[&str] = match filter {
            Filter::BackslashNewline => &["\\n"],
            Filter::Citations => &["<co", "</co"],
        };
        if let Some(mark) = marks.iter().find(|m| text.contains(**m)) {
            return Err(RenderError::at(place, format!("has {mark:?}, which a filter of the format changes")));
        }
    }
    Ok(())
}
