//! `unspool template`: whether a chat template writes what a pair of parsers reads, and where two templates differ.

use std::process::Stdio;

use serde_json::Value;

use crate::serve::Gateway;
use crate::{TempFile, unspool};

/// Messages in the manner of ChatML, calls as hermes has them.
const HERMES: &str = "{% if tools %}{{ '<|im_start|>system\\n' }}{% for tool in tools %}{{ tool | tojson }}{{ '\\n' }}{% endfor %}{{ '<|im_end|>\\n' }}{% endif %}
{% for m in messages %}
{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.reasoning_content %}{{ '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}{% endif %}
{{- m.content }}
{%- for call in m.tool_calls or [] %}
{{- '\\n<tool_call>\\n{\"name\": \"' + call.function.name + '\", \"arguments\": ' }}{{ call.function.arguments | tojson }}{{ '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

fn check(template: &str, more: &[&str]) -> crate::Run {
    let file = TempFile::new("chat_template.jinja", template);
    unspool(&[&["template", "check", file.path()], more].concat(), "")
}

#[test]
fn a_template_fits_its_parsers() {
    let parsers = ["--reasoning-parser", "qwen3", "--tool-call-parser", "hermes", "--json"];
    let run = check(HERMES, &parsers);
    let told: Value = serde_json::from_str(&run.out).expect("it is JSON");
    assert_eq!((run.code, &told["fits"]), (Some(0), &Value::Bool(true)), "{told:#}");
    let cases: Vec<&str> =
        told["findings"].as_array().into_iter().flatten().filter_map(|finding| finding["check"].as_str()).collect();
    for case in ["tools in the prompt", "two calls", "a call with odd arguments", "a thought and a call"] {
        assert!(cases.contains(&case), "{cases:?}");
    }
}

#[test]
fn a_difference_is_shown_with_its_line() {
    let run = check(HERMES, &["--tool-call-parser", "mistral", "--json"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    let told: Value = serde_json::from_str(&run.out).expect("it is JSON");
    let call = told["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|finding| finding["check"] == "a call")
        .expect("it is tried");
    assert_eq!(call["verdict"], "differs", "{call:#}");
    assert!(call["line"].is_u64() && call["written"].to_string().contains("<tool_call>"), "{call:#}");
    assert!(call["parsed"]["content"].to_string().contains("tide_table"), "{call:#}");
    let run = check(HERMES, &["--tool-call-parser", "mistral"]);
    assert!(run.out.contains("\nthe template, line 7, writes\n  | \n  | <tool_call>\n  | {\"name\": "), "{}", run.out);
    assert!(run.out.contains("\nthe parser reads\n  | content    \"\\n<tool_call>"), "{}", run.out);
    let run = check("{% for m in messages %}{{ m.content }}{% endfor %}", &["--tool-call-parser", "hermes"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.out.contains("shows no tools"), "{}", run.out);
}

#[test]
fn what_cannot_be_checked_is_told() {
    let told = check("a\n{% if %}", &["--tool-call-parser", "hermes"]).refused();
    assert!(told.contains("line 2") && told.contains("chat_template.jinja"), "{told}");
    let told = check(HERMES, &[]).refused();
    assert!(told.contains("--tool-call-parser"), "{told}");
    let run = check("{{ raise_exception('never') }}", &["--tool-call-parser", "hermes"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.out.contains("never"), "{}", run.out);
}

#[test]
fn names_are_told_from_the_template() {
    let run = check(HERMES, &["--tool-call-parser", "auto"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    let told = check("{{ messages }}", &["--tool-call-parser", "auto"]).refused();
    assert!(told.contains("auto"), "{told}");
}

#[test]
fn templates_are_compared() {
    let same = TempFile::new("a.jinja", HERMES);
    let other = TempFile::new("b.jinja", &HERMES.replace("</think>", "</thinK>"));
    let run = unspool(&["template", "diff", same.path(), same.path()], "");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.lines().all(|line| line.starts_with("same ")), "{}", run.out);
    let run = unspool(&["template", "diff", same.path(), other.path()], "");
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.out.contains("differs a thought and a call: 1 place\n"), "{}", run.out);
    assert!(run.out.contains("line 4: `k` (U+006B) in "), "{}", run.out);
    assert!(run.out.contains("line 4: `K` (U+004B) in "), "{}", run.out);
    assert!(run.out.contains("same    a call\n"), "{}", run.out);
    let run = unspool(&["template", "diff", same.path(), other.path(), "--json"], "");
    let told: Value = serde_json::from_str(&run.out).expect("it is JSON");
    assert_eq!((run.code, &told["same"]), (Some(1), &Value::Bool(false)), "{told}");
    let broken = TempFile::new("c.jinja", "a\n{% if %}");
    let told = unspool(&["template", "diff", same.path(), broken.path()], "").refused();
    assert!(told.contains("c.jinja") && told.contains("line 2"), "{told}");
}

#[test]
fn the_gateway_tells_of_a_template_that_does_not_fit() {
    let file = TempFile::new("chat_template.jinja", HERMES);
    let told = |parser: &str| {
        let gateway = ["--log", "warn", "--chat-template", file.path(), "--tool-call-parser", parser];
        Gateway::telling(&gateway, Stdio::piped()).told()
    };
    assert_eq!(told("hermes"), "");
    let warning = told("mistral");
    assert_eq!(warning.lines().count(), 1, "{warning}");
    assert!(warning.contains("may not fit the parsers: a call: ") && warning.contains("(line 7)"), "{warning}");
}

#[test]
fn a_written_template_fits_its_parsers() {
    let written = unspool(&["template", "write", "qwen3_coder", "--reasoning-parser", "qwen3"], "").clean();
    assert!(
        written.starts_with("{#- Chat template for --reasoning-parser qwen3 --tool-call-parser qwen3_coder"),
        "{written}"
    );
    let parsers = ["--reasoning-parser", "qwen3", "--tool-call-parser", "qwen3_coder"];
    let run = check(&written, &parsers);
    assert_eq!(run.code, Some(0), "{}", run.out);
    let own = TempFile::new("words.txt", "Call what you need.\n");
    let written = unspool(&["template", "write", "mistral/v3", "--instructions", own.path()], "").clean();
    assert!(written.contains("[AVAILABLE_TOOLS]") && written.contains("Call what you need."), "{written}");
    let alone = unspool(&["template", "write", "qwen3"], "");
    assert!(alone.err.contains("shows no tools") && alone.err.contains("`qwen3_coder`"), "{}", alone.err);
    assert!(!alone.warned().contains("offered"), "no tools are shown");
    let refused = unspool(&["template", "write", "mistral/v9"], "").refused();
    assert!(refused.contains("`v9`") && refused.contains("hint: its flavours are"), "{refused}");
    let refused = unspool(&["template", "write", "jamba"], "").refused();
    assert!(refused.contains("hint: take the checkpoint's own chat template"), "{refused}");
}

#[test]
fn the_gateway_takes_a_template_by_the_name_of_its_format() {
    let flags = ["--tool-call-parser", "hermes", "--enable-auto-tool-choice", "--chat-template", "format:hermes/qwen"];
    let gateway = Gateway::start(&flags);
    let body = serde_json::json!({"messages": [{"role": "user", "content": "When?"}],
        "tools": [{"type": "function", "function": {"name": "tide"}}]});
    let answer = gateway.ask("POST /v1/chat/completions/render", &body.to_string()).to_string();
    assert!(
        answer.contains("<|im_start|>assistant") && answer.contains("function_name") && answer.contains("tide"),
        "{answer}"
    );
}
