//! Test cases of a format for any implementation: its examples, and rendered random messages.

use serde_json::{Map, Value, json};
use unspool::Error;
use unspool::format::file::Example;
use unspool::sample::{Parts, Sampler};
use unspool::{Half, Pair, Registry, Request, Setup};

use super::reading::{Read, Reader};
use super::trial::Effort;
use super::writing::tools;

/// The cases of a name: a tool-call parser, with the given reasoning parser or one of the same name; or a reasoning
/// parser. Each is an object in the corpus format: `id`, `reasoning_parser`, `tool_parser`, `tools`, `request`,
/// `prompt_tail`, `text`, `expect`.
///
/// # Errors
/// An unknown name, or halves that cannot work together.
pub fn cases(registry: &Registry, name: &str, reasoning: Option<&str>, effort: Effort) -> Result<Vec<Value>, Error> {
    let is_tools = registry.words(Half::Tools, name).is_ok();
    let tools_name = is_tools.then(|| name.to_owned());
    let half = if is_tools { Half::Tools } else { Half::Reasoning };
    let words = registry.words(half, name)?;
    let same = registry.words(Half::Reasoning, name).is_ok();
    let reasoning = reasoning.map(str::to_owned).or_else(|| same.then(|| name.to_owned()));
    let setup = Setup { reasoning_parser: reasoning.clone(), tool_parser: tools_name.clone(), ..Setup::default() };
    let mut out = Vec::new();
    for (number, example) in words.example.iter().enumerate() {
        let names = example.parsers(&words);
        let ours = |own: &Option<String>, wanted: &Option<String>| own.is_none() || own == wanted;
        if ours(&names.reasoning, &reasoning) && ours(&names.tools, &tools_name) {
            out.push(of_example(&format!("{name}/example-{}", number + 1), example, &setup));
        }
    }
    if words.checkpoint.is_none() {
        let pair = registry.pair(&setup)?;
        out.extend(made_up(name, &pair, &setup, effort));
    }
    Ok(out)
}

fn case(id: &str, setup: &Setup, request: &Value, text: &str, expect: &Value) -> Value {
    let mut request = request.as_object().cloned().unwrap_or_default();
    let tools = request.remove("tools").unwrap_or_else(|| json!([]));
    json!({"id": id, "reasoning_parser": setup.reasoning_parser, "tool_parser": setup.tool_parser, "tools": tools,
        "request": request, "prompt_tail": null, "text": text, "expect": expect})
}

fn of_example(id: &str, example: &Example, setup: &Setup) -> Value {
    let calls: Vec<Value> =
        example.calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
    let expect = json!({"reasoning": example.reasoning, "content": example.content, "tool_calls": calls});
    let mut out = case(id, setup, &example.request(), &example.text, &expect);
    out["prompt_tail"] = json!(example.prompt);
    if !example.tokenizer_config.is_null() {
        out["tokenizer_config"] = example.tokenizer_config.clone();
    }
    out
}

/// Random messages rendered in the format; the expected result is the message.
fn made_up(name: &str, pair: &Pair, setup: &Setup, effort: Effort) -> Vec<Value> {
    let (tools, mut sampler) = (tools(), Sampler::new(effort.seed));
    let body = json!({"tools": tools, "tool_choice": "auto"});
    let request = Request { id_seed: Some(0), ..Request::from_openai(&body).unwrap_or_default() };
    let reader = Reader { pair, request: &request, prompt: None };
    let mut out = Vec::new();
    for number in 0..effort.count {
        let calls = if setup.tool_parser.is_some() { usize::try_from(number % 4).unwrap_or(0) } else { 0 };
        let reasoning = setup.reasoning_parser.is_some() && number % 3 > 0;
        let parts = Parts { reasoning, content: calls == 0 || number % 5 == 0, calls };
        let message = sampler.message_of(&tools, parts);
        let Ok(text) = pair.render(&message, &request) else { continue };
        let Ok(read) = reader.whole(&text) else { continue };
        let id = format!("{name}/made-up-{}", out.len() + 1);
        out.push(case(&id, setup, &body, &text, &expected(&read)));
    }
    out
}

fn expected(read: &Read) -> Value {
    let text = |text: &str| if text.is_empty() { Value::Null } else { Value::from(text) };
    let call = |call: &unspool::ToolCall| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        json!({"name": call.name, "arguments": arguments})
    };
    let mut out = Map::new();
    out.insert("reasoning".to_owned(), text(&read.reasoning));
    out.insert("content".to_owned(), text(&read.content));
    out.insert("tool_calls".to_owned(), read.calls.iter().map(call).collect());
    Value::Object(out)
}

/// A Python test file with the cases. Its user provides a fixture `parse`.
#[must_use]
pub fn pytest(cases: &[Value]) -> String {
    let lines: Vec<String> =
        cases.iter().map(|case| format!("    {},\n", python(&Value::from(case.to_string())))).collect();
    format!(
        r#""""Cases of a format, made by `unspool cases`.

They need a fixture `parse`, in a conftest.py beside this file: a function that is given a case and its output in pieces, and gives
`(reasoning, content, calls)`, texts or None, and a list of `(name, arguments)` with the arguments as an object.
"""

import json

import pytest

CASES = [json.loads(case) for case in (
{}
)]


def pieces_of(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)] if size else [text]


@pytest.mark.parametrize("size", [0, 1, 3, 7])
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case, size, parse):
    reasoning, content, calls = parse(case, pieces_of(case["text"], size))
    expect = case["expect"]
    assert (reasoning or None) == (expect["reasoning"] or None)
    assert (content or None) == (expect["content"] or None)
    assert [tuple(call) for call in calls] == [(call["name"], call["arguments"]) for call in expect["tool_calls"]]
"#,
        lines.concat().trim_end()
    )
}

/// A text as a Python string: JSON's escapes are valid in Python.
fn python(text: &Value) -> String {
    text.to_string()
}
