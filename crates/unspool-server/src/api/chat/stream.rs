//! A streamed answer.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::stream::{self, BoxStream, SelectAll, StreamExt as _};
use unspool::Diagnostic;

use super::super::event_stream;
use super::Frame;
use super::chunk::{ChunkChoice, Chunks, Delta, Usage};
use crate::backend::BackendError;
use crate::engine::Reply;
use crate::error::ApiError;
use crate::reply::{Step, TokenCounts};

/// Which chunks have usage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    /// An additional last one.
    pub(super) usage: bool,
    /// All of them.
    pub(super) continuous: bool,
}

/// Maximum number of ready bytes per write.
const TOGETHER: usize = 16 << 10;

/// Streams the answers. The backend is read only after the client has taken the previous data. If the client
/// disconnects, the entire stream ends, backends included.
pub(super) fn answer(frame: Frame, replies: Vec<Reply>, counts: Counts) -> Response {
    let choices = replies.len();
    let writer = Writer {
        chunks: Chunks::new(&frame.id, frame.created, &frame.model, frame.ignored_tools.as_ref()),
        frame,
        counts,
        tokens: replies.iter().map(Reply::tokens).collect(),
        steps: Steps::of(replies),
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

/// A step, with its choice.
type ChoiceStep = (usize, Result<Step, BackendError>);

/// The steps of all choices.
enum Steps {
    /// Of the only one.
    One(Box<Reply>),
    Several(SelectAll<BoxStream<'static, ChoiceStep>>),
}

impl Steps {
    fn of(replies: Vec<Reply>) -> Self {
        match <[Reply; 1]>::try_from(replies) {
            Ok([reply]) => Self::One(Box::new(reply)),
            Err(replies) => Self::Several(stream::select_all(replies.into_iter().enumerate().map(steps))),
        }
    }

    async fn next(&mut self) -> Option<ChoiceStep> {
        match self {
            Self::One(reply) => reply.next().await.map(|step| (0, step)),
            Self::Several(steps) => steps.next().await,
        }
    }

    /// The next step, if it is ready.
    fn next_if_ready(&mut self) -> Option<Option<ChoiceStep>> {
        match self {
            Self::One(reply) => reply.next_if_ready().map(|step| step.map(|step| (0, step))),
            Self::Several(steps) => steps.next().now_or_never(),
        }
    }
}

fn steps((index, reply): (usize, Reply)) -> BoxStream<'static, ChoiceStep> {
    stream::unfold(reply, move |mut reply| async move { reply.next().await.map(|step| ((index, step), reply)) }).boxed()
}

struct Writer {
    chunks: Chunks,
    frame: Frame,
    counts: Counts,
    steps: Steps,
    tokens: Vec<TokenCounts>,
    /// The diagnostics of each choice so far.
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
    /// The next bytes of the stream: a chunk, and any ready chunks after it.
    async fn next(&mut self) -> Option<Bytes> {
        let mut out = Vec::new();
        match self.phase {
            Phase::Roles => {
                self.phase = Phase::Steps;
                for index in 0..self.tokens.len() {
                    let first = choice(index, Delta::role(&self.frame.role));
                    self.chunks.write(&mut out, Some(&first), (self.counts_now(), self.frame.prompt_ids.as_ref()));
                }
                return Some(out.into());
            }
            Phase::Steps => {}
            Phase::Over => return None,
        }
        loop {
            let next = match out.len() {
                0 => self.steps.next().await,
                1..TOGETHER => match self.steps.next_if_ready() {
                    Some(next) => next,
                    None => return Some(out.into()),
                },
                _ => return Some(out.into()),
            };
            if !self.take(&mut out, next) {
                return Some(out.into());
            }
        }
    }

    /// Writes a step; returns whether more can come.
    fn take(&mut self, out: &mut Vec<u8>, next: Option<ChoiceStep>) -> bool {
        match next {
            Some((index, Ok(step))) => self.step(out, index, step),
            // The other answers continue. A client stops reading at an error, so it comes last.
            Some((_, Err(error))) => self.error = self.error.take().or(Some(error)),
            None => {
                self.phase = Phase::Over;
                self.ending(out);
                return false;
            }
        }
        true
    }

    fn step(&mut self, out: &mut Vec<u8>, index: usize, step: Step) {
        if let Some(tokens) = self.tokens.get_mut(index) {
            *tokens = step.tokens;
        }
        let (delta, beside) = Delta::of(step.events);
        let (diagnostics, logprobs) = (beside.diagnostics, beside.logprobs.told());
        let token_ids = self.frame.prompt_ids.is_some().then_some(step.ids);
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
                logprobs,
                token_ids,
                ..choice(index, delta)
            };
            self.write(out, &last);
        } else if !delta.is_empty() || logprobs.is_some() || token_ids.as_ref().is_some_and(|ids| !ids.is_empty()) {
            self.write(out, &ChunkChoice { logprobs, token_ids, ..choice(index, delta) });
        }
    }

    fn write(&self, out: &mut Vec<u8>, choice: &ChunkChoice<'_>) {
        self.chunks.write(out, Some(choice), (self.counts_now(), None));
    }

    /// The usage of a chunk, if every chunk has it.
    fn counts_now(&self) -> Option<Usage> {
        self.counts.continuous.then(|| self.usage())
    }

    fn ending(&mut self, out: &mut Vec<u8>) {
        if let Some(error) = self.error.take() {
            tracing::warn!(fault = ?error.fault, "a backend failed in the middle of an answer");
            out.extend_from_slice(format!("data: {}\n\n", ApiError::from(error).body()).as_bytes());
        } else if self.counts.usage {
            self.chunks.write(out, None, (Some(self.usage()), None));
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn usage(&self) -> Usage {
        Usage::of(&self.tokens, self.frame.counts_reasoning)
    }
}

fn choice(index: usize, delta: Delta) -> ChunkChoice<'static> {
    ChunkChoice {
        index,
        delta,
        logprobs: None,
        finish_reason: None,
        diagnostics: None,
        token_ids: None,
        stop_reason: None,
    }
}
