//! Bodies that break, that the output's end cuts off, and that are too large.

use super::*;

#[test]
fn a_broken_body_keeps_what_was_well_formed() {
    for (text, arguments) in [
        (r#"{"name": "f", "arguments": {leaf}}"#, "{"),
        (r#"{"name": "f", "arguments": {"room": A}}"#, r#"{"room": "#),
        (r#"{"name": "f", "arguments": {"room": }}"#, r#"{"room": "#),
        (r#"{"name": "f", "arguments": {"a": 1]"#, r#"{"a": 1"#),
        (r#"{"name": "f", "arguments": {"a": 1</call>"#, r#"{"a": 1"#),
        (r#"{"name": "f", "arguments": {"a": 1}, x"#, r#"{"a": 1}"#),
        (r#"{"name": "f", "arguments": {"a": 1} 5"#, r#"{"a": 1}"#),
        (r#"{"name": "f", "arguments": {"a": 1}]"#, r#"{"a": 1}"#),
    ] {
        assert_eq!(
            said(&object(), text),
            ["named f".to_owned(), format!("args {arguments}"), "broken".into()],
            "{text:?}"
        );
    }
    for text in [
        r#"{"name": "f", "arguments": }"#,
        r#"{"name": "f", "arguments": x}"#,
        r#"{"name": "f", "arguments": nulx}"#,
        r#"{"name": "f", "arguments": 12}"#,
        r#"{"name": "f" "arguments": {}}"#,
        r#"{"name": "f", "t": x}"#,
        r#"{"name": "f"</call>"#,
    ] {
        assert_eq!(said(&object(), text), ["broken"], "{text:?}");
    }
    assert_eq!(said(&array(), r#"[{"name": "f", "arguments": {"room": ]"#), ["named f", r#"args {"room": "#, "broken"]);
}

#[test]
fn a_closer_ends_an_envelope_that_is_not_closed() {
    for (text, arguments) in [
        (r#"{"name": "f", "arguments": {"a": 1}"#, r#"{"a": 1}"#),
        (r#"{"name": "f", "arguments": {"a": 1}, "#, r#"{"a": 1}"#),
        (r#"{"arguments": {"a": 1}, "name": "f" "#, r#"{"a": 1}"#),
        (r#"{"name": "f", "arguments": "#, "{}"),
        (r#"{"name": "f", "arguments": null"#, "{}"),
    ] {
        for closer in ["</call>", "<call>", "\n\n</call> x"] {
            let trace = run(&object(), &format!("{text}{closer}"), Eof::Stop);
            assert_eq!(
                trace.said,
                ["named f".to_owned(), format!("args {arguments}"), "done true".into()],
                "{text:?} {closer:?}"
            );
        }
    }
    let list = r#"[{"name": "f", "arguments": {}}"#;
    for rest in ["</calls>", "<calls>", "", ", </calls>", "\n,"] {
        assert_eq!(
            said(&array(), &format!("{list}{rest}")),
            ["named f", "args {}", "end true", "done true"],
            "{rest:?}"
        );
    }
    // The list ends although the object did not.
    let text = r#"[{"name": "f", "arguments": {"a": 1}]"#;
    assert_eq!(said_before(&array(), text, "</calls>"), ["named f", r#"args {"a": 1}"#, "end true", "done true"]);
}

#[test]
fn the_end_of_the_output_decides_what_is_open() {
    for (text, stop, length) in [
        (
            r#"{"name": "f", "arguments": {"a": "hib"#,
            &[r#"args {"a": "hib"#, "done false"][..],
            &[r#"args {"a": "hib"#, "done false"][..],
        ),
        (
            r#"{"name": "f", "arguments": {"a": 1}"#,
            &[r#"args {"a": 1}"#, "done true"],
            &[r#"args {"a": 1}"#, "done true"],
        ),
        (r#"{"name": "f", "arguments": {}, "x"#, &["args {}", "done true"], &["args {}", "done true"]),
        (r#"{"name": "f", "arguments": null"#, &["args {}", "done true"], &["args {}", "done true"]),
        (
            r#"{"name": "f", "arguments": "{\"a\": 1"#,
            &[r#"args {"a": 1"#, "done false"],
            &[r#"args {"a": 1"#, "done false"],
        ),
    ] {
        for (eof, rest) in [(Eof::Stop, stop), (Eof::Length, length)] {
            assert_eq!(run(&object(), text, eof).said[1..], *rest, "{text:?} {eof:?}");
        }
    }
    // Behind the whole name a cut leaves a call; an end leaves text.
    for (text, rest) in [
        (r#"{"name": "f""#, &["done false"][..]),
        (r#"{"name": "f", "argu"#, &["done false"]),
        (r#"{"name": "f", "other": [1"#, &["done false"]),
        (r#"{"name": "f", "arguments": "#, &["done false"]),
        (r#"{"name": "f", "arguments": nu"#, &["args nu", "done false"]),
    ] {
        assert_eq!(run(&object(), text, Eof::Stop).said, ["broken"], "{text:?}");
        let said = run(&object(), text, Eof::Length).said;
        assert_eq!(
            (said[0].as_str(), &said[1..]),
            ("named f", &rest.iter().map(ToString::to_string).collect::<Vec<_>>()[..])
        );
    }
    for text in ["", "{", r#"{"name": "f"#, r#"{"na"#, r#"{"arguments": {}"#] {
        for eof in [Eof::Stop, Eof::Length] {
            assert_eq!(run(&object(), text, eof).said, ["broken"], "{text:?}");
        }
    }
    let second = run(&array(), r#"[{"name": "f", "arguments": {}}, {"na"#, Eof::Length);
    assert_eq!(second.said, ["named f", "args {}", "end true", "broken"]);
}

#[test]
fn members_without_a_place_are_told_of_whatever_else_there_is() {
    for (text, told) in [
        (r#"{"name": "f", "argum</call>\nlater words"#, r#""argum</call>\nlater words"#),
        (r#"{"name": "f", "lost wo\u00e9"#, r#""lost wo\u00e9"#),
        (r#"{"name": "f", "bad \q"#, r#""bad \q"#),
        (r#"{"name": "f", "memo": "kept?", "arguments": {}}"#, r#""memo": "kept?""#),
        (r#"{"memo": [1], "name": "f", "arguments": {}, "b\"": 2}"#, r#""memo": [1], "b\"": 2"#),
        (r#"{"name": "f", "arguments": {}, "memo"#, r#""memo"#),
        (r#"{"name": "f", "type": "function", "memo": 1, "arguments": {}}"#, r#""memo": 1"#),
    ] {
        let cut = !text.contains("{}");
        for eof in [Eof::Stop, Eof::Length].into_iter().filter(|eof| !cut || *eof == Eof::Length) {
            let diagnostics: Vec<_> = run(&object(), text, eof).diagnostics.into_iter().map(|note| note.2).collect();
            assert_eq!(diagnostics, [told], "{text:?} {eof:?}");
        }
    }
    for text in [
        r#"{"type": "function", "name": "f", "arguments": {}}"#,
        r#"{"name": "f", "arguments": {}, "type":"function"}"#,
        r#"{"name": "f""#,
    ] {
        assert!(run(&object(), text, Eof::Stop).diagnostics.is_empty(), "{text:?}");
    }
}

#[test]
fn a_later_element_that_is_no_call_is_passed_over() {
    let good = r#"{"name": "f", "arguments": {}}"#;
    for bad in [
        r#"{"nme": "g", "arguments": {"a": [1]}}"#,
        "5",
        "\"x ]\"",
        "[1, {}]",
        r#"{"name": null}"#,
        r#"{"name": "\n"}"#,
        "null",
        "{}",
    ] {
        let trace = run(&array(), &format!("[{good}, {bad} , {good}]"), Eof::Stop);
        let call = ["named f", "args {}", "end true"];
        assert_eq!(trace.said[..3], call, "{bad:?}");
        assert_eq!(trace.said[3..6], call, "{bad:?}");
        assert_eq!(trace.said[6..], ["done true"]);
        let at = 1 + good.len() + 2 + bad.len();
        assert_eq!(trace.diagnostics, [(DiagnosticKind::UnplacedText, at, bad.to_owned())], "{bad:?}");
    }
    for bad in ["x", "{name: 1}", r#"{"name": "g" 1}"#, "nulx", "</calls"] {
        let trace = run(&bare(), &format!("[{good}, {bad}]"), Eof::Stop);
        assert_eq!(trace.said, ["named f", "args {}", "end true", "broken"], "{bad:?}");
    }
}

#[test]
fn limits_hold() {
    let limits = Limits { name: 8, header: 64, held_arguments: 20, depth: 3, ..Limits::default() };
    let said = |spec: &EnvelopeSpec, text: &str| drive_all_ways::<Envelope>(spec, text, Eof::Stop, &limits).said;
    assert_eq!(said(&object(), r#"{"name": "12345678"}"#)[0], "named 12345678");
    assert_eq!(said(&object(), r#"{"name": "123456789"}"#), ["broken"]);
    assert_eq!(said(&object(), r#"{"name": "ééééé"}"#), ["broken"]);
    assert_eq!(said(&object(), r#"{"name of it all": 1, "name": "f"}"#)[0], "named f");
    let long = "x".repeat(60);
    assert_eq!(said(&object(), &format!(r#"{{"k": "{long}", "name": "f"}}"#)), ["broken"]);
    assert_eq!(said(&object(), &format!(r#"{{{}"name": "f"}}"#, " ".repeat(60))), ["broken"]);
    assert_eq!(said(&object(), &format!(r#"{{"name": "f", "k": "{long}", "arguments": {{}}}}"#)), ["broken"]);
    assert_eq!(said(&object(), r#"{"name": "f", "k": "345678901", "arguments": {}}"#)[1], "args {}");
    assert_eq!(
        said(&object(), r#"{"arguments": {"a": "34567890123"}, "name": "f"}"#)[1],
        r#"args {"a": "34567890123"}"#
    );
    assert_eq!(said(&object(), r#"{"arguments": {"a": "345678901234"}, "name": "f"}"#), ["broken"]);
    assert_eq!(
        said(&object(), r#"{"name": "f", "arguments": {"a": "much more than held_arguments"}}"#)[2],
        "done true"
    );
    assert_eq!(
        said(&object(), r#"{"name": "f", "arguments": {"a": [{"b": [1]}]}}"#),
        ["named f", r#"args {"a": [{"b": "#, "broken"]
    );
}

#[test]
fn words_must_make_sense() {
    let words = EnvelopeWords { name: List::default(), ..EnvelopeWords::default() };
    assert!(EnvelopeSpec::new(&words, &Follow::default()).unwrap_err().message.contains("tools.envelope.name"));
    let words = EnvelopeWords { id: list(&["call", "name"]), ..EnvelopeWords::default() };
    assert!(EnvelopeSpec::new(&words, &Follow::default()).unwrap_err().message.contains("the key `name`"));
    let words = EnvelopeWords { name: List::default(), shape: Shape::Key, ..EnvelopeWords::default() };
    assert!(EnvelopeSpec::new(&words, &Follow::default()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn arguments_of_any_kind_pass_verbatim(
        arguments in prop::collection::vec(crate::body::json::tests::json(), 1..4),
        first in any::<bool>(),
        places in prop::collection::vec(0usize..900, 0..10),
    ) {
        let arguments: Vec<_> = arguments.into_iter().filter(|a| a.starts_with(['{', '['])).collect();
        prop_assume!(!arguments.is_empty());
        let call = |a: &String| if first { format!(r#"{{"arguments": {a}, "name": "f"}}"#) } else { format!(r#"{{"name": "f", "arguments":{a} }}"#) };
        let calls: Vec<_> = arguments.iter().map(call).collect();
        let text = format!("[{}]</calls>", calls.join(" ,\n"));
        let trace = drive::<Envelope>(&array(), &cut_at(&text, &places), Eof::Stop, &Limits::default());
        let mut expected: Vec<_> = arguments.iter().flat_map(|a| ["named f".to_owned(), format!("args {a}"), "end true".to_owned()]).collect();
        expected.push("done true".to_owned());
        prop_assert_eq!(trace.said, expected);
    }

    /// Whatever the model writes, the cuts make no difference.
    #[test]
    fn cuts_make_no_difference(parts in prop::collection::vec(prop::sample::select(PARTS), 0..12)) {
        let text = parts.concat();
        let small = Limits { name: 8, header: 24, held_arguments: 12, blank: 4, depth: 3, ..Limits::default() };
        for spec in [object(), array(), bare(), keyed(Container::Either), with_ids()] {
            for eof in [Eof::Stop, Eof::Length] {
                run(&spec, &text, eof);
                drive_all_ways::<Envelope>(&spec, &text, eof, &small);
            }
        }
    }
}

/// Pieces that calls are made of, and some that they are not.
const PARTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\n",
    "\"name\"",
    "\"tool\"",
    "\"arguments\"",
    "\"parameters\"",
    "\"call_id\"",
    "\"f\"",
    "{\"name\": \"f\", ",
    "\"arguments\": {",
    "\"name\": \"f\"",
    "{\"tool\": \"t\"",
    "\"arguments\": ",
    "\"x\": ",
    "null",
    "nul",
    "12",
    "\"{\\\"a\\\"",
    "\\ud83c\\udf75",
    "\"é",
    "\\",
    "\u{1}",
    "</call>",
    "</ca",
    "<call>",
    "</calls>",
    "<end>",
    "text",
    "{}",
    "}}",
    "}]",
    "\", \"",
    "\"[1] \"",
    "{\"f\": ",
];
