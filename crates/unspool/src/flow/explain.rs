//! Describes the compiled tables, for authors of formats.

use std::fmt::Write;

use crate::call_header::{Begins, Op, Program};
use crate::format::template::Slot;
use crate::limits::Limits;
use crate::scan::Literal;

use super::numbered::Number as _;
use super::scanset::{Action, Pattern};
use super::state::Place;
use super::tables::{Guided, Tables};

/// States, headers, follow sets and limits, one per line.
pub(crate) fn explain(tables: &Tables, limits: &Limits) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(tables, limits, &mut out);
    out
}

fn write_all(tables: &Tables, limits: &Limits, out: &mut String) -> std::fmt::Result {
    for place in Place::ALL {
        let patterns = &tables.set(place).patterns;
        if patterns.is_empty() {
            continue;
        }
        writeln!(out, "state {place:?}")?;
        for pattern in patterns {
            writeln!(out, "  {}", pattern_line(tables, pattern))?;
        }
    }
    for (i, alternative) in tables.alternatives.iter().enumerate() {
        let when = match (alternative.guided, alternative.at_start) {
            (Guided::Required, _) => ", with tool_choice required",
            (Guided::Named, _) => ", with a named tool_choice",
            (Guided::No, true) => ", only where nothing precedes",
            (Guided::No, false) => "",
        };
        let block = if alternative.block.is_some() { " in its block" } else { "" };
        if alternative.message {
            writeln!(out, "header {i}: {} then a message's body", program(&alternative.program))?;
            continue;
        }
        let body = tables.forms[alternative.form].body.name();
        writeln!(out, "header {i}: {} then {body}{block}{when}", program(&alternative.program))?;
    }
    for (i, form) in tables.forms.iter().enumerate().filter(|(_, form)| !form.closers.is_empty()) {
        writeln!(out, "call {i} ({}) closes with {}", form.body.name(), literals(&form.closers))?;
    }
    if let Some(first) = tables.alternatives.first() {
        writeln!(out, "inside an open value a closer counts before {}", literals(&first.program.structure))?;
    }
    writeln!(
        out,
        "limits in bytes: name {}, header {}, blank {}, argument {}, held_arguments {}, thought {}, arguments {}; depth {}, calls {}",
        limits.name,
        limits.header,
        limits.blank,
        limits.argument,
        limits.held_arguments,
        limits.thought,
        limits.arguments,
        limits.depth,
        limits.calls
    )
}

fn pattern_line(tables: &Tables, pattern: &Pattern) -> String {
    let action = match pattern.action {
        Action::Open(call_header) => {
            let all = tables.call_headers.get(call_header).map_or(&[][..], Vec::as_slice);
            let list: Vec<String> = all.iter().map(|id| id.at().to_string()).collect();
            format!("may open a call (headers {})", list.join(", "))
        }
        other => format!("{other:?}"),
    };
    let mut line = format!("{:?} -> {action}", pattern.literal.text());
    if !pattern.lead.is_empty() {
        line.push_str(&format!(", with {:?} before it", pattern.lead));
    }
    if let Some(trail) = pattern.trail.and_then(|t| tables.trails.get(t)) {
        let texts: Vec<String> = trail.iter().map(|strip| format!("{:?}", strip.text)).collect();
        line.push_str(&format!(", drops {} behind it", texts.join(" and ")));
    }
    if let Some(id) = pattern.id {
        line.push_str(&format!(", only as token {id} where ids are known"));
    }
    line
}

fn program(program: &Program) -> String {
    let ops: Vec<String> = program
        .ops
        .iter()
        .map(|op| match op {
            Op::Literal(literal) => format!("{:?}", literal.text()),
            Op::Space => "blanks".into(),
            Op::Optional(literal) => format!("perhaps {:?}", literal.text()),
            Op::Free(_) => "any short text".into(),
            Op::Until(end, _) => format!("a header up to {:?}", end.text()),
            Op::Slot(slot) => slot_name(*slot),
            Op::Attrs(attrs) => {
                let list: Vec<String> =
                    attrs.iter().map(|(name, slot)| format!("{name}={}", slot_name(*slot))).collect();
                list.join(" ")
            }
            Op::Expect(literals_) => format!("before {}", literals(literals_)),
            Op::Arguments(Begins::With(literals_)) => format!("before {}", literals(literals_)),
            Op::Arguments(Begins::Keywords) => "before keyword arguments or `)`".into(),
            Op::Arguments(Begins::Members(..)) => "before a bracket with a key or its end".into(),
        })
        .collect();
    if ops.is_empty() { "its marker".into() } else { format!("its marker, {}", ops.join(", ")) }
}

fn slot_name(slot: Slot) -> String {
    format!("{{{}}}", slot.name())
}

fn literals(list: &[Literal]) -> String {
    let texts: Vec<String> = list.iter().map(|literal| format!("{:?}", literal.text())).collect();
    if texts.is_empty() { "nothing".into() } else { texts.join(", ") }
}
