//! Markers: what stands around a slot of a template, and the text that may be stripped next to it.

use crate::format::template::{Part, Slot, Template};

/// Text next to a marker that is dropped if it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Strip {
    pub(crate) text: Box<str>,
    /// `{?text}`: belongs to the marker. Otherwise framing: dropped at a field's outer edge, kept where pieces meet.
    pub(crate) of_marker: bool,
}

/// One side of a template: a literal with what may be stripped around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Marker {
    /// Framing or optional text in front.
    pub(crate) lead: Vec<Strip>,
    /// The literal; white space inside stands for any run.
    pub(crate) literal: String,
    /// Framing or optional text behind.
    pub(crate) trail: Vec<Strip>,
}

/// The markers before and after a slot.
pub(crate) fn around(template: &Template, slot: Slot) -> Option<(Marker, Marker)> {
    let at = template.position(|s| s == slot)?;
    Some((Marker::read(&template.parts[..at]), Marker::read(&template.parts[at + 1..])))
}

impl Marker {
    /// Reads text and optional parts: the first text with a literal is the marker.
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
