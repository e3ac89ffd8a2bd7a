//! Law: whatever the schema of a tool, a grammar is made within its limit or refused, and what the grammar admits is a call that the
//! parser reads.
//!
//! The first bytes choose the parsers and the level; the rest are a schema as JSON, or say which words one is put together from.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use unspool::grammar::{Limit, Options, StrictLevel};
use unspool::setup::Half;
use unspool::{Delta, Message, Pair, Prompt, Registry, Request, Setup};

/// Bytes before the schema: tool parser, and how strictly.
const HEAD: usize = 2;
/// What a grammar may be here: small, so that the limit is met too.
const LIMIT: Limit = Limit { bytes: 64 << 10, nodes: 5_000 };
/// Deepest nesting of a schema that is put together.
const DEEPEST: usize = 5;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

thread_local! {
    /// Pairs are compiled once; `None` is a pair that cannot work.
    static PAIRS: RefCell<HashMap<u8, Option<Pair>>> = RefCell::new(HashMap::new());
}

/// Runs one input; a panic is a broken law.
pub(crate) fn run(data: &[u8]) {
    let Some((&[name, level], rest)) = data.split_first_chunk::<HEAD>() else { return };
    PAIRS.with_borrow_mut(|pairs| {
        if let Some(pair) = pairs.entry(name).or_insert_with(|| pair(name)) {
            check(pair, level, &schema(rest));
        }
    });
}

fn pair(number: u8) -> Option<Pair> {
    let names = REGISTRY.names(Half::Tools);
    let tool_parser = Some(names[usize::from(number) % names.len()].clone());
    REGISTRY.pair(&Setup { tool_parser, ..Setup::default() }).ok()
}

fn check(pair: &Pair, level: u8, schema: &Value) {
    let tool = json!({"name": "save", "strict": level & 1 == 1, "parameters": schema});
    let body = json!({"tools": [{"type": "function", "function": tool}, {"type": "function", "function": {"name": "stop"}}],
        "tool_choice": if level & 2 == 2 { "required" } else { "auto" }});
    let request = Request::from_openai(&body).expect("any tool is a tool");
    let level = [StrictLevel::Auto, StrictLevel::Function, StrictLevel::Parameter][usize::from(level >> 2) % 3];
    let options = Options {
        level,
        limit: LIMIT,
        answer: (level == StrictLevel::Auto).then(|| schema.clone()),
        ..Options::default()
    };
    if let Ok(Some(grammar)) = pair.grammar(&request, &options) {
        let (lark, tag) = (grammar.lark(), grammar.structural_tag().to_string());
        assert!(!lark.is_empty() && !tag.is_empty());
        assert_eq!(
            pair.grammar(&request, &options).expect("it was made").expect("it was made").lark(),
            lark,
            "made twice"
        );
        assert!(lark.len() <= LIMIT.bytes * 4, "{} bytes for {schema}", lark.len());
    }
    // A call's values are typed by the schema, whatever it says.
    let values = ["1", "x", "null", "[1, {\"a\": 2}]", "{\"b\": \"c\"}", "tRue", "0x1F"];
    for value in values {
        let mut message = Message::default();
        let mut parser = pair.parser(&request, Prompt::Unknown).expect("a request without wishes");
        parser.push(Delta::text(&written(value)), &mut message);
        parser.finish(None, &mut message);
    }
}

/// Calls in some syntaxes; a parser reads those that are its own.
fn written(value: &str) -> String {
    format!(
        "<tool_call>\n<function=save>\n<parameter=a>\n{value}\n</parameter>\n</function>\n</tool_call>\
         <tool_call>save\n<arg_key>a</arg_key>\n<arg_value>{value}</arg_value>\n</tool_call>\
         <|tool_call>call:save{{a:{value}}}<tool_call|>[save(a={value})]"
    )
}

/// The bytes are JSON, or choose the words of a schema.
fn schema(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| Words { bytes, at: 0 }.schema(0))
}

/// Bytes that are read as choices; behind the last one all choices are the first.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Words<'_> {
    fn choice(&mut self, of: u8) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte % of
    }

    fn name(&mut self) -> &'static str {
        ["a", "b", "text", "ä \"", "", "</parameter>"][usize::from(self.choice(6))]
    }

    fn schema(&mut self, depth: usize) -> Value {
        let mut schema = Map::new();
        for _ in 0..1 + self.choice(3) {
            let (key, value) = self.word(depth + 1);
            schema.insert(key.to_owned(), value);
        }
        Value::Object(schema)
    }

    fn several(&mut self, depth: usize) -> Vec<Value> {
        (0..self.choice(4)).map(|_| self.schema(depth)).collect()
    }

    /// One of the items of a list.
    fn one(&mut self, list: Value) -> Value {
        let Value::Array(mut items) = list else { return Value::Null };
        let at = usize::from(self.choice(items.len() as u8));
        items.swap_remove(at)
    }

    /// The first items of a list.
    fn some(&mut self, list: Value) -> Value {
        let Value::Array(mut items) = list else { return Value::Null };
        let most = usize::from(self.choice(items.len() as u8 + 1));
        items.truncate(most);
        items.into()
    }

    fn members(&mut self, depth: usize, most: u8) -> Value {
        (0..self.choice(most)).map(|_| (self.name().to_owned(), self.schema(depth))).collect::<Map<_, _>>().into()
    }

    fn key(&mut self, keys: &[&'static str]) -> &'static str {
        keys[usize::from(self.choice(keys.len() as u8))]
    }

    fn word(&mut self, depth: usize) -> (&'static str, Value) {
        match self.choice(if depth < DEEPEST { 18 } else { 9 }) {
            0 => {
                ("type", self.one(json!(["string", "integer", "number", "boolean", "null", "array", "object", "date"])))
            }
            1 => ("enum", self.some(json!(["a", 1, 2.5, null, "</tool_call>", [1], {"b": 2}]))),
            2 => ("const", self.one(json!(["a", 1, null, {"a": []}]))),
            3 => ("$ref", self.one(json!(["#", "#/$defs/a", "#/properties/a", "#/nowhere", "other"]))),
            4 => ("pattern", self.one(json!(["^a+$", "[0-9]{2,}", "(", "\\d|x", "(?=a)"]))),
            5 => (
                self.key(&["minLength", "maxLength", "minItems", "maxItems", "minProperties"]),
                self.choice(255).into(),
            ),
            6 => (
                self.key(&["minimum", "maximum", "exclusiveMinimum", "multipleOf"]),
                self.one(json!([-1.5, 0, 3, 1e300])),
            ),
            7 => ("type", self.some(json!(["string", "null", "object"]))),
            8 => ("format", self.one(json!(["date", "uuid", "email", "odd"]))),
            9 | 10 => ("properties", self.members(depth, 5)),
            11 => ("required", (0..self.choice(3)).map(|_| self.name()).collect()),
            12 => ("items", self.schema(depth)),
            13 => ("prefixItems", self.several(depth).into()),
            14 => (self.key(&["anyOf", "oneOf", "allOf"]), self.several(depth).into()),
            15 if self.choice(2) == 0 => ("additionalProperties", false.into()),
            15 => ("additionalProperties", self.schema(depth)),
            16 => ("$defs", self.members(depth, 3)),
            _ => ("not", self.schema(depth)),
        }
    }
}
