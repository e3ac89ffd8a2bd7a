//! Joins the bytes of tokens to text.

/// Joins pieces of bytes to text. An incomplete character waits for its next bytes; each ill-formed sequence becomes
/// one U+FFFD as soon as it is certain. The text does not depend on how the bytes are split.
#[derive(Debug, Clone, Default)]
pub struct Utf8Decoder {
    held: Vec<u8>,
}

impl Utf8Decoder {
    /// Appends the text of `bytes` to `out`, as far as it is certain.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        if self.held.is_empty() {
            let rest = decode(bytes, out);
            self.held.extend_from_slice(rest);
            return;
        }
        let mut joined = std::mem::take(&mut self.held);
        joined.extend_from_slice(bytes);
        let rest = decode(&joined, out).len();
        // The rest is the beginning of one character, at most three bytes.
        joined.drain(..joined.len() - rest);
        self.held = joined;
    }

    /// Whether a character waits for its next bytes.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.held.is_empty()
    }

    /// Ends the input: a partial character becomes one U+FFFD.
    pub fn finish(&mut self, out: &mut String) {
        if !self.held.is_empty() {
            self.held.clear();
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Appends what is certain and returns the partial character at the end.
fn decode<'a>(mut bytes: &'a [u8], out: &mut String) -> &'a [u8] {
    loop {
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                out.push_str(text);
                return &[];
            }
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                // `valid` is UTF-8 according to the error, so nothing is replaced here.
                out.push_str(&String::from_utf8_lossy(valid));
                let Some(bad) = error.error_len() else { return rest };
                out.push(char::REPLACEMENT_CHARACTER);
                bytes = rest.get(bad..).unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(parts: &[&[u8]]) -> String {
        let mut decoder = Utf8Decoder::default();
        let mut out = String::new();
        for part in parts {
            decoder.push(part, &mut out);
        }
        decoder.finish(&mut out);
        out
    }

    #[test]
    fn every_cut_gives_the_same_text() {
        let inputs: [&[u8]; 5] = [
            "a€🛶é".as_bytes(),
            b"\xf0\x9f\x9b",
            b"\xe2\x82x\xac",
            b"\xff\xfe ok \xc3",
            b"\xf0\x9f\x9b\xb6\xed\xa0\x80.",
        ];
        for input in inputs {
            let whole = decoded(&[input]);
            assert_eq!(whole, String::from_utf8_lossy(input), "{input:x?}");
            let single: Vec<&[u8]> = input.chunks(1).collect();
            assert_eq!(decoded(&single), whole, "{input:x?} byte by byte");
            for cut in 0..=input.len() {
                let (a, b) = input.split_at(cut);
                assert_eq!(decoded(&[a, b]), whole, "{input:x?} cut at {cut}");
            }
        }
    }

    #[test]
    fn half_a_character_waits() {
        let mut decoder = Utf8Decoder::default();
        let mut out = String::new();
        decoder.push(&[0xe2, 0x82], &mut out);
        assert!(out.is_empty() && decoder.is_waiting());
        decoder.push(&[0xac], &mut out);
        assert_eq!(out, "€");
        assert!(!decoder.is_waiting());
    }
}
