//! Finds the names for a model by the model's own name: the globs that format files list under `models`.
//!
//! A name is weaker evidence than the checkpoint's files (`Registry::detect`), so it only answers users and never
//! chooses.

use crate::setup::Half;

/// What the format files of a registry say about models.
#[derive(Debug, Clone, Default)]
pub struct Models {
    /// Each name with its globs, in the order of the files.
    names: Vec<(Half, String, Vec<String>)>,
}

impl Models {
    /// Adds a name; names with the same globs keep their order.
    pub(crate) fn add(&mut self, half: Half, name: String, globs: Vec<String>) {
        if !globs.is_empty() {
            self.names.push((half, name, globs));
        }
    }

    /// The name of a half for a model; `None`: unknown. The most specific glob counts, and of equal ones the first of
    /// the file.
    #[must_use]
    pub fn name(&self, half: Half, model: &str) -> Option<&str> {
        let mut best: Option<(usize, &str)> = None;
        for (_, name, globs) in self.names.iter().filter(|(h, ..)| *h == half) {
            let Some(said) = fits(globs, model) else { continue };
            if best.is_none_or(|(most, _)| said > most) {
                best = Some((said, name));
            }
        }
        best.map(|(_, name)| name)
    }

    /// All listed globs, including the negative ones, sorted.
    #[must_use]
    pub fn globs(&self) -> Vec<&str> {
        let globs = self.names.iter().flat_map(|(_, _, globs)| globs);
        let mut globs: Vec<&str> = globs.map(|glob| glob.strip_prefix('!').unwrap_or(glob)).collect();
        globs.sort_unstable_by_key(|glob| glob.to_lowercase());
        globs.dedup();
        globs
    }
}

/// The number of letters that the best glob matches; `None`: none matches, or one with `!` does.
fn fits(globs: &[String], model: &str) -> Option<usize> {
    let said = |glob: &str| says(glob, model).then(|| glob.chars().filter(|c| *c != '*').count());
    if globs.iter().filter_map(|glob| glob.strip_prefix('!')).any(|glob| says(glob, model)) {
        return None;
    }
    globs.iter().filter_map(|glob| said(glob)).max()
}

/// Whether a glob matches this model's name, with or without its owner (a folder, a copy of another owner). A single
/// word must have the model's own capitals: `qwen3-coder` is a misspelt parser name.
fn says(glob: &str, model: &str) -> bool {
    let last = |name: &str| name.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let bare = last(glob);
    if !model.contains('/') {
        return bare != "*" && matches(&bare, model);
    }
    let (glob, model, bare) = (glob.to_lowercase(), model.to_lowercase(), bare.to_lowercase());
    matches(&glob, &model) || bare != "*" && matches(&bare, &last(&model))
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.as_bytes(), text.as_bytes());
    // The last star: the pattern after it, and the text that it has not taken yet.
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern, text, star) {
            ([b'*', rest @ ..], ..) => {
                star = Some((rest, text));
                pattern = rest;
            }
            ([p, rest @ ..], [t, left @ ..], _) if p == t => (pattern, text) = (rest, left),
            ([], [], _) => return true,
            (_, _, Some((behind, [_, left @ ..]))) => {
                star = Some((behind, left));
                (pattern, text) = (behind, left);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text) in [("a", "a"), ("*", ""), ("a*c", "abcbc"), ("*b*d", "abcd"), ("a*", "a"), ("**", "x")] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "b"), ("a*c", "ab"), ("", "a"), ("a", ""), ("*b*d", "abc"), ("a*b", "b")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn the_owner_may_be_missing_or_another() {
        for model in ["Qwen/Qwen3-8B", "qwen/qwen3-8b", "Qwen3-8B", "/models/Qwen3-8B/", "someone/Qwen3-8B-GGUF"] {
            assert!(says("Qwen/Qwen3-*", model), "{model}");
        }
        assert!(!says("Qwen/Qwen3-*", "Qwen/Qwen2.5-7B") && !says("Qwen/Qwen3-*", "qwen3-coder"));
        assert!(says("poolside/*", "poolside/any") && !says("poolside/*", "other/any"));
    }

    #[test]
    fn the_glob_that_says_more_counts() {
        let mut models = Models::default();
        for (name, globs) in [("a", &["x/y-*", "!x/y-plain*"][..]), ("b", &["x/y-big-*"]), ("c", &["x/y-big-*"])] {
            let globs = globs.iter().map(|glob| (*glob).to_owned()).collect();
            models.add(Half::Tools, name.to_owned(), globs);
        }
        assert_eq!(models.name(Half::Tools, "x/y-big-1"), Some("b"));
        assert_eq!(models.name(Half::Tools, "x/y-1"), Some("a"));
        assert_eq!(models.name(Half::Tools, "x/y-plain-1"), None);
        assert_eq!(models.name(Half::Reasoning, "x/y-1"), None);
        assert_eq!(models.globs(), ["x/y-*", "x/y-big-*", "x/y-plain*"]);
    }
}
