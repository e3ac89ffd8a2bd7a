//! A Messages conversation as the model is shown it: the order of what the assistant said, and the tools that there are at its end.

use serde_json::{Value, json};
use unspool_server::{BackendSpec, RemoteKind, ServeConfig};

use crate::common::{Gateway, json_of, pair, with};
use crate::fake::{Fake, singly};

const TEMPLATE: &str = "{% for t in tools or [] %}[{{ t.function.name }}]{% endfor %}{% for m in messages %}<{{ m.role }}>{{ m.reasoning or '' }}/\
    {% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content or [] %}{{ p.text }}{% endfor %}{% endif %}/\
    {% for c in m.tool_calls or [] %}{{ c.function.name }} {% endfor %}{% endfor %}";

/// The prompt of a request, by a template.
async fn shown(template: &str, body: &Value) -> String {
    let (fake, url) = Fake::start(RemoteKind::OpenAi, vec![singly("Aye.")]).await;
    let backend = BackendSpec::Remote { kind: RemoteKind::OpenAi, urls: vec![url] };
    let chat_template = Some(template.to_owned());
    let gateway = Gateway::start(ServeConfig { backend, chat_template, ..pair("qwen3", "hermes") }).await;
    let response = gateway.post("/v1/messages", body).await;
    let status = response.status();
    let told = json_of(response).await;
    assert_eq!(status, 200, "{told}");
    fake.seen()[0]["prompt"].as_str().expect("a text").to_owned()
}

fn tool(name: &str) -> Value {
    json!({"name": name, "input_schema": {"type": "object", "properties": {}}})
}

fn ask(more: Value) -> Value {
    with(json!({"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "a"}]}), more)
}

#[tokio::test]
async fn what_the_assistant_said_keeps_its_order() {
    let call = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": id});
    let thought = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "s"});
    let text = |text: &str| json!({"type": "text", "text": text});
    let said = json!([thought("T1"), text("X1"), call("c1", "tide"), thought("T2"), call("c2", "ebb"), text("X2")]);
    let body = ask(json!({"tools": [tool("tide"), tool("ebb")], "messages": [
        {"role": "user", "content": "a"}, {"role": "assistant", "content": said},
        {"role": "user", "content": [result("c1"), result("c2")]}]}));
    let split = "[tide][ebb]<user>/a/<assistant>T1/X1/tide <assistant>T2//ebb <assistant>/X2/<tool>/c1/<tool>/c2/";
    assert_eq!(shown(TEMPLATE, &body).await, split);
    let strict = TEMPLATE.replace(
        "<{{ m.role }}>",
        "{% if loop.previtem is defined and m.role == 'assistant' and loop.previtem.role == 'assistant' %}{{ \
         raise_exception('Roles must alternate.') }}{% endif %}<{{ m.role }}>",
    );
    let joined = "[tide][ebb]<user>/a/<assistant>T1\nT2/X1\nX2/tide ebb <tool>/c1/<tool>/c2/";
    assert_eq!(shown(&strict, &body).await, joined);
}

#[tokio::test]
async fn a_conversation_may_change_the_tools() {
    let defined = |name: &str| json!({"type": "tool_definition", "definition": tool(name)});
    let named = |name: &str| json!({"type": "tool_reference", "name": name});
    let change = |kind: &str, tool: Value| json!({"type": kind, "tool": tool});
    let add = |tool: Value| change("tool_addition", tool);
    let remove = |tool: Value| change("tool_removal", tool);
    for (blocks, tools) in [
        (vec![add(defined("flow"))], "[tide][ebb][flow]"),
        (vec![remove(named("tide"))], "[ebb]"),
        (vec![remove(named("tide")), add(named("tide"))], "[ebb][tide]"),
        (vec![add(named("ebb")), add(json!({"type": "mcp_toolset_reference", "server_name": "s"}))], "[tide][ebb]"),
        (vec![add(defined("tide"))], "[ebb][tide]"),
    ] {
        let system = json!({"role": "system", "content": blocks});
        let messages = json!([{"role": "user", "content": "a"}, system]);
        let body = ask(json!({"tools": [tool("tide"), tool("ebb")], "messages": messages}));
        assert_eq!(shown(TEMPLATE, &body).await, format!("{tools}<user>/a/"), "{blocks:?}");
    }
    let gateway = Gateway::start(pair("qwen3", "hermes")).await;
    let odd = json!([{"role": "user", "content": "a"}, {"role": "system", "content": [add(json!({"type": "tool_reference"}))]}]);
    let refused = json_of(gateway.post("/v1/messages", &ask(json!({"messages": odd}))).await).await;
    assert!(
        refused["error"]["message"].as_str().is_some_and(|m| m.contains("messages[1].content[0].tool")),
        "{refused}"
    );
    // Those that a conversation adds count against the server's limit.
    let added: Vec<Value> = (0..1025).map(|number| add(defined(&format!("tool{number}")))).collect();
    let many = json!([{"role": "user", "content": "a"}, {"role": "system", "content": added}]);
    let refused = json_of(gateway.post("/v1/messages", &ask(json!({"messages": many}))).await).await;
    assert!(refused["error"]["message"].as_str().is_some_and(|m| m.contains("more than 1024 tools")), "{refused}");
}
