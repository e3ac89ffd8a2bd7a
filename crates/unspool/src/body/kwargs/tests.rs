//! Every text is read whole, in every split into two, and character by character; all results must be equal.

use super::*;
use crate::DiagnosticKind;
use crate::body::Repair;
use crate::keyword;
use crate::limits::Limits;

#[derive(Debug, Default, Clone, PartialEq)]
struct Read {
    args: String,
    left: String,
    diagnostics: Vec<String>,
    status: Option<Status>,
}

impl Out for Read {
    fn args(&mut self, json: &str) {
        self.args.push_str(json);
    }
    fn report(&mut self, kind: DiagnosticKind, _at: usize, text: &str, _message: &str) {
        self.diagnostics.push(format!("{kind:?} {text}"));
    }
    fn repaired(&mut self, repair: Repair<'_>) {
        self.diagnostics.push(format!("{} -> {}", repair.text, repair.read));
    }
}

fn spec(close: &[&str], between: &str) -> KwargsSpec {
    let literals = |texts: &[&str]| texts.iter().map(|t| Literal::new(t, false)).collect();
    let follow = Follow { call_close: literals(&[")"]), block_close: literals(close), call_open: Vec::new() };
    let tools = Tools { between: crate::format::file::List(vec![between.into()]), ..Tools::default() };
    KwargsSpec::new(&tools, follow).unwrap()
}

fn run(spec: &KwargsSpec, pieces: &[&str], last: Eof) -> Read {
    let mut machine = Kwargs::default();
    let mut read = Read::default();
    let mut held = String::new();
    let limits = Limits::default();
    for i in 0..=pieces.len() {
        held.push_str(pieces.get(i).unwrap_or(&""));
        if matches!(read.status, None | Some(Status::More)) {
            let saved = serde_json::to_string(&machine).unwrap();
            machine = serde_json::from_str(&saved).unwrap();
            let eof = if i == pieces.len() { last } else { Eof::No };
            let mut cx = Cx { out: &mut read, schema: None, limits: &limits, eof };
            let step = machine.step(spec, &mut cx, &held);
            held.drain(..step.consumed);
            read.status = Some(step.status);
        }
    }
    read.left = held;
    read
}

/// Reads `text` in every split; all results must be equal.
fn read(spec: &KwargsSpec, text: &str, last: Eof) -> Read {
    let whole = run(spec, &[text], last);
    let chars: Vec<String> = text.chars().map(String::from).collect();
    let chars: Vec<&str> = chars.iter().map(String::as_str).collect();
    assert_eq!(run(spec, &chars, last), whole, "{text:?} char by char");
    for (i, _) in text.char_indices() {
        assert_eq!(run(spec, &[&text[..i], &text[i..]], last), whole, "{text:?} cut at {i}");
    }
    whole
}

fn pythonic(text: &str) -> Read {
    read(&spec(&["]"], ", "), text, Eof::Stop)
}

fn lfm(text: &str) -> Read {
    read(&spec(&["]<|tool_call_end|>"], ", "), text, Eof::Stop)
}

/// Checks that `text` (after the bracket) is complete arguments equal to `json`.
#[track_caller]
fn gives(text: &str, json: &str) {
    let read = pythonic(&format!("{text})]"));
    assert_eq!((read.args.as_str(), read.left.as_str()), (json, ")]"), "{text}");
    assert_eq!(read.status, Some(Status::Done { complete: true }), "{text}");
    serde_json::from_str::<serde_json::Value>(&read.args).unwrap();
}

/// Checks that `text` is broken, with `args` written, before `left`.
#[track_caller]
fn breaks(text: &str, args: &str, left: &str) {
    let read = pythonic(text);
    assert_eq!((read.args.as_str(), read.left.as_str(), read.status), (args, left, Some(Status::Broken)), "{text}");
}

#[test]
fn values_of_every_kind() {
    gives("", "{}");
    gives(" \n ", "{}");
    gives("port='Cuxhaven', days=3", r#"{"port": "Cuxhaven", "days": 3}"#);
    gives(
        "a=True, b=False, c=None, d=true, e=false, f=null,",
        r#"{"a": true, "b": false, "c": null, "d": true, "e": false, "f": null}"#,
    );
    gives(
        "a = 1_000 ,\n b= -0.25,c=+7,d=007,e=.5,f=0x1F",
        r#"{"a": 1000, "b": -0.25, "c": 7, "d": 7, "e": 0.5, "f": 31}"#,
    );
    gives("level=1e999", r#"{"level": "1e999"}"#);
    gives("from='A', class=2, größe=1, max-km=5", r#"{"from": "A", "class": 2, "größe": 1, "max-km": 5}"#);
    gives("a=1, a=2", r#"{"a": 1, "a": 2}"#);
    gives("a=1, # why\n b=2 # so\n", r#"{"a": 1, "b": 2}"#);
}

#[test]
fn brackets() {
    gives("a=[], b={}, c=()", r#"{"a": [], "b": {}, "c": []}"#);
    gives("a=[1, 'x', [None,],], b=(1,), c=(1, 2)", r#"{"a": [1, "x", [null]], "b": [1], "c": [1, 2]}"#);
    gives("a=(5), b=('x'\n 'y'), c=([1])", r#"{"a": 5, "b": "xy", "c": [1]}"#);
    gives("a={1, 2}, b={'x'}, c={(1, 2), 3}", r#"{"a": [1, 2], "b": ["x"], "c": [[1, 2], 3]}"#);
    gives(
        "a={'k': 1, \"l\": [2],}, b={1: 'x', 2.5: 'y', True: 'z', None: 0}",
        r#"{"a": {"k": 1, "l": [2]}, "b": {"1": "x", "2.5": "y", "true": "z", "null": 0}}"#,
    );
    gives("a=({'k': (1)}, {2})", r#"{"a": [{"k": 1}, [2]]}"#);
    gives("a={'p' 'q': {'r': ({3: 4})}}", r#"{"a": {"pq": {"r": {"3": 4}}}}"#);
}

#[test]
fn strings_of_every_kind() {
    gives(r#"a='x "y"', b="it's""#, r#"{"a": "x \"y\"", "b": "it's"}"#);
    gives("a='', b=\"\"", r#"{"a": "", "b": ""}"#);
    gives("a='''l1\nl2 'q' \"r\"''', b=\"\"\"z\"\"\"", r#"{"a": "l1\nl2 'q' \"r\"", "b": "z"}"#);
    gives("a=''''x'''', b=''''''", r#"{"a": "'x'", "b": ""}"#);
    gives("a='l1\nl2\t\u{1}'", r#"{"a": "l1\nl2\t\u0001"}"#);
    gives(r"a='it\'s \n \\ \x41\u00e9\101 \d \N{BULLET}'", r#"{"a": "it's \n \\ AéA \\d \\N{BULLET}"}"#);
    gives("a='one \\\ntwo'", r#"{"a": "one two"}"#);
    gives(r"a=r'C:\new\'s', b=R'\\'", r#"{"a": "C:\\new\\'s", "b": "\\\\"}"#);
    gives("a=f'{{x}} y', b=u'z', c=rF'\\{{'", r#"{"a": "{x} y", "b": "z", "c": "\\{"}"#);
    gives("a='x' 'y'\n\"z\"", r#"{"a": "xyz"}"#);
    gives("a='東京 🚲 {a} [b] (c), d=1', b=2", r#"{"a": "東京 🚲 {a} [b] (c), d=1", "b": 2}"#);
}

#[test]
fn quotes_inside_strings_are_data_unless_structure_follows() {
    gives("body='sed -n '1,3p' f'", r#"{"body": "sed -n '1,3p' f"}"#);
    gives("body='it's', n=1", r#"{"body": "it's", "n": 1}"#);
    gives("body='say 'hi' '", r#"{"body": "say 'hi' "}"#);
    gives("body='f('x') is ok'", r#"{"body": "f('x') is ok"}"#);
    gives("body='a, 'b', c'", r#"{"body": "a, 'b', c"}"#);
    gives("a=['it's', 'b']", r#"{"a": ["it's", "b"]}"#);
    gives("a=['see x['k'] there']", r#"{"a": ["see x['k'] there"]}"#);
    gives("a={'k': 'don't', 'l': 'x'}", r#"{"a": {"k": "don't", "l": "x"}}"#);
    gives("a={'it's': 1}", r#"{"a": {"it's": 1}}"#);
    gives("a='x', ", r#"{"a": "x"}"#);
    let code = pythonic("code='print('x')\nprint('y')'), next(a='z')]");
    assert_eq!((code.args.as_str(), code.left.as_str()), (r#"{"code": "print('x')\nprint('y')"}"#, "), next(a='z')]"));
    let olmo = read(&spec(&["</function_calls>"], "\n"), "a='x')\nnext(b='y')\n</function_calls>", Eof::Stop);
    assert_eq!((olmo.args.as_str(), olmo.left.as_str()), (r#"{"a": "x"}"#, ")\nnext(b='y')\n</function_calls>"));
}

#[test]
fn what_is_no_literal_breaks_the_call() {
    breaks("room=)]", "{\"room\": ", ")]");
    breaks("room=b'x')]", "{\"room\": ", "b'x')]");
    breaks("a=1, 'Nest')]", "{\"a\": 1", "'Nest')]");
    breaks("a=1, **{})]", "{\"a\": 1", "**{})]");
    breaks("a==1)]", "", "a==1)]");
    breaks("a=x)]", "{\"a\": ", "x)]");
    breaks("a=Trueish)]", "{\"a\": ", "Trueish)]");
    breaks("a=1 + 2)]", "{\"a\": 1", "+ 2)]");
    breaks("a=1j)]", "{\"a\": ", ")]");
    breaks("a=f'{x}')]", "{\"a\": \"", "{x}')]");
    breaks("a=[1 2])]", "{\"a\": [1", "2])]");
    breaks("a={[1]: 2})]", "{\"a\": [[1]", ": 2})]");
    breaks("a={'k': 1, [2]: 3})]", "{\"a\": {\"k\": 1, ", "[2]: 3})]");
    breaks("a=(1 'x'))]", "{\"a\": [1", "'x'))]");
}

#[test]
fn a_string_that_nothing_closes_ends_with_its_call_if_the_block_closes_behind_it() {
    let read = lfm("room='A' seats=3)]<|tool_call_end|> So.");
    assert_eq!(read.args, "{\"room\": \"A' seats=3");
    assert_eq!(read.left, ")]<|tool_call_end|> So.");
    assert_eq!(read.status, Some(Status::Done { complete: false }));
    assert_eq!(lfm("a='f(x)] g')]<|tool_call_end|>").args, r#"{"a": "f(x)] g"}"#);
    assert_eq!(lfm("a='x']<|tool_call_end|>").left, "]<|tool_call_end|>");
    let bare = pythonic("room='A' seats=3)]\n");
    assert_eq!((bare.args.as_str(), bare.left.as_str()), ("{\"room\": \"A' seats=3", ")]\n"));
}

#[test]
fn the_end_of_the_output() {
    for (text, stop, length) in [
        ("", ("{}", true), ("", false)),
        ("a=1", ("{\"a\": 1}", true), ("{\"a\": ", false)),
        ("a=1, ", ("{\"a\": 1}", true), ("{\"a\": 1", false)),
        ("a=1, b", ("{\"a\": 1", false), ("{\"a\": 1", false)),
        ("a=", ("{\"a\": ", false), ("{\"a\": ", false)),
        ("a='x", ("{\"a\": \"x", false), ("{\"a\": \"x", false)),
        ("a='x'", ("{\"a\": \"x\"}", true), ("{\"a\": \"x", false)),
        ("a='x', ", ("{\"a\": \"x\"}", true), ("{\"a\": \"x\"", false)),
        ("a='x\\", ("{\"a\": \"x", false), ("{\"a\": \"x", false)),
        ("a='x\\u00", ("{\"a\": \"x", false), ("{\"a\": \"x", false)),
        ("a='''x''", ("{\"a\": \"x", false), ("{\"a\": \"x", false)),
        ("a=[1, 2", ("{\"a\": [1, 2", false), ("{\"a\": [1, ", false)),
        ("a={'av", ("{\"a\": {\"av", false), ("{\"a\": {\"av", false)),
        ("a={", ("{\"a\": {", false), ("{\"a\": {", false)),
        ("a=Tr", ("{\"a\": ", false), ("{\"a\": ", false)),
        ("a=True", ("{\"a\": true}", true), ("{\"a\": true", false)),
        ("a='x)", ("{\"a\": \"x)", false), ("{\"a\": \"x)", false)),
        ("a='x)]", ("{\"a\": \"x", false), ("{\"a\": \"x)]", false)),
    ] {
        for (eof, (args, complete)) in [(Eof::Stop, stop), (Eof::Length, length)] {
            let read = read(&spec(&["]"], ", "), text, eof);
            assert_eq!((read.args.as_str(), read.status), (args, Some(Status::Done { complete })), "{text} {eof:?}");
        }
    }
}

#[test]
fn the_start_of_arguments_is_seen_before_the_call_is_announced() {
    let limits = Limits::default();
    for (text, found) in [
        (")", Match::Full(1)),
        (" \n)", Match::Full(3)),
        ("room='A'", Match::Full(4)),
        ("room = 3", Match::Full(5)),
        ("ro", Match::Partial),
        ("room ", Match::Partial),
        ("room=", Match::Partial),
        ("", Match::Partial),
        ("room==3", Match::No),
        ("'Nest', 3", Match::No),
        ("**{}", Match::No),
        ("3", Match::No),
        ("room)", Match::No),
        ("# x", Match::No),
    ] {
        assert_eq!(keyword::arguments(text, false, &limits), found, "{text:?}");
    }
    assert_eq!(keyword::arguments("room=", true, &limits), Match::Full(4));
    assert_eq!(keyword::arguments("ro", true, &limits), Match::No);
    let long = "x".repeat(limits.name + 1);
    assert_eq!(keyword::arguments(&long, false, &limits), Match::No);
}

#[test]
fn limits_hold() {
    let limits = Limits { argument: 8, depth: 3, ..Limits::default() };
    let step = |text: &str| {
        let mut read = Read::default();
        let mut cx = Cx { out: &mut read, schema: None, limits: &limits, eof: Eof::No };
        let step = Kwargs::default().step(&spec(&["]"], ", "), &mut cx, text);
        (step.status, read.args)
    };
    assert_eq!(step("a=[[[[1"), (Status::Broken, "{\"a\": [[[".into()));
    assert_eq!(step("a=1234567890"), (Status::Broken, "{\"a\": ".into()));
    assert_eq!(step("a=('0123456789"), (Status::More, "{\"a\": [\"0123456789".into()));
}

#[test]
fn a_body_in_brackets_of_another_kind_is_refused() {
    assert!(KwargsSpec::new(&Tools::default(), Follow::default()).unwrap_err().hint.is_some());
}

const FRAGMENTS: &[&str] = &[
    "a=",
    "b = ",
    "=",
    ",",
    ", ",
    "'",
    "\"",
    "'''",
    "\\",
    "\\n",
    "\\u00e9",
    "\\ud83d",
    "\\udeb2",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    "1",
    "0x1f",
    "1e999",
    ".",
    "-",
    "_",
    "True",
    "None",
    "nul",
    "r",
    "f",
    "b",
    " ",
    "\n",
    "#",
    "x",
    "東京",
    "name(",
    ")]",
    "</function_calls>",
    "]<|tool_call_end|>",
    "'a'",
    "='x'",
    ", c='y'",
    "{'k': ",
    "{{",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1500))]
    #[test]
    fn any_text_in_any_cut(parts in proptest::collection::vec(0..FRAGMENTS.len(), 0..24), form in 0..3_usize, length: bool) {
        let text: String = std::iter::once("a=").chain(parts.iter().map(|i| FRAGMENTS[*i])).collect();
        let spec = [spec(&["]", "]<|python_end|>"], ", "), spec(&["]<|tool_call_end|>"], ", "), spec(&["</function_calls>"], "\n")];
        let read = read(&spec[form], &text, if length { Eof::Length } else { Eof::Stop });
        proptest::prop_assert_ne!(read.status, Some(Status::More));
        if read.status == Some(Status::Done { complete: true }) {
            proptest::prop_assert!(serde_json::from_str::<serde_json::Value>(&read.args).is_ok(), "{}", read.args);
        }
    }
}
