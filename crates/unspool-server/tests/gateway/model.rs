//! A gateway that has the model's own files.

use std::path::PathBuf;

use serde_json::{Value, json};
use unspool_server::{App, ServeConfig, TextConfig};

use crate::common::{Choice, Gateway, chat, file, json_of, pair, plain_chat, replaying, with};

/// Special tokens of the model, and the ids that they get behind the 256 bytes.
const ADDED: [&str; 6] = ["<s>", "<|user|>", "<|bot|>", "<think>", "</think>", "<|end|>"];

/// Messages behind their roles; the model's turn begins with an open thought unless thinking is off.
const TEMPLATE: &str = "{{ bos_token }}{% for m in messages %}<|{{ 'bot' if m.role == 'assistant' else 'user' }}|>\
    {{ m.content }}{% endfor %}{% if tools %}{{ tools | length }} tools{% endif %}{% if add_generation_prompt %}<|bot|>\
    {{ '<think>\\n\\n</think>\\n\\n' if enable_thinking is false else '<think>\\n' }}{% endif %}";

/// The letter of GPT-2's alphabet for each byte.
fn letters() -> Vec<char> {
    let plain = |byte: u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut others = 0x100..;
    let mut code = |byte: u32| if plain(byte) { Some(byte) } else { others.next() };
    (0..=255).map(|byte| code(byte).and_then(char::from_u32).expect("it is a letter")).collect()
}

/// A folder with a tokenizer of bytes, special tokens and a chat template.
pub(crate) fn model_folder() -> PathBuf {
    let vocab: serde_json::Map<String, Value> =
        letters().into_iter().enumerate().map(|(id, letter)| (letter.to_string(), json!(id))).collect();
    let added = ADDED.iter().enumerate().map(|(at, text)| {
        json!({"id": 256 + at, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": !text.contains("think")})
    });
    let level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let tokenizer = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": added.collect::<Vec<_>>(),
        "normalizer": null, "pre_tokenizer": level, "post_processor": null, "decoder": level,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": []}});
    let folder = file("model", "").with_extension("folder");
    std::fs::create_dir_all(&folder).expect("the target folder takes folders");
    let config = json!({"bos_token": "<s>", "eos_token": "<|end|>", "chat_template": TEMPLATE});
    for (name, content) in [
        ("tokenizer.json", tokenizer),
        ("tokenizer_config.json", config),
        ("config.json", json!({"model_type": "tide", "max_position_embeddings": 4096})),
        ("generation_config.json", json!({"eos_token_id": [261]})),
    ] {
        std::fs::write(folder.join(name), content.to_string()).expect("the folder takes files");
    }
    folder
}

/// Settings with that model.
pub(crate) fn with_model(config: ServeConfig) -> ServeConfig {
    ServeConfig { model_dir: Some(model_folder()), ..config }
}

const REPLY: &str = "Two keels.\n</think>\n\nBook it.";

#[tokio::test]
async fn text_becomes_tokens_and_back() {
    let gateway = Gateway::start(with_model(ServeConfig::default())).await;
    let tokens =
        json_of(gateway.post("/tokenize", &json!({"prompt": "é<think>", "return_token_strs": true})).await).await;
    assert_eq!(tokens["tokens"], json!([0xc3, 0xa9, 259]));
    assert_eq!((&tokens["count"], &tokens["max_model_len"]), (&json!(3), &json!(4096)));
    assert_eq!(tokens["token_strs"], json!(["Ã", "©", "<think>"]));
    let text = json_of(gateway.post("/detokenize", &json!({"tokens": [0xc3, 0xa9, 259]})).await).await;
    assert_eq!(text, json!({"prompt": "é<think>"}));
    let chat = with(chat(json!({})), json!({"messages": [{"role": "user", "content": "a"}]}));
    let tokens = json_of(gateway.post("/tokenize", &chat).await).await;
    let back = json_of(gateway.post("/detokenize", &json!({"tokens": tokens["tokens"]})).await).await;
    assert_eq!(back["prompt"], "<s><|user|>a2 tools<|bot|><think>\n");
    for (path, body, param) in [
        ("/detokenize", json!({"tokens": [9999]}), "tokens"),
        ("/tokenize", json!({"prompt": "a", "messages": []}), ""),
        ("/tokenize", json!({}), ""),
    ] {
        let answer = gateway.post(path, &body).await;
        assert_eq!(answer.status(), 400);
        assert_eq!(json_of(answer).await["error"]["param"].as_str().unwrap_or_default(), param);
    }
}

#[tokio::test]
async fn a_request_can_be_rendered_without_being_answered() {
    let gateway = Gateway::start(with_model(pair("qwen3", "hermes"))).await;
    let body =
        plain_chat(json!({"chat_template_kwargs": {"enable_thinking": false}, "temperature": 0.5, "max_tokens": 9}));
    let shown = json_of(gateway.post("/v1/chat/completions/render", &body).await).await;
    assert_eq!(shown["prompt"], "<s><|user|>How is the tide?<|bot|><think>\n\n</think>\n\n");
    assert_eq!(shown["token_ids"].as_array().expect("a list")[..2].to_vec_of(), [256, 257]);
    assert_eq!((&shown["reasoning_ended"], &shown["sampling_params"]["temperature"]), (&json!(true), &json!(0.5)));
    assert_eq!(
        (&shown["sampling_params"]["max_tokens"], &shown["sampling_params"]["stop_token_ids"]),
        (&json!(9), &json!([261]))
    );
    let open = json_of(gateway.post("/v1/chat/completions/render", &plain_chat(json!({}))).await).await;
    assert_eq!(open["reasoning_ended"], false);
    let went_on = plain_chat(json!({"add_generation_prompt": false, "continue_final_message": true, "messages": [
        {"role": "user", "content": "a"}, {"role": "assistant", "content": "It is "}]}));
    let shown = json_of(gateway.post("/v1/chat/completions/render", &went_on).await).await;
    assert_eq!(shown["prompt"], "<s><|user|>a<|bot|>It is ");
}

/// Numbers of a JSON list.
trait Ids {
    fn to_vec_of(&self) -> Vec<u64>;
}

impl Ids for [Value] {
    fn to_vec_of(&self) -> Vec<u64> {
        self.iter().filter_map(Value::as_u64).collect()
    }
}

#[tokio::test]
async fn the_prompt_says_where_the_reply_begins() {
    let lines = [json!({"text": REPLY}), json!({"text": REPLY})];
    let gateway = replaying(&lines, with_model(pair("qwen3", "hermes"))).await;
    let open = gateway.whole(&plain_chat(json!({}))).await;
    let choice = Choice::of_whole(&open["choices"][0]);
    assert_eq!((choice.reasoning.as_str(), choice.content.as_str()), ("Two keels.", "Book it."));
    let off = ServeConfig {
        default_chat_template_kwargs: Some(r#"{"enable_thinking": false}"#.to_owned()),
        ..with_model(pair("qwen3", "hermes"))
    };
    let gateway = replaying(&[json!({"text": "Book it."}), json!({"text": REPLY})], off).await;
    let closed = gateway.whole(&plain_chat(json!({}))).await;
    let choice = Choice::of_whole(&closed["choices"][0]);
    assert_eq!((choice.reasoning.as_str(), choice.content.as_str()), ("", "Book it."));
    let on = gateway.whole(&plain_chat(json!({"reasoning_effort": "high"}))).await;
    let choice = Choice::of_whole(&on["choices"][0]);
    assert_eq!(choice.reasoning, "Two keels.", "an effort switches thinking on again, for the template and the parser");
}

#[tokio::test]
async fn a_raw_prompt_is_no_conversation() {
    let refusing = ServeConfig {
        chat_template: Some("{{ raise_exception('no conversation') }}".to_owned()),
        ..with_model(ServeConfig::default())
    };
    let gateway = replaying(&[json!({"text": "Book it."})], refusing).await;
    let answer = json_of(gateway.post("/v1/completions", &json!({"prompt": "Two keels"})).await).await;
    assert_eq!(answer["choices"][0]["text"], "Book it.");
    assert_eq!(gateway.post("/v1/chat/completions", &plain_chat(json!({}))).await.status(), 400);
}

#[tokio::test]
async fn a_template_in_the_request_must_be_trusted() {
    let own = plain_chat(json!({"chat_template": "{{ messages | length }} said"}));
    let gateway = Gateway::start(with_model(ServeConfig::default())).await;
    let answer = gateway.post("/v1/chat/completions/render", &own).await;
    assert_eq!(answer.status(), 400);
    assert_eq!(json_of(answer).await["error"]["param"], "chat_template");
    // Rendering one takes a program; the tests of the command have it.
    let trusting = ServeConfig { trust_request_chat_template: true, ..with_model(ServeConfig::default()) };
    let error = App::new(&trusting).map(|_| ()).expect_err("no program is named");
    assert!(error.message.contains("--trust-request-chat-template") && error.hint.is_some(), "{error}");
}

#[tokio::test]
async fn texts_have_a_limit_and_paths_a_key() {
    let text = TextConfig { max_tokenize_chars: 8, ..TextConfig::default() };
    let gateway = Gateway::start(with_model(ServeConfig { text, ..ServeConfig::default() })).await;
    assert_eq!(gateway.post("/tokenize", &json!({"prompt": "ääääääää"})).await.status(), 200);
    for (path, body, param) in [
        ("/tokenize", json!({"prompt": "123456789"}), "prompt"),
        ("/tokenize", plain_chat(json!({})), "messages"),
        ("/v1/chat/completions/render", plain_chat(json!({})), "messages"),
    ] {
        let answer = gateway.post(path, &body).await;
        assert_eq!(answer.status(), 400, "{path}");
        let error = json_of(answer).await;
        assert_eq!(error["error"]["param"], param, "{error}");
        assert!(error["error"]["message"].to_string().contains("--max-tokenize-chars"), "{error}");
    }
    let locked = ServeConfig { api_key: vec!["sesame".into()], ..with_model(ServeConfig::default()) };
    let gateway = Gateway::start(locked).await;
    for (path, body) in [("/tokenize", json!({"prompt": "a"})), ("/detokenize", json!({"tokens": [1]}))] {
        assert_eq!(gateway.post(path, &body).await.status(), 401, "{path}");
    }
}

#[tokio::test]
async fn without_the_model_the_gateway_says_so() {
    let gateway = Gateway::start(ServeConfig::default()).await;
    for (path, body) in [
        ("/tokenize", json!({"prompt": "a"})),
        ("/detokenize", json!({"tokens": [1]})),
        ("/v1/chat/completions/render", plain_chat(json!({}))),
    ] {
        let answer = gateway.post(path, &body).await;
        assert_eq!(answer.status(), 501);
        let message = json_of(answer).await["error"]["message"].to_string();
        assert!(message.contains("--model-dir"), "{message}");
    }
    let alone = ServeConfig { chat_template: Some("{{ messages[0].content }}!".to_owned()), ..ServeConfig::default() };
    let gateway = Gateway::start(alone).await;
    let shown = json_of(gateway.post("/v1/chat/completions/render", &plain_chat(json!({}))).await).await;
    assert_eq!((&shown["prompt"], &shown["token_ids"]), (&json!("How is the tide?!"), &Value::Null));
}

#[test]
fn faults_of_the_model_are_told_at_the_start() {
    let told = |config: ServeConfig| App::new(&config).map(|_| ()).expect_err("the settings are wrong");
    let error = told(ServeConfig { model_dir: Some("no/such/model".into()), ..ServeConfig::default() });
    assert!(error.message.contains("no/such/model") && error.hint.is_some(), "{error}");
    let error = told(ServeConfig { chat_template: Some("missing.jinja".into()), ..ServeConfig::default() });
    assert!(error.message.contains("missing.jinja") && error.hint.is_some(), "{error}");
    let error = told(ServeConfig { chat_template: Some("{% if %}".into()), ..ServeConfig::default() });
    assert!(error.message.contains("--chat-template"), "{error}");
    let error = told(ServeConfig { default_chat_template_kwargs: Some("[]".into()), ..ServeConfig::default() });
    assert!(error.message.contains("--default-chat-template-kwargs") && error.hint.is_some(), "{error}");
}
