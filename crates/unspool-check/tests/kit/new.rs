//! `kit::new`: a made-up format of each argument syntax, from one output to a file that passes all tests.

use serde_json::{Map, Value, json};
use unspool::{Delta, FinishReason, Message, Prompt};
use unspool::{Registry, Request, Setup};
use unspool_check::diagnose::Outcome;
use unspool_check::kit::{Effort, Made, Wanted, new, test};
use unspool_check::template::prompter;

fn tools() -> Value {
    json!([{"type": "function", "function": {"name": "tide", "parameters": {"type": "object", "properties":
        {"harbour": {"type": "string"}, "days": {"type": "integer"}}}}}])
}

fn made(outputs: &[&str], tools: &Value, template: Option<&str>) -> Made {
    let outputs: Vec<String> = outputs.iter().map(|text| (*text).to_owned()).collect();
    let prompter = template.map(|source| prompter(source, Map::new()).expect("it is Jinja"));
    let registry = Registry::builtin();
    let wanted = Wanted { name: "heron", outputs: &outputs, tools, template: prompter.as_ref(), registry: &registry };
    new(&wanted).unwrap_or_else(|| panic!("nothing was made of {outputs:?}"))
}

/// Passes all tests, and reads the output as two things: its text, and the arguments of its calls.
fn check(made: &Made, output: &str, content: &str, calls: &[Value]) {
    let tested = test(&Registry::builtin(), "heron.toml", &made.text, Effort { count: 12, seed: 5 });
    let failed: Vec<_> = tested.lines.iter().filter(|line| line.result == Outcome::Fail).collect();
    assert!(failed.is_empty(), "{failed:#?}\n{}", made.text);
    let mut registry = Registry::builtin();
    registry.add("heron.toml", &made.text).expect("it was tried");
    let has = |names: &[String]| names.first().cloned();
    let setup = Setup { reasoning_parser: has(&tested.reasoning), tool_parser: has(&tested.tools), ..Setup::default() };
    let pair = registry.pair(&setup).expect("it was tried");
    let request = Request::from_openai(&json!({"tools": tools()})).expect("it is fine");
    let mut parser = pair.parser(&request, Prompt::Unknown).expect("it is fine");
    let mut message = Message::default();
    parser.push(Delta::text(output), &mut message);
    parser.finish(Some(FinishReason::Stop), &mut message);
    let read: Vec<Value> =
        message.tool_calls.iter().map(|call| serde_json::from_str(&call.arguments).expect("JSON")).collect();
    assert_eq!((message.content.trim(), read.as_slice()), (content, calls), "{}", made.text);
    assert!(made.text.contains("# ") && made.text.contains("[[example]]"), "{}", made.text);
}

#[test]
fn each_argument_syntax_is_found() {
    let looe = || vec![json!({"harbour": "Looe", "days": 3})];
    for (syntax, output) in [
        ("{envelope}", "Well.\n<go>\n{\"name\": \"tide\", \"arguments\": {\"harbour\": \"Looe\", \"days\": 3}}\n</go>"),
        (
            "{\"do\": {name}, \"with\": {json}}",
            "Well.<|go|>{\"do\": \"tide\", \"with\": {\"harbour\": \"Looe\", \"days\": 3}}<|og|>",
        ),
        ("{name}<|sep|>{json}", "Well.<|go|>tide<|sep|>{\"harbour\": \"Looe\", \"days\": 3}<|og|>"),
        ("{name}:{json}", "Well.\n<go>tide:{\"harbour\": \"Looe\", \"days\": 3}</go>"),
        (
            "<do fn=\"{name}\">\n{params}</do>",
            "Well.\n<do fn=\"tide\">\n<arg name=\"harbour\">Looe</arg>\n<arg name=\"days\">3</arg>\n</do>",
        ),
        ("<fn={name}>\n{params}", "Well.\n<run>\n<fn=tide>\n<p=harbour>\nLooe\n</p>\n<p=days>\n3\n</p>\n</fn>\n</run>"),
        ("{params}</go>", "Well.\n<go>tide\n<key>harbour</key>\n<val>Looe</val>\n<key>days</key>\n<val>3</val>\n</go>"),
        ("{elements}", "Well.\n<act name=\"tide\"><harbour>Looe</harbour><days>3</days></act>"),
        ("{name}({kwargs})", "Well.<|py|>[tide(harbour='Looe', days=3)]<|/py|>"),
        ("{name}{literals}", "Well.<|go|>call:tide{harbour:<|q|>Looe<|q|>,days:3}<|og|>"),
    ] {
        for known in [tools(), Value::Null] {
            let made = made(&[output], &known, None);
            let written = made.text.replace("\\\"", "\"").replace("\\n", "\n");
            assert!(written.contains(syntax), "{syntax} is not in\n{}", made.text);
            check(&made, output, "Well.", &looe());
        }
    }
}

#[test]
fn thoughts_and_blocks_are_found() {
    let output = "<muse>They want the tide.</muse>\nLet me look.\n<calls>\n<do fn=\"tide\">\n<arg name=\"harbour\">Looe</arg>\n</do>\n<do fn=\"tide\">\n<arg name=\"harbour\">Hull</arg>\n</do>\n</calls>";
    let made = made(&[output], &tools(), None);
    check(&made, output, "Let me look.", &[json!({"harbour": "Looe"}), json!({"harbour": "Hull"})]);
    for piece in
        ["thought = \"<muse>{thought}</muse>", "block = ", "<calls>", "state = \"content\"", "ends = [\"<calls>\"]"]
    {
        assert!(made.text.contains(piece), "{piece} is not in\n{}", made.text);
    }
}

#[test]
fn the_template_shows_the_rest() {
    let template = r#"{% if tools %}{{ tools | tojson }}{% endif %}
{%- for m in messages %}
{{- '<|' + m.role + '|>\n' }}
{%- if m.reasoning_content %}{{ '<muse>\n' + m.reasoning_content + '\n</muse>\n' }}{% endif %}
{{- m.content }}
{%- if m.tool_calls %}{{ '\n<calls>' }}
{%- for call in m.tool_calls %}
{{- '<do fn="' + call.function.name + '">' }}{{ call.function.arguments | tojson }}{{ '</do>' }}
{%- endfor %}{{ '</calls>' }}{% endif %}
{{- '<|end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% if enable_thinking is not false %}{{ '<muse>\n' }}{% endif %}{% endif %}"#;
    let made = made(&[], &Value::Null, Some(template));
    let text = &made.text;
    for piece in [
        "{calls}",
        "<do fn=",
        "{json}</do>",
        "turn = [\"<|assistant|>\"]",
        "state = \"reasoning\"",
        "keys = [\"enable_thinking\"]",
    ] {
        assert!(text.contains(piece), "{piece} is not in\n{text}");
    }
    let tested = test(&Registry::builtin(), "heron.toml", text, Effort { count: 12, seed: 5 });
    assert!(tested.is_good(), "{tested:#?}\n{text}");
}

#[test]
fn a_known_format_is_told() {
    let output = "<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"harbour\": \"Looe\"}}\n</tool_call>";
    let made = made(&[output], &tools(), None);
    assert!(made.notes.iter().any(|note| note.contains("reads this output already")), "{:?}", made.notes);
    let outputs = ["Noon.".to_owned()];
    let registry = Registry::builtin();
    let wanted = Wanted { name: "heron", outputs: &outputs, tools: &Value::Null, template: None, registry: &registry };
    assert_eq!(new(&wanted), None, "plain words show nothing");
}
