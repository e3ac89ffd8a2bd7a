//! The assistant turn: reasoning, content, calls, in the renderer's form.

use unspool::format::file::{Escape, Group, Shape, Where};
use unspool::format::template::{Part, Slot, Template};

use super::family::Family;
use super::jinja::{Jinja, Piece, quoted};
use super::values::{self, escaped};

/// White space that counts next to markup.
const BLANKS: &str = "\" \\t\\r\\n\"";

/// Writes a message. `bare_resumed`: after a tool's result, nothing replaces a missing thought.
pub(super) fn write(jinja: &mut Jinja, family: &Family, bare_resumed: bool) {
    let mut reply = Reply { family, before: Vec::new(), begun: false, bare_resumed };
    reply.variables(jinja);
    reply.thought(jinja);
    reply.answer(jinja);
    if let Some(call) = &family.call {
        jinja.block("if calls", |jinja| reply.calls(jinja, call));
    }
}

struct Reply<'a> {
    family: &'a Family,
    /// The conditions under which something precedes the next text.
    before: Vec<&'static str>,
    /// Something always precedes it.
    begun: bool,
    /// If the turn follows a tool's result, nothing replaces a missing thought.
    bare_resumed: bool,
}

impl Reply<'_> {
    fn variables(&self, jinja: &mut Jinja) {
        let family = self.family;
        if family.call.is_some() {
            jinja.set("calls", "message.tool_calls or []");
        }
        if family.tools.as_ref().is_some_and(|words| family.call.is_some() && words.tools.r#where == Where::Start) {
            jinja.comment("Calls count only where nothing stands before them, so words beside them are left out.");
            jinja.set("content", "message.content or \"\" if not calls else \"\"");
        } else {
            jinja.set("content", "message.content or \"\"");
        }
        if family.thought.is_some() {
            let mut thought = "message.reasoning_content or message.reasoning or \"\"".to_owned();
            if family.trims() {
                thought = format!("({thought}).strip({BLANKS})");
            }
            if !family.keeps_all_thoughts() {
                jinja.comment("Thoughts count until the user speaks again.");
                thought = format!("({thought}) if loop.index0 > last.user else \"\"");
            }
            jinja.set("thought", &thought);
        }
        if !family.trims() || family.frame.is_some() {
            return;
        }
        if family.call.is_some() {
            jinja.set("content", &format!("content.rstrip({BLANKS}) if calls else content"));
        }
        if family.thought.is_some() {
            jinja.set("body", &format!("content.lstrip({BLANKS})"));
            let behind =
                "((content[:(content | length) - (body | length)].split(\"\\n\") | last) ~ body if body else \"\")";
            let when =
                if family.begins_thinking() { behind.to_owned() } else { format!("{behind} if thought else content") };
            jinja.set("content", &when);
        }
    }

    fn thought(&mut self, jinja: &mut Jinja) {
        let Some(thought) = &self.family.thought else { return };
        let none = &self.family.turns.thinking.none;
        let pieces = self.pieces(&thought.parts, &mut |_, out| out.push(Piece::code("thought")));
        jinja.block("if thought", |jinja| {
            jinja.write(&pieces);
            if !none.is_empty() {
                let behind = "elif loop.previtem is not defined or loop.previtem.role != \"tool\"";
                jinja.branch(if self.bare_resumed { behind } else { "else" });
                jinja.write(&[Piece::text(none)]);
            }
        });
        self.begun |= !none.is_empty() && !self.bare_resumed;
        self.before.push("thought");
    }

    fn answer(&mut self, jinja: &mut Jinja) {
        let pieces = match &self.family.frame {
            Some(frame) => self.pieces(&frame.parts, &mut |_, out| out.push(Piece::code("content"))),
            None => self.pieces(&[Part::Slot(Slot::Content)], &mut |_, out| out.push(Piece::code("content"))),
        };
        if self.family.frame.is_none() && pieces == [Piece::code("content")] {
            jinja.write(&pieces);
        } else {
            jinja.block("if content", |jinja| jinja.write(&pieces));
        }
        self.before.push("content");
    }

    fn calls(&mut self, jinja: &mut Jinja, call: &Template) {
        let family = self.family;
        if family.in_list() {
            return self.list(jinja, call);
        }
        let each = family.tools.as_ref().is_some_and(|words| words.tools.group == Group::Each);
        match &family.block {
            None => self.each(jinja, &family.message(call)),
            Some(block) => {
                let parts = family.message(block);
                let at = parts.iter().position(|part| *part == Part::Slot(Slot::Calls)).unwrap_or(parts.len());
                let inside = &parts[(at + 1).min(parts.len())..];
                if each {
                    let parts = [&parts[..at], &call.parts[..], inside].concat();
                    // The separator of calls is inside a block, and each block has one call.
                    return self.loop_over(jinja, &parts, "");
                }
                let (before, after) = (&parts[..at], inside);
                let pieces = self.pieces(before, &mut |_, _| {});
                jinja.write(&pieces);
                let mut within = Reply { family, before: Vec::new(), begun: true, bare_resumed: false };
                within.loop_over(jinja, &call.parts, family.between());
                jinja.write(&within.pieces(after, &mut |_, _| {}));
            }
        }
    }

    fn each(&mut self, jinja: &mut Jinja, parts: &[Part]) {
        self.loop_over(jinja, parts, self.family.between());
    }

    /// A loop that writes these parts for each call.
    fn loop_over(&mut self, jinja: &mut Jinja, parts: &[Part], between: &str) {
        self.before.push("not loop.first");
        jinja.block("for call in calls", |jinja| {
            jinja.set("function", "call.function if call.function is defined else call");
            if !between.is_empty() {
                jinja.block("if not loop.first", |jinja| jinja.write(&[Piece::text(between)]));
            }
            self.one(jinja, parts);
        });
        self.before.pop();
    }

    /// One call; its arguments may need lines of their own.
    fn one(&self, jinja: &mut Jinja, parts: &[Part]) {
        let family = self.family;
        let counts = values::counts(family);
        let mut pieces: Vec<Piece> = Vec::new();
        let body = parts.iter().position(|part| matches!(part, Part::Slot(Slot::Params | Slot::Elements)));
        let fill = &mut |slot: Slot, out: &mut Vec<Piece>| out.extend(values::slot(family, slot));
        match body {
            None => pieces.extend(self.pieces(parts, fill)),
            Some(at) => {
                jinja.write(&self.pieces(&parts[..at], fill));
                values::arguments(jinja, family, &parts[at]);
                let rest = Reply { family, before: Vec::new(), begun: true, bare_resumed: false };
                pieces.extend(rest.pieces(&parts[at + 1..], fill));
            }
        }
        jinja.write(&pieces);
        if counts {
            jinja.set("count.calls", "count.calls + 1");
        }
    }

    /// All calls in one JSON list.
    fn list(&self, jinja: &mut Jinja, call: &Template) {
        let family = self.family;
        let parts = family.message(call);
        let at = parts.iter().position(|part| *part == Part::Slot(Slot::Envelope)).unwrap_or(parts.len());
        let within = Reply { family, before: Vec::new(), begun: true, bare_resumed: false };
        let mut pieces = self.pieces(&parts[..at], &mut |_, _| {});
        if pieces.is_empty() && !self.begun {
            pieces.extend(self.lead("").into_iter().flatten());
        }
        pieces.push(Piece::text("["));
        jinja.write(&pieces);
        jinja.block("for call in calls", |jinja| {
            jinja.set("function", "call.function if call.function is defined else call");
            let mut pieces = values::slot(family, Slot::Envelope);
            pieces.push(Piece::code("(\", \" if not loop.last else \"\")"));
            jinja.write(&pieces);
        });
        let mut pieces = vec![Piece::text("]")];
        pieces.extend(within.pieces(&parts[(at + 1).min(parts.len())..], &mut |_, _| {}));
        jinja.write(&pieces);
    }

    /// A literal at the beginning of a piece: if something precedes it, and if nothing does.
    fn lead(&self, literal: &str) -> Option<Vec<Piece>> {
        let (standing, first) = self.family.beginnings(literal);
        if self.begun || standing == first {
            return Some(vec![Piece::text(if self.begun { standing } else { first })]);
        }
        if self.before.is_empty() {
            return Some(vec![Piece::text(first)]);
        }
        let when = self.before.join(" or ");
        Some(match standing.strip_suffix(first.as_str()) {
            Some(more) => vec![Piece::code(format!("({} if {when} else \"\")", quoted(more))), Piece::text(first)],
            None => vec![Piece::code(format!("({} if {when} else {})", quoted(&standing), quoted(&first)))],
        })
    }

    /// Parts of a template, its slots filled.
    fn pieces(&self, parts: &[Part], fill: &mut dyn FnMut(Slot, &mut Vec<Piece>)) -> Vec<Piece> {
        let mut out = Vec::new();
        let leading = |part: &&Part| matches!(part, Part::Text(_) | Part::Optional(_));
        let literals: Vec<&Part> = parts.iter().take_while(leading).collect();
        let text: String = literals.iter().map(|part| literal(part)).collect();
        if self.begun {
            out.push(Piece::text(&text));
        } else {
            out.extend(self.lead(&text).into_iter().flatten());
        }
        for part in &parts[literals.len()..] {
            match part {
                Part::Slot(slot) => fill(*slot, &mut out),
                Part::Attrs(attributes) => {
                    for (name, slot) in attributes {
                        out.push(Piece::text(format!(" {name}=\"")));
                        let mut value = Vec::new();
                        fill(*slot, &mut value);
                        out.extend(value.into_iter().map(|piece| attribute(self.family, piece)));
                        out.push(Piece::text("\""));
                    }
                }
                _ => out.push(Piece::text(literal(part))),
            }
        }
        out.retain(|piece| *piece != Piece::text(""));
        out
    }
}

/// The value of an attribute.
fn attribute(family: &Family, piece: Piece) -> Piece {
    let how = family.tools.as_ref().map(|words| words.tools.params.attr).unwrap_or_default();
    match piece {
        Piece::Code(code) if how == Escape::Xml => Piece::code(escaped(&code, true)),
        piece => piece,
    }
}

fn literal(part: &Part) -> &str {
    match part {
        Part::Text(text) | Part::Optional(text) | Part::Free(text) => text,
        _ => "",
    }
}

/// The object around a call's name and arguments.
pub(super) fn envelope(family: &Family) -> Vec<Piece> {
    let Some(words) = family.tools.as_ref().map(|words| &words.tools.envelope) else { return Vec::new() };
    let key = |keys: &[String], usual: &str| keys.first().map_or(usual, String::as_str).to_owned();
    let arguments = Piece::code(values::JSON);
    let name = Piece::code("(function.name | tojson)");
    if words.shape == Shape::Key {
        return vec![Piece::text("{"), name, Piece::text(": "), arguments, Piece::text("}")];
    }
    let mut out = vec![Piece::text("{")];
    if let Some(id) = words.id.first() {
        out.push(Piece::text(format!("\"{id}\": ")));
        out.push(Piece::code("((call.id or (loop.index0 | string)) | tojson)"));
        out.push(Piece::text(", "));
    }
    out.push(Piece::text(format!("\"{}\": ", key(&words.name, "name"))));
    out.push(name);
    out.push(Piece::text(format!(", \"{}\": ", key(&words.arguments, "arguments"))));
    out.extend([arguments, Piece::text("}")]);
    out
}
