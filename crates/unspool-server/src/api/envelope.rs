//! Texts in an alphabet that every client passes back: reasoning for clients that keep nothing else of it, and call ids
//! in the alphabet of an API. They are not secret: the reader has seen the answer anyway.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Prefix of envelopes for reasoning.
const THOUGHT: &str = "unspool-thought-";
/// Prefix of ids that had to be re-encoded.
const ID: &str = "toolu_unspool_";

/// Reasoning in an envelope.
pub(super) fn thought(text: &str) -> String {
    format!("{THOUGHT}{}", URL_SAFE_NO_PAD.encode(text))
}

/// The reasoning in an envelope; `None`: it is not one of ours, or damaged.
pub(super) fn thought_in(envelope: &str) -> Option<String> {
    opened(THOUGHT, envelope)
}

/// An id of letters, digits, `_` and `-`.
pub(super) fn id(own: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !own.is_empty() && own.chars().all(fits) && !own.starts_with(ID) {
        return own.to_owned();
    }
    format!("{ID}{}", URL_SAFE_NO_PAD.encode(own))
}

/// The original of an id from [`id`].
pub(super) fn own_id(id: &str) -> String {
    opened(ID, id).unwrap_or_else(|| id.to_owned())
}

fn opened(mark: &str, text: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(text.strip_prefix(mark)?).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_out_comes_back() {
        for text in ["", "Two keels.\n", "é🛶\0"] {
            assert_eq!(thought_in(&thought(text)).as_deref(), Some(text));
        }
        for foreign in ["", "gAAAAABo", "unspool-thought-!", "unspool-thought-_w"] {
            assert_eq!(thought_in(foreign), None, "{foreign}");
        }
        for own in ["functions.tide:0", "call_1", "chatcmpl-tool-0a", "", "é", "toolu_unspool_x"] {
            let id = id(own);
            assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) && !id.is_empty(), "{id}");
            assert_eq!(own_id(&id), own);
        }
        assert_eq!(id("call_1"), "call_1");
    }
}
