//! Markers: the text around a slot of a template, and the text that may be stripped next to it.

use crate::scan::{Cut, cuts};

use super::template::{Part, Slot, Template};

/// Optional text next to a marker, which is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Strip {
    pub(crate) text: Box<str>,
    /// `{?text}`: part of the marker. Otherwise framing: dropped at a field's outer edge, kept where pieces meet.
    pub(crate) of_marker: bool,
}

/// One side of a template: a literal and the strippable text around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Marker {
    /// Framing or optional text before it.
    pub(crate) lead: Vec<Strip>,
    /// The literal; white space inside matches any run.
    pub(crate) literal: String,
    /// Framing or optional text after it.
    pub(crate) trail: Vec<Strip>,
}

impl Template {
    /// The parts before the first slot that satisfies `wanted`; all parts if there is none.
    pub(crate) fn before(&self, wanted: impl Fn(Slot) -> bool) -> &[Part] {
        &self.parts[..self.position(wanted).unwrap_or(self.parts.len())]
    }

    /// The parts after the first slot that satisfies `wanted`; none if there is none.
    pub(crate) fn after(&self, wanted: impl Fn(Slot) -> bool) -> &[Part] {
        self.position(wanted).and_then(|at| self.parts.get(at + 1..)).unwrap_or_default()
    }

    /// The markers before and after a slot.
    pub(crate) fn markers(&self, slot: Slot) -> Option<(Marker, Marker)> {
        let is_slot = |s| s == slot;
        self.position(is_slot)?;
        Some((Marker::read(self.before(is_slot)), Marker::read(self.after(is_slot))))
    }

    /// The literal text before a slot, and after it.
    pub(crate) fn around(&self, slot: Slot) -> [String; 2] {
        [literal_text(self.before(|s| s == slot)), literal_text(self.after(|s| s == slot))]
    }

    /// Its first literal, if it begins with one.
    pub(crate) fn first_literal(&self) -> Option<&str> {
        first_text(&self.parts)
    }

    /// The first literal after the first slot that satisfies `wanted`: up to white space or the next tag.
    pub(crate) fn closer(&self, wanted: impl Fn(Slot) -> bool) -> Option<&str> {
        cuts(first_text(self.after(wanted))?).into_iter().find_map(|cut| match cut {
            Cut::Literal(literal) => Some(literal),
            Cut::Space(_) => None,
        })
    }
}

impl Marker {
    /// Parses text and optional parts: the first text with a literal is the marker.
    pub(crate) fn read(parts: &[Part]) -> Self {
        let mut marker = Self::default();
        for part in parts {
            match part {
                Part::Optional(text) => marker.push_strip(text, true),
                Part::Text(text) => marker.push_text(text),
                _ => {}
            }
        }
        marker
    }

    fn push_strip(&mut self, text: &str, of_marker: bool) {
        if text.is_empty() {
            return;
        }
        let side = if self.literal.is_empty() { &mut self.lead } else { &mut self.trail };
        side.push(Strip { text: text.into(), of_marker });
    }

    fn push_text(&mut self, text: &str) {
        let body = text.trim_start();
        self.push_strip(&text[..text.len() - body.len()], false);
        if body.is_empty() {
            return;
        }
        let literal = body.trim_end();
        self.literal.push_str(literal);
        self.push_strip(&body[literal.len()..], false);
    }
}

/// The literal text of a template before (or after) a slot, without variable parts.
pub(crate) fn literal_text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|p| if let Part::Text(t) = p { Some(t.as_str()) } else { None });
    texts.collect::<String>().trim().to_owned()
}

fn first_text(parts: &[Part]) -> Option<&str> {
    parts
        .iter()
        .find_map(|part| match part {
            Part::Text(text) | Part::Optional(text) if text.trim().is_empty() => None,
            Part::Text(text) => Some(Some(text.trim())),
            _ => Some(None),
        })
        .flatten()
}

/// Whether a literal is markup by itself. Others (a bracket, a fence, a plain word) also occur in ordinary text, and
/// count only with the complete header after them.
pub(crate) fn is_markup(literal: &str) -> bool {
    literal.contains(['<', '>']) || literal.contains('[') && literal.contains(char::is_alphanumeric)
}

/// Whether a literal is more than a bracket, which ordinary text contains.
pub(crate) fn is_word(literal: &str) -> bool {
    literal.len() > 1
}
