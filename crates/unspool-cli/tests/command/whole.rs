//! `unspool stream` with whole outputs, and the tools that commands take.

use serde_json::{Value, json};

use crate::{TOOLS, TempFile, lines, unspool};

const CALL: &str = "<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"harbour\": \"Looe\"}}\n</tool_call>";

fn input(all: &[Value]) -> String {
    all.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn each_line_is_answered_by_one_message_with_its_id() {
    let tools = TempFile::new("tools.json", TOOLS);
    let flags = ["stream", "--tool-call-parser", "hermes", "--tools", tools.path()];
    let all = [
        json!({"id": 7, "text": format!("Let me look.\n{CALL}")}),
        json!({"id": {"a": ["b"]}, "text": "no call", "finish": "length"}),
        json!({"text": "<think>\nHm.\n</think>\n\nYes.", "reasoning_parser": "qwen3", "tool_parser": null}),
        json!({"id": "x", "text": CALL, "tool_parser": "mistal"}),
        json!("no object"),
        json!({"id": "y", "text": CALL, "tools": []}),
    ];
    for jobs in ["1", "3"] {
        let out = lines(&unspool(&[&flags[..], &["--jobs", jobs]].concat(), input(&all)).clean());
        assert_eq!(out.len(), 6, "{out:#?}");
        assert_eq!((&out[0]["id"], &out[0]["message"]["tool_calls"][0]["name"]), (&json!(7), &json!("tide")));
        assert_eq!((&out[1]["id"], &out[1]["message"]["finish_reason"]), (&json!({"a": ["b"]}), &json!("length")));
        assert!(out[2].get("id").is_none() && out[2]["message"]["reasoning"] == "Hm.", "{}", out[2]);
        assert_eq!((&out[3]["id"], &out[3]["error"]["kind"]), (&json!("x"), &json!("unknown_name")));
        assert!(
            out[3]["error"]["hint"].to_string().contains("`mistral`") && out[3]["error"]["line"] == 4,
            "{}",
            out[3]
        );
        assert_eq!(out[4]["error"]["kind"], "bad_line", "{}", out[4]);
        assert_eq!((&out[5]["id"], &out[5]["message"]["content"]), (&json!("y"), &json!(CALL)), "no tools, no calls");
    }
}

#[test]
fn replies_in_deltas_can_be_answered_by_their_message_alone() {
    let all = [
        json!({"start": {}}),
        json!({"delta": {"text": "a"}}),
        json!({"delta": {"text": "b"}}),
        json!({"finish": "stop"}),
    ];
    let out = lines(&unspool(&["stream", "--messages"], input(&all)).clean());
    assert!(out.len() == 1 && out[0]["message"]["content"] == "ab", "{out:?}");
    // A whole output gives up the reply that is open.
    let all = [json!({"start": {}}), json!({"text": "whole"}), json!({"delta": {"text": "a"}})];
    let out = lines(&unspool(&["stream"], input(&all)).clean());
    assert_eq!((&out[0]["message"]["content"], &out[1]["error"]["kind"]), (&json!("whole"), &json!("not_started")));
}

#[test]
fn auto_is_told_from_the_template() {
    let template = "{{ '<|im_start|>' }}{{ '<tool_call>\\n{\"name\": ' }}";
    let tools: Value = serde_json::from_str(TOOLS).expect("JSON");
    let line = json!({"text": CALL, "tool_parser": "auto", "tools": tools});
    let file = TempFile::new("chat_template.jinja", template);
    let out = lines(&unspool(&["stream", "--model-dir", file.path()], input(std::slice::from_ref(&line))).clean());
    assert_eq!(out[0]["message"]["tool_calls"][0]["name"], "tide", "{out:?}");
    let mut own = line.clone();
    own["tokenizer_config"] = json!({"chat_template": template});
    let out = lines(&unspool(&["stream"], input(&[own, line])).clean());
    assert_eq!(out[0]["message"]["tool_calls"][0]["name"], "tide", "{out:?}");
    assert!(out[1]["error"]["hint"].to_string().contains("--model-dir"), "{out:?}");
}

#[test]
fn tools_come_in_the_shapes_that_people_have() {
    let one = "\u{feff}{\"name\": \"tide\", \"inputSchema\": {\"type\": \"object\", \"properties\": {\"days\": {\"type\": \"string\"}}}}";
    let text = "<tool_call>\n<function=tide>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>";
    let parse = |tools: &str, more: &[&str]| {
        let file = TempFile::new("tools.json", tools);
        let flags = ["parse", "--json", "--tool-call-parser", "qwen3_coder", "--tools", file.path()];
        unspool(&[&flags[..], more].concat(), text)
    };
    let message: Value = serde_json::from_str(&parse(one, &[]).clean()).expect("JSON");
    assert_eq!(message["tool_calls"][0]["arguments"], "{\"days\": \"3\"}", "{message}");
    let nameless = parse("[{\"name\": \"tide\"}, {\"type\": \"function\", \"function\": {}}]", &[]).refused();
    assert!(nameless.contains("tools[1] has no name") && nameless.contains("hint: write"), "{nameless}");
    let request = TempFile::new(
        "request.json",
        "{\"tool_choice\": {\"type\": \"function\", \"function\": {\"name\": \"tied\"}}}",
    );
    let chosen = parse(one, &["--request", request.path()]).refused();
    assert!(chosen.contains("`tied`") && chosen.contains("did you mean `tide`?"), "{chosen}");
}

#[test]
fn a_reply_with_markup_and_no_call_brings_a_hint() {
    let tools = TempFile::new("tools.json", TOOLS);
    let run = |text: &str, more: &[&str]| {
        unspool(&[&["parse", "--tool-call-parser", "mistral", "--tools", tools.path()], more].concat(), text)
    };
    let told = run(CALL, &[]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(
        told.err.contains("warning: the answer has markup but no call") && told.err.contains("hermes"),
        "{}",
        told.err
    );
    assert!(told.err.contains("hint: ") && told.err.contains("`unspool diagnose`"), "{}", told.err);
    assert_eq!(run("High water is <b>at six</b> [1].", &[]).clean().lines().next(), Some("content"));
    // What scripts read is left alone.
    run(CALL, &["--json"]).clean();
}
