//! Templates with nodes in their slots.

use crate::error::Error;
use crate::format::template::{Part, Slot};
use crate::scan::{Cut, cuts};

use super::node::Node;

/// The parts of a template with all slots filled.
pub(super) fn parts(parts: &[Part], fill: &mut impl FnMut(Slot) -> Result<Node, Error>) -> Result<Vec<Node>, Error> {
    let mut out = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) | Part::Free(text) => out.push(Node::text(text)),
            Part::Optional(text) => out.push(Node::text(text).optional()),
            Part::Slot(slot) => out.push(fill(*slot)?),
            Part::Attrs(attributes) => {
                for (name, slot) in attributes {
                    out.push(Node::text(format!(" {name}=\"")));
                    out.push(fill(*slot)?);
                    out.push(Node::text("\""));
                }
            }
        }
    }
    Ok(out)
}

/// The white space at the beginning of a template, and its parts without it.
pub(super) fn lead(parts: &[Part]) -> (String, Vec<Part>) {
    let mut out = parts.to_vec();
    let mut lead = String::new();
    if let Some(Part::Text(text)) = out.first_mut() {
        let blank = text.len() - text.trim_start().len();
        lead = text[..blank].to_owned();
        text.drain(..blank);
    }
    (lead, out)
}

/// The parts of a template; with `compact`, its line breaks are optional.
pub(super) fn spelled(parts: &[Part], compact: bool) -> Vec<Part> {
    let mut out = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) if compact => out.extend(cuts(text).into_iter().filter_map(|cut| match cut {
                Cut::Literal(text) => Some(Part::Text(text.to_owned())),
                Cut::Space("") => None,
                Cut::Space(blank) if blank.contains('\n') => Some(Part::Optional(blank.to_owned())),
                Cut::Space(blank) => Some(Part::Text(blank.to_owned())),
            })),
            part => out.push(part.clone()),
        }
    }
    out
}
