//! An answer while it is written.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, SelectAll, StreamExt as _};
use serde::Serialize;
use unspool::Diagnostic;

use super::super::event_stream;
use super::Frame;
use super::chunk::{Chunk, ChunkChoice, Delta, Usage};
use crate::backend::BackendError;
use crate::engine::Reply;
use crate::error::ApiError;
use crate::reply::{Step, TokenCounts};

/// Which chunks carry token counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    /// A last one of their own.
    pub(super) usage: bool,
    /// All of them.
    pub(super) continuous: bool,
}

/// Streams the answers. Nothing is read from a backend before the client has taken what came before, and a client that goes
/// away takes the whole stream with it, backends included.
pub(super) fn answer(frame: Frame, replies: Vec<Reply>, counts: Counts) -> Response {
    let choices = replies.len();
    let steps = replies.into_iter().enumerate().map(|(index, reply)| steps(index, reply));
    let writer = Writer {
        frame,
        counts,
        steps: stream::select_all(steps),
        tokens: vec![TokenCounts::default(); choices],
        diagnostics: vec![Vec::new(); choices],
        error: None,
        phase: Phase::Roles,
    };
    let frames = stream::unfold(writer, |mut writer| async {
        let frame = writer.next().await?;
        Some((Ok::<_, Infallible>(frame), writer))
    });
    event_stream(Body::from_stream(frames))
}

/// The steps of one choice, each with its index.
type Steps = BoxStream<'static, (usize, Result<Step, BackendError>)>;

fn steps(index: usize, reply: Reply) -> Steps {
    stream::unfold(reply, move |mut reply| async move { reply.next().await.map(|step| ((index, step), reply)) }).boxed()
}

struct Writer {
    frame: Frame,
    counts: Counts,
    steps: SelectAll<Steps>,
    tokens: Vec<TokenCounts>,
    /// The oddities of each choice so far.
    diagnostics: Vec<Vec<Diagnostic>>,
    error: Option<BackendError>,
    phase: Phase,
}

#[derive(Clone, Copy)]
enum Phase {
    Roles,
    Steps,
    Over,
}

impl Writer {
    /// The next bytes of the stream.
    async fn next(&mut self) -> Option<Bytes> {
        match self.phase {
            Phase::Roles => {
                self.phase = Phase::Steps;
                let mut out = Vec::new();
                for index in 0..self.tokens.len() {
                    self.write(&mut out, choice(index, Delta::role(&self.frame.role)));
                }
                return Some(out.into());
            }
            Phase::Steps => {}
            Phase::Over => return None,
        }
        loop {
            let Some((index, step)) = self.steps.next().await else {
                self.phase = Phase::Over;
                return Some(self.ending());
            };
            let mut out = Vec::new();
            match step {
                Ok(step) => self.step(&mut out, index, step),
                // The other answers go on: a client stops reading at an error, so it is told last.
                Err(error) => self.error = self.error.take().or(Some(error)),
            }
            if !out.is_empty() {
                return Some(out.into());
            }
        }
    }

    fn step(&mut self, out: &mut Vec<u8>, index: usize, step: Step) {
        if let Some(tokens) = self.tokens.get_mut(index) {
            *tokens = step.tokens;
        }
        let (delta, diagnostics) = Delta::of(step.events);
        let delta = delta.placed(self.frame.reasoning_field);
        if let Some(all) = self.diagnostics.get_mut(index).filter(|_| self.frame.diagnostics) {
            all.extend(diagnostics);
        }
        if let Some(ending) = step.ending {
            let told = self.diagnostics.get_mut(index).map(std::mem::take);
            let last = ChunkChoice {
                finish_reason: Some(&ending.reason),
                stop_reason: Some(ending.stopped_at.unwrap_or_default()),
                diagnostics: told.filter(|_| self.frame.diagnostics),
                ..choice(index, delta)
            };
            self.write(out, last);
        } else if !delta.is_empty() {
            self.write(out, choice(index, delta));
        }
    }

    fn write(&self, out: &mut Vec<u8>, choice: ChunkChoice<'_>) {
        let usage = self.counts.continuous.then(|| self.usage());
        self.chunk(out, vec![choice], usage);
    }

    fn chunk(&self, out: &mut Vec<u8>, choices: Vec<ChunkChoice<'_>>, usage: Option<Usage>) {
        let Frame { id, created, model, .. } = &self.frame;
        event(out, &Chunk { id, object: "chat.completion.chunk", created: *created, model, choices, usage });
    }

    fn ending(&mut self) -> Bytes {
        let mut out = Vec::new();
        if let Some(error) = self.error.take() {
            tracing::warn!(fault = ?error.fault, "a backend failed in the middle of an answer");
            event(&mut out, &ApiError::from(error).body());
        } else if self.counts.usage {
            self.chunk(&mut out, Vec::new(), Some(self.usage()));
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
        out.into()
    }

    fn usage(&self) -> Usage {
        Usage::of(&self.tokens, self.frame.counts_reasoning)
    }
}

fn choice(index: usize, delta: Delta) -> ChunkChoice<'static> {
    ChunkChoice { index, delta, logprobs: None, finish_reason: None, diagnostics: None, stop_reason: None }
}

/// Writes one event. What is written here are texts and numbers, which always become JSON.
fn event(out: &mut Vec<u8>, data: &impl Serialize) {
    let start = out.len();
    out.extend_from_slice(b"data: ");
    if serde_json::to_writer(&mut *out, data).is_err() {
        out.truncate(start);
        return;
    }
    out.extend_from_slice(b"\n\n");
}
