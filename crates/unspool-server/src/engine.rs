//! One answer: the pieces of a backend through the parser, as steps that any surface can show.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;
use unspool::{Delta, Event, Finish, FinishReason, Parser};

use crate::backend::{BackendError, Job, Native, Piece, StopReason};
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
    /// What was read and may have to be taken back.
    open: Open,
    stopped: Option<(StopReason, Option<Value>)>,
    state: State,
    observer: Option<Observer>,
    watch: Option<Watch>,
    merging: Merging,
    again: Option<Again>,
    anew: bool,
    /// What a chat server gives by itself.
    natives: Natives,
    /// The parser has read text that says something.
    begun: bool,
}

/// What it takes to begin an answer anew that nobody has seen anything of.
pub struct Again {
    /// A parser that has read nothing.
    pub parser: Parser,
    /// What is asked.
    pub job: Job,
    /// Who begins answers.
    pub continuations: Arc<Continuations>,
    /// Where raw outputs are written down.
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

/// How many tokens make a step, as with vLLM's `stream_interval`: what the first ones bring is given at once, and what is left
/// at the end with the ending.
#[derive(Debug, Default)]
struct Merging {
    /// Tokens of a step; 0 and 1: each piece is one.
    interval: u64,
    /// Tokens when the last step was given; `None`: none was.
    given_at: Option<u64>,
    /// What is not given yet.
    waiting: Fold,
}

impl Merging {
    /// Takes what a piece brought; gives a step's events when they are due, `tokens` being the tokens so far.
    fn take(&mut self, events: Vec<ReplyEvent>, tokens: u64) -> Vec<ReplyEvent> {
        if self.interval <= 1 {
            return events;
        }
        events.into_iter().for_each(|event| self.waiting.join(event));
        let due = self.given_at.is_none_or(|given| tokens.saturating_sub(given) >= self.interval);
        if !due || self.waiting.events.is_empty() {
            return Vec::new();
        }
        self.given_at = Some(tokens);
        std::mem::take(&mut self.waiting.events)
    }

    /// All that waits, with what came last.
    fn rest(&mut self, events: Vec<ReplyEvent>) -> Vec<ReplyEvent> {
        events.into_iter().for_each(|event| self.waiting.join(event));
        std::mem::take(&mut self.waiting.events)
    }
}

/// What a parser has read that may have to be taken back.
#[derive(Default)]
struct Open {
    /// The parser before it; `None`: nothing can be taken back.
    before: Option<Box<Parser>>,
    events: Fold,
    tokens: u64,
    reasoning: u64,
    /// Tokens of white space that the parser holds: what comes behind them says whose they are.
    blank: u64,
}

enum State {
    Writing,
    Failed(BackendError),
    Over,
}

impl Reply {
    /// An answer from `source`, read by `parser`. `prompt_tokens` holds until the backend says better.
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
            begun: false,
        }
    }

    /// Of a server that may give thoughts and calls by itself.
    #[must_use]
    pub fn of_chat_server(self, natives: Natives) -> Self {
        Self { natives, ..self }
    }

    /// Which is begun anew, once, where its server dies: nobody sees anything of it before its end.
    #[must_use]
    pub fn begun_anew_by(self, again: Option<Again>) -> Self {
        Self { again, ..self }
    }

    /// In steps of so many tokens; the first one is given at once, and the last one with the ending.
    #[must_use]
    pub fn in_steps_of(mut self, tokens: u64) -> Self {
        self.merging.interval = tokens;
        self
    }

    /// With an observer that counts it.
    #[must_use]
    pub fn observed(self, observer: Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// With somebody who looks for a hint if it calls nothing.
    #[must_use]
    pub fn watched(self, watch: Option<Watch>) -> Self {
        Self { watch, ..self }
    }

    /// The tokens so far.
    #[must_use]
    pub fn tokens(&self) -> TokenCounts {
        self.tokens
    }

    /// The next step. The last one has an ending, or an error follows it: what was parsed until then is given first.
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

    /// The next step, if it is there already: what came together can go out together.
    pub fn next_if_ready(&mut self) -> Option<Option<Result<Step, BackendError>>> {
        // An answer that may be asked for anew must not be given up in the middle of that. All else only waits for pieces.
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
        Step { events, tokens: self.tokens, ending, anew: std::mem::take(&mut self.anew) }
    }

    /// Begins the answer anew, if it may be.
    async fn begin_anew(&mut self, error: BackendError) -> Result<(), BackendError> {
        let Some(again) = self.again.take().filter(|_| error.fault.is_the_servers()) else { return Err(error) };
        tracing::warn!(fault = ?error.fault, "a backend failed in the middle of an answer that nobody has seen, another is asked");
        let Some((parser, source)) = again.begin().await else { return Err(error) };
        self.parser = parser;
        self.source = source;
        self.tokens = TokenCounts { prompt: self.tokens.prompt, ..TokenCounts::default() };
        self.open = Open::default();
        self.natives = Natives::default();
        self.begun = false;
        self.stopped = None;
        self.merging = Merging { interval: self.merging.interval, ..Merging::default() };
        self.anew = true;
        Ok(())
    }

    async fn take(&mut self, piece: Piece) -> Vec<ReplyEvent> {
        match piece {
            Piece::Tokens { text, ids } => return self.read_and_ask(&text, &ids).await,
            Piece::Native(native) => return self.native(native),
            Piece::Stopped { reason, at } => self.stopped = Some((reason, at)),
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

    /// Takes what needs no parser.
    fn native(&mut self, native: Native) -> Vec<ReplyEvent> {
        let mut events = self.settle_all();
        self.tokens.completion += 1;
        if matches!(native, Native::Reasoning(_)) {
            self.tokens.reasoning += 1;
            // Such a server leaves no thought in the text.
            if let Some(parser) = self.natives.content().filter(|_| !self.begun) {
                self.parser = parser;
            }
        }
        events.extend(self.natives.event(native));
        events
    }

    /// Reads tokens, and asks whether the answer has to be continued behind them.
    async fn read_and_ask(&mut self, text: &str, ids: &[u32]) -> Vec<ReplyEvent> {
        if self.source.before(&self.parser) && self.open.before.is_none() {
            self.open.before = Some(Box::new(self.parser.clone()));
        }
        self.read(text, ids);
        match self.source.turn(&self.parser, text, ids) {
            Turn::Settled => self.settle(),
            Turn::Open => Vec::new(),
            Turn::Continue(rest) => {
                match &rest.kept {
                    Kept::All => {}
                    Kept::Nothing => self.take_back(),
                    Kept::Instead(pieces) => {
                        self.take_back();
                        pieces.iter().for_each(|(text, ids)| self.read(text, ids));
                    }
                }
                let events = self.settle();
                self.source.go_on(rest).await;
                events
            }
        }
    }

    fn read(&mut self, text: &str, ids: &[u32]) {
        let mut fold = Fold::default();
        self.begun |= !text.trim().is_empty();
        self.parser.push(Delta { text: Some(text), ids }, &mut |event: Event<'_>| fold.take(event));
        if let Some(observer) = &mut self.observer {
            observer.held(self.parser.held_bytes());
        }
        // A backend that gives no ids mostly gives one token a piece.
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

    /// The parser goes back to where it was before what is open.
    fn take_back(&mut self) {
        if let Some(parser) = std::mem::take(&mut self.open).before {
            self.parser = *parser;
        }
    }

    /// What is open stays.
    fn settle(&mut self) -> Vec<ReplyEvent> {
        let open = std::mem::take(&mut self.open);
        self.open.blank = open.blank;
        self.tokens.completion += open.tokens;
        self.tokens.reasoning += open.reasoning;
        let mut events = open.events.events;
        self.natives.renumber(&mut events);
        events
    }

    /// Nothing can turn any more, so what is open stays.
    fn settle_all(&mut self) -> Vec<ReplyEvent> {
        self.source.end();
        self.settle()
    }

    /// The answer broke off: what was read is given, and then the error.
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

    /// The end of what the parser read.
    fn last(&mut self, reason: Option<FinishReason>) -> (Finish, Vec<ReplyEvent>) {
        let mut fold = Fold::default();
        let finish = self.parser.finish(reason, &mut |event: Event<'_>| fold.take(event));
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

/// Owns events, and joins neighbours of a kind.
#[derive(Debug, Default)]
struct Fold {
    events: Vec<ReplyEvent>,
}

impl Fold {
    fn take(&mut self, event: Event<'_>) {
        match (self.events.last_mut(), &event) {
            (Some(ReplyEvent::Reasoning(text)), Event::Reasoning(more))
            | (Some(ReplyEvent::Content(text)), Event::Content(more)) => return text.push_str(more),
            (Some(ReplyEvent::CallArguments { index, json }), Event::CallArguments { index: same, json: more })
                if index == same =>
            {
                return json.push_str(more);
            }
            _ => {}
        }
        self.events.push(match event {
            Event::Reasoning(text) => ReplyEvent::Reasoning(text.to_owned()),
            Event::Content(text) => ReplyEvent::Content(text.to_owned()),
            Event::CallStart { index, id, name } => {
                ReplyEvent::CallStart { index, id: id.to_owned(), name: name.to_owned() }
            }
            Event::CallArguments { index, json } => ReplyEvent::CallArguments { index, json: json.to_owned() },
            Event::CallEnd { index, complete } => ReplyEvent::CallEnd { index, complete },
            Event::Diagnostic(diagnostic) => ReplyEvent::Note(diagnostic),
        });
    }

    /// As [`Fold::take`], of an event that is owned already.
    fn join(&mut self, event: ReplyEvent) {
        match event {
            ReplyEvent::Reasoning(text) => self.take(Event::Reasoning(&text)),
            ReplyEvent::Content(text) => self.take(Event::Content(&text)),
            ReplyEvent::CallArguments { index, json } => self.take(Event::CallArguments { index, json: &json }),
            other => self.events.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_kind_are_joined() {
        let mut fold = Fold::default();
        fold.take(Event::Content("a"));
        fold.take(Event::Content("b"));
        fold.take(Event::CallStart { index: 0, id: "i", name: "f" });
        fold.take(Event::CallArguments { index: 0, json: "{" });
        fold.take(Event::CallArguments { index: 0, json: "}" });
        fold.take(Event::CallArguments { index: 1, json: "{" });
        fold.take(Event::Content("c"));
        let expected = [
            ReplyEvent::Content("ab".into()),
            ReplyEvent::CallStart { index: 0, id: "i".into(), name: "f".into() },
            ReplyEvent::CallArguments { index: 0, json: "{}".into() },
            ReplyEvent::CallArguments { index: 1, json: "{".into() },
            ReplyEvent::Content("c".into()),
        ];
        assert_eq!(fold.events, expected);
    }
    #[test]
    fn steps_are_of_so_many_tokens_and_the_first_is_given_at_once() {
        let mut merging = Merging { interval: 3, ..Merging::default() };
        let content = |text: &str| vec![ReplyEvent::Content(text.into())];
        assert!(merging.take(Vec::new(), 1).is_empty(), "nothing is to be seen yet");
        assert_eq!(merging.take(content("a"), 2), content("a"));
        assert!(merging.take(content("b"), 3).is_empty());
        assert!(merging.take(content("c"), 4).is_empty());
        assert_eq!(merging.take(content("d"), 5), content("bcd"));
        assert!(merging.take(content("e"), 6).is_empty());
        assert_eq!(merging.rest(content("f")), content("ef"));
        let mut plain = Merging::default();
        assert_eq!(plain.take(content("a"), 1), content("a"));
        assert_eq!(plain.take(content("b"), 2), content("b"));
    }
}
