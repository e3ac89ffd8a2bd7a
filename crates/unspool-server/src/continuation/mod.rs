//! Answers that cannot be had in one request: reasoning that must end, and constraints that can only be told behind it.
//!
//! No backend but a vLLM can end a thought, and some take a constraint only for a whole answer. So where something has to change,
//! the gateway drops the backend's answer and asks for the rest: the prompt is then the old one with what was written so far,
//! and with the end of the thought if that had to be forced. For the client it is one answer, with one count of tokens; a server
//! that keeps prefixes of prompts has nothing to compute twice. Where that is, the answer's parser knows, which belongs to the
//! engine: the engine asks here after each piece that it has read.
//!
//! What it costs: a request more, and where a server gives several tokens in one piece whose text cannot be told apart
//! (its tokenizer is not known here), the budget is overstepped by the rest of the piece.

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

/// Begins answers, and continues those that cannot be had in one request.
pub struct Continuations {
    backend: Arc<dyn Backend>,
    constrainer: Arc<Constrainer>,
    markers: ReasoningMarkers,
    pair: Pair,
    model: Arc<Model>,
    /// Most tokens where the request does not say.
    max_tokens: u64,
    /// The backend can go on with a text that it is given.
    goes_on: bool,
    /// The backend ends thoughts by itself.
    keeps_budgets: bool,
}

impl Continuations {
    /// For the answers of `backend`, which `pair` reads.
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

    /// Begins an answer. `parser` is a parser of it that has read nothing yet.
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

/// What must be done behind a piece that the parser has read.
pub enum Turn {
    /// Nothing; it is clear what all text so far is.
    Settled,
    /// Nothing yet: it may have to be taken back.
    Open,
    /// The rest must be asked for.
    Continue(Rest),
}

/// What is left of an answer, and how its rest is asked for.
pub struct Rest {
    /// What stays of the pieces that were open.
    pub kept: Kept,
    /// The end of the reasoning, if it has to be written in the model's place.
    end: Option<String>,
}

/// What stays of the pieces that were open.
pub enum Kept {
    /// All.
    All,
    /// Nothing: the parser goes back to where it was before them.
    Nothing,
    /// These in their place; the parser goes back and reads them.
    Instead(Vec<Tokens>),
}

/// The pieces of an answer, from as many requests as it takes.
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

    /// With a recorder of what is given.
    #[must_use]
    pub fn recorded(self, recorder: Option<Recorder>) -> Self {
        Self { recorder, ..self }
    }

    /// Whether the answer may have to be continued with another request.
    #[must_use]
    pub fn may_continue(&self) -> bool {
        self.continuation.is_some()
    }

    /// The next piece. Tokens are to be read, and [`Source::turn`] asked, before the next one.
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

    /// Notes where the parser is before it reads the next tokens; whether they may have to be taken back.
    pub fn before(&mut self, parser: &Parser) -> bool {
        self.continuation.as_mut().is_some_and(|continuation| continuation.before(parser))
    }

    /// What must be done behind tokens that the parser has read.
    pub fn turn(&mut self, parser: &Parser, tokens: &Tokens) -> Turn {
        let Some(continuation) = &mut self.continuation else { return Turn::Settled };
        let turn = continuation.turn(parser, tokens);
        self.settle();
        turn
    }

    /// Drops the rest of the backend's answer and asks for it anew. A failure is the next piece.
    pub async fn go_on(&mut self, rest: Rest) {
        let Some(continuation) = &mut self.continuation else { return };
        // The old answer ends before a new one is asked for.
        self.pieces = stream::empty().boxed();
        self.pieces = match continuation.go_on(rest.end).await {
            Ok(pieces) => pieces,
            Err(error) => stream::iter([Err(error)]).boxed(),
        };
    }

    /// Nothing follows, so what was open stays.
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
