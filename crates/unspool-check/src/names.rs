//! Which names are right for a model: by what it is called, by its files, and what else reads the same.

use unspool::format::file::FormatFile;
use unspool::{Checkpoint, Half, Registry};

/// A name that is right for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The name.
    pub name: String,
    /// Why, in words.
    pub why: String,
    /// Names that read the same, and names of other formats that list the model too.
    pub also: Vec<String>,
}

/// The names for a model by its id, such as `Qwen/Qwen3-8B`, or a folder's name; of several globs that fit, the longest counts.
#[must_use]
pub fn of_model(registry: &Registry, half: Half, model: &str) -> Option<Found> {
    let mut fitting: Vec<(usize, String, String)> = Vec::new();
    for name in registry.names(half) {
        let Ok(words) = registry.words(half, &name) else { continue };
        let globs = words.models.iter().filter(|glob| fits(glob, model));
        if let Some(glob) = globs.max_by_key(|glob| letters(glob)) {
            fitting.push((letters(glob), name, glob.clone()));
        }
    }
    // Of names with the same glob the first of its file comes first; names are sorted, so that is looked up.
    let place = |name: &str| {
        let words = registry.words(half, name).ok();
        words.and_then(|words| of_half(half, &words.names).iter().position(|own| own == name))
    };
    fitting.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| place(&a.1).cmp(&place(&b.1))).then_with(|| a.1.cmp(&b.1)));
    let (_, name, glob) = fitting.first().cloned()?;
    let mut also: Vec<String> = fitting.into_iter().skip(1).map(|(_, name, _)| name).collect();
    for other in alike(registry, half, &name) {
        if !also.contains(&other) {
            also.push(other);
        }
    }
    Some(Found { why: format!("`{model}` is one of the models `{glob}`"), name, also })
}

fn of_half(half: Half, names: &unspool::format::file::Names) -> &[String] {
    match half {
        Half::Reasoning => &names.reasoning,
        Half::Tools => &names.tools,
    }
}

/// The names for a model by its files.
#[must_use]
pub fn of_files(registry: &Registry, half: Half, checkpoint: &Checkpoint<'_>) -> Option<Found> {
    let found = registry.detect(half, checkpoint).ok()?;
    Some(Found { also: alike(registry, half, &found.name), name: found.name, why: found.why })
}

/// Names of a half that read the same as one of it, as their files say.
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

/// Whether a glob fits a model's id. A folder's name, or a copy under another owner, is compared without the owner.
fn fits(glob: &str, model: &str) -> bool {
    let (glob, model) = (glob.to_lowercase(), model.trim_end_matches('/').to_lowercase());
    if matches(glob.as_bytes(), model.as_bytes()) {
        return true;
    }
    let Some((_, own)) = glob.split_once('/') else { return false };
    let last = model.rsplit('/').next().unwrap_or_default();
    // A glob for all models of an owner says nothing about other owners'.
    letters(own) > 3 && matches(own.as_bytes(), last.as_bytes())
}

/// Whether a glob with `*` for any text fits a whole text.
fn matches(glob: &[u8], text: &[u8]) -> bool {
    let (mut g, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if glob.get(g) == Some(&b'*') {
            star = Some((g, t));
            g += 1;
        } else if glob.get(g) == text.get(t) {
            (g, t) = (g + 1, t + 1);
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (g, t) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    glob[g..].iter().all(|byte| *byte == b'*')
}

fn letters(glob: &str) -> usize {
    glob.chars().filter(|c| *c != '*').count()
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
            ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3", "qwen3_coder"),
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
    fn globs_fit_whole_texts() {
        assert!(matches(b"a*c", b"abbc") && matches(b"*", b"") && matches(b"a*b*", b"ab") && !matches(b"a*c", b"abcd"));
    }

    #[test]
    fn names_that_read_the_same_are_known() {
        let registry = Registry::builtin();
        let also = alike(&registry, Half::Tools, "hermes");
        assert!(also.contains(&"qwen3_json".to_owned()) && !also.contains(&"longcat".to_owned()), "{also:?}");
        assert!(!alike(&registry, Half::Tools, "glm45").contains(&"poolside_v1".to_owned()));
    }
}
