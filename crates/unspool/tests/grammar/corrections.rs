//! Where our grammars differ from the tags that vLLM builds on purpose. Each difference is a correction of their tag, behind
//! which both must say the same; a correction without which they would say the same as well has no place here.

use serde_json::{Value, json};

use super::shapes::{Choice, Tool, either, list, literal, optional, sequence, star, triggered};
use super::theirs::{Key, Setting};

/// A difference.
pub(crate) struct Correction {
    /// What ours does otherwise.
    pub(crate) why: &'static str,
    /// What theirs does.
    pub(crate) theirs: &'static str,
    /// Keys that it is about.
    pub(crate) keys: &'static [&'static str],
    /// A reply under the first of the keys: what is chosen, whether the tool is strict, whether ours admits it (and theirs does
    /// not, else the other way round), and its text.
    pub(crate) case: (Choice, bool, bool, &'static str),
    pub(crate) fix: fn(&mut Value, &Key, Setting),
}

pub(crate) const ALL: &[Correction] = &[
    Correction {
        why: "arguments are an object, for tools that are not strict too",
        theirs: "any JSON value",
        keys: &["hermes", "deepseek_r1", "deepseek_v3_1", "longcat", "llama", "kimi", "plamo3", "harmony"],
        case: (Choice::Required, false, false, "<tool_call>\n{\"name\": \"tide\", \"arguments\": []}\n</tool_call>"),
        fix: arguments_are_an_object,
    },
    Correction {
        why: "white space in tags as the template writes it",
        theirs: "any, for XML styles",
        keys: &[
            "glm_4_7",
            "deepseek_v3_2",
            "deepseek_v4",
            "deepseek_v4_1",
            "qwen_3_coder",
            "qwen_3_5",
            "mimo",
            "minimax",
            "minimax_m3",
        ],
        case: (
            Choice::Required,
            true,
            false,
            "<tool_call>tide <arg_key>port</arg_key><arg_value>Looe</arg_value><arg_key>days</arg_key><arg_value>3</arg_value></tool_call>",
        ),
        fix: blanks_of_the_template,
    },
    Correction {
        why: "up to three parameters in any order",
        theirs: "in the order of the schema",
        keys: &[
            "glm_4_7",
            "deepseek_v3_2",
            "deepseek_v4",
            "deepseek_v4_1",
            "qwen_3_coder",
            "qwen_3_5",
            "mimo",
            "minimax",
            "minimax_m3",
        ],
        case: (
            Choice::Required,
            true,
            true,
            "<tool_call>tide<arg_key>days</arg_key><arg_value>3</arg_value><arg_key>port</arg_key><arg_value>Looe</arg_value></tool_call>",
        ),
        fix: any_order,
    },
    Correction {
        why: "a value holds nothing that is structure where it stands",
        theirs: "a value holds anything but its closer",
        keys: &[
            "glm_4_7",
            "deepseek_v3_2",
            "deepseek_v4",
            "deepseek_v4_1",
            "qwen_3_coder",
            "qwen_3_5",
            "mimo",
            "minimax",
            "glm_4_7 (not strict)",
        ],
        case: (
            Choice::Required,
            true,
            false,
            "<tool_call>tide<arg_key>port</arg_key><arg_value></tool_call></arg_value><arg_key>days</arg_key><arg_value>3</arg_value></tool_call>",
        ),
        fix: values_without_structure,
    },
    Correction {
        why: "keys such as `a-b` are possible for tools that are not strict",
        theirs: "names of letters, digits and `_`",
        keys: &["qwen_3_coder", "deepseek_v3_2", "deepseek_v4", "deepseek_v4_1", "qwen_3_5", "mimo", "minimax"],
        case: (
            Choice::Required,
            false,
            true,
            "<tool_call>\n<function=tide>\n<parameter=a-b>\nlow water\n</parameter>\n</function>\n</tool_call>",
        ),
        fix: wider_keys,
    },
    Correction {
        why: "of the line breaks inside a call, one may be missing and the other stand",
        theirs: "both or none",
        keys: &["hermes", "longcat"],
        case: (Choice::Required, false, true, "<tool_call>\n{\"name\": \"tide\", \"arguments\": {}}</tool_call>"),
        fix: loose_lines,
    },
    Correction {
        why: "text with a bracket is no call; text in front of a call has none",
        theirs: r#"whatever has `{"name": ` in it is forced to be a call"#,
        keys: &["llama"],
        case: (Choice::Auto, false, false, r#"{ {"name": "tide", "parameters": {}}"#),
        fix: no_call_from_text,
    },
    Correction {
        why: "the answer's frame is text to the grammar: in front of a call that is demanded it holds nothing, else it may be missing",
        theirs: "there must be an answer, empty or not, and its closer",
        keys: &["kimi_k3"],
        case: (
            Choice::Required,
            false,
            true,
            r#"<|open|>tools<|sep|><|open|>call tool="tide" index="1"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"#,
        ),
        fix: frame_is_text,
    },
    Correction {
        why: "each required parameter once, each other one at most once; of what type an argument says to be it is, for tools that are not strict too",
        theirs: "none is counted; any head and any text",
        keys: &["kimi_k3"],
        case: (
            Choice::Required,
            true,
            false,
            r#"<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="tide" index="1"<|sep|><|open|>argument key="port" type="string"<|sep|>Looe<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"#,
        ),
        fix: counted,
    },
    Correction {
        why: "values are typed, each parameter comes at most once and in any order, and white space may be as the template writes it",
        theirs: "any text as value, none under `auto`; required parameters in order, the others in any number",
        keys: &["hy_v4"],
        case: (
            Choice::Required,
            true,
            false,
            "<tool_calls><tool_call>tide<arg_key>port</arg_key><arg_value>Looe</arg_value><arg_key>days</arg_key><arg_value>soon</arg_value></tool_call></tool_calls>",
        ),
        fix: typed,
    },
    Correction {
        why: "a named choice is one call",
        theirs: "any number of calls of that function",
        keys: &["kimi_k3"],
        case: (
            Choice::Named,
            false,
            false,
            r#"<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="tide" index="1"<|sep|><|close|>call<|sep|><|open|>call tool="tide" index="2"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"#,
        ),
        fix: once,
    },
    Correction {
        why: "the message's end stands at the end of the reply, behind text too",
        theirs: "it is text, and may stand behind any block",
        keys: &["plamo3"],
        case: (Choice::Auto, false, false, "Noted.<|plamo:tag|> Bye"),
        fix: end_of_message,
    },
    Correction {
        why: "functions are called on the commentary channel",
        theirs: "on any channel",
        keys: &["harmony"],
        case: (Choice::Required, false, false, "<|channel|>final to=functions.tide json<|message|>{}"),
        fix: commentary_calls,
    },
    Correction {
        why: "a call ends with `<|call|>` and an answer with `<|return|>`, or with the output; an answer has one header",
        theirs: "`<|end|>` or the output ends them; an answer has three headers",
        keys: &["harmony"],
        case: (Choice::Required, false, true, "<|channel|>commentary to=functions.tide json<|message|>{}<|call|>"),
        fix: ends_of_messages,
    },
    Correction {
        why: "text of a message holds no marker of messages",
        theirs: "any text",
        keys: &["harmony"],
        case: (
            Choice::Required,
            false,
            false,
            "<|channel|>analysis<|message|>a<|channel|>b<|end|><|start|>assistant<|channel|>commentary to=functions.tide json<|message|>{}",
        ),
        fix: text_of_messages,
    },
    Correction {
        why: "any number of thoughts, then any number of calls; text in front of calls only where none is demanded",
        theirs: "one thought, one text in front, one call",
        keys: &["harmony"],
        case: (
            Choice::Required,
            false,
            true,
            "<|channel|>commentary to=functions.tide json<|message|>{}<|call|><|start|>assistant<|channel|>commentary to=functions.tide json<|message|>{}",
        ),
        fix: many_messages,
    },
    Correction {
        why: "text has no marker of calls but the one that begins them; without a reasoning parser, think tags are text",
        theirs: "text has what is not excluded: any marker, or all but those of thinking",
        keys: &[
            "hermes",
            "deepseek_r1",
            "deepseek_v3_1",
            "deepseek_v3_2",
            "deepseek_v4",
            "deepseek_v4_1",
            "longcat",
            "qwen_3_coder",
            "qwen_3_5",
            "mimo",
            "minimax",
            "kimi",
            "plamo3",
            "glm_4_7",
            "glm_4_7 (not strict)",
            "minimax_m3",
        ],
        case: (Choice::Auto, false, false, "a</tool_call>b"),
        fix: text_without_markers,
    },
    Correction {
        why: "under `required` nothing stands behind the calls, and what the template writes stands between two",
        theirs: "any text may follow",
        keys: &["qwen_3_coder", "llama", "qwen_3_5", "mimo", "glm_4_7", "minimax_m3"],
        case: (Choice::Required, false, false, "<tool_call>\n<function=tide>\n\n</function>\n</tool_call> done"),
        fix: calls_alone,
    },
    Correction {
        why: "a line break may stand between two calls, as the template writes it",
        theirs: "calls follow each other at once",
        keys: &["hermes", "mimo"],
        case: (
            Choice::Required,
            false,
            true,
            "<tool_call>{\"name\": \"tide\", \"arguments\": {}}</tool_call>\n<tool_call>{\"name\": \"tide\", \"arguments\": {}}</tool_call>",
        ),
        fix: lines_between,
    },
    Correction {
        why: "white space may stand in front of calls, as any other may be missing",
        theirs: "none, or what the template has",
        keys: &[
            "hermes",
            "deepseek_r1",
            "deepseek_v3_1",
            "deepseek_v3_2",
            "deepseek_v4",
            "deepseek_v4_1",
            "glm_4_7",
            "longcat",
            "llama",
            "qwen_3_coder",
            "qwen_3_5",
            "mimo",
            "minimax",
            "minimax_m3",
            "kimi",
            "plamo3",
            "hy_v4",
            "glm_4_7 (not strict)",
        ],
        case: (Choice::Required, false, true, "\n<tool_call>{\"name\": \"tide\", \"arguments\": {}}</tool_call>"),
        fix: blanks_before_calls,
    },
    Correction {
        why: "an index is the call's position",
        theirs: "any number",
        keys: &["kimi", "kimi_k3"],
        case: (
            Choice::Required,
            false,
            false,
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.tide:5<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        ),
        fix: positions,
    },
];

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

fn arguments_are_an_object(tag: &mut Value, _: &Key, _: Setting) {
    each(tag, &mut |node| {
        if is(node, "json_schema") && node["json_schema"] == true {
            node["json_schema"] = json!({"type": "object"});
        }
    });
}

fn blanks_of_the_template(tag: &mut Value, key: &Key, _: Setting) {
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

fn any_order(tag: &mut Value, _: &Key, _: Setting) {
    each(tag, &mut |node| {
        if has_params(node) {
            node["any_order"] = true.into();
        }
    });
}

fn values_without_structure(tag: &mut Value, key: &Key, _: Setting) {
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

fn wider_keys(tag: &mut Value, _: &Key, _: Setting) {
    each(tag, &mut |node| {
        if has_params(node) && node["json_schema"] == true {
            node["keys"] = r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}".into();
        }
    });
}

fn loose_lines(tag: &mut Value, _: &Key, _: Setting) {
    each(tag, &mut |node| {
        if !node["tags"].is_array() {
            return;
        }
        let tags = node["tags"].as_array_mut().unwrap();
        tags.retain(|one| one["begin"].as_str().unwrap().contains('\n'));
        for one in tags {
            let (begin, end) = (one["begin"].as_str().unwrap().to_owned(), one["end"].as_str().unwrap().to_owned());
            let ((marker, head), (tail, close)) = (begin.split_once('\n').unwrap(), end.split_once('\n').unwrap());
            let line = || optional(literal("\n"));
            let parts = vec![line(), literal(head), one["content"].clone(), literal(tail), line()];
            *one = super::shapes::tag(marker, sequence(parts), close);
        }
    });
}

fn lines_between(tag: &mut Value, _: &Key, setting: Setting) {
    if setting.choice == Choice::Required && setting.parallel {
        let calls = tag["format"].clone();
        tag["format"] = sequence(vec![calls.clone(), star(sequence(vec![optional(literal("\n")), calls]))]);
    }
}

fn no_call_from_text(tag: &mut Value, _: &Key, setting: Setting) {
    if setting.choice != Choice::Auto {
        return;
    }
    let node = &mut tag["format"];
    node["triggers"] = json!(["{"]);
    node["excludes"] = json!(["<|python_tag|>", "["]);
    let text = super::shapes::text(&["<|python_tag|>", "\"name\"", "\\u006", "\\u004"]);
    let all = vec![tag["format"].clone(), text.clone()];
    tag["format"] = if setting.parallel { sequence(all) } else { either(all) };
}

fn frame_is_text(tag: &mut Value, _: &Key, setting: Setting) {
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

fn counted(tag: &mut Value, _: &Key, setting: Setting) {
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

fn typed(tag: &mut Value, _: &Key, setting: Setting) {
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
    super::theirs::tools(setting).into_iter().find(|tool| is_call && begin.contains(&tool.name))
}

fn once(tag: &mut Value, _: &Key, setting: Setting) {
    each(tag, &mut |node| {
        if setting.choice == Choice::Named && is(node, "tags_with_separator") {
            node["stop_after_first"] = true.into();
        }
    });
}

fn end_of_message(tag: &mut Value, _: &Key, setting: Setting) {
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

fn commentary_calls(tag: &mut Value, _: &Key, _: Setting) {
    last_messages(tag).retain(|one| !is_call(one) || one["begin"].as_str().unwrap().contains("commentary"));
}

fn ends_of_messages(tag: &mut Value, _: &Key, _: Setting) {
    last_messages(tag).retain(|one| is_call(one) || one["begin"] == "<|channel|>final<|message|>");
    for one in last_messages(tag) {
        one["end"] = json!([if is_call(one) { "<|call|>" } else { "<|return|>" }, ""]);
    }
}

fn text_of_messages(tag: &mut Value, _: &Key, _: Setting) {
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

fn many_messages(tag: &mut Value, _: &Key, setting: Setting) {
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

fn text_without_markers(tag: &mut Value, key: &Key, _: Setting) {
    each(tag, &mut |node| {
        if is(node, "triggered_tags") {
            node["excludes"] = json!(key.text);
        }
    });
}

fn calls_alone(tag: &mut Value, key: &Key, _: Setting) {
    each(tag, &mut |node| {
        if is(node, "triggered_tags") && node["at_least_one"] == true {
            let tags = node["tags"].as_array().unwrap().clone();
            // A block holds all calls.
            let block = tags[0]["content"]["type"] == "tags_with_separator";
            *node = list(tags, key.between, block || node["stop_after_first"] == true);
        }
    });
}

fn blanks_before_calls(tag: &mut Value, _: &Key, setting: Setting) {
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

fn positions(tag: &mut Value, key: &Key, _: Setting) {
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
