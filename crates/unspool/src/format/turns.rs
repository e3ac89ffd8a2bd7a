//! `[turns]`: the turns of a conversation, as templates.
//!
//! The parser ignores this table; chat templates are generated from it. It is in the format file because a chat
//! template and a parser describe the same syntax.

use serde::{Deserialize, Serialize};

use super::file::FormatFile;
use super::syntax::Fault;
use crate::explanation::Explanation;
use crate::suggest::{did_you_mean, near};

/// `[turns]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turns {
    /// The beginning of text.
    pub begin: String,
    /// The system turn.
    pub system: String,
    /// A user turn.
    pub user: String,
    /// An assistant turn.
    pub assistant: String,
    /// An assistant turn after a tool's result, if it differs.
    pub resumed: Option<String>,
    /// An assistant turn that ends in calls, if it differs.
    pub called: Option<String>,
    /// A tool's result.
    pub result: String,
    /// The wrapper of consecutive results.
    pub results: String,
    /// The description of the tools.
    pub tools: String,
    /// A separate turn for the tools.
    pub declare: String,
    /// Whether the tools' own turn precedes the system turn.
    pub declare_first: bool,
    /// One tool.
    pub tool: String,
    /// The separator of results.
    pub result_between: String,
    /// The separator of tools.
    pub tool_between: String,
    /// One parameter of a tool.
    pub param: String,
    /// The separator of parameters.
    pub param_between: String,
    /// The user turn with the system message and the tools, if they have no turns of their own.
    pub at: At,
    /// Thoughts.
    pub thinking: ThinkingTurns,
}

/// `turns.at`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// The first user turn.
    #[default]
    First,
    /// The last one.
    Last,
}

/// `[turns.thinking]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ThinkingTurns {
    /// The text at the start of a new turn if thinking is on.
    pub on: String,
    /// The same if it is off.
    pub off: String,
    /// The text of a turn without a thought in the history.
    pub none: String,
    /// The text of the system turn if thinking is on.
    pub told_on: String,
    /// The same if it is off.
    pub told_off: String,
    /// Whether `on`, `off` and `none` also apply to a turn that begins with `resumed`.
    pub resumed: bool,
    /// Which thoughts the history keeps.
    pub keep: Keep,
}

/// `turns.thinking.keep`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Those after the last user message.
    #[default]
    Recent,
    /// All.
    All,
}

/// A part of a template of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnPart<'t> {
    /// Text as it is.
    Text(&'t str),
    /// A slot: its name.
    Slot(&'t str),
}

/// Splits a template of turns into parts. Only a name in braces is a slot; any other brace is text.
#[must_use]
pub fn turn_parts(template: &str) -> Vec<TurnPart<'_>> {
    let (mut out, mut rest, mut from) = (Vec::new(), template, 0);
    while let Some(open) = rest[from..].find('{').map(|at| from + at) {
        let name = rest[open + 1..].split('}').next().unwrap_or_default();
        let closes = rest[open + 1 + name.len()..].starts_with('}');
        if !closes || name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase()) {
            from = open + 1;
            continue;
        }
        if open > 0 {
            out.push(TurnPart::Text(&rest[..open]));
        }
        out.push(TurnPart::Slot(name));
        (rest, from) = (&rest[open + name.len() + 2..], 0);
    }
    if !rest.is_empty() {
        out.push(TurnPart::Text(rest));
    }
    out
}

/// A key, its required slots (at least one), and its optional slots.
type Kind = (&'static str, &'static [&'static str], &'static [&'static str]);

const KINDS: [Kind; 12] = [
    ("begin", &[], &["bos"]),
    ("system", &["text"], &["tools", "thinking", "instructions"]),
    ("user", &["text"], &["system", "tools", "round"]),
    ("assistant", &["reply"], &[]),
    ("resumed", &["reply"], &[]),
    ("called", &["reply"], &[]),
    ("result", &["text", "quoted"], &["name", "id", "number"]),
    ("results", &["results"], &[]),
    ("tools", &["tools", "list", "functions"], &["instructions"]),
    ("declare", &["tools"], &[]),
    (
        "tool",
        &["tool", "function", "name", "signature", "declaration"],
        &["description", "parameters", "params", "required"],
    ),
    ("param", &["key"], &["type", "python", "description"]),
];

impl Turns {
    /// Whether the file describes turns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.assistant.is_empty()
    }

    fn template(&self, key: &str) -> &str {
        match key {
            "begin" => &self.begin,
            "system" => &self.system,
            "user" => &self.user,
            "assistant" => &self.assistant,
            "resumed" => self.resumed.as_deref().unwrap_or_default(),
            "called" => self.called.as_deref().unwrap_or_default(),
            "result" => &self.result,
            "results" => &self.results,
            "tools" => &self.tools,
            "declare" => &self.declare,
            "tool" => &self.tool,
            _ => &self.param,
        }
    }
}

/// The first error in a file's turns; `all` are its keys under each of its variants, because several may be active at
/// once.
pub(super) fn fault(file: &FormatFile, all: &[FormatFile]) -> Option<Fault> {
    let turns = &file.turns;
    let said = |key: &str| all.iter().any(|words| !words.turns.template(key).is_empty());
    if *turns == Turns::default() {
        return None;
    }
    let missing = ["user", "assistant", "result"].into_iter().find(|key| turns.template(key).is_empty() && !said(key));
    if let Some(key) = missing {
        let hint = format!("write `turns.{key} = \"…\"`: `[turns]` needs user, assistant and result");
        return Some((format!("turns.{key}"), Explanation::new("is missing", hint)));
    }
    KINDS.iter().find_map(|kind| of_kind(turns, kind)).or_else(|| placeless(turns, said, all))
}

/// An unknown or a missing slot.
fn of_kind(turns: &Turns, (key, one_of, also): &Kind) -> Option<Fault> {
    let template = turns.template(key);
    let slots: Vec<&str> = turn_parts(template)
        .into_iter()
        .filter_map(|part| match part {
            TurnPart::Slot(name) => Some(name),
            TurnPart::Text(_) => None,
        })
        .collect();
    let known: Vec<&str> = one_of.iter().chain(*also).copied().collect();
    let list = known.iter().map(|name| format!("`{{{name}}}`")).collect::<Vec<_>>().join(", ");
    if let Some(slot) = slots.iter().find(|slot| !known.contains(slot)) {
        let question = did_you_mean(&near(slot, known.iter().copied())).map(|question| format!("{question} "));
        let hint = format!("{}the slots of `turns.{key}` are {list}", question.unwrap_or_default());
        return Some((format!("turns.{key}"), Explanation::new(format!("unknown slot `{{{slot}}}`"), hint)));
    }
    let lacks = !template.is_empty() && !one_of.is_empty() && !slots.iter().any(|slot| one_of.contains(slot));
    let what = || format!("there is no `{{{}}}` in template {template:?}", one_of[0]);
    lacks.then(|| (format!("turns.{key}"), Explanation::new(what(), format!("the slots of `turns.{key}` are {list}"))))
}

/// Tools or a system message that no turn shows.
fn placeless(turns: &Turns, said: impl Fn(&str) -> bool, all: &[FormatFile]) -> Option<Fault> {
    let shows = |template: &str, slot: &str| turn_parts(template).contains(&TurnPart::Slot(slot));
    let has_place =
        |turns: &Turns| [&turns.system, &turns.user, &turns.declare].iter().any(|place| shows(place, "tools"));
    let fault = |key: &str, what: &str, hint: &str| Some((key.to_owned(), Explanation::new(what, hint)));
    if !turns.tools.is_empty() && !has_place(turns) && !all.iter().any(|words| has_place(&words.turns)) {
        let hint = "write `{tools}` where they stand: in `turns.system`, in `turns.user`, or in a turn of their own, `turns.declare`";
        return fault("turns.tools", "no turn shows the tools", hint);
    }
    if shows(&turns.tools, "tools") && turns.tool.is_empty() && !said("tool") {
        return fault(
            "turns.tools",
            "shows tools one by one, but `turns.tool` is missing",
            "write how one tool is shown",
        );
    }
    if shows(&turns.tool, "params") && turns.param.is_empty() && !said("param") {
        return fault(
            "turns.tool",
            "shows parameters, but `turns.param` is missing",
            "write how one parameter is shown",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_in_braces_is_a_slot() {
        let parts = turn_parts("[R]{\"content\": {text}, \"id\": \"{id}\"}{}{A}[/R]");
        let slots: Vec<_> = parts.iter().filter(|part| matches!(part, TurnPart::Slot(_))).collect();
        assert_eq!(slots, [&TurnPart::Slot("text"), &TurnPart::Slot("id")]);
        assert_eq!(parts[0], TurnPart::Text("[R]{\"content\": "));
        assert_eq!(parts[4], TurnPart::Text("\"}{}{A}[/R]"));
        assert_eq!(turn_parts("{text"), [TurnPart::Text("{text")]);
        assert!(turn_parts("").is_empty());
    }

    #[test]
    fn faults_name_the_key() {
        let said = |text: &str| {
            let file: FormatFile = toml::from_str(text).expect("TOML");
            fault(&file, &[]).map(|(key, told)| (key, told.message, told.hint.unwrap_or_default()))
        };
        let whole = "[turns]\nuser = \"u{text}\"\nassistant = \"a{reply}\"\nresult = \"r{text}\"\n";
        assert_eq!(said(whole), None);
        assert_eq!(said("[turns]\nuser = \"u{text}\"").map(|fault| fault.0).as_deref(), Some("turns.assistant"));
        let wrong = said(&whole.replace("{reply}", "{replay}")).expect("no such slot");
        assert!(wrong.0 == "turns.assistant" && wrong.2.contains("did you mean `reply`?"), "{wrong:?}");
        let lost = said(&format!("{whole}tools = \"{{list}}\"")).expect("they have no place");
        assert_eq!(lost.1, "no turn shows the tools");
        let none = said(&format!("{whole}system = \"{{text}}{{tools}}\"\ntools = \"{{tools}}\"")).expect("no tool");
        assert!(none.1.contains("`turns.tool` is missing"), "{none:?}");
        assert!(said(&whole.replace("u{text}", "u")).expect("says nothing").1.contains("there is no `{text}`"));
    }
}
