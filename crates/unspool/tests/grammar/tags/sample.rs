//! Random texts of a structural tag.

use serde_json::{Value, json};
use unspool::sample::Sampler;

use super::super::machine::Random;
use super::params::{Style, needs_one, style, written};
use super::{admits, json, texts, times};

/// Texts of a tag, one after the other.
pub(crate) struct Samples<'a> {
    pub(crate) tag: &'a Value,
    /// What free text may have beside words: markers, mostly.
    pub(crate) pieces: &'a [String],
    pub(crate) random: Random,
    pub(crate) sampler: Sampler,
}

/// How often a text is made anew because free text made a marker by chance.
const TRIES: usize = 50;

const WORDS: &[&str] = &[
    "tide",
    " quay",
    "\n",
    "\n\n",
    " ",
    "<",
    "</",
    "{",
    "}",
    "[",
    "é潮",
    "\"",
    "null",
    "12",
    "{\"name\": \"",
    ">",
    "<|",
];

impl Samples<'_> {
    /// A text that the tag admits.
    pub(crate) fn next(&mut self) -> String {
        for _ in 0..TRIES {
            let mut out = String::new();
            self.node(&self.tag["format"].clone(), &[], &mut out);
            if admits(self.tag, &out) {
                return out;
            }
        }
        panic!("no text in {TRIES} tries of {}", self.tag)
    }

    fn node(&mut self, node: &Value, stops: &[String], out: &mut String) {
        match node["type"].as_str().unwrap() {
            "const_string" => out.push_str(node["value"].as_str().unwrap()),
            "any_text" => self.free(&[texts(node, "excludes"), stops.to_vec()].concat(), out),
            "regex" => self.regex(node["pattern"].as_str().unwrap(), out),
            "json_schema" => match node["style"].as_str() {
                None | Some("json") => self.json(&node["json_schema"], out),
                Some(style) => self.params(style, node, out),
            },
            "sequence" => node["elements"].as_array().unwrap().iter().for_each(|one| self.node(one, stops, out)),
            "or" => {
                let one = self.one(node["elements"].as_array().unwrap()).clone();
                self.node(&one, stops, out);
            }
            "tag" => self.tag(node, out),
            "tags_with_separator" => {
                let more = if node["stop_after_first"] == true { 0 } else { self.random.below(3) };
                for i in 0..=more {
                    out.push_str(if i > 0 { node["separator"].as_str().unwrap() } else { "" });
                    self.one_of(node, out);
                }
            }
            "triggered_tags" => self.triggered(node, stops, out),
            _ => {
                let (least, most) = times(node);
                let count = least.saturating_add(self.random.below(3)).min(most);
                (0..count).for_each(|_| self.node(&node["content"], stops, out));
            }
        }
    }

    fn one<'v>(&mut self, all: &'v [Value]) -> &'v Value {
        &all[self.random.below(all.len())]
    }

    fn tag(&mut self, node: &Value, out: &mut String) {
        let ends = texts(node, "end");
        let stops: Vec<String> = ends.iter().filter(|e| !e.is_empty()).cloned().collect();
        out.push_str(node["begin"].as_str().unwrap());
        self.node(&node["content"], &stops, out);
        out.push_str(&ends[self.random.below(ends.len())]);
    }

    fn one_of(&mut self, node: &Value, out: &mut String) {
        let tag = self.one(node["tags"].as_array().unwrap()).clone();
        self.tag(&tag, out);
    }

    fn triggered(&mut self, node: &Value, stops: &[String], out: &mut String) {
        let without = [texts(node, "excludes"), stops.to_vec(), texts(node, "triggers")].concat();
        let least = usize::from(node["at_least_one"] == true);
        let once = node["stop_after_first"] == true;
        if least == 0 {
            self.free(&without, out);
        }
        let count = if once { self.random.below(2).max(least) } else { least + self.random.below(3) };
        for _ in 0..count {
            self.one_of(node, out);
            if !once {
                self.free(&without, out);
            }
        }
    }

    /// A few words and markers without some literals; now and then none.
    fn free(&mut self, without: &[String], out: &mut String) {
        let start = out.len();
        for _ in 0..self.random.below(5) {
            let before = out.len();
            let piece = match self.random.below(4) {
                0 if !self.pieces.is_empty() => self.pieces[self.random.below(self.pieces.len())].as_str(),
                _ => WORDS[self.random.below(WORDS.len())],
            };
            out.push_str(piece);
            if without.iter().any(|l| out[start..].contains(l.as_str())) {
                out.truncate(before);
            }
        }
    }

    /// The expressions that tags use: numbers, white space, heads.
    fn regex(&mut self, pattern: &str, out: &mut String) {
        if let Some(end) = pattern.strip_prefix("[^<]*") {
            let header = ["key=\"port\" type=\"string\"", "x", ""][self.random.below(3)];
            out.push_str(&format!("{header}{}", end.replace('\\', "")));
            return;
        }
        let digits = ["\\d+", "[0-9]+"];
        if digits.contains(&pattern) {
            out.push_str(&self.random.below(12).to_string());
            return;
        }
        let hir = regex_syntax::Parser::new().parse(pattern).unwrap();
        let regex_syntax::hir::HirKind::Repetition(repetition) = hir.kind() else { panic!("pattern {pattern}") };
        let count = repetition.min as usize + self.random.below(3);
        let blank = pattern.starts_with("[ ");
        out.extend((0..count).map(|_| if blank { '\n' } else { 'k' }));
    }

    fn value(&mut self, schema: &Value) -> Value {
        let is_any = schema == &Value::Bool(true) || schema.as_object().is_some_and(serde_json::Map::is_empty);
        let types = schema["type"].as_array().into_iter().flatten();
        let any: Vec<Value> = types.map(|t| json!({"type": t})).collect();
        if !any.is_empty() {
            let schema = self.one(&any).clone();
            return self.sampler.value(&schema);
        }
        let any =
            [json!({"type": "object"}), json!({"type": "array"}), json!({"type": "string"}), json!({"type": "number"})];
        let schema = if is_any { &any[self.random.below(4)] } else { schema };
        json::ordered(schema, self.sampler.value(schema))
    }

    /// JSON, with white space that is free in it or without.
    fn json(&mut self, schema: &Value, out: &mut String) {
        let value = self.value(schema);
        match self.random.below(3) {
            0 => out.push_str(&serde_json::to_string_pretty(&value).unwrap()),
            _ => out.push_str(&value.to_string()),
        }
    }

    fn blank(&mut self, node: &Value, which: &str, out: &mut String) {
        match node["exact"].get(which) {
            Some(Value::String(text)) => out.push_str(text),
            Some(Value::Array(all)) => out.push_str(all[self.random.below(all.len())].as_str().unwrap()),
            _ if node["style"] == "minimax_m3_xml" && matches!(which, "open" | "close") => {}
            _ => out.push_str(["", "", "\n", " ", "\n\n"][self.random.below(5)]),
        }
    }

    fn params(&mut self, name: &str, node: &Value, out: &mut String) {
        let style = style(name);
        let schema = &node["json_schema"];
        let Some(properties) = schema["properties"].as_object() else {
            self.blank(node, "lead", out);
            for _ in 0..self.random.below(3) {
                let key =
                    ["port", "a_b", "a-b", "x.y"][self.random.below(if node.get("keys").is_some() { 4 } else { 2 })];
                let kinds = style.kinds();
                let schema = self.one(&kinds).clone();
                self.param(&style, node, (key, &schema), out);
            }
            return;
        };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut keys: Vec<&String> = properties.keys().collect();
        keys.retain(|key| required.contains(&key.as_str()) || self.random.below(2) == 0);
        if node["any_order"] == true && self.random.below(2) == 0 {
            keys.reverse();
        }
        if !(keys.is_empty() && needs_one(node)) {
            self.blank(node, "lead", out);
        }
        for key in keys {
            self.param(&style, node, (key, &properties[key]), out);
        }
    }

    fn param(&mut self, style: &Style, node: &Value, (key, schema): (&str, &Value), out: &mut String) {
        let is_text = schema["type"] == "string";
        let close = style.close(key);
        let opens = style.opens(key, schema);
        out.push_str(&opens[self.random.below(opens.len())]);
        if node.get("exact").is_some() || !is_text {
            self.blank(node, "open", out);
        }
        if is_text {
            let without = [texts(node, "excludes"), vec![close.clone()]].concat();
            self.free(&without, out);
        } else {
            let value = self.value(schema);
            out.push_str(&written(schema, value));
            self.blank(node, "close", out);
        }
        out.push_str(&close);
        self.blank(node, "behind", out);
    }
}
