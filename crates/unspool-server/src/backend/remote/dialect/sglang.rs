//! SGLang's `/generate`. Text and ids are cumulative unless the server says otherwise, so each event is compared with
//! the previous one.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Asking, Dialect, Reader, broken_off, copy, schema, seed, stop_tokens, unreadable};
use crate::backend::{BackendError, Job, Piece, ServerFacts, StopReason, Tokens};
use crate::capabilities::{Capabilities, Notation, Waits};
use crate::constraint::Constraint;
use crate::probability::{Candidate, TokenProbability, TokenWishes};

#[derive(Debug)]
pub(super) struct Sglang;

/// Sampling parameters: the server's name, the request's name.
const SAMPLING: [(&str, &str); 9] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
    ("repetition_penalty", "repetition_penalty"),
    ("ignore_eos", "ignore_eos"),
    ("logit_bias", "logit_bias"),
];

impl Dialect for Sglang {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            notations: &[Notation::Tag, Notation::Lark, Notation::Json],
            notation_hint: "leave the flag out: the backend is then told what it reads",
            continues: true,
            probabilities: true,
            token_ids: true,
            waits: Waits::ByRequest,
            ..Capabilities::default()
        }
    }

    fn path(&self) -> &'static str {
        "/generate"
    }

    fn body(&self, job: &Job, asking: &Asking, _facts: &ServerFacts) -> Map<String, Value> {
        let sampling = job.sampling();
        let mut params = Map::new();
        copy(&sampling.others, &SAMPLING, &mut params);
        let mut set = |key: &str, value: Value| {
            params.insert(key.to_owned(), value);
        };
        set("max_new_tokens", json!(sampling.max_tokens.unwrap_or(asking.max_tokens)));
        if sampling.min_tokens > 0 {
            set("min_new_tokens", json!(sampling.min_tokens));
        }
        if let Some(seed) = seed(job) {
            set("sampling_seed", json!(seed));
        }
        if !sampling.stop.is_empty() {
            set("stop", json!(sampling.stop));
        }
        let ends = stop_tokens(job, asking);
        if !ends.is_empty() {
            set("stop_token_ids", json!(ends));
        }
        constrain(job, &mut params);
        if asking.needs_special_tokens(job) {
            params.insert("skip_special_tokens".to_owned(), json!(false));
            params.insert("spaces_between_special_tokens".to_owned(), json!(false));
        }
        let mut body = Map::new();
        if job.prompt.encoded.is_empty() {
            body.insert("text".to_owned(), json!(job.prompt.text));
        } else {
            body.insert("input_ids".to_owned(), json!(job.prompt.ids()));
        }
        body.insert("sampling_params".to_owned(), Value::Object(params));
        body.insert("stream".to_owned(), json!(true));
        if let Some(top) = sampling.wishes.top {
            body.insert("return_logprob".to_owned(), json!(true));
            body.insert("return_text_in_logprobs".to_owned(), json!(true));
            body.insert("top_logprobs_num".to_owned(), json!(top));
        }
        if job.form.waits {
            body.insert("require_reasoning".to_owned(), json!(true));
        }
        body
    }

    fn reader(&self, job: &Job, _asking: &Asking) -> Box<dyn Reader> {
        Box::new(Events { wishes: job.sampling().wishes, ..Events::default() })
    }
}

/// Adds the structured output to the sampling parameters; schemas and tags are text here.
fn constrain(job: &Job, params: &mut Map<String, Value>) {
    let (field, text) = match &job.form.constraint {
        Constraint::AsSent => {
            if let Some(schema) = schema(job) {
                params.insert("json_schema".to_owned(), json!(schema.to_string()));
            }
            if let Some(Value::Object(outputs)) = job.sampling().others.get("structured_outputs") {
                const NAMES: [(&str, &str); 3] =
                    [("regex", "regex"), ("ebnf", "grammar"), ("structural_tag", "structural_tag")];
                copy(outputs, &NAMES, params);
            }
            return;
        }
        Constraint::Free => return,
        Constraint::Json(schema) => ("json_schema", schema.to_string()),
        Constraint::Tag(tag) => ("structural_tag", (**tag).to_owned()),
        // The field accepts either notation; an llguidance grammar identifies itself.
        Constraint::Lark(grammar) | Constraint::Gbnf(grammar) => ("ebnf", (**grammar).to_owned()),
    };
    params.insert(field.to_owned(), text.into());
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    text: Option<String>,
    output_ids: Option<Vec<u32>>,
    meta_info: Meta,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Meta {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    finish_reason: Option<Finish>,
    output_token_logprobs: Option<Vec<Told>>,
    output_top_logprobs: Option<Vec<Option<Vec<Told>>>>,
}

/// A token: log probability, id, text.
#[derive(Debug, Clone, Deserialize)]
struct Told(Option<f64>, u32, Option<String>);

impl Told {
    fn candidate(&self, wishes: TokenWishes) -> Candidate {
        let text = self.2.as_deref().unwrap_or_default();
        Candidate::new((Some(self.1), self.0.unwrap_or(f64::NEG_INFINITY)), (text, None), wishes)
    }
}

#[derive(Debug, Deserialize)]
struct Finish {
    r#type: String,
    #[serde(default)]
    matched: Option<Value>,
    #[serde(default)]
    message: Option<String>,
}

/// The output so far.
#[derive(Debug, Default)]
struct Events {
    text: String,
    ids: usize,
    told: usize,
    wishes: TokenWishes,
}

impl Events {
    /// The new log probabilities of tokens. Like the ids, the server sends all so far or only the new ones.
    fn probabilities(&mut self, meta: &mut Meta) -> Vec<TokenProbability> {
        let told = meta.output_token_logprobs.take().unwrap_or_default();
        let tops = meta.output_top_logprobs.take().unwrap_or_default();
        let all = meta.completion_tokens.is_some_and(|count| u64::try_from(told.len()).is_ok_and(|own| own == count));
        let from = if all { self.told.min(told.len()) } else { 0 };
        let others = |at: usize| tops.get(at).and_then(Option::as_ref).into_iter().flatten();
        let one = |(at, told): (usize, &Told)| {
            let others = others(from + at).map(|told| told.candidate(self.wishes)).collect();
            TokenProbability::new(told.candidate(self.wishes), others, self.wishes)
        };
        let new: Vec<_> = told[from..].iter().enumerate().map(one).collect();
        self.told += new.len();
        new
    }
}

impl Reader for Events {
    fn read(&mut self, data: &[u8], take: &mut dyn FnMut(Piece)) -> Result<(), BackendError> {
        let mut answer: Answer = serde_json::from_slice(data).map_err(|error| unreadable(&error))?;
        broken_off(answer.error.as_ref())?;
        let probabilities = self.probabilities(&mut answer.meta_info);
        let (all, listed) = (answer.text.unwrap_or_default(), answer.output_ids.unwrap_or_default());
        // Cumulative lists have the length of the server's own count; without ids, a text that extends the previous one
        // is cumulative.
        let cumulative = match answer.meta_info.completion_tokens {
            Some(count) if !listed.is_empty() => u64::try_from(listed.len()).is_ok_and(|length| length == count),
            _ => all.starts_with(&self.text),
        };
        let (text, ids) = if cumulative {
            // The end of a cumulative text may still change, if a character is incomplete or a stop sequence is
            // removed.
            let new = all.get(self.text.len()..).filter(|_| all.starts_with(&self.text)).unwrap_or_default();
            (new.to_owned(), listed.get(self.ids..).unwrap_or_default().to_vec())
        } else {
            (all, listed)
        };
        self.text.push_str(&text);
        self.ids += ids.len();
        let tokens = Tokens { text, ids, probabilities };
        if !tokens.is_empty() {
            take(Piece::Tokens(tokens));
        }
        if let Some(finish) = answer.meta_info.finish_reason {
            if finish.r#type == "abort" {
                broken_off(Some(&json!(finish.message.unwrap_or_else(|| "the request was aborted".to_owned()))))?;
            }
            take(Piece::Stopped {
                reason: StopReason::of_word(&finish.r#type),
                at: finish.matched.filter(|at| at.is_string()),
            });
            if let Meta {
                prompt_tokens: Some(prompt),
                completion_tokens: Some(completion),
                cached_tokens: cached,
                ..
            } = answer.meta_info
            {
                take(Piece::Usage { prompt, completion, cached });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(events: &[Value]) -> Vec<Piece> {
        let mut reader = Events::default();
        let mut out = Vec::new();
        for event in events {
            reader.read(event.to_string().as_bytes(), &mut |piece| out.push(piece)).expect("it can be read");
        }
        out
    }

    fn event(text: &str, ids: &[u32], count: usize) -> Value {
        json!({"text": text, "output_ids": ids, "meta_info": {"prompt_tokens": 3, "completion_tokens": count, "finish_reason": null}})
    }

    #[test]
    fn cumulative_and_single_pieces_are_told_apart() {
        let token = |text: &str, ids: &[u32]| Piece::Tokens(Tokens::new(text, ids));
        let expected = [token("a", &[1]), token("ab", &[2, 3]), token("", &[4]), token("é", &[5])];
        let cumulative = [
            event("a", &[1], 1),
            event("aab", &[1, 2, 3], 3),
            event("aab", &[1, 2, 3, 4], 4),
            event("aabé", &[1, 2, 3, 4, 5], 5),
        ];
        assert_eq!(pieces(&cumulative), expected);
        let single = [event("a", &[1], 1), event("ab", &[2, 3], 3), event("", &[4], 4), event("é", &[5], 5)];
        assert_eq!(pieces(&single), expected);
        let texts = [json!({"text": "a"}), json!({"text": "aab"})];
        assert_eq!(pieces(&texts), [token("a", &[]), token("ab", &[])]);
    }

    #[test]
    fn ends_are_told() {
        let finish = |kind: Value| json!({"text": "", "meta_info": {"prompt_tokens": 3, "completion_tokens": 4, "cached_tokens": 2, "finish_reason": kind}});
        let stopped = pieces(&[finish(json!({"type": "stop", "matched": "END"}))]);
        let usage = Piece::Usage { prompt: 3, completion: 4, cached: Some(2) };
        assert_eq!(stopped, [Piece::Stopped { reason: StopReason::Stop, at: Some(json!("END")) }, usage.clone()]);
        let ended = pieces(&[finish(json!({"type": "stop", "matched": 151_645}))]);
        assert_eq!(ended, [Piece::Stopped { reason: StopReason::Stop, at: None }, usage]);
        assert_eq!(
            pieces(&[finish(json!({"type": "length"}))])[0],
            Piece::Stopped { reason: StopReason::Length, at: None }
        );
        let abort = finish(json!({"type": "abort", "message": "out of memory"})).to_string();
        assert!(
            Events::default().read(abort.as_bytes(), &mut |_| {}).is_err_and(|error| error.message.contains("memory"))
        );
    }
}
