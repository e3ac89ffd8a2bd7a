//! The thinking budget and its enforcement.

use unspool::Pair;
use unspool::Parser;
use unspool::budget::{Markers, ReasoningConfig, ThinkingBudget};

use crate::error::ApiError;
use crate::model::Model;
use crate::prompt::RenderedPrompt;
use crate::request::ChatRequest;

/// The texts around a thought, and their tokens if known.
#[derive(Debug, Clone, Default)]
pub struct ReasoningMarkers {
    /// Begins a thought; empty: unknown.
    start: String,
    /// Ends a thought; empty: unknown.
    end: String,
    /// Is written when the budget is used up; empty: unknown.
    forced: String,
    markers: Option<Markers>,
}

impl ReasoningMarkers {
    /// The texts of `--reasoning-config`, or those of the format.
    #[must_use]
    pub fn new(config: &ReasoningConfig, pair: &Pair, model: &Model) -> Self {
        let (start, end) = pair.reasoning_markers().unwrap_or_default();
        let or = |first: &str, second: &str| if first.is_empty() { second.to_owned() } else { first.to_owned() };
        let (start, forced) = (or(&config.start, &start), or(&config.end, &end));
        let end = or(&end, &forced);
        let ids = |text: &str| {
            let entry = pair.vocabulary().special.get(text).map(|id| vec![*id]);
            let cut = || model.tokenizer().ok()?.encode(text, false).ok();
            entry.or_else(cut).filter(|ids| !ids.is_empty())
        };
        let markers = || Some(Markers { start: ids(&start)?, end: ids(&end)?, forced: ids(&forced)? });
        Self { markers: markers(), start, end, forced }
    }

    /// Whether a budget can be enforced: the texts that begin and end a thought are known.
    #[must_use]
    pub fn are_known(&self) -> bool {
        !self.start.is_empty() && !self.forced.is_empty()
    }

    /// Refuses a budget that cannot be enforced, as vLLM does.
    ///
    /// # Errors
    /// The request has a budget, and the texts around a thought are unknown.
    pub fn check(&self, request: &ChatRequest) -> Result<(), ApiError> {
        if request.sampling.thinking_budget.is_none() || self.are_known() {
            return Ok(());
        }
        let missing: Vec<&str> = [("begins", &self.start), ("ends", &self.forced)]
            .into_iter()
            .filter_map(|(what, text)| text.is_empty().then_some(what))
            .collect();
        let message =
            format!("`thinking_token_budget` cannot be kept: no text is known that {} a thought", missing.join(" or "));
        Err(ApiError::bad_field("thinking_token_budget", message).hint(
            "the server knows it if it is started with --reasoning-parser, or with --reasoning-config and \
             `reasoning_start_str` and `reasoning_end_str`",
        ))
    }

    /// The text that begins a thought.
    #[must_use]
    pub fn start(&self) -> &str {
        &self.start
    }

    /// The text that ends a thought.
    #[must_use]
    pub fn end(&self) -> &str {
        &self.end
    }

    /// The text written when the budget is used up.
    #[must_use]
    pub fn forced(&self) -> &str {
        &self.forced
    }

    /// The tokens of one of these texts, if known.
    #[must_use]
    pub fn ids_of(&self, text: &str) -> Option<&[u32]> {
        let markers = self.markers.as_ref()?;
        let known = [(&self.forced, &markers.forced), (&self.end, &markers.end), (&self.start, &markers.start)];
        known.into_iter().find_map(|(own, ids)| (own == text).then_some(ids.as_slice()))
    }

    /// A counter for the thought of an answer after this prompt, whose parser has read nothing yet.
    #[must_use]
    pub fn counter(&self, budget: u64, prompt: &RenderedPrompt, parser: &Parser) -> BudgetCounter {
        let by_id = self.markers.as_ref().map(|markers| {
            // The budget does not concern the prompt outside the open thought.
            let ids = if parser.is_thinking() { prompt.ids() } else { Vec::new() };
            let mut machine = ThinkingBudget::new(markers.clone(), budget, &ids);
            if parser.is_thinking() && !machine.is_thinking() {
                machine.take(&markers.start);
            }
            machine
        });
        BudgetCounter { by_id, budget, start: self.start.clone(), tail: String::new(), count: 0, ended: false }
    }
}

/// Decides whether a thought may continue.
#[derive(Debug, Clone)]
pub struct BudgetCounter {
    /// Counts tokens; `None`: the tokens of the markers are unknown.
    by_id: Option<ThinkingBudget>,
    budget: u64,
    /// Begins a thought; empty: unknown.
    start: String,
    /// The end of the text so far, which may be the beginning of such a start.
    tail: String,
    /// Number of tokens of the open thought, according to the parser.
    count: u64,
    /// Its end has been written. If the parser does not recognise it, it is not asked again.
    ended: bool,
}

impl BudgetCounter {
    /// Takes a piece of output that the parser has read; `thought`: whether it was in a thought before.
    pub fn take(&mut self, text: &str, ids: &[u32], thought: bool) {
        if ids.is_empty() {
            self.by_id = None;
        }
        if let Some(machine) = &mut self.by_id {
            machine.take(ids);
        }
        // A piece without ids is usually one token.
        self.count = if thought { self.count + (ids.len() as u64).max(1) } else { 0 };
        // A thought that counts as open before the model begins it is counted from its start.
        if let Some(behind) = self.begins(text) {
            self.count = u64::from(behind);
        }
        self.ended &= thought;
    }

    /// Whether this text completes the start of a thought, and if so, whether more text follows it.
    fn begins(&mut self, text: &str) -> Option<bool> {
        if self.start.is_empty() {
            return None;
        }
        self.tail.push_str(text);
        let behind = self.tail.rfind(&self.start).map(|at| self.tail.split_off(at + self.start.len()));
        let found = behind.map(|behind| {
            self.tail = behind;
            !self.tail.is_empty()
        });
        let keep = (self.tail.len() + 1).saturating_sub(self.start.len());
        let keep = (keep..=self.tail.len()).find(|at| self.tail.is_char_boundary(*at)).unwrap_or(0);
        self.tail.drain(..keep);
        found
    }

    /// Records that the end of the thought has been written.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the end of the thought must come now.
    #[must_use]
    pub fn is_used_up(&self, parser: &Parser) -> bool {
        match &self.by_id {
            Some(machine) => machine.forced().is_some(),
            None => !self.ended && parser.is_thinking() && self.count >= self.budget,
        }
    }
}

/// The missing rest of `end` after a text that may contain its beginning.
#[must_use]
pub(crate) fn missing_text<'a>(text: &str, end: &'a str) -> &'a str {
    let begun = (0..end.len()).rev().filter(|at| end.is_char_boundary(*at)).find(|at| text.ends_with(&end[..*at]));
    &end[begun.unwrap_or(0)..]
}

/// The same for tokens.
#[must_use]
pub(crate) fn missing_ids<'a>(ids: &[u32], end: &'a [u32]) -> &'a [u32] {
    let begun = (0..end.len()).rev().find(|n| ids.ends_with(&end[..*n])).unwrap_or(0);
    &end[begun..]
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unspool::{Registry, Setup};

    use super::*;
    use crate::config::ServeConfig;
    use crate::request::ToolRules;

    fn thoughts(parser: Option<&str>, config: &serde_json::Value) -> ReasoningMarkers {
        let setup = Setup { reasoning_parser: parser.map(str::to_owned), ..Setup::default() };
        let pair = Registry::builtin().pair(&setup).expect("the name is known");
        let model = Model::open(&ServeConfig::default()).expect("nothing is opened");
        ReasoningMarkers::new(&ReasoningConfig::read(config).expect("it is right"), &pair, &model)
    }

    fn refusal(thoughts: &ReasoningMarkers) -> Option<ApiError> {
        let body = json!({"messages": [{"role": "user", "content": "a"}], "thinking_token_budget": 5});
        let request = ChatRequest::read(body, ToolRules::default()).expect("the request is right");
        thoughts.check(&request).err()
    }

    #[test]
    fn the_flag_counts_before_the_format() {
        let own = thoughts(Some("qwen3"), &json!({}));
        assert_eq!((own.start.as_str(), own.end(), own.forced()), ("<think>", "</think>", "</think>"));
        let led = thoughts(Some("qwen3"), &json!({"reasoning_end_str": "So be it.</think>"}));
        assert_eq!((led.end(), led.forced()), ("</think>", "So be it.</think>"));
        let alone = thoughts(None, &json!({"reasoning_start_str": "[", "reasoning_end_str": "]"}));
        assert_eq!((alone.start.as_str(), alone.end(), alone.forced()), ("[", "]", "]"));
        assert!([own, led, alone].iter().all(|thoughts| refusal(thoughts).is_none()));
    }

    #[test]
    fn what_is_missing_is_named() {
        let told = refusal(&thoughts(None, &json!({}))).expect("nothing is known");
        assert_eq!(told.param.as_deref(), Some("thinking_token_budget"));
        assert!(told.message.contains("begins or ends") && told.hint.is_some(), "{}", told.message);
        let told = refusal(&thoughts(None, &json!({"reasoning_end_str": "</think>"}))).expect("the start is not known");
        assert!(told.message.contains("that begins a thought"), "{}", told.message);
    }

    #[test]
    fn an_end_that_was_begun_is_gone_on_with() {
        assert_eq!(missing_text("so </th", "</think>"), "ink>");
        assert_eq!(missing_text("so", "</think>"), "</think>");
        assert_eq!(missing_text("§", "§§"), "§");
        assert_eq!(missing_ids(&[7, 1, 2], &[1, 2, 3]), [3]);
        assert_eq!(missing_ids(&[7], &[1]), [1]);
    }
}
