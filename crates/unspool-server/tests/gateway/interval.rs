//! Steps of several tokens: the same answer in fewer chunks, the first one at once.

use serde_json::{Value, json};
use unspool_server::{AnswerConfig, ServeConfig};

use crate::common::{Events, Folded, Gateway, WIRES, chat, json_of, pair, replaying, with};

/// A recording of single-character tokens, so that a chunk is a character unless chunks are merged.
fn characters(text: &str) -> Value {
    let tokens: Vec<Value> = text.chars().enumerate().map(|(id, c)| json!([id, c.to_string()])).collect();
    json!({"tokens": tokens})
}

async fn gateway(interval: u64, config: ServeConfig, text: &str) -> Gateway {
    let answers = AnswerConfig { stream_interval: interval, ..AnswerConfig::default() };
    replaying(&[characters(text)], ServeConfig { answers, ..config }).await
}

#[tokio::test]
async fn answers_are_the_same_in_fewer_chunks() {
    for (reasoning, tools, text) in WIRES {
        let mut chunks = Vec::new();
        let mut answers = Vec::new();
        for interval in [1, 7, 50, 100_000] {
            let gateway = gateway(interval, pair(reasoning, tools), text).await;
            let folded = gateway.streamed(&chat(json!({}))).await;
            chunks.push(folded.chunks.len());
            answers.push(folded.one().comparable());
            gateway.stop().await;
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{tools}: {answers:?}");
        assert!(chunks.is_sorted_by(|more, less| more > less), "{tools}: {chunks:?}");
        // The role, what is seen first, and everything else with the ending.
        assert_eq!(chunks[3], 3, "{tools}");
        assert!(chunks[1] <= text.chars().count() / 7 + 4, "{tools}: {chunks:?}");
    }
}

#[tokio::test]
async fn a_request_asks_for_more_and_never_for_less() {
    let text = "One two three four five six seven eight nine ten.";
    let gateway = gateway(10, ServeConfig::default(), text).await;
    let count = |asked: Option<u64>| {
        let body = asked.map_or(json!({}), |asked| json!({"stream_interval": asked}));
        let body = with(json!({"messages": [{"role": "user", "content": "Count."}]}), body);
        let gateway = &gateway;
        async move { gateway.streamed(&body).await.chunks.len() }
    };
    let set = count(None).await;
    assert_eq!(count(Some(1)).await, set);
    assert!(count(Some(25)).await < set);
    for bad in [0, -3] {
        let body = json!({"messages": [{"role": "user", "content": "Count."}], "stream_interval": bad});
        let answer = gateway.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.status(), 400);
        assert_eq!(json_of(answer).await["error"]["param"], "stream_interval");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn all_surfaces_have_the_same_steps() {
    let text = "One two three four five six seven eight nine ten.";
    let gateway = gateway(10, ServeConfig::default(), text).await;
    let asked =
        json!({"model": "m", "stream": true, "max_tokens": 99, "messages": [{"role": "user", "content": "Count."}]});
    let deltas = |events: &Events, name: &str| events.0.iter().filter(|(event, _)| event == name).count();
    let stream = gateway.post("/v1/messages", &asked).await.text().await.expect("the stream can be read");
    let blocks = deltas(&Events::of(&stream), "content_block_delta");
    let asked = json!({"model": "m", "stream": true, "input": "Count."});
    let stream = gateway.post("/v1/responses", &asked).await.text().await.expect("the stream can be read");
    let items = deltas(&Events::of(&stream), "response.output_text.delta");
    let asked = json!({"stream": true, "messages": [{"role": "user", "content": "Count."}]});
    let stream = gateway.post("/v1/chat/completions", &asked).await.text().await.expect("the stream can be read");
    // Without the chunk of the role; the last one has text, too.
    assert_eq!((blocks, items), (Folded::of(&stream).chunks.len() - 1, Folded::of(&stream).chunks.len() - 1));
    assert_eq!(blocks, 1 + text.len().div_ceil(10));
    gateway.stop().await;
}
