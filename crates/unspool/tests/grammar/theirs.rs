//! The structural tags that vLLM builds, beside ours: one language, but for the corrections that are listed.

use serde_json::{Value, json};
use unspool::grammar::{Options, StrictLevel};
use unspool::sample::Sampler;
use xgrammar_structural_tag::builders::{ReasoningMode, StructuralTagOptions};
use xgrammar_structural_tag::{FunctionDefinition, FunctionToolParam, ToolChoice, ToolParam, build_structural_tag};

use super::corrections::{ALL, Correction, each};
use super::dump::Dump;
use super::keys::{KEYS, Source};
use super::machine::{Machine, Random};
use super::pairs::Names;
use super::shapes::{Choice, Tool};
use super::tags::{Samples, admits};

pub(crate) use super::keys::Key;
use super::{literals, request};

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
