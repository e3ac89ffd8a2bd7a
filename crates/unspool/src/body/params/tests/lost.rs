//! The end of the output loses nothing but half a marker.

use super::*;

fn told(format: &Format, body: &str) -> Vec<String> {
    let diagnostics = [Eof::Stop, Eof::Length].map(|eof| read(format, body, eof).diagnostics);
    assert_eq!(diagnostics[0], diagnostics[1], "{body:?}");
    let [diagnostics, _] = diagnostics;
    diagnostics.into_iter().filter(|(kind, _)| *kind == DiagnosticKind::UnplacedText).map(|(_, text)| text).collect()
}

#[test]
fn an_opening_that_is_cut_inside_a_value_is_told_of() {
    for (format, body, lost) in [
        (lines(), "<parameter=text>\nA\n<parameter=mo", "<parameter=mo"),
        (quoted(), "<parameter name=\"text\">A\n<parametermoss", "<parametermoss"),
        (quoted(), "<parameter name=\"text\">A\n<parameter name=\"moss", "<parameter name=\"moss"),
        (pairs(), "<arg_key>text</arg_key><arg_value>A<arg_key>moss", "<arg_key>moss"),
        (pairs(), "<arg_key>text</arg_key><arg_value>A<arg_key>moss</arg_key><arg_v", "<arg_key>moss</arg_key><arg_v"),
    ] {
        assert_eq!(told(&format, body), [lost], "{body:?}");
    }
}

#[test]
fn what_may_have_been_a_value_without_its_opener_is_told_of() {
    assert_eq!(told(&pairs(), "<arg_key>text</arg_key><arg_val: moss"), ["<arg_val: moss"]);
    assert_eq!(told(&pairs(), "<arg_key>text</arg_key>moss and so on\n"), ["moss and so on"]);
}

#[test]
fn half_an_attribute_is_told_of() {
    for (body, lost) in [
        ("<parameter name=\"text\"moss", "moss"),
        ("<parameter name=\"text\" string=\"moss and so on", "string=\"moss and so on"),
        ("<parameter name=\"text\" string=\"true\" moss", "string=\"true\" moss"),
    ] {
        assert_eq!(told(&flagged(), body), [lost], "{body:?}");
        assert_eq!(cut(&flagged(), body), "{\"text\": ", "{body:?}");
    }
}

#[test]
fn half_a_marker_is_no_text() {
    for (format, body) in [
        (lines(), "<parameter=text>\nA\n</param"),
        (lines(), "<parameter=text>\nA\n<param"),
        (lines(), "<parameter=text>\nA\n</func"),
        (quoted(), "<parameter name=\"text\">A</parameter>\n</inv"),
        (flagged(), "<parameter name=\"text\""),
        (pairs(), "<arg_key>text</arg_key><arg_v"),
    ] {
        assert!(told(&format, body).is_empty(), "{body:?}");
    }
}

#[test]
fn an_attribute_before_a_break_is_told_of() {
    let run = read(&flagged(), "<parameter name=\"text\" string=moss\"false", Eof::Length);
    assert_eq!((run.status, run.rest.as_str()), (Some(Status::Broken), "\"false"));
    assert_eq!(run.diagnostics, [(DiagnosticKind::UnplacedText, "string=moss".to_owned())]);
}

#[test]
fn an_attribute_that_means_nothing_is_told_of() {
    for (attributes, lost) in [("string=\"moss\"", "moss"), ("kind='moss' string=\"true\"", "kind='moss'")] {
        let body = format!("<parameter name=\"text\" {attributes}>A</parameter>\n</invoke>");
        assert_eq!(told(&flagged(), &body), [lost], "{body:?}");
        assert_eq!(args(&flagged(), &body), "{\"text\": \"A\"}", "{body:?}");
    }
}
