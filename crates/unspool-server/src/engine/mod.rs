//! One answer: the pieces of a backend through the parser, as steps that any surface can show.

mod fold;
mod tracker;

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use unspool::{Delta, Event, Finish, FinishReason, Parser};

use self::fold::{Fold, Merging};
use self::tracker::Placed;
pub use self::tracker::Tracker;
use crate::backend::{BackendError, Job, Native, Piece, StopReason, Tokens};
use crate::continuation::{Continuations, Kept, Source, Turn};
use crate::hints::Watch;
use crate::metrics::Observer;
use crate::natives::Natives;
use crate::raw_log::RawLog;
use crate::reply::{Ending, ReplyEvent, Step, TokenCounts};

/// One answer while it is written. Dropping it stops the backend.
pub struct Reply {
    parser: Parser,
    source: Source,
    tokens: TokenCounts,
    /// Output that was read and may be taken back.
    open: Open,
    stopped: Option<(StopReason, Option<Value>)>,
    state: State,
    observer: Option<Observer>,
    watch: Option<Watch>,
    merging: Merging,
    again: Option<Again>,
    anew: bool,
    /// Output that a chat server has parsed itself.
    natives: Natives,
    tracker: Tracker,
    /// The backend's data of the prompt's tokens.
    prompt_probabilities: Option<Value>,
    /// The ids of its tokens, or null.
    prompt_ids: Option<Value>,
    /// The parser has read non-empty text.
    begun: bool,
}

/// The data to restart an answer of which nothing has gone out.
pub struct Again {
    /// A parser that has read nothing.
    pub parser: Parser,
    /// The task.
    pub job: Job,
    /// The source of answers.
    pub continuations: Arc<Continuations>,
    /// The log of raw outputs.
    pub log: Option<Arc<RawLog>>,
}

impl Again {
    /// The answer of another server, once.
    async fn begin(self) -> Option<(Parser, Source)> {
        let recorder = self.log.as_ref().map(|log| log.recorder(self.job.request.hash));
        let source = self.continuations.start(self.job, &self.parser).await.ok()?;
        Some((self.parser, source.recorded(recorder)))
    }
}

/// Output that a parser has read and that may be taken back.
#[derive(Default)]
struct Open {
    /// The parser before it; `None`: nothing can be taken back.
    before: Option<Box<(Parser, Tracker)>>,
    events: Fold,
    tokens: u64,
    reasoning: u64,
    /// Number of white-space tokens that the parser holds: the following text determines their field.
    blank: u64,
}

enum State {
    Writing,
    Failed(BackendError),
    Over,
}

impl Reply {
    /// An answer from `source`, parsed by `parser`. `prompt_tokens` applies until the backend reports its count.
    #[must_use]
    pub fn new(parser: Parser, source: Source, prompt_tokens: u64) -> Self {
        let tokens = TokenCounts { prompt: prompt_tokens, ..TokenCounts::default() };
        Self {
            parser,
            source,
            tokens,
            open: Open::default(),
            stopped: None,
            state: State::Writing,
            observer: None,
            watch: None,
            merging: Merging::default(),
            again: None,
            anew: false,
            natives: Natives::default(),
            tracker: Tracker::default(),
            prompt_probabilities: None,
            prompt_ids: None,
            begun: false,
        }
    }

    /// Sets the handling of a server that may return reasoning and calls itself.
    #[must_use]
    pub fn of_chat_server(self, natives: Natives) -> Self {
        Self { natives, ..self }
    }

    /// Sets which token data the request asks for.
    #[must_use]
    pub fn tracked(self, tracker: Tracker, prompt: Option<&[u32]>) -> Self {
        let parser = if tracker.places() { self.parser.keep_tokens() } else { self.parser };
        let prompt_ids = tracker.tells_ids().then(|| json!(prompt));
        Self { tracker, parser, prompt_ids, ..self }
    }

    /// The ids of the prompt's tokens or null, if the request asks for ids; once.
    pub fn prompt_ids(&mut self) -> Option<Value> {
        self.prompt_ids.take()
    }

    /// The backend's data of the prompt's tokens.
    pub fn prompt_probabilities(&mut self) -> Option<Value> {
        self.prompt_probabilities.take()
    }

    /// Allows one restart if the server dies, because nothing goes out before the end.
    #[must_use]
    pub fn begun_anew_by(self, again: Option<Again>) -> Self {
        Self { again, ..self }
    }

    /// Sets the number of tokens per step; the first one goes out at once, and the last one with the ending.
    #[must_use]
    pub fn in_steps_of(mut self, tokens: u64) -> Self {
        self.merging.interval = tokens;
        self
    }

    /// Sets the observer for metrics.
    #[must_use]
    pub fn observed(self, observer: Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Sets the watch for hints, if the answer has no calls.
    #[must_use]
    pub fn watched(self, watch: Option<Watch>) -> Self {
        Self { watch, ..self }
    }

    /// The token counts so far.
    #[must_use]
    pub fn tokens(&self) -> TokenCounts {
        self.tokens
    }

    /// The next step. The last one has an ending, or an error follows it: everything parsed before goes out first.
    pub async fn next(&mut self) -> Option<Result<Step, BackendError>> {
        let step = self.advance().await;
        if let (Some(watch), Some(Ok(step))) = (&mut self.watch, &step) {
            watch.step(step);
        }
        if let Some(observer) = &mut self.observer {
            match &step {
                Some(Ok(step)) => observer.step(step),
                Some(Err(_)) => observer.failed(),
                None => {}
            }
        }
        step
    }

    /// The next step if it is ready, so that output that came together goes out together.
    pub fn next_if_ready(&mut self) -> Option<Option<Result<Step, BackendError>>> {
        // An answer that may be restarted or continued must not be cancelled during a request. Everything else only
        // waits for pieces.
        if self.source.may_continue() || self.again.is_some() { None } else { self.next().now_or_never() }
    }

    async fn advance(&mut self) -> Option<Result<Step, BackendError>> {
        if !matches!(self.state, State::Writing) {
            return match std::mem::replace(&mut self.state, State::Over) {
                State::Failed(error) => Some(Err(error)),
                State::Writing | State::Over => None,
            };
        }
        loop {
            match self.source.next().await {
                Some(Ok(piece)) => {
                    let events = self.take(piece).await;
                    let events = self.merging.take(events, self.tokens.completion);
                    if !events.is_empty() {
                        return Some(Ok(self.step(events, None)));
                    }
                }
                Some(Err(error)) => match self.begin_anew(error).await {
                    Ok(()) => {}
                    Err(error) => return Some(self.fail(error)),
                },
                None => {
                    self.state = State::Over;
                    return Some(Ok(self.finish()));
                }
            }
        }
    }

    fn step(&mut self, events: Vec<ReplyEvent>, ending: Option<Ending>) -> Step {
        let ids = self.tracker.ids();
        Step { events, tokens: self.tokens, ending, anew: std::mem::take(&mut self.anew), ids }
    }

    /// Restarts the answer if allowed.
    async fn begin_anew(&mut self, error: BackendError) -> Result<(), BackendError> {
        let Some(again) = self.again.take().filter(|_| error.fault.is_the_servers()) else { return Err(error) };
        tracing::warn!(fault = ?error.fault, "a backend failed in the middle of an answer that nobody has seen, another is asked");
        let Some((parser, source)) = again.begin().await else { return Err(error) };
        self.tracker = self.tracker.anew();
        self.parser = if self.tracker.places() { parser.keep_tokens() } else { parser };
        self.source = source;
        self.tokens = TokenCounts { prompt: self.tokens.prompt, ..TokenCounts::default() };
        self.open = Open::default();
        self.natives = Natives::default();
        self.begun = false;
        self.stopped = None;
        self.merging = Merging::every(self.merging.interval);
        self.anew = true;
        Ok(())
    }

    async fn take(&mut self, piece: Piece) -> Vec<ReplyEvent> {
        match piece {
            Piece::Tokens(tokens) => return self.read_and_ask(tokens).await,
            Piece::Native(native) => return self.native(native),
            Piece::Stopped { reason, at } => {
                if at.as_ref().is_some_and(Value::is_string) {
                    // The server has removed the text of a stop sequence's tokens.
                    self.parser.cut_off();
                }
                self.stopped = Some((reason, at));
            }
            Piece::PromptProbabilities(told) => {
                self.prompt_probabilities = Some(told);
                return Vec::new();
            }
            Piece::Prompt(tokens) => {
                self.tokens.prompt = tokens;
                return Vec::new();
            }
            Piece::Usage { prompt, completion, cached } => {
                let events = self.settle_all();
                self.tokens.cached = cached.map(|cached| cached.min(prompt)).or(self.tokens.cached);
                self.tokens.prompt = prompt;
                self.tokens.completion = completion;
                return events;
            }
        }
        self.settle_all()
    }

    /// Takes output that needs no parser.
    fn native(&mut self, native: Native) -> Vec<ReplyEvent> {
        let mut events = self.settle_all();
        self.tokens.completion += u64::from(!matches!(native, Native::Probabilities(_)));
        if matches!(native, Native::Reasoning(_)) {
            self.tokens.reasoning += 1;
            // Such a server leaves no reasoning in the text.
            if let Some(parser) = self.natives.content().filter(|_| !self.begun) {
                self.parser = parser;
            }
        }
        events.extend(self.natives.event(native));
        events
    }

    /// Reads tokens, and checks whether the answer needs another request after them.
    async fn read_and_ask(&mut self, tokens: Tokens) -> Vec<ReplyEvent> {
        if self.source.before(&self.parser) && self.open.before.is_none() {
            self.open.before = Some(Box::new((self.parser.clone(), self.tracker.clone())));
        }
        if !self.source.may_continue() {
            self.read(tokens);
            return self.settle();
        }
        self.read(tokens.clone());
        match self.source.turn(&self.parser, &tokens) {
            Turn::Settled => self.settle(),
            Turn::Open => Vec::new(),
            Turn::Continue(rest) => {
                match &rest.kept {
                    Kept::All => {}
                    Kept::Nothing => self.take_back(),
                    Kept::Instead(pieces) => {
                        self.take_back();
                        pieces.iter().for_each(|tokens| self.read(tokens.clone()));
                    }
                }
                let events = self.settle();
                self.source.go_on(rest).await;
                events
            }
        }
    }

    fn read(&mut self, mut tokens: Tokens) {
        let mut fold = Fold::default();
        self.tracker.take(&mut tokens);
        let (text, ids) = (tokens.text.as_str(), tokens.ids.as_slice());
        self.begun |= !text.trim().is_empty();
        let delta = Delta { text: Some(text), ids };
        if self.tracker.places() {
            let mut placed = Placed::default();
            self.parser.push(delta, &mut placed);
            self.tracker.enter(placed, &self.parser, &mut fold);
        } else {
            self.parser.push(delta, &mut |event: Event<'_>| fold.take(event));
        }
        if let Some(observer) = &mut self.observer {
            observer.held(self.parser.held_bytes());
        }
        // A backend without ids usually sends one token per piece.
        let count = (ids.len() as u64).max(u64::from(ids.is_empty()));
        self.open.tokens += count;
        if fold.events.iter().any(|event| matches!(event, ReplyEvent::Reasoning(_))) {
            self.open.reasoning += count + std::mem::take(&mut self.open.blank);
        } else if fold.events.is_empty() && text.trim().is_empty() {
            self.open.blank += count;
        } else {
            self.open.blank = 0;
        }
        if self.open.events.events.is_empty() {
            self.open.events = fold;
        } else {
            fold.events.into_iter().for_each(|event| self.open.events.join(event));
        }
    }

    /// Returns the parser to its state before the open output.
    fn take_back(&mut self) {
        if let Some(before) = std::mem::take(&mut self.open).before {
            (self.parser, self.tracker) = *before;
        }
    }

    /// The open output remains.
    fn settle(&mut self) -> Vec<ReplyEvent> {
        let open = std::mem::take(&mut self.open);
        self.open.blank = open.blank;
        self.tokens.completion += open.tokens;
        self.tokens.reasoning += open.reasoning;
        let mut events = open.events.events;
        self.natives.renumber(&mut events);
        events
    }

    /// Nothing can be taken back any more, so the open output remains.
    fn settle_all(&mut self) -> Vec<ReplyEvent> {
        self.source.end();
        self.settle()
    }

    /// The answer failed: emits what was read, and then the error.
    fn fail(&mut self, error: BackendError) -> Result<Step, BackendError> {
        let mut events = self.settle_all();
        events.extend(self.last(None).1);
        events.extend(self.natives.ends(true));
        let events = self.merging.rest(events);
        self.state = State::Over;
        if events.is_empty() {
            return Err(error);
        }
        self.state = State::Failed(error);
        Ok(self.step(events, None))
    }

    /// The end of the parser's output.
    fn last(&mut self, reason: Option<FinishReason>) -> (Finish, Vec<ReplyEvent>) {
        let (mut fold, mut placed) = (Fold::default(), Placed::default());
        let finish = self.parser.finish(reason, &mut placed);
        self.tracker.enter(placed, &self.parser, &mut fold);
        fold.events.extend(self.tracker.markup());
        self.natives.renumber(&mut fold.events);
        (finish, fold.events)
    }

    fn finish(&mut self) -> Step {
        let (reason, stopped_at) = self.stopped.take().unwrap_or((StopReason::Stop, None));
        let engine = match &reason {
            StopReason::Stop => Some(FinishReason::Stop),
            StopReason::Length => Some(FinishReason::Length),
            StopReason::Other(_) => None,
        };
        let mut events = self.settle_all();
        let (finish, last) = self.last(engine);
        events.extend(last);
        events.extend(self.natives.ends(reason != StopReason::Stop));
        self.tokens.reasoning = finish.reasoning_tokens.unwrap_or(self.tokens.reasoning).min(self.tokens.completion);
        let reason = match (reason, finish.reason) {
            (StopReason::Other(word), _) => word,
            (_, FinishReason::Stop) if self.natives.ask_for_calls() => "tool_calls".to_owned(),
            (_, FinishReason::Stop) => "stop".to_owned(),
            (_, FinishReason::Length) => "length".to_owned(),
            (_, FinishReason::ToolCalls) => "tool_calls".to_owned(),
        };
        let events = self.merging.rest(events);
        self.step(events, Some(Ending { reason, stopped_at }))
    }
}
