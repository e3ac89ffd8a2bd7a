//! Runs a case through the parser and watches its events.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;
use std::time::{Duration, Instant};

use unspool::setup::Pair;
use unspool::{Delta, Event, Finish, Message, Parser, Prompt, Sink, Snapshot};

use crate::case::Case;
use crate::cuts::Piece;
use crate::doors::{Feed, PromptForm};

/// What came out of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// The text of a refusal before any output.
    pub(crate) refused: Option<String>,
    pub(crate) message: Message,
    pub(crate) finish: Finish,
    /// Kinds of the parts in their order, neighbours of a kind joined.
    pub(crate) parts: Vec<&'static str>,
    /// Index of each call as it started.
    pub(crate) indices: Vec<usize>,
    /// Events that break the rules of the stream.
    pub(crate) faults: Vec<String>,
    /// Argument events before the last delta.
    pub(crate) early_arguments: usize,
    /// Index of the first delta after which reasoning was over; -1: before any; `None`: never.
    pub(crate) gate: Option<i64>,
    pub(crate) took: Duration,
}

/// State of a call as its events tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    Open,
    Over,
}

/// Folds events into a message of its own, and checks their order.
#[derive(Debug, Default)]
struct Watcher {
    answer: Answer,
    calls: Vec<CallState>,
    folded: Message,
    last_delta: bool,
}

impl Watcher {
    fn part(&mut self, kind: &'static str, text: &str) {
        if text.is_empty() {
            self.answer.faults.push(format!("empty {kind} event"));
        }
        if !text.trim().is_empty() && self.answer.parts.last() != Some(&kind) {
            self.answer.parts.push(kind);
        }
    }

    fn call_must_be_open(&mut self, index: usize, what: &str) {
        if self.calls.get(index) != Some(&CallState::Open) {
            self.answer.faults.push(format!("{what} of call {index}, which is not open"));
        }
    }

    fn watch(&mut self, event: &Event<'_>) {
        match event {
            Event::Reasoning(text) => self.part("reasoning", text),
            Event::Content(text) => self.part("content", text),
            Event::CallStart { index, id, .. } => {
                self.answer.parts.push("tool_call");
                self.answer.indices.push(*index);
                if *index != self.calls.len() {
                    self.answer.faults.push(format!("call {index} starts as number {}", self.calls.len()));
                }
                if id.is_empty() || self.folded.tool_calls.iter().any(|call| call.id == *id) {
                    self.answer.faults.push(format!("id {id:?} of call {index} is empty or used already"));
                }
                self.calls.push(CallState::Open);
            }
            Event::CallArguments { index, json } => {
                self.call_must_be_open(*index, "arguments");
                if json.is_empty() {
                    self.answer.faults.push(format!("empty arguments event of call {index}"));
                }
                self.answer.early_arguments += usize::from(!self.last_delta);
            }
            Event::CallEnd { index, .. } => {
                self.call_must_be_open(*index, "end");
                if let Some(state) = self.calls.get_mut(*index) {
                    *state = CallState::Over;
                }
            }
            Event::Note(_) => {}
        }
    }
}

impl Sink for Watcher {
    fn event(&mut self, event: Event<'_>) {
        self.watch(&event);
        self.folded.event(event);
    }
}

thread_local! {
    /// Whether this thread is inside the core, and what it panicked with.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Panics of the core are told with their case, not on their own.
static HOOK: Once = Once::new();

fn hook_panics() {
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let ours = PANIC.with_borrow_mut(|slot| slot.as_mut().map(|text| *text = info.to_string()));
            if ours.is_none() {
                usual(info);
            }
        }));
    });
}

/// Runs a feed; panics of the core become a fault of the answer.
pub(crate) fn run(case: &Case, feed: &Feed) -> Answer {
    hook_panics();
    PANIC.set(Some(String::new()));
    let attempt = panic::catch_unwind(panic::AssertUnwindSafe(|| attempt(case, feed)));
    let said = PANIC.take().unwrap_or_default().replace('\n', " ");
    attempt.unwrap_or_else(|_| Answer { faults: vec![said], ..Answer::default() })
}

fn attempt(case: &Case, feed: &Feed) -> Answer {
    let made = match case.made() {
        Ok(made) => made,
        Err(refusal) => return Answer { refused: Some(refusal.to_owned()), ..Answer::default() },
    };
    let tokens = case.prompt_tokens();
    let text = case.prompt_text();
    let prompt = match feed.prompt {
        PromptForm::Tokens => Prompt::Tokens(&tokens),
        PromptForm::Text => text.as_deref().or(case.prompt_tail()).map_or(Prompt::Unknown, Prompt::Text),
        PromptForm::Tail => case.prompt_tail().map_or(Prompt::Unknown, Prompt::Text),
    };
    let ids_alone = feed.pieces.iter().any(|piece| piece.text.is_none());
    let pair = if ids_alone { &made.byte_pair } else { &made.pair };
    let fresh = |pair: &Pair| pair.parser(&made.request, prompt);
    match fresh(pair) {
        Err(refusal) => Answer { refused: Some(format!("request: {refusal}")), ..Answer::default() },
        Ok(parser) => drive(case, feed, parser, &|| fresh(pair).expect("a second parser of the same request")),
    }
}

fn drive(case: &Case, feed: &Feed, mut parser: Parser, fresh: &dyn Fn() -> Parser) -> Answer {
    let start = Instant::now();
    let mut watcher = Watcher::default();
    let mut gate = parser.reasoning_ended().then_some(-1);
    for (step, piece) in feed.pieces.iter().enumerate() {
        watcher.last_delta = step + 1 == feed.pieces.len();
        let Piece { text, ids } = piece;
        parser.push(Delta { text: text.as_deref(), ids }, &mut watcher);
        if gate.is_none() && parser.reasoning_ended() {
            gate = Some(step as i64);
        }
        if feed.saved {
            match reload(&parser, fresh) {
                Ok(reloaded) => parser = reloaded,
                Err(fault) => watcher.answer.faults.push(fault),
            }
        }
    }
    watcher.last_delta = true;
    let finish = parser.finish(case.finish, &mut watcher);
    if let Some(open) = watcher.calls.iter().position(|state| *state == CallState::Open) {
        watcher.answer.faults.push(format!("call {open} has no end"));
    }
    let Watcher { answer, folded, .. } = watcher;
    Answer { message: folded, finish, gate, took: start.elapsed(), ..answer }
}

/// Saves the state as JSON and goes on with a new parser.
fn reload(parser: &Parser, fresh: &dyn Fn() -> Parser) -> Result<Parser, String> {
    let saved = serde_json::to_string(&parser.snapshot()).map_err(|e| format!("snapshot: {e}"))?;
    let snapshot: Snapshot = serde_json::from_str(&saved).map_err(|e| format!("snapshot read again: {e}"))?;
    let mut parser = fresh();
    parser.restore(snapshot).map_err(|e| format!("restore: {e}"))?;
    Ok(parser)
}
