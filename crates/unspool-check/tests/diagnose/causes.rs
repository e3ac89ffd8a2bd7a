//! Each cause, with the least that shows it.

use serde_json::{Map, Value, json};
use unspool::{Checkpoint, Registry, Setup};
use unspool_check::diagnose::{Cause, Formats, Input, Outcome, Question, Report, Served, Server, Subject, diagnose};
use unspool_check::template::prompter;

const HERMES: &str = "Let me look.\n<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"harbour\": \"Looe\", \"days\": 3}}\n</tool_call>";
/// A template that teaches what `HERMES` is.
const TEMPLATE: &str = r#"{% if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}
{%- for m in messages %}
{{- '<|im_start|>' + m.role + '\n' + m.content }}
{%- for call in m.tool_calls or [] %}
{{- '\n<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}{{ '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"#;

fn request() -> Value {
    json!({"tools": [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object", "properties":
        {"harbour": {"type": "string"}, "days": {"type": "integer"}}, "required": ["harbour"]}}}]})
}

/// A value for as long as the test runs.
fn kept<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A diagnosis of an input under some names, of what else `more` knows.
fn told(input: &str, names: [&str; 2], more: impl Fn(&mut Question<'_>)) -> Report {
    let input = Input::read(input).expect("there is an answer");
    let formats = Formats::new(Registry::builtin(), Setup::default());
    let request = request();
    let mut question = Question::new(&input, &formats);
    question.request = &request;
    question.reasoning_parser = Some(names[0]).filter(|name| !name.is_empty());
    question.tool_call_parser = Some(names[1]).filter(|name| !name.is_empty());
    more(&mut question);
    diagnose(&question).expect("the request is fine")
}

fn plain(input: &str, names: [&str; 2]) -> Report {
    told(input, names, |_| {})
}

fn result(report: &Report, subject: Subject) -> Outcome {
    report.checks.iter().find(|check| check.check == subject).expect("all checks are made").result
}

/// The cause, with a picture of all if it is another one.
fn assert_cause(report: &Report, cause: Cause) {
    assert_eq!(report.verdict.kind, cause, "{:#?}", (&report.verdict, &report.checks));
    assert_eq!(report.checks.len(), 9);
    assert_eq!(report.has_findings(), !matches!(cause, Cause::Ok | Cause::NoCall));
}

#[test]
fn a_named_parser_that_reads_the_thought_is_kept() {
    for name in ["qwen3", "deepseek_r1"] {
        let report = plain(&format!("<think>\nHm.\n</think>\n\n{HERMES}"), [name, "mistral"]);
        let own = format!("--reasoning-parser {name}");
        assert_eq!(report.verdict.flags, [&own, "--enable-auto-tool-choice", "--tool-call-parser hermes"]);
    }
}

#[test]
fn the_wrong_parser() {
    let report = plain(HERMES, ["", "mistral"]);
    assert_cause(&report, Cause::WrongParser);
    assert_eq!(report.verdict.flags, ["--enable-auto-tool-choice", "--tool-call-parser hermes"]);
    assert!(report.verdict.hint.as_ref().is_some_and(|hint| hint.contains("a tie")), "{:?}", report.verdict);
    let first: Vec<_> = report.ranking.iter().filter(|entry| entry.rank == 1).collect();
    assert!(first.len() > 1 && first.iter().all(|entry| entry.valid_calls == 1 && entry.markup_left == 0), "{first:?}");
    assert_eq!(result(&report, Subject::RawText), Outcome::Fail);
}

#[test]
fn a_missing_flag() {
    let served = Served::read("vllm serve m --reasoning-parser qwen3");
    let text = format!("<think>\nHm.\n</think>\n\n{HERMES}");
    let report = told(&text, ["", ""], |question| question.served = Some(kept(served.clone())));
    assert_cause(&report, Cause::WrongParser);
    assert_eq!(result(&report, Subject::Flags), Outcome::Fail);
    assert!(report.verdict.flags.contains(&"--tool-call-parser hermes".to_owned()), "{:?}", report.verdict);
    let served = Served::read("vllm serve m --tool-call-parser hermes");
    let report = told(HERMES, ["", ""], |question| question.served = Some(kept(served.clone())));
    assert!(report.checks[0].message.contains("--enable-auto-tool-choice"), "{:?}", report.checks[0]);
}

#[test]
fn the_wrong_template_flavour() {
    let prompter = kept(prompter(TEMPLATE, Map::new()).expect("it is Jinja"));
    let report = told(HERMES, ["", "deepseek_v31"], |question| {
        question.prompter = Some(prompter);
        question.model = Some("deepseek-ai/DeepSeek-V3.1");
    });
    assert_cause(&report, Cause::WrongTemplate);
    let check = &report.checks[2];
    assert_eq!((check.result, check.evidence[0].line), (Outcome::Fail, Some(5)), "{check:?}");
    assert!(check.evidence[0].text.contains("<tool_call>"), "{check:?}");
    // Without a word about the model, the output says what it writes.
    let report = told(HERMES, ["", "deepseek_v31"], |question| question.prompter = Some(prompter));
    assert_cause(&report, Cause::WrongParser);
    let report = told(HERMES, ["", "hermes"], |question| {
        question.prompter = Some(prompter);
        question.checkpoint = Checkpoint { template: Some(TEMPLATE), ..Checkpoint::default() };
    });
    assert_cause(&report, Cause::Ok);
    assert!(report.checks[2].evidence.iter().any(|one| one.text.starts_with("<tool_call>") && one.line == Some(5)));
}

#[test]
fn a_pair_that_does_not_go_together() {
    let text = "Let me look.[TOOL_CALLS]tide[ARGS]{\"harbour\": \"Looe\"}";
    let report = plain(text, ["qwen3", "mistral"]);
    assert_cause(&report, Cause::UnknownPair);
    assert_eq!(result(&report, Subject::Pair), Outcome::Fail);
    assert!(report.verdict.flags.contains(&"--tool-call-parser mistral".to_owned()), "{:?}", report.verdict);
    let report = plain("<|channel|>analysis<|message|>Hm.<|end|>", ["openai_gptoss", "hermes"]);
    assert_cause(&report, Cause::UnknownPair);
}

#[test]
fn stripped_markers() {
    let text = "Let me look.function tide\n```json\n{\"harbour\": \"Looe\"}\n```";
    let report = plain(text, ["", "deepseek_v3"]);
    assert_cause(&report, Cause::StrippedMarkers);
    assert!(report.verdict.hint.as_ref().is_some_and(|hint| hint.contains("skip_special_tokens")));
    let body =
        json!({"choices": [{"message": {"role": "assistant", "content": "functions.tide:0{\"harbour\": \"Looe\"}"}}]});
    let report = plain(&body.to_string(), ["kimi_k2", "kimi_k2"]);
    assert_cause(&report, Cause::StrippedMarkers);
    let check = &report.checks[7];
    assert_eq!((check.evidence[0].place.as_str(), check.evidence[0].offset), ("the content", Some(0)), "{check:?}");
}

#[test]
fn look_alikes() {
    let text = "<|tool_calls_begin|><|tool_call_begin|>tide<|tool_sep|>{\"harbour\": \"Looe\"}<|tool_call_end|><|tool_calls_end|>";
    let report = plain(text, ["deepseek_v3", "deepseek_v31"]);
    assert_cause(&report, Cause::LookAlikes);
    assert!(report.verdict.message.contains("`|` (U+007C) stands for `｜` (U+FF5C)"), "{:?}", report.verdict);
    for (text, wanted) in [
        ("&lt;tool_call&gt;\n{\"name\": \"tide\", \"arguments\": {}}\n&lt;/tool_call&gt;", "`&lt;` stands for `<`"),
        ("<Tool_Call>\n{\"name\": \"tide\", \"arguments\": {}}\n</Tool_Call>", "another case"),
    ] {
        let report = plain(text, ["", "hermes"]);
        assert_cause(&report, Cause::LookAlikes);
        assert!(report.verdict.message.contains(wanted), "{:?}", report.verdict);
    }
}

#[test]
fn an_answer_that_was_cut_off() {
    let cut = "<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"harbour\": \"Lo";
    let body = json!({"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": "Let me"}}]});
    let report = plain(&body.to_string(), ["", "hermes"]);
    assert_cause(&report, Cause::CutOff);
    let report = plain(cut, ["", "hermes"]);
    assert_cause(&report, Cause::CutOff);
    assert!(report.verdict.message.contains("inside a call"), "{:?}", report.verdict);
}

#[test]
fn a_client_that_reads_another_field() {
    let message = |null: bool| {
        let mut message =
            json!({"role": "assistant", "content": "High water is at noon.", "reasoning": "They want the tide."});
        if null {
            message["reasoning_content"] = Value::Null;
        }
        json!({"choices": [{"finish_reason": "stop", "message": message}]}).to_string()
    };
    let report = plain(&message(true), ["qwen3", "hermes"]);
    assert_cause(&report, Cause::ClientField);
    assert!(report.verdict.message.contains("`reasoning`") && report.verdict.message.contains("`reasoning_content`"));
    let history = json!({"messages": [{"role": "assistant", "content": "", "reasoning_content": "Hm."}]});
    let report = told(&message(false), ["qwen3", "hermes"], |question| {
        question.request = kept(history.clone());
    });
    assert_cause(&report, Cause::ClientField);
    // Nobody says what the client reads: that is no fault, but worth a word.
    let report = told(&message(false), ["qwen3", "hermes"], |question| question.request = &Value::Null);
    assert_cause(&report, Cause::Ok);
    assert!(report.verdict.hint.is_some_and(|hint| hint.contains("reasoning_content")));
}

#[test]
fn a_thought_that_the_prompt_opens_or_closes() {
    let body = json!({"choices": [{"finish_reason": "stop", "message":
        {"role": "assistant", "content": "They want the tide.\n</think>\n\nHigh water is at noon."}}]});
    let report = plain(&body.to_string(), ["", "hermes"]);
    assert_cause(&report, Cause::PromptSideThought);
    assert!(report.verdict.flags[0].starts_with("--reasoning-parser "), "{:?}", report.verdict);
    let body = json!({"choices": [{"finish_reason": "stop", "message":
        {"role": "assistant", "content": null, "reasoning": "High water is at noon."}}]});
    let report = plain(&body.to_string(), ["qwen3", "hermes"]);
    assert_cause(&report, Cause::PromptSideThought);
    // With the prompt the parser knows.
    let report = told("They want the tide.\n</think>\n\nNoon.", ["qwen3", "hermes"], |question| {
        question.prompt = Some("<|im_start|>assistant\n<think>\n");
        question.request = &Value::Null;
    });
    assert_cause(&report, Cause::Ok);
}

#[test]
fn no_call_and_no_format() {
    let report = plain("High water is at noon.", ["", "hermes"]);
    assert_cause(&report, Cause::NoCall);
    assert!(report.verdict.message.contains("did not call"));
    let report =
        plain("<invoke_tool>{\"tool\": \"tide\", \"with\": {\"harbour\": \"Looe\"}}</invoke_tool>", ["", "hermes"]);
    assert_cause(&report, Cause::NoFormat);
    assert!(report.verdict.hint.is_some_and(|hint| hint.contains("unspool new")));
}

#[test]
fn nothing_is_wrong() {
    let report = plain(HERMES, ["", "hermes"]);
    assert_cause(&report, Cause::Ok);
    let report = plain(HERMES, ["", ""]);
    assert_cause(&report, Cause::Ok);
    assert_eq!(report.verdict.flags, ["--enable-auto-tool-choice", "--tool-call-parser hermes"]);
    let report = told(HERMES, ["", ""], |question| question.model = Some("Qwen/Qwen3-8B"));
    assert_eq!(
        report.verdict.flags,
        ["--reasoning-parser qwen3", "--enable-auto-tool-choice", "--tool-call-parser qwen3_json"],
        "of a tie the model's own name is taken"
    );
}

#[test]
fn names_are_checked() {
    let report = plain(HERMES, ["hermes", "hermes"]);
    assert_eq!(result(&report, Subject::Names), Outcome::Fail);
    assert!(report.checks[1].message.contains("is a tool-call parser"), "{:?}", report.checks[1]);
    let report = told(HERMES, ["qwen3", "hermes"], |question| question.model = Some("Qwen/Qwen3-8B"));
    assert_eq!(result(&report, Subject::Names), Outcome::Pass, "{:?}", report.checks[1]);
    let report = told(HERMES, ["qwen3", "hermes"], |question| question.model = Some("mistralai/Ministral-8B"));
    assert_eq!(result(&report, Subject::Names), Outcome::Fail);
    let server = Server { version: Some("0.32.0".to_owned()), ..Server::default() };
    let report = told(HERMES, ["", "step5"], |question| question.server = Some(kept(server.clone())));
    assert!(report.checks[1].message.contains("0.33.0"), "{:?}", report.checks[1]);
    assert_eq!(result(&report, Subject::Names), Outcome::Fail);
}

#[test]
fn a_path_with_a_brace_is_no_template() {
    let served =
        Served::read("vllm serve m --tool-call-parser hermes --enable-auto-tool-choice --chat-template ./{v2}.jinja");
    let report = told(HERMES, ["", ""], |question| question.served = Some(kept(served.clone())));
    assert_cause(&report, Cause::WrongTemplate);
    assert!(report.checks[2].message.contains("brace"), "{:?}", report.checks[2]);
}

#[test]
fn a_server_is_held_against_itself() {
    let output = |content: &str| {
        Input::read(&json!({"role": "assistant", "content": content}).to_string()).expect("a message").outputs.remove(0)
    };
    let server = Server { whole: Some(output("a b")), streamed: Some(output("a c")), version: None };
    let report = told(HERMES, ["", "hermes"], |question| question.server = Some(kept(server.clone())));
    assert_eq!(result(&report, Subject::Streaming), Outcome::Fail);
    assert!(report.has_findings());
}
