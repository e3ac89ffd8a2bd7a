use serde_json::json;

use super::*;
use crate::body::testing::{Feed, Follows, Run, check_cuts};
use crate::format::file::{Escape, List, ParamsWords, Silent, Tools, Trim, Typed};
use crate::schema::FunctionSchema;

mod lost;
mod mended;

/// A format's parameters, as its file defines them.
struct Format {
    block: &'static str,
    call: &'static str,
    tools: Tools,
}

fn format(block: &'static str, call: &'static str, param: &str) -> Format {
    Format { block, call, tools: Tools { param: List(vec![param.into()]), ..Tools::default() } }
}

fn lines() -> Format {
    let mut format = format(
        "\n<tool_call>\n{calls}\n</tool_call>",
        "<function={name}>\n{params}</function>",
        "<parameter={key}>\n{value}\n</parameter>\n",
    );
    format.tools.loose = true;
    format
}

fn pairs() -> Format {
    format("", "<tool_call>{name}{params}</tool_call>", "<arg_key>{key}</arg_key><arg_value>{value}</arg_value>")
}

fn quoted() -> Format {
    format(
        "<calls>\n{calls}</calls>",
        "<invoke name=\"{name}\">\n{params}</invoke>\n",
        "<parameter name=\"{key}\">{value}</parameter>\n",
    )
}

fn flagged() -> Format {
    let mut format = format(
        "<calls>\n{calls}</calls>",
        "<invoke name=\"{name}\">\n{params}</invoke>\n",
        "<parameter name=\"{key}\" string=\"{string}\">{value}</parameter>\n",
    );
    format.tools.params.unwrap = List(vec!["arguments".into()]);
    format
}

fn xml() -> Format {
    let mut format =
        format("", "<function name=\"{name}\">{params}</function>", "<param name=\"{key}\">{value}</param>");
    format.tools.silent = Silent::Json;
    format.tools.python = true;
    format.tools.params = ParamsWords {
        escape: Escape::Xml,
        marks: true,
        unwrap: List(vec!["arguments".into()]),
        ..ParamsWords::default()
    };
    format
}

fn schema() -> FunctionSchema {
    FunctionSchema::new(&json!({"properties": {
        "text": {"type": "string"},
        "more": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "list": {"type": "array"},
        "maybe": {"type": ["string", "null"]},
        "either": {"type": ["integer", "string"]},
        "mode": {"enum": ["eco", "boost"]},
        "free": {},
    }}))
}

/// Reads `body` at every split; the text after it must be left.
fn read(format: &Format, body: &str, eof: Eof) -> Run {
    read_with(format, Some(&schema()), body, eof)
}

fn read_with(format: &Format, schema: Option<&FunctionSchema>, body: &str, eof: Eof) -> Run {
    let spec = ParamsSpec::new(&format.tools, Follows::of(format.block, format.call, format.tools.loose)).unwrap();
    let limits = crate::limits::Limits { argument: 200, blank: 40, ..crate::limits::Limits::default() };
    let feed = Feed { text: body, eof, schema, limits: &limits };
    check_cuts(body, |cuts| feed.drive(cuts, |params: &mut Params, cx, input| params.step(&spec, cx, input)))
}

/// The arguments of a complete body, and the text left after it.
fn whole(format: &Format, body: &str) -> (String, String) {
    let run = read(format, body, Eof::Stop);
    assert_eq!(run.status, Some(Status::Done { complete: true }), "{run:?}");
    assert!(serde_json::from_str::<serde_json::Value>(&run.args).is_ok(), "{run:?}");
    (run.args, run.rest)
}

fn args(format: &Format, body: &str) -> String {
    whole(format, body).0
}

/// The arguments of a body cut by the output's end.
fn cut(format: &Format, body: &str) -> String {
    let run = read(format, body, Eof::Length);
    assert_eq!(run.status, Some(Status::Done { complete: false }), "{run:?}");
    assert_eq!(run.rest, "", "{run:?}");
    run.args
}

#[test]
fn parameters_become_members() {
    assert_eq!(
        whole(
            &lines(),
            "\n<parameter=text>\nLooe\n</parameter>\n<parameter=count>\n3\n</parameter>\n</function>\n</tool_call>"
        ),
        ("{\"text\": \"Looe\", \"count\": 3}".into(), "</function>\n</tool_call>".into())
    );
    assert_eq!(
        args(
            &pairs(),
            "<arg_key>text</arg_key>\n<arg_value> a\nb </arg_value><arg_key> ratio </arg_key><arg_value>0.50</arg_value></tool_call>x"
        ),
        "{\"text\": \" a\\nb \", \"ratio\": 0.50}"
    );
    assert_eq!(
        args(&quoted(), "<parameter name='it\"em'>x</parameter><parameter name=text>y</parameter></invoke>"),
        "{\"it\\\"em\": \"x\", \"text\": \"y\"}"
    );
}

#[test]
fn no_parameters_are_an_empty_object() {
    for (body, rest) in [
        ("\n</function>x", "</function>x"),
        ("", ""),
        ("  \n</tool_call>", "</tool_call>"),
        ("\n<function=g>", "<function=g>"),
    ] {
        assert_eq!(whole(&lines(), body), ("{}".into(), rest.into()), "{body:?}");
    }
    assert_eq!(args(&lines(), "\n</fun"), "{}");
}

#[test]
fn framing_is_exactly_what_the_template_writes() {
    assert_eq!(
        args(&lines(), "<parameter=text>\n\n\nkeep\n\n</parameter>\n</function>"),
        "{\"text\": \"\\n\\nkeep\\n\"}"
    );
    assert_eq!(args(&lines(), "<parameter=text>\n\n</parameter></function>"), "{\"text\": \"\"}");
    assert_eq!(args(&lines(), "<parameter=text>\n</parameter></function>"), "{\"text\": \"\"}");
    assert_eq!(args(&lines(), "<parameter=text></parameter></function>"), "{\"text\": \"\"}");
    assert_eq!(args(&lines(), "<parameter=text> x \n</parameter></function>"), "{\"text\": \" x \"}");
    assert_eq!(args(&quoted(), "<parameter name=\"text\">\nx\n</parameter></invoke>"), "{\"text\": \"\\nx\\n\"}");
}

#[test]
fn tags_may_be_loose_where_the_format_says_so() {
    assert_eq!(args(&lines(), "< parameter = text >A< / parameter >\n</function>"), "{\"text\": \"A\"}");
}

#[test]
fn a_tag_that_closes_itself_is_an_empty_value() {
    assert_eq!(
        args(&quoted(), "<parameter name=\"text\"/>\n<parameter name=\"count\"/></invoke>"),
        "{\"text\": \"\", \"count\": \"\"}"
    );
}

#[test]
fn a_closer_in_a_value_counts_only_before_structure() {
    let body = "<parameter=text>\nEnd a field with </parameter> and a call with </function> or </tool_call> please.\n</parameter>\n</function>\n</tool_call>";
    assert_eq!(
        args(&lines(), body),
        "{\"text\": \"End a field with </parameter> and a call with </function> or </tool_call> please.\"}"
    );
    let body = "<parameter=text>\nMentions </parameter>, then </function>, then <parameter=other> in a line.\n</parameter>\n</function>";
    assert_eq!(
        args(&lines(), body),
        "{\"text\": \"Mentions </parameter>, then </function>, then <parameter=other> in a line.\"}"
    );
    let body = "<arg_key>text</arg_key><arg_value> </arg_key> </arg_valu <b> </arg_value></tool_call>";
    assert_eq!(args(&pairs(), body), "{\"text\": \" </arg_key> </arg_valu <b> \"}");
    let body = format!("<parameter=text>a</parameter>{}</function>b\n</parameter></function>", " ".repeat(41));
    assert_eq!(args(&lines(), &body), format!("{{\"text\": \"a</parameter>{}</function>b\"}}", " ".repeat(41)));
}

#[test]
fn a_missing_closer_is_repaired_where_structure_stands() {
    for body in [
        "<parameter=text>\nA\n<parameter=count>\n5\n</function>\n</tool_call>",
        "<parameter=text>\nA\n<parameter=count>\n5\n</function><function=g>",
        "<parameter=text>\nA\n<parameter=count>\n5\n</function>",
        "<parameter=text>\nA\n<parameter=count>\n5\n</parameter>\n</tool_call>\nRest",
        "<parameter=text>\nA\n<parameter=count>\n5\n</tool_call>\n<tool_call>",
    ] {
        assert_eq!(args(&lines(), body), "{\"text\": \"A\", \"count\": 5}", "{body:?}");
    }
    let body = "<arg_key>text</arg_key><arg_value>a<arg_key>count</arg_key><arg_value>5</arg_value></tool_call>";
    assert_eq!(args(&pairs(), body), "{\"text\": \"a\", \"count\": 5}");
    let body = "<arg_key>text</arg_key><arg_value>a<arg_key>no head</arg_value></tool_call>";
    assert_eq!(args(&pairs(), body), "{\"text\": \"a<arg_key>no head\"}");
}

#[test]
fn values_take_the_schemas_type() {
    let body = "<arg_key>count</arg_key><arg_value> 1_000\n</arg_value><arg_key>flag</arg_key><arg_value>TRUE</arg_value><arg_key>list</arg_key><arg_value>[1, \"a\tb\"]</arg_value><arg_key>maybe</arg_key><arg_value>null</arg_value><arg_key>maybe</arg_key><arg_value>nullable</arg_value><arg_key>either</arg_key><arg_value>5</arg_value><arg_key>either</arg_key><arg_value>5 of them</arg_value><arg_key>mode</arg_key><arg_value>\neco\n</arg_value><arg_key>free</arg_key><arg_value>17</arg_value><arg_key>other</arg_key><arg_value>1</arg_value></tool_call>";
    assert_eq!(
        args(&pairs(), body),
        "{\"count\": 1000, \"flag\": true, \"list\": [1, \"a\\tb\"], \"maybe\": null, \"maybe\": \"nullable\", \"either\": 5, \"either\": \"5 of them\", \"mode\": \"eco\", \"free\": \"17\", \"other\": \"1\"}"
    );
    let run = read_with(&pairs(), None, "<arg_key>count</arg_key><arg_value>1</arg_value></tool_call>", Eof::Stop);
    assert_eq!(run.args, "{\"count\": \"1\"}");
}

#[test]
fn attributes_that_type_a_value_win() {
    let body = "<parameter name=\"count\" string=\"true\">7</parameter>\n<parameter name=\"text\" string=\"false\">{\"a\": \"1\"}</parameter>\n<parameter name=\"text\" string=\"false\">oops</parameter>\n<parameter name=\"count\">7</parameter>\n</invoke>";
    assert_eq!(
        args(&flagged(), body),
        "{\"count\": \"7\", \"text\": {\"a\": \"1\"}, \"text\": \"oops\", \"count\": 7}"
    );
    let mut typed = format(
        "<|open|>tools<|sep|>{calls}<|close|>tools<|sep|>",
        "<|open|>call tool=\"{name}\"<|sep|>{params}<|close|>call<|sep|>",
        "<|open|>argument key=\"{key}\" type=\"{type}\"<|sep|>{value}<|close|>argument<|sep|>",
    );
    typed.tools.params.attr = Escape::Xml;
    let argument =
        |attributes: &str, value: &str| format!("<|open|>argument {attributes}<|sep|>{value}<|close|>argument<|sep|>");
    let body = argument("key=\"count\" type=\"string\"", "5")
        + &argument("key=\"text\" type=\"number\"", "5")
        + &argument("key=\"flag\" type=\"number\"", "oops")
        + &argument("key=\"count\"", "4")
        + &argument("type=\"object\" key=\"a&quot;&amp;b\"", "{}")
        + "<|close|>call<|sep|>";
    assert_eq!(
        args(&typed, &body),
        "{\"count\": \"5\", \"text\": 5, \"flag\": \"oops\", \"count\": 4, \"a\\\"&b\": {}}"
    );
}

#[test]
fn the_schema_wins_over_a_written_type_where_the_format_says_so() {
    let mut typed = format("", "<call>{name}\n{params}</call>", "<k>{key}</k><t>{type}</t><v>{value}</v>\n");
    typed.tools.params.typed = Typed::Schema;
    let body = "<k>count</k><t>string</t><v>5</v>\n<k>either</k><t>string</t><v>5</v>\n<k>free</k><t>any</t><v>6</v>\n<k>free</k><t>number</t><v>6</v>\n<k>maybe</k><t>integer</t><v>6</v></call>";
    assert_eq!(args(&typed, body), "{\"count\": 5, \"either\": \"5\", \"free\": \"6\", \"free\": 6, \"maybe\": \"6\"}");
}

#[test]
fn a_first_parameter_that_holds_the_arguments_is_unwrapped() {
    let wrapped = |value: &str| format!("<parameter name=\"arguments\" string=\"false\">{value}</parameter>\n");
    assert_eq!(
        args(&flagged(), &(wrapped("{\"text\": \"a\", \"count\": 2}") + "</invoke>")),
        "{\"text\": \"a\", \"count\": 2}"
    );
    let body = wrapped(" {\"text\": \"a\"} ") + "<parameter name=\"flag\" string=\"false\">true</parameter></invoke>";
    assert_eq!(args(&flagged(), &body), "{\"text\": \"a\", \"flag\": true}");
    assert_eq!(args(&flagged(), &(wrapped("{ }") + "</invoke>")), "{}");
    assert_eq!(args(&flagged(), &(wrapped("[1]") + "</invoke>")), "{\"arguments\": [1]}");
    assert_eq!(args(&flagged(), &(wrapped("some text") + "</invoke>")), "{\"arguments\": \"some text\"}");
    let run = read_with(&flagged(), None, &(wrapped("{\"a\": 1}") + "</invoke>"), Eof::Stop);
    assert_eq!(run.args, "{\"arguments\": {\"a\": 1}}");
    assert_eq!(args(&xml(), "<param name=\"arguments\">{'text': 'a'}</param></function>"), "{\"text\": \"a\"}");
}

#[test]
fn outer_white_space_goes_where_the_format_says_so() {
    let mut trimmed = quoted();
    trimmed.tools.params.trim = Trim::All;
    let value = |text: &str| format!("<parameter name=\"text\">{text}</parameter>\n</invoke>");
    assert_eq!(args(&trimmed, &value(" \n a <b> c \n ")), "{\"text\": \"a <b> c\"}");
    assert_eq!(args(&trimmed, &value(" \n ")), "{\"text\": \"\"}");
    assert_eq!(args(&trimmed, &value("a </parameter> b ")), "{\"text\": \"a </parameter> b\"}");
    let long = " ".repeat(41);
    assert_eq!(args(&trimmed, &value(&format!("a{long}"))), format!("{{\"text\": \"a{long}\"}}"));
    assert_eq!(args(&trimmed, &value(&format!("a{long}b "))), format!("{{\"text\": \"a{long}b\"}}"));
}

#[test]
fn entities_sections_and_marks_are_decoded() {
    let value = |text: &str| format!("<param name=\"text\">{text}</param></function>");
    assert_eq!(
        args(&xml(), &value("a &lt; b &amp;&#x41;&#66; &nope; & c &amp")),
        "{\"text\": \"a < b &AB &nope; & c &amp\"}"
    );
    assert_eq!(
        args(&xml(), &value("<![CDATA[ </param></function> &lt; ]] ]]>")),
        "{\"text\": \" </param></function> &lt; ]] \"}"
    );
    assert_eq!(args(&xml(), &value("x<![CDATA[]]]]>y")), "{\"text\": \"x]]y\"}");
    assert_eq!(args(&xml(), "<paramĠname=\"text\">AĊB Ġ\u{120}</param>Ċ</function>"), "{\"text\": \"A\\nB   \"}");
    assert_eq!(
        args(&xml(), "<param name=\"count\"><![CDATA[3]]></param><param name=\"free\">{'a': None}</param></function>"),
        "{\"count\": 3, \"free\": {\"a\": null}}"
    );
}

#[test]
fn the_end_of_the_output_closes_nothing_that_was_open() {
    for (body, expected) in [
        ("", ""),
        ("\n<par", ""),
        ("<parameter=te", ""),
        ("<parameter=text>", "{\"text\": \""),
        ("<parameter=text>\nhalf of a li", "{\"text\": \"half of a li"),
        ("<parameter=text>\nA\n</param", "{\"text\": \"A"),
        ("<parameter=text>\nA\n<parameter=co", "{\"text\": \"A"),
        ("<parameter=text>\nA\n</function>", "{\"text\": \"A"),
        ("<parameter=text>\nA\n</parameter>", "{\"text\": \"A\""),
        ("<parameter=text>\nA\n</parameter>\n</func", "{\"text\": \"A\""),
        ("<parameter=count>\n1", "{\"count\": "),
        ("<parameter=mode>\nec", "{\"mode\": \"ec"),
        ("<parameter=maybe>\nnu", "{\"maybe\": "),
        ("<parameter=maybe>\nnur", "{\"maybe\": \"nur"),
    ] {
        assert_eq!(cut(&lines(), body), expected, "{body:?}");
    }
    let run = read(&lines(), "<parameter=text>\nA\n</parameter>\n", Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("{\"text\": \"A\"}", Some(Status::Done { complete: true })));
    let run = read(&lines(), "<parameter=text>\nA", Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("{\"text\": \"A", Some(Status::Done { complete: false })));
    let run = read(&lines(), "<parameter=list>\n[1, 2", Eof::Length);
    assert_eq!(run.diagnostics, [(DiagnosticKind::CallCutOff, "[1, 2".to_owned())]);
}

#[test]
fn a_key_without_a_value_breaks_the_call() {
    for (body, rest) in [
        ("<arg_key>text</arg_key>oolong</tool_call>", "oolong</tool_call>"),
        ("<arg_key>text</arg_key>\n</tool_call>after", "</tool_call>after"),
        ("<arg_key>text</arg_key>Aula<arg_key>count</arg_key>", "Aula<arg_key>count</arg_key>"),
    ] {
        let run = read(&pairs(), body, Eof::Stop);
        assert_eq!((run.args.as_str(), run.status), ("{\"text\": ", Some(Status::Broken)), "{body:?}");
        assert_eq!(run.rest, rest);
    }
    assert_eq!(cut(&pairs(), "<arg_key>text</arg_key>"), "{\"text\": ");
}

#[test]
fn text_between_parameters_goes_to_a_diagnostic() {
    let body = "so: a < b\n<parameter=count>\n5\n</parameter>\n</function>";
    let run = read(&lines(), body, Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("{\"count\": 5}", Some(Status::Done { complete: true })));
    assert_eq!(run.diagnostics, [(DiagnosticKind::UnplacedText, "so: a < b\n".to_owned())]);

    let long = "word ".repeat(100);
    let run = read(&quoted(), &format!("<parameter name=\"text\"/>{long}</invoke>"), Eof::Stop);
    assert_eq!((run.args.as_str(), run.diagnostics.len()), ("{\"text\": \"\"}", 1));
    // A closer counts only if structure follows.
    let body = "<parameter=text>\nA\n</parameter>\nand\n<parameter=count>\n5\n</parameter>\n</function>";
    assert_eq!(args(&lines(), body), "{\"text\": \"A\\n</parameter>\\nand\", \"count\": 5}");
}

#[test]
fn nothing_but_text_is_no_empty_object() {
    let run = read(&lines(), "\n{\"text\": \"A\"}\n</function>", Eof::Stop);
    assert_eq!((run.args.as_str(), run.status, run.rest.as_str()), ("", Some(Status::Broken), "</function>"));
    let run = read(&lines(), "\njust text", Eof::Stop);
    assert_eq!((run.args.as_str(), run.status), ("", Some(Status::Broken)));
}

#[test]
fn a_value_too_long_to_be_typed_is_a_string() {
    let long = format!("[{}]", "1, ".repeat(80));
    let run = read(&lines(), &format!("<parameter=list>\n{long}\n</parameter>\n</function>"), Eof::Stop);
    assert_eq!(run.args, format!("{{\"list\": \"{long}\"}}"));
    assert_eq!(run.diagnostics.iter().map(|n| n.0).collect::<Vec<_>>(), [DiagnosticKind::LimitReached]);
}

#[test]
fn templates_that_cannot_be_read_are_refused() {
    for (param, what) in [
        ("{key}: {value}\n", "begin with a literal"),
        ("<p>{value}</p>", "`{key}`"),
        ("<p>{key}</p>", "`{value}`"),
        ("<p>{key}{value}</p>", "between a slot and `{value}`"),
        ("<p k=\"{key}\">{value}\n", "no literal follows"),
        ("<p k=\"{key}\">{value}</p>{type}", "only literal text"),
        ("<p k=\"{kee}\">{value}</p>", "kee"),
    ] {
        let tools = Tools { param: List(vec![param.into()]), ..Tools::default() };
        let error = ParamsSpec::new(&tools, crate::body::Follow::default()).unwrap_err();
        assert!(error.message.contains(what), "{error:?}");
    }
    assert!(ParamsSpec::new(&Tools::default(), crate::body::Follow::default()).is_err());
}

mod glued {
    use proptest::prelude::*;

    use super::*;

    /// Pieces of markers, values and texts that resemble them.
    const PIECES: &[&str] = &[
        "<parameter=text>",
        "<parameter=count>",
        "<parameter=maybe>",
        "<parameter=list>",
        "\n</parameter>",
        "</parameter>",
        "</function>",
        "</tool_call>",
        "<tool_call>",
        "<function=g>",
        "<parameter name=\"text\">",
        "<parameter name=arguments",
        " string=\"false\">",
        " string='true'",
        "/>",
        "</invoke>",
        "</calls>",
        "<calls>",
        "<invoke name=\"g\">",
        "<arg_key>text",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "<param name=\"text\">",
        "<param\u{120}name=mode>",
        "</param>",
        "<![CDATA[",
        "]]>",
        "]",
        "&lt;",
        "&#x41",
        "&",
        ";",
        "\u{120}",
        "\u{10a}",
        "\n",
        " ",
        "                                          ",
        "<",
        "< / ",
        ">",
        "null",
        "1",
        "[1, ",
        "{\"a\": ",
        "\"",
        "word",
        "é",
        "eco",
        "</par",
        "<par",
    ];

    fn trimmed() -> Format {
        let mut format = quoted();
        format.tools.params.trim = Trim::All;
        format
    }

    fn no_panic_and_no_difference(format: &Format, body: &str) {
        for eof in [Eof::Stop, Eof::Length] {
            let run = read(format, body, eof);
            let whole = serde_json::from_str::<serde_json::Value>(&run.args).is_ok_and(|v| v.is_object());
            if run.status == Some(Status::Done { complete: true }) {
                assert!(whole, "{run:?} of {body:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn cuts_make_no_difference(picks in prop::collection::vec(prop::sample::select(PIECES), 0..14), kind in 0..6) {
            let format = [lines, pairs, quoted, flagged, xml, trimmed][kind as usize]();
            no_panic_and_no_difference(&format, &picks.concat());
        }

        #[test]
        fn cuts_make_no_difference_inside_a_value(picks in prop::collection::vec(prop::sample::select(PIECES), 0..12), kind in 0..6) {
            let (format, open) = [
                (lines(), "<parameter=text>\n"),
                (pairs(), "<arg_key>maybe</arg_key><arg_value>"),
                (quoted(), "<parameter name=\"text\">"),
                (flagged(), "<parameter name=\"arguments\">"),
                (xml(), "<param name=\"free\">"),
                (trimmed(), "<parameter name=\"mode\">"),
            ].into_iter().nth(kind as usize).unwrap();
            no_panic_and_no_difference(&format, &(open.to_owned() + &picks.concat()));
        }
    }
}
