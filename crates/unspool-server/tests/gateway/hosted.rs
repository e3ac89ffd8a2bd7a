//! Tools that only the APIs' providers run: clients send them by default, so the gateway omits them and says so.

use serde_json::{Value, json};
use unspool_server::ServeConfig;

use crate::common::{Events, Folded, Gateway, chat, json_of, pair, tools, with};
use crate::model::with_model;

async fn gateway() -> Gateway {
    Gateway::start(with_model(ServeConfig { ..pair("qwen3", "hermes") })).await
}

/// The functions of the tests' tools, as Responses has them, and the tools that Codex sends beside its own.
fn of_codex() -> Value {
    let mut all = vec![json!({"type": "web_search", "external_web_access": false})];
    all.extend(
        tools()
            .as_array()
            .expect("a list")
            .iter()
            .map(|tool| with(json!({"type": "function", "strict": false}), tool["function"].clone())),
    );
    for kind in [
        "web_search_preview",
        "image_generation",
        "code_interpreter",
        "file_search",
        "computer_use_preview",
        "local_shell",
        "mcp",
        "tool_search",
    ] {
        all.push(json!({"type": kind}));
    }
    all.into()
}

#[tokio::test]
async fn codex_is_served_as_it_comes() {
    let gateway = gateway().await;
    let input = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How is the tide?"}]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "tide"}},
    ]);
    let body = json!({"model": "m", "input": input, "tools": of_codex(), "tool_choice": "auto", "store": false});
    let whole = json_of(gateway.post("/v1/responses", &body).await).await;
    let expected = json!([
        "web_search",
        "web_search_preview",
        "image_generation",
        "code_interpreter",
        "file_search",
        "computer_use_preview",
        "local_shell",
        "mcp",
        "tool_search"
    ]);
    assert_eq!((&whole["status"], &whole["ignored_tools"]), (&json!("completed"), &expected), "{whole}");
    let text = gateway.post("/v1/responses", &with(body.clone(), json!({"stream": true}))).await.text().await;
    let events = Events::of(&text.expect("a stream"));
    assert_eq!(events.0.last().expect("events").1["response"]["ignored_tools"], expected);
    // Only a choice of one is refused.
    let chosen = with(body.clone(), json!({"tool_choice": {"type": "web_search"}}));
    let refused = gateway.post("/v1/responses", &chosen).await;
    assert_eq!(refused.status(), 400);
    assert_eq!(json_of(refused).await["error"]["param"], "tool_choice.type");
    let allowed = json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}, {"type": "function", "name": "tide"}]});
    assert_eq!(gateway.post("/v1/responses", &with(body.clone(), json!({"tool_choice": allowed}))).await.status(), 200);
    // Where nothing else is offered, there are no tools.
    let alone = with(body, json!({"tools": [{"type": "web_search"}]}));
    assert_eq!(json_of(gateway.post("/v1/responses", &alone).await).await["ignored_tools"], json!(["web_search"]));
    gateway.stop().await;
}

#[tokio::test]
async fn messages_leave_out_what_only_anthropic_has() {
    let gateway = gateway().await;
    let messages = json!([
        {"role": "user", "content": "How is the tide?"},
        {"role": "assistant", "content": [
            {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "tide"}},
            {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []},
            {"type": "tool_use", "id": "a", "name": "tide", "input": {"port": "Looe"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "text", "text": "low"}, {"type": "tool_reference", "tool_name": "wind"}]}]},
    ]);
    let offered = json!([
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
        {"name": "tide", "input_schema": {"type": "object"}},
        {"type": "bash_20250124", "name": "bash"},
    ]);
    let body = json!({"model": "m", "max_tokens": 2000, "messages": messages, "tools": offered,
        "mcp_servers": [{"type": "url", "url": "http://a", "name": "a"}], "container": "c"});
    let expected = json!(["container", "mcp_servers", "web_search_20250305", "bash_20250124"]);
    let whole = json_of(gateway.post("/v1/messages", &body).await).await;
    assert_eq!((&whole["type"], &whole["ignored_tools"]), (&json!("message"), &expected), "{whole}");
    let text = gateway.post("/v1/messages", &with(body.clone(), json!({"stream": true}))).await.text().await;
    let events = Events::of(&text.expect("a stream"));
    assert_eq!(events.0[0].1["message"]["ignored_tools"], expected);
    let counted = json_of(gateway.post("/v1/messages/count_tokens", &body).await).await;
    assert!(counted["input_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{counted}");
    let chosen = with(body.clone(), json!({"tool_choice": {"type": "tool", "name": "web_search"}}));
    assert_eq!(gateway.post("/v1/messages", &chosen).await.status(), 400);
    let alone = with(
        body,
        json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}], "tool_choice": {"type": "auto"}}),
    );
    assert_eq!(gateway.post("/v1/messages", &alone).await.status(), 200);
    gateway.stop().await;
}

#[tokio::test]
async fn chat_leaves_them_out_and_knows_which_are_allowed() {
    let gateway = gateway().await;
    let mut offered = tools();
    let more = [json!({"type": "custom", "custom": {"name": "patch"}}), json!({"type": "web_search"})];
    offered.as_array_mut().expect("a list").extend(more);
    let body = chat(json!({"tools": offered}));
    assert_eq!(gateway.whole(&body).await["ignored_tools"], json!(["custom", "web_search"]));
    let streamed = gateway.post("/v1/chat/completions", &with(body.clone(), json!({"stream": true}))).await;
    let text = streamed.text().await.expect("a stream");
    assert!(text.starts_with("data: {") && text.contains(r#""ignored_tools":["custom","web_search"]"#));
    Folded::of(&text);
    assert!(gateway.whole(&chat(json!({}))).await.get("ignored_tools").is_none());
    let prompt = async |choice: Value| {
        let body = with(body.clone(), json!({"tool_choice": choice}));
        let response = gateway.post("/v1/chat/completions/render", &body).await;
        let (status, value) = (response.status(), json_of(response).await);
        (status.as_u16(), value)
    };
    let allowed = |mode: &str, name: &str| json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [{"type": "function", "function": {"name": name}}]}});
    let (status, _) = prompt(allowed("auto", "wind")).await;
    assert_eq!(status, 200);
    for (choice, field) in [
        (allowed("auto", "sail"), "tool_choice.allowed_tools.tools"),
        (allowed("maybe", "tide"), "tool_choice.allowed_tools.mode"),
        (json!({"type": "web_search"}), "tool_choice"),
    ] {
        let (status, error) = prompt(choice).await;
        assert_eq!((status, &error["error"]["param"]), (400, &json!(field)), "{error}");
    }
    let required = with(body.clone(), json!({"tool_choice": allowed("required", "wind")}));
    let mock = Gateway::start(pair("qwen3", "hermes")).await;
    for seed in 0..4 {
        let choice = mock.whole(&with(required.clone(), json!({"seed": seed}))).await["choices"][0].clone();
        let names = choice["message"]["tool_calls"].as_array().expect("calls must come").clone();
        assert!(names.iter().all(|call| call["function"]["name"] == "wind"), "{choice}");
    }
    mock.stop().await;
    gateway.stop().await;
}
