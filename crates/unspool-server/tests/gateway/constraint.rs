//! Structured outputs as each kind of backend receives them.

use serde_json::{Value, json};
use unspool::grammar::{Options, StrictLevel};
use unspool::sample::Sampler;
use unspool::{Pair, Registry, Request, Setup};
use unspool_server::{
    App, BackendSpec, ConstraintConfig, GrammarBackend, LevelOption, RemoteKind, ServeConfig, Switch,
};

use crate::common::{Choice, Gateway, chat, json_of, pair, plain_chat, tools, with};
use crate::fake::{Fake, in_front, singly};

/// Where a body of each kind has a structural tag, a grammar of llguidance, a schema.
const PLACES: [(RemoteKind, [&str; 3]); 4] = [
    (
        RemoteKind::Vllm,
        ["/structured_outputs/structural_tag", "/structured_outputs/grammar", "/structured_outputs/json"],
    ),
    (RemoteKind::Sglang, ["/sampling_params/structural_tag", "/sampling_params/ebnf", "/sampling_params/json_schema"]),
    (RemoteKind::LlamaCpp, ["/no", "/grammar", "/json_schema"]),
    (RemoteKind::Tgi, ["/no", "/no", "/parameters/grammar/value"]),
];

fn place(kind: RemoteKind, notation: usize) -> &'static str {
    PLACES.iter().find(|(known, _)| *known == kind).map_or("/no", |(_, places)| places[notation])
}

fn named(backend: GrammarBackend) -> ConstraintConfig {
    ConstraintConfig { structured_outputs_backend: backend, enforce: Some(true), ..ConstraintConfig::default() }
}

/// What a server of this kind is asked for one request.
async fn asked(kind: RemoteKind, constraint: ConstraintConfig, body: &Value) -> Value {
    asked_by(kind, |config| ServeConfig { constraint, ..config }, body).await
}

async fn asked_by(kind: RemoteKind, set: impl FnOnce(ServeConfig) -> ServeConfig, body: &Value) -> Value {
    let answers = vec![singly("Hm.</think>Aye."), singly("Aye.")];
    let (fake, url) = Fake::start(kind, answers).await;
    let gateway = Gateway::start(set(in_front(kind, url))).await;
    gateway.whole(body).await;
    fake.seen().remove(0)
}

/// The constraint in a body, whatever its notation.
fn constraint(kind: RemoteKind, body: &Value) -> Option<(usize, Value)> {
    let all: Vec<_> = (0..3).filter_map(|n| body.pointer(place(kind, n)).map(|value| (n, value.clone()))).collect();
    assert!(all.len() <= 1, "one constraint at most: {body}");
    all.into_iter().next()
}

fn core_pair() -> Pair {
    let setup =
        Setup { reasoning_parser: Some("qwen3".into()), tool_parser: Some("hermes".into()), ..Setup::default() };
    Registry::builtin().pair(&setup).expect("the names are known")
}

fn strict(mut tools: Value) -> Value {
    tools[0]["function"]["strict"] = true.into();
    tools
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"depth": {"type": "integer"}}, "required": ["depth"], "additionalProperties": false})
}

fn response_format() -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "depth", "schema": schema()}})
}

/// Thinking is off, so that no thought stands in front.
fn no_thought(more: Value) -> Value {
    with(json!({"chat_template_kwargs": {"enable_thinking": false}}), more)
}

const WIND: &str = r#"{"type": "function", "function": {"name": "wind"}}"#;

#[tokio::test]
async fn calls_are_held_as_the_level_and_the_request_say() {
    let wind: Value = serde_json::from_str(WIND).expect("it is JSON");
    let (auto, function, parameter) = (StrictLevel::Auto, StrictLevel::Function, StrictLevel::Parameter);
    // Level, request, whether there is a tag, and of which tools it has the schemas.
    let cases = [
        (auto, json!({}), None),
        (auto, json!({"tools": strict(tools())}), Some((true, false))),
        (auto, json!({"parallel_tool_calls": false}), Some((false, false))),
        (auto, json!({"tool_choice": "required"}), Some((false, false))),
        (auto, json!({"tool_choice": "required", "tools": strict(tools())}), Some((true, false))),
        (auto, json!({"tool_choice": wind}), Some((false, false))),
        (auto, json!({"tool_choice": "none"}), None),
        (function, json!({}), Some((false, false))),
        (function, json!({"tool_choice": wind}), Some((false, false))),
        (parameter, json!({}), Some((true, true))),
        (parameter, json!({"tool_choice": "required"}), Some((true, true))),
        (parameter, json!({"tool_choice": wind}), Some((false, true))),
    ];
    for kind in [RemoteKind::Vllm, RemoteKind::Sglang] {
        for (level, more, expected) in &cases {
            let config = ConstraintConfig { tool_strict_level: LevelOption(*level), ..named(GrammarBackend::Auto) };
            let body = asked(kind, config, &chat(no_thought(more.clone()))).await;
            let found = constraint(kind, &body).map(|(notation, tag)| {
                assert_eq!(notation, 0, "it is a structural tag: {body}");
                let tag = tag.as_str().expect("tags are sent as text").to_owned();
                assert_eq!(serde_json::from_str::<Value>(&tag).expect("a tag is JSON")["type"], "structural_tag");
                assert!(!tag.contains("</think"), "no thought stands in front: {tag}");
                // Only the schema of `wind` has days, and only that of `tide` ends behind the port.
                (tag.contains("\"required\":[\"port\"]"), tag.contains("\"days\""))
            });
            assert_eq!(found, *expected, "{kind} {level:?} {more}: {body}");
        }
    }
}

#[tokio::test]
async fn the_tag_is_the_one_of_the_format() {
    let body = chat(no_thought(json!({"tool_choice": "required", "parallel_tool_calls": false})));
    let request = Request::from_openai(&body).expect("the request is right");
    let grammar =
        core_pair().grammar(&request, &Options::default()).expect("it can be said").expect("a call is demanded");
    for kind in [RemoteKind::Vllm, RemoteKind::Sglang] {
        let seen = asked(kind, named(GrammarBackend::Auto), &body).await;
        assert_eq!(seen.pointer(place(kind, 0)), Some(&json!(grammar.structural_tag().to_string())), "{kind}");
        let seen = asked(kind, named(GrammarBackend::Guidance), &body).await;
        assert_eq!(seen.pointer(place(kind, 1)), Some(&json!(grammar.lark())), "{kind}");
    }
    let seen = asked(RemoteKind::LlamaCpp, named(GrammarBackend::Guidance), &body).await;
    assert_eq!(seen["grammar"], grammar.lark());
    assert!(grammar.lark().starts_with("%llguidance {}\n"), "the server knows the notation by it");
}

/// A strict tool with definitions of which each holds the next one twice.
fn doubled(depth: usize) -> Value {
    let next = |i: usize| json!({"$ref": format!("#/$defs/d{}", i + 1)});
    let mut definitions: serde_json::Map<String, Value> =
        (0..depth).map(|i| (format!("d{i}"), json!({"anyOf": [next(i), next(i)]}))).collect();
    definitions.insert(format!("d{depth}"), json!({"type": "string"}));
    json!([{"type": "function", "function": {"name": "tide", "strict": true, "parameters": {
        "type": "object", "properties": {"port": {"$ref": "#/$defs/d0"}}, "$defs": definitions}}}])
}

#[tokio::test]
async fn a_schema_that_doubles_itself_is_a_small_grammar_and_a_large_one_is_refused() {
    let kind = RemoteKind::Vllm;
    let body = chat(no_thought(json!({"tools": doubled(40), "tool_choice": "required"})));
    let seen = asked(kind, named(GrammarBackend::Auto), &body).await;
    let tag = seen.pointer(place(kind, 0)).and_then(Value::as_str).expect("there is a tag").len();
    assert!(tag < 3 * body.to_string().len(), "{tag} bytes");

    let limit = "bytes=1KiB,nodes=200000".parse().expect("it is a limit");
    let (_fake, url) = Fake::start(kind, Vec::new()).await;
    let constraint = ConstraintConfig { grammar_limit: limit, ..named(GrammarBackend::Auto) };
    let gateway = Gateway::start(ServeConfig { constraint, ..in_front(kind, url) }).await;
    let response = gateway.post("/v1/chat/completions", &body).await;
    assert_eq!(response.status(), 400);
    let told = json_of(response).await;
    let message = told["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("`tide`") && message.contains("`bytes=1KiB`"), "{told}");
    assert_eq!(told["error"]["param"], "tools");
}

#[tokio::test]
async fn a_thought_stands_in_front_as_the_prompt_has_it() {
    let demand = json!({"tool_choice": "required"});
    let (gated, open) =
        (ConstraintConfig { backend_reasoning_parser: true, ..named(GrammarBackend::Auto) }, chat(demand.clone()));
    let tag = |kind, body: &Value| constraint(kind, body).map(|(_, tag)| tag.to_string()).unwrap_or_default();
    for kind in [RemoteKind::Vllm, RemoteKind::Sglang] {
        let within = asked(kind, named(GrammarBackend::Auto), &open).await;
        assert!(tag(kind, &within).contains("</think"), "the thought is open, and must be closed: {within}");
        assert_eq!(within.get("require_reasoning"), None);
        let closed = asked(kind, gated.clone(), &chat(no_thought(demand.clone()))).await;
        let outside = asked(kind, gated.clone(), &open).await;
        assert_eq!(tag(kind, &outside), tag(kind, &closed), "the backend sees to the thought");
        let waits = (kind == RemoteKind::Sglang).then_some(json!(true));
        assert_eq!((outside.get("require_reasoning"), closed.get("require_reasoning")), (waits.as_ref(), None));
    }
    // From the first token on: the request says so to SGLang, and open reasoning is closed.
    for (config, more) in [
        (ConstraintConfig { enable_in_reasoning: Switch(true), ..gated.clone() }, json!({})),
        (gated, json!({"include_reasoning": false})),
    ] {
        let body = asked(RemoteKind::Sglang, config, &with(open.clone(), more)).await;
        assert!(
            tag(RemoteKind::Sglang, &body).contains("</think") && body.get("require_reasoning").is_none(),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_thought_that_may_come_is_left_out_where_nobody_reads_it() {
    let body = chat(json!({"tool_choice": "required", "chat_template_kwargs": {"enable_thinking": true}}));
    for (config, more, expected) in [
        (named(GrammarBackend::Auto), json!({}), true),
        (named(GrammarBackend::Auto), json!({"include_reasoning": false}), false),
        (ConstraintConfig { enable_in_reasoning: Switch(true), ..named(GrammarBackend::Auto) }, json!({}), false),
    ] {
        let (fake, url) = Fake::start(RemoteKind::Vllm, vec![singly("Aye.")]).await;
        // The prompt says nothing of a thought, and this format begins outside of one.
        let template = Some("{{ messages[0].content }}".to_owned());
        let base = ServeConfig { backend: in_front(RemoteKind::Vllm, url).backend, ..pair("gemma4", "gemma4") };
        let config = ServeConfig { constraint: config, chat_template: template, ..base };
        let gateway = Gateway::start(config).await;
        gateway.whole(&with(body.clone(), more.clone())).await;
        let tag = constraint(RemoteKind::Vllm, &fake.seen().remove(0)).expect("a call is demanded").1.to_string();
        assert_eq!(tag.contains("<|channel>"), expected, "{more}: {tag}");
    }
}

#[tokio::test]
async fn an_answer_of_a_form_stands_behind_the_thought() {
    for kind in [RemoteKind::Vllm, RemoteKind::Sglang] {
        let seen =
            asked(kind, named(GrammarBackend::Auto), &plain_chat(json!({"response_format": response_format()}))).await;
        let (notation, tag) = constraint(kind, &seen).expect("there is a form");
        let tag = tag.to_string();
        assert!(notation == 0 && tag.contains("</think") && tag.contains("depth"), "{kind}: {seen}");
        assert_eq!(seen.get("response_format"), None, "never two of them: {seen}");
    }
    // Without a thought in front, or where the backend sees to it, the backend's own way is the best.
    let closed = no_thought(json!({"response_format": response_format()}));
    for (config, more) in [
        (named(GrammarBackend::Auto), closed.clone()),
        (
            ConstraintConfig { backend_reasoning_parser: true, ..named(GrammarBackend::Auto) },
            json!({"response_format": response_format()}),
        ),
        (named(GrammarBackend::Guidance), closed.clone()),
        (named(GrammarBackend::None), json!({"response_format": response_format()})),
    ] {
        let seen = asked(RemoteKind::Vllm, config, &plain_chat(more)).await;
        assert_eq!(
            (&seen["response_format"], constraint(RemoteKind::Vllm, &seen)),
            (&response_format(), None),
            "{seen}"
        );
    }
}

#[tokio::test]
async fn tools_and_a_form_are_one_constraint() {
    let both = no_thought(json!({"response_format": response_format()}));
    for (kind, config) in [
        (RemoteKind::Vllm, named(GrammarBackend::Auto)),
        (RemoteKind::Sglang, named(GrammarBackend::Guidance)),
        (RemoteKind::LlamaCpp, named(GrammarBackend::Guidance)),
    ] {
        let seen = asked(kind, config, &chat(both.clone())).await;
        let (_, grammar) = constraint(kind, &seen).expect("there is a form");
        let grammar = grammar.to_string();
        assert!(
            grammar.contains("depth") && grammar.contains("tide") && grammar.contains("<tool_call>"),
            "{kind}: {grammar}"
        );
        assert_eq!(seen.get("response_format"), None, "{kind}");
    }
    // A call that must come counts before the form of an answer.
    let demanded = with(both, json!({"tool_choice": "required"}));
    let seen = asked(RemoteKind::Vllm, named(GrammarBackend::Auto), &chat(demanded)).await;
    let tag = constraint(RemoteKind::Vllm, &seen).expect("a call is demanded").1.to_string();
    assert!(!tag.contains("depth") && tag.contains("tide") && seen.get("response_format").is_none(), "{seen}");
    // What only the backend knows goes on to it, and the calls are free.
    let regex = no_thought(json!({"structured_outputs": {"regex": "a+"}, "tools": strict(tools())}));
    let seen = asked(RemoteKind::Vllm, named(GrammarBackend::Auto), &chat(regex)).await;
    assert_eq!(seen["structured_outputs"], json!({"regex": "a+"}));
    let regex = json!({"structured_outputs": {"regex": "a+"}, "tool_choice": "required"});
    let seen = asked(RemoteKind::Vllm, named(GrammarBackend::Auto), &chat(no_thought(regex))).await;
    assert_eq!(seen["structured_outputs"].as_object().map(|outputs| outputs.len()), Some(1));
    assert!(seen["structured_outputs"]["structural_tag"].is_string(), "{seen}");
}

#[tokio::test]
async fn guided_json_stands_in_where_nothing_else_goes() {
    let demand = no_thought(json!({"tool_choice": "required"}));
    for (kind, config) in [
        (RemoteKind::LlamaCpp, named(GrammarBackend::Auto)),
        (RemoteKind::Tgi, named(GrammarBackend::Auto)),
        (RemoteKind::Vllm, named(GrammarBackend::Outlines)),
    ] {
        let seen = asked(kind, config.clone(), &chat(demand.clone())).await;
        let (notation, schema) = constraint(kind, &seen).expect("a call is demanded");
        assert_eq!((notation, &schema["type"], &schema["minItems"]), (2, &json!("array"), &json!(1)), "{kind}: {seen}");
        let named = no_thought(json!({"tool_choice": {"type": "function", "function": {"name": "tide"}}}));
        let seen = asked(kind, config, &chat(named)).await;
        assert_eq!(constraint(kind, &seen), Some((2, tools()[0]["function"]["parameters"].clone())), "{kind}: {seen}");
    }
    // vLLM's JSON path, for a format that has it.
    for (format, expected) in [("pythonic", true), ("hermes", false)] {
        let constraint = ConstraintConfig { enforce: Some(false), ..ConstraintConfig::default() };
        let set = |config: ServeConfig| ServeConfig { constraint, tool_call_parser: Some(format.to_owned()), ..config };
        let seen = asked_by(RemoteKind::Vllm, set, &chat(demand.clone())).await;
        assert_eq!(
            self::constraint(RemoteKind::Vllm, &seen).map(|(notation, _)| notation),
            expected.then_some(2),
            "{seen}"
        );
    }
    // Strict tools that need not be called cannot be held by a schema alone; the request is answered all the same.
    let seen =
        asked(RemoteKind::Tgi, named(GrammarBackend::Auto), &chat(no_thought(json!({"tools": strict(tools())})))).await;
    assert_eq!(constraint(RemoteKind::Tgi, &seen), None);
    let seen = asked(
        RemoteKind::Tgi,
        named(GrammarBackend::Auto),
        &plain_chat(no_thought(json!({"response_format": response_format()}))),
    )
    .await;
    assert_eq!(constraint(RemoteKind::Tgi, &seen), Some((2, schema())));
}

#[tokio::test]
async fn a_raw_server_is_sent_the_clients_form_behind_the_thought() {
    let forms = [
        ("response_format", response_format()),
        ("structured_outputs", json!({"json": schema()})),
        ("structured_outputs", json!({"regex": ".*4."})),
    ];
    for (field, form) in forms {
        let answers = vec![singly("Two keels.</think>\n\nAye"), singly("{\"depth\": 4}")];
        let (fake, url) = Fake::start(RemoteKind::OpenAi, answers).await;
        let gateway = Gateway::start(in_front(RemoteKind::OpenAi, url)).await;
        let whole = Choice::of_whole(&gateway.whole(&plain_chat(json!({field: form}))).await["choices"][0]);
        assert_eq!((whole.reasoning.as_str(), whole.content.as_str()), ("Two keels.", "{\"depth\": 4}"), "{field}");
        let [first, second] = &fake.seen()[..] else { panic!("{field}: it is asked twice") };
        assert_eq!((first.get(field), second.get(field)), (None, Some(&form)));
        // Where no thought can come, it is sent at once.
        let body = plain_chat(no_thought(json!({field: form})));
        assert_eq!(asked(RemoteKind::OpenAi, named(GrammarBackend::Auto), &body).await[field], form);
    }
}

#[tokio::test]
async fn a_raw_server_is_sent_what_the_client_sent() {
    let more = json!({"tool_choice": "required", "structured_outputs": {"regex": "a"}});
    let seen = asked(RemoteKind::OpenAi, named(GrammarBackend::Auto), &chat(more)).await;
    assert_eq!(seen["structured_outputs"], json!({"regex": "a"}));
    let seen = asked(RemoteKind::OpenAi, named(GrammarBackend::Auto), &chat(json!({"tool_choice": "required"}))).await;
    assert_eq!(seen.get("structured_outputs"), None);
    let seen = asked(RemoteKind::Vllm, named(GrammarBackend::None), &chat(json!({"tool_choice": "required"}))).await;
    assert_eq!(seen.get("structured_outputs"), None);
}

#[tokio::test]
async fn rendering_shows_what_the_backend_would_be_told() {
    let (_, url) = Fake::start(RemoteKind::Vllm, Vec::new()).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let body = chat(json!({"tool_choice": "required", "thinking_token_budget": 8}));
    let told = json_of(gateway.post("/v1/chat/completions/render", &body).await).await;
    let params = &told["sampling_params"];
    assert!(
        params["structured_outputs"]["structural_tag"].as_str().is_some_and(|tag| tag.contains("</think")),
        "{told}"
    );
    assert_eq!(params["thinking_token_budget"], 8);
}

#[tokio::test]
async fn what_a_grammar_admits_comes_back_as_calls() {
    let tool = json!([{"type": "function", "function": {"name": "moor", "strict": true, "parameters": {
        "type": "object", "properties": {"berth": {"type": "string"}, "metres": {"type": "integer"}},
        "required": ["berth", "metres"], "additionalProperties": false}}}]);
    let body = chat(json!({"tools": tool, "tool_choice": "required"}));
    let request = Request::from_openai(&body).expect("the request is right");
    let options = Options { with_thought: true, thought_open: Some(true), ..Options::default() };
    let grammar = core_pair().grammar(&request, &options).expect("it can be said").expect("a call is demanded");
    for seed in 0..8 {
        let text = grammar.sample(&mut Sampler::new(seed));
        let (fake, url) = Fake::start(RemoteKind::Vllm, vec![singly(&text), singly(&text)]).await;
        let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
        let whole = Choice::of_whole(&gateway.whole(&body).await["choices"][0]);
        assert_eq!(fake.seen()[0]["structured_outputs"]["structural_tag"], grammar.structural_tag().to_string());
        assert!(!whole.reasoning.is_empty() && !whole.calls.is_empty(), "{text}: {whole:?}");
        for (name, arguments) in whole.called() {
            assert!(name == "moor" && arguments["berth"].is_string() && arguments["metres"].is_i64(), "{text}");
        }
        let streamed = gateway.streamed(&body).await.one().comparable();
        assert_eq!(streamed, whole.comparable(), "{text}");
    }
}

#[tokio::test]
async fn a_schema_that_cannot_stand_behind_a_thought_is_told_when_it_is_over() {
    let form = plain_chat(json!({"response_format": response_format(), "max_tokens": 100}));
    for kind in [RemoteKind::LlamaCpp, RemoteKind::Tgi] {
        let answers = || vec![singly("Two keels.</think>\n\nAye, it is"), singly("{\"depth\": 4}")];
        let (fake, url) = Fake::start(kind, [answers(), answers()].concat()).await;
        let gateway = Gateway::start(in_front(kind, url)).await;
        let answer = gateway.whole(&form).await;
        let whole = Choice::of_whole(&answer["choices"][0]);
        let said = (whole.reasoning.as_str(), whole.content.as_str(), whole.finish.as_deref());
        assert_eq!(said, ("Two keels.", "{\"depth\": 4}", Some("stop")), "{kind}");
        let [first, second] = &fake.seen()[..] else { panic!("{kind}: it is asked twice") };
        assert_eq!(constraint(kind, first), None, "{kind}: the thought is free");
        assert_eq!(constraint(kind, second), Some((2, schema())), "{kind}");
        let prompt = second.get("prompt").or_else(|| second.get("inputs")).expect("there is a prompt").to_string();
        assert!(prompt.contains("260]") || prompt.ends_with("Two keels.</think>\""), "{kind}: {prompt}");
        let left = second.pointer("/n_predict").or_else(|| second.pointer("/parameters/max_new_tokens"));
        assert_eq!(left, Some(&json!(100 - 11)), "{kind}");
        assert_eq!(answer["usage"]["completion_tokens"], 11 + 12, "{kind}: {}", answer["usage"]);
        let streamed = gateway.streamed(&form).await;
        assert_eq!(streamed.one().comparable(), whole.comparable(), "{kind}");
    }
}

#[tokio::test]
async fn an_answer_that_begins_without_a_thought_is_begun_anew() {
    let form =
        plain_chat(json!({"response_format": response_format(), "chat_template_kwargs": {"enable_thinking": true}}));
    for (written, thought) in [("It is 4.", ""), ("<|channel>thought\nHm.\n<channel|>It is 4.", "Hm.")] {
        let (fake, url) = Fake::start(RemoteKind::LlamaCpp, vec![singly(written), singly("{\"depth\": 4}")]).await;
        // A thought may come, and it may not.
        let template = Some("{{ messages[0].content }}".to_owned());
        let base = ServeConfig { backend: in_front(RemoteKind::LlamaCpp, url).backend, ..pair("gemma4", "gemma4") };
        let gateway = Gateway::start(ServeConfig { chat_template: template, ..base }).await;
        let whole = Choice::of_whole(&gateway.whole(&form).await["choices"][0]);
        assert_eq!((whole.reasoning.trim(), whole.content.as_str()), (thought, "{\"depth\": 4}"), "{written}");
        let [first, second] = &fake.seen()[..] else { panic!("{written}: it is asked twice") };
        assert_eq!((first.get("json_schema"), second.get("json_schema")), (None, Some(&schema())), "{written}");
        let prompts = [first, second].map(|body| body["prompt"].as_str().unwrap_or_default().to_owned());
        assert_eq!(prompts[0] == prompts[1], thought.is_empty(), "{prompts:?}");
        assert!(!prompts[1].contains("It is"), "{prompts:?}");
    }
}

#[tokio::test]
async fn a_piece_that_ends_the_thought_and_goes_on_is_cut_in_between() {
    let pieces = ["Two ke", "els.</think>\n\nAye"].map(str::to_owned).to_vec();
    let (fake, url) = Fake::start(RemoteKind::LlamaCpp, vec![pieces, singly("{\"depth\": 4}")]).await;
    // Nothing is known here of the tokens.
    let template = Some("{{ messages[0].content }}<think>".to_owned());
    let base = ServeConfig { backend: in_front(RemoteKind::LlamaCpp, url).backend, ..pair("qwen3", "hermes") };
    let gateway = Gateway::start(ServeConfig { chat_template: template, ..base }).await;
    let form = plain_chat(json!({"response_format": response_format()}));
    let whole = Choice::of_whole(&gateway.whole(&form).await["choices"][0]);
    assert_eq!((whole.reasoning.as_str(), whole.content.as_str()), ("Two keels.", "{\"depth\": 4}"));
    let prompt = fake.seen()[1]["prompt"].clone();
    assert!(prompt.as_str().is_some_and(|prompt| prompt.ends_with("<think>Two keels.</think>")), "{prompt}");
}

#[tokio::test]
async fn formats_that_the_checkpoint_brings_guarantee_nothing() {
    let calls = json!({"open": "<act>", "close": "</act>", "content": "json", "repeats": true,
        "transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}});
    let thinking = json!({"open": "<muse>", "close": "</muse>"});
    let template = json!({"version": 1, "start_anchor": "<|bot|>",
        "fields": {"thinking": thinking, "content": {}, "tool_calls": calls}});
    let folder = crate::model::model_folder();
    let config =
        json!({"bos_token": "<s>", "chat_template": "{{ messages[0].content }}", "response_template": template});
    std::fs::write(folder.join("tokenizer_config.json"), config.to_string()).expect("the folder takes files");
    let (fake, url) = Fake::start(RemoteKind::Vllm, vec![singly("Aye."); 2]).await;
    let backend = in_front(RemoteKind::Vllm, url).backend;
    let gateway = Gateway::start(ServeConfig { backend, model_dir: Some(folder), ..pair("hf", "hf") }).await;
    gateway.whole(&chat(json!({"response_format": response_format()}))).await;
    gateway.whole(&chat(json!({}))).await;
    let seen = fake.seen();
    let [formed, free] = &seen[..] else { panic!("each is asked once: {seen:?}") };
    assert_eq!((&formed["response_format"], free.get("structured_outputs")), (&response_format(), None));
    for more in
        [json!({"tool_choice": "required"}), json!({"tools": strict(tools())}), json!({"parallel_tool_calls": false})]
    {
        let told = gateway.post("/v1/chat/completions", &chat(more.clone())).await;
        assert_eq!(told.status(), 400, "{more}");
        assert!(told.text().await.expect("there is a body").contains("hint: "), "{more}");
    }
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let (_, url) = Fake::start(RemoteKind::Vllm, Vec::new()).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let told = gateway.post("/v1/chat/completions", &chat(json!({"tool_choice": "required"}))).await;
    assert_eq!(told.status(), 400);
    let told = told.text().await.expect("there is a body");
    assert!(told.contains("no grammar like this") && told.contains("--structured-outputs-config.backend"), "{told}");
    for (more, param) in [
        (json!({"structured_outputs": {"regex": "a", "json": {}}}), "structured_outputs"),
        (json!({"structured_outputs": "a"}), "structured_outputs"),
        (json!({"structured_outputs": {"regex": "a"}, "response_format": response_format()}), "structured_outputs"),
        (
            json!({"structured_outputs": {"json": {}}, "response_format": {"type": "structural_tag", "format": {}}}),
            "structured_outputs",
        ),
        (
            json!({"structured_outputs": {"regex": "a"}, "tool_choice": {"type": "function", "function": {"name": "tide"}}}),
            "structured_outputs",
        ),
        (json!({"response_format": {"type": "json_schema"}}), "response_format"),
    ] {
        let told = gateway.post("/v1/chat/completions", &chat(more.clone())).await;
        assert_eq!(told.status(), 400, "{more}");
        let told: Value = serde_json::from_str(&told.text().await.expect("there is a body")).expect("it is JSON");
        assert_eq!(told["error"]["param"], param, "{more}: {told}");
    }
}

#[test]
fn notations_that_a_backend_does_not_read_are_told_at_the_start() {
    let start = |kind, constraint| {
        let backend = BackendSpec::Remote { kind, urls: vec!["http://127.0.0.1:9".to_owned()] };
        App::new(&ServeConfig { backend, constraint, ..ServeConfig::default() }).err()
    };
    let told = start(RemoteKind::LlamaCpp, named(GrammarBackend::Xgrammar)).expect("it reads no tags");
    assert!(told.message.contains("xgrammar") && told.hint.is_some_and(|hint| hint.contains("LLAMA_LLGUIDANCE")));
    for broken in ["{", "[]", "{\"reasoning_start\": \"<think>\"}"] {
        let broken = ConstraintConfig { reasoning_config: Some(broken.to_owned()), ..ConstraintConfig::default() };
        assert!(start(RemoteKind::Vllm, broken).is_some_and(|error| error.message.contains("--reasoning-config")));
    }
}
