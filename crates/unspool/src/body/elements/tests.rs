use serde_json::json;

use super::*;
use crate::body::testing::{Feed, Follows, Run, check_cuts};
use crate::format::file::{ElementsWords, Tools};
use crate::limits::Limits;
use crate::schema::FunctionSchema;

const NS: &str = "~[";

fn spec() -> ElementsSpec {
    let elements = ElementsWords { open: "~[<{key}>".into(), close: "~[</{key}>".into(), item: "item".into() };
    let follow =
        Follows::of("~[<calls>\n{calls}~[</calls>", "~[<invoke name=\"{name}\">{elements}~[</invoke>\n", false);
    ElementsSpec::new(&Tools { elements, ..Tools::default() }, follow).unwrap()
}

fn schema() -> FunctionSchema {
    FunctionSchema::new(&json!({
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "sizes": {"type": "array", "items": {"type": "integer"}},
            "box": {"$ref": "#/$defs/Box"},
            "open": {},
        },
        "$defs": {"Box": {"type": "object", "properties": {
            "owner": {"type": "string"},
            "weight": {"type": "number"},
            "inner": {"$ref": "#/$defs/Box"},
        }}},
    }))
}

/// Reads a body (`~` stands for the sign before a tag) in every split.
fn read_with(schema: Option<&FunctionSchema>, body: &str, eof: Eof) -> Run {
    let body = body.replace('~', NS);
    let spec = spec();
    let limits = Limits { argument: 500, blank: 20, depth: 6, ..Limits::default() };
    let feed = Feed { text: &body, eof, schema, limits: &limits };
    check_cuts(&body, |cuts| feed.drive(cuts, |elements: &mut Elements, cx, input| elements.step(&spec, cx, input)))
}

fn read(body: &str, eof: Eof) -> Run {
    read_with(Some(&schema()), body, eof)
}

/// The arguments of a complete body.
fn args(body: &str) -> String {
    let run = read(&format!("{body}~</invoke>\n"), Eof::Stop);
    assert_eq!((run.status, run.rest.as_str()), (Some(Status::Done { complete: true }), "~[</invoke>\n"), "{run:?}");
    assert!(serde_json::from_str::<serde_json::Value>(&run.args).is_ok(), "{run:?}");
    run.args
}

#[test]
fn a_name_in_half_a_tag_is_told_of() {
    for (body, lost) in [
        ("~<moss", Some("~[<moss")),
        ("~<text>Alva~<moss", Some("~[<moss")),
        ("~<text>Alva~</moss", Some("~[</moss")),
        ("~<text>Alva~</te", None),
        ("~<text>Alva~", None),
        ("~<text>Alva~</text>~</inv", None),
    ] {
        for eof in [Eof::Stop, Eof::Length] {
            let diagnostics = read(body, eof).diagnostics;
            let told: Vec<_> =
                diagnostics.iter().filter(|n| n.0 == DiagnosticKind::UnplacedText).map(|n| &*n.1).collect();
            assert_eq!(told, lost.into_iter().collect::<Vec<_>>(), "{body:?}");
        }
    }
}

#[test]
fn leaves_take_the_schemas_type() {
    assert_eq!(args(""), "{}");
    assert_eq!(
        args("\n~<text> a < b </text>~</text>\n~< count >007~</count>"),
        "{\"text\": \" a < b </text>\", \"count\": 7}"
    );
    assert_eq!(
        args("~<tags>~</tags>~<box> ~</box>~<text>~</text>~<count/>"),
        "{\"tags\": [], \"box\": {}, \"text\": \"\", \"count\": \"\"}"
    );
    assert_eq!(args("~<tags>[\"a\"]~</tags>~<open>5~</open>"), "{\"tags\": [\"a\"], \"open\": \"5\"}");
    let run = read_with(None, "~<count>1~</count>~</invoke>", Eof::Stop);
    assert_eq!(run.args, "{\"count\": \"1\"}");
}

#[test]
fn elements_in_elements_are_objects_or_lists() {
    assert_eq!(
        args("~<box>\n~<owner>12~</owner>~<inner>~<weight>1.50~</weight>~</inner>\n~</box>"),
        "{\"box\": {\"owner\": \"12\", \"inner\": {\"weight\": 1.50}}}"
    );
    assert_eq!(args("~<sizes>~<item>1~</item>~<size>2~</size>~</sizes>"), "{\"sizes\": [1, 2]}");
    assert_eq!(
        args("~<open>~<a>1~</a>~<b>~<c>2~</c>~</b>~</open>"),
        "{\"open\": {\"a\": \"1\", \"b\": {\"c\": \"2\"}}}"
    );
}

#[test]
fn a_name_that_comes_again_makes_a_list() {
    assert_eq!(args("~<text>a~</text>~<count>1~</count>~<text>b~</text>"), "{\"text\": [\"a\", \"b\"], \"count\": 1}");
    assert_eq!(args("~<sizes>1~</sizes>~<sizes>2~</sizes>"), "{\"sizes\": [1, 2]}");
    assert_eq!(args("~<open>~<a>1~</a>~<a>2~</a>~</open>"), "{\"open\": {\"a\": [\"1\", \"2\"]}}");
}

#[test]
fn text_beside_elements_has_a_name_of_its_own() {
    assert_eq!(
        args("~<box>~<owner>o~</owner> loose words ~</box>"),
        "{\"box\": {\"owner\": \"o\", \"$text\": \"loose words\"}}"
    );
    assert_eq!(args("~<box>x~<$text>o~</$text>y~</box>"), "{\"box\": {\"$text\": \"o\", \"$$text\": \"xy\"}}");
}

#[test]
fn closers_are_their_elements_own() {
    let run = read("~<text>A~</text>~<count>4~</wrong>~</invoke>", Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("{\"text\": \"A\"", Some(Status::Broken)));
    assert_eq!(run.rest, "~[</wrong>~[</invoke>");
    // The call's closer ends open elements only if structure follows.
    let run = read("~<text>A~</invoke>\n~</calls>", Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("{\"text\": \"A\"}", Some(Status::Done { complete: true })));
    let run = read("~<text>A~</invoke> and more", Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("", Some(Status::Broken)));
    assert_eq!(args("~<invoke>A~</invoke>"), "{\"invoke\": \"A\"}");
    assert_eq!(args("~<invoked>A~</invoked>"), "{\"invoked\": \"A\"}");
    assert_eq!(read("~<text>A~<invoke name=\"b\">", Eof::Stop).status, Some(Status::Broken));
    let run = read("~<text>A~</text>~<invoke name=\"b\">", Eof::Stop);
    assert_eq!((run.args.as_str(), run.rest.as_str()), ("{\"text\": \"A\"}", "~[<invoke name=\"b\">"));
    assert_eq!(read("~<text>A~</text>~<calls>", Eof::Stop).args, "{\"text\": \"A\"}");
}

#[test]
fn the_end_of_the_output_leaves_closed_elements_only() {
    let run = read("~<text>A~</text>~<box>~<owner>me~</owner>~<weight>1", Eof::Length);
    assert_eq!((run.args.as_str(), run.status), ("{\"text\": \"A\"", Some(Status::Done { complete: false })));
    assert_eq!(run.diagnostics, [(DiagnosticKind::CallCutOff, "box: ; owner: me; weight: 1".to_owned())]);
    let run = read("~<text>A~</text>\n~</inv", Eof::Length);
    assert_eq!((run.args.as_str(), run.status), ("{\"text\": \"A\"", Some(Status::Done { complete: false })));
    let run = read("~<text>A~</text>\n~</inv", Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("{\"text\": \"A\"}", Some(Status::Done { complete: true })));
    assert_eq!(read("", Eof::Length).args, "");
    assert_eq!(read("", Eof::Stop).args, "{}");
}

#[test]
fn text_outside_elements_goes_to_a_diagnostic() {
    let run = read("so ~\n~<text>A~</text>~</stray> end~</invoke>", Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("{\"text\": \"A\"}", Some(Status::Done { complete: true })));
    let unplaced = |text: &str| (DiagnosticKind::UnplacedText, text.to_owned());
    assert_eq!(run.diagnostics, [unplaced("so ~["), unplaced("~[</stray> end")]);
    let run = read("only words~</invoke>", Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("", Some(Status::Broken)));
    let run = read(&format!("{}~<text>A~</text>~</invoke>", "many  words ".repeat(40)), Eof::Stop);
    assert_eq!((run.args.as_str(), run.diagnostics.len()), ("{\"text\": \"A\"}", 1));
}

#[test]
fn what_is_too_long_or_too_deep_is_bounded() {
    let long = "word ".repeat(120);
    let run = read(&format!("~<count>1~</count>~<text>{long}~</text>~<count>2~</count>~</invoke>"), Eof::Stop);
    assert_eq!(run.args, format!("{{\"count\": 1, \"text\": \"{long}\", \"count\": 2}}"));
    assert_eq!(run.diagnostics, [(DiagnosticKind::LimitReached, String::new())]);
    let run = read(&format!("~<count>1~</count>~<box>~<owner>{long}~</owner>~</box>~</invoke>"), Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("{\"count\": 1", Some(Status::Broken)));
    let run = read(&"~<a>".repeat(9), Eof::Stop);
    assert_eq!((run.status, run.rest.len()), (Some(Status::Broken), 15));
}

#[test]
fn tags_that_cannot_be_read_are_refused() {
    for (open, close, what) in [
        ("<{key}", "</{key}>", "`tools.elements.open`"),
        ("<e>", "</e>", "`{key}`"),
        ("<{key}>", "", "`tools.elements.close`"),
    ] {
        let elements = ElementsWords { open: open.into(), close: close.into(), item: "item".into() };
        let error =
            ElementsSpec::new(&Tools { elements, ..Tools::default() }, crate::body::Follow::default()).unwrap_err();
        assert!(error.message.contains(what), "{error:?}");
    }
}

mod glued {
    use proptest::prelude::*;

    use super::*;

    const PIECES: &[&str] = &[
        "~<text>",
        "~</text>",
        "~<box>",
        "~</box>",
        "~<sizes>",
        "~</sizes>",
        "~<item>",
        "~</item>",
        "~<",
        "~</",
        "~",
        "~</invoke>",
        "~<invoke name=\"g\">",
        "~</calls>",
        "~<calls>",
        "~<count/>",
        "\n",
        " ",
        "<",
        ">",
        "word ",
        "é",
        "12",
        "[1]",
        "                     ",
        "some words that take room ",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(120))]

        #[test]
        fn cuts_make_no_difference(picks in prop::collection::vec(prop::sample::select(PIECES), 0..24)) {
            for eof in [Eof::Stop, Eof::Length] {
                let run = read(&picks.concat(), eof);
                if run.status == Some(Status::Done { complete: true }) {
                    prop_assert!(serde_json::from_str::<serde_json::Value>(&run.args).is_ok(), "{:?}", run);
                }
            }
        }
    }
}

#[test]
fn closers_are_mended_where_structure_follows() {
    let told = |body: &str| {
        let run = read(body, Eof::Stop);
        assert_eq!(run.status, Some(Status::Done { complete: true }), "{body}");
        let repairs = run.diagnostics.iter().filter(|(kind, _)| *kind == DiagnosticKind::Repaired);
        (run.args.clone(), repairs.map(|(_, text)| text.clone()).collect::<Vec<_>>())
    };
    let text = |text: &str| format!("{{\"text\": {}, \"count\": 3}}", serde_json::Value::from(text));
    let rest = "~<count>3~</count>~</invoke>";
    assert_eq!(told(&format!("~<text>A~</text>\n~</text>{rest}")), (text("A"), vec!["~[</text> -> ".into()]));
    assert_eq!(told(&format!("~<text>A</text>{rest}")), (text("A"), vec!["</text> -> ~[</text>".into()]));
    assert_eq!(told(&format!("~<text><text>A</text>~</text>{rest}")), (text("<text>A</text>"), vec![]));
    assert_eq!(told(&format!("~<text>A</text> B~</text>{rest}")), (text("A</text> B"), vec![]));
    // The inner box is open, so its closer is its own.
    assert_eq!(told("~<box>~<box>~<owner>me~</owner>~</box>~</box>~</invoke>").1, Vec::<String>::new());
}

#[test]
fn an_argument_may_have_the_name_of_a_tag() {
    assert_eq!(args("~<calls>A~</calls>~<invoke>B~</invoke>"), "{\"calls\": \"A\", \"invoke\": \"B\"}");
    assert_eq!(args("~<box>~<calls>A~</calls>~</box>"), "{\"box\": {\"calls\": \"A\"}}");
}

#[test]
fn the_text_of_a_broken_element_is_told() {
    let run = read("~<text>LOST~</count>~</invoke>", Eof::Stop);
    assert_eq!(run.status, Some(Status::Broken));
    assert_eq!(run.diagnostics, [(DiagnosticKind::UnplacedText, "text: LOST".to_owned())]);
}
