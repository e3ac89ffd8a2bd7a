use serde_json::json;

use super::*;

fn rendered(source: &str, context: serde_json::Value) -> Result<String, TextError> {
    let serde_json::Value::Object(context) = context else { panic!("a context is an object") };
    ChatTemplate::at_moment(source, "2026-02-03T04:05:06").and_then(|template| template.render(&context))
}

fn text(source: &str, context: serde_json::Value) -> String {
    rendered(source, context).unwrap_or_else(|error| panic!("{source}: {error}"))
}

#[test]
fn json_is_pythons() {
    let value =
        json!({"v": {"b": ["é🛶\u{7f}\n", 1.0, 1e16, true, null, 12_345_678_901_234_567_890_u64], "a": {}, "c": []}});
    let plain = "{\"b\": [\"é🛶\u{7f}\\n\", 1.0, 1e+16, true, null, 12345678901234567890], \"a\": {}, \"c\": []}";
    assert_eq!(text("{{ v | tojson }}", value.clone()), plain);
    let ascii = r#"{"a":{},"b":["\u00e9\ud83d\udef6\u007f\n",1.0,1e+16,true,null,12345678901234567890],"c":[]}"#;
    let source = "{{ v | tojson(ensure_ascii=true, separators=(',', ':'), sort_keys=true) }}";
    assert_eq!(text(source, value), ascii);
    assert_eq!(
        text("{{ v | tojson(indent=2) }}", json!({"v": {"a": [1, {}]}})),
        "{\n  \"a\": [\n    1,\n    {}\n  ]\n}"
    );
    assert!(rendered("{{ missing | tojson }}", json!({})).is_err());
}

#[test]
fn templates_have_what_transformers_gives_them() {
    assert_eq!(text("{{ strftime_now('%d %b %Y') }}", json!({})), "03 Feb 2026");
    assert_eq!(text("a\n  {% if true %}\nb\n  {% endif %}\nc\n", json!({})), "a\nb\nc");
    assert_eq!(
        text("{% for x in v %}{% if x > 2 %}{% break %}{% endif %}{{ x }}{% endfor %}", json!({"v": [1, 2, 3]})),
        "12"
    );
    assert_eq!(text("{%- generation -%} {{ v }} {%- endgeneration %}.", json!({"v": true})), "True.");
    let error =
        rendered("{{ raise_exception('Only ' ~ v) }}", json!({"v": "one system message"})).expect_err("refused");
    assert_eq!(error.message, "Only one system message");
}

#[test]
fn faults_name_the_line() {
    let error = rendered("a\n{% if %}", json!({})).expect_err("no Jinja");
    assert!(error.message.contains("line 2"), "{error}");
    let error = rendered("a\nb {{ message.content.text }}", json!({"message": {}})).expect_err("nothing there");
    assert!(error.message.contains("line 2") && error.hint.is_some(), "{error}");
}

#[test]
fn an_endless_template_is_stopped() {
    let source = "{% for a in range(9999) %}{% for b in range(9999) %}{% set c = a * b %}{% endfor %}{% endfor %}";
    let error = rendered(source, json!({})).expect_err("too many steps");
    assert!(error.hint.is_some(), "{error}");
}

#[test]
fn the_form_of_content_is_told_from_loops() {
    let format = |source: &str| ChatTemplate::new(source).expect("it is Jinja").content_format();
    for source in [
        "{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}",
        "{% set rest = messages[1:] %}{% for m in rest %}{% for part in m['content'] | list %}{% endfor %}{% endfor %}",
        "{% for m in messages %}{% set content = m.content %}{% for part in content %}{% endfor %}{% endfor %}",
        "{% macro say(it) %}{% for part in it %}{% endfor %}{% endmacro %}{% for m in messages %}{{ say(m.content) }}{% endfor %}",
        "{% macro say(a, it) %}{% for part in it %}{% endfor %}{% endmacro %}\
         {% for m in messages %}{{ say(1, it=m['content']) }}{% endfor %}",
    ] {
        assert_eq!(format(source), ContentFormat::OpenAi, "{source}");
    }
    for source in [
        "{% for m in messages %}{{ m.content }}{% endfor %}",
        "{% for m in messages %}{% for call in m.tool_calls %}{% endfor %}{% endfor %}",
        "{% macro say(content) %}{% for part in content %}{% endfor %}{% endmacro %}{{ say(tools) }}",
        "{% set ns.rest = messages %}{% for m in messages %}{% for part in m.content %}{% endfor %}{% endfor %}",
    ] {
        assert_eq!(format(source), ContentFormat::String, "{source}");
    }
}

/// A sandbox covers the rest; these limits apply everywhere.
#[test]
fn size_and_depth_are_bounded() {
    let repeated =
        |first: &str, again: &str, times: usize, last: &str| format!("a\n{first}{}{last}", again.repeat(times));
    // Each sign or word between the braces counts.
    let kinds: [(&str, &str, &str, usize); 9] = [
        ("{{ 1", "+1", " }}", 2),
        ("{{ 1", " or 1", " }}", 2),
        ("{{ ", "not ", "1 }}", 1),
        ("{{ 1", "|string", " }}", 2),
        ("{{ 1", " if 1 else 1", " }}", 4),
        ("{{ a", ".a", " }}", 2),
        ("{{ a", "[0]", " }}", 3),
        ("{{ a", " is defined", " }}", 2),
        ("{{ 'a'", "~'a'", " }}", 2),
    ];
    for (first, again, last, cost) in kinds {
        let most = (size::MOST_TOKENS - 8) / cost;
        // Within the limit it may still be too much for the engine, which then reports an error instead of crashing.
        let _ = ChatTemplate::new(&repeated(first, again, most, last));
        for times in [size::MOST_TOKENS, 50_000] {
            let error = ChatTemplate::new(&repeated(first, again, times, last)).expect_err(again);
            assert!(error.message.contains("line 2"), "{again:?}: {error}");
        }
    }
    let branches = |count: usize| repeated("{% if a %}", "{% elif a %}\n", count, "{% endif %}");
    assert!(ChatTemplate::new(&branches(size::MOST_BRANCHES)).is_ok());
    let error = ChatTemplate::new(&branches(size::MOST_BRANCHES + 1)).expect_err("too many branches");
    assert!(error.message.contains(&format!("line {}", size::MOST_BRANCHES + 2)), "{error}");
    let error = ChatTemplate::new(&" ".repeat(size::LONGEST + 1)).expect_err("too long");
    assert!(error.hint.is_some(), "{error}");
}

#[test]
fn memory_is_paid_for_before_it_is_taken() {
    for source in [
        "{{ '{:>100000000000}'.format('a') }}",
        "{{ '{:.1000000000f}'.format(1.0) }}",
        "{{ '{:.100000000000f}'.format(1.0) }}",
        "{{ ('a\n' * 1000000) | indent(width='b' * 1000000) }}",
        "{{ [['a'] * 1000000] | tojson(separators=['c' * 1000000, ':']) }}",
        "{{ [['a'] * 1000000] | tojson(indent='c' * 1000000) }}",
        "{% set ns = namespace(a=['a']) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% endfor %}{{ ns.a }}",
        "{% set ns = namespace(a=['a']) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% endfor %}{{ ns.a | tojson }}",
        "{% set ns = namespace(a='a') %}{% for i in range(60) %}{% set ns.a = ns.a + ns.a %}{% endfor %}",
    ] {
        let started = std::time::Instant::now();
        let error = rendered(&format!("a\n{source}"), json!({})).expect_err(source);
        assert!(error.message.contains("line 2") || source.contains('\n'), "{source}: {error}");
        assert!(started.elapsed() < 2 * LONGEST, "{source}");
    }
}

#[test]
fn a_value_that_holds_itself_is_not_written() {
    for source in ["{{ ns }}", "{{ ns | tojson }}", "{{ '{}'.format(ns) }}"] {
        let source = format!("{{% set ns = namespace() %}}{{% set ns.a = ns %}}\n{source}");
        let error = rendered(&source, json!({})).expect_err("it has no end");
        assert!(error.message.contains("line 2") && error.message.contains("holds itself"), "{error}");
    }
}

#[test]
fn rendering_ends_when_nobody_waits() {
    let template = ChatTemplate::new("a\n{{ v }}").expect("it is Jinja");
    let stop = crate::Stop::default();
    let render = || stop.during(|| template.render(&Map::new()));
    assert!(render().is_ok());
    stop.tell();
    let error = render().expect_err("nobody waits");
    assert!(error.message.contains("given up"), "{error}");
}

#[test]
fn marks_change_nothing_and_tell_each_line() {
    use std::sync::{Arc, Mutex};

    let source = "{% macro say(it, again=2) %}\n{{ it }}{{ again }}{{ caller() if caller }}\n{% endmacro %}\n\
        {% for a in v if a != 2 %}\n{% if a == 1 %}one\n{% elif a == 3 %}\n{% continue %}\n{% else %}\n{{ say(a) }}\n{% endif %}\n\
        {% else %}\nnone\n{% endfor %}\n{% for a in w recursive %}\n{{ a.n }}{{ loop(a.w) if a.w }}\n{% endfor %}\n\
        {% set x %}\n{{ 'y' if v and not w or 1 }}\n{% endset %}\n{{ x }}{% call say(1) %}\nb\n{% endcall %}\nend";
    for context in [json!({"v": [1, 2, 3, 4], "w": [{"n": 1, "w": [{"n": 2}]}]}), json!({"v": [], "w": []})] {
        let serde_json::Value::Object(context) = context else { panic!("a context is an object") };
        let lines = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&lines);
        let mark = move |line| told.lock().expect("nobody panics").push(line);
        let traced = ChatTemplate::traced(source, mark).expect("it is Jinja").render(&context);
        assert_eq!(traced, ChatTemplate::new(source).expect("it is Jinja").render(&context));
        assert!(traced.as_ref().is_ok_and(|text| text.ends_with("end")), "{traced:?}");
        let last = source.lines().count() as u32;
        let lines = lines.lock().expect("nobody panics");
        assert!(lines.contains(&4) && lines.iter().all(|line| (1..=last).contains(line)), "{lines:?}");
    }
}
