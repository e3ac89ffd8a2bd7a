//! Grammars of schemas that hold the same thing many times, and of many and large ones: their size follows that of the schemas,
//! or the request is refused with the tool and the limit.

use allocation_counter::measure;
use serde_json::{Map, Value, json};
use unspool::Error;
use unspool::Pair;
use unspool::grammar::{Limit, Options, Work};

use super::machine::Machine;
use super::pairs::Names;
use super::{names_with_calls, report, request};

/// A strict tool.
#[expect(clippy::needless_pass_by_value, reason = "schemas are written where they are used")]
fn tool(name: &str, parameters: Value) -> Value {
    json!({"type": "function", "function": {"name": name, "strict": true, "parameters": parameters}})
}

/// This many strict tools with this many members each.
fn many_tools(count: usize, members: usize) -> Value {
    const KINDS: [&str; 4] = ["string", "integer", "boolean", "number"];
    let of = |t: usize| {
        let member = |p: usize| (format!("field_{p}"), json!({"type": KINDS[(p + t) % 4], "description": "Of a ship"}));
        let properties: Map<String, Value> = (0..members).map(member).collect();
        let required: Vec<String> = (0..members.min(3)).map(|p| format!("field_{p}")).collect();
        tool(&format!("function_{t}"), json!({"type": "object", "properties": properties, "required": required}))
    };
    (0..count).map(of).collect()
}

/// A syntax tree whose nodes may all hold each other.
fn syntax_tree(kinds: usize) -> Value {
    let node = |i: usize| json!({"$ref": format!("#/$defs/node_{i}")});
    let of = |i: usize| {
        let definition = json!({
            "type": "object",
            "properties": {
                "kind": {"const": format!("node_{i}")}, "name": {"type": "string"}, "left": {"$ref": "#/$defs/any"},
                "right": node((i + 1) % kinds), "body": {"type": "array", "items": {"$ref": "#/$defs/any"}},
            },
            "required": ["kind"],
            "additionalProperties": false,
        });
        (format!("node_{i}"), definition)
    };
    let mut definitions: Map<String, Value> = (0..kinds).map(of).collect();
    definitions.insert("any".to_owned(), json!({"anyOf": (0..kinds).map(node).collect::<Vec<_>>()}));
    json!([tool(
        "run",
        json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/any"}}, "required": ["tree"], "$defs": definitions})
    )])
}

/// Definitions of which each holds the next one twice.
fn doubled(depth: usize, of: impl Fn(Value, usize) -> Value) -> Value {
    let last = json!({"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]});
    let definition =
        |i: usize| if i == depth { last.clone() } else { of(json!({"$ref": format!("#/$defs/d{}", i + 1)}), i) };
    let definitions: Map<String, Value> = (0..=depth).map(|i| (format!("d{i}"), definition(i))).collect();
    json!([tool(
        "tide",
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "required": ["x"], "$defs": definitions})
    )])
}

/// A way to hold the next definition, by the number of this one.
type Way = fn(Value, usize) -> Value;

/// In how many ways a definition holds another one twice.
fn ways() -> Vec<(&'static str, Way)> {
    vec![
        ("anyOf", |next, _| json!({"anyOf": [next, next]})),
        ("oneOf", |next, _| json!({"oneOf": [next, next]})),
        ("allOf", |next, _| json!({"allOf": [next, next]})),
        ("types", |next, _| json!({"type": ["object", "array"], "anyOf": [next, next]})),
        ("members", |next, _| json!({"type": "object", "properties": {"a": next, "b": next}, "required": ["a"]})),
        ("tuple", |next, _| json!({"type": "array", "prefixItems": [next, next], "items": false})),
        ("list", |next, i| json!({"anyOf": [{"type": "array", "items": next}, {"const": i}, next]})),
        (
            "both",
            |next, _| json!({"type": "object", "properties": {"a": {"allOf": [next, {"type": "object"}]}, "b": {"allOf": [next, {}]}}}),
        ),
    ]
}

/// Bytes of a grammar in both notations.
fn sizes(pair: &Pair, tools: &Value, choice: &str) -> Result<[usize; 2], Error> {
    let request = request(&json!({"tools": tools, "tool_choice": choice}));
    let grammar = pair.grammar(&request, &Options::default())?.expect("the tools are strict");
    Ok([grammar.structural_tag().to_string().len(), grammar.lark().len()])
}

/// A format for each way to write arguments and calls.
const KINDS: [&str; 8] =
    ["hermes", "qwen3_coder", "pythonic", "gemma4", "functiongemma", "minimax_m3", "openai", "kimi_k3"];

fn kinds() -> impl Iterator<Item = Names> {
    KINDS.into_iter().map(|name| Names::new(None, Some(name)))
}

/// Every tools name by itself.
fn tool_names() -> impl Iterator<Item = Names> {
    names_with_calls().into_iter().filter(|names| names.reasoning.is_none())
}

fn is_nested(names: &Names) -> bool {
    names.tools.as_deref() == Some("minimax_m3")
}

/// Holds the grammars of some tools to a number of bytes.
fn held(what: &str, tools: &Value, most: usize, faults: &mut Vec<String>) {
    for choice in ["required", "auto"] {
        for names in tool_names() {
            match sizes(&names.pair(), tools, choice) {
                Ok(all) if all.iter().all(|size| *size <= most) => {}
                told => faults.push(format!("{what}, {names}, {choice}: {told:?}, and {most} bytes are allowed")),
            }
        }
    }
}

#[test]
fn what_is_defined_once_is_said_once() {
    let mut faults = Vec::new();
    for (what, of) in ways() {
        let (short, long) = (doubled(10, of), doubled(40, of));
        for names in tool_names() {
            let pair = names.pair();
            match (sizes(&pair, &short, "required"), sizes(&pair, &long, "required")) {
                // Each definition has its part of the size, and no more. In nested elements a value of several kinds says them
                // all where it stands: its text must look like none of the others.
                (Ok(short), Ok(long)) => {
                    let most = if what == "list" && is_nested(&names) { 17 } else { 5 };
                    if short.iter().zip(long).any(|(short, long)| long > most * short) {
                        faults.push(format!("{what}, {names}: {short:?}, {long:?}"));
                    }
                }
                told => faults.push(format!("{what}, {names}: {told:?}")),
            }
        }
    }
    report(&faults);
}

#[test]
fn a_syntax_tree_is_no_larger_than_its_kinds() {
    let mut faults = Vec::new();
    held("a syntax tree", &syntax_tree(12), 300_000, &mut faults);
    report(&faults);
}

#[test]
fn many_tools_make_a_small_grammar() {
    let tools = many_tools(60, 10);
    let mut faults = Vec::new();
    held("60 tools", &tools, 200_000, &mut faults);
    report(&faults);
}

/// One tool with a member that has this many values.
fn values(count: usize) -> Value {
    let values: Vec<String> = (0..count).map(|i| format!("berth {i}")).collect();
    json!([tool("moor", json!({"type": "object", "properties": {"at": {"enum": values}}, "required": ["at"]}))])
}

/// One tool with this many optional members.
fn members(count: usize) -> Value {
    let properties: Map<String, Value> =
        (0..count).map(|i| (format!("berth_{i}"), json!({"type": "string"}))).collect();
    json!([tool("log", json!({"type": "object", "properties": properties}))])
}

/// So many tools whose names begin alike.
fn prefixed(count: usize) -> Value {
    let of = |i: usize| {
        let name = format!("{}_{i}", "harbour_".repeat(25));
        tool(
            &name,
            json!({"type": "object", "properties": {"port": {"type": "string"}, "days": {"type": "integer"}}, "required": ["port"]}),
        )
    };
    (0..count).map(of).collect()
}

/// One tool whose definitions hold each other one by one.
fn chain(depth: usize) -> Value {
    doubled(depth, |next, _| json!({"type": "object", "properties": {"a": next}}))
}

#[test]
fn large_schemas_make_grammars_of_their_size() {
    let mut faults = Vec::new();
    // Of the schemas' own size; a value is quoted and separated, a member has its markup, a name stands in several headers.
    for (what, tools, times) in
        [("values", values(100_000), 3), ("members", members(10_000), 7), ("tools", prefixed(1000), 4)]
    {
        let most = times * tools.to_string().len();
        for names in kinds() {
            match sizes(&names.pair(), &tools, "required") {
                Ok(all) if all.iter().all(|size| *size <= most) => {}
                told => faults.push(format!("{what}, {names}: {told:?}, and {most} bytes are allowed")),
            }
        }
    }
    report(&faults);
}

/// What a grammar takes: pieces, bytes and steps, and allocations with their bytes, which count what is done beside these.
fn work(pair: &Pair, tools: &Value) -> [u64; 5] {
    let request = request(&json!({"tools": tools, "tool_choice": "required"}));
    let mut work = Work::default();
    let allocated = measure(|| {
        let grammar = pair.grammar(&request, &Options::default()).expect("it is within the limit");
        let grammar = grammar.expect("the tools are strict");
        work = grammar.work();
        assert!(grammar.structural_tag().is_object() && !grammar.lark().is_empty());
    });
    let counted = [work.nodes, work.bytes, work.steps].map(|number| number as u64);
    [counted[0], counted[1], counted[2], allocated.count_total, allocated.bytes_total]
}

#[test]
fn ten_times_as_much_takes_about_ten_times_the_work() {
    /// Maximum growth of each part for ten times the schemas; a buffer that grows by doubling takes up to twice its length.
    const MOST: u64 = 16;
    let mut faults = Vec::new();
    for names in kinds() {
        let pair = names.pair();
        for (what, short, long) in [
            ("values", values(500), values(5000)),
            ("members", members(200), members(2000)),
            ("tools", prefixed(30), prefixed(300)),
            ("definitions", chain(100), chain(1000)),
        ] {
            let (short, long) = (work(&pair, &short), work(&pair, &long));
            if short.iter().zip(&long).any(|(short, long)| *long > MOST * short) {
                faults.push(format!("{what}, {names}: {short:?}, {long:?}"));
            }
        }
    }
    report(&faults);
}

/// The error for a request whose grammar would be too large.
fn refused(names: &Names, tools: &Value, limit: Limit) -> String {
    let options = Options { limit, ..Options::default() };
    let request = request(&json!({"tools": tools, "tool_choice": "required"}));
    match names.pair().grammar(&request, &options) {
        Err(error) => error.message,
        Ok(_) => panic!("{names} takes it"),
    }
}

#[test]
fn what_is_too_large_is_refused_with_the_tool_and_the_limit() {
    let few = Limit { nodes: 200, ..Limit::default() };
    let short = Limit { bytes: 8 << 10, ..Limit::default() };
    let mut tools = many_tools(3, 3);
    tools[1] = many_tools(1, 500)[0].clone();
    tools[1]["function"]["name"] = "log_book".into();
    for names in kinds() {
        let told = refused(&names, &tools, few);
        assert!(told.contains("`log_book`") && told.contains("`nodes=200`"), "{names}: {told}");
        let told = refused(&names, &tools, short);
        assert!(told.contains("`log_book`") && told.contains("`bytes=8KiB`"), "{names}: {told}");
    }
}

#[test]
fn no_schema_takes_the_stack_or_the_memory() {
    let deep = chain(10_000);
    let pattern = json!([tool(
        "tide",
        json!({"type": "object", "properties": {"x": {"type": "string", "pattern": "\\w".repeat(9000)}}})
    )]);
    let objects: Vec<Value> = (0..64).map(|i| json!({"anyOf": [{"properties": {format!("a{i}"): {"type": "string"}}}, {"properties": {format!("b{i}"): {"type": "string"}}}]})).collect();
    let product = json!([tool("tide", json!({"type": "object", "properties": {"x": {"allOf": objects}}}))]);
    for names in kinds() {
        let limit = Limit::default();
        for tools in [&deep, &pattern, &product] {
            let request = request(&json!({"tools": tools, "tool_choice": "required"}));
            let told = names.pair().grammar(&request, &Options { limit, ..Options::default() });
            let told = told.map(|grammar| {
                grammar.map(|grammar| grammar.structural_tag().to_string().len() + grammar.lark().len())
            });
            match told {
                Ok(Some(size)) => assert!(size <= 4 * limit.bytes, "{names}: {size}"),
                told => assert!(told.is_err_and(|e| e.message.contains("`tide`")), "{names}"),
            }
        }
    }
}

#[test]
fn many_tools_are_made_with_the_work_of_twenty_compiles() {
    let tools = many_tools(60, 10);
    let machine = Machine::new(&[], &[]);
    let schema = format!("%llguidance {{}}\n\nstart: a\na: %json {}\n", tools[0]["function"]["parameters"]);
    let request = request(&json!({"tools": tools, "tool_choice": "required"}));
    let compile = measure(|| assert!(machine.matcher(&schema).is_ok()));
    let mut faults = Vec::new();
    for names in tool_names() {
        let pair = names.pair();
        let made = measure(|| assert!(pair.grammar(&request, &Options::default()).is_ok()));
        if made.count_total > 20 * compile.count_total || made.bytes_total > 20 * compile.bytes_total {
            faults.push(format!("{names}: {made:?}, and a compile of one schema takes {compile:?}"));
        }
    }
    report(&faults);
}
