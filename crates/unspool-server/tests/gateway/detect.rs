//! `auto`: the gateway detects the model's format from its files, or does not start.

use std::path::PathBuf;

use serde_json::json;
use unspool_server::{App, ServeConfig};

use crate::common::{Gateway, chat, file, replaying};
use crate::model::model_folder;

/// What a template of Qwen's third generation shows.
const TEMPLATE: &str = "{{ '<|im_start|>assistant\\n' }}{% if enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}\
    {% endif %}{% for call in calls %}{{ '<tool_call>\\n{\"name\": \"' + call.name }}{% endfor %}";

fn auto() -> ServeConfig {
    ServeConfig {
        reasoning_parser: Some("auto".into()),
        tool_call_parser: Some("auto".into()),
        enable_auto_tool_choice: true,
        ..ServeConfig::default()
    }
}

/// A model's folder with a template of its own.
fn folder(template: &str) -> PathBuf {
    let folder = model_folder();
    std::fs::write(folder.join("chat_template.jinja"), template).expect("the folder takes files");
    folder
}

fn refusal(config: &ServeConfig) -> (String, String) {
    let Err(error) = App::new(config) else { panic!("it starts") };
    (error.message, error.hint.expect("there is a hint"))
}

#[tokio::test]
async fn the_pair_is_that_of_the_template() {
    let config = ServeConfig { model_dir: Some(folder(TEMPLATE)), mock_rate: 0.0, ..auto() };
    let text = "<think>\nTwo.\n</think>\n\nSo.\n<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\"}}\n</tool_call>";
    let gateway = replaying(&[json!({"text": text})], config).await;
    let answer = gateway.whole(&chat(json!({}))).await;
    let message = &answer["choices"][0]["message"];
    assert_eq!((message["reasoning"].as_str(), message["content"].as_str()), (Some("Two."), Some("So.")), "{answer}");
    assert_eq!(message["tool_calls"][0]["function"]["name"], "tide");
    assert_eq!(
        answer["usage"]["completion_tokens_details"]["reasoning_tokens"].as_u64().map(|count| count > 0),
        Some(true)
    );
    let metrics = gateway.client.get(format!("{}/metrics", gateway.base)).send().await.expect("the gateway answers");
    let metrics = metrics.text().await.expect("metrics are text");
    assert!(metrics.contains("reasoning_parser=\"qwen3\",tool_parser=\"hermes\""), "{metrics}");
    gateway.stop().await;
}

#[test]
fn a_template_given_by_itself_is_enough() {
    let given = ServeConfig { chat_template: Some(TEMPLATE.into()), ..auto() };
    assert!(App::new(&given).is_ok());
    let text = json!({"chat_template": TEMPLATE}).to_string();
    let config = ServeConfig { tokenizer_config: Some(file("tokenizer_config.json", &text)), ..auto() };
    assert!(App::new(&config).is_ok());
}

#[test]
fn a_model_that_does_not_say_is_refused() {
    let (message, hint) = refusal(&ServeConfig { model_dir: Some(folder("{{ messages[0].content }}")), ..auto() });
    assert!(message.starts_with("--reasoning-parser auto: ") && hint.contains("unspool formats"), "{message}\n{hint}");
    let (message, hint) = refusal(&auto());
    assert!(message.contains("no files of the model") && hint.contains("--model-dir"), "{message}\n{hint}");
}

#[test]
fn two_formats_with_the_same_marks_are_both_named() {
    let plugin = "names.tools = [\"mine\"]\ntools.call = \"<c>{envelope}</c>\"\n[[detect]]\ntools = \"mine\"\n\
        template = [\"<tool_call>\\\\n{\\\"name\\\": \"]\n";
    let config = ServeConfig {
        reasoning_parser: None,
        model_dir: Some(folder(TEMPLATE)),
        tool_parser_plugin: Some(file("mine.toml", plugin)),
        ..auto()
    };
    let (message, hint) = refusal(&config);
    assert!(message.contains("`hermes` (") && message.contains("`mine` ("), "{message}");
    assert!(hint.contains("--tool-call-parser"), "{hint}");
}

#[tokio::test]
async fn a_checkpoints_own_description_needs_no_folder() {
    let config = json!({"response_template": {"version": 1, "start_anchor": "<|bot|>", "fields": {
        "thinking": {"open": "<muse>", "close": "</muse>"}, "content": {}, "tool_calls": {"open": "<act>", "close": "</act>",
        "content": "json", "repeats": true, "transform": {"type": "function", "function": {
            "name": "{content.name}", "arguments": "{content.arguments}"}}}}}});
    let names = ServeConfig { reasoning_parser: Some("hf".into()), tool_call_parser: Some("hf".into()), ..auto() };
    let (message, _) = refusal(&names);
    assert!(message.contains("response_template"), "{message}");
    let config = ServeConfig { tokenizer_config: Some(file("tokenizer_config.json", &config.to_string())), ..names };
    let text = "<muse>Two.</muse><act>{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\"}}</act>";
    let gateway: Gateway = replaying(&[json!({"text": text})], config).await;
    let answer = gateway.whole(&chat(json!({}))).await;
    assert_eq!(answer["choices"][0]["message"]["reasoning"], "Two.", "{answer}");
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "tide", "{answer}");
    gateway.stop().await;
}
