//! Formats: one file of templates per model family.

pub(crate) mod check;
mod clash;
pub mod detect;
mod example;
pub mod file;
pub(crate) mod marker;
pub mod source;
pub(crate) mod syntax;
pub mod template;
mod tools;
