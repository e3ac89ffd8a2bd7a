//! Formats: one file of templates per model family.

mod clash;
pub mod template;

pub mod file;

pub mod source;
