//! Where our grammars differ from the tags that vLLM builds on purpose. Each difference is a correction of their tag, behind
//! which both must say the same; a correction without which they would say the same as well has no place here.

mod fixes;

use serde_json::Value;

use super::shapes::Choice;
use super::theirs::{Key, Setting};

pub(crate) use fixes::each;
use fixes::{
    any_order, arguments_are_an_object, blanks_before_calls, blanks_of_the_template, calls_alone, commentary_calls,
    counted, end_of_message, ends_of_messages, frame_is_text, lines_between, loose_lines, many_messages,
    no_call_from_text, once, positions, text_of_messages, text_without_markers, typed, values_without_structure,
    wider_keys,
};

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

/// Keys whose parameters stand in tags.
const TAGGED: [&str; 9] = [
    "glm_4_7",
    "deepseek_v3_2",
    "deepseek_v4",
    "deepseek_v4_1",
    "qwen_3_coder",
    "qwen_3_5",
    "mimo",
    "minimax",
    "minimax_m3",
];

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
        keys: &TAGGED,
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
        keys: &TAGGED,
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
