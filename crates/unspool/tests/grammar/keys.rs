//! The keys of vLLM's registry of structural tags.

use serde_json::{Value, json};
use xgrammar_structural_tag::Model;

use super::corrections::{ALL, Correction};
use super::shapes::{self, Choice, Tool};
use super::theirs::Setting;

/// Who builds a tag.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// The crate with the builders that vLLM's frontend uses.
    Crate(Model),
    /// A shape of vLLM's own.
    Shape(fn(&[Tool], Choice, bool) -> Value),
}

/// A key of vLLM's registry of tags.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// The parsers that have it: of reasoning and of calls.
    pub(crate) parsers: (Option<&'static str>, &'static str),
    pub(crate) source: Source,
    /// What free text must not have under ours.
    pub(crate) text: &'static [&'static str],
    /// What a value must not have under ours, beside its closer.
    pub(crate) values: &'static [&'static str],
    /// What stands between two calls.
    pub(crate) between: &'static str,
}

impl Key {
    /// The white space of the template of parameters.
    pub(crate) fn exact(&self) -> Option<Value> {
        let written = |lead: Value, open: &str, close: Value, behind: Value| {
            Some(json!({"lead": lead, "open": open, "close": close, "behind": behind}))
        };
        match self.name {
            "glm_4_7" | "minimax_m3" => written("".into(), "", "".into(), "".into()),
            "mimo" => written(json!(["", "\n"]), "", "".into(), json!(["", "\n"])),
            name if name.starts_with("qwen") => written("".into(), "\n", json!(["", "\n"]), "\n".into()),
            _ => written("".into(), "", "".into(), "\n".into()),
        }
    }

    /// Requests for which they build no such tag.
    pub(crate) fn has(&self, setting: Setting) -> bool {
        match self.name {
            "hy_v4" => setting.choice != Choice::Auto,
            "glm_4_7" | "minimax_m3" => setting.strict,
            "glm_4_7 (not strict)" => !setting.strict,
            _ => true,
        }
    }

    pub(crate) fn corrections(&self) -> impl Iterator<Item = &'static Correction> {
        ALL.iter().filter(|c| c.keys.contains(&self.name))
    }
}

const QWEN: &[&str] = &["<tool_call>", "</tool_call>", "<function=", "</function>"];
const QWEN_VALUE: &[&str] = &["<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter="];

pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "deepseek_r1",
        parsers: (None, "deepseek_v3"),
        source: Source::Crate(Model::DeepSeekR1),
        text: &["<｜tool▁call▁begin｜>", "<｜tool▁calls▁end｜>", "```<｜tool▁call▁end｜>"],
        values: &[],
        between: "\n",
    },
    Key {
        name: "deepseek_v3_1",
        parsers: (None, "deepseek_v31"),
        source: Source::Crate(Model::DeepSeekV31),
        text: &["<｜tool▁call▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁end｜>"],
        values: &[],
        between: "",
    },
    Key {
        name: "deepseek_v3_2",
        parsers: (None, "deepseek_v32"),
        source: Source::Crate(Model::DeepSeekV32),
        text: &["<｜DSML｜invoke", "</｜DSML｜function_calls>", "</｜DSML｜invoke>"],
        values: &[
            "<｜DSML｜parameter",
            "<｜DSML｜function_calls>",
            "<｜DSML｜invoke",
            "</｜DSML｜function_calls>",
            "</｜DSML｜invoke>",
        ],
        between: "",
    },
    Key {
        name: "deepseek_v4",
        parsers: (None, "deepseek_v4"),
        source: Source::Crate(Model::DeepSeekV4),
        text: &["<｜DSML｜invoke", "</｜DSML｜tool_calls>", "</｜DSML｜invoke>"],
        values: &[
            "<｜DSML｜parameter",
            "<｜DSML｜tool_calls>",
            "<｜DSML｜invoke",
            "</｜DSML｜tool_calls>",
            "</｜DSML｜invoke>",
        ],
        between: "",
    },
    Key {
        name: "deepseek_v4_1",
        parsers: (None, "deepseek_v41"),
        source: Source::Crate(Model::DeepSeekV41),
        text: &["<｜DSML｜ invoke", "</｜DSML｜ calls>", "</｜DSML｜ invoke>"],
        values: &[
            "<｜DSML｜ parameter",
            "<｜DSML｜ calls>",
            "<｜DSML｜ invoke",
            "</｜DSML｜ calls>",
            "</｜DSML｜ invoke>",
        ],
        between: "",
    },
    Key {
        name: "glm_4_7",
        parsers: (None, "glm47"),
        source: Source::Crate(Model::Glm47),
        text: &["</tool_call>", "<|user|>", "<|observation|>", "<|assistant|>", "<|system|>"],
        values: &["<arg_key>", "<tool_call>", "</tool_call>"],
        between: "",
    },
    Key {
        name: "hermes",
        parsers: (None, "hermes"),
        source: Source::Crate(Model::Hermes),
        text: &["</tool_call>"],
        values: &[],
        between: "\n",
    },
    Key {
        name: "longcat",
        parsers: (None, "longcat"),
        source: Source::Shape(shapes::longcat),
        text: &["</longcat_tool_call>"],
        values: &[],
        between: "",
    },
    Key {
        name: "llama",
        parsers: (None, "llama3_json"),
        source: Source::Crate(Model::Llama),
        text: &["<|python_tag|>"],
        values: &[],
        between: "; ",
    },
    Key {
        name: "qwen_3_coder",
        parsers: (None, "qwen3_coder"),
        source: Source::Crate(Model::Qwen3Coder),
        text: QWEN,
        values: QWEN_VALUE,
        between: "\n",
    },
    Key {
        name: "qwen_3_5",
        parsers: (None, "qwen3_xml"),
        source: Source::Crate(Model::Qwen35),
        text: QWEN,
        values: QWEN_VALUE,
        between: "\n",
    },
    Key {
        name: "mimo",
        parsers: (None, "mimo"),
        source: Source::Crate(Model::Mimo),
        text: QWEN,
        values: QWEN_VALUE,
        between: "",
    },
    Key {
        name: "kimi",
        parsers: (None, "kimi_k2"),
        source: Source::Crate(Model::Kimi),
        text: &[
            "<|tool_call_section_begin|>",
            "<|tool_call_begin|>",
            "<|tool_calls_section_end|>",
            "<|tool_call_section_end|>",
            "<|tool_call_end|>",
        ],
        values: &[],
        between: "",
    },
    Key {
        name: "minimax",
        parsers: (None, "minimax_m2"),
        source: Source::Crate(Model::Minimax),
        text: &["<invoke", "</minimax:tool_call>", "</invoke>"],
        values: &["<parameter", "<minimax:tool_call>", "<invoke", "</minimax:tool_call>", "</invoke>"],
        between: "",
    },
    Key {
        name: "plamo3",
        parsers: (None, "plamo3"),
        source: Source::Shape(shapes::plamo3),
        text: &[
            "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>",
            "<|plamo:end_tool_requests:plamo|>",
            "<|plamo:end_tool_arguments:plamo|>",
            "<|plamo:tag|>",
        ],
        values: &[],
        between: "",
    },
    Key {
        name: "glm_4_7 (not strict)",
        parsers: (None, "glm47"),
        source: Source::Shape(shapes::glm),
        text: &["</tool_call>", "<|user|>", "<|observation|>", "<|assistant|>", "<|system|>"],
        values: &["<arg_key>", "<tool_call>", "</tool_call>"],
        between: "",
    },
    Key {
        name: "minimax_m3",
        parsers: (None, "minimax_m3"),
        source: Source::Crate(Model::MinimaxM3),
        text: &["]<]minimax[>[<invoke", "]<]minimax[>[</tool_call>", "]<]minimax[>[</invoke>"],
        values: &[],
        between: "",
    },
    Key {
        name: "kimi_k3",
        parsers: (Some("kimi_k3"), "kimi_k3"),
        source: Source::Shape(shapes::kimi_k3),
        text: &[],
        values: &[],
        between: "",
    },
    Key {
        name: "hy_v4",
        parsers: (None, "hy_v4"),
        source: Source::Shape(shapes::hy_v4),
        text: &[],
        values: &[],
        between: "",
    },
    Key {
        name: "harmony",
        parsers: (None, "openai"),
        source: Source::Shape(shapes::harmony),
        text: &["<|start|>", "<|channel|>", "<|message|>", "<|call|>"],
        values: &[],
        between: "",
    },
];
