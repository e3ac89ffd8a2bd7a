//! "Did you mean …": near matches of an unknown word.

/// Maximum number of near matches in a hint.
const SHOWN: usize = 3;
/// Minimum similarity (0 to 1) of a near match.
const NEAR: f64 = 0.7;

/// The known names most similar to `word`, the best first.
#[must_use]
pub fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '.', ' '], "_");
    let word = plain(word);
    let mut matches: Vec<(f64, &str)> = known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&word, &plain(name)), name))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .collect();
    matches.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    matches.dedup_by(|a, b| a.1 == b.1);
    matches.truncate(SHOWN);
    matches.into_iter().map(|(_, name)| name).collect()
}

/// `did you mean `a`, `b` or `c`?`; `None` if nothing is near.
#[must_use]
pub fn did_you_mean(near: &[&str]) -> Option<String> {
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => None,
        [one] => Some(format!("did you mean {one}?")),
        [others @ .., last] => Some(format!("did you mean {} or {last}?", others.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_comes_first() {
        let known = ["hermes", "qwen3_coder", "qwen3_json", "qwen3_xml", "step3"];
        assert_eq!(near("qwen3-coder", known).first(), Some(&"qwen3_coder"));
        assert_eq!(near("herms", known), ["hermes"]);
        assert!(near("zzz", known).is_empty());
    }

    #[test]
    fn a_hint_lists_all_matches() {
        assert_eq!(did_you_mean(&["a", "b", "c"]).as_deref(), Some("did you mean `a`, `b` or `c`?"));
        assert_eq!(did_you_mean(&["a"]).as_deref(), Some("did you mean `a`?"));
        assert_eq!(did_you_mean(&[]), None);
    }
}
