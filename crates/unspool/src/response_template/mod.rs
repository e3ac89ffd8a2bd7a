//! Checkpoints with their own `response_template`: regions with openers and closers, patterns with captures, parsers
//! for the contents of a region, and transforms that turn them into calls.
//!
//! The template is parsed and checked once ([`TemplateSpec`]); a [`Machine`] then parses a reply. Reasoning and content
//! are emitted as they come. A region of calls is decided at its end: until then it stays in the input.

mod approximate;
mod calls;
mod content;
mod delimiter;
mod io;
mod json;
mod machine;
mod outline;
mod spec;
mod transform;
mod value;

pub(crate) use io::{Call, Halves, MachineCx, MachineOut, Phase};
pub(crate) use machine::{Machine, MachineState};
pub(crate) use outline::{CallContent, CallRegion, Outline, Piece, Region};
pub(crate) use spec::TemplateSpec;

#[cfg(test)]
mod tests;
