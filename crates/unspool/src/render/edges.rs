//! Omits white space that the parser drops next to markup.

use std::borrow::Cow;

use crate::format::file::{Into, StartState};
use crate::limits::Limits;
use crate::message::Message;
use crate::scan::blanks;

use super::words::{Thinking, Words};

/// The message without the white space that the parser drops: around a thought, and in the answer before a call and
/// after a thought. Formats of messages, frames, and thoughts that are content keep theirs.
pub(super) fn trimmed<'m>(words: &Words<'_>, message: &'m Message) -> Cow<'m, Message> {
    if words.channels().is_some()
        || words.files().any(|f| f.start.state == StartState::Header || gives_thoughts(f.reasoning.into))
    {
        return Cow::Borrowed(message);
    }
    let reasoning = trim(&message.reasoning, (true, true), words.limits);
    let thinks = !reasoning.is_empty() || words.thinking == Thinking::Open;
    let calls = !message.tool_calls.is_empty();
    let content = if words.frames.is_empty() {
        let content = trim(&message.content, (false, calls), words.limits);
        if thinks { behind(content, words.limits) } else { content }
    } else {
        &message.content
    };
    if reasoning.len() == message.reasoning.len() && content.len() == message.content.len() {
        return Cow::Borrowed(message);
    }
    let (reasoning, content) = (reasoning.to_owned(), content.to_owned());
    Cow::Owned(Message { reasoning, content, ..message.clone() })
}

fn gives_thoughts(into: Into) -> bool {
    into == Into::Content
}

/// The text without white space at these ends; a run beyond the limit is text.
fn trim<'t>(text: &'t str, (front, back): (bool, bool), limits: &Limits) -> &'t str {
    let short = |rest: &'t str, whole: &'t str| if whole.len() - rest.len() > limits.blank { whole } else { rest };
    let text = if back { short(trim_end(text), text) } else { text };
    if front { short(&text[blanks(text.as_bytes())..], text) } else { text }
}

fn trim_end(text: &str) -> &str {
    let run = text.bytes().rev().take_while(|byte| crate::scan::is_blank(*byte)).count();
    &text[..text.len() - run]
}

/// The text after a thought, without its white space up to the last line break, inclusive.
fn behind<'t>(text: &'t str, limits: &Limits) -> &'t str {
    let run = blanks(text.as_bytes());
    if run > limits.blank {
        return text;
    }
    let from = match text[..run].rfind('\n') {
        _ if run == text.len() => run,
        Some(last) => last + 1,
        None => 0,
    };
    &text[from..]
}
