//! JSON text: written by us, and scanned as a model writes it.

pub(crate) mod scan;
pub(crate) mod write;
