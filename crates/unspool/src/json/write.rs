//! Writes JSON strings incrementally.

use super::scan::plain;

/// Whether a byte needs an escape inside a JSON string.
fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Passes the inside of a JSON string (without quotes) for `text` to `write`, as slices of `text` where nothing needs
/// an escape.
pub(crate) fn string_piece(text: &str, mut write: impl FnMut(&str)) {
    string_of(text, |json, _| write(json));
}

/// The same with the slice of `text` for each piece.
pub(crate) fn string_of(text: &str, mut write: impl FnMut(&str, &str)) {
    let bytes = text.as_bytes();
    let (mut from, mut at) = (0, 0);
    loop {
        at += plain(&bytes[at..]);
        if at == bytes.len() {
            break;
        }
        if from < at {
            write(&text[from..at], &text[from..at]);
        }
        let run = bytes[at..].iter().take_while(|byte| needs_escape(**byte)).count();
        let end = at + run;
        escaped(&bytes[at..end], &mut |json, len| {
            write(json, &text[at..at + len]);
            at += len;
        });
        from = at;
    }
    if from < bytes.len() {
        write(&text[from..], &text[from..]);
    }
}

/// Maximum size of escapes written at once, in bytes.
const ROOM: usize = 120;

/// Writes a run of bytes that all need an escape, many at once, because a text may be full of line breaks. `write` also
/// receives the number of bytes for each piece.
pub(crate) fn escaped(run: &[u8], write: &mut impl FnMut(&str, usize)) {
    const LONGEST: usize = 6;
    for part in run.chunks(ROOM / LONGEST) {
        let (mut text, mut len) = ([0; ROOM], 0);
        let mut put = |bytes: &[u8]| {
            text[len..len + bytes.len()].copy_from_slice(bytes);
            len += bytes.len();
        };
        part.iter().for_each(|byte| control(*byte, &mut put));
        write(std::str::from_utf8(&text[..len]).unwrap_or_default(), part.len());
    }
}

/// Writes the escape of one byte.
fn control(byte: u8, put: &mut impl FnMut(&[u8])) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => put(b"\\\""),
        b'\\' => put(b"\\\\"),
        b'\n' => put(b"\\n"),
        b'\r' => put(b"\\r"),
        b'\t' => put(b"\\t"),
        0x08 => put(b"\\b"),
        0x0c => put(b"\\f"),
        _ => {
            put(b"\\u00");
            put(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

/// Appends `text` to `out` as a complete JSON string, quotes included.
pub(crate) fn string(out: &mut String, text: &str) {
    out.push('"');
    string_piece(text, |piece| out.push_str(piece));
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::{string, string_piece};

    #[test]
    fn what_json_forbids_is_escaped_and_nothing_else() {
        let mut out = String::new();
        string(&mut out, "a\"b\\c\n\u{1}ü/\u{7f}");
        assert_eq!(out, "\"a\\\"b\\\\c\\n\\u0001ü/\u{7f}\"");
    }

    #[test]
    fn a_run_of_escapes_is_few_pieces() {
        let (mut pieces, mut all) = (0, String::new());
        let text = format!("a{}b", "\n\u{1}".repeat(1000));
        string_piece(&text, |piece| {
            pieces += 1;
            all.push_str(piece);
        });
        assert_eq!(all, format!("a{}b", "\\n\\u0001".repeat(1000)));
        assert!(pieces <= 2 + 2000 / 20, "{pieces} pieces");
    }
}
