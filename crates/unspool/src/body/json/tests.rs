use proptest::prelude::*;

use super::drive::{Machine, Trace, cut_at, drive, drive_all_ways};
use super::{Cx, Eof, JsonBody, JsonSpec, Step};
use crate::body::Follow;
use crate::diagnostic::DiagnosticKind;
use crate::limits::Limits;
use crate::scan::Literal;

impl Machine for JsonBody {
    type Spec = JsonSpec;

    fn advance(&mut self, spec: &JsonSpec, cx: &mut Cx<'_>, input: &str) -> Step {
        self.step(spec, cx, input)
    }

    fn header(&self) -> String {
        unreachable!("its head is read before it")
    }
}

fn literals(texts: &[&str]) -> Vec<Literal> {
    texts.iter().map(|t| Literal::new(t, false)).collect()
}

/// A format with closers.
fn closed() -> JsonSpec {
    JsonSpec::new(&Follow {
        call_close: literals(&["```", "<end>"]),
        block_close: literals(&["<all>"]),
        call_open: literals(&["<call>"]),
    })
}

/// A format in which a call ends with its value.
fn open() -> JsonSpec {
    JsonSpec::new(&Follow { call_open: literals(&["[TOOL]"]), ..Follow::default() })
}

fn run(spec: &JsonSpec, text: &str, eof: Eof) -> Trace {
    drive_all_ways::<JsonBody>(spec, text, eof, &Limits::default())
}

/// Arguments and end of a body that this rest follows.
fn read(spec: &JsonSpec, text: &str, rest: &str) -> Vec<String> {
    let trace = run(spec, &format!("{text}{rest}"), Eof::Stop);
    assert_eq!(trace.taken, text.len(), "{text:?} before {rest:?}: {:?}", trace.said);
    trace.said
}

#[test]
fn a_value_passes_as_it_is_and_ends_the_body() {
    for json in [
        r#"{"leaf": "mint", "n": 1.50, "tags": [ ] , "o":{"a":null}}"#,
        r#"{"title": "a \"b\" } {", "body": "l1\nl2 \u8336 🍵 <end> ``` <call>"}"#,
        "{\n  \"leaf\": \"nettle\"\n}",
        "{}",
        "[1, 2]",
        "-12.5e3",
        "true",
        r#""leaf""#,
        r#"" leaf""#,
        r#""nul""#,
        r#""null!""#,
        r#""null null""#,
        r#""nu ll""#,
        r#"" null{}""#,
        r#""\u006eull and void""#,
    ] {
        for rest in ["", "<end>", "\n```<end>", " tail"] {
            for spec in [closed(), open()] {
                assert_eq!(read(&spec, json, rest), [format!("args {json}"), "done true".into()]);
                assert_eq!(read(&spec, &format!(" \n{json}"), rest), [format!("args {json}"), "done true".into()]);
            }
        }
    }
}

#[test]
fn raw_control_characters_in_strings_are_escaped() {
    let said = read(&closed(), "{\"msg\":\n\"one\ntwo\tthree\u{1}\", \"k\ry\": 1}", "<end>");
    assert_eq!(
        said,
        [r#"args {"msg":"#.to_owned() + "\n" + r#""one\ntwo\tthree\u0001", "k\ry": 1}"#, "done true".into()]
    );
}

#[test]
fn no_arguments_are_an_empty_object() {
    for spec in [closed(), open()] {
        for (text, rest) in [
            ("null", ""),
            ("null", "<end>"),
            ("null", "x"),
            ("\"\"", ""),
            ("\" \\n\"", ""),
            ("\"null\"", "<end>"),
            ("\" null \"", ""),
        ] {
            assert_eq!(read(&spec, text, rest), ["args {}", "done true"], "{text:?}");
        }
        assert_eq!(read(&spec, " \n", ""), ["args {}", "done true"]);
    }
    for rest in ["<end>", "<all>", "<call>", "```<end>", "<en"] {
        assert_eq!(read(&closed(), "", rest), ["args {}", "done true"], "{rest:?}");
        assert_eq!(read(&closed(), "\n ", rest), ["args {}", "done true"], "{rest:?}");
    }
    assert_eq!(read(&open(), "", "[TOOL]next"), ["args {}", "done true"]);
    // A list begins like the marker.
    assert_eq!(read(&open(), "[1]", ""), ["args [1]", "done true"]);
}

#[test]
fn the_end_of_the_output_decides_what_is_open() {
    for spec in [closed(), open()] {
        for (text, arguments, stopped) in [
            (r#"{"a": "x"#, r#"{"a": "x"#, false),
            (r#"{"a": "x<end><all>"#, r#"{"a": "x<end><all>"#, false),
            (r#"{"a": "\ud8"#, r#"{"a": "\ud8"#, false),
            ("nul", "nul", false),
            ("\" n", "\" n", false),
            ("\"leaf", "\"leaf", false),
            ("\"\n nul", "\"\\n nul", false),
            (r#""{\"a\": \"\ud83c"#, r#"{"a": "\ud83c"#, false),
            ("12", "12", true),
            ("1.", "1.", false),
            ("tru", "tru", false),
        ] {
            for (eof, complete) in [(Eof::Stop, stopped), (Eof::Length, false)] {
                let trace = run(&spec, text, eof);
                assert_eq!(trace.said, [format!("args {arguments}"), format!("done {complete}")], "{text:?} {eof:?}");
                assert_eq!(trace.taken, text.len());
            }
        }
        for text in ["", " ", "\n"] {
            assert_eq!(run(&spec, text, Eof::Length).said, ["done false"]);
        }
        assert_eq!(run(&spec, "{\"a\": 1}", Eof::Length).said, ["args {\"a\": 1}", "done true"]);
        assert_eq!(run(&spec, "{\"a\": 1} <e", Eof::Length).taken, 8);
    }
    let cut = run(&closed(), " <en", Eof::Length);
    assert_eq!((cut.said, cut.taken), (vec!["done false".to_owned()], 1));
}

#[test]
fn what_is_no_json_goes_on_to_a_closer() {
    for (text, rest, bad) in [
        (r#"{"room": "A", "seats": }"#, "<end>", 23),
        (r#"{"room": "A""#, "<end>", 12),
        (r#"{"room": "A""#, "<all>", 12),
        ("{\"room\": \"A\"\n ", "<call>", 14),
        ("leaf=mint < 3", "\n```<end>", 0),
        ("nulx", "<end>", 3),
        (r#"{leaf: "a<b", "é}"#, " <end>", 1),
        (r#""{\"a\": \q}""#, "<end>", 13),
        (r#"{"a": é} ``"#, "<end>", 6),
        ("{]", "", 1),
        ("{]", " \n", 1),
        ("{]", "<en", 1),
    ] {
        let trace = run(&closed(), &format!("{text}{rest}"), Eof::Stop);
        let arguments = if text.starts_with("\"{") { r#"{"a": \q}"# } else { text };
        assert_eq!(trace.said, [format!("args {arguments}"), "done false".into()], "{text:?} {rest:?}");
        assert_eq!(trace.taken, text.len(), "{text:?} {rest:?}");
        let kinds: Vec<_> = trace.diagnostics.iter().map(|(kind, at, _)| (*kind, *at)).collect();
        assert_eq!(kinds, [(DiagnosticKind::NotJson, bad)], "{text:?}");
    }
}

#[test]
fn without_a_closer_broken_json_breaks_the_body() {
    for (good, bad) in [(r#"{"room": "#, "]"), (r#"{"room": "A""#, "[TOOL]x"), ("", "leaf"), ("nul", "x")] {
        let trace = run(&open(), &format!("{good}{bad}"), Eof::Stop);
        let mut said = if good.is_empty() { vec![] } else { vec![format!("args {good}")] };
        said.push("broken".into());
        assert_eq!(trace.said, said, "{good:?}");
        assert_eq!(trace.diagnostics.len(), 1);
    }
}

#[test]
fn a_string_that_holds_json_is_that_json() {
    for (text, arguments) in [
        (r#""{\"leaf\": \"dill\"}""#, r#"{"leaf": "dill"}"#),
        (r#"" \n{\"a\": [1, {}]} \n""#, r#"{"a": [1, {}]}"#),
        (r#""[1]""#, "[1]"),
        (r#""\u007b\u0022a\u0022: \"\ud83c\udf75 \u8336 é\"}""#, r#"{"a": "🍵 茶 é"}"#),
        (r#""{\"a\": \"\\ud83c\\udf75 \\n \ud83c\"}""#, r#"{"a": "\ud83c\udf75 \n \ud83c"}"#),
        (r#""{\"a\": \"one\ntwo\"}""#, r#"{"a": "one\ntwo"}"#),
        ("\"{\\\"a\\\":\n\\\"one\ntwo\\\"}\"", "{\"a\":\n\"one\\ntwo\"}"),
    ] {
        for rest in ["", "<end>", " x"] {
            assert_eq!(read(&closed(), text, rest), [format!("args {arguments}"), "done true".into()], "{text:?}");
        }
    }
    for (text, arguments) in [
        (r#""{\"a\": leaf}""#, r#"{"a": leaf}"#),
        (r#""{\"a\": 1""#, r#"{"a": 1"#),
        (r#""{\"a\": 1} and \"more\"""#, r#"{"a": 1}and "more""#),
        (r#""{leaf} ""#, "{leaf} "),
    ] {
        let trace = run(&closed(), &format!("{text}<end>"), Eof::Stop);
        assert_eq!(trace.said, [format!("args {arguments}"), "done false".into()], "{text:?}");
        assert_eq!(trace.diagnostics[0].0, DiagnosticKind::NotJson);
        assert_eq!(trace.taken, text.len());
    }
}

#[test]
fn held_white_space_is_bounded() {
    let limits = Limits { blank: 4, ..Limits::default() };
    let text = "{] \n      <end>";
    let trace = drive_all_ways::<JsonBody>(&closed(), text, Eof::Stop, &limits);
    assert_eq!(trace.said, ["args {] \n  ", "done false"]);
    let text = format!("\"{}x\"", " ".repeat(9));
    let trace = drive_all_ways::<JsonBody>(&closed(), &text, Eof::Stop, &limits);
    assert_eq!(trace.said, [format!("args {text}"), "done true".into()]);
}

#[test]
fn nesting_beyond_the_limit_is_broken() {
    let limits = Limits { depth: 2, ..Limits::default() };
    let trace = drive_all_ways::<JsonBody>(&open(), r#"{"a": [[1]]}"#, Eof::Stop, &limits);
    assert_eq!(trace.said, [r#"args {"a": ["#, "broken"]);
}

/// JSON values with any spacing.
pub(crate) fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?",
        r#""([a-zé茶🍵 <>{}\[\]/:,]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}){0,12}""#,
    ];
    let blank = "[ \n\t\r]{0,2}";
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let item = (blank, inner, blank).prop_map(|(a, v, b)| format!("{a}{v}{b}"));
        let member = (blank, r#""[a-z\\\\"]{0}[a-z]{0,5}""#, blank, item.clone())
            .prop_map(|(a, k, b, v)| format!("{a}{k}{b}:{v}"));
        prop_oneof![
            prop::collection::vec(item, 0..4).prop_map(|v| format!("[{}]", v.join(","))),
            prop::collection::vec(member, 0..4).prop_map(|v| format!("{{{}}}", v.join(","))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_json_passes_verbatim(value in json(), places in prop::collection::vec(0usize..400, 0..8)) {
        prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&value).is_ok() || value.contains("\\u"), "{:?}", value);
        let held = matches!(value.trim_matches('"').trim(), "" | "null") || value.starts_with("\"{") || value.starts_with("\"[");
        prop_assume!(!held && !value.starts_with("\""));
        let text = format!("{value}<end>");
        let trace = drive::<JsonBody>(&closed(), &cut_at(&text, &places), Eof::Stop, &Limits::default());
        prop_assert_eq!(trace.said, [format!("args {value}"), "done true".into()]);
    }

    #[test]
    fn json_in_a_string_comes_out(value in json(), places in prop::collection::vec(0usize..400, 0..8)) {
        prop_assume!(value.starts_with(['{', '[']));
        let text = format!("{}<end>", serde_json::to_string(&value).unwrap());
        let trace = drive::<JsonBody>(&closed(), &cut_at(&text, &places), Eof::Stop, &Limits::default());
        prop_assert_eq!(trace.said, [format!("args {value}"), "done true".into()]);
    }

    /// The split makes no difference, whatever the model writes.
    #[test]
    fn cuts_make_no_difference(text in r#"[{}\[\]",:\\ unl1a<>e`\n\x01é]{0,24}(<end>|<en|```|<call>)?"#) {
        for spec in [closed(), open()] {
            run(&spec, &text, Eof::Stop);
            run(&spec, &text, Eof::Length);
        }
    }

    #[test]
    fn cuts_make_no_difference_in_strings(parts in prop::collection::vec(prop::sample::select(PARTS), 0..8)) {
        let text = format!("\"{}", parts.concat());
        let small = Limits { blank: 4, depth: 2, ..Limits::default() };
        for spec in [closed(), open()] {
            run(&spec, &text, Eof::Stop);
            drive_all_ways::<JsonBody>(&spec, &text, Eof::Length, &small);
        }
    }
}

/// Pieces of strings that may hold JSON.
const PARTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    " ",
    "\\n",
    "\n",
    "null",
    "nu",
    "l",
    "\\\"a\\\": ",
    "\\\"",
    "\\\\",
    "\\u007b",
    "\\ud83c",
    "\\udf75",
    "\\u00",
    "\\x",
    "é",
    "1",
    ",",
    "\"",
    "\\\\n",
    "<end>",
    "<en",
    "\u{1}",
    "[TOOL]",
];

#[test]
fn a_backslash_that_begins_no_escape_is_doubled() {
    for (json, read, mended) in [
        (r#"{"p": "D:\Logs\may"}"#, r#"{"p": "D:\\Logs\\may"}"#, &[r"\ -> \\", r"\ -> \\"][..]),
        (r#"{"it\'s": "\d+\w"}"#, r#"{"it\\'s": "\\d+\\w"}"#, &[r"\ -> \\", r"\ -> \\", r"\ -> \\"]),
        (
            r#"{"p": "\u12 \uAb1g \u00e9\u"}"#,
            r#"{"p": "\\u12 \\uAb1g \u00e9\\u"}"#,
            &[r"\u12 -> \\u12", r"\uAb1 -> \\uAb1", r"\u -> \\u"],
        ),
        ("{\"p\": \"a\\\nb\"}", r#"{"p": "a\\\nb"}"#, &[r"\ -> \\"]),
        // Both levels: the outer string's own, and that of the string inside.
        (r#""{\"p\": \"D:\Logs\"}""#, r#"{"p": "D:\\Logs"}"#, &[r"\ -> \\"]),
        (r#""{\"p\": \"D:\\Logs\"}""#, r#"{"p": "D:\\Logs"}"#, &[r"\ -> \\"]),
        (r#""{\"p\": \"D:\\\\Logs\"}""#, r#"{"p": "D:\\Logs"}"#, &[]),
        (r#""no \json""#, r#""no \\json""#, &[r"\ -> \\"]),
    ] {
        let trace = run(&closed(), &format!("{json}<end>"), Eof::Stop);
        assert_eq!(trace.said, [format!("args {read}"), "done true".into()], "{json}");
        let told: Vec<&str> = trace.diagnostics.iter().map(|(_, _, text)| text.as_str()).collect();
        assert_eq!(told, mended, "{json}");
        assert!(
            trace
                .diagnostics
                .iter()
                .all(|(kind, at, _)| *kind == DiagnosticKind::Repaired && json[*at..].starts_with('\\'))
        );
    }
}

#[test]
fn half_an_escape_at_the_end_stays_as_it_is() {
    for json in [r#"{"p": "a\"#, r#"{"p": "a\u"#, r#"{"p": "a\u00e"#, r#""no \"#] {
        let trace = run(&closed(), json, Eof::Length);
        assert_eq!(trace.said, [format!("args {json}"), "done false".into()], "{json}");
        assert!(trace.diagnostics.is_empty());
    }
}
