//! Markers that are missing, doubled or misspelled.

use super::*;

/// The arguments, and what was mended, of a body that is complete.
#[track_caller]
fn mended(format: &Format, body: &str) -> (String, Vec<String>) {
    let run = read(format, body, Eof::Stop);
    assert_eq!(run.status, Some(Status::Done { complete: true }), "{body:?}");
    let repairs = run.diagnostics.into_iter().filter(|(kind, _)| *kind == DiagnosticKind::Repaired);
    (run.args, repairs.map(|(_, text)| text).collect())
}

#[track_caller]
fn mends(format: &Format, body: &str, args: &str, repairs: &[&str]) {
    let (read, told) = mended(format, body);
    assert_eq!((read.as_str(), told), (args, repairs.iter().map(ToString::to_string).collect()), "{body:?}");
}

#[test]
fn a_closer_that_stands_there_twice_counts_once() {
    let rest = "\n</function>\n</tool_call>";
    mends(
        &lines(),
        &format!("<parameter=text>\nA\n</parameter>\n</parameter>{rest}"),
        "{\"text\": \"A\"}",
        &["</parameter> -> "],
    );
    mends(
        &lines(),
        &format!("<parameter=count>\n3\n</parameter></parameter>\n</parameter>{rest}"),
        "{\"count\": 3}",
        &["</parameter>\n</parameter> -> "],
    );
    // The value opened one of them itself.
    mends(
        &lines(),
        &format!("<parameter=text>\nsee <parameter=x>A</parameter>\n</parameter>{rest}"),
        "{\"text\": \"see <parameter=x>A</parameter>\"}",
        &[],
    );
    mends(
        &pairs(),
        "<arg_key>text</arg_key></arg_key><arg_value>A</arg_value></arg_value></tool_call>",
        "{\"text\": \"A\"}",
        &["</arg_key> -> ", "</arg_value> -> "],
    );
    mends(
        &pairs(),
        "<arg_key><arg_key>text</arg_key><arg_value>A</arg_value></tool_call>",
        "{\"text\": \"A\"}",
        &["<arg_key> -> "],
    );
}

#[test]
fn a_missing_opener_is_read_as_if_it_stood_there() {
    mends(
        &pairs(),
        "<arg_key>text</arg_key>Skerry </b> west</arg_value></tool_call>",
        "{\"text\": \"Skerry </b> west\"}",
        &[" -> <arg_value>"],
    );
    mends(
        &pairs(),
        "<arg_key>text</arg_key><arg_value>A</arg_value>count</arg_key><arg_value>3</arg_value></tool_call>",
        "{\"text\": \"A\", \"count\": 3}",
        &[" -> <arg_key>"],
    );
    // Behind the header a key needs its opener.
    let run = read(&pairs(), "text</arg_key><arg_value>A</arg_value></tool_call>", Eof::Stop);
    assert_eq!(run.args, "");
}

#[test]
fn a_missing_closer_in_a_line_needs_a_declared_key() {
    mends(
        &pairs(),
        "<arg_key>text</arg_key><arg_value>A<arg_key>count</arg_key><arg_value>3</arg_value></tool_call>",
        "{\"text\": \"A\", \"count\": 3}",
        &[" -> </arg_value>"],
    );
    for key in ["other", "text"] {
        let body =
            format!("<arg_key>text</arg_key><arg_value>A<arg_key>{key}</arg_key><arg_value>3</arg_value></tool_call>");
        mends(&pairs(), &body, &format!("{{\"text\": \"A<arg_key>{key}</arg_key><arg_value>3\"}}"), &[]);
    }
}

#[test]
fn closers_of_another_spelling_close_before_structure() {
    let rest = "\n<parameter=count>\n3\n</parameter>\n</function>\n</tool_call>";
    for closer in ["</text>", "</parameter=text>", "</parameter name=\"text\">"] {
        mends(
            &lines(),
            &format!("<parameter=text>\nA\n{closer}{rest}"),
            "{\"text\": \"A\", \"count\": 3}",
            &[&format!("{closer} -> </parameter>")],
        );
        // The true closer follows, or the end of the output, or prose.
        mends(
            &lines(),
            &format!("<parameter=text>\nA\n{closer}\n</parameter>{rest}"),
            &format!("{{\"text\": {}, \"count\": 3}}", serde_json::to_string(&format!("A\n{closer}")).unwrap()),
            &[],
        );
    }
    mends(
        &lines(),
        &format!("<parameter=text>\n<text>A</text>{rest}"),
        "{\"text\": \"<text>A</text>\", \"count\": 3}",
        &[" -> </parameter>"],
    );
    let open = read(&lines(), "<parameter=text>\nA\n</text>", Eof::Stop);
    assert_eq!((open.args.as_str(), open.status), ("{\"text\": \"A\\n</text>", Some(Status::Done { complete: false })));
}

#[test]
fn a_typed_string_that_holds_the_arguments_is_unwrapped() {
    let mut format = flagged();
    format.tools.params.unwrap = List(vec!["arguments".into()]);
    mends(
        &format,
        "<parameter name=\"arguments\" string=\"true\">{\"text\": \"A\"}</parameter></invoke>",
        "{\"text\": \"A\"}",
        &["{\"text\": \"A\"} -> {\"text\": \"A\"}"],
    );
    mends(
        &format,
        "<parameter name=\"arguments\" string=\"true\">A</parameter></invoke>",
        "{\"arguments\": \"A\"}",
        &[],
    );
}
