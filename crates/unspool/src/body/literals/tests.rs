//! Every text is read whole, in every split into two, and character by character; all results must be equal.

use serde_json::json;

use super::*;
use crate::body::{Out, Repair};
use crate::format::file::{List, LiteralsWords};
use crate::limits::Limits;
use crate::schema::FunctionSchema;

#[derive(Debug, Default, Clone, PartialEq)]
struct Read {
    args: String,
    left: String,
    unplaced: String,
    repairs: Vec<String>,
    status: Option<Status>,
}

impl Out for Read {
    fn args(&mut self, json: &str) {
        self.args.push_str(json);
    }
    fn report(&mut self, kind: DiagnosticKind, _at: usize, text: &str, _message: &str) {
        assert_eq!(kind, DiagnosticKind::UnplacedText);
        self.unplaced.push_str(text);
    }
    fn repaired(&mut self, repair: Repair<'_>) {
        self.repairs.push(format!("{} -> {}", repair.text, repair.read));
    }
}

fn spec(delimiter: &str, delimited: Delimited, closer: &str, opener: &str) -> LiteralsSpec {
    let literals = LiteralsWords { string: List(vec![delimiter.into()]), delimited };
    let one = |text: &str| vec![Literal::new(text, false)];
    let follow = Follow { call_close: one(closer), block_close: Vec::new(), call_open: one(opener) };
    LiteralsSpec::new(&Tools { literals, ..Tools::default() }, follow).unwrap()
}

fn gemma() -> LiteralsSpec {
    spec("<|\"|>", Delimited::String, "<tool_call|>", "<|tool_call>")
}

fn function_gemma() -> LiteralsSpec {
    spec("<escape>", Delimited::Untyped, "<end_function_call>", "<start_function_call>")
}

static SCHEMA: std::sync::LazyLock<FunctionSchema> = std::sync::LazyLock::new(|| {
    FunctionSchema::new(&json!({"properties": {
        "leaf": {"type": "string"},
        "minutes": {"type": "integer"},
        "flag": {"type": "boolean"},
        "maybe": {"type": ["string", "null"]},
        "opts": {"type": "object", "properties": {"label": {"type": "string"}, "depth": {"type": "integer"}}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "level": {"enum": [1, 2]},
    }}))
});

fn run(spec: &LiteralsSpec, pieces: &[&str], last: Eof) -> Read {
    let limits = Limits::default();
    let mut machine = Literals::default();
    let mut read = Read::default();
    let mut held = String::new();
    for i in 0..=pieces.len() {
        held.push_str(pieces.get(i).unwrap_or(&""));
        if matches!(read.status, None | Some(Status::More)) {
            let saved = serde_json::to_string(&machine).unwrap();
            machine = serde_json::from_str(&saved).unwrap();
            let eof = if i == pieces.len() { last } else { Eof::No };
            let mut cx = Cx { out: &mut read, schema: Some(&SCHEMA), limits: &limits, eof };
            let step = machine.step(spec, &mut cx, &held);
            held.drain(..step.consumed);
            read.status = Some(step.status);
        }
    }
    read.left = held;
    read
}

/// Reads `text` in every split; all results must be equal.
fn read(spec: &LiteralsSpec, text: &str, last: Eof) -> Read {
    let whole = run(spec, &[text], last);
    let chars: Vec<String> = text.chars().map(String::from).collect();
    let chars: Vec<&str> = chars.iter().map(String::as_str).collect();
    assert_eq!(run(spec, &chars, last), whole, "{text:?} char by char");
    for (i, _) in text.char_indices() {
        assert_eq!(run(spec, &[&text[..i], &text[i..]], last), whole, "{text:?} cut at {i}");
    }
    whole
}

/// Checks that `text`, before the call's closer, is complete arguments equal to `json`.
#[track_caller]
fn gives(spec: &LiteralsSpec, text: &str, json: &str) {
    let closer = spec.follow.call_close[0].text();
    let read = read(spec, &format!("{text}{closer} So."), Eof::Stop);
    assert_eq!((read.args.as_str(), read.left.as_str()), (json, format!("{closer} So.").as_str()), "{text}");
    assert_eq!(read.status, Some(Status::Done { complete: true }), "{text}");
    serde_json::from_str::<serde_json::Value>(&read.args).unwrap();
}

#[test]
fn delimited_values_are_strings() {
    let spec = gemma();
    gives(&spec, r#"{leaf:<|"|>oolong<|"|>,minutes:4}"#, r#"{"leaf": "oolong", "minutes": 4}"#);
    gives(
        &spec,
        r#"{minutes:<|"|>4<|"|>,flag:<|"|>true<|"|>,none:<|"|><|"|>}"#,
        r#"{"minutes": "4", "flag": "true", "none": ""}"#,
    );
    gives(
        &spec,
        r#"{leaf:<|"|>a "b" } ] { :, <tool_call| call:x{y:1} <|"<|"|>}"#,
        r#"{"leaf": "a \"b\" } ] { :, <tool_call| call:x{y:1} <|\""}"#,
    );
    gives(&spec, "{leaf:<|\"|>l1\nl2 茶 🍵<|\"|>}", r#"{"leaf": "l1\nl2 茶 🍵"}"#);
    gives(&spec, r#"{leaf:<|"|>a <|"|> b<|"|>, x:1}"#, r#"{"leaf": "a \" b", "x": 1}"#);
    gives(&spec, r#"{leaf:<|"|>a <|"|>, b<|"|>, x y:1}"#, r#"{"leaf": "a \", b", "x y": 1}"#);
    gives(&spec, r#"{<|"|>leaf<|"|>:<|"|>dill<|"|>, <|"|>minutes<|"|>: 3}"#, r#"{"leaf": "dill", "minutes": 3}"#);
}

#[test]
fn bare_values_follow_the_schema_and_else_their_spelling() {
    let spec = gemma();
    gives(
        &spec,
        "{minutes: 4 ,flag:1,leaf: 007 ,maybe:null,level:2}",
        r#"{"minutes": 4, "flag": true, "leaf": "007", "maybe": null, "level": 2}"#,
    );
    gives(
        &spec,
        "{a:5,b c:-1.50,c:true,d:null,f:007,g:1e999,h:}",
        r#"{"a": 5, "b c": -1.50, "c": true, "d": null, "f": "007", "g": "1e999", "h": ""}"#,
    );
    gives(
        &spec,
        "{opts:{label:5,depth:2},tags:[1, a,<|\"|>b<|\"|>]}",
        r#"{"opts": {"label": "5", "depth": 2}, "tags": ["1", "a", "b"]}"#,
    );
    gives(&spec, "{e:x y, f: z,leaf:1, 2}", r#"{"e": "x y, f: z", "leaf": "1, 2"}"#);
    gives(
        &spec,
        "{opts:{label:a, b: c, depth:3},x:{y:a b, z:c}}",
        r#"{"opts": {"label": "a, b: c", "depth": 3}, "x": {"y": "a b", "z": "c"}}"#,
    );
    gives(&spec, "{leaf:tram times, Bergen<|\"|>,minutes:4}", r#"{"leaf": "tram times, Bergen", "minutes": 4}"#);
    gives(&spec, "{other:12<|\"|>}", r#"{"other": "12"}"#);
    gives(&spec, "{maybe:nullify,minutes:1}", r#"{"maybe": "nullify", "minutes": 1}"#);
}

#[test]
fn brackets_nest_and_separators_are_framing() {
    let spec = gemma();
    gives(&spec, "{}", "{}");
    gives(&spec, " { \n }", "{}");
    gives(&spec, "()", "{}");
    gives(&spec, r#"(leaf=<|"|>x<|"|>, minutes: 3)"#, r#"{"leaf": "x", "minutes": 3}"#);
    gives(
        &spec,
        r#"{rows:[[<|"|>k]9<|"|>,<|"|>m[<|"|>]],at:{row:3,name:<|"|>knob }<|"|>},ms:250}"#,
        r#"{"rows": [["k]9", "m["]], "at": {"row": 3, "name": "knob }"}, "ms": 250}"#,
    );
    gives(&spec, "{a:[1,,2,],\n b:{c:{}},, d:[]\n}", r#"{"a": [1, 2], "b": {"c": {}}, "d": []}"#);
    gives(&spec, "{a:[1] b:[{c:1}{c:2}]}", r#"{"a": [1], "b": [{"c": 1}, {"c": 2}]}"#);
    gives(&spec, "{leaf:<|\"|>a<|\"|>,leaf:<|\"|>b<|\"|>}", r#"{"leaf": "a", "leaf": "b"}"#);
}

#[test]
fn plain_quotes_delimit_too() {
    let spec = gemma();
    gives(
        &spec,
        r#"{refs:["r_17",'r_18'],opts:{"mode": "fast", "n": 2},name:<|"|>x<|"|>}"#,
        r#"{"refs": ["r_17", "r_18"], "opts": {"mode": "fast", "n": 2}, "name": "x"}"#,
    );
    gives(&spec, r#"{a:"say \"no\", \n",b:'it's, so'}"#, r#"{"a": "say \\\"no\\\", \\n", "b": "it's, so"}"#);
    gives(&spec, r"{leaf='^:\s+\d, {x}',minutes=3}", r#"{"leaf": "^:\\s+\\d, {x}", "minutes": 3}"#);
    gives(&spec, r#"{a:{b:"x } y"},c:"p", d:1}"#, r#"{"a": {"b": "x } y"}, "c": "p", "d": 1}"#);
    gives(&spec, r#"{a:"the "b", the c"}"#, r#"{"a": "the \"b\", the c"}"#);
}

#[test]
fn untyped_delimited_values_follow_the_schema() {
    let spec = function_gemma();
    gives(
        &spec,
        "{leaf:<escape>4<escape>,minutes:<escape>4<escape>,flag:<escape>true<escape>}",
        r#"{"leaf": "4", "minutes": 4, "flag": true}"#,
    );
    gives(
        &spec,
        "{a:<escape>4<escape>,b:<escape>x<escape>,c:<escape>{\"d\": [1]}<escape>,minutes:<escape>soon<escape>}",
        r#"{"a": 4, "b": "x", "c": {"d": [1]}, "minutes": "soon"}"#,
    );
    gives(
        &spec,
        "{leaf:<escape>a \"b\" } {<escape>,body:<escape>x}<end_function_call<escape>,n:5}",
        r#"{"leaf": "a \"b\" } {", "body": "x}<end_function_call", "n": 5}"#,
    );
    gives(&spec, "{leaf:<escape> a <escape>}", r#"{"leaf": " a "}"#);
}

#[test]
fn missing_and_extra_closers() {
    let spec = gemma();
    gives(&spec, "{leaf:<|\"|>x<|\"|>", r#"{"leaf": "x"}"#);
    gives(&spec, "{minutes:4,", r#"{"minutes": 4}"#);
    let extra = read(&spec, "{minutes:4}}<tool_call|>", Eof::Stop);
    assert_eq!(
        (extra.args.as_str(), extra.left.as_str(), extra.unplaced.as_str()),
        ("{\"minutes\": 4}", "<tool_call|>", "}")
    );
    let text = read(&spec, "{minutes:4} }x", Eof::Stop);
    assert_eq!((text.args.as_str(), text.left.as_str()), ("{\"minutes\": 4}", " }x"));
    let open = read(&spec, "{leaf:<|\"|>oolong}<tool_call|><|tool_call>call:x{}", Eof::Stop);
    assert_eq!((open.args.as_str(), open.left.as_str()), ("{\"leaf\": \"oolong", "<tool_call|><|tool_call>call:x{}"));
    assert_eq!(open.status, Some(Status::Done { complete: false }));
    let nested = read(&spec, "{opts:{depth:2<tool_call|>", Eof::Stop);
    assert_eq!((nested.args.as_str(), nested.left.as_str()), ("{\"opts\": {\"depth\": 2", "<tool_call|>"));
    assert_eq!(nested.status, Some(Status::Done { complete: false }));
}

#[test]
fn what_is_no_literal_breaks_the_call() {
    for (text, args, left) in [
        ("x{}", "", "x{}"),
        ("{a}", "{", "a}"),
        ("{a:1,b}", "{\"a\": \"1,b\"}", ""),
        ("{a:[1],b}", "{\"a\": [1]", "b}"),
        ("{:1}", "{", ":1}"),
        ("[1]", "", "[1]"),
    ] {
        let read = read(&gemma(), text, Eof::Stop);
        assert_eq!((read.args.as_str(), read.left.as_str()), (args, left), "{text}");
    }
    let long = format!("{{{}:1}}", "x".repeat(Limits::default().name + 1));
    assert_eq!(run(&gemma(), &[&long], Eof::Stop).status, Some(Status::Broken));
}

#[test]
fn the_end_of_the_output() {
    for (text, stop, length) in [
        ("", ("{}", true), ("", false)),
        ("{", ("{}", true), ("{", false)),
        ("{minutes:4", ("{\"minutes\": 4}", true), ("{\"minutes\": ", false)),
        ("{minutes:4,", ("{\"minutes\": 4}", true), ("{\"minutes\": 4", false)),
        ("{minutes:4,le", ("{\"minutes\": 4", false), ("{\"minutes\": 4", false)),
        (
            "{minutes:4,leaf:<|\"|>hibis",
            ("{\"minutes\": 4, \"leaf\": \"hibis", false),
            ("{\"minutes\": 4, \"leaf\": \"hibis", false),
        ),
        ("{leaf:<|\"|>x<|\"", ("{\"leaf\": \"x", false), ("{\"leaf\": \"x", false)),
        ("{leaf:<|\"|>x<|\"|>", ("{\"leaf\": \"x\"}", true), ("{\"leaf\": \"x\"", false)),
        ("{leaf:\"x\"", ("{\"leaf\": \"x\"}", true), ("{\"leaf\": \"x", false)),
        ("{leaf:mint te", ("{\"leaf\": \"mint te\"}", true), ("{\"leaf\": \"mint te", false)),
        ("{opts:{depth:2}", ("{\"opts\": {\"depth\": 2}}", true), ("{\"opts\": {\"depth\": 2}", false)),
        ("{opts:{depth:2", ("{\"opts\": {\"depth\": 2", false), ("{\"opts\": {\"depth\": ", false)),
        ("{leaf:<|\"|>x}<tool_call|>", ("{\"leaf\": \"x", false), ("{\"leaf\": \"x", false)),
    ] {
        for (eof, (args, complete)) in [(Eof::Stop, stop), (Eof::Length, length)] {
            let read = read(&gemma(), text, eof);
            assert_eq!((read.args.as_str(), read.status), (args, Some(Status::Done { complete })), "{text} {eof:?}");
        }
    }
}

#[test]
fn delimiters_are_checked_when_the_format_is_read() {
    let error = LiteralsSpec::new(&Tools::default(), Follow::default()).unwrap_err();
    assert!(error.message.contains("literals.string") && error.hint.is_some(), "{error:?}");
}

const FRAGMENTS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "=",
    "leaf:",
    "minutes: ",
    "maybe:",
    "opts:",
    "x",
    " ",
    "\n",
    "1",
    "nul",
    "true",
    "<|\"|>",
    "<|\"",
    "<escape>",
    "\"",
    "'",
    "\\",
    "\\n",
    "<tool_call|>",
    "<|tool_call>",
    "<end_function_call>",
    "茶",
    "<|\"|>a<|\"|>",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(500))]
    #[test]
    fn any_text_in_any_cut(parts in proptest::collection::vec(0..FRAGMENTS.len(), 0..24), untyped: bool, length: bool) {
        let text: String = std::iter::once("{a:").chain(parts.iter().map(|i| FRAGMENTS[*i])).collect();
        let spec = if untyped { function_gemma() } else { gemma() };
        let read = read(&spec, &text, if length { Eof::Length } else { Eof::Stop });
        proptest::prop_assert_ne!(read.status, Some(Status::More));
        if read.status == Some(Status::Done { complete: true }) {
            proptest::prop_assert!(serde_json::from_str::<serde_json::Value>(&read.args).is_ok(), "{}", read.args);
        }
    }
}
