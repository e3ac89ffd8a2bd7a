//! Anthropic's Messages API: streamed and whole, what goes in, and what is refused.

use serde_json::{Value, json};
use unspool_server::ServeConfig;

use crate::common::{Events, Gateway, WIRES, json_of, pair, replaying, with};

/// The tools of the recorded replies, as Anthropic's clients describe them.
fn tools() -> Value {
    json!([
        {"name": "tide", "description": "The tide.", "input_schema": {
            "type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}},
        {"name": "wind", "input_schema": {"properties": {"port": {"type": "string"}, "days": {"type": "integer"}}}},
    ])
}

fn ask(more: Value) -> Value {
    let base = json!({"model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "How is the tide?"}]});
    with(base, more)
}

async fn whole(gateway: &Gateway, body: &Value) -> Value {
    let response = gateway.post("/v1/messages", body).await;
    let status = response.status();
    let value = json_of(response).await;
    assert_eq!(status, 200, "{value}");
    value
}

async fn streamed(gateway: &Gateway, body: &Value) -> Events {
    let response = gateway.post("/v1/messages", &with(body.clone(), json!({"stream": true}))).await;
    assert_eq!(response.status(), 200);
    Events::of(&response.text().await.expect("the stream can be read"))
}

/// The message that a stream makes, folded as clients do it; blocks must come one after the other.
fn folded(events: &Events) -> Value {
    let mut message = Value::Null;
    let (mut open, mut arguments) = (None, String::new());
    for (name, data) in &events.0 {
        assert_eq!(data["type"], name.as_str(), "the event and its data have one name");
        match name.as_str() {
            "message_start" => {
                assert!(message.is_null(), "a message starts once");
                message = data["message"].clone();
            }
            "content_block_start" => {
                let blocks = message["content"].as_array_mut().expect("a message has content");
                assert_eq!((open, &data["index"]), (None, &json!(blocks.len())), "blocks follow each other");
                open = Some(blocks.len());
                blocks.push(data["content_block"].clone());
            }
            "content_block_delta" => {
                let at = open.expect("a block is open");
                assert_eq!(data["index"], at);
                let (block, delta) = (&mut message["content"][at], &data["delta"]);
                let mut add = |field: &str| {
                    let text =
                        format!("{}{}", block[field].as_str().unwrap_or_default(), delta[field].as_str().expect(field));
                    block[field] = text.into();
                };
                match delta["type"].as_str().expect("a delta has a type") {
                    "text_delta" => add("text"),
                    "thinking_delta" => add("thinking"),
                    "signature_delta" => add("signature"),
                    "input_json_delta" => arguments.push_str(delta["partial_json"].as_str().expect("JSON text")),
                    other => panic!("{other}"),
                }
            }
            "content_block_stop" => {
                let at = open.take().expect("a block is open");
                if message["content"][at]["type"] == "tool_use" {
                    let text = std::mem::take(&mut arguments);
                    message["content"][at]["input"] =
                        serde_json::from_str(&text).unwrap_or_else(|_| json!({"unparsed_arguments": text}));
                }
            }
            "message_delta" => {
                assert!(open.is_none(), "all blocks are closed");
                for key in ["stop_reason", "stop_sequence"] {
                    message[key] = data["delta"][key].clone();
                }
                message["usage"] = data["usage"].clone();
            }
            "message_stop" => {}
            other => panic!("{other}"),
        }
    }
    assert_eq!(events.0.last().map(|(name, _)| name.as_str()), Some("message_stop"));
    message
}

/// Without what is made anew for every answer.
fn comparable(mut message: Value) -> Value {
    message["id"].take();
    for block in message["content"].as_array_mut().expect("a message has content") {
        let block = block.as_object_mut().expect("a block is an object");
        for key in ["id", "signature", "citations"] {
            block.remove(key);
        }
    }
    message
}

#[tokio::test]
async fn streamed_and_whole_answers_are_the_same() {
    for (reasoning, tool_parser, text) in WIRES {
        let gateway = replaying(&[json!({"text": text, "prompt_tokens": 7})], pair(reasoning, tool_parser)).await;
        let request = ask(json!({"tools": tools()}));
        let answer = whole(&gateway, &request).await;
        let events = streamed(&gateway, &request).await;
        assert_eq!(comparable(folded(&events)), comparable(answer.clone()), "{reasoning} + {tool_parser}");
        assert!(events.0.len() > 20, "the answer is streamed");
        assert!(answer["id"].as_str().is_some_and(|id| id.starts_with("msg")), "{answer}");
        assert_eq!(
            (&answer["type"], &answer["role"], &answer["model"]),
            (&json!("message"), &json!("assistant"), &json!("m"))
        );
        assert_eq!((&answer["stop_reason"], &answer["stop_sequence"]), (&json!("tool_use"), &Value::Null));
        assert_eq!(answer["usage"]["input_tokens"], 7);
        let content = answer["content"].as_array().expect("a message has content");
        let kinds: Vec<_> = content.iter().map(|block| block["type"].as_str().expect("a block has a type")).collect();
        assert_eq!(kinds, ["thinking", "text", "tool_use", "tool_use"], "{reasoning} + {tool_parser}");
        assert_eq!(content[0]["thinking"].as_str().map(str::trim), Some("Two ports, so two calls."));
        assert!(content[0]["signature"].as_str().is_some_and(|signature| !signature.is_empty()));
        assert_eq!(content[1]["text"].as_str().map(str::trim), Some("Let me look."));
        assert_eq!((&content[2]["name"], &content[2]["input"]), (&json!("tide"), &json!({"port": "Looe"})));
        assert_eq!(
            (&content[3]["name"], &content[3]["input"]),
            (&json!("wind"), &json!({"port": "Łeba 🛶", "days": 2}))
        );
        assert!(content[2]["id"] != content[3]["id"]);
        gateway.stop().await;
    }
}

#[tokio::test]
async fn stop_reasons_say_whether_a_call_is_to_be_run() {
    let (reasoning, tool_parser, text) = WIRES[0];
    let (said, _) = text.split_once("\n<tool_call>").expect("the reply has a call");
    let (cut, _) = text.split_once("🛶").expect("the last call names a boat");
    for (output, finish, request, expected) in [
        (text, "stop", json!({}), json!("tool_use")),
        (text, "stop", json!({"tool_choice": {"type": "any"}}), json!("tool_use")),
        (text, "stop", json!({"tool_choice": {"type": "tool", "name": "tide"}}), json!("tool_use")),
        (text, "stop", json!({"tool_choice": {"type": "none"}}), json!("end_turn")),
        (cut, "length", json!({}), json!("max_tokens")),
        (cut, "stop", json!({}), json!("end_turn")),
        (said, "stop", json!({}), json!("end_turn")),
        (said, "stop", json!({"stop_sequences": ["look"]}), json!("stop_sequence")),
        (said, "content_filter", json!({}), json!("refusal")),
        (said, "abort", json!({}), json!("max_tokens")),
    ] {
        let gateway =
            replaying(&[json!({"text": output, "finish_reason": finish})], pair(reasoning, tool_parser)).await;
        let request = ask(with(json!({"tools": tools()}), request));
        let answer = whole(&gateway, &request).await;
        assert_eq!(answer["stop_reason"], expected, "{finish} {request}");
        assert_eq!(folded(&streamed(&gateway, &request).await)["stop_reason"], expected, "{finish} {request}");
        let sequence = if expected == "stop_sequence" { json!("look") } else { Value::Null };
        assert_eq!(answer["stop_sequence"], sequence);
        if output == cut {
            let last = answer["content"].as_array().and_then(|content| content.last()).expect("there is a call");
            let arguments = last["input"]["unparsed_arguments"].as_str().expect("what was written is there");
            assert!(arguments.contains("\"Łeba "), "{arguments}");
        }
        gateway.stop().await;
    }
}

#[tokio::test]
async fn an_answer_that_says_nothing_is_an_empty_text() {
    let gateway = replaying(&[json!({"text": ""})], pair("deepseek_v3", "hermes")).await;
    let answer = whole(&gateway, &ask(json!({}))).await;
    assert_eq!((&answer["content"][0]["type"], &answer["content"][0]["text"]), (&json!("text"), &json!("")));
    assert_eq!(comparable(folded(&streamed(&gateway, &ask(json!({}))).await)), comparable(answer));
    gateway.stop().await;
}

#[tokio::test]
async fn one_call_and_no_thought_can_be_asked_for() {
    let (reasoning, tool_parser, text) = WIRES[0];
    let gateway = replaying(&[json!({"text": text})], pair(reasoning, tool_parser)).await;
    let alone = json!({"tools": tools(), "tool_choice": {"type": "auto", "disable_parallel_tool_use": true}});
    let answer = whole(&gateway, &ask(alone)).await;
    assert_eq!(answer["content"].as_array().map(Vec::len), Some(3), "{answer}");
    gateway.stop().await;
    let gateway = Gateway::start(pair(reasoning, tool_parser)).await;
    let thinks = |answer: &Value| answer["content"][0]["type"] == "thinking";
    for (thinking, expected) in [
        (json!({"type": "enabled", "budget_tokens": 1024}), true),
        (json!({"type": "adaptive"}), true),
        (json!({"type": "disabled"}), false),
    ] {
        let answer = whole(&gateway, &ask(json!({"seed": 5, "thinking": thinking}))).await;
        assert_eq!(thinks(&answer), expected, "{answer}");
    }
    gateway.stop().await;
}

/// The prompt that a completions server is given for a conversation.
#[tokio::test]
async fn the_conversation_is_the_one_of_the_chat_api() {
    let (reasoning, tool_parser, _) = WIRES[0];
    let gateway = Gateway::start(pair(reasoning, tool_parser)).await;
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "How is"}, {"type": "text", "text": "the tide?", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "I look.", "signature": "x"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "c1", "name": "tide", "input": {"port": "Looe"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "high"}, {"type": "text", "text": "at noon"}]},
            {"type": "text", "text": "And now?"},
        ]},
    ]);
    let system = json!([
        {"type": "text", "text": "x-anthropic-billing-header: 1"}, {"type": "text", "text": "Be brief."}, {"type": "text", "text": " Really."},
    ]);
    let request = ask(json!({"messages": messages, "system": system, "tools": tools(), "temperature": 0.5}));
    let hash = |response: &reqwest::Response| response.headers().get("x-unspool-request-hash").cloned();
    let asked = hash(&gateway.post("/v1/messages", &request).await);
    let chat = json!({
        "messages": [
            {"role": "system", "content": "Be brief. Really."},
            {"role": "user", "content": [{"type": "text", "text": "How is"}, {"type": "text", "text": "the tide?"}]},
            {
                "role": "assistant", "content": [{"type": "text", "text": "Let me look."}], "reasoning": "I look.",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{\"port\":\"Looe\"}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "high\nat noon"},
            {"role": "user", "content": [{"type": "text", "text": "And now?"}]},
        ],
        "tools": [
            {"type": "function", "function": {"name": "tide", "description": "The tide.", "parameters": {
                "type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}}},
            {"type": "function", "function": {"name": "wind", "parameters": {
                "type": "object", "properties": {"port": {"type": "string"}, "days": {"type": "integer"}}}}},
        ],
        "max_completion_tokens": 4096,
        "temperature": 0.5,
    });
    // The hash is made of all that is asked.
    let same = hash(&gateway.post("/v1/chat/completions", &chat).await);
    assert!(asked.is_some() && asked == same, "{asked:?} {same:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn tokens_of_a_prompt_are_counted() {
    let gateway = Gateway::start(pair("qwen3", "hermes")).await;
    let count = json!({"model": "m", "messages": [{"role": "user", "content": "How is the tide?"}]});
    let response = gateway.post("/v1/messages/count_tokens", &count).await;
    assert_eq!(response.status(), 200);
    let few = json_of(response).await["input_tokens"].as_u64().expect("a number");
    let more = with(count, json!({"tools": tools()}));
    let many = json_of(gateway.post("/v1/messages/count_tokens", &more).await).await["input_tokens"].as_u64();
    assert!(few > 0 && many.is_some_and(|many| many > few), "{few} {many:?}");
    let answer = whole(&gateway, &ask(json!({"tools": tools()}))).await;
    assert_eq!(answer["usage"]["input_tokens"].as_u64(), many, "an answer's count is the same");
    gateway.stop().await;
    let gateway = replaying(&[json!({"text": "a"})], ServeConfig::default()).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
    let response = gateway.post("/v1/messages/count_tokens", &body).await;
    assert_eq!(response.status(), 501, "nobody knows the tokens of a recording's prompt");
    assert_eq!(error_of(response).await["type"], "api_error");
    gateway.stop().await;
}

/// The inside of an error in Anthropic's shape.
async fn error_of(response: reqwest::Response) -> Value {
    let value = json_of(response).await;
    assert_eq!(value["type"], "error", "{value}");
    assert!(value["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{value}");
    value["error"].clone()
}

#[tokio::test]
async fn bad_requests_are_refused_in_words() {
    let gateway = replaying(&[json!({"text": "a"})], pair("qwen3", "hermes")).await;
    let block = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    let image = json!({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}});
    for (more, word) in [
        (json!({"messages": []}), "`messages`"),
        (json!({"max_tokens": 0}), "`max_tokens`"),
        (json!({"max_tokens": null}), "`max_tokens`"),
        (json!({"model": ""}), "`model`"),
        (block(image.clone()), "no images"),
        (block(json!({"type": "tool_result", "tool_use_id": "a", "content": [image]})), "no images"),
        (block(json!({"type": "novelty"})), "`novelty`"),
        (block(json!("text")), "`type`"),
        (json!({"messages": [{"role": "tool", "content": "a"}]}), "`tool`"),
        (json!({"system": 3}), "content"),
        (
            json!({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {}}]}]}),
            "`name`",
        ),
        (
            json!({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": "a", "input": 3}]}]}),
            "`input`",
        ),
        (json!({"stop_sequences": ["a", "b", "c", "d", "e"]}), "`stop_sequences`"),
        (json!({"tools": [{"type": "unheard_20250305", "name": "web_search"}]}), "`unheard_20250305`"),
        (json!({"tools": [{"name": "a"}]}), "`input_schema`"),
        (json!({"tools": tools(), "tool_choice": {"type": "tool", "name": "rain"}}), "`rain`"),
        (json!({"tools": tools(), "tool_choice": {"type": "tool"}}), "names no tool"),
        (json!({"tools": tools(), "tool_choice": {"type": "some"}}), "`some`"),
        (json!({"tool_choice": {"type": "any"}}), "`tools`"),
        (json!({"thinking": {"type": "enabled", "budget_tokens": 1023}}), "1023"),
        (json!({"thinking": {"type": "enabled", "budget_tokens": 4096}}), "4096"),
        (json!({"thinking": {"type": "enabled"}}), "`budget_tokens`"),
        (json!({"thinking": {"type": "maybe"}}), "`maybe`"),
        (json!({"output_config": {"format": {"type": "yaml"}}}), "`yaml`"),
        (json!({"temperature": -1.0}), "`temperature`"),
    ] {
        let response = gateway.post("/v1/messages", &ask(more.clone())).await;
        assert_eq!(response.status(), 400, "{more}");
        let error = error_of(response).await;
        assert_eq!(error["type"], "invalid_request_error", "{more}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(word)), "{more}: {error}");
    }
    let response = gateway.client.get(format!("{}/v1/messages", gateway.base)).send().await.expect("it answers");
    assert_eq!(response.status(), 405);
    assert_eq!(error_of(response).await["type"], "invalid_request_error");
    gateway.stop().await;
    let gateway = replaying(&[json!({"text": "a"})], ServeConfig::default()).await;
    let response = gateway.post("/v1/messages", &ask(json!({"tools": tools()}))).await;
    let error = error_of(response).await;
    assert!(error["message"].as_str().is_some_and(|text| text.contains("--enable-auto-tool-choice")), "{error}");
    gateway.stop().await;
}

#[tokio::test]
async fn keys_come_in_either_header() {
    let config = ServeConfig { api_key: vec!["sesame".into()], ..ServeConfig::default() };
    let gateway = replaying(&[json!({"text": "a"})], config).await;
    let post = |header: &'static str, key: &'static str| {
        let request = gateway.client.post(format!("{}/v1/messages", gateway.base)).header(header, key);
        request.header("content-type", "application/json").body(ask(json!({})).to_string()).send()
    };
    for (header, key, status) in [
        ("x-api-key", "sesame", 200),
        ("authorization", "Bearer sesame", 200),
        ("x-api-key", "barley", 401),
        ("authorization", "Bearer barley", 401),
        ("x-other", "sesame", 401),
    ] {
        let response = post(header, key).await.expect("it answers");
        assert_eq!(response.status(), status, "{header}: {key}");
        if status == 401 {
            assert_eq!(error_of(response).await["type"], "authentication_error");
        }
    }
    gateway.stop().await;
}
