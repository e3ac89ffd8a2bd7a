//! Budgets for thoughts: validated as vLLM does, kept by the backend that can, and else by the gateway.

use serde_json::{Value, json};
use unspool_server::{ConstraintConfig, RemoteKind, ServeConfig};

use crate::common::{Choice, Gateway, chat, json_of, pair, plain_chat, with};
use crate::fake::{Fake, in_front, singly, tokens};

/// What the model would think if nobody ended it.
const LONG: &str = "One keel. Two keels. Three keels.";
const REST: &str = "\n\nBook it.";

fn kinds() -> [RemoteKind; 5] {
    [RemoteKind::OpenAi, RemoteKind::Vllm, RemoteKind::Sglang, RemoteKind::LlamaCpp, RemoteKind::Tgi]
}

fn budget(most: i64) -> Value {
    plain_chat(json!({"thinking_token_budget": most, "max_tokens": 60, "seed": 3, "stop": ["END"]}))
}

/// The prompt of a second request, as text or tokens, and how many tokens it may have.
fn second(seen: &Value) -> (Value, u64) {
    let of = |paths: &[&str]| paths.iter().find_map(|path| seen.pointer(path)).cloned().expect("it is there");
    let most = of(&["/max_tokens", "/n_predict", "/sampling_params/max_new_tokens", "/parameters/max_new_tokens"]);
    (of(&["/prompt", "/input_ids", "/inputs", "/text"]), most.as_u64().expect("it is a number"))
}

#[tokio::test]
async fn the_gateway_ends_thoughts_in_front_of_every_kind_of_server() {
    for kind in kinds() {
        let answers = || vec![singly(LONG), singly(REST)];
        let (fake, url) = Fake::start(kind, [answers(), answers()].concat()).await;
        let gateway = Gateway::start(in_front(kind, url)).await;
        let answer = gateway.whole(&budget(9)).await;
        let whole = Choice::of_whole(&answer["choices"][0]);
        // The newline behind the opener stands in the prompt and counts, as in vLLM, where tokens are known.
        let thought = if kind == RemoteKind::OpenAi { "One keel." } else { "One keel" };
        let said = (whole.reasoning.as_str(), whole.content.as_str(), whole.finish.as_deref());
        assert_eq!(said, (thought, "Book it.", Some("stop")), "{kind}");
        let [first, again] = &fake.seen()[..] else { panic!("{kind}: it is asked twice") };
        assert!(!first.to_string().contains("thinking_token_budget"), "{kind}: the server is not to keep it");
        let written = thought.len() as u64 + 1;
        let (prompt, most) = second(again);
        let seed = |body: &Value| {
            let paths = ["/seed", "/sampling_params/sampling_seed", "/parameters/seed"];
            paths.iter().find_map(|path| body.pointer(path)).and_then(Value::as_i64)
        };
        assert_eq!((seed(first), seed(again)), (Some(3), Some(1012)), "{kind}: the rest is not chosen alike");
        assert_eq!(most, 60 - written, "{kind}");
        let end = format!("<think>\n{thought}</think>");
        match prompt {
            Value::Array(ids) => {
                let end: Vec<Value> = tokens(&end).into_iter().map(Value::from).collect();
                assert!(ids.ends_with(&end), "{kind}: {ids:?}");
            }
            text => assert!(text.as_str().is_some_and(|text| text.ends_with(&end)), "{kind}: {text}"),
        }
        let usage = &answer["usage"];
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        assert_eq!(count(&usage["completion_tokens"]), written + REST.len() as u64, "{kind}: {usage}");
        assert_eq!(count(&usage["completion_tokens_details"]["reasoning_tokens"]), written - 1, "{kind}: {usage}");
        assert_eq!(count(&usage["prompt_tokens"]), 21, "{kind}: {usage}");
        let streamed = gateway.streamed(&budget(9)).await;
        assert_eq!(streamed.one().comparable(), whole.comparable(), "{kind}");
    }
}

#[tokio::test]
async fn a_thought_is_counted_from_where_the_model_begins_it() {
    let begun = || singly(&format!("<think>{LONG}"));
    let unopened = |kind, url| ServeConfig {
        chat_template: Some("<|user|>{{ messages[0].content }}<|assistant|>".to_owned()),
        ..in_front(kind, url)
    };
    for kind in kinds() {
        let (fake, url) = Fake::start(kind, vec![begun(), singly(REST), singly(REST)]).await;
        let gateway = Gateway::start(unopened(kind, url)).await;
        let whole = Choice::of_whole(&gateway.whole(&budget(9)).await["choices"][0]);
        assert_eq!((whole.reasoning.as_str(), whole.content.as_str()), ("One keel.", "Book it."), "{kind}");
        fake.seen();
        // A thought of no length is begun all the same.
        let whole = Choice::of_whole(&gateway.whole(&budget(0)).await["choices"][0]);
        assert_eq!((whole.reasoning.as_str(), whole.content.as_str()), ("", "Book it."), "{kind}");
        match second(&fake.seen()[0]) {
            (Value::Array(ids), most) => assert_eq!((&ids[ids.len() - 2..], most), (&[json!(259), json!(260)][..], 58)),
            (text, _) => assert!(text.as_str().is_some_and(|text| text.ends_with("<think></think>")), "{kind}: {text}"),
        }
    }
}

#[tokio::test]
async fn nothing_is_lost_of_a_text_that_comes_behind_its_tokens() {
    let call = "\n<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\"}}\n</tool_call>";
    let all = singly(&format!("{LONG}</think>Łook.{call}"));
    let coarse = || all.chunks(3).map(<[String]>::concat).collect::<Vec<_>>();
    for (answer, lag) in [(all.clone(), 7), (coarse(), 7), (all.clone(), 1), (coarse(), 40)] {
        let (_, url) = Fake::start_lagging(RemoteKind::Vllm, lag, vec![answer]).await;
        let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
        let answer = gateway.whole(&chat(json!({"stop": ["DONE AND OVER"]}))).await;
        let whole = Choice::of_whole(&answer["choices"][0]);
        let called = vec![("tide".to_owned(), json!({"port": "Looe"}))];
        assert_eq!((whole.reasoning.as_str(), whole.content.as_str(), whole.called()), (LONG, "Łook.", called));
    }
    let (fake, url) = Fake::start_lagging(RemoteKind::Vllm, 6, vec![singly(LONG), singly(REST)]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let whole = Choice::of_whole(&gateway.whole(&budget(9)).await["choices"][0]);
    assert_eq!((whole.reasoning.as_str(), whole.content.as_str()), ("One keel", "Book it."));
    let (Value::Array(ids), _) = second(&fake.seen()[1]) else { panic!("it is asked for tokens") };
    let end: Vec<Value> = tokens("One keel</think>").into_iter().map(Value::from).collect();
    assert!(ids.ends_with(&end), "{ids:?}");
}

#[tokio::test]
async fn a_thought_that_ends_in_time_is_left_alone() {
    for kind in kinds() {
        let (fake, url) = Fake::start(kind, vec![singly("One keel.</think>\n\nBook it.")]).await;
        let gateway = Gateway::start(in_front(kind, url)).await;
        let whole = Choice::of_whole(&gateway.whole(&budget(11)).await["choices"][0]);
        assert_eq!((whole.reasoning.as_str(), whole.content.as_str()), ("One keel.", "Book it."), "{kind}");
        assert_eq!(fake.seen().len(), 1, "{kind}");
        // Where the thought is switched off, there is nothing to end.
        let (fake, url) = Fake::start(kind, vec![singly("Book it, and the slip too.")]).await;
        let gateway = Gateway::start(in_front(kind, url)).await;
        let off = with(budget(0), json!({"chat_template_kwargs": {"enable_thinking": false}}));
        let whole = Choice::of_whole(&gateway.whole(&off).await["choices"][0]);
        assert_eq!((whole.content.as_str(), fake.seen().len()), ("Book it, and the slip too.", 1), "{kind}");
    }
}

#[tokio::test]
async fn a_sentence_may_lead_over_and_a_budget_may_be_nothing() {
    let config = "{\"reasoning_end_str\": \" Enough.</think>\"}".to_owned();
    for kind in kinds() {
        let constraint = ConstraintConfig { reasoning_config: Some(config.clone()), ..ConstraintConfig::default() };
        let (fake, url) = Fake::start(kind, vec![singly(REST), singly(LONG), singly(REST)]).await;
        let gateway = Gateway::start(ServeConfig { constraint, ..in_front(kind, url) }).await;
        let whole = Choice::of_whole(&gateway.whole(&budget(0)).await["choices"][0]);
        assert_eq!((whole.reasoning.as_str(), whole.content.as_str()), ("Enough.", "Book it."), "{kind}");
        assert_eq!(fake.seen().len(), 1, "{kind}: nobody is asked for a thought of no length");
        // The blank that the model wrote begins the sentence.
        let most = if kind == RemoteKind::OpenAi { 4 } else { 5 };
        let whole = Choice::of_whole(&gateway.whole(&budget(most)).await["choices"][0]);
        assert_eq!((whole.reasoning.as_str(), whole.content.as_str()), ("One Enough.", "Book it."), "{kind}");
    }
}

#[tokio::test]
async fn pieces_of_several_tokens_are_cut_where_their_tokens_are_known() {
    let pieces = |all: &[&str]| all.iter().map(|piece| (*piece).to_owned()).collect::<Vec<_>>();
    // A server that gives several tokens at once, as with speculative decoding.
    let coarse = || pieces(&["One ke", "el. Łe", "ba, then"]);
    let (_, url) = Fake::start(RemoteKind::Vllm, vec![coarse(), singly(REST)]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let whole = Choice::of_whole(&gateway.whole(&budget(9)).await["choices"][0]);
    assert_eq!((whole.reasoning.as_str(), whole.content.as_str()), ("One keel", "Book it."));
    // A character of two tokens is not cut in two.
    let (_, url) = Fake::start(RemoteKind::Vllm, vec![coarse(), singly(REST)]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let whole = Choice::of_whole(&gateway.whole(&budget(12)).await["choices"][0]);
    assert_eq!(whole.reasoning, "One keel. Ł");
}

#[tokio::test]
async fn an_answer_without_room_behind_the_thought_is_cut() {
    let (fake, url) = Fake::start(RemoteKind::Vllm, vec![singly(LONG)]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let answer = gateway.whole(&with(budget(9), json!({"max_tokens": 9}))).await;
    let whole = Choice::of_whole(&answer["choices"][0]);
    assert_eq!((whole.reasoning.as_str(), whole.finish.as_deref()), ("One keel", Some("length")));
    assert_eq!((&answer["usage"]["completion_tokens"], fake.seen().len()), (&json!(9), 1));
    // Nor is an end written for which there is no room.
    let (_, url) = Fake::start(RemoteKind::Vllm, vec![singly(LONG)]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let answer = gateway.whole(&with(budget(9), json!({"max_tokens": 8}))).await;
    let whole = Choice::of_whole(&answer["choices"][0]);
    assert_eq!((whole.reasoning.as_str(), whole.finish.as_deref()), ("One keel", Some("length")));
    assert_eq!(answer["usage"]["completion_tokens"], 8);
}

#[tokio::test]
async fn a_model_that_thinks_on_and_on_is_not_asked_for_ever() {
    let again = || singly("<think>Three keels, or four.</think>Book it.");
    let (fake, url) = Fake::start(RemoteKind::Vllm, vec![again(); 40]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let whole = Choice::of_whole(&gateway.whole(&with(budget(2), json!({"max_tokens": 900}))).await["choices"][0]);
    assert_eq!(fake.seen().len(), 17);
    assert!(whole.reasoning.ends_with("Three keels, or four.") && whole.content == "Book it.", "{whole:?}");
}

#[tokio::test]
async fn a_failure_behind_the_thought_is_told() {
    let (_, url) = Fake::start(RemoteKind::Vllm, vec![singly(LONG)]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let folded = gateway.streamed(&budget(9)).await;
    assert_eq!(folded.one().reasoning, "One keel");
    assert!(folded.error.is_some_and(|error| error["message"].to_string().contains("no grammar like this")));
}

#[tokio::test]
async fn calls_are_held_behind_a_thought_that_was_ended() {
    let call = "\n<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\"}}\n</tool_call>";
    let body = chat(json!({"thinking_token_budget": 9, "tool_choice": "required", "parallel_tool_calls": false}));
    let (fake, url) = Fake::start(RemoteKind::Vllm, vec![singly(LONG), singly(call)]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let whole = Choice::of_whole(&gateway.whole(&body).await["choices"][0]);
    assert_eq!(
        (whole.reasoning.as_str(), whole.called()),
        ("One keel", vec![("tide".to_owned(), json!({"port": "Looe"}))])
    );
    let [first, second] = &fake.seen()[..] else { panic!("it is asked twice") };
    let tag = |body: &Value| body["structured_outputs"]["structural_tag"].to_string();
    assert!(tag(first).contains("</think") && !tag(second).contains("</think"), "{first} {second}");
    assert!(tag(second).contains("tide"));
}

#[tokio::test]
async fn a_thought_that_is_a_message_ends_with_the_next_ones_beginning() {
    let config = json!({"reasoning_start_str": "<|channel|>analysis<|message|>",
        "reasoning_end_str": "<|end|><|start|>assistant"});
    let call = "<|channel|>commentary to=functions.tide <|constrain|>json<|message|>{\"port\": \"Looe\"}<|call|>";
    let thought = "<|channel|>analysis<|message|>One keel. Two keels.";
    for kind in [RemoteKind::Vllm, RemoteKind::OpenAi] {
        let (fake, url) = Fake::start(kind, vec![singly(thought), singly(call)]).await;
        let template = Some("<|user|>{{ messages[0].content }}<|start|>assistant".to_owned());
        let constraint = ConstraintConfig { reasoning_config: Some(config.to_string()), ..ConstraintConfig::default() };
        let base = ServeConfig { backend: in_front(kind, url).backend, ..pair("openai_gptoss", "openai") };
        let gateway = Gateway::start(ServeConfig { constraint, chat_template: template, ..base }).await;
        let body = chat(json!({"thinking_token_budget": 9, "tool_choice": "required"}));
        let whole = Choice::of_whole(&gateway.whole(&body).await["choices"][0]);
        let called = vec![("tide".to_owned(), json!({"port": "Looe"}))];
        assert_eq!(
            (whole.reasoning.as_str(), whole.content.as_str(), whole.called()),
            ("One keel.", "", called),
            "{kind}"
        );
        let seen = fake.seen();
        let prompt = seen.last().and_then(|body| body["prompt"].as_str()).unwrap_or_default();
        assert!(prompt.ends_with("One keel.<|end|><|start|>assistant"), "{kind}: {prompt}");
    }
}

#[tokio::test]
async fn a_vllm_that_has_a_reasoning_parser_keeps_budgets_itself() {
    let constraint = ConstraintConfig { backend_reasoning_parser: true, ..ConstraintConfig::default() };
    let (fake, url) = Fake::start(RemoteKind::Vllm, vec![singly(LONG), singly(LONG)]).await;
    let gateway = Gateway::start(ServeConfig { constraint, ..in_front(RemoteKind::Vllm, url) }).await;
    gateway.whole(&budget(9)).await;
    gateway.whole(&budget(-1)).await;
    let [bounded, free] = &fake.seen()[..] else { panic!("each is asked once") };
    assert_eq!((bounded.get("thinking_token_budget"), free.get("thinking_token_budget")), (Some(&json!(9)), None));
}

#[tokio::test]
async fn the_mock_keeps_budgets() {
    for (reasoning, tools) in
        [("qwen3", "hermes"), ("deepseek_r1", "deepseek_v3"), ("kimi_k2", "kimi_k2"), ("granite", "granite")]
    {
        let gateway = Gateway::start(pair(reasoning, tools)).await;
        let free = gateway.whole(&plain_chat(json!({"seed": 1}))).await;
        let free = Choice::of_whole(&free["choices"][0]);
        let ask = async |most: u64| gateway.whole(&plain_chat(json!({"seed": 1, "thinking_token_budget": most}))).await;
        let ended = ask(3).await;
        let whole = Choice::of_whole(&ended["choices"][0]);
        assert!(
            free.reasoning.len() > whole.reasoning.len() && !whole.content.is_empty(),
            "{reasoning}: {whole:?} {free:?}"
        );
        assert!(free.reasoning.starts_with(whole.reasoning.trim()), "{reasoning}: {whole:?} {free:?}");
        let counted = ended["usage"]["completion_tokens_details"]["reasoning_tokens"].as_u64();
        assert!(counted.is_some_and(|counted| counted <= 3), "{reasoning}: {ended}");
        let whole = Choice::of_whole(&ask(0).await["choices"][0]);
        assert!(whole.reasoning.is_empty() && !whole.content.is_empty(), "{reasoning}: {whole:?}");
        let whole = Choice::of_whole(&ask(1000).await["choices"][0]);
        assert_eq!(whole.reasoning, free.reasoning, "{reasoning}");
    }
}

#[tokio::test]
async fn odd_budgets_are_refused_as_vllm_does() {
    let gateway = Gateway::start(pair("qwen3", "hermes")).await;
    for odd in [json!(true), json!(1.5), json!(-2), json!("8")] {
        let told = gateway.post("/v1/chat/completions", &plain_chat(json!({"thinking_token_budget": odd}))).await;
        assert_eq!(told.status(), 400, "{odd}");
        assert_eq!(json_of(told).await["error"]["param"], "thinking_token_budget", "{odd}");
    }
    let plain = Gateway::start(ServeConfig { mock_rate: 0.0, ..ServeConfig::default() }).await;
    let told = plain.post("/v1/chat/completions", &plain_chat(json!({"thinking_token_budget": 8}))).await;
    assert_eq!(told.status(), 400);
    let told = json_of(told).await;
    let message = told["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("--reasoning-parser") && message.contains("--reasoning-config"), "{told}");
    // No bound is no budget.
    plain.whole(&plain_chat(json!({"thinking_token_budget": -1}))).await;
    plain.whole(&plain_chat(json!({"thinking_token_budget": null}))).await;
}

#[tokio::test]
async fn the_other_apis_have_budgets_too() {
    let messages = json!({"model": "m", "max_tokens": 4000, "messages": [{"role": "user", "content": "How is the tide?"}],
        "thinking": {"type": "enabled", "budget_tokens": 1024}});
    let long = format!("{}</think>\n\nAye.", "x".repeat(2000));
    let (fake, url) = Fake::start(RemoteKind::Vllm, vec![singly(&long), singly(REST)]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let told = json_of(gateway.post("/v1/messages", &messages).await).await;
    let thought = told["content"][0]["thinking"].as_str().unwrap_or_default();
    assert_eq!(
        (thought.len(), &told["content"][1]["text"], fake.seen().len()),
        (1023, &json!("Book it."), 2),
        "{told}"
    );
    let (fake, url) = Fake::start(RemoteKind::Vllm, vec![singly(LONG), singly(REST)]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let responses = json!({"model": "m", "input": "How is the tide?", "thinking_token_budget": 9});
    let told = json_of(gateway.post("/v1/responses", &responses).await).await;
    assert_eq!((&told["output"][0]["content"][0]["text"], fake.seen().len()), (&json!("One keel"), 2), "{told}");
    // A client of this API sends a budget to any model; one that has no thoughts keeps it anyway.
    let plain = Gateway::start(ServeConfig { mock_rate: 0.0, ..ServeConfig::default() }).await;
    assert_eq!(plain.post("/v1/messages", &messages).await.status(), 200);
}
