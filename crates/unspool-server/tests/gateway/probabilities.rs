//! Log probabilities and ids of tokens: each token's with the field to which its text went, whichever server tells of them and
//! however the answer is cut.

use serde_json::{Value, json};
use unspool_server::{BackendSpec, RemoteKind, ServeConfig};

use crate::common::{Gateway, chat, json_of, pair, plain_chat, replaying, with};
use crate::fake::{Fake, in_front, logprob, singly, text_of, tokens};

const THOUGHT: &str = "One keel.";
const SAID: &str = "Look.";
const CALL: &str = "<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\"}}\n</tool_call>";

fn output() -> String {
    format!("{THOUGHT}</think>\n\n{SAID}\n{CALL}")
}

fn ask(more: Value) -> Value {
    with(chat(json!({"logprobs": true, "top_logprobs": 2, "max_tokens": 500})), more)
}

/// The tokens of a list, joined.
fn joined(list: &Value) -> String {
    list.as_array().into_iter().flatten().map(|entry| entry["token"].as_str().expect("a text")).collect()
}

/// The lists of all chunks, joined field by field.
fn gathered(chunks: &[Value]) -> Value {
    let mut all = json!({"content": [], "reasoning": [], "tool_calls": [], "markup": []});
    for chunk in chunks {
        let told = &chunk["choices"][0]["logprobs"];
        for field in ["content", "reasoning", "markup"] {
            let more = told[field].as_array().cloned().unwrap_or_default();
            all[field].as_array_mut().expect("a list").extend(more);
        }
        for call in told["tool_calls"].as_array().into_iter().flatten() {
            let calls = all["tool_calls"].as_array_mut().expect("a list");
            match calls.iter_mut().find(|known| known["index"] == call["index"]) {
                Some(known) => known["content"]
                    .as_array_mut()
                    .expect("a list")
                    .extend(call["content"].as_array().expect("a list").clone()),
                None => calls.push(call.clone()),
            }
        }
    }
    all
}

#[tokio::test]
async fn each_tokens_entry_goes_where_its_text_went() {
    let kinds = [RemoteKind::OpenAi, RemoteKind::Vllm, RemoteKind::Sglang, RemoteKind::LlamaCpp, RemoteKind::Tgi];
    for kind in kinds {
        let answers = vec![singly(&output()); 2];
        let (_, url) = Fake::start(kind, answers).await;
        let gateway = Gateway::start(in_front(kind, url)).await;
        let whole = gateway.whole(&ask(json!({}))).await;
        let told = &whole["choices"][0]["logprobs"];
        assert_eq!(
            (joined(&told["reasoning"]), joined(&told["content"])),
            (THOUGHT.into(), SAID.into()),
            "{kind}: {told}"
        );
        let call = joined(&told["tool_calls"][0]["content"]);
        assert!(
            call.contains("\"tide\"") && call.contains("\"Looe\"") && call.trim_end().ends_with('}'),
            "{kind}: {call}"
        );
        let first = &told["content"][0];
        assert_eq!((&first["logprob"], &first["bytes"]), (&json!(logprob(76)), &json!([76])), "{kind}");
        let top = first["top_logprobs"].as_array().expect("a list");
        assert_eq!(
            (top.len(), &top[0]["token"], &top[1]["token"]),
            (2, &json!("L"), &json!("\"")),
            "{kind}: the likeliest first"
        );
        // No token is lost or repeated. TGI's last token is its end.
        let all = [&told["reasoning"], &told["content"], &told["tool_calls"][0]["content"], &told["markup"]];
        let count: usize = all.iter().map(|list| list.as_array().map_or(0, Vec::len)).sum();
        assert_eq!(count, tokens(&output()).len() + usize::from(kind == RemoteKind::Tgi), "{kind}: {told}");
        assert!(joined(&told["markup"]).contains("</think>\n\n"), "{kind}: {told}");
        let streamed = gateway.streamed(&ask(json!({}))).await;
        assert_eq!(&gathered(&streamed.chunks), told, "{kind}");
    }
}

#[tokio::test]
async fn no_cut_and_no_lag_moves_an_entry() {
    let all = singly(&output());
    let told = async |answer: Vec<String>, lag: usize, more: Value| {
        let (_, url) = Fake::start_lagging(RemoteKind::Vllm, lag, vec![answer.clone(), answer]).await;
        let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
        let whole = gateway.whole(&ask(more.clone())).await["choices"][0]["logprobs"].clone();
        let streamed = gateway.streamed(&ask(more)).await;
        assert_eq!(gathered(&streamed.chunks), whole, "{lag}");
        whole
    };
    let singly = told(all.clone(), 0, json!({})).await;
    for size in [2, 3, 7, 200] {
        let coarse: Vec<String> = all.chunks(size).map(<[String]>::concat).collect();
        assert_eq!(told(coarse.clone(), 0, json!({})).await, singly, "{size}");
        assert_eq!(told(coarse, 9, json!({"stop": ["DONE AND OVER"]})).await, singly, "{size}, late");
    }
    assert_eq!(told(all.clone(), 0, json!({"stream_interval": 5})).await, singly);
}

#[tokio::test]
async fn what_the_gateway_writes_itself_has_no_entry() {
    let (_, url) = Fake::start(RemoteKind::Vllm, vec![singly("One keel. Two."), singly("\n\nBook it.")]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let body = plain_chat(json!({"logprobs": true, "return_token_ids": true, "thinking_token_budget": 9}));
    let whole = gateway.whole(&body).await;
    let choice = &whole["choices"][0];
    let told = &choice["logprobs"];
    assert_eq!(
        (joined(&told["reasoning"]), joined(&told["content"])),
        ("One keel".into(), "Book it.".into()),
        "{told}"
    );
    assert_eq!(joined(&told["markup"]), "\n\n", "the end of the thought was not the model's");
    assert_eq!(choice["token_ids"], json!(tokens("One keel</think>\n\nBook it.")));
}

#[tokio::test]
async fn ids_are_told_of_prompt_and_answer() {
    let (_, url) = Fake::start(RemoteKind::Vllm, vec![singly(&output()); 3]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let ids = json!(tokens(&output()));
    let whole = gateway.whole(&ask(json!({"return_token_ids": true}))).await;
    assert_eq!(whole["choices"][0]["token_ids"], ids);
    let prompt = whole["prompt_token_ids"].clone();
    assert!(prompt.as_array().is_some_and(|ids| ids.len() > 5), "{prompt}");
    let streamed = gateway.streamed(&chat(json!({"return_token_ids": true}))).await;
    assert_eq!(streamed.chunks[0]["prompt_token_ids"], prompt);
    let given = |chunk: &Value| chunk["choices"][0]["token_ids"].as_array().cloned().unwrap_or_default();
    assert_eq!(json!(streamed.chunks.iter().flat_map(given).collect::<Vec<_>>()), ids);
    // Log probabilities do not reveal what is hidden from the client.
    let hidden = gateway.whole(&ask(json!({"return_token_ids": true, "include_reasoning": false}))).await;
    let choice = &hidden["choices"][0];
    assert_eq!((&choice["token_ids"], joined(&choice["logprobs"]["content"])), (&Value::Null, SAID.to_owned()));
    assert_eq!((&choice["logprobs"]["reasoning"], &choice["logprobs"]["markup"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn responses_tell_of_the_text() {
    let (_, url) = Fake::start(RemoteKind::Vllm, vec![singly(&output()); 2]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    let body = json!({"model": "m", "input": "How is the tide?", "tools": [{"type": "function", "name": "tide"}],
        "include": ["message.output_text.logprobs"], "top_logprobs": 1, "return_token_ids": true});
    let whole = json_of(gateway.post("/v1/responses", &body).await).await;
    let text = &whole["output"][1]["content"][0];
    assert_eq!((&text["text"], joined(&text["logprobs"])), (&json!(SAID), SAID.to_owned()), "{whole}");
    assert_eq!(text["logprobs"][0]["top_logprobs"][0]["token"], "L");
    assert_eq!((&whole["top_logprobs"], &whole["token_ids"]), (&json!(1), &json!(tokens(&output()))));
    let streamed = gateway.post("/v1/responses", &with(body, json!({"stream": true}))).await;
    let events = streamed.text().await.expect("the stream ends");
    let data = events.lines().filter_map(|line| line.strip_prefix("data: "));
    let data: Vec<Value> = data.map(|data| serde_json::from_str(data).expect("JSON")).collect();
    let of = |kind: &str| data.iter().filter(|event| event["type"] == kind).cloned().collect::<Vec<_>>();
    for delta in of("response.output_text.delta") {
        assert_eq!(joined(&delta["logprobs"]), delta["delta"].as_str().expect("a text"), "{delta}");
    }
    assert_eq!(of("response.output_text.done")[0]["logprobs"], text["logprobs"]);
    assert_eq!(of("response.content_part.done").last().expect("a part")["part"]["logprobs"], text["logprobs"]);
}

#[tokio::test]
async fn a_chat_servers_entries_of_text_pass() {
    let (_, url) = Fake::start(RemoteKind::Chat, vec![singly(&format!("<think>\n{}", output())); 2]).await;
    let backend = BackendSpec::Remote { kind: RemoteKind::Chat, urls: vec![url] };
    let gateway = Gateway::start(ServeConfig { backend, ..pair("qwen3", "hermes") }).await;
    let told = gateway.whole(&ask(json!({}))).await["choices"][0]["logprobs"].clone();
    assert_eq!((joined(&told["reasoning"]), joined(&told["content"])), (THOUGHT.into(), SAID.into()), "{told}");
    assert!(told.get("tool_calls").is_none() && told.get("markup").is_none(), "what became a call is dropped: {told}");
    let streamed = gateway.streamed(&ask(json!({}))).await;
    let gathered = gathered(&streamed.chunks);
    assert_eq!((&gathered["content"], &gathered["reasoning"]), (&told["content"], &told["reasoning"]));
}

#[tokio::test]
async fn who_cannot_tell_is_named_and_the_mock_makes_them_up() {
    let gateway = replaying(&[json!({"text": "Aye."})], ServeConfig::default()).await;
    let refused = json_of(gateway.post("/v1/chat/completions", &plain_chat(json!({"logprobs": true}))).await).await;
    assert_eq!(refused["error"]["param"], "logprobs", "{refused}");
    let mock = Gateway::start(pair("qwen3", "hermes")).await;
    let whole = mock.whole(&chat(json!({"logprobs": true, "seed": 1, "return_tokens_as_token_ids": true}))).await;
    let told = &whole["choices"][0]["logprobs"];
    let first = told["reasoning"][0]["token"].as_str().unwrap_or_default();
    assert!(first.starts_with("token_id:"), "{told}");
}

#[tokio::test]
async fn a_prompts_probabilities_are_asked_for_whole() {
    let (fake, url) = Fake::start(RemoteKind::Vllm, vec![singly(&output())]).await;
    let gateway = Gateway::start(in_front(RemoteKind::Vllm, url)).await;
    gateway.post("/v1/chat/completions", &chat(json!({"prompt_logprobs": 2}))).await;
    let asked = &fake.seen()[0];
    assert_eq!((&asked["stream"], &asked["prompt_logprobs"]), (&json!(false), &json!(2)));
    assert!(asked.get("stream_options").is_none() && !text_of(76).is_empty());
}
