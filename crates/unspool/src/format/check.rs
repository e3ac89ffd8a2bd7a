//! Finds keys that parse but make no sense: templates without required slots, markers that nothing uses.

use super::file::{FormatFile, List};

use super::syntax::Fault;
use super::template::{Part, Slot, Template};
use super::turns;
use crate::explanation::Explanation;

/// The slots of a kind of template.
struct Kind {
    key: &'static str,
    /// Slots that occur once.
    once: &'static [Slot],
    /// Slots that may occur.
    also: &'static [Slot],
}

const HEAD: &[Slot] = &[Slot::Name, Slot::Id, Slot::Index, Slot::Number];
const THOUGHT: Kind = Kind { key: "reasoning.thought", once: &[Slot::Thought], also: &[] };
const FRAME: Kind = Kind { key: "content.frame", once: &[Slot::Content], also: &[] };
const BLOCK: Kind = Kind { key: "tools.block", once: &[Slot::Calls], also: HEAD };
const CALL: Kind = Kind { key: "tools.call", once: &[], also: HEAD };
const PARAM: Kind = Kind { key: "tools.param", once: &[Slot::Key, Slot::Value], also: &[Slot::Type, Slot::String] };
const OPEN: Kind = Kind { key: "tools.elements.open", once: &[Slot::Key], also: &[] };
const CLOSE: Kind = Kind { key: "tools.elements.close", once: &[], also: &[Slot::Key] };

/// The first error in a file's keys; `all` are those under each of its variants.
pub(super) fn fault(file: &FormatFile, all: &[FormatFile]) -> Option<Fault> {
    let elements = [(&OPEN, &file.tools.elements.open), (&CLOSE, &file.tools.elements.close)];
    let lists = [
        (&THOUGHT, &file.reasoning.thought),
        (&FRAME, &file.content.frame),
        (&BLOCK, &file.tools.block),
        (&CALL, &file.tools.call),
        (&PARAM, &file.tools.param),
    ];
    let listed = lists.into_iter().find_map(|(kind, list)| in_list(kind, list));
    listed
        .or_else(|| elements.into_iter().find_map(|(kind, text)| in_template(kind, text, kind.key.to_owned())))
        .or_else(|| calls(file))
        .or_else(|| channels(file))
        .or_else(|| turns::fault(file, all))
        .or_else(|| if all.iter().all(|words| words.tools.call.is_empty()) { None } else { ends(file, all) })
}

fn in_list(kind: &Kind, list: &List) -> Option<Fault> {
    list.iter().enumerate().find_map(|(i, text)| in_template(kind, text, entry(kind.key, list, i)))
}

/// The key of a list entry; a single text may stand without a list.
fn entry(key: &str, list: &List, at: usize) -> String {
    if list.len() > 1 { format!("{key}.{at}") } else { key.to_owned() }
}

/// Slots of a template that are missing, repeated, or not allowed there.
fn in_template(kind: &Kind, text: &str, key: String) -> Option<Fault> {
    let slots = match Template::parse(text) {
        Ok(template) => slots(&template),
        Err(error) => return Some((key, Explanation { message: error.message, hint: error.hint })),
    };
    let count = |slot: Slot| slots.iter().filter(|s| **s == slot).count();
    let is_call = kind.key == CALL.key;
    let told = |what: String, hint: String| {
        Some((key.clone(), Explanation::new(format!("{what} in template {text:?}"), hint)))
    };
    if let Some(slot) = kind.once.iter().find(|slot| count(**slot) == 0) {
        let slot = slot.name();
        return told(
            format!("there is no `{{{slot}}}`"),
            format!("write `{{{slot}}}` where the model's own text stands"),
        );
    }
    let foreign = |slot: &&Slot| !(kind.once.contains(slot) || kind.also.contains(slot) || is_call && slot.is_body());
    if let Some(slot) = slots.iter().find(foreign) {
        let known: Vec<String> =
            kind.once.iter().chain(kind.also).map(|slot| format!("`{{{}}}`", slot.name())).collect();
        return told(
            format!("`{{{}}}` has no place", slot.name()),
            format!("slots of `{}` are {}", kind.key, known.join(", ")),
        );
    }
    if let Some(slot) = slots.iter().find(|slot| (kind.once.contains(slot) || slot.is_body()) && count(**slot) > 1) {
        return told(format!("`{{{}}}` stands twice", slot.name()), "leave one of the two out".to_owned());
    }
    let bodies: Vec<&Slot> = slots.iter().filter(|slot| slot.is_body()).collect();
    if let [first, second, ..] = bodies[..] {
        let what = format!("`{{{}}}` and `{{{}}}` both stand for the arguments", first.name(), second.name());
        return told(what, "a call has one argument syntax; further ones are templates of their own".to_owned());
    }
    None
}

fn slots(template: &Template) -> Vec<Slot> {
    let of = |part: &Part| match part {
        Part::Slot(slot) => vec![*slot],
        Part::Attrs(attrs) => attrs.iter().map(|(_, slot)| *slot).collect(),
        _ => Vec::new(),
    };
    template.parts.iter().flat_map(of).collect()
}

/// A call that does not name its function.
fn calls(file: &FormatFile) -> Option<Fault> {
    let names = |text: &String| {
        let naming = [Slot::Name, Slot::Id, Slot::Envelope];
        Template::parse(text).is_ok_and(|template| slots(&template).iter().any(|slot| naming.contains(slot)))
    };
    let tools = &file.tools;
    if !tools.block.is_empty() && tools.block.iter().all(names) {
        return None;
    }
    let at = tools.call.iter().position(|text| !names(text))?;
    let what = format!("nothing says which function is called in template {:?}", tools.call[at]);
    let hint = "write `{name}` where its name stands, `{id}` where an id holds it, or `{envelope}` for JSON around name and arguments";
    Some((entry(CALL.key, &tools.call, at), Explanation::new(what, hint)))
}

/// Messages that no text can begin, or whose calls no template reads.
fn channels(file: &FormatFile) -> Option<Fault> {
    let words = file.channels.as_ref()?;
    for (key, text, what) in [
        ("start", &words.start, "a message begins with it"),
        ("body", &words.body, "a message's body begins behind it"),
    ] {
        if text.trim().is_empty() {
            let hint = format!("write `channels.{key} = \"…\"`: {what}");
            return Some(("channels".to_owned(), Explanation::new(format!("there is no `{key}`"), hint)));
        }
    }
    let by_itself = |text: &String| Template::parse(text).is_ok_and(|t| t.body().is_some_and(|b| b != Slot::Envelope));
    let calls = &file.tools.call;
    if words.calls.is_some() && !calls.is_empty() && !calls.iter().any(by_itself) {
        let what = "a recipient names the function, but every call's arguments stand in an `{envelope}` with a name of its own";
        let hint = "add a call template with the arguments by themselves, such as `{json}`";
        return Some(("channels.calls".to_owned(), Explanation::new(what, hint)));
    }
    None
}

/// A literal in `ends` that has no meaning: it opens nothing in this file or in `others`, is not dropped, and does not
/// begin a marker.
pub(crate) fn ends(file: &FormatFile, others: &[FormatFile]) -> Option<Fault> {
    let begins = |file: &FormatFile, end: &str| {
        let tools = &file.tools;
        let openers = file.content.frame.iter().chain(tools.block.iter()).chain(tools.call.iter());
        let separators = tools.between.iter().chain(&file.content.header);
        let start = file.channels.as_ref().map(|channels| &channels.start);
        openers.chain(separators).chain(start).any(|text| unlead(text).starts_with(end))
    };
    let ends = &file.reasoning.ends;
    let unknown = |end: &String| {
        let end = end.trim();
        let dropped = file.content.drop.iter().any(|drop| drop.trim() == end);
        !dropped && !begins(file, end) && !others.iter().any(|other| begins(other, end))
    };
    let at = ends.iter().position(unknown)?;
    let what = format!("{:?} neither opens a call, a block or an answer, nor is it in `content.drop`", ends[at]);
    let hint = "write the first marker of what follows the thought, up to its first slot, or leave it out";
    Some((entry("reasoning.ends", ends, at), Explanation::new(what, hint)))
}

/// A template from its first marker on.
fn unlead(text: &str) -> String {
    let Ok(template) = Template::parse(text) else { return String::new() };
    let mut out = String::new();
    for part in &template.parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Optional(_) => {}
            _ => break,
        }
    }
    out.trim().to_owned()
}
