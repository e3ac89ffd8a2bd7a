//! Finds the beginning and end of a thought.

/// A thought in an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kit) struct Thought {
    /// `reasoning.thought`
    pub(in crate::kit) template: String,
    /// Whether the output has the opener; if not, the prompt has it.
    pub(in crate::kit) opened: bool,
    /// The position after the thought.
    pub(in crate::kit) end: usize,
    /// The text of the thought.
    pub(in crate::kit) text: String,
}

/// Words for a thought.
const WORDS: [&str; 8] = ["think", "thought", "reason", "muse", "ponder", "scratch", "reflect", "analysis"];

/// The thought at the beginning of an output, in markers: a pair of tags, or only the closing one.
pub(in crate::kit) fn thought(text: &str) -> Option<Thought> {
    let lead = text.len() - text.trim_start().len();
    let start = &text[lead..];
    if let Some(opener) = mark_at(start) {
        let inner = &start[opener.len()..];
        let (at, closer) = closer(inner, opener)?;
        // A call may be in markers too; a thought contains words.
        let prose = inner[..at].trim();
        let is_prose = prose.contains(' ') && !prose.starts_with(['{', '[', '<']);
        if !is_prose {
            return None;
        }
        return Some(made((lead, opener), inner, (at, closer), true));
    }
    // The prompt has the opener.
    let (at, closer) = marks(text).find(|(_, mark)| mark.starts_with("</") || mark.starts_with("[/"))?;
    let name = mark_name(closer);
    let named = WORDS.iter().any(|word| name.to_lowercase().contains(word));
    let opener = closer.replacen('/', "", 1);
    (named && !text[..at].contains(&opener)).then(|| Thought {
        template: format!("{opener}{{thought}}{}", with_space(text, at, closer)),
        opened: false,
        end: at + closer.len() + space(&text[at + closer.len()..]).len(),
        text: text[..at].trim().to_owned(),
    })
}

fn made((lead, opener): (usize, &str), inner: &str, (at, closer): (usize, &str), opened: bool) -> Thought {
    let before = &inner[..at];
    let front = &before[..before.len() - before.trim_start().len()];
    Thought {
        template: format!("{opener}{front}{{thought}}{}", with_space(inner, at, closer)),
        opened,
        end: lead + opener.len() + at + closer.len() + space(&inner[at + closer.len()..]).len(),
        text: before.trim().to_owned(),
    }
}

/// A closer with its surrounding white space.
fn with_space(text: &str, at: usize, closer: &str) -> String {
    let before = &text[..at];
    let front = &before[before.trim_end().len()..];
    format!("{front}{closer}{}", space(&text[at + closer.len()..]))
}

/// The leading white space of a text, if something follows.
fn space(text: &str) -> &str {
    let rest = text.trim_start();
    if rest.is_empty() { "" } else { &text[..text.len() - rest.len()] }
}

/// The marker at the start of a text.
fn mark_at(text: &str) -> Option<&str> {
    let close = match text.chars().next()? {
        '<' => '>',
        '[' => ']',
        _ => return None,
    };
    let end = text.find(close)?;
    let inner = &text[1..end];
    (!inner.is_empty() && inner.len() < 60 && !inner.contains(['\n', '"', '=', ' ', '{'])).then(|| &text[..=end])
}

/// All markers of a text, with their positions.
fn marks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices(['<', '[']).filter_map(|(at, _)| mark_at(&text[at..]).map(|mark| (at, mark)))
}

fn mark_name(mark: &str) -> &str {
    mark.trim_matches(['<', '>', '[', ']', '/', '|', '\u{ff5c}'])
}

/// The closer of a thought: the opener with a slash, or the first marker with a similar name.
fn closer<'t>(inner: &'t str, opener: &str) -> Option<(usize, &'t str)> {
    let slashed = format!("{}/{}", &opener[..1], &opener[1..]);
    if let Some(at) = inner.find(&slashed) {
        return Some((at, &inner[at..at + slashed.len()]));
    }
    let stem = |mark: &str| -> String {
        let name = mark_name(mark).to_lowercase();
        name.split(|c: char| !c.is_alphanumeric())
            .filter(|part| !["start", "end", "begin", "of", "open", "close"].contains(part))
            .collect()
    };
    marks(inner).find(|(_, mark)| *mark != opener && !stem(mark).is_empty() && stem(mark) == stem(opener))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<(String, bool, &str)> {
        let found = thought(text)?;
        Some((found.template, found.opened, &text[found.end..]))
    }

    #[test]
    fn thoughts_are_found() {
        let pair = |template: &str, opened, rest| Some((template.to_owned(), opened, rest));
        assert_eq!(told("<muse>They want it.</muse>\nNoon."), pair("<muse>{thought}</muse>\n", true, "Noon."));
        assert_eq!(
            told("<think>\nThey want it.\n</think>\n\nNoon."),
            pair("<think>\n{thought}\n</think>\n\n", true, "Noon.")
        );
        assert_eq!(told("[M]They want it.[/M]"), pair("[M]{thought}[/M]", true, ""));
        assert_eq!(
            told("<|muse_start|>Hm, so.<|muse_end|>Noon."),
            pair("<|muse_start|>{thought}<|muse_end|>", true, "Noon.")
        );
        assert_eq!(told("They want it.\n</think>\nNoon."), pair("<think>{thought}\n</think>\n", false, "Noon."));
        for none in ["Noon.", "<go>tide</go>", "<go>{\"a b\": 1}</go>", "a </b> c"] {
            assert_eq!(told(none), None, "{none}");
        }
    }
}
