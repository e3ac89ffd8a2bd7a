use proptest::prelude::*;

use super::{JsonScan, Scanned, Stop, plain};

/// Reads `pieces` to the end or error of the value: the number of bytes, the result, and the positions of control
/// characters.
fn read(pieces: &[&[u8]], depth: usize) -> (usize, Stop, Vec<usize>) {
    let mut scan = JsonScan::default();
    let mut controls = Vec::new();
    let mut done = 0;
    for piece in pieces {
        let mut from = 0;
        loop {
            let Scanned { len, stop } = scan.scan(&piece[from..], depth);
            from += len;
            match stop {
                Stop::More => break,
                Stop::Control => {
                    controls.push(done + from);
                    from += 1;
                }
                Stop::Escape(_) => {}
                Stop::End | Stop::Bad => return (done + from, stop, controls),
            }
        }
        assert_eq!(from, piece.len(), "all of a piece is read before more is asked for");
        done += piece.len();
    }
    (done, if scan.may_end() { Stop::End } else { Stop::More }, controls)
}

/// Reads `text` whole, in every two pieces, and byte by byte; all results must be equal.
fn read_all_ways(text: &str) -> (usize, Stop, Vec<usize>) {
    let bytes = text.as_bytes();
    let whole = read(&[bytes], 128);
    for cut in 0..=bytes.len() {
        assert_eq!(read(&[&bytes[..cut], &bytes[cut..]], 128), whole, "{text:?} cut at {cut}");
    }
    assert_eq!(read(&bytes.chunks(1).collect::<Vec<_>>(), 128), whole, "{text:?} byte by byte");
    whole
}

#[test]
fn a_value_ends_where_it_ends() {
    for (text, rest) in [
        (r#"{"a": [1, {"b": "}"}, "]"], "c": {}}"#, " tail"),
        ("[]", "]"),
        (" \n[ 1 , -0.5e+7 , 0, 10E2]", ","),
        (r#""a\"b\\""#, "\""),
        (r#""\u00e9\/\b\f\n\r\t""#, "x"),
        ("true", "true"),
        ("null", "x"),
        ("false", "}"),
        ("12", " "),
        ("-0", "1"),
        ("1.50", "."),
        ("2e10", "e"),
        ("3", ""),
        ("{}", ""),
    ] {
        let (len, stop, _) = read_all_ways(&format!("{text}{rest}"));
        assert_eq!((len, stop), (text.len(), Stop::End), "{text:?} before {rest:?}");
    }
}

#[test]
fn what_is_no_json_stops_at_its_first_bad_byte() {
    for (good, bad) in [
        ("", "x"),
        ("", "'a'"),
        ("{", "leaf}"),
        (r#"{"room": "#, "A}"),
        (r#"{"a": 1"#, "]"),
        ("[1", "}"),
        (r#"{"a" "#, "1}"),
        (r#"{"a": 1, "#, "}"),
        ("[1, ", "]"),
        ("[0", "1]"),
        ("-", "x"),
        ("1.", " "),
        ("1e", ","),
        ("1e+", "]"),
        ("tru", "x"),
        ("[nul", "]"),
        ("{", "[1]"),
        ("[", ","),
        ("{", ","),
        ("[1 ", "2]"),
        (r#"{"room": "A""#, "<end>"),
        (r#"{"a": ["#, "é]"),
    ] {
        let (len, stop, _) = read_all_ways(&format!("{good}{bad}"));
        assert_eq!((len, stop), (good.len(), Stop::Bad), "{good:?} before {bad:?}");
    }
}

#[test]
fn an_open_value_wants_more() {
    for text in ["", " ", "{", "[1,", "\"a", "\"a\\", "\"\\u0", "{\"a\":", "-", "1.", "1e-", "nul", "[12"] {
        assert_eq!(read_all_ways(text).1, Stop::More, "{text:?}");
    }
}

#[test]
fn raw_control_characters_in_strings_are_told_and_read() {
    let text = "{\"a\nb\": \"c\td\u{0}\", \n\"e\": 1}";
    assert_eq!(read_all_ways(text), (text.len(), Stop::End, vec![3, 10, 12]));
    // After a backslash it is not an escape.
    assert_eq!(read_all_ways("\"a\\\nb\""), (6, Stop::End, vec![3]));
}

#[test]
fn a_backslash_that_begins_no_escape_is_text() {
    for text in [r#""a\x""#, r#"["\u12g4", "\u", "\'"]"#, r#"{"\d": "C:\Users\ada"}"#] {
        let text = text.replace(r"\\", r"\");
        assert_eq!(read_all_ways(&text), (text.len(), Stop::End, vec![]), "{text}");
    }
}

#[test]
fn nesting_has_a_bound() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(read_all_ways(&nested(128)).1, Stop::End);
    assert_eq!(read_all_ways(&nested(129)), (128, Stop::Bad, vec![]));
    assert_eq!(read(&[nested(4).as_bytes()], 3), (3, Stop::Bad, vec![]));
    assert_eq!(read(&[nested(200).as_bytes()], 1000), (128, Stop::Bad, vec![]), "the scan has 128 levels at most");
    let mixed = format!("{}1{}", "[{\"k\":".repeat(64), "}]".repeat(64));
    assert_eq!(read_all_ways(&mixed), (mixed.len(), Stop::End, vec![]));
    let crossed = format!("{}1{}", "[{\"k\":".repeat(40), "]}".repeat(40));
    assert_eq!(read_all_ways(&crossed).1, Stop::Bad);
}

#[test]
fn a_scan_can_be_saved() {
    let text = format!("{}{{\"a\": [\"b\\u00e", "{\"k\":[".repeat(40));
    let mut scan = JsonScan::default();
    scan.scan(text.as_bytes(), 128);
    let saved = serde_json::to_value(&scan).unwrap();
    let back: JsonScan = serde_json::from_value(saved).unwrap();
    assert_eq!(back, scan);
}

proptest! {
    #[test]
    fn plain_bytes_are_counted_right(text in "[ -~\\n\"\\\\é\u{7f}\u{1}]{0,40}") {
        let expected = text.bytes().position(|b| b < 0x20 || b == b'"' || b == b'\\').unwrap_or(text.len());
        prop_assert_eq!(plain(text.as_bytes()), expected);
    }

    /// The scan accepts a complete value if and only if a JSON parser does.
    #[test]
    fn it_agrees_with_a_json_reader(text in r#"[\[\]{},:"\\ 01.eE+truefalsn\-a]{0,14}"#) {
        let (len, stop, _) = read_all_ways(&text);
        let whole = stop == Stop::End && text[len..].trim_ascii().is_empty();
        let accepted = match serde_json::from_str::<&serde_json::value::RawValue>(&text) {
            Ok(_) => true,
            Err(e) => e.to_string().contains("surrogate"),
        };
        prop_assert_eq!(whole, accepted, "{:?}", text);
    }
}
