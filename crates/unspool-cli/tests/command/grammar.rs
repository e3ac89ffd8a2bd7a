//! `unspool grammar`.

use serde_json::Value;

use crate::{TOOLS, TempFile, unspool};

/// Runs the command for a parser, with the tools and more options.
fn grammar(parser: &str, more: &[&str]) -> crate::Run {
    let tools = TempFile::new("tools.json", TOOLS);
    let arguments = [&["grammar", "--tool-call-parser", parser, "--tools", tools.path()], more].concat();
    unspool(&arguments, "")
}

#[test]
fn the_default_is_a_structural_tag() {
    let out = grammar("kimi_k2", &["--tool-choice", "required"]).clean();
    let tag: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(tag["type"], "structural_tag");
    assert!(out.contains("<|tool_call_begin|>functions.tide:0<|tool_call_argument_begin|>"), "{out}");
}

#[test]
fn llguidance_gets_text() {
    let level = ["--tool-choice", "tide", "--tool-strict-level", "parameter", "--target", "llguidance"];
    let out = grammar("qwen3_coder", &level).clean();
    assert!(out.starts_with("%llguidance {}\n\nstart: "), "{out}");
    assert!(out.contains("<parameter=harbour>") && out.contains("<function=tide>"), "{out}");
}

#[test]
fn the_thought_may_be_inside() {
    let names = ["--reasoning-parser", "deepseek_r1", "--tool-choice", "required"];
    assert!(!grammar("hermes", &names).clean().contains("</think"));
    assert!(grammar("hermes", &[&names[..], &["--with-thought"]].concat()).clean().contains("</think"));
}

#[test]
fn an_answer_of_a_form_is_one_of_two_ways() {
    let body = r#"{"tool_choice": "auto", "response_format": {"type": "json_schema", "json_schema": {"name": "d", "schema":
        {"type": "object", "properties": {"depth": {"type": "integer"}}}}}}"#;
    let request = TempFile::new("request.json", body);
    let out = grammar("hermes", &["--request", request.path()]).clean();
    assert!(out.contains("depth") && out.contains("tide"), "{out}");
}

#[test]
fn nothing_to_constrain_is_told() {
    let run = grammar("hermes", &[]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""));
    assert!(
        run.err.contains("there is nothing to constrain") && run.err.contains("--tool-choice required"),
        "{}",
        run.err
    );
}

#[test]
fn a_grammar_beyond_its_limit_is_refused() {
    let level = ["--tool-choice", "tide", "--tool-strict-level", "parameter", "--grammar-limit"];
    let err = grammar("hermes", &[&level[..], &["nodes=2"]].concat()).refused();
    assert!(err.contains("`tide`") && err.contains("`nodes=2`") && err.contains("--grammar-limit"), "{err}");
    let err = grammar("hermes", &[&level[..], &["bytes=300"]].concat()).refused();
    assert!(err.contains("`bytes=300`"), "{err}");
    let err = grammar("hermes", &[&level[..], &["4MiB"]].concat()).refused();
    assert!(err.contains("bytes=4MiB,nodes=200000"), "{err}");
}

#[test]
fn a_function_that_is_no_tool_is_refused() {
    let err = grammar("hermes", &["--tool-choice", "wind"]).refused();
    assert!(err.contains("`tool_choice` names the function `wind`"), "{err}");
}
