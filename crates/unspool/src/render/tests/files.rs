//! The built-in format files.

use serde_json::{Map, Value};

use crate::format::file::FormatFile;
use crate::format::source::Facts;
use crate::registry::Registry;
use crate::setup::Half;

/// The words of a name under a request's switches; nothing is known of the checkpoint.
pub(super) fn named(half: Half, name: &str, kwargs: &Map<String, Value>) -> FormatFile {
    let source = Registry::builtin().find(half, name).unwrap();
    source.resolve(&Facts { name, kwargs: Some(kwargs), ..Facts::default() }).unwrap()
}
