//! The structural tags that vLLM builds, beside ours: one language, but for the corrections that are listed.

use serde_json::{Value, json};
use unspool::grammar::{Options, StrictLevel};
use unspool::sample::Sampler;
use xgrammar_structural_tag::builders::{ReasoningMode, StructuralTagOptions};
use xgrammar_structural_tag::{
    FunctionDefinition, FunctionToolParam, Model, ToolChoice, ToolParam, build_structural_tag,
};

use super::corrections::{ALL, Correction, each};
use super::dump::Dump;
use super::machine::{Machine, Random};
use super::pairs::Names;
use super::shapes::{self, Choice, Tool};
use super::tags::{Samples, admits};
use super::{literals, request};

/// Who builds a tag.
#[derive(Clone, Copy)]
enum Source {
    /// The crate with the builders that vLLM's frontend uses.
    Crate(Model),
    /// A shape of vLLM's own.
    Shape(fn(&[Tool], Choice, bool) -> Value),
}

/// A key of vLLM's registry of tags.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// The parsers that have it: of reasoning and of calls.
    parsers: (Option<&'static str>, &'static str),
    source: Source,
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
    fn has(&self, setting: Setting) -> bool {
        match self.name {
            "hy_v4" => setting.choice != Choice::Auto,
            "glm_4_7" | "minimax_m3" => setting.strict,
            "glm_4_7 (not strict)" => !setting.strict,
            _ => true,
        }
    }

    fn corrections(&self) -> impl Iterator<Item = &'static Correction> {
        ALL.iter().filter(|c| c.keys.contains(&self.name))
    }
}

const QWEN: &[&str] = &["<tool_call>", "</tool_call>", "<function=", "</function>"];
const QWEN_VALUE: &[&str] = &["<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter="];

const KEYS: &[Key] = &[
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

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) choice: Choice,
    pub(crate) strict: bool,
    pub(crate) tools: usize,
    pub(crate) parallel: bool,
}

fn settings() -> Vec<Setting> {
    let mut all = Vec::new();
    for choice in [Choice::Auto, Choice::Required, Choice::Named] {
        for strict in [true, false] {
            for tools in [1, 2] {
                for parallel in [true, false] {
                    all.push(Setting { choice, strict, tools, parallel });
                }
            }
        }
    }
    all
}

pub(crate) fn tools(setting: Setting) -> Vec<Tool> {
    let properties = json!({"port": {"type": "string"}, "days": {"type": "integer"}, "marks": {"type": "array", "items": {"type": "integer"}}});
    let first = json!({"type": "object", "properties": properties, "required": ["port", "days"], "additionalProperties": false});
    let second = json!({"type": "object", "properties": {"wet": {"type": "boolean"}}, "required": [], "additionalProperties": false});
    let all = [("tide", first), ("wind", second)].into_iter().take(setting.tools);
    all.map(|(name, parameters)| Tool { name: name.to_owned(), parameters, strict: setting.strict }).collect()
}

/// The tools for a key: of the style with nested elements only what is no container.
fn tools_of(key: &Key, setting: Setting) -> Vec<Tool> {
    let mut all = tools(setting);
    if key.name == "minimax_m3" {
        for tool in &mut all {
            tool.parameters["properties"].as_object_mut().unwrap().retain(|_, schema| schema["type"] != "array");
        }
    }
    all
}

fn fields(key: &Key, setting: Setting) -> Value {
    let function = |tool: Tool| json!({"type": "function", "function": {"name": tool.name, "parameters": tool.parameters, "strict": tool.strict}});
    let tools: Vec<Value> = tools_of(key, setting).into_iter().map(function).collect();
    let choice = match setting.choice {
        Choice::Auto => json!("auto"),
        Choice::Required => json!("required"),
        Choice::Named => json!({"type": "function", "function": {"name": "tide"}}),
    };
    let mut fields = json!({"tools": tools, "tool_choice": choice});
    if !setting.parallel {
        fields["parallel_tool_calls"] = false.into();
    }
    fields
}

/// What texts of a tag must not have.
fn excluded(tag: &Value, out: &mut Vec<String>) {
    let mut tag = tag.clone();
    each(&mut tag, &mut |node| {
        out.extend(node["excludes"].as_array().into_iter().flatten().filter_map(|l| l.as_str().map(str::to_owned)));
    });
}

/// Their tag.
fn theirs(key: &Key, setting: Setting) -> Value {
    let tools = tools_of(key, setting);
    let model = match key.source {
        Source::Shape(shape) => {
            let count = if setting.choice == Choice::Named { 1 } else { tools.len() };
            return json!({"format": shape(&tools[..count], setting.choice, !setting.parallel)});
        }
        Source::Crate(model) => model,
    };
    let tools: Vec<ToolParam> = tools
        .into_iter()
        .map(|tool| {
            let function =
                FunctionDefinition::new(&tool.name).with_parameters(tool.parameters).with_strict(tool.strict);
            ToolParam::Function(FunctionToolParam::new(function))
        })
        .collect();
    let options = StructuralTagOptions::default()
        .with_reasoning(ReasoningMode::Disabled)
        .with_parallel_tool_calls(setting.parallel);
    let choice = match setting.choice {
        Choice::Auto => ToolChoice::auto(),
        Choice::Required => ToolChoice::required(),
        Choice::Named => ToolChoice::function("tide"),
    };
    let tag = build_structural_tag(model, &tools, choice, options).unwrap();
    let mut tag: Value = serde_json::from_str(&tag.to_json_string().unwrap()).unwrap();
    if key.name == "minimax" {
        // The crate puts an empty thought in front; vLLM does not.
        tag["format"] = tag["format"]["elements"][2].clone();
    }
    tag
}

/// Both grammars of a request.
struct Both {
    key: &'static Key,
    setting: Setting,
    machine: Machine,
    ours: llguidance::Matcher,
    theirs: Value,
    pieces: Vec<String>,
}

/// So many samples ask for a look at each correction by itself, which takes long.
const THOROUGH: usize = 200;

/// Texts in each direction.
const TEXTS: u64 = 6;

impl Both {
    fn new(key: &'static Key, setting: Setting) -> Result<Self, String> {
        let names = Names::new(key.parsers.0, Some(key.parsers.1));
        let options = Options { level: StrictLevel::Function, ..Options::default() };
        let ours = names
            .pair()
            .grammar(&request(&fields(key, setting)), &options)
            .map_err(|e| e.to_string())?
            .ok_or("no grammar")?;
        let theirs = theirs(key, setting);
        let (mut markers, mut triggers) = (Vec::new(), Vec::new());
        literals(&ours.structural_tag(), &mut markers, &mut triggers);
        literals(&theirs, &mut markers, &mut triggers);
        excluded(&theirs, &mut markers);
        let machine = Machine::new(&markers, &triggers);
        let matcher = machine.matcher(&ours.lark()).map_err(|e| format!("{} {setting:?}: {e}", key.name))?;
        let pieces = [key.text, key.values].concat().iter().map(|t| (*t).to_owned()).chain(triggers).collect();
        Ok(Self { key, setting, machine, ours: matcher, theirs, pieces })
    }

    /// A text that one of the two admits and the other does not.
    fn difference(&mut self, tag: &Value, texts: u64) -> Option<String> {
        let about = format!("{} {:?}", self.key.name, self.setting);
        let random = Random::new(&about, 1);
        let mut samples = Samples { tag, pieces: &self.pieces, random, sampler: Sampler::new(7) };
        for _ in 0..texts {
            let text = samples.next();
            if let Err(why) = self.machine.accepts(&mut self.ours, &text) {
                return Some(format!("{about}, a text of theirs: {why}\n  text: {text:?}\n  tag: {tag}"));
            }
        }
        for number in 0..texts {
            let mut random = Random::new(&about, number);
            match self.machine.sample(&mut self.ours, &mut random) {
                Ok(text) if admits(tag, &text) => {}
                Ok(text) => return Some(format!("{about}, a text of ours: {text:?}\n  tag: {tag}")),
                Err(why) => return Some(format!("{about}, ours: {why}")),
            }
        }
        None
    }

    /// Texts of both for another judge of their tag, that is for xgrammar: it says what the tag admits, too.
    fn dump(&mut self) {
        let about = format!("theirs: {} {:?}", self.key.name, self.setting);
        let mut dump = Dump::new(false, &about, json!({"type": "structural_tag", "format": self.theirs["format"]}));
        let random = Random::new(&about, 2);
        let mut samples = Samples { tag: &self.theirs, pieces: &self.pieces, random, sampler: Sampler::new(8) };
        for number in 0..TEXTS {
            dump.accepted.push(samples.next());
            let mut random = Random::new(&about, number);
            if let Ok(text) = self.machine.sample(&mut self.ours, &mut random) {
                if admits(&self.theirs, &text) { dump.accepted.push(text) } else { dump.rejected.push(text) }
            }
        }
    }

    /// Their tag with all corrections but those of this reason.
    fn corrected(&self, but: Option<&str>) -> Value {
        let mut tag = self.theirs.clone();
        for correction in self.key.corrections().filter(|c| but != Some(c.why)) {
            (correction.fix)(&mut tag, self.key, self.setting);
        }
        tag
    }
}

fn agree(key: &'static Key) -> Vec<String> {
    let mut faults = Vec::new();
    let thorough = super::sample_count() >= THOROUGH;
    let mut idle: Vec<&str> = key.corrections().map(|c| c.why).filter(|_| thorough).collect();
    for setting in settings().into_iter().filter(|s| key.has(*s)) {
        let mut both = match Both::new(key, setting) {
            Ok(both) => both,
            Err(why) => {
                faults.push(why);
                continue;
            }
        };
        if Dump::is_wanted() {
            both.dump();
        }
        let whole = both.corrected(None);
        faults.extend(both.difference(&whole, TEXTS));
        // Each correction must be one for each of its keys: without it there is a text on which the two differ.
        idle.retain(|why| {
            let tag = both.corrected(Some(why));
            tag == whole || both.difference(&tag, 8 * TEXTS).is_none()
        });
    }
    faults.extend(idle.iter().map(|why| format!("{}: this makes no difference: {why}", key.name)));
    faults
}

fn part(part: usize) {
    let only = std::env::var("GRAMMAR_NAME").ok();
    let keys = KEYS.iter().filter(|k| only.as_ref().is_none_or(|o| k.name == o)).skip(part).step_by(2);
    super::report(&keys.flat_map(agree).collect::<Vec<_>>());
}

#[test]
fn ours_agrees_with_the_tags_that_vllm_builds_1() {
    part(0);
}

#[test]
fn ours_agrees_with_the_tags_that_vllm_builds_2() {
    part(1);
}

/// The table of differences, as COMPATIBILITY.md has it.
fn differences() -> String {
    let mut out = String::from(
        "| ours | vLLM | keys of its tags | a reply that only one of the two admits |\n|---|---|---|---|\n",
    );
    for Correction { why, theirs, keys, case: (choice, _, ours, text), .. } in ALL {
        let keys: Vec<String> = keys.iter().map(|k| format!("`{k}`")).collect();
        let [why, theirs, text] = [why, theirs, text].map(|text| text.replace('\n', "⏎").replace('|', "\\|"));
        let who = if *ours { "ours" } else { "vLLM's" };
        let choice = format!("{choice:?}").to_lowercase();
        out.push_str(&format!("| {why} | {theirs} | {} | {who}, {choice}: ``{text}`` |\n", keys.join(", ")));
    }
    out
}

#[test]
fn the_differences_are_told_with_a_case_each() {
    for Correction { why, keys, case: (choice, strict, is_ours, text), .. } in ALL {
        let key = KEYS.iter().find(|k| k.name == keys[0]).unwrap();
        let setting = Setting { choice: *choice, strict: *strict, tools: 1, parallel: true };
        let mut both = Both::new(key, setting).unwrap();
        let seen = (both.machine.accepts(&mut both.ours, text), admits(&both.theirs, text));
        assert_eq!((seen.0.is_ok(), seen.1), (*is_ours, !is_ours), "{why}: {seen:?}\n{text:?}\n{}", both.theirs);
    }
    super::table::check("COMPATIBILITY.md", &differences());
}
