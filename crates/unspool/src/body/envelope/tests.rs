use proptest::prelude::*;

use super::{Cx, Envelope, EnvelopeSpec, Eof, Step};
use crate::body::Follow;
use crate::body::json::drive::{Machine, Trace, cut_at, drive, drive_all_ways};
use crate::diagnostic::DiagnosticKind;
use crate::format::file::{Commit, Container, EnvelopeWords, List, Shape};
use crate::json::scan::{Scanned, Stop};
use crate::limits::Limits;
use crate::scan::Literal;

mod faults;

impl Machine for Envelope {
    type Spec = EnvelopeSpec;

    fn advance(&mut self, spec: &EnvelopeSpec, cx: &mut Cx<'_>, input: &str) -> Step {
        self.step(spec, cx, input)
    }

    fn header(&self) -> String {
        self.id().map_or_else(|| self.name().to_owned(), |id| format!("{} id {id}", self.name()))
    }
}

fn list(keys: &[&str]) -> List {
    List(keys.iter().map(|k| (*k).to_owned()).collect())
}

fn spec_of(words: &EnvelopeWords, close: &[&str], open: &[&str]) -> EnvelopeSpec {
    let literals = |texts: &[&str]| texts.iter().map(|t| Literal::new(t, false)).collect();
    let follow = Follow { call_close: literals(close), call_open: literals(open), ..Follow::default() };
    EnvelopeSpec::new(words, &follow).unwrap()
}

/// One object with markers around it.
fn object() -> EnvelopeSpec {
    spec_of(&EnvelopeWords::default(), &["</call>"], &["<call>"])
}

/// A list with markers around it.
fn array() -> EnvelopeSpec {
    spec_of(&EnvelopeWords { container: Container::Array, ..EnvelopeWords::default() }, &["</calls>"], &["<calls>"])
}

/// An object or a list, with nothing around it.
fn bare() -> EnvelopeSpec {
    let words = EnvelopeWords { container: Container::Either, commit: Commit::Arguments, ..EnvelopeWords::default() };
    spec_of(&words, &[], &[])
}

/// The name is the key.
fn keyed(container: Container) -> EnvelopeSpec {
    spec_of(&EnvelopeWords { container, shape: Shape::Key, ..EnvelopeWords::default() }, &["</calls>"], &["<calls>"])
}

/// With ids.
fn with_ids() -> EnvelopeSpec {
    let words = EnvelopeWords {
        container: Container::Either,
        name: list(&["tool"]),
        arguments: list(&["parameters"]),
        id: list(&["call_id"]),
        ..EnvelopeWords::default()
    };
    spec_of(&words, &["<end>"], &["<call>"])
}

fn run(spec: &EnvelopeSpec, text: &str, eof: Eof) -> Trace {
    drive_all_ways::<Envelope>(spec, text, eof, &Limits::default())
}

fn said(spec: &EnvelopeSpec, text: &str) -> Vec<String> {
    run(spec, text, Eof::Stop).said
}

/// The output for `text`, which this rest follows.
fn said_before(spec: &EnvelopeSpec, text: &str, rest: &str) -> Vec<String> {
    let trace = run(spec, &format!("{text}{rest}"), Eof::Stop);
    assert_eq!(trace.taken, text.len(), "{text:?} before {rest:?}: {:?}", trace.said);
    trace.said
}

#[test]
fn one_object_is_one_call() {
    for text in [
        r#"{"name": "tide", "arguments": {"h": "Alta", "n": 1.50}}"#,
        r#" {"name" : "tide" , "arguments" :{"h": "Alta", "n": 1.50} }"#,
        "\n{\n\"\\u006eame\": \" ti\\u0064e\\n\",\n\"parameters\": {\"h\": \"Alta\", \"n\": 1.50}\n,}",
        r#"{"type": "function", "name": "tide", "arguments": {"h": "Alta", "n": 1.50}}"#,
        r#"{"name": "tide", "arguments": "{\"h\": \"Alta\", \"n\": 1.50}"}"#,
    ] {
        for rest in ["", "\n</call>", " tail"] {
            let said = said_before(&object(), text, rest);
            assert_eq!(said, ["named tide", r#"args {"h": "Alta", "n": 1.50}"#, "done true"], "{text:?}");
        }
        assert!(run(&object(), text, Eof::Stop).diagnostics.is_empty(), "{text:?}");
        assert_eq!(said_before(&bare(), text, "; {").len(), 3, "{text:?}");
    }
}

#[test]
fn markers_and_names_inside_the_arguments_are_data() {
    let arguments = r#"{"name": "decoy", "arguments": {"x": "</call> } ]"}, "t": "<call>"}"#;
    for text in [
        format!(r#"{{"name": "tide", "arguments": {arguments}}}"#),
        format!(r#"{{"arguments": {arguments}, "name": "tide"}}"#),
    ] {
        assert_eq!(said(&object(), &text), ["named tide".to_owned(), format!("args {arguments}"), "done true".into()]);
        assert_eq!(said(&bare(), &text), ["named tide".to_owned(), format!("args {arguments}"), "done true".into()]);
    }
}

#[test]
fn a_call_is_named_as_soon_as_it_is_sure() {
    let named = |spec: &EnvelopeSpec, text: &str| {
        let trace = drive::<Envelope>(spec, &[text, ""], Eof::No, &Limits::default());
        trace.said.first().is_some_and(|s| s.starts_with("named"))
    };
    let at = |spec: &EnvelopeSpec, text: &str| {
        let first = (0..=text.len()).find(|n| named(spec, &text[..*n])).unwrap();
        text[..first].to_owned()
    };
    let text = r#"{"name": "tide", "arguments": {"h": 1}}"#;
    assert_eq!(at(&object(), text), r#"{"name": "tide", "arguments": {"#);
    assert_eq!(at(&bare(), text), r#"{"name": "tide", "arguments": {"#);
    assert_eq!(at(&object(), r#"{"name": "tide", "arguments": null}"#), r#"{"name": "tide", "arguments": null"#);
    assert_eq!(at(&object(), r#"{"name": "tide", "x": 1}"#), r#"{"name": "tide", "x": 1}"#);
    assert_eq!(at(&keyed(Container::Array), r#"[{"tide": {}}]"#), r#"[{"tide": {"#);
    assert_eq!(at(&bare(), r#"{"arguments": {"h": 1}, "name": "tide"}"#), r#"{"arguments": {"h": 1}, "name": "tide""#);
    assert_eq!(at(&with_ids(), r#"{"tool": "t", "parameters": {}}"#), r#"{"tool": "t", "parameters": {"#);
}

#[test]
fn ids_are_strings_or_numbers() {
    for (text, header) in [
        (r#"{"tool": "t", "call_id": "a\u0062 c", "parameters": {}}"#, "named t id ab c"),
        (r#"{"call_id": 12, "tool": "t", "parameters": {}}"#, "named t id 12"),
        (r#"[{"tool": "t", "call_id": -1}]"#, "named t id -1"),
        (r#"{"tool": "t", "call_id": null, "parameters": {}}"#, "named t"),
        (r#"{"tool": "t", "call_id": {"n": 1}, "parameters": {}}"#, "named t"),
        (r#"{"parameters": {}, "tool": "t", "call_id": "9"}"#, "named t"),
        (r#"{"tool": "t", "call_id": ""}"#, "named t"),
        (&format!(r#"{{"tool": "t", "call_id": {}, "parameters": {{}}}}"#, "1".repeat(300)), "named t"),
    ] {
        let trace = run(&with_ids(), text, Eof::Stop);
        assert_eq!(trace.said[..2], [header, "args {}"], "{text:?}");
        assert_eq!(trace.said.last().unwrap(), "done true");
    }
    // A name without anything of a call after it is not a call.
    for text in [r#"{"tool": "t", x"#, r#"{"tool": "t", "cal\x"#, r#"{"tool": "t", "cal"#] {
        assert_eq!(said(&with_ids(), text), ["broken"]);
    }
    assert_eq!(said(&with_ids(), r#"{"tool": "t"}"#), ["named t", "args {}", "done true"]);
    let late = run(&with_ids(), r#"{"tool": "t", "parameters": {}, "call_id": "9"}"#, Eof::Stop);
    assert_eq!(late.diagnostics, [(DiagnosticKind::UnplacedText, 46, r#""call_id": "9""#.to_owned())]);
}

#[test]
fn no_arguments_are_an_empty_object() {
    for text in [
        r#"{"name": "tide"}"#,
        r#"{"name": "tide", }"#,
        r#"{"name": "tide", "arguments": null}"#,
        r#"{"arguments": null, "name": "tide"}"#,
        r#"{"name": "tide", "arguments": ""}"#,
        r#"{"name": "tide", "arguments": "{}"}"#,
        r#"{"name": "tide", "arguments": {}}"#,
        r#"{"name": "tide", "arguments": null, "parameters": {}}"#,
    ] {
        assert_eq!(said_before(&object(), text, "</call>"), ["named tide", "args {}", "done true"], "{text:?}");
    }
}

#[test]
fn the_first_arguments_count() {
    for (text, note) in [
        (r#"{"name": "f", "arguments": {"a": 1}, "parameters": {"b": 2}}"#, Some(r#""parameters": {"b": 2}"#)),
        (r#"{"parameters": {"a": 1}, "arguments": {"b": 2}, "name": "f"}"#, Some(r#""arguments": {"b": 2}"#)),
        (r#"{"name": "f", "parameters": null, "arguments": {"a": 1}}"#, None),
        (r#"{"name": "f", "name": "g", "arguments": {"a": 1}}"#, Some(r#""name": "g""#)),
        (r#"{"name": "f", "args": {"b": [2]}, "n": 1, "arguments": {"a": 1}}"#, Some(r#""args": {"b": [2]}, "n": 1"#)),
        (r#"{"name": "f", "n": 1, "arguments": {"a": 1}}"#, Some(r#""n": 1"#)),
    ] {
        let trace = run(&object(), text, Eof::Stop);
        assert_eq!(trace.said, ["named f", r#"args {"a": 1}"#, "done true"], "{text:?}");
        let diagnostics: Vec<_> = trace.diagnostics.iter().map(|(kind, _, text)| (*kind, text.as_str())).collect();
        assert_eq!(
            diagnostics,
            note.map(|n| (DiagnosticKind::UnplacedText, n)).into_iter().collect::<Vec<_>>(),
            "{text:?}"
        );
    }
    // Arguments next to the name instead of under a key.
    let flat = run(&object(), r#"{"name": "f", "leaf": "mint", "é": 1}"#, Eof::Stop);
    assert_eq!(flat.said, ["named f", "args {}", "done true"]);
    assert_eq!(flat.diagnostics[0].2, r#""leaf": "mint", "é": 1"#);
}

#[test]
fn what_is_no_call_breaks_before_it_is_named() {
    for text in [
        "tide(h=1)",
        "{name: tide}",
        "{'name': 'tide'}",
        "{}",
        "\"name\"",
        "5",
        "<call>",
        r#"{"answer": 42}"#,
        r#"{"name": null}"#,
        r#"{"name": 5}"#,
        r#"{"name": ""}"#,
        r#"{"name": " \n"}"#,
        r#"{"name": {"name": "x"}}"#,
        r#"{"arguments": {"a": x}, "name": "f"}"#,
        r#"{"name"}"#,
        r#"{"name" "f"}"#,
        r#"{"name": </call>"#,
        r#"{"arguments": {}}"#,
    ] {
        assert_eq!(said(&object(), text), ["broken"], "{text:?}");
        assert_eq!(said(&array(), &format!("[{text}]")), ["broken"], "{text:?}");
    }
    for text in ["[]", "[1] x", "[[", "{", "[\"a\"]", r#"{"name": "f", "arguments": {}}"#, r#"["name"]"#] {
        assert_eq!(said(&array(), text), ["broken"], "{text:?}");
    }
    for text in [r#"[{"name": "f"}]"#, "[", "x"] {
        assert_eq!(said(&object(), text), ["broken"], "{text:?}");
    }
    for text in [
        r#"{"name": "Ann", "age": 3}"#,
        r#"[{"name": "Ann"}]"#,
        r#"{"name": "Ann"#,
        r#"{"arguments": {"a": 1}}"#,
        r#"{"name": "Ann", "arguments"}"#,
    ] {
        assert_eq!(said(&bare(), text), ["broken"], "{text:?}");
    }
    for text in [r#"[{"f"}]"#, r#"[{"": {}}]"#, "[{}]", "[]", r#"[{"f" {}}]"#, r#"["f"]"#] {
        assert_eq!(said(&keyed(Container::Array), text), ["broken"], "{text:?}");
    }
}

/// A value that is not a call can be followed to its end.
#[test]
fn the_json_of_no_call_goes_on() {
    for (text, end) in [
        (r#"{"answer": {"x": "}"}} tail"#, Some(22)),
        (r#"{"name": null, "parameters": {}} tail"#, Some(32)),
        (r#"{"name": "Ann \u00e9", "age": [3]} tail"#, Some(34)),
        ("[1, {\"a\": \"]\"}] tail", Some(15)),
        (r#"{"name": "", "a": 1}"#, Some(20)),
        ("{leaf} x", None),
        (r#"{"a": 1]"#, None),
    ] {
        for cut in 0..=text.len() {
            let mut machine = Envelope::default();
            let (spec, limits) = (bare(), Limits::default());
            let mut taken = 0;
            for end in [cut, text.len()] {
                let mut out = Nothing;
                let mut cx = Cx { out: &mut out, schema: None, limits: &limits, eof: Eof::No };
                let step = machine.step(&spec, &mut cx, &text[taken..end]);
                taken += step.consumed;
                if step.status == crate::body::Status::Broken {
                    break;
                }
            }
            let mut scan = machine.scan().unwrap().clone();
            let Scanned { len, stop } = scan.scan(&text.as_bytes()[taken..], 128);
            assert_eq!((stop == Stop::End).then_some(taken + len), end, "{text:?} cut at {cut}");
        }
    }
}

struct Nothing;

impl crate::body::Out for Nothing {
    fn args(&mut self, json: &str) {
        unreachable!("{json}");
    }
    fn report(&mut self, _: DiagnosticKind, _: usize, _: &str, _: &str) {}
    fn repaired(&mut self, _: crate::body::Repair<'_>) {}
}

#[test]
fn a_list_is_several_calls() {
    let text = "[\n {\"name\": \"a\", \"arguments\": {\"n\": \"]}\"}},{\"arguments\": {}, \"name\": \"b\"} , {\"name\": \"c\"}\n]";
    let calls = [
        "named a",
        r#"args {"n": "]}"}"#,
        "end true",
        "named b",
        "args {}",
        "end true",
        "named c",
        "args {}",
        "end true",
        "done true",
    ];
    for spec in [array(), bare()] {
        let calls = if spec.words.commit == Commit::Arguments {
            text.replace("{\"name\": \"c\"}", "{\"name\": \"c\", \"parameters\": {}}")
        } else {
            text.to_owned()
        };
        let said = said_before(&spec, &calls, "</calls>");
        assert_eq!(said.len(), 10, "{said:?}");
    }
    assert_eq!(said_before(&array(), text, " tail"), calls);
}

#[test]
fn a_key_can_be_the_name() {
    for (container, text) in [
        (Container::Array, r#"[{"a": {"n": "]"}}, {"b": null, " c ": "{}"}]"#),
        (Container::Object, r#"{"a": {"n": "]"}, "b": null, " c ": "{}"}"#),
    ] {
        let said = said_before(&keyed(container), text, "</calls>");
        let calls = [
            "named a",
            r#"args {"n": "]"}"#,
            "end true",
            "named b",
            "args {}",
            "end true",
            "named c",
            "args {}",
            "end true",
            "done true",
        ];
        assert_eq!(said, calls);
    }
    assert_eq!(said(&keyed(Container::Array), r#"[{"a": {leaf: 1}}]"#), ["named a", "args {", "broken"]);
    assert_eq!(said(&keyed(Container::Array), r#"[{"a": {}</calls>"#), ["named a", "args {}", "end true", "done true"]);
    assert_eq!(said(&keyed(Container::Array), r#"[{"a": </calls>"#), ["named a", "args {}", "done true"]);
    assert_eq!(said(&keyed(Container::Array), r#"[{"a": {}, "b"#), ["named a", "args {}", "end true", "broken"]);
}
