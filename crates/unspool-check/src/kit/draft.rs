//! A draft of a format file.

use std::fmt::Write as _;

use serde_json::Value;
use unspool::{Half, Pair, Registry, Setup};

use super::guess::{Shape, Thought};

/// The known facts about a format.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) relative: Option<String>,
    pub(super) extends: Option<String>,
    pub(super) thought: Option<Thought>,
    /// A call ends a thought.
    pub(super) ends: bool,
    pub(super) shape: Option<Shape>,
    /// The beginning of the assistant turn in the prompt.
    pub(super) turn: Option<String>,
    /// Whether the prompt opens the thought, if known.
    pub(super) opens: Option<bool>,
    /// The switches of thinking.
    pub(super) switches: Vec<String>,
    /// Texts of the chat template that identify the format.
    pub(super) marks: Vec<String>,
    pub(super) examples: Vec<Example>,
}

/// An example.
#[derive(Debug, Clone)]
pub(super) struct Example {
    pub(super) text: String,
    pub(super) prompt: Option<String>,
    pub(super) reasoning: String,
    pub(super) content: String,
    pub(super) calls: Vec<(String, Value)>,
}

impl Draft {
    /// The pair that the file defines.
    pub(super) fn pair(&self, registry: &Registry) -> Option<Pair> {
        let mut registry = registry.clone();
        let names = registry.add(&format!("{}.toml", self.name), &self.toml()).ok()?;
        let has = |half| names.iter().any(|(own, _)| *own == half).then(|| self.name.clone());
        let setup = Setup { reasoning_parser: has(Half::Reasoning), tool_parser: has(Half::Tools), ..Setup::default() };
        registry.pair(&setup).ok()
    }

    /// The opener of a thought.
    pub(super) fn opener(&self) -> Option<String> {
        Some(self.thought.as_ref()?.template.split("{thought}").next()?.to_owned())
    }

    /// Whether a reply begins in a thought if the prompt says nothing.
    pub(super) fn begins_in_thought(&self) -> bool {
        self.opens.unwrap_or(self.thought.as_ref().is_some_and(|thought| !thought.opened))
    }

    /// A text that follows a thought, for a reply that begins in one.
    pub(super) fn behind_thought(&self, text: &str) -> String {
        match (&self.thought, self.begins_in_thought()) {
            (Some(thought), true) => {
                format!("{}{text}", thought.template.split("{thought}").nth(1).unwrap_or_default())
            }
            _ => text.to_owned(),
        }
    }

    /// The first marker of a call, which ends a thought.
    fn first_mark(&self) -> Option<String> {
        let shape = self.shape.as_ref()?;
        let begins = shape.block.as_deref().unwrap_or(&shape.call).trim_start();
        if !begins.starts_with(['<', '[']) {
            return None;
        }
        let end = begins.find(['>', ']']).map(|at| at + 1).into_iter().chain(begins.find([' ', '{', '\n'])).min()?;
        let mark = &begins[..end];
        (mark.len() > 1).then(|| mark.to_owned())
    }

    /// The file.
    pub(super) fn toml(&self) -> String {
        let mut out = String::new();
        let name = quoted(&self.name);
        let _ = writeln!(
            out,
            "# How {} writes thoughts and calls, as templates: the exact text, white space included,",
            self.name
        );
        out.push_str("# with slots for what varies. `unspool test` tries the file, `unspool formats --schema` lists all words.\n");
        if let Some(relative) = &self.relative {
            let _ = writeln!(out, "# The nearest relative: `unspool formats {relative}` shows it.");
        }
        let extended = self.extends.is_some();
        let halves = [("reasoning", self.thought.is_some() || extended), ("tools", self.shape.is_some() || extended)];
        let halves: Vec<String> =
            halves.iter().filter(|(_, has)| *has).map(|(half, _)| format!("{half} = [{name}]")).collect();
        let _ = writeln!(out, "names = {{ {} }}", halves.join(", "));
        if let Some(base) = &self.extends {
            let _ = writeln!(out, "extends = {}", quoted(base));
        }
        if let Some(shape) = &self.shape {
            let _ = writeln!(out, "note = {}", quoted(&format!("Calls are {}.", shape.syntax)));
        }
        self.write_thought(&mut out);
        self.write_tools(&mut out);
        if !self.marks.is_empty() {
            let marks: Vec<String> = self.marks.iter().map(|mark| quoted(mark)).collect();
            out.push_str("\n# `auto` detects the format by these texts of its chat template.\n[[detect]]\n");
            if self.thought.is_some() {
                let _ = writeln!(out, "reasoning = {name}");
            }
            if self.shape.is_some() {
                let _ = writeln!(out, "tools = {name}");
            }
            let _ = writeln!(out, "template = [{}]", marks.join(", "));
        }
        for example in &self.examples {
            example.write(&mut out);
        }
        out
    }

    fn write_thought(&self, out: &mut String) {
        let Some(thought) = &self.thought else { return };
        let _ = writeln!(out, "\n[reasoning]\nthought = {}", quoted(&thought.template));
        if let Some(mark) = self.first_mark().filter(|_| self.ends) {
            let _ = writeln!(out, "# A call may begin inside a thought, and ends it.\nends = [{}]", quoted(&mark));
        }
        let state = if self.begins_in_thought() { "reasoning" } else { "content" };
        let _ = writeln!(
            out,
            "\n[start]\n# Where a reply begins if the prompt says nothing: `reasoning` in a thought, `content` before one.\nstate = \"{state}\""
        );
        if let Some(turn) = &self.turn {
            let _ = writeln!(
                out,
                "# How the assistant's turn begins in the prompt; what stands behind it counts.\nturn = [{}]",
                quoted(turn)
            );
        }
        if !self.switches.is_empty() {
            let keys: Vec<String> = self.switches.iter().map(|key| quoted(key)).collect();
            let _ = writeln!(
                out,
                "\n# Names of `chat_template_kwargs` that switch thinking.\n[switches]\nkeys = [{}]",
                keys.join(", ")
            );
        }
    }

    fn write_tools(&self, out: &mut String) {
        let Some(shape) = &self.shape else { return };
        out.push_str("\n[tools]\n");
        if let Some(block) = &shape.block {
            let _ = writeln!(out, "# The wrapper of several calls.\nblock = {}", quoted(block));
        }
        let _ = writeln!(out, "# One call.\ncall = {}", quoted(&shape.call));
        if let Some(param) = &shape.param {
            let _ = writeln!(out, "# One parameter.\nparam = {}", quoted(param));
        }
        if let Some(between) = &shape.between {
            let _ = writeln!(out, "# What stands between two calls.\nbetween = {}", quoted(between));
        }
        if shape.bare {
            out.push_str("# A call begins with no mark of its own, so it counts only where nothing precedes it.\nwhere = \"start\"\n");
        }
        if !shape.string.is_empty() {
            let strings: Vec<String> = shape.string.iter().map(|text| quoted(text)).collect();
            let _ = writeln!(out, "# The delimiter of strings.\nliterals.string = [{}]", strings.join(", "));
        }
    }
}

impl Example {
    fn write(&self, out: &mut String) {
        let _ = writeln!(out, "\n[[example]]\ntext = {}", quoted(&self.text));
        for (key, text) in [
            ("prompt", self.prompt.as_deref().unwrap_or_default()),
            ("reasoning", &self.reasoning),
            ("content", &self.content),
        ] {
            if !text.is_empty() {
                let _ = writeln!(out, "{key} = {}", quoted(text));
            }
        }
        if !self.calls.is_empty() {
            let calls: Vec<String> = self
                .calls
                .iter()
                .map(|(name, arguments)| {
                    format!("{{ name = {}, arguments = {} }}", quoted(name), toml_value(arguments))
                })
                .collect();
            let _ = writeln!(out, "calls = [{}]", calls.join(", "));
        }
    }
}

/// A text as a TOML string on one line, because white space matters.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A JSON value in TOML, which lacks null.
fn toml_value(value: &Value) -> String {
    match value {
        Value::Null => quoted(""),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(toml_value).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{} = {}", quoted(key), toml_value(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_string(),
    }
}
