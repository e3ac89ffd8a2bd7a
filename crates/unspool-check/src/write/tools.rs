//! The description of tools, and the instructions on how to write calls.

use unspool::format::file::Turns;
use unspool::format::turns::{TurnPart, turn_parts};

use super::jinja::{Jinja, Piece, quoted};
use super::turns::{has, pieces};

/// Writes tools.
pub(super) struct Tools<'a> {
    pub(super) turns: &'a Turns,
    /// Instructions on how to write calls.
    pub(super) instructions: &'a str,
}

impl Tools<'_> {
    /// Whether the family shows tools at all.
    pub(super) fn shown(&self) -> bool {
        !self.turns.tools.is_empty()
    }

    /// Writes the tools. White space at their edges is written only next to other text: `before` and `after` are the
    /// conditions, if that is not certain.
    pub(super) fn write(&self, jinja: &mut Jinja, before: Option<&str>, after: Option<&str>) {
        let parts = turn_parts(&self.turns.tools);
        let mut line = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            match part {
                TurnPart::Text(text) => {
                    let (mut text, mut trail) = (*text, "");
                    if let (0, Some(when)) = (at, before) {
                        let rest = text.trim_start();
                        line.extend(only(when, &text[..text.len() - rest.len()]));
                        text = rest;
                    }
                    if at + 1 == parts.len() && after.is_some() {
                        trail = &text[text.trim_end().len()..];
                        text = text.trim_end();
                    }
                    line.push(Piece::text(text));
                    line.extend(after.and_then(|when| only(when, trail)));
                }
                TurnPart::Slot("list") => line.push(Piece::code("(offered | tojson)")),
                TurnPart::Slot("functions") => {
                    line.push(Piece::code("(offered | map(attribute=\"function\") | list | tojson)"));
                }
                TurnPart::Slot("instructions") => line.push(Piece::text(self.instructions)),
                TurnPart::Slot(_) => {
                    jinja.write(&std::mem::take(&mut line));
                    self.one_by_one(jinja);
                }
            }
        }
        jinja.write(&line);
    }

    fn one_by_one(&self, jinja: &mut Jinja) {
        jinja.block("for tool in offered", |jinja| {
            if !self.turns.tool_between.is_empty() {
                let between = Piece::text(&self.turns.tool_between);
                jinja.block("if not loop.first", |jinja| jinja.write(&[between]));
            }
            jinja.set("function", "tool.function if tool.function is defined else tool");
            let mut line = Vec::new();
            for part in turn_parts(&self.turns.tool) {
                match part {
                    TurnPart::Text(text) => line.push(Piece::text(text)),
                    TurnPart::Slot("params") => {
                        jinja.write(&std::mem::take(&mut line));
                        self.parameters(jinja);
                    }
                    TurnPart::Slot(slot) => line.push(Piece::code(of_tool(slot))),
                }
            }
            jinja.write(&line);
        });
    }

    fn parameters(&self, jinja: &mut Jinja) {
        let turns = self.turns;
        jinja.block("for key, schema in ((function.parameters or {}).properties or {}).items()", |jinja| {
            if !turns.param_between.is_empty() {
                let between = Piece::text(&turns.param_between);
                jinja.block("if not loop.first", |jinja| jinja.write(&[between]));
            }
            jinja.write(&pieces(&turns.param, |slot| match slot {
                "key" => Piece::code("key"),
                "type" => Piece::code("(schema.type if schema.type is string else \"any\")"),
                "python" => Piece::code("python_type(schema)"),
                _ => Piece::code("(schema.description or \"\")"),
            }));
        });
    }

    /// Writes the macros for the slots.
    pub(super) fn macros(&self, jinja: &mut Jinja) {
        let turns = self.turns;
        let one_by_one = has(&turns.tools, "tools");
        if one_by_one && (has(&turns.param, "python") || has(&turns.tool, "signature")) {
            python_type(jinja);
        }
        if one_by_one && has(&turns.tool, "signature") {
            signature(jinja);
        }
        if one_by_one && has(&turns.tool, "declaration") {
            declaration(jinja);
        }
    }
}

fn of_tool(slot: &str) -> &'static str {
    match slot {
        "tool" => "(tool | tojson)",
        "function" => "(function | tojson)",
        "name" => "function.name",
        "description" => "(function.description or \"\")",
        "parameters" => "((function.parameters or {}) | tojson)",
        "required" => "(((function.parameters or {}).required or []) | tojson)",
        "signature" => "signature(function)",
        _ => "declaration(function)",
    }
}

fn only(when: &str, text: &str) -> Option<Piece> {
    (!text.is_empty()).then(|| Piece::code(format!("({} if {when} else \"\")", quoted(text))))
}

fn python_type(jinja: &mut Jinja) {
    jinja.comment("The Python type of a parameter.");
    jinja.block("macro python_type(schema)", |jinja| {
        let types = [
            ("string", "str"),
            ("integer", "int"),
            ("number", "float"),
            ("boolean", "bool"),
            ("array", "list"),
            ("object", "dict"),
        ];
        jinja.block("if schema.type is not string", |jinja| {
            jinja.write(&[Piece::text("Any")]);
            for (json, python) in types {
                jinja.branch(&format!("elif schema.type == {}", quoted(json)));
                jinja.write(&[Piece::text(python)]);
            }
            jinja.branch("else");
            jinja.write(&[Piece::text("Any")]);
        });
    });
}

fn signature(jinja: &mut Jinja) {
    jinja.comment("A function as Python declares it.");
    jinja.block("macro signature(function)", |jinja| {
        jinja.write(&[Piece::text("def "), Piece::code("function.name"), Piece::text("(")]);
        jinja.block("for key, schema in ((function.parameters or {}).properties or {}).items()", |jinja| {
            let comma = Piece::code("(\", \" if not loop.last else \"\")");
            jinja.write(&[Piece::code("key"), Piece::text(": "), Piece::code("python_type(schema)"), comma]);
        });
        jinja.write(&[Piece::text(")")]);
    });
}

/// Gemma's declarations: keys in order, types in capitals, in the syntax of its calls.
fn declaration(jinja: &mut Jinja) {
    jinja.comment("A part of a function's declaration: keys in order, types in capitals.");
    jinja.block("macro declared(key, value)", |jinja| {
        jinja.block("if value is string", |jinja| {
            jinja.write(&[Piece::code("literal(value | upper if key == \"type\" else value)")]);
            jinja.branch("elif value is mapping");
            jinja.write(&[Piece::text("{")]);
            jinja.block("for inner, item in value | dictsort", |jinja| {
                let comma = Piece::code("(\",\" if not loop.last else \"\")");
                jinja.write(&[Piece::code("inner"), Piece::text(":"), Piece::code("declared(inner, item)"), comma]);
            });
            jinja.write(&[Piece::text("}")]);
            jinja.branch("else");
            jinja.write(&[Piece::code("literal(value)")]);
        });
    });
    jinja.comment("A function as calls would write it.");
    jinja.block("macro declaration(function)", |jinja| {
        let about = "{\"description\": function.description or \"\", \"parameters\": function.parameters or {}}";
        jinja.write(&[
            Piece::text("declaration:"),
            Piece::code("function.name"),
            Piece::code(format!("declared(\"\", {about})")),
        ]);
    });
}
