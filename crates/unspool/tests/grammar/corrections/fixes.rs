//! The corrections of their tags.

use serde_json::{Value, json};

use super::super::shapes::{Choice, Tool, either, list, literal, optional, sequence, star, triggered};
use super::super::theirs::{Key, Setting};

/// Calls a function for each node of a tag, the inner ones first.
pub(crate) fn each(node: &mut Value, fix: &mut impl FnMut(&mut Value)) {
    match node {
        Value::Array(all) => all.iter_mut().for_each(|one| each(one, fix)),
        Value::Object(map) => {
            map.iter_mut().filter(|(key, _)| *key != "json_schema").for_each(|(_, one)| each(one, fix));
            fix(node);
        }
        _ => {}
    }
}

fn is(node: &Value, kind: &str) -> bool {
    node["type"] == kind
}

fn has_params(node: &Value) -> bool {
    is(node, "json_schema") && node["style"].as_str().is_some_and(|s| s != "json")
}

pub(super) fn arguments_are_an_object(tag: &mut Value, _: &Key, _: Setting) {
    each(tag, &mut |node| {
        if is(node, "json_schema") && node["json_schema"] == true {
            node["json_schema"] = json!({"type": "object"});
        }
    });
}

pub(super) fn blanks_of_the_template(tag: &mut Value, key: &Key, _: Setting) {
    let Some(exact) = key.exact() else { return };
    each(tag, &mut |node| {
        if has_params(node) {
            node["exact"] = exact.clone();
        }
        let own_line = key.name.starts_with("qwen") && is(node, "tag") && has_params(&node["content"]);
        if own_line {
            node["end"] = node["end"].as_str().unwrap().trim_start().into();
        }
        if key.name == "mimo" && is(node, "tag") {
            let name = node["begin"].as_str().unwrap().strip_prefix("<tool_call>").unwrap().to_owned();
            let line = || optional(literal("\n"));
            let parts = vec![line(), literal(&name), node["content"].clone(), literal("</function>"), line()];
            node["begin"] = "<tool_call>".into();
            node["content"] = sequence(parts);
            node["end"] = "</tool_call>".into();
        }
    });
}

pub(super) fn any_order(tag: &mut Value, _: &Key, _: Setting) {
    each(tag, &mut |node| {
        if has_params(node) {
            node["any_order"] = true.into();
        }
    });
}

pub(super) fn values_without_structure(tag: &mut Value, key: &Key, _: Setting) {
    each(tag, &mut |node| {
        if has_params(node) {
            node["excludes"] = json!(key.values);
        }
        // Where a parameter is made of smaller nodes, its text is one.
        if key.name == "glm_4_7 (not strict)" && is(node, "any_text") {
            node["excludes"] = json!([key.values, &["</arg_value>"]].concat());
        }
    });
}

pub(super) fn wider_keys(tag: &mut Value, _: &Key, _: Setting) {
    each(tag, &mut |node| {
        if has_params(node) && node["json_schema"] == true {
            node["keys"] = r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}".into();
        }
    });
}

pub(super) fn loose_lines(tag: &mut Value, _: &Key, _: Setting) {
    each(tag, &mut |node| {
        if !node["tags"].is_array() {
            return;
        }
        let tags = node["tags"].as_array_mut().unwrap();
        tags.retain(|one| one["begin"].as_str().unwrap().contains('\n'));
        for one in tags {
            let (begin, end) = (one["begin"].as_str().unwrap().to_owned(), one["end"].as_str().unwrap().to_owned());
            let ((marker, header), (tail, close)) = (begin.split_once('\n').unwrap(), end.split_once('\n').unwrap());
            let line = || optional(literal("\n"));
            let parts = vec![line(), literal(header), one["content"].clone(), literal(tail), line()];
            *one = super::super::shapes::tag(marker, sequence(parts), close);
        }
    });
}

pub(super) fn lines_between(tag: &mut Value, _: &Key, setting: Setting) {
    if setting.choice == Choice::Required && setting.parallel {
        let calls = tag["format"].clone();
        tag["format"] = sequence(vec![calls.clone(), star(sequence(vec![optional(literal("\n")), calls]))]);
    }
}

pub(super) fn no_call_from_text(tag: &mut Value, _: &Key, setting: Setting) {
    if setting.choice != Choice::Auto {
        return;
    }
    let node = &mut tag["format"];
    node["triggers"] = json!(["{"]);
    node["excludes"] = json!(["<|python_tag|>", "["]);
    let text = super::super::shapes::text(&["<|python_tag|>", "\"name\"", "\\u006", "\\u004"]);
    let all = vec![tag["format"].clone(), text];
    tag["format"] = if setting.parallel { sequence(all) } else { either(all) };
}

pub(super) fn frame_is_text(tag: &mut Value, _: &Key, setting: Setting) {
    let parts = tag["format"]["elements"].as_array().unwrap().clone();
    let [open, _, block, end] = <[Value; 4]>::try_from(parts).unwrap();
    tag["format"] = if setting.choice == Choice::Auto {
        let without = [
            "<|open|>think<|sep|>",
            "<|close|>think<|sep|>",
            "<|open|>call",
            "<|close|>tools<|sep|>",
            "<|close|>call<|sep|>",
            "<|close|>message<|sep|>",
        ];
        let tags = vec![block["content"].clone()];
        sequence(vec![triggered("<|open|>tools<|sep|>", tags, &without, !setting.parallel), end])
    } else {
        let blanks = optional(json!({"type": "regex", "pattern": "[ \\t\\r\\n]{1,4}"}));
        let frame = optional(sequence(vec![open, literal("<|close|>response<|sep|>"), blanks.clone()]));
        sequence(vec![blanks, frame, block, end])
    };
}

pub(super) fn counted(tag: &mut Value, _: &Key, setting: Setting) {
    each(tag, &mut |node| {
        let Some(tool) = called(node, setting) else { return };
        let strict = tool.strict;
        let parts = node["content"]["elements"].as_array_mut().unwrap();
        let schema = if strict { tool.parameters } else { Value::Bool(true) };
        *parts.last_mut().unwrap() = json!({
            "type": "json_schema", "style": "kimi_k3", "json_schema": schema, "any_order": true,
            "keys": r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}", "exact": {"lead": "", "open": "", "close": "", "behind": ""},
            "excludes": ["<|open|>argument", "<|open|>tools<|sep|>", "<|open|>call", "<|close|>tools<|sep|>", "<|close|>call<|sep|>"],
        });
    });
}

pub(super) fn typed(tag: &mut Value, _: &Key, setting: Setting) {
    each(tag, &mut |node| {
        let Some(tool) = called(node, setting) else { return };
        let schema = if tool.strict { tool.parameters } else { Value::Bool(true) };
        let params = json!({
            "type": "json_schema", "style": "hy", "json_schema": schema, "any_order": true,
            "keys": r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}", "exact": {"lead": "", "open": "", "close": "", "behind": ["", "\n"]},
            "excludes": ["<arg_key>", "<tool_calls>", "<tool_call>", "</tool_calls>", "</tool_call>"],
        });
        node["content"] = sequence(vec![optional(literal("<tool_sep>")), optional(literal("\n")), params]);
        node["end"] = json!(["</tool_call>\n", "</tool_call>"]);
    });
    tag["format"]["elements"][0] = sequence(vec![literal("<tool_calls>"), optional(literal("\n"))]);
}

/// The tool that a tag is a call of.
fn called(node: &Value, setting: Setting) -> Option<Tool> {
    let begin = node["begin"].as_str()?;
    let is_call = begin.contains("call tool=") || begin.starts_with("<tool_call>");
    super::super::theirs::tools(setting).into_iter().find(|tool| is_call && begin.contains(&tool.name))
}

pub(super) fn once(tag: &mut Value, _: &Key, setting: Setting) {
    each(tag, &mut |node| {
        if setting.choice == Choice::Named && is(node, "tags_with_separator") {
            node["stop_after_first"] = true.into();
        }
    });
}

pub(super) fn end_of_message(tag: &mut Value, _: &Key, setting: Setting) {
    if setting.choice == Choice::Auto {
        each(tag, &mut |node| {
            if node["end"].is_array() {
                node["end"] = node["end"][0].clone();
            }
        });
        tag["format"] = sequence(vec![tag["format"].clone(), optional(literal("<|plamo:tag|>"))]);
    }
}

/// The last part of harmony's tag: calls and, where they may be, answers.
fn last_messages(tag: &mut Value) -> &mut Vec<Value> {
    tag["format"]["elements"][2]["elements"].as_array_mut().unwrap()
}

fn is_call(message: &Value) -> bool {
    message["begin"].as_str().unwrap().contains("to=functions")
}

pub(super) fn commentary_calls(tag: &mut Value, _: &Key, _: Setting) {
    last_messages(tag).retain(|one| !is_call(one) || one["begin"].as_str().unwrap().contains("commentary"));
}

pub(super) fn ends_of_messages(tag: &mut Value, _: &Key, _: Setting) {
    last_messages(tag).retain(|one| is_call(one) || one["begin"] == "<|channel|>final<|message|>");
    for one in last_messages(tag) {
        one["end"] = json!([if is_call(one) { "<|call|>" } else { "<|return|>" }, ""]);
    }
}

pub(super) fn text_of_messages(tag: &mut Value, _: &Key, _: Setting) {
    each(tag, &mut |node| {
        if is(node, "any_text") {
            node["excludes"] = json!([
                "<|end|>",
                "<|call|>",
                "<|start|>",
                "<|message|>",
                "<|channel|>",
                "<|constrain|>",
                "<|return|>"
            ]);
        }
    });
}

pub(super) fn many_messages(tag: &mut Value, _: &Key, setting: Setting) {
    let said = |at: usize| tag["format"]["elements"][at]["content"]["elements"][0].clone();
    let (thought, preamble) = (said(0), said(1));
    let (calls, finals): (Vec<Value>, Vec<Value>) = last_messages(tag).iter().cloned().partition(is_call);
    let next = || literal("<|start|>assistant");
    let closed = |one: &Value| {
        let mut one = one.clone();
        one["end"] = if one["end"].is_array() { one["end"][0].clone() } else { one["end"].clone() };
        one
    };
    let ended = |one: &Value| {
        let mut one = closed(one);
        one["end"] = json!([one["end"], ""]);
        one
    };
    let any = |all: &[Value], of: &dyn Fn(&Value) -> Value| either(all.iter().map(of).collect());
    let one_call = setting.choice == Choice::Named || !setting.parallel;
    let before = star(sequence(vec![any(&calls, &closed), next()]));
    let last = any(&calls, &ended);
    let calls = if one_call { last } else { sequence(vec![before, last]) };
    let thoughts = star(sequence(vec![thought.clone(), next()]));
    if setting.choice != Choice::Auto {
        tag["format"] = sequence(vec![thoughts, calls]);
        return;
    }
    let answers = [finals, vec![preamble]].concat();
    let said = sequence(vec![any(&answers, &closed), next()]);
    let messages = either(vec![sequence(vec![optional(said), calls]), any(&answers, &ended)]);
    tag["format"] = either(vec![sequence(vec![thoughts.clone(), messages]), sequence(vec![thoughts, thought])]);
}

pub(super) fn text_without_markers(tag: &mut Value, key: &Key, _: Setting) {
    each(tag, &mut |node| {
        if is(node, "triggered_tags") {
            node["excludes"] = json!(key.text);
        }
    });
}

pub(super) fn calls_alone(tag: &mut Value, key: &Key, _: Setting) {
    each(tag, &mut |node| {
        if is(node, "triggered_tags") && node["at_least_one"] == true {
            let tags = node["tags"].as_array().unwrap().clone();
            // A block holds all calls.
            let block = tags[0]["content"]["type"] == "tags_with_separator";
            *node = list(tags, key.between, block || node["stop_after_first"] == true);
        }
    });
}

pub(super) fn blanks_before_calls(tag: &mut Value, _: &Key, setting: Setting) {
    if setting.choice == Choice::Auto {
        return;
    }
    let mut first = &mut tag["format"];
    while is(first, "sequence") {
        first = &mut first["elements"][0];
    }
    if let Some(text) = first["value"].as_str() {
        first["value"] = text.trim_start().to_owned().into();
    }
    let blanks = json!({"type": "regex", "pattern": "[ \\t\\r\\n]{1,4}"});
    let rest = tag["format"].clone();
    tag["format"] = sequence(vec![optional(blanks), rest]);
}

/// Positions that are counted.
const COUNTED: usize = 8;

pub(super) fn positions(tag: &mut Value, key: &Key, _: Setting) {
    let start = usize::from(key.name == "kimi_k3");
    each(tag, &mut |node| {
        if is(node, "tags_with_separator") {
            let once = node["stop_after_first"] == true;
            let tags = node["tags"].as_array().unwrap().clone();
            let at = |number: usize| {
                let mut all = tags.clone();
                all.iter_mut().for_each(|one| numbered(one, number + start));
                either(all)
            };
            let later = star(either(tags.clone()));
            *node = (0..if once { 1 } else { COUNTED }).rev().fold(later, |more, number| {
                let more = if once { literal("") } else { more };
                let all = sequence(vec![at(number), more]);
                if number == 0 { all } else { optional(all) }
            });
        } else if is(node, "sequence")
            && node["elements"][1]["type"] == "tag"
            && node["elements"][1]["content"]["elements"][0]["type"] == "regex"
        {
            numbered(&mut node["elements"][1], start);
        }
    });
}

fn numbered(tag: &mut Value, number: usize) {
    each(tag, &mut |node| {
        if is(node, "regex") {
            *node = literal(&number.to_string());
        }
    });
}
