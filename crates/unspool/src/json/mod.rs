//! JSON text: writing it, and reading a model's.

pub(crate) mod arguments;
pub(crate) mod copy;
pub(crate) mod scan;
pub(crate) mod unescape;
pub(crate) mod write;
