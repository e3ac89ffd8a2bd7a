//! Chat templates: compared with a pair of parsers, and with each other.
//!
//! A model writes what its chat template taught it. With the wrong template, the parser waits for markers that never
//! come, and calls arrive as plain text.

mod check;
mod conversations;
mod diff;
mod strokes;
mod turn;

pub use check::{Finding, Subject, Verdict};
pub use diff::{Conversation, Difference, Side, diff};

use serde_json::{Map, Value};
use unspool_text::{Prompter, TextError};

/// A prompter for a single template. Special tokens without a given text get the texts of most models.
///
/// # Errors
/// The template is invalid Jinja.
pub fn prompter(source: &str, tokens: Map<String, Value>) -> Result<Prompter, TextError> {
    let prompter = Prompter::new(None, Some(source), None)?;
    let mut all: Map<String, Value> = Map::new();
    for (name, text) in [("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")] {
        if prompter.template(true).is_some_and(|template| template.variables().contains(name)) {
            all.insert(name.to_owned(), Value::from(text));
        }
    }
    all.extend(tokens);
    Ok(prompter.with_special_tokens(all))
}

/// An assistant turn as a template writes it, with its message.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<(String, Value)>,
}

/// The turns that a template writes, except those from which it omits something.
pub(crate) fn turns(prompter: &Prompter) -> Vec<Written> {
    let kwargs = Map::new();
    let stage = turn::Stage::new(prompter, &kwargs);
    let written = conversations::cases().into_iter().filter_map(|case| {
        let turn = stage.turn(&case, &[]).ok()?;
        let whole = turn.text.contains(case.reasoning) && case.calls.iter().all(|(name, _)| turn.text.contains(name));
        let calls = case.calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect();
        whole.then(|| Written { text: turn.text, reasoning: case.reasoning.to_owned(), calls })
    });
    written.collect()
}

/// The beginning of a new assistant turn.
pub(crate) fn beginnings(prompter: &Prompter) -> Option<String> {
    let kwargs = Map::new();
    let stage = turn::Stage::new(prompter, &kwargs);
    let question = [conversations::question()];
    let (bare, prompt) = (stage.render(&question, false).ok()?, stage.render(&question, true).ok()?);
    prompt.strip_prefix(bare.as_str()).map(str::to_owned)
}
