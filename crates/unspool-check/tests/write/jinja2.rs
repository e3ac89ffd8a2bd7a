//! What is written comes out of Python's Jinja2 as it comes out of ours, byte for byte.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use unspool_text::ChatTemplate;

use super::messages::tools;
use super::{shown, wishes, written};

fn folder() -> Option<PathBuf> {
    let fetched = std::env::var_os("UNSPOOL_TEMPLATES").map(PathBuf::from);
    let folder = fetched.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("templates"));
    if folder.join("python/bin/python").exists() {
        return Some(folder);
    }
    assert!(std::env::var_os("UNSPOOL_REQUIRE_TEMPLATES").is_none(), "no Jinja2 in {}", folder.display());
    eprintln!("!!! SKIPPED: no Jinja2 in {}; `.ci/fetch-templates` fetches it", folder.display());
    None
}

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Conversations with all that may stand in one.
fn contexts() -> Map<String, Value> {
    let odd = json!({"port": "the \"Old\" one's\nby C:\\pier\t\u{e9} <b>&amp;</b>", "days": 7, "height": 1.5, "wet": true, "note": null,
        "marks": ["a", "b's", ""], "boat": {"name": "Ida", "feet": 30.0, "crew": []}});
    let system = json!({"role": "system", "content": "Be brief."});
    let user = |text: &str| json!({"role": "user", "content": text});
    let asked = json!({"role": "assistant", "content": "  Let me look. \n", "reasoning": "Hm.\n", "reasoning_content": "Hm.\n",
        "tool_calls": [call("callnr000", "tide", &odd), call("functions.ping:1", "ping", &json!({}))]});
    let bare =
        json!({"role": "assistant", "content": null, "tool_calls": [call("", "tide", &json!({"port": "Looe"}))]});
    let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let answer = |text: &str| json!({"role": "assistant", "content": text, "reasoning_content": " So.\n"});
    let whole = json!([
        system,
        user("When?"),
        answer("\n  At six."),
        user("And \"then\"?"),
        asked,
        result("callnr000", "{\"at\": 6}"),
        result("functions.ping:1", ""),
        answer("At seven.")
    ]);
    let tail = json!([user("When?"), bare, result("", "6 <b>")]);
    let late =
        json!([user("a"), {"role": "assistant", "content": "b"}, {"role": "developer", "content": "c"}, user("d")]);
    let functions: Vec<Value> = tools().as_array().into_iter().flatten().cloned().map(described).collect();
    let mut out = Map::new();
    for (name, messages) in
        [("whole", whole), ("tail", tail), ("late", late), ("told", json!([system])), ("none", json!([]))]
    {
        for (tooled, prompt, think) in
            [(true, true, true), (true, false, false), (false, true, false), (false, false, true)]
        {
            let mut context = json!({"messages": messages, "add_generation_prompt": prompt, "bos_token": "<s>", "eos_token": "</s>",
                "enable_thinking": think, "thinking": think});
            context["tools"] = if tooled { json!(functions) } else { Value::Null };
            out.insert(format!("{name} {tooled} {prompt} {think}"), context);
        }
    }
    let plain = json!({"messages": [user("When?")], "add_generation_prompt": true});
    out.insert("plain".to_owned(), plain);
    out
}

/// A tool as templates are given it: without a description it has null.
fn described(mut tool: Value) -> Value {
    let has = tool["function"]["name"] == "tide";
    tool["function"]["description"] = if has { json!("Times of high water, \"as is\"") } else { Value::Null };
    tool
}

fn reference(folder: &Path, job: &Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../unspool-text/tests/templates/reference.py");
    let python =
        Command::new(folder.join("python/bin/python")).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut python = python.expect("Python starts");
    let mut input = python.stdin.take().expect("the input is a pipe");
    let text = job.to_string();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = python.wait_with_output().expect("Python ends");
    writer.join().expect("the writer does not panic").expect("Python reads its input");
    assert!(output.status.success(), "the reference fails");
    serde_json::from_slice(&output.stdout).expect("the reference writes JSON")
}

#[test]
fn templates_come_out_as_in_python() {
    let Some(folder) = folder() else { return };
    let templates: BTreeMap<String, String> = wishes().iter().map(|wish| (shown(wish), written(wish))).collect();
    let contexts = contexts();
    let job = json!({"templates": templates, "contexts": contexts, "moment": "2026-03-04T15:06:07"});
    let expected = reference(&folder, &job);
    let (mut faults, mut texts) = (Vec::new(), 0);
    for (name, template) in &templates {
        let compiled = ChatTemplate::new(template).unwrap_or_else(|error| panic!("{name}: {error}\n{template}"));
        for (which, context) in &contexts {
            let own = compiled.render(context.as_object().expect("it is an object"));
            match (&own, expected[name][which]["text"].as_str()) {
                (Ok(own), Some(theirs)) if own == theirs => texts += 1,
                (Err(error), None) if error.by_template => {}
                (own, _) => {
                    faults.push(format!("{name}, {which}:\n  here   {own:?}\n  jinja2 {}", expected[name][which]));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} texts differ\n{}", faults.len(), faults[..faults.len().min(12)].join("\n"));
    eprintln!("{texts} texts of {} templates are the same in Jinja2", templates.len());
}
