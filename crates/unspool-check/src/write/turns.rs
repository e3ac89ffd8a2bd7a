//! The turns around replies: system, user, tool results.

use unspool::format::file::{At, Turns};
use unspool::format::turns::{TurnPart, turn_parts};

use super::family::Family;
use super::jinja::{Jinja, Piece};
use super::reply;
use super::tools::Tools;

/// Roles that instruct the model.
const TELLS: &str = "[\"system\", \"developer\"]";
/// The text of a message.
const TEXT: &str = "(message.content or \"\")";
const AFTER_RESULT: &str = "history and history[-1].role == \"tool\"";
const BEHIND_RESULT: &str = "loop.previtem is defined and loop.previtem.role == \"tool\"";

/// Writes conversations.
pub(super) struct Writer<'a> {
    pub(super) family: &'a Family,
    pub(super) tools: Tools<'a>,
    /// Whether the request wants the model to think, as an expression; `None` if the pair has no thoughts.
    pub(super) thinks: Option<String>,
}

impl<'a> Writer<'a> {
    fn turns(&self) -> &'a Turns {
        &self.family.turns
    }

    /// Writes the entire conversation.
    pub(super) fn write(&self, jinja: &mut Jinja) {
        let turns = self.turns();
        self.beginning(jinja);
        if turns.declare_first {
            self.declare(jinja);
        }
        if !has(&turns.user, "system") {
            self.system(jinja);
        }
        if !turns.declare_first {
            self.declare(jinja);
        }
        jinja.block("for message in history", |jinja| {
            jinja.block("if message.role == \"user\"", |jinja| {
                self.user(jinja);
                jinja.branch("elif message.role == \"assistant\"");
                self.assistant(jinja);
                jinja.branch("elif message.role == \"tool\"");
                self.result(jinja);
                jinja.branch(&format!("elif message.role in {TELLS}"));
                self.late_system(jinja);
                jinja.branch("else");
                jinja.write(&[Piece::code("raise_exception(\"unknown role: \" ~ message.role)")]);
            });
        });
        let prompt = self.prompt();
        if !prompt.is_empty() {
            jinja.block("if add_generation_prompt", |jinja| jinja.write(&prompt));
        }
    }

    fn beginning(&self, jinja: &mut Jinja) {
        let turns = self.turns();
        let pieces =
            pieces(&turns.begin, |_| Piece::code("(bos_token if bos_token is defined and bos_token else \"\")"));
        jinja.write(&pieces);
        jinja.set("told", &format!("messages and messages[0].role in {TELLS}"));
        jinja.set("system", "(messages[0].content or \"\") if told else \"\"");
        jinja.set("history", "messages[1:] if told else messages");
        if self.tools.shown() {
            jinja.set("offered", "tools or []");
        }
        if let Some(thinks) = self.thinks.as_ref().filter(|thinks| !matches!(thinks.as_str(), "true" | "false")) {
            jinja.comment("Whether the model shall think.");
            jinja.set("thinks", thinks);
        }
        if has(&turns.user, "round") {
            jinja.comment("The user's turns are numbered.");
            jinja.set("rounds", "namespace(count=0)");
        }
        let user = has(&turns.user, "system") || has(&turns.user, "tools");
        if user || self.family.thought.is_some() && !self.family.keeps_all_thoughts() {
            jinja.comment("The first and the last message of the user.");
            jinja.set("last", "namespace(first=-1, user=-1)");
            jinja.block("for message in history", |jinja| {
                jinja.block("if message.role == \"user\"", |jinja| {
                    jinja.set("last.first", "loop.index0 if last.first < 0 else last.first");
                    jinja.set("last.user", "loop.index0");
                });
            });
        }
        if super::values::counts(self.family) {
            jinja.comment("Ids of calls count through the conversation.");
            jinja.set("count", "namespace(calls=0)");
        }
    }

    /// The tools' own turn.
    fn declare(&self, jinja: &mut Jinja) {
        let turn = &self.turns().declare;
        if !turn.is_empty() && self.tools.shown() {
            jinja.comment("The tools have a turn of their own.");
            jinja.block("if offered", |jinja| {
                for part in turn_parts(turn) {
                    match part {
                        TurnPart::Text(text) => jinja.write(&[Piece::text(text)]),
                        TurnPart::Slot(_) => self.tools.write(jinja, None, None),
                    }
                }
            });
        }
    }

    fn system(&self, jinja: &mut Jinja) {
        let turns = self.turns();
        if turns.system.is_empty() {
            return;
        }
        let mut when = vec!["system"];
        if (has(&turns.system, "tools") || has(&turns.system, "instructions")) && self.tools.shown() {
            when.push("offered");
        }
        let (on, off) = (&turns.thinking.told_on, &turns.thinking.told_off);
        let told = self.thinks.as_deref().filter(|_| has(&turns.system, "thinking"));
        match (told, on.is_empty(), off.is_empty()) {
            (Some("true"), false, _) | (Some("false"), _, false) | (Some(_), false, false) => {
                return self.instruct(jinja);
            }
            (Some("true" | "false") | None, ..) => {}
            (Some(_), false, true) => when.push("thinks"),
            (Some(_), true, false) => when.push("not thinks"),
            _ => {}
        }
        jinja.block(&format!("if {}", when.join(" or ")), |jinja| self.instruct(jinja));
    }

    /// The contents of the system turn.
    fn instruct(&self, jinja: &mut Jinja) {
        let turns = self.turns();
        let parts = turn_parts(&turns.system);
        let at = |name: &str| parts.iter().position(|part| *part == TurnPart::Slot(name));
        let text_first = at("text") < at("tools");
        let mut line = Vec::new();
        for part in &parts {
            match part {
                TurnPart::Text(text) => line.push(Piece::text(*text)),
                TurnPart::Slot("text") => line.push(Piece::code("system")),
                TurnPart::Slot("thinking") => {
                    let (on, off) = (&turns.thinking.told_on, &turns.thinking.told_off);
                    line.push(match self.thinks.as_deref() {
                        None => Piece::text(""),
                        Some("true") => Piece::text(on),
                        Some("false") => Piece::text(off),
                        Some(_) => either("thinks", on, off),
                    });
                }
                TurnPart::Slot(_) if !self.tools.shown() => {}
                TurnPart::Slot("instructions") => {
                    let told = format!("{}\n\n", self.tools.instructions);
                    line.push(either("offered and system", &told, ""));
                    line.push(either("offered and not system", self.tools.instructions, ""));
                }
                TurnPart::Slot(_) => {
                    jinja.write(&std::mem::take(&mut line));
                    let (before, after) = if text_first { (Some("system"), None) } else { (None, Some("system")) };
                    jinja.block("if offered", |jinja| self.tools.write(jinja, before, after));
                }
            }
        }
        jinja.write(&line);
    }

    /// A system message that is not the first message.
    fn late_system(&self, jinja: &mut Jinja) {
        let turns = self.turns();
        if turns.system.is_empty() || has(&turns.user, "system") {
            jinja.write(&[Piece::code("raise_exception(\"a system message must come first\")")]);
            return;
        }
        jinja.write(&pieces(&turns.system, |slot| if slot == "text" { Piece::code(TEXT) } else { Piece::text("") }));
    }

    fn user(&self, jinja: &mut Jinja) {
        let turns = self.turns();
        let here = match turns.at {
            At::First => "loop.index0 == last.first",
            At::Last => "loop.index0 == last.user",
        };
        let mut line = Vec::new();
        let rounds = has(&turns.user, "round");
        for part in turn_parts(&turns.user) {
            match part {
                TurnPart::Text(text) => line.push(Piece::text(text)),
                TurnPart::Slot("text") => line.push(Piece::code(TEXT)),
                TurnPart::Slot("round") => line.push(Piece::code("rounds.count")),
                TurnPart::Slot("system") => {
                    jinja.write(&std::mem::take(&mut line));
                    let tools = has(&turns.system, "tools") || has(&turns.system, "instructions");
                    let tools = tools && self.tools.shown();
                    let said = if tools { "(system or offered)" } else { "system" };
                    jinja.block(&format!("if {here} and {said}"), |jinja| self.instruct(jinja));
                }
                TurnPart::Slot(_) if !self.tools.shown() => {}
                TurnPart::Slot(_) => {
                    jinja.write(&std::mem::take(&mut line));
                    jinja.block(&format!("if {here} and offered"), |jinja| self.tools.write(jinja, None, None));
                }
            }
        }
        jinja.write(&line);
        if rounds {
            jinja.set("rounds.count", "rounds.count + 1");
        }
    }

    fn assistant(&self, jinja: &mut Jinja) {
        let turns = self.turns();
        let [before, after] = around(&turns.assistant, "reply");
        let other = |turn: &Option<String>, side: usize| turn.as_ref().map(|turn| around(turn, "reply")[side].clone());
        let resumed = other(&turns.resumed, 0).filter(|other| *other != before);
        jinja.write(&[either(BEHIND_RESULT, resumed.as_deref().unwrap_or(&before), &before)]);
        reply::write(jinja, self.family, resumed.is_some() && !turns.thinking.resumed);
        let called = other(&turns.called, 1).filter(|_| self.family.call.is_some()).unwrap_or_else(|| after.clone());
        jinja.write(&[either("calls", &called, &after)]);
    }

    fn result(&self, jinja: &mut Jinja) {
        let turns = self.turns();
        let first = "loop.previtem is not defined or loop.previtem.role != \"tool\"";
        let [before, after] =
            if turns.results.is_empty() { Default::default() } else { around(&turns.results, "results") };
        if !before.is_empty() || !turns.result_between.is_empty() {
            jinja.write(&[either(first, &before, &turns.result_between)]);
        }
        if has(&turns.result, "name") {
            jinja.comment("The function whose result it is, by the call's id.");
            jinja.set("source", "namespace(name=message.name or \"\", number=1)");
            jinja.block("for other in history", |jinja| {
                jinja.block("for call in other.tool_calls or []", |jinja| {
                    jinja.block("if call.id == message.tool_call_id", |jinja| {
                        jinja.set("source.name", "(call.function if call.function is defined else call).name");
                        jinja.set("source.number", "loop.index");
                    });
                });
            });
        }
        jinja.write(&pieces(&turns.result, |slot| match slot {
            "text" => Piece::code(TEXT),
            "quoted" => Piece::code(format!("({TEXT} | tojson)")),
            "name" => Piece::code("source.name"),
            "number" => Piece::code("source.number"),
            _ => Piece::code("(message.tool_call_id or \"\")"),
        }));
        if !after.is_empty() {
            let last = "loop.nextitem is not defined or loop.nextitem.role != \"tool\"";
            jinja.block(&format!("if {last}"), |jinja| jinja.write(&[Piece::text(after)]));
        }
    }

    /// The beginning of a turn for the model to write.
    fn prompt(&self) -> Vec<Piece> {
        let turns = self.turns();
        let [before, _] = around(&turns.assistant, "reply");
        let resumed = turns.resumed.as_ref().map(|turn| around(turn, "reply")[0].clone());
        let resumed = resumed.filter(|other| *other != before);
        let mut line = vec![either(AFTER_RESULT, resumed.as_deref().unwrap_or(&before), &before)];
        let (on, off) = (&turns.thinking.on, &turns.thinking.off);
        let opened = self.thinks.as_deref().map(|thinks| match thinks {
            "true" => Piece::text(on),
            "false" => Piece::text(off),
            _ => either("thinks", on, off),
        });
        line.extend(opened.map(|piece| match piece {
            piece if resumed.is_none() || turns.thinking.resumed || piece == Piece::text("") => piece,
            Piece::Text(text) => either(AFTER_RESULT, "", &text),
            Piece::Code(code) => Piece::code(format!("(\"\" if {AFTER_RESULT} else {code})")),
        }));
        line.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        line
    }
}

/// One text or another.
fn either(when: &str, yes: &str, no: &str) -> Piece {
    use super::jinja::quoted;
    if yes == no {
        return Piece::text(yes);
    }
    Piece::code(format!("({} if {when} else {})", quoted(yes), quoted(no)))
}

/// Whether a template of turns has a slot.
pub(super) fn has(template: &str, slot: &str) -> bool {
    turn_parts(template).contains(&TurnPart::Slot(slot))
}

/// The text before a slot, and after it.
fn around(template: &str, slot: &str) -> [String; 2] {
    let (before, after) = template.split_once(&format!("{{{slot}}}")).unwrap_or((template, ""));
    [before.to_owned(), after.to_owned()]
}

/// A template with its slots filled.
pub(super) fn pieces(template: &str, fill: impl Fn(&str) -> Piece) -> Vec<Piece> {
    turn_parts(template)
        .into_iter()
        .map(|part| match part {
            TurnPart::Text(text) => Piece::text(text),
            TurnPart::Slot(slot) => fill(slot),
        })
        .filter(|piece| *piece != Piece::text(""))
        .collect()
}
