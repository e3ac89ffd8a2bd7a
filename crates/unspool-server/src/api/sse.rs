//! Streams of named events, one answer each.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use serde_json::Value;
use tokio::time::timeout;

use super::event_stream;
use crate::backend::BackendError;
use crate::engine::Reply;
use crate::reply::{Step, TokenCounts};

/// How an API streams an answer.
pub(super) trait Writer: Send + 'static {
    /// Whether the first event has the prompt's tokens.
    const COUNTS_FIRST: bool;

    /// The events before the first step.
    fn begin(&mut self, tokens: TokenCounts, out: &mut Vec<u8>);

    /// The events of a step; the last one has an ending.
    fn step(&mut self, step: Step, out: &mut Vec<u8>);

    /// The keep-alive of a silent stream.
    fn silence(&mut self, out: &mut Vec<u8>);

    /// The events of a failure, which are the last ones.
    fn fail(&mut self, error: BackendError, out: &mut Vec<u8>);
}

/// Marks an event stream with its own keep-alive.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeepsAlive;

/// Streams an answer. The backend is read only after the client has taken the previous data. If the client disconnects,
/// the answer ends. After `patience` without data, the writer sends a keep-alive.
pub(super) fn answer<W: Writer>(reply: Reply, writer: W, patience: Option<Duration>) -> Response {
    let tokens = reply.tokens();
    let steps = stream::unfold(reply, |mut reply| async move { reply.next().await.map(|step| (step, reply)) });
    let begun = !(W::COUNTS_FIRST && tokens.prompt == 0);
    let streamed = Streamed { steps: Box::pin(steps), writer, tokens, patience, begun, first: true };
    let frames = stream::unfold(streamed, |mut streamed| async {
        let frame = streamed.next().await?;
        Some((Ok::<_, Infallible>(frame), streamed))
    });
    let mut response = event_stream(Body::from_stream(frames));
    response.extensions_mut().insert(KeepsAlive);
    response
}

struct Streamed<S, W> {
    /// The next step survives a cancelled wait.
    steps: Pin<Box<S>>,
    writer: W,
    tokens: TokenCounts,
    patience: Option<Duration>,
    /// The first event needs no further data.
    begun: bool,
    /// The first event has not been written.
    first: bool,
}

impl<S: Stream<Item = Result<Step, BackendError>>, W: Writer> Streamed<S, W> {
    async fn next(&mut self) -> Option<Bytes> {
        let mut out = Vec::new();
        if self.begun && std::mem::take(&mut self.first) {
            self.writer.begin(self.tokens, &mut out);
        }
        while out.is_empty() {
            let next = self.steps.next();
            // No keep-alive before the answer has begun.
            let step = match self.patience.filter(|_| !self.first) {
                Some(patience) => match timeout(patience, next).await {
                    Ok(step) => step?,
                    Err(_) => {
                        self.writer.silence(&mut out);
                        break;
                    }
                },
                None => next.await?,
            };
            if std::mem::take(&mut self.first) {
                let tokens = step.as_ref().map_or(self.tokens, |step| TokenCounts { completion: 0, ..step.tokens });
                self.writer.begin(tokens, &mut out);
            }
            match step {
                Ok(step) => self.writer.step(step, &mut out),
                Err(error) => {
                    tracing::warn!(fault = ?error.fault, "a backend failed in the middle of an answer");
                    self.writer.fail(error, &mut out);
                }
            }
        }
        Some(out.into())
    }
}

/// Writes one event.
pub(super) fn event(out: &mut Vec<u8>, name: &str, data: &Value) {
    out.extend_from_slice(format!("event: {name}\ndata: {data}\n\n").as_bytes());
}
