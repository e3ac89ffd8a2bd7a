//! The corpus cases of checkpoints with a template, in every split; and the features of a template.

mod corpus;

use serde_json::{Value, json};

use super::*;
use crate::body::Eof;
use crate::diagnostic::DiagnosticKind;
use crate::limits::Limits;
use crate::schema::ToolSet;
use std::ops::Range;
use std::sync::Arc;

#[derive(Debug, Default, Clone, PartialEq)]
struct Reply {
    reasoning: String,
    content: String,
    /// Name, id, arguments, complete.
    calls: Vec<(String, Option<String>, String, bool)>,
    diagnostics: Vec<DiagnosticKind>,
    /// The texts of those.
    told: Vec<String>,
    /// Byte ranges of the output that are reasoning.
    thought: Vec<Range<usize>>,
    /// Where the input of the step begins in the output.
    base: usize,
}

impl MachineOut for Reply {
    fn reasoning(&mut self, text: &str, at: Range<usize>) {
        assert_eq!(text.len(), at.len());
        self.reasoning.push_str(text);
        let at = self.base + at.start..self.base + at.end;
        match self.thought.last_mut() {
            Some(last) if last.end == at.start => last.end = at.end,
            _ => self.thought.push(at),
        }
    }
    fn content(&mut self, text: &str, at: Range<usize>) {
        assert_eq!(text.len(), at.len());
        self.content.push_str(text);
    }
    fn answering(&mut self, _: usize) {}
    fn call(&mut self, call: Call<'_>) {
        self.calls.push((call.name.into(), call.id.map(Into::into), call.arguments.into(), call.complete));
    }
    fn report(&mut self, kind: DiagnosticKind, _at: usize, text: &str, _message: &str) {
        self.diagnostics.push(kind);
        self.told.push(text.to_owned());
    }
}

struct Setting {
    spec: Arc<TemplateSpec>,
    halves: Halves,
    tools: ToolSet,
    prompt: String,
    last: Eof,
    limits: Limits,
}

impl Setting {
    #[allow(clippy::needless_pass_by_value)]
    fn new(fields: Value) -> Self {
        let template = json!({"version": 1, "start_anchor": "<|bot|>", "fields": fields});
        Self {
            spec: Arc::new(TemplateSpec::parse(&template).unwrap()),
            halves: Halves { reasoning: true, tools: true },
            tools: ToolSet::from_openai(&json!([{"function": {"name": "set_lamp", "parameters": {"properties": {
                "room": {"type": "string"},
                "level": {"type": "integer"},
                "marks": {"type": "array", "items": {"type": "integer"}},
            }}}}])),
            prompt: "Hi.<|bot|>".into(),
            last: Eof::Stop,
            limits: Limits::default(),
        }
    }

    /// Feeds the pieces; `seen` receives the phase after each of them.
    fn run(&self, pieces: &[&str], mut seen: impl FnMut(Phase)) -> Reply {
        let mut machine = Machine::new(self.spec.clone(), self.halves);
        machine.prompt(&self.prompt, &self.limits);
        seen(machine.phase());
        let mut reply = Reply::default();
        let mut held = String::new();
        for i in 0..=pieces.len() {
            held.push_str(pieces.get(i).unwrap_or(&""));
            let saved = serde_json::to_string(machine.state()).unwrap();
            machine.restore(serde_json::from_str(&saved).unwrap());
            let eof = if i == pieces.len() { self.last } else { Eof::No };
            let mut cx = MachineCx { out: &mut reply, tools: &self.tools, limits: &self.limits, eof };
            let taken = machine.step(&held, &mut cx);
            held.drain(..taken);
            reply.base += taken;
            seen(machine.phase());
        }
        assert_eq!(held, "");
        reply
    }

    /// Reads `text` in every split; all results must be equal.
    fn read(&self, text: &str) -> Reply {
        let whole = self.run(&[text], |_| {});
        let chars: Vec<String> = text.chars().map(String::from).collect();
        let chars: Vec<&str> = chars.iter().map(String::as_str).collect();
        assert_eq!(self.run(&chars, |_| {}), whole, "{text:?} char by char");
        for (i, _) in text.char_indices() {
            assert_eq!(self.run(&[&text[..i], &text[i..]], |_| {}), whole, "{text:?} cut at {i}");
        }
        whole
    }

    fn calls(&self, text: &str) -> Vec<String> {
        let calls = self.read(text).calls.into_iter();
        calls.map(|(name, _, args, complete)| format!("{name} {args}{}", if complete { "" } else { " …" })).collect()
    }
}

fn function(name: &str, arguments: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn regions_are_told_apart() {
    let setting = Setting::new(json!({
        "thinking": {"open": ["<mull>", "<mull>\n"], "close": "</mull>"},
        "content": {"close": "<|stop|>"},
        "tool_calls": {"open": "<do>", "close": "</do>", "content": "json", "transform": function("{content.name}", "{content.arguments}")},
    }));
    let reply = setting.read("A <mull>\nb <do> c</mull> d<do>{\"name\": \"set_lamp\", \"arguments\": {\"level\" : 1.50}}</do> e<|stop|>f <do");
    assert_eq!((reply.reasoning.as_str(), reply.content.as_str()), ("b <do> c", "A  d ef <do"));
    assert_eq!(reply.calls, [("set_lamp".into(), None, "{\"level\" : 1.50}".into(), true)]);
    let open = Setting { prompt: "<|bot|>x<|bot|>y <mull>he".into(), ..setting };
    assert_eq!(open.read("re</mull>ok").reasoning, "re");
    let straddle = Setting { prompt: "<|bot|><mu".into(), ..open };
    assert_eq!(straddle.read("ll>in</mull>out").reasoning, "in");
    assert_eq!(straddle.read("d").content, "d");
    let region = Setting { prompt: "<|bot|><do>{\"name\": \"set".into(), ..straddle };
    assert_eq!(region.calls("_lamp\"}</do>"), ["set_lamp {}"]);
    assert_eq!(region.read("_lamp</do>").content, "_lamp</do>");
}

#[test]
fn a_constant_stands_for_the_name() {
    let setting = Setting::new(json!({"tool_calls": {"open": "<lamp>", "close": "</lamp>", "content": "json",
        "transform": {"id": "7", "function": {"name": "set_lamp", "arguments": {"room": "hall", "level": "{content.level}"}}}}}));
    let reply = setting.read("On.<lamp>{\"level\": 3}</lamp>");
    assert_eq!(reply.calls, [("set_lamp".into(), Some("7".into()), r#"{"room": "hall", "level": 3}"#.into(), true)]);
    let whole = json!({"tool_calls": {"open": "<lamp>", "close": "</lamp>", "content": "json",
        "transform": function("set_lamp", "{content}")}});
    assert_eq!(Setting::new(whole).calls("<lamp>{\"level\": 3}</lamp>"), [r#"set_lamp {"level": 3}"#]);
}

#[test]
fn keys_that_fit_nothing_are_told() {
    let by_tag = |content: &str| {
        Setting::new(json!({"tool_calls": {"open_pattern": r"<use fn=(?P<fn>\w+)>", "close": "</use>",
            "content": content, "transform": function("{fn}", "{content}")}}))
    };
    for (content, text) in [("xml-inline", "level = 3"), ("kv-lines", "level is 3")] {
        let reply = by_tag(content).read(&format!("<use fn=set_lamp>{text}</use>"));
        assert_eq!(reply.calls, [("set_lamp".into(), None, "{}".into(), true)], "{content}");
        assert_eq!(reply.told, [text], "{content}");
    }
    let bare = Setting::new(json!({"tool_calls": {"open": "<do>", "close": "</do>", "content": "json"}}));
    let mapped = Setting::new(json!({"tool_calls": {"open": "<do>", "close": "</do>", "content": "json",
        "transform": function("{content.name}", "{content.arguments}")}}));
    let each = Setting::new(json!({"tool_calls": {"open": "<do>", "close": "</do>", "content": "json",
        "transform_each": true, "transform": function("{name}", "{arguments}")}}));
    for (setting, list) in [(&bare, false), (&mapped, false), (&each, true)] {
        let text = |object: &str| if list { format!("<do>[{object}]</do>") } else { format!("<do>{object}</do>") };
        let reply = setting.read(&text(r#"{"name": "set_lamp", "with": {"level": 3}}"#));
        assert_eq!(reply.calls, [("set_lamp".into(), None, "{}".into(), true)]);
        assert_eq!(reply.told, [r#""with": {"level": 3}"#]);
        let plain = setting.read(&text(r#"{"name": "set_lamp"}"#));
        assert_eq!((plain.calls.len(), plain.told), (1, vec![]));
    }
}

#[test]
fn patterns_open_and_close_regions() {
    let setting = Setting::new(json!({
        "thinking": {"open_pattern": r"<think(?: mode=\w+)?>", "close_pattern": r"</think>\s*"},
        "tool_calls": {
            "open_pattern": r"(?:^|(?<=\n))<use fn=(?P<fn>[\w.]+)>", "close_pattern": r"</(use|(?P<id>\d+))>(?=\n|$)",
            "content": "kv-lines", "transform": {"id": "{id}", "function": {"name": "{fn}", "arguments": "{content}"}},
        },
    }));
    let reply =
        setting.read("<think mode=süß>a</think> \n b <use fn=x>\n<use fn=set_lamp>level: 3\nroom : 4</use></7>\nZ");
    assert_eq!((reply.reasoning.as_str(), reply.content.as_str()), ("a", "b <use fn=x>\n\nZ"));
    assert_eq!(reply.calls, [("set_lamp".into(), Some("7".into()), r#"{"level": 3, "room": "4</use>"}"#.into(), true)]);
    let at_start = setting.read("<use fn=set_lamp>level: 3</use>");
    assert_eq!(at_start.calls, [("set_lamp".into(), None, r#"{"level": 3}"#.into(), true)]);
}

#[test]
fn a_finished_pattern_is_taken_at_once() {
    let setting = Setting::new(json!({"thinking": {"open_pattern": "<t[0-9]>", "close_pattern": "</t[0-9]>"}}));
    let mut phases = Vec::new();
    setting.run(&["<t1>", "x", "</t1>"], |phase| phases.push(phase));
    assert_eq!(phases, [Phase::Waiting, Phase::Thinking, Phase::Thinking, Phase::Answering, Phase::Answering]);
    phases.clear();
    setting.run(&["<t", "1>x", "</t1", "><"], |phase| phases.push(phase));
    assert_eq!(phases[2..], [Phase::Thinking, Phase::Thinking, Phase::Answering, Phase::Answering]);
}

#[test]
fn contents_and_types() {
    let with = |content: Value| {
        let mut field = json!({"open_pattern": "<do (?P<fn>[a-z_]+)>", "close": "</do>", "transform": function("{fn}", "{content}")});
        field.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        Setting::new(json!({"tool_calls": field}))
    };
    let json = with(json!({"content": "json"}));
    assert_eq!(json.calls("<do set_lamp>{\"level\": \"3\",\"x\":1e2}</do>"), ["set_lamp {\"level\": \"3\",\"x\":1e2}"]);
    assert_eq!(json.calls("<do set_lamp>\"{\\\"level\\\": 3}\"</do>"), ["set_lamp {\"level\": 3}"]);
    assert_eq!(json.calls("<do set_lamp>null</do>"), ["set_lamp {}"]);
    assert_eq!(json.calls("<do set_lamp>{\"room\": tea</do>!"), ["set_lamp {\"room\":  …"]);
    assert_eq!(json.read("<do set_lamp>{} x</do>").diagnostics, [DiagnosticKind::UnplacedText]);
    let text = with(json!({}));
    assert_eq!(text.calls("<do set_lamp> {\"level\": 3} </do>"), ["set_lamp {\"level\": 3}"]);
    assert_eq!(text.calls("<do set_lamp></do>"), ["set_lamp {}"]);
    let free = with(
        json!({"content": "json", "content_args": {"unquoted_keys": true, "string_delims": [["<q>", "<q>"]], "allow_non_json": true}}),
    );
    assert_eq!(
        free.calls("<do set_lamp>{room: <q>a \"b\"<q>, level: 3}</do>"),
        [r#"set_lamp {"room": "a \"b\"", "level": 3}"#]
    );
    assert_eq!(free.calls("<do set_lamp>level 3</do>"), ["set_lamp level 3"]);
    let xml = with(
        json!({"content": "xml-inline", "content_args": {"tag_pattern": r"<(?P<key>\w+)>(?P<value>.*?)</\1>", "merge_duplicates": true}}),
    );
    assert_eq!(
        xml.calls("<do set_lamp><room>4</room>\n<level>3</level><marks>1</marks><marks>x</marks><n>5</n></do>"),
        [r#"set_lamp {"room": "4", "level": 3, "marks": [1, "x"], "n": "5"}"#]
    );
    assert_eq!(xml.calls("<do set_lamp>level</do>"), ["set_lamp {}"]);
    let lines =
        with(json!({"content": "kv-lines", "content_args": {"line_sep": ";", "kv_sep": "=", "value_parser": "json"}}));
    assert_eq!(
        lines.calls("<do set_lamp>level = \"3\"; room=[1.0];</do>"),
        [r#"set_lamp {"level": "3", "room": [1.0]}"#]
    );
    let int = with(json!({"content": "int"}));
    assert_eq!(int.read("<do set_lamp>many</do>").content, "<do set_lamp>many</do>");
}

#[test]
fn regions_that_the_output_cuts_off() {
    let fields = |content: &str| {
        json!({"tool_calls": {
            "open_pattern": "<do (?P<fn>[a-z_]+)>", "close": "</do>", "content": content, "transform": function("{fn}", "{content}"),
        }})
    };
    let mut json = Setting::new(fields("json"));
    let mut lines = Setting::new(fields("kv-lines"));
    assert_eq!(json.calls("<do set_lamp>{\"level\": 3}</d"), ["set_lamp {\"level\": 3}"]);
    assert_eq!(lines.calls("<do set_lamp>level: 3\nroom: 4"), [r#"set_lamp {"level": 3, "room": "4"}"#]);
    json.last = Eof::Length;
    lines.last = Eof::Length;
    assert_eq!(json.calls("<do set_lamp>{\"room\": \"n"), ["set_lamp {\"room\": \"n …"]);
    assert_eq!(lines.calls("<do set_lamp>level: 3\nroom: 4"), ["set_lamp {\"level\": 3 …"]);
    assert_eq!(json.read("<do set_la").content, "<do set_la");
    let mut each = Setting::new(json!({"tool_calls": {
        "open": "<do>", "close": "</do>", "content": "json", "transform_each": true, "transform": function("{name}", "{arguments}"),
    }}));
    assert_eq!(each.calls(r#"<do>[{"name": "a", "arguments": {}}, {"name": "b"}]</do>"#), ["a {}", "b {}"]);
    assert_eq!(
        each.read(r#"<do>[{"name": "a"}, {"name": ""}]</do>"#).content,
        r#"<do>[{"name": "a"}, {"name": ""}]</do>"#
    );
    assert_eq!(each.read("<do>[]</do>").content, "<do>[]</do>");
    each.last = Eof::Length;
    assert_eq!(each.calls(r#"<do>[{"name": "a", "arguments": {}}, {"na"#), ["a {}"]);
    assert_eq!(each.calls(r#"<do>[{"name": "a", "arguments": {"x": "#), [r#"a {"x":  …"#]);
    assert_eq!(each.calls(r#"<do>[{"name": "a", "#), ["a  …"]);
}

#[test]
fn halves_that_are_off_leave_text() {
    let mut setting = Setting::new(json!({
        "thinking": {"open": "<mull>", "close": "</mull>"},
        "tool_calls": {"open": "<do>", "close": "</do>", "content": "json"},
    }));
    setting.halves = Halves { reasoning: false, tools: false };
    let reply = setting.read("<mull>a</mull>b<do>{}</do>c");
    assert_eq!((reply.reasoning.as_str(), reply.content.as_str()), ("", "ab<do>{}</do>c"));
}

#[test]
fn a_region_that_is_too_long_is_text() {
    let mut setting = Setting::new(json!({"tool_calls": {"open": "<do>", "close": "</do>", "content": "json"}}));
    setting.limits.argument = 8;
    let reply = setting.read("<do>\"0123456789\"</do>é<do>éééééé</do>");
    assert_eq!(reply.content, "<do>\"0123456789\"</do>é<do>éééééé</do>");
    assert_eq!(reply.diagnostics, [DiagnosticKind::LimitReached, DiagnosticKind::LimitReached]);
}

#[test]
fn the_field_without_opener_may_be_the_thought() {
    let setting = Setting::new(
        json!({"thinking": {"close": "</mull>"}, "tool_calls": {"open": "<do>", "close": "</do>", "content": "json"}}),
    );
    let reply = setting.read("a</mull>b</mull>c");
    assert_eq!((reply.reasoning.as_str(), reply.content.as_str()), ("a", "bc"));
}

#[test]
fn templates_are_checked() {
    for (template, expected) in [
        (json!([]), "response_template: must be an object"),
        (json!({"version": 2, "start_anchor": "x", "fields": {}}), "response_template.version"),
        (json!({"version": 1, "fields": {}}), "start_anchor: is missing"),
        (json!({"version": 1, "start_anchor": "x"}), "fields: is missing"),
        (json!({"version": 1, "start_anchor": "x", "start_anchor_pattern": "y", "fields": {}}), "exclude each other"),
        (json!({"version": 1, "start_anchor_pattern": "(", "fields": {}}), "start_anchor_pattern: is no pattern"),
        (json!({"version": 1, "start_anchor": [], "fields": {}}), "start_anchor: must be a text"),
        (json!({"version": 1, "start_anchor": "x", "fields": {}, "extra": 1}), "unknown key `extra`"),
        (
            json!({"version": 1, "start_anchor": "x", "fields": {}, "defaults": {"name": 1}}),
            "defaults: unknown key `name`",
        ),
    ] {
        let error = TemplateSpec::parse(&template).unwrap_err();
        assert!(error.message.contains(expected) && error.hint.is_some(), "{template}: {error:?}");
    }
}

#[test]
fn fields_are_checked() {
    let thinking = json!({"open": "<a>", "close": "</a>"});
    for (fields, expected) in [
        (json!({"plan": thinking}), "fields: unknown key `plan`"),
        (json!({"thinking": {"opens": "<a>"}}), "fields.thinking: unknown key `opens`"),
        (json!({"thinking": {"open": "<a>", "open_pattern": "b"}}), "exclude each other"),
        (json!({"thinking": {"open_pattern": "[a"}}), "open_pattern: is no pattern"),
        (json!({"thinking": {"open_pattern": "a*"}}), "open_pattern: matches the empty text"),
        (json!({"thinking": {"open_pattern": "<(?P<k>a)>"}}), "no `transform`"),
        (json!({"thinking": {"open": "<a>", "content": "json"}}), "plain text"),
        (json!({"thinking": {"open": "<a>", "repeats": true, "join": ""}}), "plain text"),
        (json!({"thinking": {"open": "<a>", "join": ""}}), "join: needs"),
        (json!({"thinking": {"open": "<a>", "repeats": "yes"}}), "repeats: must be true or false"),
        (json!({"thinking": {"close": "</a>"}, "content": {}}), "more than one field has no opener"),
        (json!({"tool_calls": {"close": "</a>"}}), "tool_calls.open: is missing"),
        (json!({"tool_calls": {"open": "<a>", "content": "yaml"}}), "there is no parser `yaml`"),
        (
            json!({"tool_calls": {"open": "<a>", "content": "json", "content_args": {"strip": true}}}),
            "unknown key `strip`",
        ),
        (
            json!({"tool_calls": {"open": "<a>", "content": "json", "content_args": {"string_delims": [["a"]]}}}),
            "list of pairs",
        ),
        (
            json!({"tool_calls": {"open": "<a>", "content": "xml-inline", "content_args": {"tag_pattern": "<(?P<key>a)>"}}}),
            "no groups",
        ),
        (
            json!({"tool_calls": {"open": "<a>", "content": "kv-lines", "content_args": {"value_parser": "xml-inline"}}}),
            "value_parser",
        ),
        (
            json!({"tool_calls": {"open": "<a>", "content": "kv-lines", "content_args": {"kv_sep": ""}}}),
            "kv_sep: is empty",
        ),
        (json!({"tool_calls": {"open": "<a>", "transform_each": true}}), "transform_each: needs"),
        (
            json!({"tool_calls": {"open": "<a>", "transform": {"function": {"name": "{fn}"}}}}),
            "transform.function.name: `{fn}`",
        ),
        (json!({"tool_calls": {"open": "<a>", "transform": ["fn {content}"]}}), "transform[0]: a slot must be"),
    ] {
        let error = TemplateSpec::parse(&json!({"version": 1, "start_anchor": "x", "fields": fields})).unwrap_err();
        assert!(error.message.contains(expected) && error.hint.is_some(), "{fields}: {error:?}");
    }
    let spec =
        TemplateSpec::parse(&json!({"version": 1, "start_anchor": "x", "fields": {"thinking": thinking}})).unwrap();
    assert!(spec.serves(Halves { reasoning: true, tools: false }).is_ok());
    assert!(spec.serves(Halves { reasoning: true, tools: true }).unwrap_err().message.contains("--tool-call-parser"));
}

const FRAGMENTS: &[&str] = &[
    "<t",
    "<think>",
    "</think>",
    "<think mode=",
    ">",
    "a",
    "é",
    "\n",
    " ",
    "<use fn=f>",
    "</use>",
    "</use>\n",
    "</7>",
    "\n<use fn=",
    "k: v\n",
    "<do>",
    "</do>",
    "<do>\n",
    "{\"name\": \"f\", \"arguments\": ",
    "{}",
    "}",
    "\"",
    "<|stop|>",
    "<|st",
];

static SETTINGS: std::sync::LazyLock<[Setting; 2]> = std::sync::LazyLock::new(|| {
    [
        Setting::new(json!({
            "thinking": {"open_pattern": r"<think(?: mode=\w+)?>", "close_pattern": r"\s*</think>\s*"},
            "tool_calls": {
                "open_pattern": r"(?<=\n)<use fn=(?P<fn>[\w.]+)>", "close_pattern": r"</(use|\d)>(?=\n|$)",
                "content": "kv-lines", "transform": function("{fn}", "{content}"),
            },
        })),
        Setting::new(json!({
            "thinking": {"open": ["<think>", "<think>\n"], "close_pattern": r"\b</think>|</think>\n"},
            "content": {"close": "<|stop|>"},
            "tool_calls": {"open": ["<do>", "<do>\n"], "close": "</do>", "content": "json"},
        })),
    ]
});

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]
    #[test]
    fn any_text_in_any_cut(parts in proptest::collection::vec(0..FRAGMENTS.len(), 0..16), which in 0..2_usize) {
        let text: String = parts.iter().map(|i| FRAGMENTS[*i]).collect();
        SETTINGS[which].read(&text);
    }
}
