//! OpenAI's Responses API: streamed and whole, what goes in, and what is refused.

use serde_json::{Value, json};
use unspool_server::ServeConfig;

use crate::common::{Events, Gateway, WIRES, json_of, pair, replaying, with};

/// The tools of the recorded replies, as the Responses API describes them.
fn tools() -> Value {
    json!([
        {"type": "function", "name": "tide", "description": "The tide.", "strict": false, "parameters": {
            "type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}},
        {"type": "function", "name": "wind", "parameters": {
            "type": "object", "properties": {"port": {"type": "string"}, "days": {"type": "integer"}}}},
    ])
}

fn ask(more: Value) -> Value {
    with(json!({"model": "m", "input": "How is the tide?"}), more)
}

async fn whole(gateway: &Gateway, body: &Value) -> Value {
    let response = gateway.post("/v1/responses", body).await;
    let status = response.status();
    let value = json_of(response).await;
    assert_eq!(status, 200, "{value}");
    value
}

async fn streamed(gateway: &Gateway, body: &Value) -> Events {
    let response = gateway.post("/v1/responses", &with(body.clone(), json!({"stream": true}))).await;
    assert_eq!(response.status(), 200);
    Events::of(&response.text().await.expect("the stream can be read"))
}

/// The response at the end of a stream, after its events are checked against it.
fn last(events: &Events) -> Value {
    let mut items: Vec<Value> = Vec::new();
    let mut said = String::new();
    for (number, (name, data)) in events.0.iter().enumerate() {
        assert_eq!((&data["type"], &data["sequence_number"]), (&json!(name), &json!(number)), "events are numbered");
        let place =
            data.get("output_index").and_then(Value::as_u64).map(|at| usize::try_from(at).expect("it is small"));
        match name.strip_prefix("response.").expect("events have a common prefix") {
            "created" | "in_progress" => {
                assert_eq!((number < 2, &data["response"]["status"]), (true, &json!("in_progress")));
            }
            "output_item.added" => {
                assert_eq!(place, Some(items.len()), "items follow each other");
                assert!(said.is_empty() && data["item"]["status"] == "in_progress", "{data}");
                items.push(data["item"].clone());
            }
            "output_item.done" => {
                assert_eq!((place, &items[items.len() - 1]["id"]), (Some(items.len() - 1), &data["item"]["id"]));
                items.pop();
                items.push(data["item"].clone());
            }
            "content_part.added" | "content_part.done" => {
                let text = data["part"]["text"].as_str().expect("a part is a text");
                assert_eq!(text.is_empty(), name.ends_with("added"));
            }
            part if part.ends_with(".delta") => {
                assert_eq!(data["item_id"], items[items.len() - 1]["id"]);
                said.push_str(data["delta"].as_str().expect("a delta is a text"));
            }
            part if part.ends_with(".done") => {
                let all = ["text", "arguments", "input"].iter().find_map(|key| data.get(*key)).expect("all of it");
                assert_eq!(all, &json!(std::mem::take(&mut said)), "the deltas make the whole: {data}");
            }
            "completed" | "incomplete" | "failed" => assert_eq!(number, events.0.len() - 1, "it is the last event"),
            other => panic!("{other}"),
        }
    }
    let (name, data) = events.0.last().expect("a stream has events");
    assert_eq!(name, &format!("response.{}", data["response"]["status"].as_str().expect("a response has a status")));
    assert_eq!(data["response"]["output"], json!(items), "the items of the events are those of the response");
    data["response"].clone()
}

/// Without what is made anew for every answer.
fn comparable(mut response: Value) -> Value {
    for key in ["id", "created_at"] {
        response[key].take();
    }
    for item in response["output"].as_array_mut().expect("a response has output") {
        item["id"].take();
        item["call_id"].take();
    }
    response
}

#[tokio::test]
async fn streamed_and_whole_answers_are_the_same() {
    for (reasoning, tool_parser, text) in WIRES {
        let gateway = replaying(&[json!({"text": text, "prompt_tokens": 7})], pair(reasoning, tool_parser)).await;
        let request = ask(json!({"tools": tools(), "metadata": {"a": "b"}, "temperature": 0.5}));
        let answer = whole(&gateway, &request).await;
        let events = streamed(&gateway, &request).await;
        assert_eq!(comparable(last(&events)), comparable(answer.clone()), "{reasoning} + {tool_parser}");
        assert!(events.0.len() > 30, "the answer is streamed");
        assert!(answer["id"].as_str().is_some_and(|id| id.starts_with("resp_")), "{answer}");
        assert_eq!(
            (&answer["object"], &answer["status"], &answer["store"]),
            (&json!("response"), &json!("completed"), &json!(false))
        );
        assert_eq!(
            (&answer["metadata"]["a"], &answer["temperature"], &answer["error"]),
            (&json!("b"), &json!(0.5), &Value::Null)
        );
        let usage = &answer["usage"];
        assert_eq!(usage["input_tokens"], 7);
        assert!(
            usage["output_tokens_details"]["reasoning_tokens"].as_u64().is_some_and(|tokens| tokens > 0),
            "{usage}"
        );
        let output = answer["output"].as_array().expect("a response has output");
        let kinds: Vec<_> = output.iter().map(|item| item["type"].as_str().expect("an item has a type")).collect();
        assert_eq!(kinds, ["reasoning", "message", "function_call", "function_call"], "{reasoning} + {tool_parser}");
        assert_eq!(output[0]["content"][0]["text"].as_str().map(str::trim), Some("Two ports, so two calls."));
        assert_eq!(output[1]["content"][0]["text"].as_str().map(str::trim), Some("Let me look."));
        let arguments: Value =
            serde_json::from_str(output[3]["arguments"].as_str().expect("JSON text")).expect("it is JSON");
        assert_eq!((&output[3]["name"], arguments), (&json!("wind"), json!({"port": "Łeba 🛶", "days": 2})));
        for (item, prefix) in output.iter().zip(["rs_", "msg_", "fc_", "fc_"]) {
            assert!(
                item["id"].as_str().is_some_and(|id| id.starts_with(prefix)) && item["status"] == "completed",
                "{item}"
            );
        }
        assert!(output[2]["call_id"] != output[3]["call_id"] && output[2]["call_id"].is_string());
        gateway.stop().await;
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_says_so() {
    let (reasoning, tool_parser, text) = WIRES[0];
    let (cut, _) = text.split_once("🛶").expect("the last call names a boat");
    let (thought, _) = text.split_once(" so two").expect("the thought goes on");
    for (output, finish, reason) in [
        (cut, "length", "max_output_tokens"),
        (thought, "length", "max_output_tokens"),
        (thought, "content_filter", "content_filter"),
    ] {
        let gateway =
            replaying(&[json!({"text": output, "finish_reason": finish})], pair(reasoning, tool_parser)).await;
        let answer = whole(&gateway, &ask(json!({"tools": tools()}))).await;
        assert_eq!(
            (&answer["status"], &answer["incomplete_details"]["reason"]),
            (&json!("incomplete"), &json!(reason))
        );
        let item = answer["output"].as_array().and_then(|items| items.last()).expect("there is output");
        assert_eq!(item["status"], "incomplete", "{item}");
        assert_eq!(comparable(last(&streamed(&gateway, &ask(json!({"tools": tools()}))).await)), comparable(answer));
        gateway.stop().await;
    }
}

#[tokio::test]
async fn custom_and_namespaced_tools_come_back_as_they_were_given() {
    let call = |name: &str, arguments: Value| {
        format!("<tool_call>\n{}\n</tool_call>", json!({"name": name, "arguments": arguments}))
    };
    let patch = "*** Begin\n+ \"Łeba\" \\ 🛶\n";
    let text = format!(
        "<think>\nHm.\n</think>\n\n{}\n{}\n{}",
        call("patch", json!({"input": patch})),
        call("sea__tide", json!({"port": "Looe"})),
        call("sea__log", json!({"input": "calm"})),
    );
    let tools = json!([
        {"type": "custom", "name": "patch", "description": "Changes a file.", "format": {"type": "text"}},
        {"type": "namespace", "name": "sea", "description": "The sea.", "tools": [
            {"type": "function", "name": "tide", "parameters": {"type": "object", "properties": {"port": {"type": "string"}}}},
            {"type": "custom", "name": "log"},
        ]},
    ]);
    let gateway = replaying(&[json!({"text": text})], pair("qwen3", "hermes")).await;
    let request = ask(json!({"tools": tools}));
    let answer = whole(&gateway, &request).await;
    let events = streamed(&gateway, &request).await;
    assert_eq!(comparable(last(&events)), comparable(answer.clone()));
    let deltas = events.0.iter().filter(|(name, _)| name == "response.custom_tool_call_input.delta").count();
    assert!(deltas > 4, "inputs come as they are written: {deltas}");
    let output = answer["output"].as_array().expect("a response has output");
    assert_eq!(
        (&output[1]["type"], &output[1]["name"], &output[1]["input"]),
        (&json!("custom_tool_call"), &json!("patch"), &json!(patch))
    );
    assert_eq!(
        (&output[2]["type"], &output[2]["name"], &output[2]["namespace"]),
        (&json!("function_call"), &json!("tide"), &json!("sea"))
    );
    assert_eq!(
        (&output[3]["type"], &output[3]["name"], &output[3]["namespace"]),
        (&json!("custom_tool_call"), &json!("log"), &json!("sea"))
    );
    assert_eq!(output[3]["input"], "calm");
    gateway.stop().await;
}

#[tokio::test]
async fn only_allowed_tools_are_called() {
    let gateway = Gateway::start(pair("qwen3", "hermes")).await;
    let called = async |choice: Value, tools: Value| {
        let answer = whole(&gateway, &ask(json!({"tools": tools, "tool_choice": choice, "seed": 3}))).await;
        let items = answer["output"].as_array().expect("a response has output").clone();
        let mut names: Vec<_> = items.iter().filter_map(|item| item["name"].as_str().map(str::to_owned)).collect();
        names.dedup();
        names
    };
    let allowed = |mode: &str, name: &str| json!({"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": name}]});
    for name in ["tide", "wind"] {
        assert_eq!(called(allowed("required", name), tools()).await, [name]);
        assert_eq!(called(allowed("auto", name), tools()).await, [name]);
        assert_eq!(called(json!({"type": "function", "name": name}), tools()).await, [name]);
    }
    assert_eq!(called(json!("none"), tools()).await, [""; 0]);
    assert_eq!(called(json!("auto"), json!([])).await, [""; 0], "what clients send by default");
    let inside = json!([{"type": "namespace", "name": "sea", "tools": tools()}, {"type": "custom", "name": "log"}]);
    assert_eq!(called(json!({"type": "function", "name": "wind"}), inside.clone()).await, ["wind"]);
    assert_eq!(called(json!({"type": "custom", "name": "log"}), inside.clone()).await, ["log"]);
    let sea = json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "namespace", "name": "sea"}]});
    let names = called(sea, inside).await;
    assert!(!names.is_empty() && names.iter().all(|name| name != "log"), "{names:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn the_conversation_is_the_one_of_the_chat_api() {
    let gateway = Gateway::start(pair("qwen3", "hermes")).await;
    let input = json!([
        {"role": "user", "content": "How is the tide?"},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Look it up."}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "I look."}]},
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "tide", "namespace": "sea", "arguments": "{\"port\": \"Looe\"}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "log", "input": "a \"b\""},
        {"type": "function_call_output", "call_id": "c1", "output": "high"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "written"}]},
        {"type": "reasoning", "id": "rs_2", "summary": [{"type": "summary_text", "text": "Easy."}]},
        {"role": "assistant", "content": "It is high."},
        {"role": "user", "content": "And now?"},
    ]);
    let format = json!({"type": "json_schema", "name": "n", "strict": true, "schema": {"type": "object"}});
    let request = ask(json!({
        "input": input, "instructions": "Be brief.", "max_output_tokens": 50, "reasoning": {"effort": "low"},
        "text": {"format": format}, "top_p": 0.5, "store": true, "include": ["reasoning.encrypted_content"],
    }));
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let chat = json!({
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How is the tide?"},
            {"role": "developer", "content": [{"type": "text", "text": "Look it up."}]},
            {
                "role": "assistant", "reasoning": "I look.", "content": [{"type": "text", "text": "Let me look."}],
                "tool_calls": [call("c1", "sea__tide", "{\"port\": \"Looe\"}"), call("c2", "log", "{\"input\":\"a \\\"b\\\"\"}")],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "high"},
            {"role": "tool", "tool_call_id": "c2", "content": "written"},
            {"role": "assistant", "reasoning": "Easy.", "content": "It is high."},
            {"role": "user", "content": "And now?"},
        ],
        "max_completion_tokens": 50,
        "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": {"type": "object"}}},
        "top_p": 0.5,
    });
    let hash = |response: &reqwest::Response| response.headers().get("x-unspool-request-hash").cloned();
    let asked = hash(&gateway.post("/v1/responses", &request).await);
    let same = hash(&gateway.post("/v1/chat/completions", &chat).await);
    assert!(asked.is_some() && asked == same, "{asked:?} {same:?}");
    // An answer that was broken off is gone on with.
    let open = json!([{"role": "user", "content": "Well?"}, {"role": "assistant", "status": "incomplete", "content": "It is"}]);
    let chat = json!({"messages": [{"role": "user", "content": "Well?"}, {"role": "assistant", "content": "It is"}],
        "continue_final_message": true, "add_generation_prompt": false});
    let asked = hash(&gateway.post("/v1/responses", &ask(json!({"input": open}))).await);
    assert_eq!(asked, hash(&gateway.post("/v1/chat/completions", &chat).await));
    gateway.stop().await;
}

async fn error_of(response: reqwest::Response) -> Value {
    let value = json_of(response).await;
    assert!(value["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{value}");
    value["error"].clone()
}

#[tokio::test]
async fn bad_requests_are_refused_with_the_field() {
    let gateway = replaying(&[json!({"text": "a"})], pair("qwen3", "hermes")).await;
    let item = |item: Value| json!({"input": [item]});
    let twice = json!([{"type": "namespace", "name": "a", "tools": tools()}, {"type": "namespace", "name": "b", "tools": tools()}]);
    for (more, param) in [
        (json!({"input": null}), "input"),
        (json!({"input": []}), "input"),
        (json!({"input": 3}), "input"),
        (item(json!({"type": "item_reference", "id": "a"})), "input[0]"),
        (item(json!({"type": "unheard_call"})), "input[0]"),
        (item(json!({"role": "robot", "content": "a"})), "input[0].role"),
        (item(json!({"role": "user", "content": [{"type": "input_image", "image_url": "a"}]})), "input[0].content[0]"),
        (item(json!({"type": "reasoning", "encrypted_content": "a", "summary": []})), "input[0].encrypted_content"),
        (item(json!({"type": "function_call", "call_id": "a", "arguments": "{}"})), "input[0].name"),
        (item(json!({"type": "function_call_output", "call_id": "a", "output": 3})), "input[0].output"),
        (json!({"previous_response_id": "resp_1"}), "previous_response_id"),
        (json!({"conversation": "conv_1"}), "conversation"),
        (json!({"background": true}), "background"),
        (json!({"include": ["message.output_text.logprobs"], "top_logprobs": -1}), "top_logprobs"),
        (json!({"max_output_tokens": 0}), "max_output_tokens"),
        (json!({"text": {"format": {"type": "yaml"}}}), "text.format.type"),
        (json!({"text": {"format": {"type": "json_schema", "name": "n"}}}), "text.format.schema"),
        (json!({"tools": [{"type": "unheard"}]}), "tools[0].type"),
        (json!({"tools": [{"type": "function"}]}), "tools[0].name"),
        (json!({"tools": [{"type": "custom", "name": "a", "format": {"type": "grammar"}}]}), "tools[0].format"),
        (json!({"tools": [{"type": "namespace", "name": "a"}]}), "tools[0].tools"),
        (json!({"tools": [{"type": "custom", "name": "a"}, {"type": "custom", "name": "a"}]}), "tools[1]"),
        (json!({"tools": twice, "tool_choice": {"type": "function", "name": "tide"}}), "tool_choice.name"),
        (json!({"tools": tools(), "tool_choice": {"type": "function", "name": "rain"}}), "tool_choice.name"),
        (json!({"tools": tools(), "tool_choice": {"type": "mcp"}}), "tool_choice.type"),
        (
            json!({"tools": tools(), "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}),
            "tool_choice.tools",
        ),
        (json!({"tools": tools(), "tool_choice": "some"}), "tool_choice"),
        (json!({"tool_choice": "required"}), "tool_choice"),
    ] {
        let response = gateway.post("/v1/responses", &ask(more.clone())).await;
        assert_eq!(response.status(), 400, "{more}");
        let error = error_of(response).await;
        assert_eq!(error["param"], param, "{more}: {error}");
    }
    let get = gateway.client.get(format!("{}/v1/responses/resp_1", gateway.base)).send().await.expect("it answers");
    assert_eq!(get.status(), 404);
    assert!(error_of(get).await["message"].as_str().is_some_and(|message| message.contains("resp_1")));
    gateway.stop().await;
    let gateway = replaying(&[json!({"text": "a"})], ServeConfig::default()).await;
    let error = error_of(gateway.post("/v1/responses", &ask(json!({"tools": tools()}))).await).await;
    assert!(error["message"].as_str().is_some_and(|text| text.contains("--enable-auto-tool-choice")), "{error}");
    gateway.stop().await;
}
