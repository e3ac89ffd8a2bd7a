//! The state of one answer that may need several requests: its output so far, and the next action.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use serde_json::Value;
use unspool::{Aligner, Parser, PromptToken};

use super::{Continuations, Kept, Rest, Turn};
use crate::backend::{BackendError, BackendFault, Job, Piece, Pieces, StopReason, Tokens};
use crate::blocking;
use crate::budget::{BudgetCounter, missing_ids, missing_text};
use crate::constraint::Start;
use crate::probability::TokenProbability;
use crate::prompt::RenderedPrompt;
use crate::request::ChatRequest;

/// Maximum number of forced ends of thoughts in an answer. Each costs a request, and a model that starts a new thought
/// each time would cause thousands.
const MOST_ENDS: u32 = 16;

/// How far the seeds of an answer's requests are apart: further than those of all answers to a request.
const SEED_STEP: i64 = 1009;

/// The output of an answer so far.
#[derive(Default)]
struct Written {
    text: String,
    ids: Vec<u32>,
    /// Some of it came without ids.
    without_ids: bool,
    tokens: u64,
}

impl Written {
    fn add(&mut self, tokens: &Tokens) {
        self.text.push_str(&tokens.text);
        self.ids.extend(&tokens.ids);
        self.without_ids |= tokens.ids.is_empty();
        self.tokens += (tokens.ids.len() as u64).max(1);
    }
}

/// A piece of the backend with the probabilities of its tokens.
fn aligned(text: &str, ids: &[u32], waiting: &mut VecDeque<TokenProbability>) -> Piece {
    // A text without ids is usually one token.
    let own = waiting.len().min(ids.len().max(1));
    Piece::Tokens(Tokens { probabilities: waiting.drain(..own).collect(), ..Tokens::new(text, ids) })
}

/// An answer in progress.
pub(super) struct Continuation {
    all: Arc<Continuations>,
    /// The original task.
    job: Job,
    counter: Option<BudgetCounter>,
    /// A new request is needed when reasoning ends.
    later: bool,
    /// Splits the backend's stream into tokens.
    aligner: Aligner,
    /// The probabilities of tokens that it holds.
    probabilities: VecDeque<TokenProbability>,
    written: Written,
    /// Read, but may be taken back, while a constraint waits for the end of reasoning.
    open: Vec<Tokens>,
    /// Final, and not emitted yet.
    settled: Vec<Tokens>,
    /// To be read next; true if written here on the model's behalf.
    ready: VecDeque<(Piece, bool)>,
    /// The current piece was written here.
    forced: bool,
    /// The parser's state before it: in a thought, and after reasoning.
    was: (bool, bool),
    /// Number of tokens before the last request.
    before: u64,
    /// Number of forced ends of thoughts.
    ends: u32,
    /// How often the rest was asked for.
    asked: i64,
}

impl Continuation {
    pub(super) fn new(
        all: Arc<Continuations>,
        job: Job,
        (counter, later): (Option<BudgetCounter>, bool),
        aligner: Aligner,
    ) -> Self {
        Self {
            all,
            job,
            counter,
            later,
            aligner,
            probabilities: VecDeque::new(),
            written: Written::default(),
            open: Vec::new(),
            settled: Vec::new(),
            ready: VecDeque::new(),
            forced: false,
            was: (false, false),
            before: 0,
            ends: 0,
            asked: 0,
        }
    }

    /// Begins the answer; after the end of its reasoning, if there is no room for any.
    pub(super) async fn begin(&mut self, parser: &Parser) -> Result<Pieces, BackendError> {
        if !self.is_used_up(parser) {
            return self.all.backend.start(self.job.clone()).await;
        }
        self.begin_thought();
        self.go_on(Some(self.all.markers.forced().to_owned())).await
    }

    /// Whether another request may be needed. A new thought has a new budget, so counting never ends.
    pub(super) fn watches(&self) -> bool {
        self.later || self.counter.is_some()
    }

    pub(super) fn take_ready(&mut self) -> Option<Piece> {
        let (piece, forced) = self.ready.pop_front()?;
        self.forced = forced;
        Some(piece)
    }

    /// Takes tokens of the backend, to be read one by one if possible.
    pub(super) fn split(&mut self, tokens: Tokens) {
        let Self { aligner, probabilities, ready, .. } = self;
        probabilities.extend(tokens.probabilities);
        aligner.push(&tokens.text, &tokens.ids, &mut |text, ids| {
            ready.push_back((aligned(text, ids, probabilities), false));
        });
    }

    /// Whether tokens still wait for their text where the backend says this, and nothing more of its answer comes; they
    /// are to be read first.
    pub(super) fn holds(&mut self, next: Option<&Result<Piece, BackendError>>) -> bool {
        match next {
            Some(Ok(Piece::Stopped { at, .. })) if at.as_ref().is_some_and(Value::is_string) => self.aligner.cut_off(),
            Some(Ok(Piece::Stopped { .. }) | Err(_)) | None => {}
            Some(Ok(_)) => return false,
        }
        let Self { aligner, probabilities, ready, .. } = self;
        let before = ready.len();
        aligner.finish(&mut |text, ids| ready.push_back((aligned(text, ids, probabilities), false)));
        ready.len() > before
    }

    pub(super) fn before(&mut self, parser: &Parser) -> bool {
        self.was = (parser.is_thinking(), parser.reasoning_ended());
        self.later
    }

    pub(super) fn turn(&mut self, parser: &Parser, tokens: &Tokens) -> Turn {
        let (thought, was_over) = self.was;
        if let Some(counter) = &mut self.counter {
            counter.take(&tokens.text, &tokens.ids, thought);
            if self.forced {
                counter.end();
            }
        }
        let is_over = self.later && !was_over && parser.reasoning_ended();
        self.later &= !is_over;
        let tokens = tokens.clone();
        if self.forced {
            self.settled.push(tokens);
            return Turn::Settled;
        }
        self.open.push(tokens);
        if is_over {
            return Turn::Continue(self.over(thought));
        }
        if self.is_used_up(parser) {
            self.settle();
            self.ends += 1;
            if self.ends == MOST_ENDS {
                self.counter = None;
            }
            return Turn::Continue(Rest { kept: Kept::All, end: Some(self.all.markers.forced().to_owned()) });
        }
        if self.later && parser.held_bytes() > 0 {
            return Turn::Open;
        }
        self.settle();
        Turn::Settled
    }

    fn is_used_up(&self, parser: &Parser) -> bool {
        self.counter.as_ref().is_some_and(|counter| counter.is_used_up(parser))
    }

    /// Reasoning has ended, with its marker or with the text after it. That text is requested again, under the
    /// constraint.
    fn over(&mut self, thought: bool) -> Rest {
        if self.ends_with_marker() {
            self.settle();
            return Rest { kept: Kept::All, end: None };
        }
        if thought && self.cut_behind_marker() {
            let kept = self.open.clone();
            self.settle();
            return Rest { kept: Kept::Instead(kept), end: None };
        }
        self.open.clear();
        Rest { kept: Kept::Nothing, end: thought.then(|| self.all.markers.end().to_owned()) }
    }

    /// Whether the output so far ends with the end of a thought.
    fn ends_with_marker(&self) -> bool {
        let end = self.all.markers.end();
        let ids: Vec<u32> = self.open.iter().flat_map(|tokens| tokens.ids.iter().copied()).collect();
        let tail: String = self.open.iter().map(|tokens| tokens.text.as_str()).collect();
        let by_id = self.all.markers.ids_of(end).is_some_and(|end| ids.ends_with(end));
        by_id || !end.is_empty() && tail.trim_end().ends_with(end)
    }

    /// Cuts the last piece after the end of the thought, if it contains that. Its tokens are then unknown.
    fn cut_behind_marker(&mut self) -> bool {
        let end = self.all.markers.end();
        let Some(last) = self.open.last_mut() else { return false };
        let Some(at) = last.text.find(end).filter(|_| !end.is_empty()) else { return false };
        *last = Tokens::new(&last.text[..at + end.len()], []);
        true
    }

    /// Open pieces remain.
    pub(super) fn settle(&mut self) {
        for tokens in std::mem::take(&mut self.open) {
            self.written.add(&tokens);
            self.settled.push(tokens);
        }
    }

    pub(super) fn take_settled(&mut self) -> Vec<Tokens> {
        std::mem::take(&mut self.settled)
    }

    /// Requests the rest of the answer, after `end` if reasoning must end.
    pub(super) async fn go_on(&mut self, end: Option<String>) -> Result<Pieces, BackendError> {
        self.ready.retain(|(_, forced)| *forced);
        self.aligner.restart();
        self.probabilities.clear();
        let most = self.job.request.sampling.max_tokens.unwrap_or(self.all.max_tokens);
        // An answer of maximum length is cut as it is.
        if let Some(end) = end.filter(|_| self.written.tokens < most) {
            self.write(&end);
        }
        let used = self.written.tokens;
        self.before = used;
        if used >= most {
            let usage =
                Piece::Usage { prompt: self.job.prompt.tokens.unwrap_or_default(), completion: used, cached: None };
            let rest = [Piece::Stopped { reason: StopReason::Length, at: None }, usage];
            self.ready.extend(rest.map(|piece| (piece, true)));
            return Ok(stream::empty().boxed());
        }
        let mut request = ChatRequest::clone(&self.job.request);
        request.sampling.max_tokens = Some(most - used);
        // The prompt of the rest holds what the model has written; the first request has told those of the prompt.
        request.sampling.wishes.prompt = None;
        // With the same numbers a server would choose behind the old text what it has chosen at its beginning.
        self.asked += 1;
        request.sampling.seed = request.sampling.seed.map(|seed| seed.saturating_add(self.asked * SEED_STEP));
        request.sampling.min_tokens = request.sampling.min_tokens.saturating_sub(used);
        let request = Arc::new(request);
        let (constrainer, asked) = (Arc::clone(&self.all.constrainer), Arc::clone(&request));
        let form = blocking::run(move || constrainer.form(&asked, Start::Answering)).await;
        let form = form.map_err(|error| BackendError::new(BackendFault::CannotWrite, error.message))?;
        let job = Job { request, prompt: Arc::new(self.prompt()), choice: self.job.choice, form: Arc::new(form) };
        self.all.backend.start(job).await
    }

    /// Writes the beginning of a thought that counts as open although neither prompt nor model has begun it: no model
    /// has seen an end alone.
    fn begin_thought(&mut self) {
        let (start, end) = self.all.pair.reasoning_markers().unwrap_or_default();
        let text = &self.job.prompt.text;
        let is_open = text.rfind(&start) > text.rfind(&end);
        if !start.is_empty() && start == self.all.markers.start() && !is_open {
            self.write(&start);
        }
    }

    /// Writes the end of the thought on the model's behalf, as far as the model has not written it itself.
    fn write(&mut self, end: &str) {
        let ids = self.all.markers.ids_of(end).filter(|_| !self.written.without_ids).unwrap_or_default();
        let ids = missing_ids(&self.written.ids, ids).to_vec();
        let tokens = Tokens::new(missing_text(&self.written.text, end), ids);
        self.written.add(&tokens);
        self.ready.push_back((Piece::Tokens(tokens), true));
    }

    /// The prompt followed by the output so far.
    fn prompt(&self) -> RenderedPrompt {
        let (old, written) = (&*self.job.prompt, &self.written);
        let mut prompt = RenderedPrompt { text: format!("{}{}", old.text, written.text), ..old.clone() };
        prompt.tokens = old.tokens.map(|tokens| tokens + written.tokens);
        let tokenizer = self.all.model.tokenizer().ok();
        let ids = match tokenizer {
            _ if old.encoded.is_empty() => None,
            _ if !written.without_ids => Some(written.ids.clone()),
            Some(tokenizer) => tokenizer.encode(&written.text, false).ok(),
            None => None,
        };
        match ids {
            Some(ids) => {
                let table = self.all.pair.vocabulary().bytes.as_ref();
                let bytes = |id| table.and_then(|table| table.get(id)).unwrap_or_default().to_vec();
                prompt.encoded.extend(ids.into_iter().map(|id| PromptToken { id, bytes: bytes(id) }));
            }
            // Then the text alone is used.
            None => prompt.encoded.clear(),
        }
        prompt
    }

    /// The token counts of the entire answer, including earlier parts.
    pub(super) fn counted(&self, piece: Piece) -> Piece {
        match piece {
            Piece::Usage { prompt, completion, cached } => Piece::Usage {
                cached,
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
