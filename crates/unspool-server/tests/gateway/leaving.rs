//! Work for a request whose client has gone: it stops, also where it is a grammar that is being made.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use unspool::grammar::{Limit, Options};
use unspool::{Registry, Request, Setup};
use unspool_server::{ConstraintConfig, RemoteKind, ServeConfig};

use crate::common::{Gateway, chat};
use crate::fake::{Fake, in_front};

/// The least time that the grammar of the test takes.
const WORK: Duration = Duration::from_millis(1500);

fn limit() -> Limit {
    Limit { bytes: 1 << 30, nodes: 1 << 30 }
}

/// A request that demands calls, with so many strict tools.
fn demanding(tools: usize) -> Value {
    let properties: serde_json::Map<String, Value> = (0..20)
        .map(|at| {
            (
                format!("harbour_{at}"),
                json!({"type": "object", "properties": {"depth": {"type": "integer"}, "name": {"type": "string"}}}),
            )
        })
        .collect();
    let tool = |at: usize| {
        json!({"type": "function", "function": {"name": format!("tide_{at}"), "strict": true,
            "parameters": {"type": "object", "properties": properties}}})
    };
    chat(json!({"tools": (0..tools).map(tool).collect::<Vec<_>>(), "tool_choice": "required"}))
}

/// How long the grammar takes if somebody waits for it.
fn full_time(body: &Value) -> Duration {
    let setup =
        Setup { reasoning_parser: Some("qwen3".into()), tool_parser: Some("hermes".into()), ..Setup::default() };
    let pair = Registry::builtin().pair(&setup).expect("the names are known");
    let request = Request::from_openai(body).expect("the request is right");
    let begun = Instant::now();
    let options = Options { limit: limit(), with_thought: true, ..Options::default() };
    let grammar = pair.grammar(&request, &options).expect("it has a grammar").expect("a call is demanded");
    assert!(grammar.structural_tag().is_object());
    begun.elapsed()
}

#[test]
fn a_grammar_that_nobody_waits_for_is_not_made() {
    let mut tools = 64;
    let (body, full) = loop {
        let body = demanding(tools);
        let full = full_time(&body);
        if full >= WORK || tools >= 1024 {
            break (body, full);
        }
        tools *= 2;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let gateway = runtime.block_on(async {
        let (_, url) = Fake::start(RemoteKind::Vllm, Vec::new()).await;
        let constraint = ConstraintConfig { grammar_limit: limit(), ..ConstraintConfig::default() };
        let gateway = Gateway::start(ServeConfig { constraint, ..in_front(RemoteKind::Vllm, url) }).await;
        let address = gateway.base.strip_prefix("http://").expect("it is http").to_owned();
        let mut client = TcpStream::connect(&address).await.expect("the gateway listens");
        let text = body.to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        client.write_all(head.as_bytes()).await.expect("the gateway reads");
        client.write_all(text.as_bytes()).await.expect("the gateway reads");
        tokio::time::sleep(full / 4).await;
        drop(client);
        gateway
    });
    // A runtime ends when the work on its threads has, so this takes as long as the grammar goes on.
    let left = Instant::now();
    drop(gateway);
    drop(runtime);
    let rest = left.elapsed();
    assert!(rest < full / 2, "a grammar of {full:?} went on for {rest:?} when its client had left");
}
