//! Fills templates, piece by piece.

use crate::format::file::Channels;
use crate::format::template::{Part, Slot};

use super::RenderError;
use super::words::Words;

/// Fills the slots of a template.
pub(super) trait Fill {
    /// Writes the value of a slot.
    fn slot(&mut self, slot: Slot, out: &mut String) -> Result<(), RenderError>;

    /// Writes the value of a slot in a tag's attribute.
    fn attribute(&mut self, slot: Slot, out: &mut String) -> Result<(), RenderError> {
        self.slot(slot, out)
    }
}

impl<F: FnMut(Slot, &mut String) -> Result<(), RenderError>> Fill for F {
    fn slot(&mut self, slot: Slot, out: &mut String) -> Result<(), RenderError> {
        self(slot, out)
    }
}

/// The text being written.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    pub(super) out: String,
    channels: Option<&'a Channels>,
    header: Option<&'a str>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(words: &Words<'a>) -> Self {
        Self {
            out: String::new(),
            channels: words.channels(),
            header: words.contents().find_map(|c| c.header.as_deref()),
        }
    }

    /// Writes a thought or an answer. Returns the end of its text.
    pub(super) fn text(&mut self, parts: &[Part], text: &str) -> Result<usize, RenderError> {
        let mut end = 0;
        self.piece(parts, &mut |_: Slot, out: &mut String| {
            out.push_str(text);
            end = out.len();
            Ok(())
        })?;
        Ok(end)
    }

    /// Writes one piece of the reply: a thought, an answer, a block or a call.
    pub(super) fn piece(&mut self, parts: &[Part], fill: &mut impl Fill) -> Result<(), RenderError> {
        if !self.out.is_empty() {
            self.out.push_str(self.header.unwrap_or_default());
            return fill_parts(parts, true, &mut self.out, fill);
        }
        let Some((channels, Part::Text(first))) = self.channels.zip(parts.first()) else {
            return fill_parts(parts, self.channels.is_some(), &mut self.out, fill);
        };
        // If replies are messages, the prompt ends after the first message's start and role.
        let behind_prompt = match first.strip_prefix(channels.start.as_str()) {
            Some(rest) => rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'),
            None => first,
        };
        self.out.push_str(behind_prompt);
        fill_parts(&parts[1..], true, &mut self.out, fill)
    }
}

/// Fills parts of a template. `stands`: something precedes it, so that leading white space is written.
pub(super) fn fill_parts(
    parts: &[Part],
    mut stands: bool,
    out: &mut String,
    fill: &mut impl Fill,
) -> Result<(), RenderError> {
    for part in parts {
        match part {
            Part::Text(text) | Part::Optional(text) => {
                let text = if stands { text.as_str() } else { text.trim_start() };
                stands |= !text.is_empty();
                out.push_str(text);
                continue;
            }
            Part::Free(text) => out.push_str(text),
            Part::Slot(slot) => fill.slot(*slot, out)?,
            Part::Attrs(attributes) => {
                for (name, slot) in attributes {
                    out.push(' ');
                    out.push_str(name);
                    out.push_str("=\"");
                    fill.attribute(*slot, out)?;
                    out.push('"');
                }
            }
        }
        stands = true;
    }
    Ok(())
}
