//! Answers that need a hand on the way: thoughts that must end, and constraints that can only be told behind a thought.
//!
//! No backend but a vLLM can end a thought, and some take a constraint only for a whole answer. So the gateway reads along with a
//! parser of its own, and where something has to change, it drops the backend's answer and asks for the rest: the prompt is
//! then the old one with what was written so far, and with the end of the thought if that had to be forced. For the client it is
//! one answer, with one count of tokens; a server that keeps prefixes of prompts has nothing to compute twice.
//!
//! What it costs: a request more, and where a server gives several tokens in one piece whose text cannot be told apart
//! (its tokenizer is not known here), the budget is overstepped by the rest of the piece.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use unspool::Pair;
use unspool::{Delta, Event, Parser, PromptToken};

use crate::backend::{Backend, BackendError, BackendFault, Job, Piece, Pieces, StopReason};
use crate::blocking;
use crate::budget::{BudgetCounter, ReasoningMarkers, missing_ids, missing_text};
use crate::config::ServeConfig;
use crate::constraint::{Constrainer, Start};
use crate::model::Model;
use crate::prompt::RenderedPrompt;
use crate::request::ChatRequest;

/// So many thoughts of an answer are ended; each end is a request more, and a model that thinks anew behind each one would ask
/// for thousands.
const MOST_ENDS: u32 = 16;

/// Begins answers, and leads those that need it.
pub struct Continuations {
    backend: Arc<dyn Backend>,
    constrainer: Arc<Constrainer>,
    thoughts: ReasoningMarkers,
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
        (constrainer, thoughts): (Arc<Constrainer>, ReasoningMarkers),
        (pair, model): (Pair, Arc<Model>),
    ) -> Self {
        let can = backend.capabilities();
        Self {
            goes_on: can.continues,
            keeps_budgets: can.keeps_budgets && config.constraint.backend_reasoning_parser,
            max_tokens: config.default_max_tokens,
            backend,
            constrainer,
            thoughts,
            pair,
            model,
        }
    }

    /// The texts around thoughts.
    #[must_use]
    pub fn thoughts(&self) -> &ReasoningMarkers {
        &self.thoughts
    }

    /// Begins an answer. `parser` is a parser of it that has read nothing yet.
    ///
    /// # Errors
    /// Those of [`Backend::start`].
    pub async fn start(self: &Arc<Self>, mut job: Job, parser: &Parser) -> Result<Pieces, BackendError> {
        let budget = job.request.sampling.thinking_budget.filter(|_| self.goes_on && !self.keeps_budgets);
        let later = job.form.later && self.goes_on;
        if budget.is_none() && !later {
            return self.backend.start(job).await;
        }
        if budget.is_some() {
            let mut request = ChatRequest::clone(&job.request);
            request.sampling.thinking_budget = None;
            job.request = Arc::new(request);
        }
        let counter = budget.map(|budget| self.thoughts.counter(budget, &job.prompt, parser));
        let watch = Watch { parser: parser.clone(), counter, later };
        let mut course = Course {
            continuations: Arc::clone(self),
            written: Written::default(),
            waiting: Vec::new(),
            ready: VecDeque::new(),
            pieces: stream::empty().boxed(),
            before: 0,
            ends: 0,
            job,
            watch,
        };
        if course.watch.is_used_up() {
            course.begin_thought();
            course.go_on(Some(self.thoughts.forced().to_owned())).await?;
        } else {
            course.pieces = self.backend.start(course.job.clone()).await?;
        }
        let next = |mut course: Course| async move { course.next().await.map(|piece| (piece, course)) };
        Ok(stream::unfold(course, next).boxed())
    }

    /// A piece of several tokens as pieces of one each, where it is known which text is whose.
    fn apart(&self, text: String, ids: Vec<u32>) -> Vec<(String, Vec<u32>)> {
        let together = |text, ids| vec![(text, ids)];
        let Some(table) = self.pair.vocabulary().bytes.as_ref().filter(|_| ids.len() > 1) else {
            return together(text, ids);
        };
        let (mut out, mut at, mut group) = (Vec::new(), 0, Vec::new());
        let mut end = 0;
        for id in &ids {
            group.push(*id);
            end += table.get(*id).map_or(0, <[u8]>::len);
            if let Some(part) = text.get(at..end).filter(|part| !part.is_empty()) {
                out.push((part.to_owned(), std::mem::take(&mut group)));
                at = end;
            }
        }
        let all = ids.iter().filter_map(|id| table.get(*id)).flatten();
        if group.is_empty() && all.eq(text.as_bytes().iter()) { out } else { together(text, ids) }
    }
}

/// Reads along with an answer.
struct Watch {
    parser: Parser,
    counter: Option<BudgetCounter>,
    /// The answer has to be begun anew where the thought is over.
    later: bool,
}

/// What has to be done behind a piece.
enum Turn {
    /// Nothing.
    None,
    /// The thought must end.
    End,
    /// The thought is over; whether it ended with a marker, or with what comes behind it.
    Over { thought: bool },
}

impl Watch {
    fn take(&mut self, text: &str, ids: &[u32]) -> Turn {
        let (thought, was_over) = (self.parser.is_thinking(), self.parser.reasoning_ended());
        self.parser.push(Delta { text: Some(text), ids }, &mut |_: Event<'_>| {});
        if let Some(counter) = &mut self.counter {
            counter.take(text, ids, thought);
        }
        if self.later && !was_over && self.parser.reasoning_ended() {
            self.later = false;
            return Turn::Over { thought };
        }
        if self.is_used_up() { Turn::End } else { Turn::None }
    }

    fn is_used_up(&self) -> bool {
        self.counter.as_ref().is_some_and(|counter| counter.is_used_up(&self.parser))
    }

    /// Whether nothing can turn any more. A new thought has a budget of its own, so that one who counts is never done.
    fn is_done(&self) -> bool {
        !self.later && self.counter.is_none()
    }

    /// Whether it is clear what all text so far is.
    fn is_decided(&self) -> bool {
        self.parser.held_bytes() == 0
    }
}

/// What has been written of an answer.
#[derive(Default)]
struct Written {
    text: String,
    ids: Vec<u32>,
    /// Some of it came without ids.
    without_ids: bool,
    tokens: u64,
}

impl Written {
    fn add(&mut self, text: &str, ids: &[u32]) {
        self.text.push_str(text);
        self.ids.extend(ids);
        self.without_ids |= ids.is_empty();
        self.tokens += (ids.len() as u64).max(1);
    }
}

/// An answer on its way.
struct Course {
    continuations: Arc<Continuations>,
    /// As it was asked for first.
    job: Job,
    pieces: Pieces,
    watch: Watch,
    written: Written,
    /// Pieces whose meaning is not certain yet, while a constraint waits for the end of the thought.
    waiting: Vec<(String, Vec<u32>)>,
    ready: VecDeque<Piece>,
    /// Tokens that were written before the backend was asked last.
    before: u64,
    /// Thoughts that were ended.
    ends: u32,
}

impl Course {
    async fn next(&mut self) -> Option<Result<Piece, BackendError>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(Ok(piece));
            }
            match self.pieces.next().await {
                Some(Ok(Piece::Tokens { text, ids })) => {
                    if let Err(error) = self.take(text, ids).await {
                        // Behind what is ready.
                        self.pieces = stream::iter([Err(error)]).boxed();
                    }
                }
                Some(Ok(piece)) => {
                    self.let_go();
                    let piece = self.counted(piece);
                    self.ready.push_back(piece);
                }
                None if self.waiting.is_empty() => return None,
                None => self.let_go(),
                Some(Err(error)) if self.waiting.is_empty() => return Some(Err(error)),
                Some(Err(error)) => {
                    self.let_go();
                    self.pieces = stream::iter([Err(error)]).boxed();
                }
            }
        }
    }

    async fn take(&mut self, text: String, ids: Vec<u32>) -> Result<(), BackendError> {
        if self.watch.is_done() {
            self.ready.push_back(Piece::Tokens { text, ids });
            return Ok(());
        }
        for (text, ids) in self.continuations.apart(text, ids) {
            let turn = self.watch.take(&text, &ids);
            self.waiting.push((text, ids));
            match turn {
                Turn::None if self.watch.later && !self.watch.is_decided() => {}
                Turn::None => self.let_go(),
                Turn::End => {
                    self.let_go();
                    self.ends += 1;
                    if self.ends == MOST_ENDS {
                        self.watch.counter = None;
                    }
                    return self.go_on(Some(self.continuations.thoughts.forced().to_owned())).await;
                }
                Turn::Over { thought } => {
                    let closed = self.ends_with_marker() || thought && self.cut_behind_marker();
                    if closed {
                        self.let_go();
                    }
                    // What is behind the thought is asked for again, under the constraint.
                    self.waiting.clear();
                    let end = (thought && !closed).then(|| self.continuations.thoughts.end().to_owned());
                    return self.go_on(end).await;
                }
            }
        }
        Ok(())
    }

    /// Whether the last thing written is the end of a thought.
    fn ends_with_marker(&self) -> bool {
        let end = self.continuations.thoughts.end();
        let ids: Vec<u32> = self.waiting.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        let tail: String = self.waiting.iter().map(|(text, _)| text.as_str()).collect();
        let by_id = self.continuations.thoughts.ids_of(end).is_some_and(|end| ids.ends_with(end));
        by_id || !end.is_empty() && tail.trim_end().ends_with(end)
    }

    /// Cuts the last piece behind the end of the thought, if it has that. Its tokens are then not known.
    fn cut_behind_marker(&mut self) -> bool {
        let end = self.continuations.thoughts.end();
        let Some((text, ids)) = self.waiting.last_mut() else { return false };
        let Some(at) = text.find(end).filter(|_| !end.is_empty()) else { return false };
        text.truncate(at + end.len());
        ids.clear();
        true
    }

    /// Gives what waits.
    fn let_go(&mut self) {
        for (text, ids) in std::mem::take(&mut self.waiting) {
            self.written.add(&text, &ids);
            self.ready.push_back(Piece::Tokens { text, ids });
        }
    }

    /// Drops the backend's answer and asks for the rest of it, behind `end` if the thought has to end.
    async fn go_on(&mut self, end: Option<String>) -> Result<(), BackendError> {
        self.pieces = stream::empty().boxed();
        let most = self.job.request.sampling.max_tokens.unwrap_or(self.continuations.max_tokens);
        // An answer that is as long as it may be is cut as it is.
        if let Some(end) = end.filter(|_| self.written.tokens < most) {
            self.write(&end);
        }
        let used = self.written.tokens;
        self.before = used;
        if used >= most {
            self.ready.push_back(Piece::Stopped { reason: StopReason::Length, at: None });
            self.ready.push_back(Piece::Usage { prompt: self.job.prompt.tokens.unwrap_or_default(), completion: used });
            return Ok(());
        }
        let mut request = ChatRequest::clone(&self.job.request);
        request.sampling.max_tokens = Some(most - used);
        request.sampling.min_tokens = request.sampling.min_tokens.saturating_sub(used);
        let request = Arc::new(request);
        let (constrainer, asked) = (Arc::clone(&self.continuations.constrainer), Arc::clone(&request));
        let form = blocking::run(move || constrainer.form(&asked, Start::Answering)).await;
        let form = form.map_err(|error| BackendError::new(BackendFault::CannotWrite, error.message))?;
        let job = Job { request, prompt: Arc::new(self.prompt()), choice: self.job.choice, form: Arc::new(form) };
        self.pieces = self.continuations.backend.start(job).await?;
        Ok(())
    }

    /// Writes the beginning of a thought that counts as open though neither the prompt nor the model has begun it: its end alone
    /// is what no model has seen.
    fn begin_thought(&mut self) {
        let (start, end) = self.continuations.pair.reasoning_markers().unwrap_or_default();
        let text = &self.job.prompt.text;
        let is_open = text.rfind(&start) > text.rfind(&end);
        if !start.is_empty() && start == self.continuations.thoughts.start() && !is_open {
            self.write(&start);
        }
    }

    /// Writes the end of the thought in the model's place, as much as the model has not written itself.
    fn write(&mut self, end: &str) {
        let ids = self.continuations.thoughts.ids_of(end).filter(|_| !self.written.without_ids).unwrap_or_default();
        let ids = missing_ids(&self.written.ids, ids).to_vec();
        let text = missing_text(&self.written.text, end).to_owned();
        self.watch.take(&text, &ids);
        if let Some(counter) = &mut self.watch.counter {
            counter.end();
        }
        self.waiting.push((text, ids));
        self.let_go();
    }

    /// The prompt with all that was written behind it.
    fn prompt(&self) -> RenderedPrompt {
        let (old, written) = (&*self.job.prompt, &self.written);
        let mut prompt = RenderedPrompt { text: format!("{}{}", old.text, written.text), ..old.clone() };
        prompt.tokens = old.tokens.map(|tokens| tokens + written.tokens);
        let tokenizer = self.continuations.model.tokenizer().ok();
        let ids = match tokenizer {
            _ if old.encoded.is_empty() => None,
            _ if !written.without_ids => Some(written.ids.clone()),
            Some(tokenizer) => tokenizer.encode(&written.text, false).ok(),
            None => None,
        };
        match ids {
            Some(ids) => {
                let table = self.continuations.pair.vocabulary().bytes.as_ref();
                let bytes = |id| table.and_then(|table| table.get(id)).unwrap_or_default().to_vec();
                prompt.encoded.extend(ids.into_iter().map(|id| PromptToken { id, bytes: bytes(id) }));
            }
            // Then the text says it all.
            None => prompt.encoded.clear(),
        }
        prompt
    }

    /// Counts of the whole answer, where a part of it came before.
    fn counted(&self, piece: Piece) -> Piece {
        match piece {
            Piece::Usage { prompt, completion } => Piece::Usage {
                prompt: match self.job.prompt.tokens {
                    Some(tokens) if self.before > 0 => tokens,
                    _ => prompt.saturating_sub(self.before),
                },
                completion: completion + self.before,
            },
            piece => piece,
        }
    }
}
