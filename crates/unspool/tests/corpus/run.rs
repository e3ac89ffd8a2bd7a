//! Runs a case through the parser.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

use unspool::Pair;
use unspool::{Parser, Prompt};

use crate::case::Case;
use crate::doors::{Feed, PromptForm};
use crate::watch::{Answer, Run};

thread_local! {
    /// Whether this cursor is inside the core, and what it panicked with.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Panics of the core are reported with their case, not separately.
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
    let pair = if feed.vocabulary { &made.byte_pair } else { &made.pair };
    let fresh = |pair: &Pair| pair.parser(&made.request, prompt);
    let again = || fresh(pair).expect("a second parser of the same request");
    match fresh(pair) {
        Err(refusal) => Answer { refused: Some(format!("request: {refusal}")), ..Answer::default() },
        Ok(parser) => {
            let reload: Option<&dyn Fn() -> Parser> = if feed.saved { Some(&again) } else { None };
            Run { pieces: &feed.pieces, finish: case.finish, reload }.with(parser)
        }
    }
}
