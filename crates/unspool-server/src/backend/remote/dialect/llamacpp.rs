//! llama.cpp's `/completion`. Special tokens come without text unless the server was started with `--special` or the
//! request lists them, as it does with the format's markers. With the model's folder all are known by their ids anyway.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Asking, Dialect, Question, Reader, broken_off, conversation, copy, prompt, schema, seed, unreadable};
use crate::backend::{BackendError, Job, Piece, ServerFacts, StopReason, Tokens};
use crate::capabilities::{Capabilities, Notation};
use crate::constraint::Constraint;
use crate::probability::{Candidate, TokenProbability, TokenWishes};
use crate::prompt::RenderedPrompt;
use crate::request::ChatRequest;

#[derive(Debug)]
pub(super) struct LlamaCpp;

/// Sampling parameters: the server's name, the request's name.
const SAMPLING: [(&str, &str); 9] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
    ("repeat_penalty", "repetition_penalty"),
    ("ignore_eos", "ignore_eos"),
    ("logit_bias", "logit_bias"),
];

impl Dialect for LlamaCpp {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            // A llama.cpp without llguidance exits when it receives such a grammar, so `auto` does not try.
            notations: &[Notation::Json, Notation::Lark],
            notation_hint: "guidance goes with a llama.cpp that is built with LLAMA_LLGUIDANCE; leave the flag out for any other",
            gbnf: true,
            continues: true,
            fills_context: true,
            probabilities: true,
            token_ids: true,
            ..Capabilities::default()
        }
    }

    fn path(&self) -> &'static str {
        "/completion"
    }

    fn facts(&self) -> &'static [&'static str] {
        &["/props", "/v1/models"]
    }

    fn body(&self, job: &Job, asking: &Asking, _facts: &ServerFacts) -> Map<String, Value> {
        let sampling = job.sampling();
        let mut body = Map::new();
        copy(&sampling.others, &SAMPLING, &mut body);
        let mut set = |key: &str, value: Value| {
            body.insert(key.to_owned(), value);
        };
        set("prompt", prompt(job));
        // Without a number it continues until the context is full.
        set("n_predict", sampling.max_tokens.map_or(json!(-1), |most| json!(most)));
        set("stream", json!(true));
        set("return_tokens", json!(true));
        set("cache_prompt", json!(true));
        if let Some(seed) = seed(job) {
            set("seed", json!(seed));
        }
        if !sampling.stop.is_empty() {
            set("stop", json!(sampling.stop));
        }
        if let Some(top) = sampling.wishes.top {
            // For 0 it reports none at all.
            set("n_probs", json!(top.max(1)));
        }
        if !asking.markers.is_empty() {
            // Those that are special tokens then come with their text.
            set("preserved_tokens", json!(asking.markers));
        }
        constrain(job, &mut body);
        body
    }

    fn reader(&self, job: &Job, _asking: &Asking) -> Box<dyn Reader> {
        Box::new(Events(job.sampling().wishes))
    }

    fn rendering(&self, request: &ChatRequest, _asking: &Asking) -> Option<Question> {
        Some(("/apply-template", conversation(request)))
    }

    fn rendered(&self, answer: &[u8], prompt: &mut RenderedPrompt) -> Result<Option<Question>, BackendError> {
        #[derive(Deserialize)]
        struct Rendered {
            prompt: String,
        }
        let rendered: Rendered = serde_json::from_slice(answer).map_err(|error| unreadable(&error))?;
        prompt.text = rendered.prompt;
        Ok(None)
    }
}

/// Adds the structured output to the body.
fn constrain(job: &Job, body: &mut Map<String, Value>) {
    match &job.form.constraint {
        Constraint::AsSent => {
            if let Some(schema) = schema(job) {
                body.insert("json_schema".to_owned(), schema);
            }
            if let Some(Value::Object(outputs)) = job.sampling().others.get("structured_outputs") {
                copy(outputs, &[("grammar", "grammar")], body);
            }
        }
        Constraint::Json(schema) => {
            body.insert("json_schema".to_owned(), schema.clone());
        }
        // The server recognises it by its first line.
        Constraint::Lark(grammar) | Constraint::Gbnf(grammar) => {
            body.insert("grammar".to_owned(), json!(&**grammar));
        }
        Constraint::Free | Constraint::Tag(_) => {}
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    content: String,
    tokens: Vec<u32>,
    completion_probabilities: Vec<Told>,
    stop: bool,
    stop_type: Option<String>,
    stopping_word: Option<String>,
    tokens_evaluated: Option<u64>,
    tokens_predicted: Option<u64>,
    timings: Option<Timings>,
    error: Option<Value>,
}

/// The usage of the answer.
#[derive(Debug, Deserialize)]
struct Timings {
    /// Prompt tokens from the cache.
    #[serde(default)]
    cache_n: Option<u64>,
}

/// A token and its alternatives.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    id: Option<u32>,
    token: String,
    bytes: Option<Vec<u8>>,
    logprob: Option<f64>,
    top_logprobs: Vec<Told>,
}

impl Told {
    fn candidate(&self, wishes: TokenWishes) -> Candidate {
        let logprob = self.logprob.unwrap_or(f64::NEG_INFINITY);
        Candidate::new((self.id, logprob), (&self.token, self.bytes.as_deref()), wishes)
    }

    fn probability(&self, wishes: TokenWishes) -> TokenProbability {
        let others = self.top_logprobs.iter().map(|told| told.candidate(wishes)).collect();
        TokenProbability::new(self.candidate(wishes), others, wishes)
    }
}

struct Events(TokenWishes);

impl Reader for Events {
    fn read(&mut self, data: &[u8], take: &mut dyn FnMut(Piece)) -> Result<(), BackendError> {
        let answer: Answer = serde_json::from_slice(data).map_err(|error| unreadable(&error))?;
        broken_off(answer.error.as_ref())?;
        let told = answer.completion_probabilities.iter();
        let probabilities = told.map(|told| told.probability(self.0)).collect();
        let tokens = Tokens { text: answer.content, ids: answer.tokens, probabilities };
        if !tokens.is_empty() {
            take(Piece::Tokens(tokens));
        }
        if answer.stop {
            let word = answer.stop_type.unwrap_or_default();
            let reason = if ["word", "none", ""].contains(&word.as_str()) {
                StopReason::Stop
            } else {
                StopReason::of_word(&word)
            };
            let at = answer.stopping_word.filter(|word| !word.is_empty()).map(Value::from);
            take(Piece::Stopped { reason, at });
            if let (Some(prompt), Some(completion)) = (answer.tokens_evaluated, answer.tokens_predicted) {
                take(Piece::Usage { prompt, completion, cached: answer.timings.and_then(|timings| timings.cache_n) });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(event: &Value) -> Vec<Piece> {
        let mut out = Vec::new();
        Events(TokenWishes::default())
            .read(event.to_string().as_bytes(), &mut |piece| out.push(piece))
            .expect("it can be read");
        out
    }

    #[test]
    fn events_are_understood() {
        let blank =
            json!({"index": 0, "content": "", "tokens": [151_667], "stop": false, "id_slot": 0, "tokens_predicted": 1});
        assert_eq!(pieces(&blank), [Piece::Tokens(Tokens::new("", [151_667]))]);
        let end = |kind: &str, word: &str| {
            pieces(&json!({"content": "", "tokens": [], "stop": true, "stop_type": kind, "stopping_word": word,
                "tokens_evaluated": 5, "tokens_predicted": 7, "truncated": false, "timings": {"cache_n": 4, "prompt_n": 1}}))
        };
        let usage = Piece::Usage { prompt: 5, completion: 7, cached: Some(4) };
        assert_eq!(end("limit", ""), [Piece::Stopped { reason: StopReason::Length, at: None }, usage.clone()]);
        assert_eq!(end("eos", ""), [Piece::Stopped { reason: StopReason::Stop, at: None }, usage.clone()]);
        assert_eq!(end("word", "END"), [Piece::Stopped { reason: StopReason::Stop, at: Some(json!("END")) }, usage]);
    }
}
