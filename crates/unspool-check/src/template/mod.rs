//! Chat templates: one held against a pair of parsers, and two held against each other.
//!
//! A model writes what its template taught it. With the wrong template, the parser waits for marks that never come, and calls
//! arrive as plain text.

mod check;
mod conversations;
mod diff;
mod strokes;
mod turn;

pub use check::{Finding, Subject, Verdict};
pub use diff::{Conversation, Difference, Side, diff};

use serde_json::{Map, Value};
use unspool_text::{Prompter, TextError};

/// A prompter for a template alone. Special tokens that it names and nobody told get the texts that most models have.
///
/// # Errors
/// The template is no Jinja.
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

/// A turn of the assistant as a template writes it, with what it says.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<(String, Value)>,
}

/// The turns that a template writes, those that it leaves something out of not among them.
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

/// What a new turn of the assistant begins with.
pub(crate) fn beginnings(prompter: &Prompter) -> Option<String> {
    let kwargs = Map::new();
    let stage = turn::Stage::new(prompter, &kwargs);
    let question = [conversations::question()];
    let (bare, prompt) = (stage.render(&question, false).ok()?, stage.render(&question, true).ok()?);
    prompt.strip_prefix(bare.as_str()).map(str::to_owned)
}
