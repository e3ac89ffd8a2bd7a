//! Calls: blocks, headers, ids.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::call_header::ends_name;
use crate::format::file::{Channels, Container, Group, RouteAs, Shape};
use crate::format::marker::literal_text;
use crate::format::syntax::Format;
use crate::format::template::{Part, Slot, Template};
use crate::json::write::string;
use crate::limits::Limits;
use crate::message::{Message, ToolCall};
use crate::request::Request;

use super::RenderError;
use super::body::{Cx, Syntax};
use super::value;
use super::words::Words;
use super::writer::{Fill, Writer, fill_parts};

/// Writes the calls of a message.
pub(super) fn write(
    writer: &mut Writer<'_>,
    words: &Words<'_>,
    message: &Message,
    request: &Request,
) -> Result<(), RenderError> {
    if message.tool_calls.is_empty() {
        return Ok(());
    }
    let none = |why: &str| Err(RenderError::at("tool_calls", why));
    let Some(file) = words.tools else { return none("have no place: the pair has no tools half") };
    let Some(call) = words.calls.first() else { return none("have no place: the format shows no call") };
    if !request.wants_calls() {
        return none("have no place: the request has no tools or forbids calls");
    }
    if request.parallel_tool_calls == Some(false) && message.tool_calls.len() > 1 {
        return none("are filtered after the first: `parallel_tool_calls` is false in this request");
    }
    let calls =
        Calls { words, file, request, template: call, calls: &message.tool_calls, syntax: Syntax::new(words, file) };
    calls.check()?;
    calls.write(writer)
}

struct Calls<'a> {
    words: &'a Words<'a>,
    file: &'a Format,
    request: &'a Request,
    template: &'a Template,
    calls: &'a [ToolCall],
    syntax: Syntax<'a>,
}

/// The output of one filling of the call template.
#[derive(Clone, Copy)]
struct Run<'a> {
    calls: &'a [ToolCall],
    /// Position of the first one in the message.
    first: usize,
}

impl<'a> Calls<'a> {
    fn check(&self) -> Result<(), RenderError> {
        let limits = self.words.limits;
        if self.calls.len() > limits.calls {
            return Err(RenderError::at("tool_calls", "are more than the limit `calls` allows"));
        }
        for (i, call) in self.calls.iter().enumerate() {
            let place = format!("tool_calls[{i}]");
            check_name(&call.name, self.file.tools.loose, limits).map_err(|e| e.inside(&format!("{place}.name")))?;
            if self.words.channels().is_some_and(|c| is_addressee(&call.name, c)) {
                return Err(RenderError::at(&format!("{place}.name"), "is who the format sends other messages to"));
            }
            if !call.complete {
                return Err(RenderError::at(&place, "is not complete, and no syntax says that"));
            }
            let place = format!("{place}.arguments");
            value::check(&call.arguments, limits.depth).map_err(|e| e.inside(&place))?;
            if call.arguments.len() > limits.arguments {
                return Err(RenderError::at(&place, "are longer than the limit `arguments` allows"));
            }
            if self.opening(call) > limits.header {
                return Err(RenderError::at(
                    &place,
                    "have no place: the call's opening is longer than the limit `header`",
                ));
            }
        }
        Ok(())
    }

    /// Length of the text before a call's arguments, with maximum length of id and index.
    fn opening(&self, call: &ToolCall) -> usize {
        let block = self.words.blocks.first().map_or(&[][..], |block| block.before(|s| s == Slot::Calls));
        let parts = block.iter().chain(self.template.before(Slot::is_body));
        let name = call.name.len();
        let id = name.max(call.id.len()) + self.file.ids.call.as_deref().map_or(0, str::len);
        let slot = |slot: &Slot| match slot {
            Slot::Name => name,
            Slot::Id => id,
            _ => 0,
        };
        parts
            .map(|part| match part {
                Part::Text(text) | Part::Optional(text) | Part::Free(text) => text.len(),
                Part::Slot(of) => slot(of),
                Part::Attrs(attrs) => attrs.iter().map(|(text, of)| text.len() + "=\"\"".len() + slot(of)).sum(),
            })
            .sum()
    }

    /// Whether calls form one JSON list.
    fn in_list(&self) -> bool {
        let has_separator = self.file.tools.between.iter().any(|s| !s.is_empty());
        let container = self.file.tools.envelope.container;
        self.template.body() == Some(Slot::Envelope)
            && (container == Container::Array || container == Container::Either && !has_separator)
    }

    /// The runs of calls that share one filling of the call template: single calls, or all in one list.
    fn runs(&self) -> Vec<Run<'a>> {
        let size = if self.in_list() { self.calls.len() } else { 1 };
        self.calls.chunks(size).enumerate().map(|(i, calls)| Run { calls, first: i * size }).collect()
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), RenderError> {
        let runs = self.runs();
        let Some(block) = self.words.blocks.first() else {
            for (i, run) in runs.iter().enumerate() {
                if i > 0 {
                    writer.out.push_str(self.between());
                }
                let parts = self.message(self.template, *run);
                writer.piece(&parts, &mut HeaderWriter { calls: self, run: *run })?;
            }
            return Ok(());
        };
        let size = if self.file.tools.group == Group::Each { 1 } else { runs.len() };
        for runs in runs.chunks(size) {
            let Some(first) = runs.first() else { continue };
            writer.piece(&self.message(block, *first), &mut Block { calls: self, runs })?;
        }
        Ok(())
    }

    /// A template with the surrounding message, if replies are messages and the template shows none: the message of an
    /// answer, addressed to the function.
    fn message(&self, template: &'a Template, run: Run<'_>) -> Cow<'a, [Part]> {
        let parts = Cow::Borrowed(&template.parts[..]);
        let Some(channels) = self.words.channels() else { return parts };
        let (Some(frame), Some(call)) = (self.words.frames.first(), run.calls.first()) else { return parts };
        addressed(channels, frame, template, &call.name).map_or(parts, Cow::Owned)
    }

    fn between(&self) -> &str {
        self.file.tools.between.first().map_or("", String::as_str)
    }

    /// The id in the shape of native ids; the call's own if it has that shape.
    fn id(&self, call: &ToolCall, position: usize) -> Result<String, RenderError> {
        let Some(shape) = &self.file.syntax.call_id else {
            let plain = !call.id.is_empty() && !call.id.bytes().any(ends_name) && call.id.trim() == call.id;
            let refused =
                || RenderError::at("id", "cannot be written: it is empty, or has a bracket, quote or line break");
            return plain.then(|| call.id.clone()).ok_or_else(refused);
        };
        let name = native_name(shape, &call.name)?;
        if id_fits(shape, call) {
            return Ok(call.id.clone());
        }
        let index = self.request.calls_before + position;
        let mut id = String::new();
        fill_parts(&shape.parts, true, &mut id, &mut |slot: Slot, out: &mut String| {
            match slot {
                Slot::Name => out.push_str(name),
                Slot::Index => out.push_str(&index.to_string()),
                _ => {}
            }
            Ok(())
        })?;
        Ok(id)
    }

    fn envelope(&self, run: Run<'_>, out: &mut String) {
        let in_list = self.in_list();
        if in_list {
            out.push('[');
        }
        for (i, call) in run.calls.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            self.envelope_object(call, run.first + i, out);
        }
        if in_list {
            out.push(']');
        }
    }

    fn envelope_object(&self, call: &ToolCall, position: usize, out: &mut String) {
        let words = &self.file.tools.envelope;
        let arguments = call.arguments.trim();
        out.push('{');
        if words.shape == Shape::Key {
            string(out, &call.name);
            out.push_str(": ");
        } else {
            if let Some(key) = words.id.first() {
                let id = if call.id.is_empty() { position.to_string() } else { call.id.clone() };
                member(out, key, &id);
                out.push_str(", ");
            }
            member(out, words.name.first().map_or("name", String::as_str), &call.name);
            out.push_str(", ");
            string(out, words.arguments.first().map_or("arguments", String::as_str));
            out.push_str(": ");
        }
        out.push_str(arguments);
        out.push('}');
    }
}

fn member(out: &mut String, key: &str, value: &str) {
    string(out, key);
    out.push_str(": ");
    string(out, value);
}

/// Fills a block.
struct Block<'a> {
    calls: &'a Calls<'a>,
    runs: &'a [Run<'a>],
}

impl Fill for Block<'_> {
    fn slot(&mut self, slot: Slot, out: &mut String) -> Result<(), RenderError> {
        let Some(first) = self.runs.first() else { return Ok(()) };
        if slot != Slot::Calls {
            return HeaderWriter { calls: self.calls, run: *first }.slot(slot, out);
        }
        for (i, run) in self.runs.iter().enumerate() {
            if i > 0 {
                out.push_str(self.calls.between());
            }
            let mut header = HeaderWriter { calls: self.calls, run: *run };
            fill_parts(&self.calls.template.parts, !out.is_empty(), out, &mut header)?;
        }
        Ok(())
    }
}

/// Fills one call template.
struct HeaderWriter<'a> {
    calls: &'a Calls<'a>,
    run: Run<'a>,
}

impl Fill for HeaderWriter<'_> {
    fn slot(&mut self, slot: Slot, out: &mut String) -> Result<(), RenderError> {
        let Some(call) = self.run.calls.first() else { return Ok(()) };
        let position = self.run.first;
        let inside = |e: RenderError| e.inside(&format!("tool_calls[{position}]"));
        match slot {
            Slot::Name => out.push_str(&call.name),
            Slot::Id => out.push_str(&self.calls.id(call, position).map_err(inside)?),
            Slot::Index => out.push_str(&(self.calls.request.calls_before + position).to_string()),
            Slot::Number => out.push_str(&(position + 1).to_string()),
            Slot::Envelope => self.calls.envelope(self.run, out),
            Slot::Json => out.push_str(call.arguments.trim()),
            _ => {
                let arguments: Vec<(String, &RawValue)> = value::arguments(&call.arguments)?;
                let cx = Cx { syntax: &self.calls.syntax, schema: self.calls.request.tools.get(&call.name) };
                cx.write(slot, &arguments, out).map_err(|e| inside(e.inside("arguments")))?;
            }
        }
        Ok(())
    }

    fn attribute(&mut self, slot: Slot, out: &mut String) -> Result<(), RenderError> {
        let mut text = String::new();
        self.slot(slot, &mut text)?;
        self.calls.syntax.attribute(&text, out);
        Ok(())
    }
}

/// Checks that a name is valid in every kind of header.
pub(crate) fn check_name(name: &str, loose: bool, limits: &Limits) -> Result<(), RenderError> {
    let refuse = |why: &str| Err(RenderError::at("", why));
    if name.is_empty() {
        return refuse("is empty");
    }
    if name.len() > limits.name {
        return refuse("is longer than a name may be");
    }
    if name.bytes().any(ends_name) || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return refuse("has a bracket, a quote or white space, which no head allows");
    }
    if name.ends_with('/') || loose && name.contains(['=', '/']) {
        return refuse("has a character that belongs to the tags of the format");
    }
    Ok(())
}

/// A template with the message of an answer around it, addressed to a function; `None` if it shows a message itself.
pub(crate) fn addressed(channels: &Channels, frame: &Template, template: &Template, name: &str) -> Option<Vec<Part>> {
    if template.first_literal().is_some_and(|l| l.starts_with(&channels.start)) {
        return None;
    }
    let answer = literal_text(frame.before(|s| s == Slot::Content));
    let users = channels.route.iter().filter(|r| r.r#as == RouteAs::Content).flat_map(|r| r.to.iter().flatten());
    let marker = channels.to.as_deref()?;
    let to = |name: &str| format!("{marker}{name}");
    let user = users.map(|user| to(user)).find(|user| user != marker && answer.contains(user))?;
    let mut message = vec![Part::Text(answer.replacen(&user, &to(name), 1))];
    message.extend(template.parts.iter().cloned());
    message.extend(channels.end.first().cloned().map(Part::Text));
    Some(message)
}

/// Whether messages to this name are not calls.
fn is_addressee(name: &str, channels: &Channels) -> bool {
    let routed = channels.route.iter().flat_map(|r| r.to.iter().flatten()).any(|to| to == name);
    routed || channels.calls.is_none() && channels.builtin.iter().any(|b| b == name)
}

/// Whether a call's id has the shape of native ids for its name and some index.
fn id_fits(shape: &Template, call: &ToolCall) -> bool {
    let mut rest = call.id.as_str();
    for part in &shape.parts {
        let next = match part {
            Part::Text(text) => rest.strip_prefix(text.as_str()),
            Part::Slot(Slot::Name) => rest.strip_prefix(call.name.as_str()),
            Part::Slot(Slot::Index) => {
                let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                (behind.len() < rest.len()).then_some(behind)
            }
            _ => None,
        };
        let Some(next) = next else { return false };
        rest = next;
    }
    rest.is_empty()
}

/// The name for a native id, which text of the template ends.
fn native_name<'n>(shape: &Template, name: &'n str) -> Result<&'n str, RenderError> {
    let refuse =
        |text: &str| Err(RenderError::at("name", format!("has {text:?}, which belongs to native ids of the format")));
    let is_name = |s: Slot| s == Slot::Name;
    match (shape.before(is_name).last(), shape.after(|s| s == Slot::Name).first()) {
        (Some(Part::Text(prefix)), _) if name.starts_with(prefix.as_str()) => refuse(prefix),
        (_, Some(Part::Text(closer))) if name.contains(closer.as_str()) => refuse(closer),
        _ => Ok(name),
    }
}
