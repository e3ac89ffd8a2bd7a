//! Chat templates that requests bring: each is rendered by a process of its own, which is ended when it takes too much.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use unspool_text::{PromptRequest, Prompter, Sandbox, SandboxLimits, Stop, TextError};

use crate::serve::Gateway;

const LIMITS: SandboxLimits = SandboxLimits { time: Duration::from_secs(2), memory: 128 << 20 };

/// What a template of a request comes to.
fn rendered(template: &str, messages: &[Value]) -> Result<String, TextError> {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_unspool")).limited(LIMITS);
    let prompter = Prompter::new(None, None, None).expect("there is nothing to be wrong").with_sandbox(sandbox);
    let request = PromptRequest {
        messages,
        tools: None,
        documents: None,
        kwargs: &Map::new(),
        template: Some(template),
        generation_prompt: true,
        continue_final: false,
    };
    prompter.render(&request).map(unspool_text::PromptText::into_text)
}

fn question() -> Vec<Value> {
    vec![json!({"role": "user", "content": "Ahoy"})]
}

#[test]
fn a_template_of_a_request_is_rendered() {
    let source =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}>{% endif %}";
    assert_eq!(rendered(source, &question()).as_deref(), Ok("<user>Ahoy\n>"));
    let long = vec![json!({"role": "user", "content": "é".repeat(1 << 20)})];
    assert_eq!(rendered(source, &long).map(|text| text.len()), Ok((2 << 20) + 8));
    let refusal = TextError { by_template: true, ..TextError::new("no") };
    assert_eq!(rendered("{{ raise_exception('no') }}", &question()), Err(refusal));
    for source in ["a\n{% if %}", "a\n{{ x.y.z }}", &format!("a\n{{{{ 1{} }}}}", "+1".repeat(100_000))] {
        let error = rendered(source, &question()).expect_err(source);
        assert!(error.message.contains("line 2"), "{error}");
    }
}

#[test]
fn no_template_takes_more_than_it_may() {
    let shared = "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(60) %}\
        {% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}";
    let itself = "{% set ns = namespace() %}{% set ns.a = ns %}";
    let text = "{% set a = 'a' * 1000000 %}{% set b = 'a' * 1000000 %}";
    let nested = "{% set ns = namespace(a=[]) %}{% for i in range(26600) %}{% set ns.a = [ns.a] %}{% endfor %}";
    for (first, second) in [
        (shared, "{{ ns.a == ns.b }}"),
        (shared, "{{ ns.a in [ns.b] }}"),
        (shared, "{{ ns.a | string | length }}"),
        (shared, "{{ ns.a | tojson | length }}"),
        (shared, "{{ [ns.a, ns.b] | sort | length }}"),
        (itself, "{{ ns | string }}"),
        (itself, "{{ ns ~ '' }}"),
        (itself, "{{ ns == namespace(a=ns) and [ns] == [ns] and ns | pprint }}"),
        (text, "{% for i in range(99999) %}{% if a == b %}{% endif %}{% endfor %}"),
        (text, "{% for i in range(99999) %}{% if a[999999] == 'b' %}{% endif %}{% endfor %}"),
        (nested, "{{ ns.a | string | length }}"),
        ("{% macro f(n) %}{{ f(n + 1) }}{{ f(n + 1) }}{% endmacro %}", "{{ f(1) }}"),
        ("", "{{ '{:>100000000000}'.format('a') }}"),
        ("", "{{ '{:.1000000000f}'.format(1.0) }}"),
        ("", "{{ 'a\\n' * 10000000 | indent(width='b' * 10000000) }}"),
    ] {
        let started = Instant::now();
        match rendered(&format!("{first}\n{second}"), &question()) {
            Ok(text) => assert!(text.len() < 100, "{second} gives {} bytes", text.len()),
            Err(error) => {
                let line = if first.starts_with("{% macro") { "line 1" } else { "line 2" };
                assert!(error.message.contains(line), "{second}: {error}");
            }
        }
        // Two attempts at most, each with its grace.
        assert!(started.elapsed() < 2 * LIMITS.time + Duration::from_secs(8), "{second}: {:?}", started.elapsed());
    }
}

#[test]
fn values_are_dropped_whatever_their_depth() {
    for end in ["{% set ns.a = 1 %}", ""] {
        let source = format!(
            "{{% set ns = namespace(a=[]) %}}{{% for i in range(26600) %}}{{% set ns.a = [ns.a] %}}{{% endfor %}}{end}done"
        );
        assert_eq!(rendered(&source, &question()).as_deref(), Ok("done"));
    }
}

#[test]
fn a_worker_ends_with_the_request() {
    let stop = Stop::default();
    let told = stop.clone();
    let started = Instant::now();
    let teller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        told.tell();
    });
    let endless = "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(60) %}\
        {% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}{{ ns.a == ns.b }}";
    let error = stop.during(|| rendered(endless, &question())).expect_err("nobody waits");
    teller.join().expect("it only waits");
    assert!(error.message.contains("given up") && started.elapsed() < LIMITS.time, "{error}");
}

#[test]
fn the_gateway_outlives_hostile_templates() {
    let gateway = Gateway::start(&["--chat-template", "{{ messages }}", "--trust-request-chat-template"]);
    let ask = |template: &str| {
        let body = json!({"messages": question(), "chat_template": template}).to_string();
        gateway.ask("POST /v1/chat/completions/render", &body)
    };
    let itself = ask("{% set ns = namespace() %}{% set ns.a = ns %}\n{{ ns | string }}");
    assert_eq!(itself["error"]["code"], 400, "{itself}");
    assert!(itself["error"]["message"].to_string().contains("line 2"), "{itself}");
    let deep = ask(&format!("{{{{ 1{} }}}}", "+1".repeat(1300)));
    assert_eq!(deep["error"]["code"], 400, "{deep}");
    assert_eq!(ask("{{ messages | length }} said")["prompt"], "1 said");
    assert_eq!(ask("{{ raise_exception('only questions') }}")["error"]["message"], "only questions");
}
