//! Writes JSON strings piece by piece.

/// Whether a byte needs an escape inside a JSON string.
fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Gives the inside of a JSON string (without quotes) for `text` to `write`, in slices of `text` wherever nothing needs an escape.
pub(crate) fn string_piece(text: &str, mut write: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut from = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        if !needs_escape(byte) {
            continue;
        }
        if from < i {
            write(&text[from..i]);
        }
        control(byte, &mut write);
        from = i + 1;
    }
    if from < bytes.len() {
        write(&text[from..]);
    }
}

/// Writes the escape of one byte that needs one.
pub(crate) fn control(byte: u8, write: &mut impl FnMut(&str)) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => write("\\\""),
        b'\\' => write("\\\\"),
        b'\n' => write("\\n"),
        b'\r' => write("\\r"),
        b'\t' => write("\\t"),
        0x08 => write("\\b"),
        0x0c => write("\\f"),
        _ => {
            write("\\u00");
            let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
            write(std::str::from_utf8(&digits).unwrap_or_default());
        }
    }
}

/// `text` as a whole JSON string, quotes included, appended to `out`.
pub(crate) fn string(out: &mut String, text: &str) {
    out.push('"');
    string_piece(text, |piece| out.push_str(piece));
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::string;

    #[test]
    fn what_json_forbids_is_escaped_and_nothing_else() {
        let mut out = String::new();
        string(&mut out, "a\"b\\c\n\u{1}ü/\u{7f}");
        assert_eq!(out, "\"a\\\"b\\\\c\\n\\u0001ü/\u{7f}\"");
    }
}
