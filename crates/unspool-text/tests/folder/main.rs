//! Model folders, as checkpoints come.
#![allow(clippy::expect_used)]

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use unspool_text::{ModelDir, PromptRequest, Prompter};

/// A folder for one test.
fn folder(name: &str, files: &[(&str, String)]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("folder-{name}-{}", std::process::id()));
    for (file, text) in files {
        let place = path.join(file);
        std::fs::create_dir_all(place.parent().expect("a file lies in a folder")).expect("the target takes folders");
        std::fs::write(place, text).expect("the target takes files");
    }
    path
}

/// A tokenizer of whole words.
fn words() -> String {
    let added = |id: u32, text: &str| {
        json!({"id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true})
    };
    let model = json!({"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "Ahoy": 1, "there": 2, "<s>": 3, "<|user|>": 4}});
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [added(3, "<s>"), added(4, "<|user|>")],
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null, "model": model})
    .to_string()
}

fn prompt(prompter: &Prompter, tools: Option<&[Value]>) -> String {
    let messages = [json!({"role": "user", "content": "Ahoy there"})];
    let request = PromptRequest {
        messages: &messages,
        tools,
        documents: None,
        kwargs: &Map::new(),
        template: None,
        generation_prompt: false,
        continue_final: false,
    };
    prompter.render(&request).expect("the template renders").into_text()
}

#[test]
fn a_checkpoint_is_read() {
    let path = folder(
        "checkpoint",
        &[
            ("tokenizer.json", words()),
            (
                "tokenizer_config.json",
                json!({"bos_token": {"content": "<s>"}, "eos_token": null, "chat_template": [
            {"name": "default", "template": "old"}, {"name": "tool_use", "template": "tools {{ tools | length }}"}]})
                .to_string(),
            ),
            (
                "chat_template.jinja",
                "{{ bos_token }}{% for m in messages %}<|user|>{{ m.content }}{% endfor %}".to_owned(),
            ),
            ("additional_chat_templates/rag.jinja", "rag".to_owned()),
            (
                "config.json",
                json!({"model_type": "tide", "text_config": {"max_position_embeddings": 512}, "eos_token_id": 9})
                    .to_string(),
            ),
            ("generation_config.json", json!({"eos_token_id": [5, 6]}).to_string()),
        ],
    );
    let model = ModelDir::open(&path).expect("it is complete");
    assert_eq!(
        (model.model_type(), model.longest_context(), model.end_tokens()),
        (Some("tide"), Some(512), &[5, 6][..])
    );
    assert!(model.templates().named("rag").is_some());
    let prompter = Prompter::new(Some(&model), None, None).expect("it has templates");
    let text = prompt(&prompter, None);
    assert_eq!(text, "<s><|user|>Ahoy there", "the template's file counts before the configuration");
    assert_eq!(model.tokenizer().encode(&text, false).as_deref(), Ok(&[3, 4, 1, 2][..]));
    assert_eq!(prompt(&prompter, Some(&[json!({"function": {"name": "f"}})])), "tools 1");
    let own = Prompter::new(Some(&model), Some("given"), None).expect("it is Jinja");
    assert_eq!(prompt(&own, None), "given");
}

#[test]
fn harmony_needs_no_template() {
    let files = [("tokenizer.json", words()), ("config.json", json!({"model_type": "gpt_oss"}).to_string())];
    let model = ModelDir::open(&folder("harmony", &files)).expect("it is complete");
    let prompter = Prompter::new(Some(&model), None, None).expect("harmony is known");
    let text = prompt(&prompter, None);
    assert!(
        text.starts_with("<|start|>system<|message|>") && text.ends_with("<|start|>user<|message|>Ahoy there<|end|>"),
        "{text}"
    );
}

#[test]
fn what_is_missing_is_named() {
    let open =
        |name: &str, files: &[(&str, String)]| ModelDir::open(&folder(name, files)).map_err(|error| error.to_string());
    assert!(ModelDir::open(Path::new("no/such/folder")).is_err_and(|error| error.hint.is_some()));
    let error = open("empty", &[("config.json", "{}".to_owned())]).expect_err("there is no tokenizer");
    assert!(error.contains("no tokenizer") && error.contains("hint:"), "{error}");
    let error = open("broken", &[("tokenizer.json", "{".to_owned())]).expect_err("it is no JSON");
    assert!(error.contains("tokenizer.json"), "{error}");
    let error =
        open("config", &[("tokenizer.json", words()), ("config.json", "[".to_owned())]).expect_err("it is no JSON");
    assert!(error.contains("config.json"), "{error}");
    let template = [("tokenizer.json", words()), ("chat_template.jinja", "a\n{% if %}".to_owned())];
    let error = open("template", &template).expect_err("it is no Jinja");
    assert!(error.contains("chat_template.jinja") && error.contains("line 2"), "{error}");
    let bare = ModelDir::open(&folder("bare", &[("tokenizer.json", words())])).expect("it has a tokenizer");
    let error = Prompter::new(Some(&bare), None, None).expect_err("it has no template");
    assert!(error.message.contains("no chat template") && error.hint.is_some(), "{error}");
}

#[test]
fn a_broken_tokenizer_is_told_at_the_start() {
    let file = |change: &dyn Fn(&mut Value)| {
        let mut file: Value = serde_json::from_str(&words()).expect("it is JSON");
        change(&mut file);
        file.to_string()
    };
    let tekken = |reserved: u64| {
        json!({"config": {"pattern": "x", "default_vocab_size": 4_000_000_000_u64, "default_num_special_tokens": reserved},
            "vocab": []})
        .to_string()
    };
    let files = [
        ("no-unknown", "tokenizer.json", file(&|file| file["model"]["unk_token"] = json!("[NONE]"))),
        ("far-id", "tokenizer.json", file(&|file| file["model"]["vocab"]["far"] = json!(4_000_000_000_u64))),
        (
            "multiplies",
            "tokenizer.json",
            file(&|file| {
                file["normalizer"] =
                    json!({"type": "Replace", "pattern": {"String": "a"}, "content": "b".repeat(1000)});
            }),
        ),
        (
            "beyond",
            "tokenizer.json",
            file(&|file| {
                file["post_processor"] = json!({"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<x>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<x>": {"id": "<x>", "ids": [77], "tokens": ["<x>"]}}});
            }),
        ),
        (
            "no-model",
            "tokenizer.json",
            file(&|file| file["model"] = json!({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]})),
        ),
        ("special", "tekken.json", tekken(4_000_000_000)),
        ("nothing", "tekken.json", tekken(1)),
        ("pattern", "tekken.json", tekken(1).replace("\"x\"", "\"(\"")),
        ("class", "x.tiktoken", "YQ== 0".to_owned()),
    ];
    for (name, file, text) in files {
        let error = ModelDir::open(&folder(&format!("broken-{name}"), &[(file, text)])).expect_err(name);
        assert!(error.message.contains(file) && error.hint.is_some(), "{name}: {error}");
    }
    let model = ModelDir::open(&folder("broken-not", &[("tokenizer.json", words())])).expect("it is right");
    for beyond in [5, 4_000_000, u32::MAX] {
        assert!(model.tokenizer().decode(&[1, beyond]).is_err_and(|error| error.message.contains(&beyond.to_string())));
    }
}
