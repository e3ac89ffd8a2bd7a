//! `unspool parse`.

use serde_json::{Value, json};

use crate::{TOOLS, TempFile, lines, unspool};

const RAW: &str = "<think>\nWhich harbour?\n</think>\n\nI will look.\n<tool_call>\n\
    {\"name\": \"tide\", \"arguments\": {\"harbour\": \"Looe\", \"days\": 2}}\n</tool_call>";

const NAMES: [&str; 5] = ["parse", "--reasoning-parser", "qwen3", "--tool-call-parser", "hermes"];

fn parse(more: &[&str], input: &str) -> String {
    let tools = TempFile::new("tools.json", TOOLS);
    let arguments = [&NAMES, more, &["--tools", tools.path()]].concat();
    unspool(&arguments, input).clean()
}

fn parse_json(more: &[&str], input: &str) -> Value {
    let mut message: Value = serde_json::from_str(&parse(&[more, &["--json"]].concat(), input)).expect("JSON");
    for call in message["tool_calls"].as_array_mut().expect("a list") {
        let id = call.as_object_mut().expect("a call").remove("id");
        assert!(id.is_some_and(|id| id.as_str().is_some_and(|id| !id.is_empty())), "each call has an id");
    }
    message
}

#[test]
fn json_is_the_message() {
    assert_eq!(
        parse_json(&[], RAW),
        json!({
            "reasoning": "Which harbour?",
            "content": "I will look.",
            "tool_calls": [{"name": "tide", "arguments": r#"{"harbour": "Looe", "days": 2}"#, "complete": true, "span": [46, 119]}],
            "finish_reason": "tool_calls",
            "reasoning_tokens": null,
            "reasoning_end_token": null,
            "gate_step": null,
            "diagnostics": [],
        })
    );
}

#[test]
fn a_file_is_as_good_as_standard_input() {
    let file = TempFile::new("output.txt", RAW);
    assert_eq!(parse_json(&[file.path()], ""), parse_json(&["-"], RAW));
}

#[test]
fn chunks_change_the_events_and_not_the_message() {
    assert_eq!(parse_json(&["--chunk", "1"], RAW), parse_json(&[], RAW));
    let events = lines(&parse(&["--chunk", "1", "--events"], RAW));
    assert!(events.len() > lines(&parse(&["--events"], RAW)).len());
    let joined = |kind: &str, field: &str| {
        let texts = events.iter().filter_map(|event| event[kind][field].as_str());
        texts.collect::<String>()
    };
    assert_eq!(joined("reasoning", "text"), "Which harbour?");
    assert_eq!(joined("content", "text"), "I will look.");
    assert_eq!(joined("call_start", "name"), "tide");
    assert_eq!(joined("call_arguments", "json"), r#"{"harbour": "Looe", "days": 2}"#);
    assert_eq!(events.last(), Some(&json!({"call_end": {"index": 0, "complete": true, "span": [46, 119]}})));
}

#[test]
fn the_picture_names_every_part() {
    let out = parse(&[], RAW);
    for part in
        ["reasoning\n  Which harbour?\n", "content\n  I will look.\n", "call 0: tide  (", "finish_reason: tool_calls\n"]
    {
        assert!(out.contains(part), "no {part:?} in\n{out}");
    }
    assert!(!out.contains('\u{1b}'), "no colours into a pipe");
}

#[test]
fn a_cut_off_call_is_told() {
    let cut = &RAW[..RAW.find("\", \"days").expect("in the text")];
    let message = parse_json(&["--finish", "length"], cut);
    assert_eq!(
        message["tool_calls"],
        json!([{"name": "tide", "arguments": r#"{"harbour": "Looe"#, "complete": false, "span": [46, 105]}])
    );
    assert_eq!(message["finish_reason"], "length");
    let out = parse(&["--finish", "length"], cut);
    assert!(out.contains("incomplete") && out.contains("warning: call_cut_off"), "{out}");
    let text = parse_json(&["--finish", "length", "--incomplete-calls", "text"], cut);
    assert_eq!(text["tool_calls"], json!([]));
    assert!(text["content"].as_str().is_some_and(|content| content.contains("{\"name\": \"tide\"")), "{text}");
}

#[test]
fn the_prompt_says_where_the_reply_begins() {
    let arguments = ["parse", "--reasoning-parser", "qwen3", "--json", "--prompt"];
    let thought = |prompt: &str| -> Value {
        let out = unspool(&[&arguments[..], &[prompt]].concat(), "Short.\n</think>\n\nDone.").clean();
        serde_json::from_str(&out).expect("JSON")
    };
    let open = thought("<|im_start|>assistant\n<think>\n");
    assert_eq!((&open["reasoning"], &open["content"]), (&json!("Short."), &json!("Done.")));
    let file = TempFile::new("prompt.txt", "<|im_start|>assistant\n<think>\n");
    let arguments = ["parse", "--reasoning-parser", "qwen3", "--json", "--prompt-file", file.path()];
    let same: Value = serde_json::from_str(&unspool(&arguments, "Short.\n</think>\n\nDone.").clean()).expect("JSON");
    assert_eq!(same, open);
}

#[test]
fn a_request_brings_tools_and_more() {
    let request = format!(r#"{{"tools": {TOOLS}, "tool_choice": "none"}}"#);
    let request = TempFile::new("request.json", &request);
    let arguments = [&NAMES[..], &["--json", "--request", request.path()]].concat();
    let message: Value = serde_json::from_str(&unspool(&arguments, RAW).clean()).expect("JSON");
    assert_eq!((&message["tool_calls"], &message["finish_reason"]), (&json!([]), &json!("stop")));
}

#[test]
fn without_tools_a_hint_says_why_no_call_comes() {
    let run = unspool(&[&NAMES[..], &["--json"]].concat(), RAW);
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("warning: there are no tools") && run.err.contains("hint: name them"), "{}", run.err);
}

#[test]
fn bytes_that_are_not_text_are_replaced_and_told() {
    let run = unspool(&["parse", "--json"], b"ab\xff\xfec");
    assert!(run.err.contains("warning: the raw output is not UTF-8 at byte 2"), "{}", run.err);
    let message: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(message["content"], "ab\u{fffd}\u{fffd}c");
}

#[test]
fn odd_pairs_and_missing_tokens_are_told() {
    let config =
        r#"{"name_or_path": "org/m", "added_tokens_decoder": {"7": {"content": "<think>", "special": false}}}"#;
    let config = TempFile::new("tokenizer_config.json", config);
    let names = ["parse", "--reasoning-parser", "deepseek_r1", "--tokenizer-config", config.path()];
    let run = unspool(&names, "Hm.</think>Yes.");
    assert_eq!(run.code, Some(0));
    assert!(
        run.err.contains("warning: the tokenizer of org/m does not fit: --reasoning-parser deepseek_r1"),
        "{}",
        run.err
    );
    let names = ["parse", "--reasoning-parser", "gemma4", "--tool-call-parser", "hermes", "--tools"];
    let tools = TempFile::new("tools.json", TOOLS);
    let run = unspool(&[&names[..], &[tools.path()]].concat(), "Yes.");
    assert!(
        run.err.starts_with("warning: --reasoning-parser gemma4 expects calls that begin with `<|tool_call>`"),
        "{}",
        run.err
    );
    assert!(run.err.contains("  hint: tool-call parsers that go with gemma4: gemma4"), "{}", run.err);
}

#[test]
fn a_limit_can_be_set() {
    let tools = TempFile::new("tools.json", TOOLS);
    let arguments = [&NAMES[..], &["--json", "--tools", tools.path(), "--limit", "calls=0"]].concat();
    let message: Value = serde_json::from_str(&unspool(&arguments, RAW).clean()).expect("JSON");
    assert_eq!(message["tool_calls"], json!([]));
    let err = unspool(&[&NAMES[..], &["--limit", "depth=1KiB"]].concat(), RAW).refused();
    assert!(err.contains("`1KiB` is no value for the limit `depth`") && err.contains("without a unit"), "{err}");
}

#[test]
fn names_are_told_from_a_template() {
    let template = TempFile::new("chat_template.jinja", "{{ '<|im_start|>' }}{{ '<tool_call>\\n{\"name\": ' }}");
    let tools = TempFile::new("tools.json", TOOLS);
    let call = "<tool_call>\n{\"name\": \"tide\", \"arguments\": {}}\n</tool_call>";
    let names = ["parse", "--json", "--tools", tools.path(), "--tool-call-parser", "auto"];
    let out = unspool(&[&names[..], &["--model-dir", template.path()]].concat(), call).clean();
    let message: Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!(message["tool_calls"][0]["name"], "tide");
    let told = unspool(&names, call).refused();
    assert!(told.contains("--tool-call-parser auto") && told.contains("--model-dir"), "{told}");
}
