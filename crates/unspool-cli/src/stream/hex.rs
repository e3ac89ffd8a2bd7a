//! Token bytes that are not valid UTF-8 by themselves, written as hexadecimal digits.

use serde::Deserialize;

/// Bytes of a token: text, or `{"hex": …}`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or {\"hex\": \"…\"}")]
pub(super) enum Spelled {
    Text(String),
    Hex { hex: String },
}

/// `[id, text]`, or `[id, null, hex]`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected [id, text] or [id, null, hex]")]
pub(super) enum IdAndBytes {
    Text(u32, String),
    Hex(u32, (), String),
}

impl Spelled {
    pub(super) fn decode(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Hex { hex } => decode(&hex),
        }
    }
}

impl IdAndBytes {
    pub(super) fn decode(self) -> Result<(u32, Vec<u8>), String> {
        match self {
            Self::Text(id, text) => Ok((id, text.into_bytes())),
            Self::Hex(id, (), hex) => Ok((id, decode(&hex)?)),
        }
    }
}

fn decode(hex: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let fault = || format!("{hex:?} is not pairs of hexadecimal digits");
    let digits = hex.as_bytes().iter().map(digit).collect::<Option<Vec<u8>>>().ok_or_else(fault)?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(fault());
    }
    Ok(pairs.map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_pairs_of_digits() {
        assert_eq!(decode("f09F8d"), Ok(vec![0xf0, 0x9f, 0x8d]));
        assert_eq!(decode(""), Ok(vec![]));
        for bad in ["f", "0x", "é1", "f0 9"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tokens_are_read_in_both_forms() {
        let tokens: Vec<IdAndBytes> = serde_json::from_str(r#"[[5, "a"], [6, null, "c3"]]"#).unwrap();
        let tokens: Vec<_> = tokens.into_iter().map(|token| token.decode().unwrap()).collect();
        assert_eq!(tokens, [(5, b"a".to_vec()), (6, vec![0xc3])]);
        let bad = serde_json::from_str::<Vec<IdAndBytes>>(r#"[[5]]"#).unwrap_err().to_string();
        assert!(bad.contains("[id, null, hex]"), "{bad}");
    }
}
