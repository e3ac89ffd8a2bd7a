//! Text Generation Inference's `/generate_stream`: one token per event, with its text and id. It accepts only text.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Asking, Dialect, Reader, broken_off, copy, schema, seed, unreadable};
use crate::backend::{BackendError, Job, Piece, ServerFacts, StopReason, Tokens};
use crate::capabilities::{Capabilities, Notation};
use crate::constraint::Constraint;
use crate::probability::{Candidate, TokenProbability, TokenWishes};

#[derive(Debug)]
pub(super) struct Tgi;

/// Sampling parameters: the server's name, the request's name.
const SAMPLING: [(&str, &str); 3] =
    [("top_k", "top_k"), ("frequency_penalty", "frequency_penalty"), ("repetition_penalty", "repetition_penalty")];

impl Dialect for Tgi {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            notations: &[Notation::Json],
            notation_hint: "leave the flag out: the backend is then told what it reads",
            continues: true,
            probabilities: true,
            token_ids: true,
            ..Capabilities::default()
        }
    }

    fn path(&self) -> &'static str {
        "/generate_stream"
    }

    fn facts(&self) -> &'static [&'static str] {
        &["/info"]
    }

    fn body(&self, job: &Job, asking: &Asking, _facts: &ServerFacts) -> Map<String, Value> {
        let sampling = job.sampling();
        let mut params = Map::new();
        copy(&sampling.others, &SAMPLING, &mut params);
        let mut set = |key: &str, value: Value| {
            params.insert(key.to_owned(), value);
        };
        set("max_new_tokens", json!(sampling.max_tokens.unwrap_or(asking.max_tokens)));
        set("details", json!(true));
        set("return_full_text", json!(false));
        let number = |key: &str| sampling.others.get(key).and_then(Value::as_f64);
        // The server refuses the values that other servers use for "off".
        let temperature = number("temperature").unwrap_or(1.0);
        set("do_sample", json!(temperature > 0.0));
        if temperature > 0.0 && temperature != 1.0 {
            set("temperature", json!(temperature));
        }
        if let Some(share) = number("top_p").filter(|share| *share < 1.0) {
            set("top_p", json!(share));
        }
        if let Some(seed) = seed(job) {
            set("seed", json!(seed));
        }
        if !sampling.stop.is_empty() {
            set("stop", json!(sampling.stop));
        }
        if let Some(top @ 1..) = sampling.wishes.top {
            set("top_n_tokens", json!(top));
        }
        if let Some(grammar) = grammar(job) {
            set("grammar", grammar);
        }
        // The server's tokenizer prepends the beginning of the sequence itself.
        let text = job.prompt.text.as_str();
        let start = asking.sequence_start.as_deref().filter(|start| !start.is_empty() && job.prompt.complete);
        let text = start.and_then(|start| text.strip_prefix(start)).unwrap_or(text);
        Map::from_iter([("inputs".to_owned(), json!(text)), ("parameters".to_owned(), Value::Object(params))])
    }

    fn reader(&self, job: &Job, _asking: &Asking) -> Box<dyn Reader> {
        let (prompt, wishes) = (job.prompt.tokens, job.sampling().wishes);
        Box::new(Events { prompt, ids_known: !job.prompt.encoded.is_empty(), wishes })
    }
}

/// The structured output: a schema or a regular expression, because the server accepts nothing else.
fn grammar(job: &Job) -> Option<Value> {
    let json = |schema: &Value| json!({"type": "json", "value": schema});
    match &job.form.constraint {
        Constraint::AsSent => {
            let outputs = job.sampling().others.get("structured_outputs");
            let choice = || {
                let texts = outputs?.get("choice")?.as_array()?.iter().filter_map(Value::as_str);
                Some(json!(texts.map(regex_syntax::escape).collect::<Vec<_>>().join("|")))
            };
            let regex = || Some(json!({"type": "regex", "value": outputs?.get("regex").cloned().or_else(choice)?}));
            schema(job).map(|schema| json(&schema)).or_else(regex)
        }
        Constraint::Json(schema) => Some(json(schema)),
        Constraint::Free | Constraint::Tag(_) | Constraint::Lark(_) | Constraint::Gbnf(_) => None,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    token: Option<Token>,
    top_tokens: Option<Vec<Token>>,
    details: Option<Details>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Token {
    id: u32,
    #[serde(default)]
    text: String,
    #[serde(default)]
    special: bool,
    #[serde(default)]
    logprob: Option<f64>,
}

impl Token {
    fn candidate(&self, wishes: TokenWishes) -> Candidate {
        Candidate::new((Some(self.id), self.logprob.unwrap_or(f64::NEG_INFINITY)), (&self.text, None), wishes)
    }
}

#[derive(Debug, Deserialize)]
struct Details {
    finish_reason: String,
    #[serde(default)]
    generated_tokens: Option<u64>,
}

struct Events {
    prompt: Option<u64>,
    /// Whether the vocabulary is known, so that the end token is known by its id.
    ids_known: bool,
    wishes: TokenWishes,
}

impl Reader for Events {
    fn read(&mut self, data: &[u8], take: &mut dyn FnMut(Piece)) -> Result<(), BackendError> {
        let answer: Answer = serde_json::from_slice(data).map_err(|error| unreadable(&error))?;
        broken_off(answer.error.as_ref())?;
        if let Some(token) = answer.token {
            let others = answer.top_tokens.iter().flatten().map(|other| other.candidate(self.wishes)).collect();
            let told = self.wishes.top.map(|_| token.candidate(self.wishes));
            let told = told.map(|chosen| TokenProbability::new(chosen, others, self.wishes));
            let probabilities = told.into_iter().collect();
            let ends = answer.details.as_ref().is_some_and(|details| details.finish_reason == "eos_token");
            // Nothing else shows that this text is not part of the answer.
            let text = if ends && token.special && !self.ids_known { String::new() } else { token.text };
            take(Piece::Tokens(Tokens { text, ids: vec![token.id], probabilities }));
        }
        if let Some(details) = answer.details {
            take(Piece::Stopped { reason: StopReason::of_word(&details.finish_reason), at: None });
            if let Some(completion) = details.generated_tokens {
                take(Piece::Usage { prompt: self.prompt.unwrap_or_default(), completion, cached: None });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(ids_known: bool, event: &Value) -> Vec<Piece> {
        let mut out = Vec::new();
        let mut reader = Events { prompt: Some(3), ids_known, wishes: TokenWishes::default() };
        reader.read(event.to_string().as_bytes(), &mut |piece| out.push(piece)).expect("it can be read");
        out
    }

    #[test]
    fn events_are_understood() {
        let event = json!({"index": 1, "token": {"id": 7, "text": " tide", "logprob": -0.1, "special": false},
            "generated_text": null, "details": null});
        assert_eq!(pieces(false, &event), [Piece::Tokens(Tokens::new(" tide", [7]))]);
        let last = json!({"index": 2, "token": {"id": 2, "text": "</s>", "logprob": 0, "special": true},
            "generated_text": "x", "details": {"finish_reason": "eos_token", "generated_tokens": 2, "seed": null}});
        let ending = [
            Piece::Stopped { reason: StopReason::Stop, at: None },
            Piece::Usage { prompt: 3, completion: 2, cached: None },
        ];
        assert_eq!(pieces(false, &last)[0], Piece::Tokens(Tokens::new("", [2])));
        assert_eq!(pieces(true, &last)[0], Piece::Tokens(Tokens::new("</s>", [2])));
        assert_eq!(pieces(true, &last)[1..], ending);
        let error = json!({"error": "out of memory", "error_type": "generation"}).to_string();
        let told = Events { prompt: None, ids_known: false, wishes: TokenWishes::default() }
            .read(error.as_bytes(), &mut |_| {});
        assert!(told.is_err_and(|error| error.message.contains("memory")));
    }
}
