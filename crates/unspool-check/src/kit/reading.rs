//! Parses texts in every split.

use serde_json::Value;
use unspool::Error;
use unspool::format::file::Example;
use unspool::{Delta, FinishReason, Message, Pair, Prompt, Request, Snapshot, ToolCall};

/// Maximum length of a text for which every split into two is tried.
const SHORT: usize = 2000;

/// The data that must not depend on the split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) reasoning: String,
    pub(super) content: String,
    pub(super) calls: Vec<ToolCall>,
    /// Kinds, offsets and texts of the diagnostics.
    pub(super) notes: Vec<(String, u64, String)>,
}

/// A pair, a request and a prompt for parsing texts.
pub(super) struct Reader<'a> {
    pub(super) pair: &'a Pair,
    pub(super) request: &'a Request,
    pub(super) prompt: Option<&'a str>,
}

impl Reader<'_> {
    /// Parses the text in pieces; `saved`: after each, the state goes through JSON into a new parser.
    pub(super) fn pieces<'t>(&self, pieces: impl IntoIterator<Item = &'t str>, saved: bool) -> Result<Read, Error> {
        let make = || self.pair.parser(self.request, self.prompt.map_or(Prompt::Unknown, Prompt::Text));
        let mut parser = make()?;
        let mut message = Message::default();
        for piece in pieces {
            parser.push(Delta::text(piece), &mut message);
            if saved {
                let text = serde_json::to_string(&parser.snapshot()).unwrap_or_default();
                let snapshot: Option<Snapshot> = serde_json::from_str(&text).ok();
                parser = make()?;
                // If the restore fails, the result differs.
                let _ = snapshot.map(|snapshot| parser.restore(snapshot));
            }
        }
        parser.finish(Some(FinishReason::Stop), &mut message);
        let notes = message.diagnostics.iter().map(|one| (format!("{:?}", one.kind), one.offset, one.text.clone()));
        Ok(Read {
            notes: notes.collect(),
            reasoning: message.reasoning,
            content: message.content,
            calls: message.tool_calls,
        })
    }

    /// Parses the text whole.
    pub(super) fn whole(&self, text: &str) -> Result<Read, Error> {
        self.pieces([text], false)
    }

    /// As [`Reader::changed`], and every split into two.
    pub(super) fn changed_anywhere(&self, text: &str, whole: &Read) -> Result<Option<(String, Read)>, Error> {
        if let Some(changed) = self.changed(text, whole)? {
            return Ok(Some(changed));
        }
        for (at, _) in text.char_indices().skip(1).filter(|_| text.len() < SHORT) {
            let read = self.pieces([&text[..at], &text[at..]], false)?;
            if read != *whole {
                return Ok(Some((format!("cut at byte {at}"), read)));
            }
        }
        Ok(None)
    }

    /// The first split that changes the result, with the changed result.
    pub(super) fn changed(&self, text: &str, whole: &Read) -> Result<Option<(String, Read)>, Error> {
        for size in [1, 2, 5] {
            let read = self.pieces(chunks(text, size), false)?;
            if read != *whole {
                return Ok(Some((format!("in pieces of {size} characters"), read)));
            }
        }
        let saved = self.pieces(chunks(text, if text.len() < SHORT { 1 } else { 64 }), true)?;
        if saved != *whole {
            return Ok(Some(("saved and restored behind each piece".to_owned(), saved)));
        }
        Ok(None)
    }
}

/// A text in pieces of `size` characters.
pub(super) fn chunks(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        Some(piece)
    })
}

/// The differences between an example's expected and actual result.
pub(super) fn faults(example: &Example, read: &Read) -> Vec<String> {
    let mut out = Vec::new();
    let mut compare = |what: &str, right: String, own: String| {
        if right != own {
            out.push(format!("{what} is {own}, not {right}"));
        }
    };
    let quoted = |text: &str| Value::from(text).to_string();
    compare("reasoning", quoted(example.reasoning.as_deref().unwrap_or_default()), quoted(&read.reasoning));
    compare("content", quoted(example.content.as_deref().unwrap_or_default()), quoted(&read.content));
    compare("the number of calls", example.calls.len().to_string(), read.calls.len().to_string());
    for (right, own) in example.calls.iter().zip(&read.calls) {
        let arguments = serde_json::from_str(&own.arguments).unwrap_or_else(|_| Value::from(own.arguments.as_str()));
        let whole = if own.complete { "" } else { ", incomplete" };
        if right.name != own.name || right.arguments != arguments || !own.complete {
            let right = format!("{}({})", right.name, right.arguments);
            compare("a call", right, format!("{}({arguments}){whole}", own.name));
        }
    }
    out
}
