//! Settings that cannot work: every refusal says what to do about it.

use std::path::PathBuf;

use serde_json::json;
use unspool_server::{AnswerConfig, App, BackendSpec, HttpConfig, RemoteKind, ServeConfig, run};

use crate::common::file;

fn refused(config: &ServeConfig, part: &str) {
    let Err(error) = App::new(config) else { panic!("it starts, though: {part}") };
    assert!(error.message.contains(part), "{error}");
    assert!(error.hint.as_deref().is_some_and(|hint| !hint.is_empty()), "no hint: {error}");
}

#[test]
#[cfg(unix)]
fn pipes_and_devices_are_no_model_files() {
    let folder = file("model", "").with_extension("folder");
    std::fs::create_dir_all(&folder).expect("the target folder takes folders");
    let pipe = folder.join("tokenizer.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("every Unix has it").success());
    let config = ServeConfig { model_dir: Some(folder), ..ServeConfig::default() };
    let Err(error) = App::new(&config) else { panic!("it starts") };
    assert!(error.message.contains("tokenizer.json") && error.message.contains("no regular file"), "{error}");
    for path in ["/dev/zero".into(), pipe] {
        refused(&ServeConfig { tokenizer_config: Some(path), ..ServeConfig::default() }, "no regular file");
    }
}

#[test]
fn every_refusal_of_a_setting_has_a_hint() {
    let plain = ServeConfig::default;
    let answers = |answers: AnswerConfig| ServeConfig { answers, ..ServeConfig::default() };
    let missing = || PathBuf::from("no/such/file");
    let tools_only = "names.tools = [\"mine\"]\ntools.call = \"<c>{envelope}</c>\"\n";
    for (config, part) in [
        (ServeConfig { backend: BackendSpec::Replay(missing()), ..plain() }, "cannot read the recording no/such/file"),
        (ServeConfig { backend: BackendSpec::Replay(file("empty.jsonl", "")), ..plain() }, "holds no output"),
        (ServeConfig { backend: BackendSpec::Replay(file("odd.jsonl", "{}\n{\n")), ..plain() }, "line 1"),
        (ServeConfig { mock_rate: -1.0, ..plain() }, "--mock-rate"),
        (ServeConfig { default_max_tokens: 0, ..plain() }, "--default-max-tokens"),
        (ServeConfig { backend_timeout: 0, ..plain() }, "--backend-timeout"),
        (ServeConfig { model_dir: Some(missing()), ..plain() }, "no/such/file"),
        (ServeConfig { tokenizer_config: Some(missing()), ..plain() }, "--tokenizer-config"),
        (ServeConfig { tokenizer_config: Some(file("odd.json", "[]")), ..plain() }, "is not a JSON object"),
        (ServeConfig { tokenizer_config: Some(file("odd.json", "{")), ..plain() }, "is not JSON: "),
        (ServeConfig { default_chat_template_kwargs: Some("[".into()), ..plain() }, "--default-chat-template-kwargs"),
        (ServeConfig { tool_parser_plugin: Some(missing()), ..plain() }, "--tool-parser-plugin"),
        (
            ServeConfig { reasoning_parser_plugin: Some(file("mine.toml", tools_only)), ..plain() },
            "has no name for --reasoning-parser",
        ),
        (ServeConfig { tool_call_parser: Some("hermse".into()), ..plain() }, "`hermse`"),
        (ServeConfig { enable_auto_tool_choice: true, ..plain() }, "--enable-auto-tool-choice"),
        (answers(AnswerConfig { stream_interval: 0, ..AnswerConfig::default() }), "--stream-interval"),
        (answers(AnswerConfig { max_model_len: Some(0), ..AnswerConfig::default() }), "--max-model-len"),
        (answers(AnswerConfig { response_role: String::new(), ..AnswerConfig::default() }), "--response-role"),
        (
            answers(AnswerConfig { return_tokens_as_token_ids: true, ..AnswerConfig::default() }),
            "--return-tokens-as-token-ids is about log probabilities, which --backend mock does not give",
        ),
        (answers(AnswerConfig { log_raw: Some(file("file", "")), ..AnswerConfig::default() }), "--log-raw"),
        (
            ServeConfig {
                backend: BackendSpec::Remote { kind: RemoteKind::OpenAi, urls: vec!["http://[".into()] },
                chat_template: Some("chatml".to_owned()),
                ..plain()
            },
            "address cannot be used",
        ),
        (
            ServeConfig {
                backend: BackendSpec::Remote { kind: RemoteKind::Tgi, urls: vec!["http://a".into()] },
                ..plain()
            },
            "nobody makes prompts for --backend tgi",
        ),
    ] {
        refused(&config, part);
    }
}

#[tokio::test]
async fn places_that_cannot_be_listened_on_have_a_hint() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let port = taken.local_addr().expect("a listener has an address").port();
    let host = |host: &str, port: u16| ServeConfig { host: Some(host.to_owned()), port, ..ServeConfig::default() };
    let uds = HttpConfig { uds: Some("no/such/folder/socket".into()), ..HttpConfig::default() };
    for (config, part, hint) in [
        (host("127.0.0.1", port), port.to_string(), "--port"),
        (host("no such host", 0), "no such host".into(), "--host"),
        (host("192.0.2.1", 0), "192.0.2.1".into(), "--host"),
        (ServeConfig { http: uds, ..ServeConfig::default() }, "no/such/folder/socket".into(), "--uds"),
    ] {
        let error = run(&config, |_| {}).await.expect_err("it cannot listen there");
        assert!(error.message.starts_with("cannot listen on ") && error.message.contains(&part), "{error}");
        assert!(error.hint.as_deref().is_some_and(|told| told.contains(hint)), "{error}: {:?}", error.hint);
    }
}

#[test]
fn a_plugin_that_takes_a_name_starts_and_one_with_a_misspelt_variant_does_not() {
    let taken = "names.tools = [\"hermes\"]\ntools.call = \"<c>{envelope}</c>\"\n";
    let config = ServeConfig {
        tool_parser_plugin: Some(file("taken.toml", taken)),
        tool_call_parser: Some("hermes".into()),
        ..ServeConfig::default()
    };
    let app = App::new(&config).expect("a later file wins");
    let vocabulary = json!(app.pair().explain());
    assert!(vocabulary.to_string().contains("<c>"), "{vocabulary}");
    let misspelt = "names.tools = [\"mine\"]\ntools.call = \"<c>{envelope}</c>\"\n[[variant]]\nnames = [\"mien\"]\n";
    refused(&ServeConfig { tool_parser_plugin: Some(file("misspelt.toml", misspelt)), ..config }, "`mien`");
}
