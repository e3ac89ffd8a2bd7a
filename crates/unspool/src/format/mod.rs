//! Formats: one file of templates per model family.

pub mod template;

pub mod file;

pub mod source;
