//! A thinking budget in tokens: when to force the end of a thought.
//!
//! The engine must enforce the budget, because only it picks tokens; this small machine says which token must come. It
//! follows vLLM: tokens count from the newest start marker, including those of an open thought in the prompt. Once the
//! budget is used up, the forced end comes token by token, starting with the part that the model has already written.

use crate::error::Error;
use serde_json::Value;

/// The markers of a thought, as token ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markers {
    /// Begins a thought; empty: thoughts are never counted.
    pub start: Vec<u32>,
    /// Ends a thought.
    pub end: Vec<u32>,
    /// The forced tokens, which may include a transition sentence before the end marker. Empty: the end marker.
    pub forced: Vec<u32>,
}

/// The texts of `--reasoning-config`: `{"reasoning_start_str": …, "reasoning_end_str": …}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReasoningConfig {
    /// Begins a thought.
    pub start: String,
    /// The forced end of a thought.
    pub end: String,
}

impl ReasoningConfig {
    /// Parses the value of the flag.
    ///
    /// # Errors
    /// Not an object, an unknown field, or a value that is not a text.
    pub fn read(value: &Value) -> Result<Self, Error> {
        let Value::Object(map) = value else {
            return Err(Error::request("`--reasoning-config` must be a JSON object")
                .hint("give {\"reasoning_start_str\": \"<think>\", \"reasoning_end_str\": \"</think>\"}"));
        };
        // The third one is vLLM's name for the format, which is set elsewhere here.
        const KEYS: [&str; 3] = ["reasoning_start_str", "reasoning_end_str", "reasoning_parser"];
        if let Some(key) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(Error::request(&format!("`--reasoning-config` has no `{key}`"))
                .hint("it has `reasoning_start_str` and `reasoning_end_str`"));
        }
        let text = |key: &str| match map.get(key) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(Error::request(&format!("`{key}` of `--reasoning-config` must be a text"))),
        };
        Ok(Self { start: text("reasoning_start_str")?, end: text("reasoning_end_str")? })
    }
}

/// The budget of a request's `thinking_token_budget`, in tokens; `None`: no limit.
///
/// # Errors
/// Anything but an integer from 0, or -1.
pub fn of_request(request: &Value) -> Result<Option<u64>, Error> {
    let value = match request.get("thinking_token_budget") {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    match (value.as_u64(), value.as_i64()) {
        (Some(budget), _) => Ok(Some(budget)),
        (None, Some(-1)) => Ok(None),
        _ => Err(Error::request(&format!("`thinking_token_budget` is {value}"))
            .hint("it must be a whole number from 0, or -1 for no bound")),
    }
}

/// Counts the tokens of a reply's thought and says when to force its end.
#[derive(Debug, Clone)]
pub struct ThinkingBudget {
    markers: Markers,
    budget: u64,
    /// The last tokens of the open thought, as many as a marker is long.
    tail: Vec<u32>,
    /// Number of tokens of the open thought; `None`: no thought is open.
    open: Option<u64>,
}

impl ThinkingBudget {
    /// A budget for a reply after this prompt.
    #[must_use]
    pub fn new(mut markers: Markers, budget: u64, prompt: &[u32]) -> Self {
        if markers.forced.is_empty() {
            markers.forced.clone_from(&markers.end);
        }
        let mut own = Self { markers, budget, tail: Vec::new(), open: None };
        own.take(prompt);
        own
    }

    /// Takes tokens of the reply, in any grouping.
    pub fn take(&mut self, ids: &[u32]) {
        let Markers { start, end, forced } = &self.markers;
        let longest = start.len().max(end.len()).max(forced.len());
        for id in ids {
            self.tail.push(*id);
            if self.tail.len() > longest {
                self.tail.remove(0);
            }
            let ends = |marker: &[u32]| !marker.is_empty() && self.tail.ends_with(marker);
            if ends(start) {
                self.open = Some(0);
                self.tail.clear();
            } else if self.open.is_some() && (ends(end) || ends(forced)) {
                self.open = None;
                self.tail.clear();
            } else if let Some(count) = &mut self.open {
                *count += 1;
            }
        }
    }

    /// The token that must come next if the budget is used up: the rest of the forced end.
    #[must_use]
    pub fn forced(&self) -> Option<u32> {
        if self.open? < self.budget {
            return None;
        }
        let forced = &self.markers.forced;
        let begun = (0..forced.len()).rev().find(|n| self.tail.ends_with(&forced[..*n]))?;
        forced.get(begun).copied()
    }

    /// Whether a thought is open.
    #[must_use]
    pub fn is_thinking(&self) -> bool {
        self.open.is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const START: u32 = 1;
    const END: u32 = 2;

    fn markers() -> Markers {
        Markers { start: vec![START], end: vec![END], forced: Vec::new() }
    }

    /// Runs a model that never stops thinking under a budget, and returns its output.
    fn written(mut budget: ThinkingBudget, steps: usize) -> Vec<u32> {
        let mut out = Vec::new();
        for _ in 0..steps {
            let next = budget.forced().unwrap_or(9);
            budget.take(&[next]);
            out.push(next);
        }
        out
    }

    #[test]
    fn the_end_is_forced_when_the_budget_is_used_up() {
        assert_eq!(written(ThinkingBudget::new(markers(), 3, &[START]), 6), [9, 9, 9, END, 9, 9]);
        assert_eq!(written(ThinkingBudget::new(markers(), 0, &[7, START]), 3), [END, 9, 9]);
    }

    #[test]
    fn tokens_of_an_open_thought_in_the_prompt_count() {
        assert_eq!(written(ThinkingBudget::new(markers(), 3, &[START, 5, START, 6, 6]), 3), [9, END, 9]);
        assert_eq!(written(ThinkingBudget::new(markers(), 0, &[START, 5, END]), 3), [9, 9, 9]);
    }

    #[test]
    fn without_a_start_nothing_is_forced() {
        assert_eq!(written(ThinkingBudget::new(markers(), 0, &[]), 4), [9, 9, 9, 9]);
    }

    #[test]
    fn a_sentence_may_lead_over_and_is_gone_on_with() {
        let markers = Markers { start: vec![START], end: vec![END], forced: vec![4, 5, END] };
        assert_eq!(written(ThinkingBudget::new(markers.clone(), 1, &[START]), 5), [9, 4, 5, END, 9]);
        let mut budget = ThinkingBudget::new(markers, 2, &[START]);
        budget.take(&[9, 4]);
        assert_eq!(budget.forced(), Some(5));
        budget.take(&[END]);
        assert!(budget.forced().is_none() && !budget.is_thinking());
    }

    #[test]
    fn any_grouping_of_tokens_gives_the_same() {
        let ids = [7, START, 3, 3, 3, 3];
        let mut whole = ThinkingBudget::new(markers(), 4, &[]);
        whole.take(&ids);
        let mut single = ThinkingBudget::new(markers(), 4, &[]);
        ids.iter().for_each(|id| single.take(&[*id]));
        assert_eq!((whole.forced(), single.forced()), (Some(END), Some(END)));
    }

    #[test]
    fn odd_budgets_are_refused() {
        assert_eq!(of_request(&json!({})), Ok(None));
        assert_eq!(of_request(&json!({"thinking_token_budget": 12})), Ok(Some(12)));
        assert_eq!(of_request(&json!({"thinking_token_budget": -1})), Ok(None));
        for odd in [json!(true), json!(1.5), json!(-2), json!("8")] {
            assert!(of_request(&json!({"thinking_token_budget": odd})).is_err(), "{odd}");
        }
    }

    #[test]
    fn the_flag_names_the_texts() {
        let config = json!({"reasoning_start_str": "<think>", "reasoning_end_str": "So be it.</think>"});
        assert_eq!(ReasoningConfig::read(&config).unwrap().end, "So be it.</think>");
        assert!(ReasoningConfig::read(&json!("x")).is_err());
        assert!(ReasoningConfig::read(&json!({"reasoning_end_str": 3})).is_err());
    }
}
