//! JSON text: written by us, and read as a model writes it.

pub(crate) mod arguments;
pub(crate) mod copy;
pub(crate) mod scan;
pub(crate) mod unescape;
pub(crate) mod write;
