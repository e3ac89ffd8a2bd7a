//! Facts that servers report.

use serde_json::Value;

/// The known facts about one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// Its version.
    pub version: Option<String>,
    /// The owner in its list of models: `vllm`, `sglang`, …
    pub owner: Option<String>,
    /// Maximum tokens of prompt and answer, for all models.
    pub context: Option<u64>,
    /// Its models, each with its own maximum length if reported.
    pub models: Vec<(String, Option<u64>)>,
}

/// A server and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerState {
    /// Its address, without secrets.
    pub address: String,
    /// Whether it is healthy.
    pub well: bool,
    /// The facts it reports.
    pub facts: ServerFacts,
}

/// Field names of the maximum length in lists of models.
const LENGTHS: [&str; 4] = ["max_model_len", "context_length", "max_context_length", "context_window"];

impl ServerFacts {
    /// Takes the facts in an answer of any known kind. Known facts stay.
    pub fn learn(&mut self, answer: &Value) {
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).filter(|length| *length > 0);
        let text = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
        self.version = self.version.take().or_else(|| text("version")).or_else(|| text("build_info"));
        let own = number(answer.pointer("/default_generation_settings/n_ctx"));
        self.context = self.context.or(own).or_else(|| number(answer.get("max_total_tokens")));
        for card in answer.get("data").and_then(Value::as_array).into_iter().flatten() {
            let Some(id) = card.get("id").and_then(Value::as_str) else { continue };
            let length = LENGTHS.iter().find_map(|key| number(card.get(*key)));
            self.models.push((id.to_owned(), length));
            self.owner = self.owner.take().or_else(|| card.get("owned_by")?.as_str().map(str::to_owned));
        }
    }

    /// Maximum tokens of prompt and answer for the requested model; for an unknown name, the value that all models
    /// share.
    #[must_use]
    pub fn longest_context(&self, model: Option<&str>) -> Option<u64> {
        if self.context.is_some() {
            return self.context;
        }
        let named = self.models.iter().find(|(id, _)| Some(id.as_str()) == model);
        if let Some((_, length)) = named {
            return *length;
        }
        let (_, first) = self.models.first()?;
        first.filter(|_| self.models.iter().all(|(_, length)| length == first))
    }

    /// Whether it is this kind of server, by its models' owner.
    #[must_use]
    pub fn is(&self, owner: &str) -> bool {
        self.owner.as_deref() == Some(owner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn learned(answers: &[Value]) -> ServerFacts {
        let mut facts = ServerFacts::default();
        answers.iter().for_each(|answer| facts.learn(answer));
        facts
    }

    #[test]
    fn every_kind_of_server_says_its_length() {
        let vllm = learned(&[
            json!({"object": "list", "data": [{"id": "a", "owned_by": "vllm", "max_model_len": 40_960},
                {"id": "lora", "owned_by": "vllm", "max_model_len": 40_960}]}),
            json!({"version": "0.32.0"}),
        ]);
        assert!(vllm.is("vllm") && vllm.version.as_deref() == Some("0.32.0"));
        assert_eq!([vllm.longest_context(Some("a")), vllm.longest_context(Some("alias"))], [Some(40_960); 2]);
        let llamacpp = learned(&[
            json!({"default_generation_settings": {"n_ctx": 8192}, "build_info": "b7000-abc"}),
            json!({"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072}}]}),
        ]);
        assert_eq!(llamacpp.longest_context(None), Some(8192));
        assert_eq!(learned(&[json!({"max_total_tokens": 4096, "version": "3"})]).longest_context(None), Some(4096));
        let hosted = learned(&[json!({"data": [{"id": "a", "context_length": 100}, {"id": "b"}]})]);
        assert_eq!(hosted.longest_context(Some("a")), Some(100));
        assert_eq!([hosted.longest_context(Some("b")), hosted.longest_context(Some("c"))], [None; 2]);
        for odd in [json!(null), json!({"data": 3}), json!({"data": [{"id": 1}]}), json!({"max_total_tokens": 0})] {
            assert_eq!(learned(&[odd]), ServerFacts::default());
        }
    }
}
