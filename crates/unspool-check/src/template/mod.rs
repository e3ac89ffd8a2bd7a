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
