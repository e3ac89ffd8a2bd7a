//! Reads the files that the command line names.

use std::fs;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

use serde_json::Value;

use crate::failure::{Failure, warn};

/// The name that stands for standard input.
const STDIN: &str = "-";

/// Some editors write this at the start of a text; it is not part of it.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Reads a file's text without a byte order mark. An error names the option.
pub(crate) fn text(option: &str, path: &Path) -> Result<String, Failure> {
    let read = fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read {}: {}", path.display(), plain(&error));
        Failure::usage(message, format!("`{option}` must name a readable text file"))
    });
    read.map(unmarked)
}

fn unmarked(mut text: String) -> String {
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    text
}

/// Reads a file's JSON value.
pub(crate) fn json(option: &str, path: &Path) -> Result<Value, Failure> {
    serde_json::from_str(&text(option, path)?).map_err(|error| {
        let message = format!("{}:{}:{}: not JSON: {}", path.display(), error.line(), error.column(), reason(&error));
        Failure::usage(message, format!("`{option}` must name a file with one JSON value"))
    })
}

/// Reads the raw output from a file or standard input. Invalid UTF-8 becomes U+FFFD, with a warning.
pub(crate) fn raw(path: Option<&Path>) -> Result<String, Failure> {
    let bytes = match path {
        Some(path) if path != Path::new(STDIN) => fs::read(path).map_err(|error| {
            let message = format!("cannot read {}: {}", path.display(), plain(&error));
            Failure::usage(message, "give the file with the raw output, or pipe it into the command")
        })?,
        _ => stdin()?,
    };
    let text = String::from_utf8(bytes).unwrap_or_else(|error| {
        let at = error.utf8_error().valid_up_to();
        warn(&format!("the raw output is not UTF-8 at byte {at}; such bytes become U+FFFD"), None);
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    });
    Ok(unmarked(text))
}

fn stdin() -> Result<Vec<u8>, Failure> {
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        warn("reading the raw output from the keyboard", Some("end it with Ctrl-D, or name a file"));
    }
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|error| Failure::Io(format!("cannot read standard input: {error}")))?;
    Ok(bytes)
}

/// The system's error text without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// The reason without the position, which the message already has.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
