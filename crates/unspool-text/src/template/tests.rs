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
