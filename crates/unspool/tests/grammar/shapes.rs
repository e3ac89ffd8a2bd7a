//! Structural tags that vLLM builds and that the crate with its builders has not: written from their shapes.

#![expect(clippy::needless_pass_by_value, reason = "a tag is put together from its pieces")]

use serde_json::{Value, json};

/// A tool, as a builder sees it.
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) parameters: Value,
    pub(crate) strict: bool,
}

/// The requirements on the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Auto,
    Required,
    Named,
}

pub(crate) fn literal(text: &str) -> Value {
    json!({"type": "const_string", "value": text})
}

pub(crate) fn sequence(elements: Vec<Value>) -> Value {
    json!({"type": "sequence", "elements": elements})
}

pub(crate) fn either(elements: Vec<Value>) -> Value {
    json!({"type": "or", "elements": elements})
}

pub(crate) fn optional(content: Value) -> Value {
    json!({"type": "optional", "content": content})
}

pub(crate) fn star(content: Value) -> Value {
    json!({"type": "star", "content": content})
}

pub(crate) fn tag(begin: &str, content: Value, end: &str) -> Value {
    json!({"type": "tag", "begin": begin, "content": content, "end": end})
}

pub(crate) fn text(excludes: &[&str]) -> Value {
    json!({"type": "any_text", "excludes": excludes})
}

pub(crate) fn list(tags: Vec<Value>, separator: &str, once: bool) -> Value {
    json!({"type": "tags_with_separator", "tags": tags, "separator": separator, "at_least_one": true, "stop_after_first": once})
}

pub(crate) fn triggered(trigger: &str, tags: Vec<Value>, excludes: &[&str], once: bool) -> Value {
    json!({"type": "triggered_tags", "triggers": [trigger], "tags": tags, "excludes": excludes, "at_least_one": false, "stop_after_first": once})
}

fn regex(pattern: &str) -> Value {
    json!({"type": "regex", "pattern": pattern})
}

fn arguments(tool: &Tool) -> Value {
    json!({"type": "json_schema", "json_schema": if tool.strict { tool.parameters.clone() } else { Value::Bool(true) }})
}

fn properties(tool: &Tool) -> Vec<(String, Value)> {
    tool.parameters["properties"].as_object().unwrap().iter().map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn is_required(tool: &Tool, key: &str) -> bool {
    tool.parameters["required"].as_array().unwrap().iter().any(|r| r == key)
}

pub(crate) fn longcat(tools: &[Tool], choice: Choice, once: bool) -> Value {
    let call = |tool: &Tool, line: &str| {
        let begin = format!("<longcat_tool_call>{line}{{\"name\": \"{}\", \"arguments\": ", tool.name);
        tag(&begin, arguments(tool), &format!("}}{line}</longcat_tool_call>"))
    };
    let all = tools.iter().flat_map(|tool| [call(tool, "\n"), call(tool, "")]).collect();
    match choice {
        Choice::Auto => triggered("<longcat_tool_call>", all, &[], once),
        Choice::Required => list(all, "", once),
        Choice::Named => list(all, "", true),
    }
}

fn plamo(word: &str) -> String {
    format!("<|plamo:{word}:plamo|>")
}

pub(crate) fn plamo3(tools: &[Tool], choice: Choice, once: bool) -> Value {
    let (open, close) = (plamo("begin_tool_requests"), plamo("end_tool_requests"));
    let call = |tool: &Tool| {
        let name = format!("{}{}{}", plamo("begin_tool_name"), tool.name, plamo("end_tool_name"));
        let begin = plamo("begin_tool_request") + &name + &plamo("begin_tool_arguments");
        let end = plamo("end_tool_arguments") + &plamo("end_tool_request");
        tag(&(begin + "<|plamo:constrain|>json<|plamo:msg|>"), arguments(tool), &end)
    };
    let calls = list(tools.iter().map(call).collect(), "", once || choice == Choice::Named);
    let ends = [close.clone(), format!("{close}<|plamo:tag|>")];
    let block = json!({"type": "tag", "begin": open, "content": calls, "end": ends});
    match choice {
        Choice::Auto => triggered(&open, vec![block], &[], once),
        _ => block,
    }
}

/// Only for a choice that demands a call; the tag has no other.
pub(crate) fn hy_v4(tools: &[Tool], choice: Choice, once: bool) -> Value {
    let pair = |key: &str| tag(&format!("<arg_key>{key}</arg_key><arg_value>"), text(&[]), "</arg_value>");
    let call = |tool: &Tool| {
        let keys = properties(tool);
        let (needed, others): (Vec<_>, Vec<_>) = keys.iter().partition(|(key, _)| is_required(tool, key));
        let mut parts: Vec<Value> = needed.iter().map(|(key, _)| pair(key)).collect();
        parts.push(star(either(others.iter().map(|(key, _)| pair(key)).collect())));
        tag(&format!("<tool_call>{}", tool.name), sequence(parts), "</tool_call>")
    };
    let calls = list(tools.iter().map(call).collect(), "", once || choice == Choice::Named);
    sequence(vec![literal("<tool_calls>"), calls, literal("</tool_calls>")])
}

const GLM: &[&str] = &["</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"];
const THINK: &[&str] = &["<think>", "</think>"];

/// The variant for tools that are not strict.
pub(crate) fn glm(tools: &[Tool], choice: Choice, once: bool) -> Value {
    let free = [GLM, THINK, &["<tool_call>"]].concat();
    let value = |schema: &Value| match schema["type"].as_str() {
        Some("string") | None => text(&free),
        Some(kind) => json!({"type": "json_schema", "json_schema": {"type": kind}}),
    };
    let call = |tool: &Tool| {
        let begin = format!("<tool_call>{}", tool.name);
        let pair = |(key, schema): &(String, Value)| {
            sequence(vec![
                literal(&format!("<arg_key>{key}</arg_key><arg_value>")),
                value(schema),
                literal("</arg_value>"),
            ])
        };
        tag(&begin, star(either(properties(tool).iter().map(pair).collect())), "</tool_call>")
    };
    let calls = tools.iter().map(call).collect();
    match choice {
        Choice::Auto => triggered("<tool_call>", calls, &[GLM, THINK].concat(), once),
        Choice::Required => list(calls, "", once),
        Choice::Named => list(calls, "", true),
    }
}

/// vLLM's own: a parameter by its declared type, none of them counted; of a tool that is not strict any head and any text.
pub(crate) fn kimi_k3(tools: &[Tool], choice: Choice, once: bool) -> Value {
    let close = "<|close|>argument<|sep|>";
    let free = || text(&["<|close|>"]);
    let argument = |(key, schema): &(String, Value)| {
        let (kind, value) = match schema["type"].as_str().unwrap() {
            "string" => ("string", free()),
            "integer" => ("number", json!({"type": "json_schema", "json_schema": schema})),
            kind => (kind, json!({"type": "json_schema", "json_schema": schema})),
        };
        tag(&format!("<|open|>argument key=\"{key}\" type=\"{kind}\"<|sep|>"), value, close)
    };
    let arguments = |tool: &Tool| {
        if !tool.strict {
            return star(tag("<|open|>argument ", sequence(vec![regex(r"[^<]*<\|sep\|>"), free()]), close));
        }
        let all = either(properties(tool).iter().map(argument).collect());
        let kind = if properties(tool).iter().any(|(key, _)| is_required(tool, key)) { "plus" } else { "star" };
        json!({"type": kind, "content": all})
    };
    let call = |tool: &Tool| {
        let parts = vec![regex("[0-9]+"), literal("\"<|sep|>"), arguments(tool)];
        tag(&format!("<|open|>call tool=\"{}\" index=\"", tool.name), sequence(parts), "<|close|>call<|sep|>")
    };
    let calls = list(tools.iter().map(call).collect(), "", once);
    let block = tag("<|open|>tools<|sep|>", calls, "<|close|>tools<|sep|>");
    let said = tag("", text(&["<|open|>", "<|close|>", "<|end_of_msg|>"]), "<|close|>response<|sep|>");
    sequence(vec![
        optional(literal("<|open|>response<|sep|>")),
        said,
        if choice == Choice::Auto { optional(block) } else { block },
        optional(literal("<|close|>message<|sep|>")),
    ])
}

/// vLLM's own: one thought, one preamble, and one call or answer; a call's header in twelve forms.
pub(crate) fn harmony(tools: &[Tool], choice: Choice, _once: bool) -> Value {
    let ends = |begin: &str, content: Value| json!({"type": "tag", "begin": begin, "content": content, "end": ["<|end|>", ""]});
    let said = |channel: &str| {
        let message = tag(&format!("<|channel|>{channel}<|message|>"), text(&[]), "<|end|>");
        optional(sequence(vec![message, literal("<|start|>assistant")]))
    };
    let mut last = Vec::new();
    for tool in tools {
        for channel in ["commentary", "analysis", "final"] {
            for form in ["json", "<|constrain|>json"] {
                let before = format!(" to=functions.{}<|channel|>{channel} {form}<|message|>", tool.name);
                let after = format!("<|channel|>{channel} to=functions.{} {form}<|message|>", tool.name);
                last.extend([before, after].map(|begin| ends(&begin, arguments(tool))));
            }
        }
    }
    if choice == Choice::Auto {
        last.push(ends("<|channel|>final<|message|>", text(&[])));
    }
    sequence(vec![said("analysis"), said("commentary"), either(last)])
}
