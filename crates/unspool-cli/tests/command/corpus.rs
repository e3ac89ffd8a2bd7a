//! The corpus through `unspool stream`: the command gives what the library gives.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use unspool::{Delta, FinishReason, Message, Prompt, Registry, Request, Setup, Vocabulary};

use crate::{lines, unspool};

/// Fields of a case that stand in a start line under the same or another name.
const FIELDS: [(&str, &str); 9] = [
    ("reasoning_parser", "reasoning_parser"),
    ("tool_parser", "tool_parser"),
    ("model_type", "model_type"),
    ("tools", "tools"),
    ("request", "request"),
    ("special_token_ids", "special_tokens"),
    ("hidden_special_tokens", "hidden_special_tokens"),
    ("tokenizer_config", "tokenizer_config"),
    ("incomplete_calls", "incomplete_calls"),
];

fn cases() -> Vec<Value> {
    let folders = ["corpus", "cases"].map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name));
    let listed = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder of cases"));
    let mut files: Vec<_> = listed.map(|file| file.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files.iter().flat_map(|file| lines(&fs::read_to_string(file).expect("a corpus file"))).collect()
}

fn start(case: &Value) -> Map<String, Value> {
    let given = |(from, to): &(&str, &str)| Some(((*to).to_owned(), case.get(from)?.clone()));
    FIELDS.iter().filter_map(given).collect()
}

/// What the library says of a case's text.
fn by_library(registry: &Registry, case: &Value) -> Result<(Message, FinishReason), String> {
    let text = |field: &str| case[field].as_str().map(str::to_owned);
    let read = |field: &str| case.get(field).cloned().unwrap_or_default();
    let setup = Setup {
        reasoning_parser: text("reasoning_parser"),
        tool_parser: text("tool_parser"),
        model_type: text("model_type"),
        vocabulary: Vocabulary {
            special: serde_json::from_value(read("special_token_ids")).expect("ids by text"),
            hidden: serde_json::from_value(read("hidden_special_tokens")).unwrap_or_default(),
            bytes: None,
        },
        tokenizer_config: read("tokenizer_config"),
        incomplete_calls: serde_json::from_value(read("incomplete_calls")).unwrap_or_default(),
        ..Setup::default()
    };
    let mut request = read("request");
    request["tools"] = read("tools");
    let request = Request::from_openai(&request).map_err(|error| error.message)?;
    let pair = registry.pair(&setup).map_err(|error| error.message)?;
    let prompt = case["prompt_tail"].as_str().map_or(Prompt::Unknown, Prompt::Text);
    let mut parser = pair.parser(&request, prompt).map_err(|error| error.message)?;
    let mut message = Message::default();
    parser.push(Delta::text(case["text"].as_str().expect("a text")), &mut message);
    let finish = parser.finish(serde_json::from_value(read("finish")).ok(), &mut message);
    Ok((message, finish.reason))
}

/// Made ids differ from run to run; the rest of a call does not.
fn calls(value: &Value) -> Vec<(&Value, &Value, &Value)> {
    let calls = value.as_array().expect("a list of calls");
    calls.iter().map(|call| (&call["name"], &call["arguments"], &call["complete"])).collect()
}

#[test]
fn the_command_gives_what_the_library_gives() {
    let cases = cases();
    let mut input = String::new();
    for case in &cases {
        let mut start = start(case);
        start.insert("prompt".to_owned(), case["prompt_tail"].clone());
        let _ = writeln!(input, "{}", json!({ "start": start }));
        for piece in case["text"].as_str().expect("a text").split_inclusive(' ') {
            let _ = writeln!(input, "{}", json!({"delta": {"text": piece}}));
        }
        let _ = writeln!(input, "{}", json!({"finish": case["finish"]}));
    }
    let out = lines(&unspool(&["stream"], input).warned());
    let ends: Vec<&Value> = out.iter().filter(|line| line.get("event").is_none()).collect();
    assert_eq!(ends.len(), cases.len(), "each reply ends with one message or one error");

    let registry = Registry::builtin();
    for (case, end) in cases.iter().zip(ends) {
        let id = &case["id"];
        match by_library(&registry, case) {
            Err(message) => assert_eq!(end["error"]["message"], message, "{id}"),
            Ok((message, reason)) => {
                let given = &end["message"];
                assert_eq!(given["reasoning"].as_str().unwrap_or_default(), message.reasoning, "{id}");
                assert_eq!(given["content"].as_str().unwrap_or_default(), message.content, "{id}");
                assert_eq!(given["finish_reason"], serde_json::to_value(reason).expect("a name"), "{id}");
                let expected = serde_json::to_value(&message.tool_calls).expect("calls");
                assert_eq!(calls(&given["tool_calls"]), calls(&expected), "{id}");
            }
        }
    }
}

/// Ids with text, and ids alone, count the same tokens.
#[test]
fn ids_alone_give_what_ids_with_text_give() {
    let cases: Vec<Value> = cases().into_iter().filter(|case| case["tokens"].is_array()).collect();
    let replies = |with_text: bool| {
        let mut input = String::new();
        for case in &cases {
            write_token_reply(&mut input, case, with_text);
        }
        let out = lines(&unspool(&["stream"], input).warned());
        out.into_iter().filter(|line| line.get("event").is_none()).collect::<Vec<Value>>()
    };
    let (with_text, alone) = (replies(true), replies(false));
    assert_eq!((with_text.len(), alone.len()), (cases.len(), cases.len()));
    for ((case, one), other) in cases.iter().zip(&with_text).zip(&alone) {
        for field in ["reasoning", "content", "finish_reason", "reasoning_tokens", "gate_step"] {
            assert_eq!(one["message"][field], other["message"][field], "{}: {field}", case["id"]);
        }
    }
}

fn write_token_reply(input: &mut String, case: &Value, with_text: bool) {
    let tokens = case["tokens"].as_array().expect("tokens");
    let mut start = start(case);
    start.insert("prompt_tokens".to_owned(), case["prompt_tokens"].clone());
    if !with_text {
        let bytes = |token: &Value| match &token[1] {
            Value::Null => json!({"hex": token[2]}),
            text => text.clone(),
        };
        let vocab: Map<String, Value> = tokens.iter().map(|token| (token[0].to_string(), bytes(token))).collect();
        start.insert("vocab".to_owned(), Value::Object(vocab));
    }
    let _ = writeln!(input, "{}", json!({ "start": start }));
    let mut held = Vec::new();
    for token in tokens {
        let ids = [&token[0]];
        if with_text {
            held.extend(token_bytes(token));
            let complete = std::str::from_utf8(&held).map_or_else(|error| error.valid_up_to(), str::len);
            let text = String::from_utf8(held.drain(..complete).collect()).expect("the complete characters");
            let _ = writeln!(input, "{}", json!({"delta": {"text": text, "ids": ids}}));
        } else {
            let _ = writeln!(input, "{}", json!({"delta": {"ids": ids}}));
        }
    }
    let _ = writeln!(input, "{}", json!({"finish": case["finish"]}));
}

/// The bytes of `[id, text]` or `[id, null, hex]`.
fn token_bytes(token: &Value) -> Vec<u8> {
    if let Some(text) = token[1].as_str() {
        return text.as_bytes().to_vec();
    }
    let hex = token[2].as_str().expect("hexadecimal digits").as_bytes();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    hex.chunks(2).map(|digits| pair(digits).expect("two digits")).collect()
}
