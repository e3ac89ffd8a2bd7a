use serde_json::json;

use super::*;
use crate::schema::FunctionSchema;

const RULES: Rules = Rules { silent: Silent::Text, python: false, depth: 16 };

fn written(converted: &Converted<'_>) -> String {
    let mut out = String::new();
    converted.write(&mut |piece| out.push_str(piece));
    out
}

/// The JSON text that `text` becomes under a schema.
fn typed_by(schema: &serde_json::Value, text: &str, rules: Rules) -> String {
    let schema = FunctionSchema::new(&json!({"properties": {"p": schema}}));
    let want = Want::Schema(schema.parameter("p").and_then(|id| schema.get(id)));
    let out = written(&convert(text, want, rules));
    assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok(), "{text:?} became {out}");
    guesses_agree(text, want, rules, &out);
    out
}

/// A text that counts as "only a string" must indeed become that string, in every split.
fn guesses_agree(text: &str, want: Want<'_>, rules: Rules, out: &str) {
    let forms = Forms::of(want, rules);
    for size in [1, 2, 3, usize::MAX] {
        let mut guess = if forms.is_string_only() { Guess::String } else { Guess::Start };
        let mut from = 0;
        while from < text.len() {
            let mut end = from.saturating_add(size).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            guess = guess.after(forms, &text[from..end], end);
            from = end;
        }
        if guess == Guess::String {
            assert_eq!(written(&Converted::Text(text)), out, "{text:?} was given up too early");
        }
    }
}

fn typed(schema: &serde_json::Value, text: &str) -> String {
    typed_by(schema, text, RULES)
}

#[test]
fn integers_keep_their_digits_and_become_json() {
    for (text, expected) in [
        ("42", "42"),
        (" 1_000\n", "1000"),
        ("+5", "5"),
        ("007", "7"),
        ("-007", "-7"),
        ("-0", "0"),
        ("12345678901234567890123", "12345678901234567890123"),
        ("12.0", "12.0"),
        ("1e3", "1e3"),
        ("12x", "\"12x\""),
        ("1__0", "\"1__0\""),
        ("", "\"\""),
        ("true", "true"),
        ("0x10", "16"),
        ("{\"a\": 1}", "{\"a\": 1}"),
        ("NaN", "\"NaN\""),
    ] {
        assert_eq!(typed(&json!({"type": "integer"}), text), expected, "{text:?}");
    }
    let long = "9".repeat(400);
    assert_eq!(typed(&json!({"type": "integer"}), &long), format!("\"{long}\""));
}

#[test]
fn numbers_keep_their_digits_and_never_overflow() {
    for (text, expected) in [
        ("0.50", "0.50"),
        ("-0.50", "-0.50"),
        (".5", "0.5"),
        ("-.5e-3", "-0.5e-3"),
        ("5.", "5.0"),
        ("00.5", "0.5"),
        ("1_0.5_0", "10.50"),
        ("1e3", "1e3"),
        ("1E+0_3", "1E+03"),
        ("12345678901234567890", "12345678901234567890"),
        ("1e400", "\"1e400\""),
        ("-1e400", "\"-1e400\""),
        ("inf", "\"inf\""),
        ("Infinity", "\"Infinity\""),
        (".", "\".\""),
        ("1e", "\"1e\""),
        ("fast", "\"fast\""),
    ] {
        assert_eq!(typed(&json!({"type": "number"}), text), expected, "{text:?}");
    }
}

#[test]
fn words_convert_in_any_case_and_others_stay_text() {
    for (text, expected) in
        [("TRUE", "true"), (" false ", "false"), ("1", "true"), ("0", "false"), ("yes", "\"yes\""), ("2", "2")]
    {
        assert_eq!(typed(&json!({"type": "boolean"}), text), expected, "{text:?}");
    }
    assert_eq!(typed(&json!({"type": "null"}), "NULL"), "null");
    assert_eq!(typed(&json!({"type": "null"}), "none"), "\"none\"");
}

#[test]
fn a_string_schema_keeps_every_byte() {
    for text in ["null", " 5 ", "{\"a\": [1, 2]}", "true", "007", "a\"b\n"] {
        assert_eq!(typed(&json!({"type": "string"}), text), serde_json::to_string(text).unwrap());
    }
}

#[test]
fn unions_convert_in_one_order_and_only_to_allowed_kinds() {
    for (schema, text, expected) in [
        (json!({"type": ["string", "null"]}), "null", "null"),
        (json!({"type": ["string", "null"]}), "nullable", "\"nullable\""),
        (json!({"type": ["integer", "string"]}), "5", "5"),
        (json!({"type": ["integer", "string"]}), "5.5", "\"5.5\""),
        (json!({"type": ["string", "boolean"]}), "1", "true"),
        (json!({"anyOf": [{"type": "boolean"}, {"type": "number"}]}), "0", "0"),
        (json!({"type": ["string", "object"]}), "{\"a\": 1}", "{\"a\": 1}"),
        (json!({"type": ["string", "object"]}), "[1]", "\"[1]\""),
        (json!({"type": ["string", "object"]}), "5", "\"5\""),
        (json!({"type": ["string", "array"]}), "[1, [2]]", "[1, [2]]"),
        (json!({"type": "geo"}), "[1]", "[1]"),
        (json!({"type": "geo"}), "north", "\"north\""),
    ] {
        assert_eq!(typed(&schema, text), expected, "{text:?}");
    }
}

#[test]
fn listed_values_are_tried_without_outer_white_space() {
    let mode = json!({"type": "string", "enum": ["eco", " padded"]});
    assert_eq!(typed(&mode, "\n eco "), "\"eco\"");
    assert_eq!(typed(&mode, " padded"), "\" padded\"");
    assert_eq!(typed(&mode, " turbo "), "\" turbo \"");
    assert_eq!(typed(&mode, &" ".repeat(2000)), serde_json::to_string(&" ".repeat(2000)).unwrap());
    assert_eq!(typed(&json!({"enum": [1, 2, 3]}), "2"), "2");
    assert_eq!(typed(&json!({"enum": ["1", "2"]}), "2"), "\"2\"");
    assert_eq!(typed(&json!({"type": ["string", "integer"], "enum": ["1", "2"]}), "2"), "\"2\"");
    assert_eq!(typed(&json!({"type": "integer", "enum": [1, 2]}), "7"), "7");
    let gain = json!({"oneOf": [{"type": "integer"}, {"type": "string", "enum": ["auto"]}]});
    assert_eq!(typed(&gain, " auto\n"), "\"auto\"");
    assert_eq!(typed(&gain, " 3 "), "3");
}

#[test]
fn json_in_a_text_is_passed_on_as_it_is() {
    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    assert_eq!(typed(&object, "\n{\"n\":\"1.50\", \"n\": 2}\n"), "{\"n\":\"1.50\", \"n\": 2}");
    assert_eq!(typed(&object, "{\"n\": \"a\tb\nc\"}"), "{\"n\": \"a\\tb\\nc\"}");
    assert_eq!(typed(&object, "{\n  \"n\": [ ]\n}"), "{\n  \"n\": [ ]\n}");
    assert_eq!(typed(&object, "[1]"), "[1]");
    assert_eq!(typed(&object, "{oops"), "\"{oops\"");
    assert_eq!(typed(&object, "{\"n\": NaN}"), "\"{\\\"n\\\": NaN}\"");
    let deep = "[".repeat(17) + &"]".repeat(17);
    assert_eq!(typed(&json!({"type": "array"}), &deep), format!("\"{deep}\""));
    assert_eq!(typed(&json!({"type": "array"}), &deep[1..33]), deep[1..33]);
}

#[test]
fn where_no_string_is_allowed_a_literal_of_python_is_what_was_meant() {
    let list = json!({"type": "array"});
    assert_eq!(typed(&json!({"type": "object"}), "{'n': None}"), "{\"n\": null}");
    assert_eq!(typed(&list, "[{'old': 'x', 'all': True},]"), "[{\"old\": \"x\", \"all\": true}]");
    assert_eq!(typed(&list, " ('a', 1) "), "[\"a\", 1]");
    // A value of another kind stays a string, and so does an invalid literal.
    assert_eq!(typed(&list, "{'n': 1}"), "\"{'n': 1}\"");
    assert_eq!(typed(&list, "(1)"), "\"(1)\"");
    assert_eq!(typed(&list, "[1,]"), "\"[1,]\"");
    assert_eq!(typed(&json!({"type": "object"}), "let m = {a: 1};"), "\"let m = {a: 1};\"");
    assert_eq!(typed(&json!({"type": ["array", "string"]}), "['a']"), "\"['a']\"");
    for (schema, json) in [
        (json!({"type": ["integer", "null"]}), "null"),
        (json!({"anyOf": [{"type": "object"}, {"type": "null"}]}), "null"),
        (json!({"enum": [1, null]}), "null"),
        (json!({"type": ["string", "null"]}), "\"None\""),
        (json!({"enum": ["a", null]}), "\"None\""),
        (json!({"type": "integer"}), "\"None\""),
    ] {
        assert_eq!(typed(&schema, "None"), json, "{schema}");
    }
    assert_eq!(typed(&json!({"type": "object"}), r#"{"p": "D:\Logs"}"#), r#"{"p": "D:\\Logs"}"#);
}

#[test]
fn a_silent_schema_follows_the_format() {
    assert_eq!(typed(&json!({}), "17"), "\"17\"");
    let json_rules = Rules { silent: Silent::Json, ..RULES };
    for (text, expected) in [
        (" 5 ", "5"),
        ("007", "\"007\""),
        ("\"a\"", "\"a\""),
        ("null", "null"),
        ("{\"a\": 1}", "{\"a\": 1}"),
        ("plain", "\"plain\""),
        ("1e400", "\"1e400\""),
        ("'a'", "\"'a'\""),
    ] {
        assert_eq!(typed_by(&json!({}), text, json_rules), expected, "{text:?}");
    }
    assert_eq!(written(&convert("[1", Want::Json, json_rules)), "\"[1\"");
    assert_eq!(written(&convert("true", Want::Json, RULES)), "true");
}

#[test]
fn python_literals_become_json() {
    let rules = Rules { silent: Silent::Json, python: true, depth: 16 };
    for (text, expected) in [
        ("None", "null"),
        ("True", "true"),
        ("'it''s'", "\"its\""),
        ("'a\\x41\\u00e9\\n\"'", "\"aAé\\n\\\"\""),
        ("(1, 2)", "[1, 2]"),
        ("(1)", "1"),
        ("('a',)", "[\"a\"]"),
        ("()", "[]"),
        ("{}", "{}"),
        ("{1, 2}", "[1, 2]"),
        ("{'cap': 2, 'avoid': ('a',), 3: None,}", "{\"cap\": 2, \"avoid\": [\"a\"], \"3\": null}"),
        ("{'a': {'b': [True, 0x10]}}", "{\"a\": {\"b\": [true, 16]}}"),
        ("['''x\n'y' ''']", "[\"x\\n'y' \"]"),
        ("0x10", "16"),
        ("-0b11", "-3"),
        ("0x_FF_ff", "65535"),
        ("0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "5444517870735015415413993718908291383295"),
        ("0x", "\"0x\""),
        ("0x+1", "\"0x+1\""),
        ("0b1__0", "\"0b1__0\""),
        (r"['\x41\101\u00e9\N{DASH}\d']", "[\"AAé\\\\N{DASH}\\\\d\"]"),
        (r"['\ud83d\udeb2', '\ud83d']", "[\"🚲\", \"\\\\ud83d\"]"),
        ("['a\\\r\nb']", "[\"ab\"]"),
        (r"[r'\x41\']']", "[\"\\\\x41\\\\']\"]"),
        ("007", "\"007\""),
        ("00.5", "0.5"),
        ("[1 2]", "\"[1 2]\""),
        ("{'a': 1, 2}", "\"{'a': 1, 2}\""),
        ("[inf]", "\"[inf]\""),
        ("'open", "\"'open\""),
        ("run", "\"run\""),
    ] {
        assert_eq!(typed_by(&json!({}), text, rules), expected, "{text:?}");
    }
    assert_eq!(typed_by(&json!({"type": ["object", "string"]}), "{'a': 1}", rules), "{\"a\": 1}");
    assert_eq!(typed_by(&json!({"type": ["integer", "string"]}), "0x10", rules), "16");
    assert_eq!(typed_by(&json!({"type": "string"}), "None", rules), "\"None\"");
    assert_eq!(typed_by(&json!({"type": ["array", "string"]}), "(1, 2)", rules), "[1, 2]");
    let deep = "(".repeat(400) + &")".repeat(400);
    assert_eq!(typed_by(&json!({}), &deep, rules), format!("\"{deep}\""));
}

#[test]
fn free_text_of_a_union_is_known_to_be_a_string_early() {
    let schema = FunctionSchema::new(&json!({"properties": {"p": {"type": ["string", "null"]}}}));
    let forms = Forms::of(Want::Schema(schema.parameter("p").and_then(|id| schema.get(id))), RULES);
    assert!(!forms.is_string_only());
    assert_ne!(Guess::Start.after(forms, " nul", 4), Guess::String);
    assert_eq!(Guess::Start.after(forms, "nur", 3), Guess::String);
    assert_eq!(Guess::Start.after(forms, "5", 1), Guess::String);
    assert_eq!(Guess::Start.after(forms, "null x", 6), Guess::String);
}

#[test]
fn a_number_of_another_base_is_one_where_no_string_is_allowed() {
    for (kind, text, expected) in [
        (json!("integer"), "0x10", "16"),
        (json!("integer"), "0b1", "1"),
        (json!("number"), "0o17", "15"),
        (json!("integer"), "1_000", "1000"),
        (json!("number"), "1_000.5", "1000.5"),
        (json!(["integer", "null"]), "-0x_ff", "-255"),
        (json!(["integer", "string"]), "0x10", "\"0x10\""),
        (json!("string"), "0x10", "\"0x10\""),
    ] {
        assert_eq!(typed_by(&json!({"type": kind}), text, RULES), expected, "{kind} {text}");
    }
}
