//! Streams of named events, one answer each.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;

use super::event_stream;
use crate::backend::BackendError;
use crate::engine::Reply;
use crate::reply::{Step, TokenCounts};

/// How a surface shows an answer while it is written.
pub(super) trait Writer: Send + 'static {
    /// The events before the first step.
    fn begin(&mut self, tokens: TokenCounts, out: &mut Vec<u8>);

    /// The events of a step; the last one has an ending.
    fn step(&mut self, step: Step, out: &mut Vec<u8>);

    /// The events of a failure, which are the last ones.
    fn fail(&mut self, error: BackendError, out: &mut Vec<u8>);
}

/// Streams an answer. Nothing is read from the backend before the client has taken what came before, and a client that
/// goes away takes the answer with it.
pub(super) fn answer(reply: Reply, writer: impl Writer) -> Response {
    let frames = stream::unfold((reply, writer, true), |(mut reply, mut writer, first)| async move {
        let mut out = Vec::new();
        if first {
            writer.begin(reply.tokens(), &mut out);
        }
        while out.is_empty() {
            match reply.next().await? {
                Ok(step) => writer.step(step, &mut out),
                Err(error) => {
                    tracing::warn!(fault = ?error.fault, "a backend failed in the middle of an answer");
                    writer.fail(error, &mut out);
                }
            }
        }
        Some((Ok::<_, Infallible>(Bytes::from(out)), (reply, writer, false)))
    });
    event_stream(Body::from_stream(frames))
}

/// Writes one event.
pub(super) fn event(out: &mut Vec<u8>, name: &str, data: &Value) {
    out.extend_from_slice(format!("event: {name}\ndata: {data}\n\n").as_bytes());
}
