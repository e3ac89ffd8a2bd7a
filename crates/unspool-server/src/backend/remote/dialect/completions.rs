//! `/v1/completions`: OpenAI's legacy API, which many servers have. vLLM also accepts and returns token ids.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use unspool::{Pair, PromptToken};

use super::{Asking, Dialect, Question, Reader, broken_off, conversation, prompt, seed, stop_tokens, unreadable};
use crate::backend::{BackendError, BackendFault, Job, Piece, ServerFacts, StopReason, Tokens};
use crate::capabilities::{Capabilities, Notation, Waits};
use crate::probability::{Candidate, TokenProbability, TokenWishes};
use crate::prompt::RenderedPrompt;
use crate::request::ChatRequest;

/// A completions server.
#[derive(Debug)]
pub(super) struct Completions {
    /// Whether it accepts and returns token ids (vLLM).
    pub(super) ids: bool,
}

/// A vLLM reads all notations, and may have a reasoning parser.
const VLLM: Capabilities = Capabilities {
    notations: &[Notation::Tag, Notation::Lark, Notation::Json],
    notation_hint: "leave the flag out: the backend is then told what it reads",
    gbnf: false,
    continues: true,
    fills_context: false,
    waits: Waits::ByFlag,
    keeps_budgets: true,
    chats: false,
    log_probabilities: true,
    probabilities: true,
    prompt_probabilities: true,
    token_ids: true,
};

/// Any other completions server is only known to continue a text.
const PLAIN: Capabilities = Capabilities {
    notations: &[],
    notation_hint: "leave the flag out; for a server that is a vLLM or an SGLang name its own kind in --backend",
    gbnf: false,
    continues: true,
    fills_context: false,
    waits: Waits::Never,
    keeps_budgets: false,
    chats: false,
    log_probabilities: true,
    probabilities: true,
    prompt_probabilities: false,
    token_ids: false,
};

impl Dialect for Completions {
    fn capabilities(&self) -> Capabilities {
        if self.ids { VLLM } else { PLAIN }
    }

    fn path(&self) -> &'static str {
        "/v1/completions"
    }

    fn health(&self) -> &'static str {
        // Any completions server lists its models; not all have a health endpoint.
        if self.ids { "/health" } else { "/v1/models" }
    }

    fn body(&self, job: &Job, asking: &Asking, facts: &ServerFacts) -> Map<String, Value> {
        let sampling = job.sampling();
        let mut body = sampling.others.clone();
        job.form.constraint.put(&mut body);
        let mut set = |key: &str, value: Value| {
            body.insert(key.to_owned(), value);
        };
        if let Some(model) = asking.model.as_ref().or(job.request.model.as_ref()) {
            set("model", json!(model));
        }
        set("prompt", if self.ids { prompt(job) } else { json!(job.prompt.text) });
        // Streams do not have data of prompt tokens.
        let streams = sampling.wishes.prompt.is_none();
        set("stream", json!(streams));
        // If the gateway does not count tokens, the server reports the prompt's count at the beginning.
        let continuous = self.ids && job.prompt.tokens.is_none();
        if streams {
            set(
                "stream_options",
                match continuous {
                    true => json!({"include_usage": true, "continuous_usage_stats": true}),
                    false => json!({"include_usage": true}),
                },
            );
        }
        if let Some(most) = sampling.wishes.prompt {
            set("prompt_logprobs", json!(most));
        }
        if let Some(top) = sampling.wishes.top {
            set("logprobs", json!(top));
            // Different tokens may have the same text, and some have none.
            if self.ids && knows_ids(job, asking) {
                set("return_tokens_as_token_ids", json!(true));
            }
        }
        set("max_tokens", json!(sampling.max_tokens.unwrap_or(asking.max_tokens)));
        // Other servers may refuse fields that OpenAI's API does not have.
        let extends = self.ids || asking.extends(facts);
        if sampling.min_tokens > 0 && extends {
            set("min_tokens", json!(sampling.min_tokens));
        }
        if let Some(seed) = seed(job) {
            set("seed", json!(seed));
        }
        if !sampling.stop.is_empty() {
            set("stop", json!(sampling.stop));
        }
        if let Some(budget) = sampling.thinking_budget.filter(|_| self.ids) {
            // If the backend does not enforce it, the gateway removes it.
            set("thinking_token_budget", json!(budget));
        }
        if self.ids {
            set("return_token_ids", json!(true));
            let ends = stop_tokens(job, asking);
            if !ends.is_empty() {
                set("stop_token_ids", json!(ends));
            }
        }
        if job.prompt.complete && extends {
            // The template has already written them.
            set("add_special_tokens", json!(false));
        }
        if asking.needs_special_tokens(job) && extends {
            set("skip_special_tokens", json!(false));
            set("spaces_between_special_tokens", json!(false));
        }
        body
    }

    fn reader(&self, job: &Job, asking: &Asking) -> Box<dyn Reader> {
        Box::new(Events { prompt_told: false, wishes: job.sampling().wishes, pair: asking.pair.clone() })
    }

    fn rendering(&self, request: &ChatRequest, asking: &Asking) -> Option<Question> {
        let mut body = self.ids.then(|| conversation(request))?;
        if let Some(model) = asking.model.as_ref().or(request.model.as_ref()) {
            body.insert("model".to_owned(), json!(model));
        }
        Some(("/tokenize", body))
    }

    fn rendered(&self, answer: &[u8], prompt: &mut RenderedPrompt) -> Result<Option<Question>, BackendError> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Rendered {
            Tokens { tokens: Vec<u32> },
            Text { prompt: String },
        }
        match serde_json::from_slice(answer).map_err(|error| unreadable(&error))? {
            Rendered::Tokens { tokens } => {
                prompt.tokens = Some(tokens.len() as u64);
                prompt.encoded = tokens.iter().map(|id| PromptToken { id: *id, bytes: Vec::new() }).collect();
                // The parser needs the prompt's text.
                Ok(Some(("/detokenize", Map::from_iter([("tokens".to_owned(), json!(tokens))]))))
            }
            Rendered::Text { prompt: text } => {
                prompt.text = text;
                Ok(None)
            }
        }
    }
}

/// One event, or the complete answer of a server that does not stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    index: Option<u64>,
    text: Option<String>,
    token_ids: Option<Vec<u32>>,
    logprobs: Option<Probabilities>,
    prompt_logprobs: Option<Value>,
    finish_reason: Option<String>,
    stop_reason: Option<Value>,
    matched_stop: Option<Value>,
}

/// Parallel lists of token data.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Probabilities {
    tokens: Vec<String>,
    token_logprobs: Vec<Option<f64>>,
    top_logprobs: Option<Vec<Option<Map<String, Value>>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

struct Events {
    /// The prompt's tokens have been reported.
    prompt_told: bool,
    wishes: TokenWishes,
    /// Has the texts of tokens.
    pair: Pair,
}

/// Whether the texts of tokens are known by their ids, or not needed.
fn knows_ids(job: &Job, asking: &Asking) -> bool {
    asking.pair.vocabulary().bytes.is_some() || job.sampling().wishes.as_ids
}

impl Events {
    /// The tokens' log probabilities.
    fn probabilities(&self, told: Probabilities) -> Vec<TokenProbability> {
        let mut tops = told.top_logprobs.unwrap_or_default().into_iter();
        let tokens = told.tokens.iter().zip(told.token_logprobs);
        tokens
            .map(|(token, logprob)| {
                let others = tops.next().flatten().unwrap_or_default();
                let others = others.iter().filter_map(|(token, own)| Some(self.candidate(token, own.as_f64()?)));
                let chosen = self.candidate(token, logprob.unwrap_or(f64::NEG_INFINITY));
                TokenProbability::new(chosen, others.collect(), self.wishes)
            })
            .collect()
    }

    fn candidate(&self, token: &str, logprob: f64) -> Candidate {
        let id: Option<u32> = token.strip_prefix("token_id:").and_then(|id| id.parse().ok());
        let bytes = id.and_then(|id| self.pair.vocabulary().bytes.as_ref()?.get(id));
        match bytes {
            Some(bytes) => Candidate::new((id, logprob), (&String::from_utf8_lossy(bytes), Some(bytes)), self.wishes),
            None => Candidate::new((None, logprob), (token, None), self.wishes),
        }
    }
}

impl Reader for Events {
    fn read(&mut self, data: &[u8], take: &mut dyn FnMut(Piece)) -> Result<(), BackendError> {
        let answer: Answer = serde_json::from_slice(data).map_err(|error| unreadable(&error))?;
        broken_off(answer.error.as_ref())?;
        let is_last = answer.choices.as_ref().is_none_or(Vec::is_empty);
        if let Some(prompt) = answer.usage.as_ref().and_then(|usage| usage.prompt_tokens).filter(|_| !is_last)
            && !std::mem::replace(&mut self.prompt_told, true)
        {
            take(Piece::Prompt(prompt));
        }
        let mut stopped = false;
        for choice in answer.choices.into_iter().flatten() {
            // Only one choice was requested.
            if let Some(index @ 1..) = choice.index {
                let message = format!("the backend sent a choice with the index {index}, which nobody asked for");
                return Err(BackendError::new(BackendFault::BadAnswer, message));
            }
            if let Some(told) = choice.prompt_logprobs.filter(|told| !told.is_null()) {
                take(Piece::PromptProbabilities(told));
            }
            let tokens = Tokens {
                text: choice.text.unwrap_or_default(),
                ids: choice.token_ids.unwrap_or_default(),
                probabilities: choice.logprobs.map(|told| self.probabilities(told)).unwrap_or_default(),
            };
            if !tokens.is_empty() {
                take(Piece::Tokens(tokens));
            }
            if let Some(word) = choice.finish_reason {
                stopped = true;
                let at = choice.stop_reason.or(choice.matched_stop).filter(|at| !at.is_null());
                take(Piece::Stopped { reason: StopReason::of_word(&word), at });
            }
        }
        // Intermediate counts are not final.
        if let Some(Usage { prompt_tokens: Some(prompt), completion_tokens: Some(completion), prompt_tokens_details }) =
            answer.usage.filter(|_| is_last || stopped)
        {
            take(Piece::Usage {
                prompt,
                completion,
                cached: prompt_tokens_details.and_then(|said| said.cached_tokens),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unspool::{Registry, Setup};

    use super::super::error_message;
    use super::*;

    fn events() -> Events {
        let pair = Registry::builtin().pair(&Setup::default()).expect("no names");
        Events { prompt_told: false, wishes: TokenWishes::default(), pair }
    }

    fn read(data: &[u8], mut take: impl FnMut(Piece)) -> Result<(), BackendError> {
        events().read(data, &mut take)
    }

    #[test]
    fn odd_answers_are_understood() {
        let mut pieces = Vec::new();
        let data = json!({"id": 1, "choices": [{"text": "a", "finish_reason": null},
            {"index": 0, "text": "", "token_ids": [7]}], "usage": null});
        read(data.to_string().as_bytes(), |piece| pieces.push(piece)).expect("it can be read");
        read(
            b"{\"choices\": [], \"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 4, \"total_tokens\": 7, \
              \"prompt_tokens_details\": {\"cached_tokens\": 2}}}",
            |piece| {
                pieces.push(piece);
            },
        )
        .expect("it can be read");
        read(b"{\"choices\": [{\"text\": \"\", \"finish_reason\": \"stop\", \"matched_stop\": 9}]}", |piece| {
            pieces.push(piece);
        })
        .expect("it can be read");
        let expected = [
            Piece::Tokens(Tokens::new("a", [])),
            Piece::Tokens(Tokens::new("", [7])),
            Piece::Usage { prompt: 3, completion: 4, cached: Some(2) },
            Piece::Stopped { reason: StopReason::Stop, at: Some(json!(9)) },
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn a_choice_that_nobody_asked_for_is_told() {
        let told = read(b"{\"choices\": [{\"index\": 1, \"text\": \"other\"}]}", |_| {}).expect_err("it is odd");
        assert!(told.fault == BackendFault::BadAnswer && told.message.contains("index 1"), "{}", told.message);
    }

    #[test]
    fn errors_are_told_in_the_backends_words() {
        let told = read(b"{\"error\": {\"message\": \"out of memory\"}}", |_| {}).expect_err("it is an error");
        assert!(told.message.contains("out of memory"));
        assert_eq!(read(b"{\"choi", |_| {}).map_err(|error| error.fault), Err(BackendFault::BadAnswer));
        for (body, words) in [
            (json!({"object": "error", "message": "too long"}), "too long"),
            (json!({"detail": [{"loc": 1}]}), "[{\"loc\":1}]"),
            (json!({"error": "Unauthorized"}), "Unauthorized"),
        ] {
            assert_eq!(error_message(&body).as_deref(), Some(words));
        }
    }
}
