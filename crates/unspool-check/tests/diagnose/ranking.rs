//! The ranking over the outputs of the corpus.

use std::path::Path;
use std::thread;

use serde_json::{Value, json};
use unspool::{Registry, Setup};
use unspool_check::diagnose::{Formats, Input, Question, diagnose};

/// The cases of the corpus whose output has a call.
fn cases() -> Vec<Value> {
    let mut out = Vec::new();
    for folder in ["corpus", "cases"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        for entry in std::fs::read_dir(folder).expect("the folder of cases is there") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|ext| ext == "jsonl") {
                let text = std::fs::read_to_string(&path).expect("a file of cases");
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                out.extend(lines.map(|line| serde_json::from_str::<Value>(line).expect("a case")));
            }
        }
    }
    let calls = |case: &Value| case["expect"]["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    out.retain(|case| calls(case) && case["tool_parser"].is_string());
    out
}

/// Whether a case's own parser is one of the best; otherwise what is.
fn is_right(case: &Value, plain: &Formats) -> Result<(), String> {
    let mut request = case["request"].as_object().cloned().map_or_else(|| json!({}), Value::Object);
    request["tools"] = case["tools"].clone();
    let config = &case["tokenizer_config"];
    let own = (!config.is_null())
        .then(|| Formats::new(Registry::builtin(), Setup { tokenizer_config: config.clone(), ..Setup::default() }));
    // The text as a line of a replay file, for it may look like something else by itself.
    let text = json!({"text": case["text"]}).to_string();
    let input = Input::read(&text).expect("it is not empty");
    let mut question = Question::new(&input, own.as_ref().unwrap_or(plain));
    question.request = &request;
    question.prompt = case["prompt_tail"].as_str();
    let ranking = diagnose(&question).expect("the request is fine").ranking;
    let tools = case["tool_parser"].as_str();
    match ranking.iter().find(|entry| entry.tool_call_parser.as_deref() == tools) {
        Some(entry) if entry.rank == 1 => Ok(()),
        other => Err(format!("{}: {other:?}, the best is {:?}", case["id"], ranking.first())),
    }
}

#[test]
fn the_right_format_comes_first() {
    let (cases, plain) = (cases(), Formats::new(Registry::builtin(), Setup::default()));
    let half = cases.len() / 2;
    let judge = |part: &[Value]| part.iter().filter_map(|case| is_right(case, &plain).err()).collect::<Vec<_>>();
    let faults: Vec<String> = thread::scope(|scope| {
        let other = scope.spawn(|| judge(&cases[half..]));
        let mut faults = judge(&cases[..half]);
        faults.extend(other.join().expect("it does not panic"));
        faults
    });
    let right = cases.len() - faults.len();
    eprintln!("{right} of {} outputs with a call: the right parser is first, or ties for it", cases.len());
    assert!(cases.len() > 600 && right * 100 >= cases.len() * 95, "{}", faults.join("\n"));
}
