//! `unspool serve --config FILE`: flags from a file, those of the command line before them.

use serde_json::Value;

use crate::serve::Gateway;
use crate::{TempFile, unspool};

/// The names that a gateway serves.
fn served(gateway: &Gateway) -> Vec<String> {
    let list = gateway.ask("GET /v1/models", "");
    let names = list["data"].as_array().into_iter().flatten();
    names.filter_map(|model| model["id"].as_str().map(str::to_owned)).collect()
}

#[track_caller]
fn refused(text: &str, arguments: &[&str], parts: &[&str]) {
    let file = TempFile::new("gateway.yaml", text);
    let err = unspool(&[&["serve", "--config", file.path()], arguments].concat(), "").refused();
    for part in parts {
        assert!(err.contains(part), "no {part:?} in\n{err}");
    }
    assert!(err.starts_with("error: ") && err.contains("\n  hint: "), "{err}");
}

const FILE: &str = "\
# What the team agreed on
served-model-name: [big, small]
api_key: sesame-street
reasoning-parser: qwen3
tool_call_parser: hermes
enable-auto-tool-choice: true
enable_force_include_usage: false
allowed-origins: [\"https://example.com\"]
default-chat-template-kwargs:
  enable_thinking: false
port: 1
limit: [name=64, calls=3]
";

#[test]
fn flags_come_from_the_file_and_the_command_line_wins() {
    let file = TempFile::new("gateway.yaml", FILE);
    // The port of the file is one that nobody may listen on: the tests' own is 0.
    let gateway = Gateway::start(&["--config", file.path()]);
    assert_eq!(served(&gateway), ["big", "small"]);
    let answer = gateway.ask(
        "POST /v1/chat/completions",
        r#"{"model": "big", "messages": [{"role": "user", "content": "a"}],
        "tools": [{"type": "function", "function": {"name": "f"}}]}"#,
    );
    assert!(answer["choices"][0]["finish_reason"].is_string(), "{answer}");
    drop(gateway);
    let gateway = Gateway::start(&["--served_model_name", "other", "--config", file.path()]);
    assert_eq!(served(&gateway), ["other"]);
    let error = gateway.ask("POST /v1/chat/completions", r#"{"model": "big", "messages": []}"#);
    assert_ne!(error["error"], Value::Null);
    drop(gateway);
    let locked = Gateway::start(&["--api-key", "another", "--config", file.path()]);
    assert_eq!(
        locked.ask("GET /v1/models", "")["error"],
        "Unauthorized",
        "one key of the command line, none of the file"
    );
}

#[test]
fn an_empty_file_says_nothing() {
    let file = TempFile::new("empty.yaml", "# nothing yet\n\n");
    let gateway = Gateway::start(&["--config", file.path()]);
    assert_eq!(served(&gateway), ["mock"]);
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_name() {
    refused(
        "tool-cal-parser: hermes\n",
        &[],
        &["gateway.yaml: there is no flag `tool-cal-parser`", "`tool-call-parser`"],
    );
    refused("zzz: 1\n", &[], &["there is no flag `zzz`", "unspool serve --help"]);
    refused("port: many\n", &[], &["gateway.yaml: --port is `many`", "write --port PORT"]);
    refused("enable-auto-tool-choice: yes please\n", &[], &["`enable-auto-tool-choice`", "must be true or false"]);
    refused("port: [8000\n", &[], &["gateway.yaml:", "not YAML"]);
    refused("- port\n", &[], &["gateway.yaml: the file holds no flags"]);
    refused("just words\n", &[], &["gateway.yaml: the file holds no flags"]);
    refused("config: other.yaml\n", &[], &["`config` names another file"]);
    refused("backend: magic\n", &[], &["gateway.yaml: --backend is `magic`"]);
    refused("port: 1\n", &["--config", "other.yaml"], &["--config is given twice"]);
    let err = unspool(&["serve", "--config", "no/such/file.yaml"], "").refused();
    assert!(err.contains("no/such/file.yaml") && err.contains("`--config`"), "{err}");
    let err = unspool(&["serve", "--config"], "").refused();
    assert!(err.contains("--config has no value") && err.contains("  hint: "), "{err}");
}

#[test]
fn contradictions_are_found_across_file_and_command_line() {
    refused("enable-auto-tool-choice: true\n", &["--port", "0"], &["--enable-auto-tool-choice", "--tool-call-parser"]);
}

#[test]
fn texts_come_as_they_are_written() {
    for written in ["1e3", "007", "1.10", "0x1F", "yes", "true", "~x", "'null'", "2024-01-02"] {
        let file = TempFile::new("gateway.yaml", &format!("api-key: {written}\nserved-model-name: [{written}, b]\n"));
        let gateway = Gateway::start(&["--config", file.path()]);
        let said = written.trim_matches('\'');
        let list = gateway.ask_with_key("GET /v1/models", "", said);
        assert_eq!(list["data"][0]["id"], said, "{list}");
        assert_eq!(gateway.ask("GET /v1/models", "")["error"], "Unauthorized", "{written}");
    }
    for written in ["", " ~", " null", " [~]"] {
        refused(&format!("api-key:{written}\n"), &[], &["api-key", "no value"]);
    }
    refused("port: 007x\n", &[], &["--port"]);
}
