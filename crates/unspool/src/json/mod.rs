//! JSON text: written by us, and scanned as a model writes it.

pub(crate) mod write;
