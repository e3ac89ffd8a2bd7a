//! Runs the machine over the corpus cases whose checkpoint has a template.

use super::*;

struct Case {
    value: Value,
    setting: Setting,
    text: String,
    /// Tokens as bytes.
    tokens: Vec<Vec<u8>>,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for file in ["reasoning", "tools-a", "field"] {
        let path = format!("{}/../../corpus/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            if value["reasoning_parser"] == "hf" || value["tool_parser"] == "hf" {
                cases.push(Case::new(value));
            }
        }
    }
    cases
}

impl Case {
    fn new(value: Value) -> Self {
        let spec = TemplateSpec::parse(&value["tokenizer_config"]["response_template"]).unwrap();
        let tools = ToolSet::from_openai(&value["tools"]);
        let halves = Halves {
            reasoning: value["reasoning_parser"] == "hf",
            tools: value["tool_parser"] == "hf" && !tools.is_empty() && value["request"]["tool_choice"] != "none",
        };
        let prompt = value["prompt_tokens"].as_array().into_iter().flatten().filter_map(|t| t[1].as_str()).collect();
        let last = if value["finish"] == "length" { Eof::Length } else { Eof::Stop };
        let setting = Setting { spec: Arc::new(spec), halves, tools, prompt, last, limits: Limits::default() };
        let bytes = |token: &Value| match token[1].as_str() {
            Some(text) => text.as_bytes().to_vec(),
            None => {
                let hex = token[2].as_str().unwrap();
                (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
            }
        };
        let tokens = value["tokens"].as_array().into_iter().flatten().map(bytes).collect();
        let text = value["text"].as_str().unwrap().to_owned();
        Self { value, setting, text, tokens }
    }

    fn check(&self, reply: &Reply, how: &str) {
        let mut expected = vec![&self.value["expect"]];
        expected.extend(self.value["also_ok"].as_array().into_iter().flatten());
        let fits = expected.iter().any(|expect| self.fits(reply, expect));
        assert!(fits, "{} ({how}):\n{reply:#?}\nexpected {expected:?}", self.value["id"]);
    }

    fn fits(&self, reply: &Reply, expect: &Value) -> bool {
        let calls = expect["tool_calls"].as_array().unwrap();
        reply.reasoning.trim() == expect["reasoning"].as_str().unwrap_or("").trim()
            && reply.content.trim() == expect["content"].as_str().unwrap_or("").trim()
            && reply.calls.len() == calls.len()
            && reply.calls.iter().zip(calls).all(|((name, _, arguments, complete), call)| {
                let fits = match call["arguments_prefix"].as_str() {
                    None => *complete && serde_json::from_str::<Value>(arguments).unwrap() == call["arguments"],
                    Some(prefix) if self.setting.last == Eof::Length => !complete && arguments == prefix,
                    Some(prefix) => !complete && arguments.starts_with(prefix),
                };
                fits && *name == call["name"]
            })
    }

    /// The tokens' texts; a character that spans several tokens comes with its last one.
    fn token_texts(&self) -> Vec<String> {
        let mut bytes = Vec::new();
        let text = |token: &Vec<u8>| {
            bytes.extend_from_slice(token);
            let valid = match std::str::from_utf8(&bytes) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            String::from_utf8(bytes.drain(..valid).collect()).unwrap()
        };
        self.tokens.iter().map(text).collect()
    }
}

/// Splits `text` at positions that depend on `seed`.
fn cut(text: &str, mut seed: u64) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for (i, _) in text.char_indices() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if seed >> 61 == 0 {
            pieces.push(&text[from..i]);
            from = i;
        }
    }
    pieces.push(&text[from..]);
    pieces
}

#[test]
fn every_case_in_every_cut() {
    let cases = cases();
    assert!(cases.len() >= 15, "the corpus has {} cases with a template", cases.len());
    for case in &cases {
        case.check(&case.setting.read(&case.text), "whole, in two, char by char");
        for seed in 1..60 {
            case.check(&case.setting.run(&cut(&case.text, seed), |_| {}), "random cuts");
        }
    }
}

#[test]
fn gate_and_reasoning_tokens() {
    let mut counted = 0;
    for case in cases().iter().filter(|case| !case.value["expect"]["gate_step"].is_null()) {
        let texts = case.token_texts();
        let pieces: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut phases = Vec::new();
        let reply = case.setting.run(&pieces, |phase| phases.push(phase));
        case.check(&reply, "token by token");
        let step = phases.iter().position(|phase| *phase == Phase::Answering).map(|i| i as i64 - 1);
        assert_eq!(step, case.value["expect"]["gate_step"].as_i64(), "{}: gate", case.value["id"]);
        let mut at = 0;
        let is_thought = |token: &&Vec<u8>| {
            let span = at..at + token.len();
            at = span.end;
            reply.thought.iter().any(|thought| thought.start < span.end && span.start < thought.end)
        };
        let tokens = case.tokens.iter().filter(is_thought).count();
        assert_eq!(
            Some(tokens as u64),
            case.value["expect"]["reasoning_tokens"].as_u64(),
            "{}: tokens",
            case.value["id"]
        );
        counted += 1;
    }
    assert!(counted > 0);
}
