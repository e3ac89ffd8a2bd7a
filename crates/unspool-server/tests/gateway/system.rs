//! System messages behind a user's: merged into the first where the template takes none there, on the APIs that have them
//! anywhere.

use serde_json::{Value, json};
use unspool_server::{RemoteKind, ServeConfig};

use crate::common::{Gateway, json_of, plain_chat};
use crate::fake::{Fake, in_front, singly};

/// A template that takes a system message at the beginning alone, as Qwen 3.5's do.
const STRICT: &str = "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('System message must be \
    at the beginning.') }}{% endif %}<{{ m.role }}>{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}\
    {{ p.text }}{% endfor %}{% endif %}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

async fn gateway(template: &str) -> Gateway {
    let (_, url) = Fake::start(RemoteKind::Vllm, vec![singly("Low.</think>Low."); 4]).await;
    let config = in_front(RemoteKind::Vllm, url);
    Gateway::start(ServeConfig { chat_template: Some(template.to_owned()), ..config }).await
}

fn conversation() -> Value {
    json!({"model": "m", "max_tokens": 50, "system": "Be brief.", "messages": [
        {"role": "user", "content": "How is the tide?"},
        {"role": "system", "content": "The user is at Looe."},
        {"role": "user", "content": "Well?"}]})
}

async fn tokens(gateway: &Gateway, path: &str, body: &Value) -> u64 {
    let response = gateway.post(path, body).await;
    let status = response.status();
    let counted = json_of(response).await;
    assert_eq!(status, 200, "{counted}");
    counted["input_tokens"].as_u64().expect("a count")
}

#[tokio::test]
async fn a_late_system_message_is_merged_where_the_template_refuses_it() {
    let merged = "<system>Be brief.\n\nThe user is at Looe.</><user>How is the tide?</><user>Well?</><assistant>";
    let strict = gateway(STRICT).await;
    assert_eq!(strict.post("/v1/messages", &conversation()).await.status(), 200);
    let counted = tokens(&strict, "/v1/messages/count_tokens", &conversation()).await;
    assert_eq!(counted, merged.len() as u64, "a token is a byte here");
    let input = json!({"model": "m", "instructions": "Be brief.", "input": [
        {"role": "user", "content": "How is the tide?"},
        {"role": "developer", "content": "The user is at Looe."},
        {"role": "user", "content": "Well?"}]});
    assert_eq!(strict.post("/v1/responses", &input).await.status(), 200);
    assert_eq!(tokens(&strict, "/v1/responses/input_tokens", &input).await, merged.len() as u64);
    // In chat the template decides, as in vLLM.
    let messages = json!([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]);
    let refused = strict.post("/v1/chat/completions", &plain_chat(json!({"messages": messages}))).await;
    assert_eq!(refused.status(), 400);
    strict.stop().await;
}

#[tokio::test]
async fn it_stays_where_it_is_where_the_template_takes_it() {
    let lenient = STRICT.replace(" and not loop.first", " and false");
    let gateway = gateway(&lenient).await;
    let expected =
        "<system>Be brief.</><user>How is the tide?</><system>The user is at Looe.</><user>Well?</><assistant>";
    assert_eq!(tokens(&gateway, "/v1/messages/count_tokens", &conversation()).await, expected.len() as u64);
    gateway.stop().await;
}
