//! Finds the names for a model: by its id, by its files, and by equivalence.

use unspool::format::file::FormatFile;
use unspool::{Checkpoint, Half, Registry};

/// A name for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The name.
    pub name: String,
    /// The reason.
    pub why: String,
    /// Equivalent names.
    pub also: Vec<String>,
}

/// The name for a model by its id, such as `Qwen/Qwen3-8B`, or a folder's name.
#[must_use]
pub fn of_model(registry: &Registry, half: Half, model: &str) -> Option<Found> {
    let name = registry.models().ok()?.name(half, model)?.to_owned();
    let why = format!("the files list `{model}`");
    Some(Found { also: alike(registry, half, &name), name, why })
}

/// The names for a model by its files.
#[must_use]
pub fn of_files(registry: &Registry, half: Half, checkpoint: &Checkpoint<'_>) -> Option<Found> {
    let found = registry.detect(half, checkpoint).ok()?;
    Some(Found { also: alike(registry, half, &found.name), name: found.name, why: found.why })
}

/// Names of a half that are equivalent to one of it, according to the files.
#[must_use]
pub fn alike(registry: &Registry, half: Half, name: &str) -> Vec<String> {
    let Ok(own) = registry.words(half, name) else { return Vec::new() };
    let same = |other: &FormatFile| match half {
        Half::Reasoning => {
            (&own.reasoning, &own.start, &own.switches, &own.content, &own.channels)
                == (&other.reasoning, &other.start, &other.switches, &other.content, &other.channels)
        }
        Half::Tools => {
            (&own.tools, &own.content, &own.channels, &own.ids.call)
                == (&other.tools, &other.content, &other.channels, &other.ids.call)
        }
    };
    let others = registry.names(half).into_iter().filter(|other| other != name);
    others.filter(|other| registry.words(half, other).is_ok_and(|words| same(&words))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(half: Half, model: &str) -> String {
        of_model(&Registry::builtin(), half, model).map_or_else(|| "-".to_owned(), |found| found.name)
    }

    #[test]
    fn models_are_known_by_their_ids() {
        for (model, reasoning, tools) in [
            ("Qwen/Qwen3-8B", "qwen3", "qwen3_json"),
            ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "-", "qwen3_coder"),
            ("deepseek-ai/DeepSeek-V3.1", "deepseek_v3", "deepseek_v31"),
            ("models/Kimi-K2-Thinking/", "kimi_k2", "kimi_k2"),
            ("someone/Qwen2.5-7B-Instruct-AWQ", "-", "hermes"),
            ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral", "mistral"),
            ("someone/mistral-like", "-", "-"),
            ("openai/gpt-oss-20b", "openai_gptoss", "openai"),
        ] {
            let told = (found(Half::Reasoning, model), found(Half::Tools, model));
            assert_eq!(told, (reasoning.to_owned(), tools.to_owned()), "{model}");
        }
    }

    #[test]
    fn names_that_read_the_same_are_known() {
        let registry = Registry::builtin();
        let also = alike(&registry, Half::Tools, "hermes");
        assert!(also.contains(&"qwen3_json".to_owned()) && !also.contains(&"longcat".to_owned()), "{also:?}");
        assert!(!alike(&registry, Half::Tools, "glm45").contains(&"poolside_v1".to_owned()));
    }
}
