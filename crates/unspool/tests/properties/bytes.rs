//! Law 2 by counting: what came in, but for the format's markers, is what came out or stands in a diagnostic.

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex};

use serde_json::Value;
use unspool::setup::Half;
use unspool::{DiagnosticKind, Message, Registry};

use crate::glue::{Glued, Names};

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// Tells the markers of two halves, and which text is the header of a message.
#[derive(Debug, Clone, Default)]
pub(crate) struct Markup {
    /// Markers that may vanish although no call comes: of thoughts, frames and messages. Longest first.
    markers: Vec<String>,
    /// With what a header, or a part of it, begins, up to the body marker.
    headers: Vec<String>,
    bodies: Vec<String>,
    ends: Vec<String>,
    /// Behind these a single word is a header, if another marker follows.
    turns: Vec<String>,
    /// Markers that leave a header open.
    drops: Vec<String>,
    /// Closers of calls and blocks.
    closers: Vec<String>,
    /// The checkpoint says what is markup.
    foreign: bool,
}

/// Slots of templates; what else stands in braces is not known here.
const SLOTS: [&str; 20] = [
    "thought", "content", "calls", "name", "id", "index", "number", "key", "type", "string", "value", "envelope",
    "json", "params", "elements", "kwargs", "literals", "role", "channel", "to",
];

/// The literal texts of templates: what stands between their slots, cut at white space and between two tags. False: a slot
/// may hold text that is markup.
fn literals(value: &Value, found: &mut Vec<String>) -> bool {
    match value {
        Value::String(template) => {
            let (mut rest, mut known) = (template.replace("><", "> <"), true);
            while let Some((open, close)) = rest.find('{').and_then(|open| Some((open, open + rest[open..].find('}')?)))
            {
                let slot = rest[open + 1..close].to_owned();
                known &= SLOTS.contains(&slot.as_str()) || slot.starts_with(['?', '"']);
                let text = format!(" {} ", slot.strip_prefix('?').unwrap_or(""));
                rest.replace_range(open..=close, &text);
            }
            found.extend(rest.split_whitespace().map(str::to_owned));
            known
        }
        Value::Array(values) => values.iter().all(|value| literals(value, found)),
        _ => true,
    }
}

impl Markup {
    pub(crate) fn of(names: &Names) -> Self {
        static MADE: LazyLock<Mutex<HashMap<String, Markup>>> = LazyLock::new(Mutex::default);
        let key = format!("{names:?}");
        if let Some(made) = MADE.lock().expect("no panic inside").get(&key) {
            return made.clone();
        }
        let mut markup = Self::default();
        let halves = [(Half::Reasoning, &names.reasoning), (Half::Tools, &names.tools)];
        for (half, name) in halves.into_iter().filter_map(|(half, name)| Some((half, name.as_deref()?))) {
            let Ok(words) = REGISTRY.words(half, name) else { continue };
            // What a checkpoint's own files say is not asked here.
            markup.foreign |= REGISTRY
                .file(half, name)
                .is_ok_and(|(_, text)| ["vars.", "when."].iter().any(|word| text.contains(word)));
            markup.add(&serde_json::to_value(&words).expect("words are JSON"));
        }
        MADE.lock().expect("no panic inside").insert(key, markup.clone());
        markup
    }

    fn add(&mut self, words: &Value) {
        let (reasoning, content) = (&words["reasoning"], &words["content"]);
        for value in
            [&reasoning["thought"], &reasoning["bare"], &content["frame"], &content["drop"], &content["header"]]
        {
            self.foreign |= !literals(value, &mut self.markers);
        }
        // A filter takes text away, or writes it anew.
        self.foreign |= content["filter"].as_array().is_some_and(|filters| !filters.is_empty());
        literals(&content["drop"], &mut self.drops);
        literals(&words["start"]["turn"], &mut self.turns);
        self.foreign |= words["checkpoint"].is_string();
        let channels = &words["channels"];
        for (key, list) in [("start", &mut self.headers), ("body", &mut self.bodies), ("end", &mut self.ends)] {
            literals(&channels[key], list);
        }
        for key in ["channel", "type", "to"] {
            literals(&channels[key], &mut self.headers);
        }
        if channels.is_object() {
            self.headers.push("assistant".to_owned());
            self.turns.clear();
            self.markers.clear();
            self.markers.extend(self.ends.iter().chain(&self.bodies).cloned());
        } else if words["start"]["state"] != "header" {
            self.turns.clear();
        }
        for key in ["call", "block"] {
            let templates = &words["tools"][key];
            let templates = templates.as_array().cloned().unwrap_or_else(|| vec![templates.clone()]);
            for template in templates.iter().filter_map(Value::as_str) {
                let behind = template.rsplit('}').next().unwrap_or("");
                literals(&Value::from(behind), &mut self.closers);
            }
        }
        self.closers.retain(|closer| closer.len() > 2 && !self.ends.contains(closer));
    }

    /// The text without markers and headers.
    fn without(&self, text: &str) -> String {
        let mut left = String::new();
        let mut rest = text;
        let mut header = !self.turns.is_empty();
        while let Some(first) = rest.chars().next() {
            let n = if header { self.word(rest) } else { 0 };
            header &= n == 0 && self.drops.iter().any(|drop| rest.starts_with(drop.as_str()));
            let n = if n > 0 { n } else { self.header(rest) };
            if n > 0 {
                rest = &rest[n..];
                continue;
            }
            if let Some(turn) = self.turns.iter().find(|turn| rest.starts_with(turn.as_str())) {
                header = true;
                rest = &rest[turn.len()..];
            } else if let Some(marker) = self.markers.iter().find(|marker| rest.starts_with(marker.as_str())) {
                rest = &rest[marker.len()..];
            } else {
                left.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        left
    }

    /// The length of a header at the start of `rest`: up to its body marker, no end of a message between.
    fn header(&self, rest: &str) -> usize {
        if !self.headers.iter().any(|header| rest.starts_with(header.as_str())) {
            return 0;
        }
        let body = self.bodies.iter().filter_map(|body| rest.find(body.as_str()).map(|at| at + body.len())).min();
        let end = self.ends.iter().filter_map(|end| rest.find(end.as_str())).min();
        // A longer one goes to a diagnostic.
        let whole =
            body.filter(|body| end.is_none_or(|end| *body <= end) && rest[..*body].split_whitespace().count() < 9);
        whole.unwrap_or(0)
    }

    /// The length of one word at the start of `rest`, if a marker follows.
    fn word(&self, rest: &str) -> usize {
        let at = self.markers.iter().filter_map(|marker| rest.find(marker.as_str())).min().unwrap_or(0);
        if rest[..at].split_whitespace().nth(1).is_none() { at } else { 0 }
    }

    /// What is missing of a text in its answer.
    pub(crate) fn lost(mut self, glued: &Glued, message: &Message) -> Option<String> {
        let out = given(message);
        // A block's opener and a closer that belong to no call vanish if they are special tokens.
        let special = &glued.source().special;
        self.markers.extend(special.keys().cloned());
        self.markers.sort_by_key(|marker| std::cmp::Reverse(marker.len()));
        self.closers.retain(|closer| !special.contains_key(closer));
        let left = self.without(&glued.text());
        if let Some(word) = glued.words().find(|word| left.contains(word) && !out.contains(word)) {
            return Some(format!("{word} is nowhere"));
        }
        if self.foreign || message.diagnostics.iter().any(|told| told.kind == DiagnosticKind::CallDropped) {
            return None;
        }
        if message.tool_calls.is_empty() {
            let (came, left) = (counted(&out), counted(&left));
            let lost = left.into_iter().find(|(c, n)| came.get(c).copied().unwrap_or(0) < *n);
            return lost.map(|(c, n)| format!("{c:?} came {n} times, and went out less often"));
        }
        let calls = message.tool_calls.len();
        let lost = self.closers.iter().find(|closer| {
            glued.text().matches(closer.as_str()).count() > out.matches(closer.as_str()).count() + calls
        });
        lost.map(|closer| format!("{closer:?} vanishes more often than calls end"))
    }
}

/// All that an answer gives, diagnostics included.
fn given(message: &Message) -> String {
    let mut all = format!("{}\n{}", message.reasoning, message.content);
    for call in &message.tool_calls {
        all.extend(["\n", &call.id, "\n", &call.name, "\n", &call.arguments]);
    }
    for diagnostic in &message.diagnostics {
        all.extend(["\n", &diagnostic.text]);
    }
    all
}

fn counted(text: &str) -> BTreeMap<char, usize> {
    let mut counts = BTreeMap::new();
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        *counts.entry(c).or_default() += 1;
    }
    counts
}
