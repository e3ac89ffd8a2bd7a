//! The factor by which a tokenizer's normalizer may expand a text, computed from its file: the expanded text is held in
//! memory.

use serde_json::Value;

use crate::error::TextError;

/// Maximum number of bytes from one byte. Decomposing characters takes eighteen, and a file that also lowercases and
/// replaces blanks stays far below.
const MOST: u64 = 128;
/// Maximum number of bytes of a decomposed character, per byte of the original.
const DECOMPOSED: u64 = 18;
/// Maximum length of a decoder's replacement text, in bytes.
const LONGEST_REPLACEMENT: usize = 256;

/// Checks a `tokenizer.json`.
///
/// # Errors
/// It, or its decoder, expands text too much.
pub(super) fn check(file: &Value) -> Result<(), TextError> {
    let growth = of(file.get("normalizer").unwrap_or(&Value::Null), 0);
    if growth > MOST {
        return Err(TextError::new(format!("its normalizer can make {growth} bytes of one, more than {MOST}"))
            .hint("this is no tokenizer of a language model; is the file as it was published?"));
    }
    let decoder = file.get("decoder").unwrap_or(&Value::Null);
    let listed = decoder.get("decoders").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for step in std::iter::once(decoder).chain(listed) {
        let longest = ["content", "replacement", "prefix", "suffix"].iter().filter_map(|key| step.get(*key)?.as_str());
        if longest.map(str::len).max().is_some_and(|length| length > LONGEST_REPLACEMENT) {
            return Err(TextError::new(format!(
                "its decoder puts in a text of more than {LONGEST_REPLACEMENT} bytes for each token"
            )));
        }
    }
    Ok(())
}

/// Maximum number of bytes from one byte.
fn of(normalizer: &Value, depth: usize) -> u64 {
    const DEEPEST: usize = 16;
    if depth > DEEPEST {
        return u64::MAX;
    }
    let length = |key: &str| normalizer.get(key).and_then(Value::as_str).map_or(0, str::len) as u64;
    match normalizer.get("type").and_then(Value::as_str) {
        Some("Sequence") => {
            let steps = normalizer["normalizers"].as_array().map_or(&[][..], Vec::as_slice);
            steps.iter().fold(1, |total: u64, step| total.saturating_mul(of(step, depth + 1)))
        }
        Some("Replace") => match normalizer.pointer("/pattern/String").and_then(Value::as_str) {
            Some(from) if !from.is_empty() => length("content").div_ceil(from.len() as u64).max(1),
            // A regular expression can match between any two characters.
            _ => length("content").saturating_add(1),
        },
        // It comes once per text, not per byte; but a text can be one byte.
        Some("Prepend") => length("prepend").saturating_add(1),
        Some("NFD" | "NFC" | "NFKD" | "NFKC" | "Nmt" | "Precompiled") => DECOMPOSED,
        Some("ByteLevel") => 2,
        Some("Lowercase" | "BertNormalizer" | "StripAccents") => 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_multiplies_text_is_refused() {
        let replace = |from: &str, to: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": to});
        let normalizer = |steps: Value| json!({"normalizer": {"type": "Sequence", "normalizers": steps}});
        for fitting in [
            json!({}),
            json!({"normalizer": {"type": "NFKC"}}),
            normalizer(json!([{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")])),
            normalizer(json!([{"type": "NFKC"}, {"type": "Lowercase"}])),
        ] {
            assert_eq!(check(&fitting), Ok(()), "{fitting}");
        }
        let doubling = replace("a", "aa");
        for multiplying in [
            json!({"normalizer": replace("a", &"a".repeat(129))}),
            normalizer(Value::Array(vec![doubling.clone(); 8])),
            json!({"normalizer": {"type": "Replace", "pattern": {"Regex": ""}, "content": "a".repeat(128)}}),
            json!({"decoder": {"type": "Sequence", "decoders": [replace("a", &"a".repeat(257))]}}),
        ] {
            assert!(check(&multiplying).is_err(), "{multiplying}");
        }
        assert_eq!(check(&normalizer(Value::Array(vec![doubling; 7]))), Ok(()));
    }
}
