//! Checkpoints that bring their own `response_template`: regions with openers and closers, patterns with captures,
//! parsers for what a region holds, and transforms that make calls of it.
//!
//! The template is read and checked once ([`TemplateSpec`]); a [`Machine`] then takes a reply apart. Thinking and content
//! go out as they come. A region of calls is decided by its end: until then it stays in the input.

mod approximate;
mod calls;
mod content;
mod delimiter;
mod json;
mod machine;
mod outline;
mod spec;
mod transform;
mod value;

pub(crate) use machine::{Call, Machine, MachineCx, MachineOut, MachineState, Phase};
pub(crate) use outline::{CallContent, CallRegion, Outline, Piece, Region};
pub(crate) use spec::{Halves, TemplateSpec};

#[cfg(test)]
mod tests;
