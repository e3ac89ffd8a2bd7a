//! Arguments and values in the syntaxes of calls.

use unspool::format::file::{Delimited, Escape};
use unspool::format::template::{Part, Slot, Template};

use super::family::Family;
use super::jinja::{Jinja, Piece, quoted};
use super::reply::envelope;

/// The arguments as JSON; some clients give them as text.
pub(super) const JSON: &str =
    "(function.arguments if function.arguments is string else (function.arguments or {}) | tojson)";
const MEMBERS: &str = "(function.arguments or {}).items()";

/// Whether ids of calls contain their position in the conversation.
pub(super) fn counts(family: &Family) -> bool {
    let own =
        family.tools.as_ref().and_then(|words| words.ids.call.as_deref()).is_some_and(|text| text.contains("{index}"));
    let shown = |slot| [&family.block, &family.call].into_iter().flatten().any(|template| template.has(slot));
    own && shown(Slot::Id) || shown(Slot::Index)
}

/// The value of a slot of a call.
pub(super) fn slot(family: &Family, slot: Slot) -> Vec<Piece> {
    match slot {
        Slot::Name => vec![Piece::code("function.name")],
        Slot::Id => vec![id(family)],
        Slot::Index => vec![Piece::code("count.calls")],
        Slot::Number => vec![Piece::code("loop.index")],
        Slot::Envelope => envelope(family),
        Slot::Json => vec![Piece::code(JSON)],
        Slot::Kwargs => vec![Piece::code("keywords(function.arguments or {})")],
        Slot::Literals => vec![Piece::code("fields(function.arguments or {})")],
        _ => Vec::new(),
    }
}

/// A call's id: its own, if it has the format's shape of ids.
fn id(family: &Family) -> Piece {
    let shape = family.tools.as_ref().and_then(|words| words.ids.call.as_deref()).filter(|text| text.contains('{'));
    let Some(shape) = shape.and_then(|text| Template::parse(text).ok()) else {
        return Piece::code("(call.id or \"\")");
    };
    let before: Vec<String> = shape
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(quoted(text)),
            Part::Slot(Slot::Name) => Some("function.name".to_owned()),
            _ => None,
        })
        .collect();
    let before = before.join(" ~ ");
    Piece::code(format!("(call.id if (call.id or \"\").startswith({before}) else {before} ~ count.calls)"))
}

/// Writes the arguments if each needs its own line.
pub(super) fn arguments(jinja: &mut Jinja, family: &Family, part: &Part) {
    if *part == Part::Slot(Slot::Elements) {
        jinja.block(&format!("for key, value in {MEMBERS}"), |jinja| {
            jinja.write(&[Piece::code("element(key, value)")]);
        });
        return;
    }
    let (Some(param), Some(words)) = (&family.param, &family.tools) else { return };
    let plain = "(value if value is string else value | tojson)";
    let value = match words.tools.params.escape {
        Escape::Xml => escaped(plain, false),
        Escape::None => plain.to_owned(),
    };
    let fill = |slot: Slot| match slot {
        Slot::Key => "key",
        Slot::Value => &value,
        Slot::Type => "type_of(value)",
        Slot::String => "(\"true\" if value is string else \"false\")",
        _ => "\"\"",
    };
    let mut pieces = Vec::new();
    for part in &param.parts {
        match part {
            Part::Slot(slot) => pieces.push(Piece::code(fill(*slot))),
            Part::Attrs(attributes) => {
                for (name, slot) in attributes {
                    let code = match words.tools.params.attr {
                        Escape::Xml => escaped(fill(*slot), true),
                        Escape::None => fill(*slot).to_owned(),
                    };
                    pieces.extend([Piece::text(format!(" {name}=\"")), Piece::code(code), Piece::text("\"")]);
                }
            }
            Part::Text(text) | Part::Optional(text) | Part::Free(text) => pieces.push(Piece::text(text)),
        }
    }
    jinja.block(&format!("for key, value in {MEMBERS}"), |jinja| jinja.write(&pieces));
}

/// An expression with markup as entities.
pub(super) fn escaped(code: &str, quotes: bool) -> String {
    let more = if quotes { " | replace('\"', \"&quot;\")" } else { "" };
    format!("({code} | replace(\"&\", \"&amp;\") | replace(\"<\", \"&lt;\") | replace(\">\", \"&gt;\"){more})")
}

/// Writes the macros for the slots.
pub(super) fn macros(jinja: &mut Jinja, family: &Family) {
    let typed = family.param.as_ref().is_some_and(|param| param.has(Slot::Type));
    match family.call.as_ref().and_then(Template::body) {
        Some(Slot::Params) if typed => type_of(jinja),
        Some(Slot::Elements) => element(jinja, family),
        Some(Slot::Kwargs) => keywords(jinja),
        Some(Slot::Literals) => fields(jinja, family),
        _ => {}
    }
}

fn type_of(jinja: &mut Jinja) {
    jinja.comment("The JSON type of a value.");
    jinja.block("macro type_of(value)", |jinja| {
        let kinds = [
            ("if value is none", "null"),
            ("elif value is boolean", "boolean"),
            ("elif value is string", "string"),
            ("elif value is number", "number"),
            ("elif value is mapping", "object"),
            ("else", "array"),
        ];
        chain(jinja, &kinds.map(|(when, kind)| (when, vec![Piece::text(kind)])));
    });
}

/// Branches that each write something.
fn chain(jinja: &mut Jinja, branches: &[(&str, Vec<Piece>)]) {
    let Some(((first, pieces), rest)) = branches.split_first() else { return };
    jinja.block(first, |jinja| {
        jinja.write(pieces);
        for (when, pieces) in rest {
            jinja.branch(when);
            jinja.write(pieces);
        }
    });
}

fn element(jinja: &mut Jinja, family: &Family) {
    let Some(words) = family.tools.as_ref().map(|words| &words.tools.elements) else { return };
    let tag = |text: &str| -> Vec<Piece> {
        let parts = Template::parse(text).map(|template| template.parts).unwrap_or_default();
        let piece = |part: &Part| match part {
            Part::Slot(_) => Piece::code("key"),
            Part::Text(text) | Part::Optional(text) | Part::Free(text) => Piece::text(text),
            Part::Attrs(_) => Piece::text(""),
        };
        parts.iter().map(piece).collect()
    };
    jinja.comment("A value as an element; lists and objects hold elements of their own.");
    jinja.block("macro element(key, value)", |jinja| {
        jinja.write(&tag(&words.open));
        jinja.block("if value is mapping", |jinja| {
            jinja
                .block("for inner, item in value.items()", |jinja| jinja.write(&[Piece::code("element(inner, item)")]));
            jinja.branch("elif value is iterable and value is not string");
            let item = format!("element({}, item)", quoted(&words.item));
            jinja.block("for item in value", |jinja| jinja.write(&[Piece::code(item)]));
            jinja.branch("else");
            jinja.write(&[Piece::code("(value if value is string else value | tojson)")]);
        });
        jinja.write(&tag(&words.close));
    });
}

fn keywords(jinja: &mut Jinja) {
    jinja.comment("A value as Python writes it.");
    jinja.block("macro literal(value)", |jinja| {
        jinja.block("if value is none", |jinja| {
            jinja.write(&[Piece::text("None")]);
            jinja.branch("elif value is boolean");
            jinja.write(&[Piece::code("(\"True\" if value else \"False\")")]);
            jinja.branch("elif value is string");
            jinja.set("quote", "'\"' if \"'\" in value and '\"' not in value else \"'\"");
            let escapes = "value | replace(\"\\\\\", \"\\\\\\\\\") | replace(\"\\n\", \"\\\\n\") | replace(\"\\r\", \"\\\\r\") \
                | replace(\"\\t\", \"\\\\t\") | replace(quote, \"\\\\\" ~ quote)";
            jinja.write(&[Piece::code("quote"), Piece::code(format!("({escapes})")), Piece::code("quote")]);
            jinja.branch("elif value is mapping");
            jinja.write(&[Piece::text("{")]);
            jinja.block("for key, item in value.items()", |jinja| {
                let comma = Piece::code("(\", \" if not loop.last else \"\")");
                jinja.write(&[Piece::code("literal(key)"), Piece::text(": "), Piece::code("literal(item)"), comma]);
            });
            jinja.write(&[Piece::text("}")]);
            jinja.branch("elif value is iterable");
            jinja.write(&[Piece::text("[")]);
            jinja.block("for item in value", |jinja| {
                jinja.write(&[Piece::code("literal(item)"), Piece::code("(\", \" if not loop.last else \"\")")]);
            });
            jinja.write(&[Piece::text("]")]);
            jinja.branch("else");
            jinja.write(&[Piece::code("(value | tojson)")]);
        });
    });
    jinja.comment("Arguments as keyword arguments.");
    jinja.block("macro keywords(arguments)", |jinja| {
        jinja.block("for key, value in arguments.items()", |jinja| {
            let comma = Piece::code("(\", \" if not loop.last else \"\")");
            jinja.write(&[Piece::code("key"), Piece::text("="), Piece::code("literal(value)"), comma]);
        });
    });
}

fn fields(jinja: &mut Jinja, family: &Family) {
    let Some(words) = family.tools.as_ref().map(|words| &words.tools.literals) else { return };
    let open = words.string.first().map_or("\"", String::as_str);
    let close = words.string.get(1).map_or(open, String::as_str);
    let comma = || Piece::code("(\",\" if not loop.last else \"\")");
    jinja.comment("A value in the format's own syntax.");
    jinja.block("macro literal(value)", |jinja| {
        if words.delimited == Delimited::Untyped {
            let text = Piece::code("(value if value is string else value | tojson)");
            jinja.write(&[Piece::text(open), text, Piece::text(close)]);
            return;
        }
        jinja.block("if value is string", |jinja| {
            jinja.write(&[Piece::text(open), Piece::code("value"), Piece::text(close)]);
            jinja.branch("elif value is mapping");
            jinja.write(&[Piece::code("fields(value)")]);
            jinja.branch("elif value is iterable");
            jinja.write(&[Piece::text("[")]);
            jinja.block("for item in value", |jinja| jinja.write(&[Piece::code("literal(item)"), comma()]));
            jinja.write(&[Piece::text("]")]);
            jinja.branch("else");
            jinja.write(&[Piece::code("(value | tojson)")]);
        });
    });
    jinja.comment("An object in the format's own syntax.");
    jinja.block("macro fields(object)", |jinja| {
        jinja.write(&[Piece::text("{")]);
        jinja.block("for key, value in object.items()", |jinja| {
            jinja.write(&[Piece::code("key"), Piece::text(":"), Piece::code("literal(value)"), comma()]);
        });
        jinja.write(&[Piece::text("}")]);
    });
}
