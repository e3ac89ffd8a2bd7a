//! Parameters as tags of their own: the styles of a `json_schema` node that are not JSON.
//!
//! Words that only corrections use: `any_order`, and `exact`: `{"lead", "open", "close", "behind"}`, the white space that
//! stands in front of the first parameter, behind a parameter's opener, before its closer (or not) and behind its closer,
//! instead of any; `excludes`: what no value may have; `keys`: the pattern of the names that no schema says.

use serde_json::{Map, Value, json};

use super::{Ends, Reader, json, texts};

/// How a style says of what type a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Typed {
    No,
    /// Whether it is a string: `true`, `false`.
    Flag,
    /// By the name of its type.
    Name,
}

/// How a style writes one parameter; `{key}` and `{type}` stand for what they say, `{line}` for a line break that may be
/// missing.
pub(super) struct Style {
    open: &'static str,
    close: &'static str,
    typed: Typed,
}

pub(super) fn style(name: &str) -> Style {
    let (open, close, typed) = match name {
        "qwen_xml" => ("<parameter={key}>", "</parameter>", Typed::No),
        "minimax_xml" => ("<parameter name=\"{key}\">", "</parameter>", Typed::No),
        "minimax_m3_xml" => ("]<]minimax[>[<{key}>", "]<]minimax[>[</{key}>", Typed::No),
        "deepseek_xml" => ("<｜DSML｜parameter name=\"{key}\" string=\"{type}\">", "</｜DSML｜parameter>", Typed::Flag),
        "deepseek_v4_1_xml" => {
            ("<｜DSML｜ parameter name=\"{key}\" string=\"{type}\">", "</｜DSML｜ parameter>", Typed::Flag)
        }
        "glm_xml" => ("<arg_key>{key}</arg_key><arg_value>", "</arg_value>", Typed::No),
        // Two styles that vLLM has not: it builds such tags from smaller nodes.
        "hy" => ("<arg_key>{key}</arg_key>{line}<arg_value>", "</arg_value>", Typed::No),
        "kimi_k3" => ("<|open|>argument key=\"{key}\" type=\"{type}\"<|sep|>", "<|close|>argument<|sep|>", Typed::Name),
        other => panic!("style {other}"),
    };
    Style { open, close, typed }
}

impl Style {
    /// The word for the type of a value that fits a schema.
    fn word<'s>(&self, schema: &'s Value) -> &'s str {
        let name = schema["type"].as_str().unwrap_or("any");
        match (self.typed, name) {
            (Typed::Name, "integer") => "number",
            (Typed::Name, name) => name,
            (_, "string") => "true",
            _ => "false",
        }
    }

    /// The ways to write a parameter's opener.
    pub(super) fn opens(&self, key: &str, schema: &Value) -> Vec<String> {
        let open = self.open.replace("{key}", key).replace("{type}", self.word(schema));
        if open.contains("{line}") { ["\n", ""].map(|line| open.replace("{line}", line)).to_vec() } else { vec![open] }
    }

    pub(super) fn close(&self, key: &str) -> String {
        self.close.replace("{key}", key)
    }

    /// What a parameter may be that no schema describes.
    pub(super) fn kinds(&self) -> Vec<Value> {
        let text = json!({"type": "string"});
        match self.typed {
            Typed::Name => {
                ["string", "number", "boolean", "null", "object", "array"].map(|t| json!({"type": t})).to_vec()
            }
            Typed::Flag => vec![text, json!({"type": ["number", "boolean", "null", "object", "array"]})],
            Typed::No => vec![text],
        }
    }
}

/// A parameter of a tool without a schema.
const ANY_KEY: &str = "[A-Za-z_][A-Za-z0-9_]*";

/// The pattern of the names that no schema says.
pub(super) fn any_key(node: &Value) -> &str {
    node["keys"].as_str().unwrap_or(ANY_KEY)
}

/// Whether white space may stand in front of parameters only if there are some.
pub(super) fn needs_one(node: &Value) -> bool {
    node["style"] == "minimax_m3_xml" && node["exact"].get("lead").is_none()
}

impl Reader<'_> {
    pub(super) fn params(&self, name: &str, node: &Value, at: usize) -> Ends {
        let style = style(name);
        let start = self.gap(node, "lead", at);
        let schema = &node["json_schema"];
        let Some(properties) = schema["properties"].as_object() else {
            let mut out = start.clone();
            let mut from = start;
            while !from.is_empty() {
                from = self.behind(&from, |at| self.any_param(&style, node, at));
                from.retain(|at| out.insert(*at));
            }
            return out;
        };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let left: Vec<&String> = properties.keys().collect();
        let known = Known { style: &style, node, properties, required: &required };
        let begins = at;
        let ends = |at: usize| {
            let mut ends = self.known(&known, &left, at);
            if at > begins && needs_one(node) {
                ends.remove(&at);
            }
            ends
        };
        start.iter().flat_map(|at| ends(*at)).collect()
    }

    /// White space: any, or what a correction says.
    fn gap(&self, node: &Value, which: &str, at: usize) -> Ends {
        match node["exact"].get(which) {
            Some(Value::String(text)) => self.literal(text, at),
            Some(Value::Array(all)) => all.iter().flat_map(|text| self.literal(text.as_str().unwrap(), at)).collect(),
            // This style has white space between parameters only.
            _ if node["style"] == "minimax_m3_xml" && matches!(which, "" | "close") => Ends::from([at]),
            _ => {
                let rest = &self.text[at..];
                let most = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
                (at..=at + most).collect()
            }
        }
    }

    /// Known parameters, each at most once; the required ones must come.
    fn known(&self, known: &Known<'_>, left: &[&String], at: usize) -> Ends {
        let mut out = Ends::new();
        if !left.iter().any(|key| known.required.contains(&key.as_str())) {
            out.insert(at);
        }
        for (i, key) in left.iter().enumerate() {
            let mut rest = left.to_vec();
            rest.remove(i);
            if known.node["any_order"] != true {
                if left[..i].iter().any(|key| known.required.contains(&key.as_str())) {
                    break;
                }
                rest.drain(..i);
            }
            let ends = self.param(known.style, known.node, key, &known.properties[*key], at);
            out.extend(ends.iter().flat_map(|at| self.known(known, &rest, *at)));
        }
        out
    }

    fn param(&self, style: &Style, node: &Value, key: &str, schema: &Value, at: usize) -> Ends {
        let begun = style.opens(key, schema).iter().flat_map(|open| self.literal(open, at)).collect();
        self.behind(&begun, |at| self.value(node, schema, &style.close(key), at))
    }

    fn any_param(&self, style: &Style, node: &Value, at: usize) -> Ends {
        let mut out = Ends::new();
        for schema in style.kinds() {
            for open in style.opens("\0", &schema) {
                let (before, after) = open.split_once('\0').unwrap();
                let begun = self.literal(before, at);
                let keys = self.behind(&begun, |at| self.regex(any_key(node), at));
                let opened = self.behind(&keys, |at| self.literal(after, at));
                out.extend(self.behind(&opened, |at| self.value(node, &schema, style.close, at)));
            }
        }
        out
    }

    /// A value with its closer, and white space behind it. A string is any text without the closer.
    fn value(&self, node: &Value, schema: &Value, close: &str, at: usize) -> Ends {
        let mut excludes = texts(node, "excludes");
        if node["style"] == "minimax_m3_xml" {
            excludes.push("]<]minimax[>[".to_owned());
        }
        let opened = if node.get("exact").is_some() { self.gap(node, "open", at) } else { Ends::from([at]) };
        let inside = if schema["type"] == "string" {
            let without = [excludes, vec![close.to_owned()]].concat();
            self.behind(&opened, |at| self.free(at, &without))
        } else {
            let before = if node.get("exact").is_some() { opened } else { self.gap(node, "", at) };
            let value = json!({"json_schema": schema, "excludes": excludes});
            let ends = self.behind(&before, |at| self.json(&value, at));
            self.behind(&ends, |at| self.gap(node, "close", at))
        };
        let closed = self.behind(&inside, |at| self.literal(close, at));
        self.behind(&closed, |at| self.gap(node, "behind", at))
    }
}

/// A tool's parameters.
struct Known<'a> {
    style: &'a Style,
    node: &'a Value,
    properties: &'a Map<String, Value>,
    required: &'a [&'a str],
}

/// A value of a parameter, as text.
pub(super) fn written(schema: &Value, value: Value) -> String {
    match json::ordered(schema, value) {
        Value::String(text) if schema["type"] == "string" => text,
        other => other.to_string(),
    }
}
