//! Images in front of models that see none, and of servers that take them.

use serde_json::{Value, json};
use unspool_server::{ImagePolicy, RemoteKind, ServeConfig, TextConfig};

use crate::common::{Gateway, json_of, plain_chat};
use crate::fake::{Fake, in_front, singly};

const DATA: &str = "iVBORw0KGgo=";

/// A conversation with an image on each API: one that a user sent, and one that a tool showed.
fn requests() -> [(&'static str, Value); 3] {
    let url = format!("data:image/png;base64,{DATA}");
    let source = json!({"type": "base64", "media_type": "image/png", "data": DATA});
    let chat = json!({"messages": [{"role": "user", "content": [
        {"type": "text", "text": "Which port?"}, {"type": "image_url", "image_url": {"url": url}}]}]});
    let messages = json!({"model": "m", "max_tokens": 2000, "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Which port?"}, {"type": "image", "source": source}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "text", "text": "see"}, {"type": "image", "source": source}]}]}]});
    let responses = json!({"model": "m", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Which port?"}, {"type": "input_image", "image_url": url}]},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": [
            {"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": url}]}]});
    [("/v1/chat/completions", plain_chat(chat)), ("/v1/messages", messages), ("/v1/responses", responses)]
}

#[tokio::test]
async fn images_are_refused_or_a_text_stands_in_their_place() {
    let (_, url) = Fake::start(RemoteKind::Vllm, vec![singly("Aye.</think>Aye."); 8]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url.clone())).await;
    for (path, body) in requests() {
        assert_eq!(gateway.post(path, &body).await.status(), 400, "{path}");
    }
    gateway.stop().await;
    let text = TextConfig { image_policy: ImagePolicy::Placeholder, ..TextConfig::default() };
    let gateway = Gateway::start(ServeConfig { text, ..in_front(RemoteKind::Vllm, url) }).await;
    for (path, body) in requests() {
        let response = gateway.post(path, &body).await;
        let (status, answer) = (response.status(), json_of(response).await);
        assert_eq!(status, 200, "{path}: {answer}");
    }
    let (_, body) = &requests()[0];
    let prompt = json_of(gateway.post("/v1/chat/completions/render", body).await).await["prompt"].clone();
    let prompt = prompt.as_str().expect("a text");
    assert!(prompt.contains("Which port?") && prompt.contains("(an image, which cannot be seen here)"), "{prompt}");
    let odd = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}]});
    let refused = gateway.post("/v1/messages", &odd).await;
    assert_eq!(refused.status(), 400);
    gateway.stop().await;
}
