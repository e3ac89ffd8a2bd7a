//! Answers that need several requests: reasoning that must end, and constraints that only work after it.
//!
//! Only a vLLM can end a thought, and some backends take a constraint only for an entire answer. So if something must
//! change, the gateway drops the backend's answer and requests the rest. The new prompt is the old one with the output
//! so far, plus the end of the thought if that was forced. The client sees one answer with one token count; a server
//! with a prefix cache computes nothing twice. The answer's parser, which belongs to the engine, knows when that is:
//! the engine asks here after each piece it has read.
//!
//! The cost is one more request. If a server sends several tokens in one piece whose text cannot be split (its
//! tokenizer is unknown here), the rest of the piece exceeds the budget.

mod state;

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use unspool::{Pair, Parser};

use self::state::Continuation;
use crate::backend::{Backend, BackendError, Job, Piece, Pieces, Tokens};
use crate::budget::ReasoningMarkers;
use crate::config::ServeConfig;
use crate::constraint::Constrainer;
use crate::model::Model;
use crate::raw_log::Recorder;
use crate::request::ChatRequest;

/// Begins answers, and continues those that need several requests.
pub struct Continuations {
    backend: Arc<dyn Backend>,
    constrainer: Arc<Constrainer>,
    markers: ReasoningMarkers,
    pair: Pair,
    model: Arc<Model>,
    /// Default maximum tokens.
    max_tokens: u64,
    /// Whether the backend can continue a given text.
    goes_on: bool,
    /// Whether the backend itself enforces budgets.
    keeps_budgets: bool,
}

impl Continuations {
    /// For the answers of `backend`, which `pair` parses.
    #[must_use]
    pub fn new(
        config: &ServeConfig,
        backend: Arc<dyn Backend>,
        (constrainer, markers): (Arc<Constrainer>, ReasoningMarkers),
        (pair, model): (Pair, Arc<Model>),
    ) -> Self {
        let can = backend.capabilities();
        Self {
            goes_on: can.continues,
            keeps_budgets: can.keeps_budgets && config.constraint.backend_reasoning_parser,
            max_tokens: config.default_max_tokens,
            backend,
            constrainer,
            markers,
            pair,
            model,
        }
    }

    /// The texts around thoughts.
    #[must_use]
    pub fn markers(&self) -> &ReasoningMarkers {
        &self.markers
    }

    /// Begins an answer. `parser` is its parser, which has read nothing yet.
    ///
    /// # Errors
    /// Those of [`Backend::start`].
    pub async fn start(self: &Arc<Self>, mut job: Job, parser: &Parser) -> Result<Source, BackendError> {
        let budget = job.request.sampling.thinking_budget.filter(|_| self.goes_on && !self.keeps_budgets);
        let later = job.form.later && self.goes_on;
        if budget.is_none() && !later {
            return Ok(Source::new(self.backend.start(job).await?, None));
        }
        if budget.is_some() {
            let mut request = ChatRequest::clone(&job.request);
            request.sampling.thinking_budget = None;
            job.request = Arc::new(request);
        }
        let counter = budget.map(|budget| self.markers.counter(budget, &job.prompt, parser));
        let mut continuation = Continuation::new(Arc::clone(self), job, (counter, later), parser.aligner());
        let pieces = continuation.begin(parser).await?;
        Ok(Source::new(pieces, Some(continuation)))
    }
}

/// What to do after a piece that the parser has read.
pub enum Turn {
    /// Nothing; the text so far is decided.
    Settled,
    /// Nothing yet: the piece may be taken back.
    Open,
    /// Request the rest.
    Continue(Rest),
}

/// How to request the rest of an answer.
pub struct Rest {
    /// What remains of the open pieces.
    pub kept: Kept,
    /// The end of the reasoning, if it must be written on the model's behalf.
    end: Option<String>,
}

/// What remains of the open pieces.
pub enum Kept {
    /// All.
    All,
    /// None: the parser returns to its state before them.
    Nothing,
    /// These instead; the parser returns to its earlier state and reads them.
    Instead(Vec<Tokens>),
}

/// The pieces of an answer, from all of its requests.
pub struct Source {
    pieces: Pieces,
    recorder: Option<Recorder>,
    continuation: Option<Box<Continuation>>,
}

impl Source {
    fn new(pieces: Pieces, continuation: Option<Continuation>) -> Self {
        Self { pieces, recorder: None, continuation: continuation.map(Box::new) }
    }

    /// Pieces that are never continued.
    #[must_use]
    pub fn of(pieces: Pieces) -> Self {
        Self::new(pieces, None)
    }

    /// Adds a recorder.
    #[must_use]
    pub fn recorded(self, recorder: Option<Recorder>) -> Self {
        Self { recorder, ..self }
    }

    /// Whether the answer may need another request.
    #[must_use]
    pub fn may_continue(&self) -> bool {
        self.continuation.is_some()
    }

    /// The next piece. Read its tokens, and call [`Source::turn`], before the next one.
    pub async fn next(&mut self) -> Option<Result<Piece, BackendError>> {
        loop {
            if let Some(piece) = self.continuation.as_mut().and_then(|continuation| continuation.take_ready()) {
                return Some(Ok(piece));
            }
            let next = self.pieces.next().await;
            if let Some(continuation) = &mut self.continuation
                && continuation.holds(next.as_ref())
            {
                // Tokens that waited for their text come first.
                let later = std::mem::replace(&mut self.pieces, stream::empty().boxed());
                self.pieces = stream::iter(next).chain(later).boxed();
                continue;
            }
            let piece = match (next?, &mut self.continuation) {
                (Ok(Piece::Tokens(tokens)), Some(continuation)) if continuation.watches() => {
                    continuation.split(tokens);
                    continue;
                }
                (Ok(piece), Some(continuation)) => continuation.counted(piece),
                (Ok(piece), None) => piece,
                (Err(error), _) => return Some(Err(error)),
            };
            self.record(&piece);
            return Some(Ok(piece));
        }
    }

    /// Records the parser's state before it reads the next tokens; returns whether they may be taken back.
    pub fn before(&mut self, parser: &Parser) -> bool {
        self.continuation.as_mut().is_some_and(|continuation| continuation.before(parser))
    }

    /// What to do after tokens that the parser has read.
    pub fn turn(&mut self, parser: &Parser, tokens: &Tokens) -> Turn {
        let Some(continuation) = &mut self.continuation else { return Turn::Settled };
        let turn = continuation.turn(parser, tokens);
        self.settle();
        turn
    }

    /// Drops the rest of the backend's answer and makes a new request. A failure becomes the next piece.
    pub async fn go_on(&mut self, rest: Rest) {
        let Some(continuation) = &mut self.continuation else { return };
        // The old answer ends before the new request.
        self.pieces = stream::empty().boxed();
        self.pieces = match continuation.go_on(rest.end).await {
            Ok(pieces) => pieces,
            Err(error) => stream::iter([Err(error)]).boxed(),
        };
    }

    /// The answer ends, so open pieces remain.
    pub fn end(&mut self) {
        if let Some(continuation) = &mut self.continuation {
            continuation.settle();
        }
        self.settle();
    }

    fn settle(&mut self) {
        let Some(continuation) = &mut self.continuation else { return };
        let settled = continuation.take_settled();
        if self.recorder.is_some() {
            settled.into_iter().for_each(|tokens| self.record(&Piece::Tokens(tokens)));
        }
    }

    fn record(&mut self, piece: &Piece) {
        if let Some(recorder) = &mut self.recorder {
            recorder.take(piece);
        }
    }
}
