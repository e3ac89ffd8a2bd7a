//! Grammars of checkpoints that bring a template of their own.

use serde_json::{Value, json};
use unspool::grammar::{Options, StrictLevel};
use unspool::setup::Setup;
use unspool::{Pair, Registry};

use super::machine::Random;
use super::pairs::Names;
use super::{Case, check_calls, sample_count, tools};

/// Templates, and the markers in them.
fn templates() -> Vec<(&'static str, Value, Vec<&'static str>)> {
    let function =
        |name: &str, arguments: &str| json!({"type": "function", "function": {"name": name, "arguments": arguments}});
    let thinking = json!({"open": "<muse>", "close": "</muse>"});
    let acts = |transform: Value, content: &str, each: bool| json!({"open": "<act>", "close": "</act>", "content": content, "repeats": true, "transform": transform, "transform_each": each});
    let in_name = json!({
        "open_pattern": r" to=(?P<fn>[^\s<]+)<\|say\|>", "close": ["<|end|><|start|>", "<|call|>"], "repeats": true, "content": "xml-inline",
        "content_args": {
            "tag_pattern": r#"<p name="(?P<key>[^"]+)">\n(?P<value>.*?)\n(?:</p>|(?=<p name="))"#,
            "value_parser": {"name": "text", "args": {"strip": false}},
        },
        "transform": function("{fn}", "{content}"),
    });
    let mut json_in_name = in_name.clone();
    json_in_name["content"] = "json".into();
    json_in_name.as_object_mut().unwrap().remove("content_args");
    let answer = json!({"open": "<|final|>", "close": ["<|return|>", "<|end|>"]});
    let of = |thinking: &Value, answer: Value, calls: Value| json!({"start_anchor": "<s>", "fields": {"thinking": thinking, "content": answer, "tool_calls": calls}});
    let marks = vec![
        "<act>",
        "</act>",
        "<muse>",
        "</muse>",
        "<|end|>",
        "<|start|>",
        "<|call|>",
        "<|say|>",
        "<|final|>",
        "</p>",
        "<p name=\"",
    ];
    vec![
        (
            "an object",
            of(&thinking, json!({}), acts(function("{content.name}", "{content.arguments}"), "json", false)),
            marks.clone(),
        ),
        ("a list", of(&thinking, json!({}), acts(function("{do}", "{with}"), "json", true)), marks.clone()),
        (
            "no transform",
            of(&thinking, json!({}), json!({"open": "<act>", "close": "</act>", "content": "json"})),
            marks.clone(),
        ),
        ("tags behind a name", of(&thinking, answer.clone(), in_name), marks.clone()),
        ("JSON behind a name", of(&thinking, answer, json_in_name), marks.clone()),
        ("one function", of(&thinking, json!({}), acts(function("tide", "{content}"), "json", false)), marks),
    ]
}

fn pair(template: &Value, thinks: bool) -> Pair {
    let half = Some("beam".to_owned());
    let setup = Setup {
        reasoning_parser: half.clone().filter(|_| thinks),
        tool_parser: half,
        tokenizer_config: json!({"response_template": template}),
        ..Setup::default()
    };
    Registry::builtin().pair(&setup).unwrap_or_else(|e| panic!("{e}"))
}

fn sampled(about: &str, template: &Value, marks: &[&str], choice: &Value) -> Result<usize, String> {
    let tools = tools::tools(&Names::new(None, Some("beam")));
    let mut fields = json!({"tools": tools, "tool_choice": choice});
    let once = choice != "auto" && choice != "required";
    if once {
        fields["parallel_tool_calls"] = false.into();
    }
    let mut calling = 0;
    for with_thought in [false, true] {
        let markers = marks.iter().map(|m| (*m).to_owned()).collect();
        let options = Options { level: StrictLevel::Parameter, with_thought, ..Options::default() };
        let mut case = Case::of(pair(template, with_thought), about, markers, &fields, &options)?;
        for number in 0..sample_count() as u64 {
            let mut random = Random::new(about, number);
            let text = case.machine.sample(&mut case.matcher, &mut random)?;
            case.dump.sampled(&text);
            let fault = |why: String| format!("{about}, {choice}: {why}\n  text: {text:?}");
            let message = case.parse_all(&text, &mut random).map_err(fault)?;
            check_calls(&message, &tools, true).map_err(fault)?;
            let count = message.tool_calls.len();
            if choice != "auto" && (count == 0 || !message.content.trim().is_empty()) || once && count != 1 {
                return Err(fault(format!("{count} calls: {message:?}")));
            }
            calling += count;
        }
    }
    Ok(calling)
}

#[test]
fn replies_in_a_checkpoints_own_form_are_calls_that_fit() {
    let named = json!({"type": "function", "function": {"name": "tide"}});
    let mut faults = Vec::new();
    for (about, template, marks) in templates() {
        for choice in [json!("auto"), json!("required"), named.clone()] {
            match sampled(about, &template, &marks, &choice) {
                Ok(0) => faults.push(format!("{about}, {choice}: no sample had a call")),
                Ok(_) => {}
                Err(fault) => faults.push(format!("{about}: {fault}")),
            }
        }
    }
    super::report(&faults);
}

#[test]
fn what_is_no_literal_is_refused_and_said() {
    let calls = json!({"open_pattern": r"[<«](?P<fn>\w+)>", "close": "</x>", "content": "json", "transform": {"name": "{fn}", "arguments": "{content}"}});
    let template = json!({"start_anchor": "<s>", "fields": {"content": {}, "tool_calls": calls}});
    let tools = json!([{"type": "function", "function": {"name": "tide", "parameters": {}}}]);
    let request = super::request(&json!({"tools": tools, "tool_choice": "required"}));
    let error = pair(&template, false).grammar(&request, &Options::default()).unwrap_err();
    assert!(error.message.contains("response_template") && error.hint.is_some(), "{error:?}");
}

#[test]
fn a_template_that_calls_one_function_demands_no_other() {
    let calls = json!({"open": "<lamp>", "close": "</lamp>", "content": "json", "transform": {"name": "set_lamp", "arguments": "{content}"}});
    let template = json!({"start_anchor": "<s>", "fields": {"content": {}, "tool_calls": calls}});
    let tools = json!([{"type": "function", "function": {"name": "tide", "parameters": {}}}]);
    let request = super::request(&json!({"tools": tools, "tool_choice": "required"}));
    let error = pair(&template, false).grammar(&request, &Options::default()).unwrap_err();
    assert!(error.message.contains("`set_lamp`") && error.hint.is_some(), "{error:?}");
}
