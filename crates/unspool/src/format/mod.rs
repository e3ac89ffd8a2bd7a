//! Formats: one file of templates per model family.

pub(crate) mod check;
mod clash;
pub mod detect;
mod example;
pub mod file;
mod lines;
pub(crate) mod marker;
mod object;
mod old;
mod rewrite;
pub mod source;
pub(crate) mod syntax;
pub mod template;
mod tools;
pub mod turns;
