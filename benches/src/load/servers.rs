//! The three servers, each a process of its own: the model, a plain proxy before it, the gateway before it.

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use unspool_server::{BackendSpec, RemoteKind, ServeConfig};

use crate::message;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Runs a server until it is killed. It tells where it listens on its first line.
pub fn run(role: &str, argument: &str) -> Fallible<()> {
    match role {
        "model" => serve(Router::new().route("/v1/completions", post(complete)).with_state(argument.parse()?)),
        "proxy" => {
            let _ = rustls::crypto::ring::default_provider().install_default();
            let client = reqwest::Client::builder().no_proxy().build()?;
            serve(Router::new().route("/v1/completions", post(pass)).with_state((client, argument.to_owned())))
        }
        "gateway" => Ok(unspool_server::run_blocking(&gateway(argument), |place| println!("{place}"))?),
        _ => Err(format!("there is no server `{role}`").into()),
    }
}

fn serve(router: Router) -> Fallible<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}", listener.local_addr()?);
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        Ok(axum::serve(listener, router).await?)
    })
}

fn gateway(model: &str) -> ServeConfig {
    ServeConfig {
        backend: BackendSpec::Remote { kind: RemoteKind::OpenAi, urls: vec![model.to_owned()] },
        reasoning_parser: Some("qwen3".to_owned()),
        tool_call_parser: Some("hermes".to_owned()),
        enable_auto_tool_choice: true,
        host: "127.0.0.1".to_owned(),
        port: 0,
        ..ServeConfig::default()
    }
}

/// Writes the stream whose number stands in the prompt, token by token, at a rate of tokens a second.
async fn complete(State(rate): State<f64>, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let prompt = body["prompt"].as_str().unwrap_or_default();
    let digits = prompt.rsplit_once("stream ").map_or("", |(_, rest)| rest);
    let digits = digits.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
    let (tokens, _) = message::of(digits.parse().unwrap_or_default());
    let pause = Duration::from_secs_f64(1.0 / rate);
    let words = stream::iter(tokens).then(move |token| async move {
        tokio::time::sleep(pause).await;
        event(&json!({"choices": [{"index": 0, "text": message::stamped(&token), "finish_reason": null}]}))
    });
    let end = event(&json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})) + "data: [DONE]\n\n";
    let events = words.chain(stream::iter([end])).map(Ok::<_, Infallible>);
    ([("content-type", "text/event-stream")], Body::from_stream(events)).into_response()
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// Passes a request on and its answer back, and looks at neither.
async fn pass(State((client, model)): State<(reqwest::Client, String)>, body: Bytes) -> Response {
    let request = client.post(format!("{model}/v1/completions")).header("content-type", "application/json");
    let Ok(answer) = request.body(body).send().await else {
        return axum::http::StatusCode::BAD_GATEWAY.into_response();
    };
    let chunks = stream::unfold(answer, |mut answer| async {
        let chunk = answer.chunk().await.transpose()?;
        Some((chunk, answer))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(chunks)).into_response()
}
