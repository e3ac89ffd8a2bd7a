//! The structural tags that vLLM's own builder makes, beside ours: one language where theirs is right.

use std::fmt::Write as _;

use serde_json::{Value, json};
use unspool::grammar::{Options, StrictLevel};
use unspool::sample::{Parts, Sampler};
use xgrammar_structural_tag::builders::{ReasoningMode, StructuralTagOptions};
use xgrammar_structural_tag::{
    FunctionDefinition, FunctionToolParam, Model, ToolChoice, ToolParam, build_structural_tag,
};

use super::machine::{Machine, Random};
use super::pairs::Names;
use super::{literals, request};

/// Tool-call parsers with their builder, and how many calls theirs allows.
const KEYS: &[(&str, Model, usize)] = &[
    ("llama3_json", Model::Llama, 2),
    ("kimi_k2", Model::Kimi, 2),
    ("deepseek_v3", Model::DeepSeekR1, 2),
    ("deepseek_v31", Model::DeepSeekV31, 2),
    ("deepseek_v32", Model::DeepSeekV32, 2),
    ("deepseek_v4", Model::DeepSeekV4, 2),
    ("deepseek_v41", Model::DeepSeekV41, 2),
    ("qwen3_coder", Model::Qwen3Coder, 2),
    ("qwen3_xml", Model::Qwen35, 2),
    ("mimo", Model::Mimo, 2),
    ("hermes", Model::Hermes, 2),
    ("minimax_m2", Model::Minimax, 2),
    ("glm47", Model::Glm47, 2),
];

/// Those whose samples ours accepts too. Of the others theirs admits more: text behind the calls or any index (which ours
/// does not, on purpose), any white space in tags.
const SAME: &[&str] = &["deepseek_v3", "deepseek_v31", "hermes"];

fn tools() -> Value {
    let parameters = json!({
        "type": "object",
        "properties": {"port": {"type": "string"}, "days": {"type": "integer"}, "marks": {"type": "array", "items": {"type": "integer"}}},
        "required": ["port", "days", "marks"],
        "additionalProperties": false,
    });
    let function =
        |name: &str| json!({"type": "function", "function": {"name": name, "parameters": parameters, "strict": true}});
    json!([function("tide"), function("wind")])
}

fn theirs(model: Model) -> Value {
    let tools: Vec<ToolParam> = tools()
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let function = FunctionDefinition::new(tool["function"]["name"].as_str().unwrap());
            let function = function.with_parameters(tool["function"]["parameters"].clone()).with_strict(true);
            ToolParam::Function(FunctionToolParam::new(function))
        })
        .collect();
    let options = StructuralTagOptions::default().with_reasoning(ReasoningMode::Disabled);
    let tag = build_structural_tag(model, &tools, ToolChoice::required(), options).unwrap();
    serde_json::from_str(&tag.to_json_string().unwrap()).unwrap()
}

/// A structural tag as a grammar for llguidance; the nodes that their builder uses.
#[derive(Default)]
struct Translator {
    rules: String,
    count: usize,
}

impl Translator {
    fn grammar(tag: &Value) -> String {
        let mut own = Self::default();
        let root = own.node(&tag["format"]);
        format!("%llguidance {{}}\nstart: {root}\nBLANK: /[ \\n\\t]+/\n{}", own.rules)
    }

    fn rule(&mut self, kind: &str, body: &str) -> String {
        self.count += 1;
        let name = format!("{kind}_{}", self.count);
        let _ = writeln!(self.rules, "{name}: {body}");
        name
    }

    fn all(&mut self, nodes: &Value) -> Vec<String> {
        nodes.as_array().unwrap().iter().map(|n| self.node(n)).collect()
    }

    fn node(&mut self, node: &Value) -> String {
        let list = |key: &str| node[key].as_array().into_iter().flatten().map(|v| v.as_str().unwrap().to_owned());
        match node["type"].as_str().unwrap() {
            "const_string" => node["value"].to_string(),
            "regex" => self.rule("PATTERN", &format!("/{}/", node["pattern"].as_str().unwrap())),
            "any_text" => self.text(&list("excludes").collect::<Vec<_>>(), ""),
            "json_schema" => self.json(node),
            "sequence" => self.all(&node["elements"]).join(" "),
            "or" => {
                let body = self.all(&node["elements"]).join(" | ");
                self.rule("or", &body)
            }
            "optional" | "star" | "plus" => {
                let inner = self.node(&node["content"]);
                let inner = self.rule("part", &inner);
                let times = match node["type"].as_str().unwrap() {
                    "optional" => "?",
                    "star" => "*",
                    _ => "+",
                };
                format!("{inner}{times}")
            }
            "tag" => self.tag(node),
            "tags_with_separator" => {
                let tags = self.all(&node["tags"]).join(" | ");
                let tag = self.rule("tag", &tags);
                format!("{tag} ({} {tag})*", node["separator"])
            }
            "triggered_tags" => self.triggered(node, &list("excludes").collect::<Vec<_>>()),
            other => panic!("a node of type {other}"),
        }
    }

    fn tag(&mut self, node: &Value) -> String {
        let content = self.node(&node["content"]);
        let end = match &node["end"] {
            Value::Array(ends) => ends.iter().map(Value::to_string).collect::<Vec<_>>().join(" | "),
            end => end.to_string(),
        };
        let end = if end == "\"\"" { String::new() } else { self.rule("end", &end) };
        format!("{} {content} {end}", node["begin"])
    }

    /// At least one tag at the start, and text between further ones.
    fn triggered(&mut self, node: &Value, excludes: &[String]) -> String {
        let tags = self.all(&node["tags"]).join(" | ");
        let tag = self.rule("tag", &tags);
        let triggers: Vec<String> =
            node["triggers"].as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect();
        let mut without = excludes.to_vec();
        without.extend(triggers.iter().cloned());
        let text = self.text(&without, "");
        // Text in front of a trigger is one terminal with it, so the tag's begin is left to it.
        let until = self.text(&without, &triggers[0]);
        let behind: Vec<String> = node["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tag| {
                let mut tag = tag.clone();
                let begin = tag["begin"].as_str().unwrap().strip_prefix(triggers[0].as_str()).unwrap().to_owned();
                tag["begin"] = begin.into();
                self.node(&tag)
            })
            .collect();
        let behind = self.rule("behind", &behind.join(" | "));
        let more = self.rule("more", &format!("{until} {behind}"));
        format!("{tag} {more}* {text}")
    }

    fn text(&mut self, without: &[String], end: &str) -> String {
        let escaped = |t: &String| {
            t.chars()
                .map(|c| if c.is_alphanumeric() { c.to_string() } else { format!("\\x{{{:x}}}", u32::from(c)) })
                .collect::<String>()
        };
        let any = if without.is_empty() {
            "/(?s:.*)/".to_owned()
        } else {
            let all: Vec<String> = without.iter().map(escaped).collect();
            format!("/(?s:.*)/ & ~/(?s:.*)(?:{})(?s:.*)/", all.join("|"))
        };
        let end = if end.is_empty() { String::new() } else { Value::from(end).to_string() };
        self.rule("TEXT", &format!("({any}) {end}"))
    }

    fn json(&mut self, node: &Value) -> String {
        let schema = &node["json_schema"];
        let style = node["style"].as_str().unwrap_or("json");
        let (open, close) = match style {
            "json" => return self.rule("json", &format!("%json {schema}")),
            "qwen_xml" => ("<parameter={key}>", "</parameter>"),
            "minimax_xml" => ("<parameter name=\"{key}\">", "</parameter>"),
            "deepseek_xml" => ("<｜DSML｜parameter name=\"{key}\" string=\"{string}\">", "</｜DSML｜parameter>"),
            "deepseek_v4_1_xml" => ("<｜DSML｜ parameter name=\"{key}\" string=\"{string}\">", "</｜DSML｜ parameter>"),
            "glm_xml" => ("<arg_key>{key}</arg_key><arg_value>", "</arg_value>"),
            other => panic!("style {other}"),
        };
        let mut all = vec!["BLANK?".to_owned()];
        for (key, schema) in schema["properties"].as_object().unwrap() {
            let is_text = schema["type"] == "string";
            let open = open.replace("{key}", key).replace("{string}", if is_text { "true" } else { "false" });
            all.push(Value::from(open).to_string());
            if is_text {
                all.push(self.text(&[close.to_owned()], close));
            } else {
                let json = self.rule("json", &format!("%json {schema}"));
                all.push(format!("BLANK? {json} BLANK? {}", Value::from(close)));
            }
            all.push("BLANK?".to_owned());
        }
        all.join(" ")
    }
}

fn check(name: &str, model: Model, calls: usize) -> Result<(), String> {
    let names = Names::new(None, Some(name));
    let pair = names.pair();
    let tools = tools();
    let request = request(&json!({"tools": tools, "tool_choice": "required"}));
    let options = Options { level: StrictLevel::Auto, ..Options::default() };
    let ours = pair.grammar(&request, &options).map_err(|e| e.to_string())?.ok_or("no grammar")?;
    let theirs = theirs(model);
    let (mut markers, mut triggers) = (Vec::new(), Vec::new());
    literals(&ours.structural_tag(), &mut markers, &mut triggers);
    literals(&theirs, &mut markers, &mut triggers);
    let machine = Machine::new(&markers, &triggers);
    let mut our_matcher = machine.matcher(&ours.lark()).map_err(|e| format!("{name}, ours: {e}"))?;
    let mut their_matcher =
        machine.matcher(&Translator::grammar(&theirs)).map_err(|e| format!("{name}, theirs: {e}"))?;
    let mut sampler = Sampler::new(31);
    for number in 0..16 {
        let parts = Parts { reasoning: false, content: false, calls: 1 + number % calls };
        let text = pair.render(&sampler.message_of(&tools, parts), &request).map_err(|e| format!("{name}: {e}"))?;
        machine.accepts(&mut our_matcher, &text).map_err(|e| format!("{name}, ours: {e}\n  {text:?}"))?;
        // Theirs asks for line breaks or an empty thought in front of some blocks, and allows no line breaks between the
        // calls of others.
        let plain = text.trim_start();
        let before = ["", "\n", "\n\n", "\n</think>\n\n\n\n\n"].map(|before| format!("{before}{plain}"));
        let spellings: Vec<String> = before.into_iter().chain([plain.replace(">\n<", "><")]).collect();
        let verdicts: Vec<_> = spellings.iter().map(|text| machine.accepts(&mut their_matcher, text)).collect();
        if !verdicts.iter().any(Result::is_ok) {
            return Err(format!("{name}, theirs: {verdicts:?}\n  {text:?}"));
        }
    }
    for number in 0..if SAME.contains(&name) { 40 } else { 0 } {
        let mut random = Random::new(name, number);
        let text = machine.sample(&mut their_matcher, &mut random)?;
        machine.accepts(&mut our_matcher, &text).map_err(|e| format!("{name}, a text of theirs: {e}\n  {text:?}"))?;
    }
    Ok(())
}

#[test]
fn ours_agrees_with_the_tags_that_vllm_builds() {
    let faults: Vec<String> =
        KEYS.iter().filter_map(|(name, model, calls)| check(name, *model, *calls).err()).collect();
    super::report(&faults);
}
