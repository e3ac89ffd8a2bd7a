use serde_json::json;

use super::{call, of};
use crate::limits::Limits;

/// Where the arguments are refused that `tool` shall write.
fn arguments(tool: &str, json: &str) -> String {
    of("", tool).call("tide", json).refused()
}

#[test]
fn markup_in_text() {
    assert_eq!(of("qwen3", "").thought("Say </think> now.").refused(), "reasoning");
    assert_eq!(of("qwen3", "").thought("Say <tool_call> now.").refused(), "reasoning");
    assert_eq!(of("qwen3", "").thought("Hm.").answer("Say </think> now.").refused(), "content");
    assert_eq!(of("", "hermes").answer("Say <tool_call> now.").refused(), "content");
    assert_eq!(of("", "qwen3_coder").answer("Say <  function = now.").refused(), "content");
    assert_eq!(of("minicpmv", "").thought("Hm.").answer("Ends in <|im_end|>").refused(), "content");
    assert_eq!(of("minicpmv", "").thought("A \\n here.").refused(), "reasoning");
    assert_eq!(of("cohere_command3", "").answer("A <co>mark</co: 0:[1]>.").refused(), "content");
    assert_eq!(of("granite", "").thought("So. Here is my response: no.").refused(), "reasoning");
}

#[test]
fn white_space_that_would_be_lost() {
    assert_eq!(of("mistral", "").answer(" \n").refused(), "content");
    // Beside markup it is dropped, as reading drops it.
    assert_eq!(of("qwen3", "").thought("\n").answer(" \nSeven.").text(), "<think>\n\n</think>\n\nSeven.");
    assert_eq!(of("", "ernie45").answer("\nSeven.\n").text(), "<response>\n\nSeven.\n\n</response>\n");
    assert_eq!(of("mistral", "").answer("\n Seven. ").text(), "\n Seven. ");
}

#[test]
fn text_that_looks_like_a_call() {
    for (tool, answer) in [
        ("llama3_json", "Use {\"name\": \"x\"} here."),
        ("xlam", "Use [{\"name\": \"x\", \"arguments\": {}}] here."),
        ("xlam", "So:\n```json\n[1, 2]\n```"),
        ("pythonic", "[tide(days=3)]"),
        ("phi4_mini_json", "import functools\n[1]"),
    ] {
        assert_eq!(of("", tool).answer(answer).refused(), "content", "{tool}");
    }
    for (tool, answer) in [
        ("llama3_json", "Use {\"depth\": 3} and fn f() {}."),
        ("xlam", "So:\n```json\n{\"a\": 1}\n```\nor\n```\nx\n```"),
        ("pythonic", "[1] As tide(days=3) shows."),
        ("phi4_mini_json", "import functools"),
        ("gigachat3", "A function call is made."),
        ("granite", "Here is my list."),
    ] {
        assert_eq!(of("", tool).answer(answer).text(), answer, "{tool}");
    }
}

#[test]
fn calls_that_count_only_at_the_start() {
    assert_eq!(of("", "pythonic").answer("Sure.").call("ping", "{}").refused(), "content");
    assert_eq!(
        of("", "lfm2").answer("Sure.").call("ping", "{}").text(),
        "Sure.<|tool_call_start|>[ping()]<|tool_call_end|>"
    );
}

#[test]
fn an_open_bracket_before_calls_without_a_marker() {
    assert_eq!(of("", "llama3_json").answer("Use {\"a\": ").call("ping", "{}").refused(), "content");
    assert_eq!(
        of("", "llama3_json").answer("Sure: ").call("ping", "{}").text(),
        "Sure:{\"name\": \"ping\", \"parameters\": {}}"
    );
}

#[test]
fn names_and_keys_that_no_tag_can_hold() {
    for name in ["", "a b", "a[0]", "a<b", "a\"b", "a\nb"] {
        assert_eq!(of("", "hermes").call(name, "{}").refused(), "tool_calls[0].name", "{name:?}");
    }
    assert_eq!(of("", "hermes").call(&"n".repeat(257), "{}").refused(), "tool_calls[0].name");
    assert_eq!(arguments("qwen3_coder", r#"{"a>b": 1}"#), "tool_calls[0].arguments.a>b");
    assert_eq!(arguments("qwen3_coder", r#"{"a=b": "x"}"#), "tool_calls[0].arguments.a=b");
    assert_eq!(arguments("minimax_m3", r#"{"/a": "x"}"#), "tool_calls[0].arguments./a");
    assert_eq!(arguments("gemma4", r#"{"a:b": "x"}"#), "tool_calls[0].arguments.a:b");
}

#[test]
fn arguments_that_are_no_object_or_not_complete() {
    for json in ["", "[]", "{\"a\": 1", "{\"a\": \"\n\"}", "null"] {
        assert_eq!(arguments("hermes", json), "tool_calls[0].arguments", "{json:?}");
    }
    let mut case = of("", "hermes").calls(vec![call("ping", "{}"), call("ping", "{}")]);
    case.message.tool_calls[1].complete = false;
    assert_eq!(case.refused(), "tool_calls[1]");
}

#[test]
fn values_that_the_schema_would_change() {
    for (tool, json, place) in [
        ("qwen3_coder", r#"{"note": "null"}"#, "note"),
        ("qwen3_coder", r#"{"days": "3"}"#, "days"),
        ("qwen3_coder", r#"{"port": 5}"#, "port"),
        ("qwen3_coder", r#"{"unknown": 5}"#, "unknown"),
        ("qwen3_coder", r#"{"days": 1e999}"#, "days"),
        ("poolside_v1", r#"{"unknown": "5"}"#, "unknown"),
        ("poolside_v1", r#"{"unknown": "(1, 2)"}"#, "unknown"),
        ("gemma4", r#"{"port": 5}"#, "port"),
        ("functiongemma", r#"{"unknown": "5"}"#, "unknown"),
        ("minimax_m3", r#"{"port": ["a"]}"#, "port"),
        ("minimax_m3", r#"{"unknown": {"a": 1}}"#, "unknown.a"),
    ] {
        assert_eq!(arguments(tool, json), format!("tool_calls[0].arguments.{place}"), "{tool} {json}");
    }
    for (tool, json) in [
        ("qwen3_coder", r#"{"port": "5", "note": null, "unknown": "5", "days": 12345678901234567890}"#),
        ("poolside_v1", r#"{"port": "(1, 2)", "unknown": 5}"#),
        ("gemma4", r#"{"unknown": 5, "port": "null"}"#),
        ("deepseek_v4", r#"{"note": "null", "unknown": 5}"#),
    ] {
        assert!(of("", tool).call("tide", json).result().is_ok(), "{tool} {json}");
    }
}

#[test]
fn structure_inside_a_value() {
    for (tool, json) in [
        ("qwen3_coder", r#"{"port": "a</parameter>\n</function>"}"#),
        ("qwen3_coder", r#"{"port": "a\n<parameter=days>"}"#),
        ("glm47", r#"{"port": "a</tool_call>"}"#),
        ("minimax_m2", r#"{"port": "<invoke name=\"x\">"}"#),
        ("gemma4", "{\"port\": \"a<|\\\"|>b\"}"),
        ("functiongemma", r#"{"port": "a<escape>b"}"#),
        ("minimax_m3", r#"{"port": "a]<]minimax[>[</port>"}"#),
    ] {
        assert_eq!(arguments(tool, json), "tool_calls[0].arguments.port", "{tool} {json}");
    }
    let text = of("", "qwen3_coder").call("tide", r#"{"port": "a</parameter> b <b>c</b>"}"#).text();
    assert!(text.contains("\na</parameter> b <b>c</b>\n</parameter>\n"), "{text}");
}

#[test]
fn values_that_a_word_of_the_format_changes() {
    assert_eq!(arguments("dots", r#"{"port": " a"}"#), "tool_calls[0].arguments.port");
    assert_eq!(arguments("minicpm5", r#"{"port": "Ġa"}"#), "tool_calls[0].arguments.port");
    assert_eq!(arguments("minicpm5", r#"{"arguments": {"port": "a"}}"#), "tool_calls[0].arguments.arguments");
    assert_eq!(arguments("deepseek_v4", r#"{"input": {"port": "a"}}"#), "tool_calls[0].arguments.input");
    assert!(of("", "deepseek_v4").call("tide", r#"{"port": "a", "input": {"port": "a"}}"#).result().is_ok());
    assert_eq!(arguments("minimax_m3", r#"{"port": "a", "port": "b"}"#), "tool_calls[0].arguments.port");
    assert_eq!(arguments("minimax_m3", r#"{"marks": [], "boat": {"name": " "}}"#), "tool_calls[0].arguments.boat.name");
}

#[test]
fn an_answer_that_is_guided_json() {
    let required = json!({"tool_choice": "required"});
    assert_eq!(of("", "hermes").answer("[1]").with(required).refused(), "content");
    assert_eq!(of("", "hermes").answer("[1]").text(), "[1]");
}

#[test]
fn an_error_names_the_value_and_says_why() {
    let error = of("", "qwen3_coder").call("tide", r#"{"days": "3"}"#).result().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`tool_calls[0].arguments.days` is a string that the format's untyped text cannot say: it is read as 3"
    );
}

#[test]
fn what_the_limits_keep_from_being_read() {
    let bounded = |set: fn(&mut Limits)| {
        let mut limits = Limits::default();
        set(&mut limits);
        of("", "qwen3_coder").limits(limits)
    };
    let tide = |set: fn(&mut Limits), arguments: &str| bounded(set).call("tide", arguments);
    assert_eq!(tide(|l| l.name = 3, "{}").refused(), "tool_calls[0].name");
    assert_eq!(tide(|l| l.name = 4, r#"{"ports": "x"}"#).refused(), "tool_calls[0].arguments.ports");
    assert_eq!(tide(|l| l.argument = 3, r#"{"days": 1234}"#).refused(), "tool_calls[0].arguments.days");
    assert_eq!(tide(|l| l.arguments = 8, r#"{"days": 3}"#).refused(), "tool_calls[0].arguments");
    assert_eq!(tide(|l| l.depth = 1, r#"{"boat": {"feet": [1]}}"#).refused(), "tool_calls[0].arguments");
    assert_eq!(tide(|l| l.header = 20, "{}").refused(), "tool_calls[0].arguments");
    let two = bounded(|l| l.calls = 1).calls(vec![call("tide", "{}"), call("tide", "{}")]);
    assert_eq!(two.refused(), "tool_calls");
    assert_eq!(
        of("", "minimax_m3")
            .limits(Limits { argument: 3, ..Limits::default() })
            .call("tide", r#"{"days": 1234}"#)
            .refused(),
        "tool_calls[0].arguments.days"
    );
    assert_eq!(
        of("", "pythonic").limits(Limits { name: 4, ..Limits::default() }).call("tide", r#"{"ports": 1}"#).refused(),
        "tool_calls[0].arguments.ports"
    );
    tide(
        |l| *l = Limits { name: 4, argument: 4, arguments: 30, calls: 1, header: 40, ..Limits::default() },
        r#"{"days": 1234}"#,
    )
    .text();
}
