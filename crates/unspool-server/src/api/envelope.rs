//! Texts in letters that every client passes back: thoughts that go through clients which keep nothing else of them, and ids of
//! calls in the letters that an API allows. It is no secret: who reads it learns what the answer said anyway.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// What our envelopes of thoughts begin with.
const THOUGHT: &str = "unspool-thought-";
/// What ids begin with that had to be written in other letters.
const ID: &str = "toolu_unspool_";

/// A thought in an envelope.
pub(super) fn thought(text: &str) -> String {
    format!("{THOUGHT}{}", URL_SAFE_NO_PAD.encode(text))
}

/// The thought in an envelope of ours; `None`: it is somebody else's, or damaged.
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

/// The id that [`id`] was made of.
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
