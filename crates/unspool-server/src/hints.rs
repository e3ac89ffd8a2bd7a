//! Hints for the operator: an answer has markup but no call, and another parser would read it.
//!
//! A separate thread checks one answer at a time, and each hint is logged at most once an hour. Hints contain no text
//! of an answer.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use unspool::{Message, Registry, Setup, Vocabulary};
use unspool_check::diagnose::Formats;

use crate::metrics::Metrics;
use crate::reply::{ReplyEvent, Step};

/// Maximum size of an answer to check, in bytes.
const LONGEST: usize = 16 << 10;
/// Delay before the next check after a hint.
const AFTER_HINT: Duration = Duration::from_secs(3600);
/// Delay after a check without a hint.
const AFTER_NOTHING: Duration = Duration::from_secs(10);

/// Looks for hints.
pub struct Hints {
    registry: Registry,
    vocabulary: Vocabulary,
    /// The names of the configured halves.
    names: [Option<String>; 2],
    metrics: Arc<Metrics>,
    formats: OnceLock<Formats>,
    turn: Mutex<Turn>,
}

/// Whether a check is running, and when the next one may run.
#[derive(Debug, Default)]
struct Turn {
    taken: bool,
    next: Option<Instant>,
}

impl Hints {
    /// Hints for a pair, by the names of its halves.
    #[must_use]
    pub fn new(registry: Registry, vocabulary: &Vocabulary, names: [Option<String>; 2], metrics: Arc<Metrics>) -> Self {
        let vocabulary =
            Vocabulary { special: vocabulary.special.clone(), hidden: vocabulary.hidden.clone(), bytes: None };
        Self { registry, vocabulary, names, metrics, formats: OnceLock::new(), turn: Mutex::default() }
    }

    /// Checks the text of an answer without calls, on another thread, if it is time.
    pub fn consider(self: &Arc<Self>, text: String) {
        if !text.contains(['<', '[', '|']) || !self.take_turn() {
            return;
        }
        let hints = Arc::clone(self);
        let look = move || {
            let told = hints.look(text);
            hints.end_turn(if told { AFTER_HINT } else { AFTER_NOTHING });
        };
        // Without a thread there is no hint.
        if thread::Builder::new().name("hints".to_owned()).spawn(look).is_err() {
            self.end_turn(AFTER_NOTHING);
        }
    }

    fn take_turn(&self) -> bool {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let free = !turn.taken && turn.next.is_none_or(|next| next <= Instant::now());
        turn.taken |= free;
        free
    }

    fn end_turn(&self, pause: Duration) {
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) =
            Turn { taken: false, next: Instant::now().checked_add(pause) };
    }

    /// Checks a text; returns whether there was a hint.
    fn look(&self, text: String) -> bool {
        let base = || Setup { vocabulary: self.vocabulary.clone(), ..Setup::default() };
        let formats = self.formats.get_or_init(|| Formats::new(self.registry.clone(), base()));
        let message = Message { content: text, ..Message::default() };
        if !formats.has_markup(&message) {
            return false;
        }
        let names = [self.names[0].as_deref(), self.names[1].as_deref()];
        let Some(hint) = formats.hint(names, &Value::Null, &message.content) else { return false };
        let cause = serde_json::to_value(hint.kind).ok().and_then(|word| word.as_str().map(str::to_owned));
        let cause = cause.unwrap_or_default();
        tracing::warn!(
            cause = cause.as_str(),
            flags = hint.flags.join(" "),
            "an answer has markup but no call: {}; hint: `unspool diagnose` says more",
            hint.message
        );
        self.metrics.hint(&cause);
        true
    }
}

/// Watches one answer for a hint.
pub struct Watch {
    hints: Arc<Hints>,
    content: String,
    called: bool,
}

impl Watch {
    /// For an answer that may have calls.
    #[must_use]
    pub fn new(hints: Arc<Hints>) -> Self {
        Self { hints, content: String::new(), called: false }
    }

    /// A step of the answer.
    pub(crate) fn step(&mut self, step: &Step) {
        for event in &step.events {
            match event {
                ReplyEvent::CallStart { .. } => self.called = true,
                ReplyEvent::Content(text) if self.content.len() < LONGEST => self.content.push_str(text),
                _ => {}
            }
        }
        if step.ending.is_some() && !self.called {
            self.hints.consider(std::mem::take(&mut self.content));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: &str = "Secret. <tool_call>\n{\"name\": \"tide\", \"arguments\": {}}\n</tool_call>";

    fn hints() -> Arc<Hints> {
        let metrics = Arc::new(Metrics::new(Some("m"), None, Some("mistral")).expect("they can be set up"));
        let names = [None, Some("mistral".to_owned())];
        Arc::new(Hints::new(Registry::builtin(), &Vocabulary::default(), names, metrics))
    }

    #[test]
    fn a_hint_is_counted_and_the_next_one_waits() {
        let hints = hints();
        assert!(hints.look(LEFT.to_owned()));
        let text = hints.metrics.text();
        assert!(text.contains("unspool_hints_total{") && text.contains("cause=\"wrong_parser\""), "{text}");
        assert!(!text.contains("Secret") && !text.contains("tide"), "{text}");
        assert!(hints.take_turn() && !hints.take_turn(), "one at a time");
        hints.end_turn(AFTER_HINT);
        assert!(!hints.take_turn(), "the next one waits");
    }

    #[test]
    fn an_answer_in_words_brings_none() {
        let hints = hints();
        assert!(!hints.look("High water is <b>at six</b>.".to_owned()));
        hints.consider("High water is at six.".to_owned());
        assert!(hints.take_turn(), "nobody looks at it");
    }
}
