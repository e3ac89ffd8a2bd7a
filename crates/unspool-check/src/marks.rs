//! The markers of a pair, which are its literals for reasoning and calls; and their look-alikes.

use unspool::format::file::FormatFile;
use unspool::format::template::{Part, Template};
use unspool::{Half, Pair};

/// Look-alike characters, and the plain one.
const ALIKE: [(char, char); 26] = [
    ('\u{ff5c}', '|'),
    ('\u{2502}', '|'),
    ('\u{2581}', '_'),
    ('\u{ff1c}', '<'),
    ('\u{2039}', '<'),
    ('\u{3008}', '<'),
    ('\u{27e8}', '<'),
    ('\u{ff1e}', '>'),
    ('\u{203a}', '>'),
    ('\u{3009}', '>'),
    ('\u{27e9}', '>'),
    ('\u{ff3b}', '['),
    ('\u{ff3d}', ']'),
    ('\u{ff1a}', ':'),
    ('\u{ff0f}', '/'),
    ('\u{201c}', '"'),
    ('\u{201d}', '"'),
    ('\u{201e}', '"'),
    ('\u{2018}', '\''),
    ('\u{2019}', '\''),
    ('\u{a0}', ' '),
    ('\u{3000}', ' '),
    ('\u{2010}', '-'),
    ('\u{2011}', '-'),
    ('\u{2013}', '-'),
    ('\u{2212}', '-'),
];

/// HTML entities for brackets and quotes.
const ENTITIES: [(&str, &str); 5] = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];

/// The distinct literals of a pair that are markup by themselves, the first of each template first.
#[must_use]
pub fn of_pair(pair: &Pair) -> Vec<String> {
    let mut out = Vec::new();
    for half in [Half::Reasoning, Half::Tools] {
        if let Some(words) = pair.words(half) {
            for mark in of_words(&words, half) {
                if !out.contains(&mark) {
                    out.push(mark);
                }
            }
        }
    }
    out
}

/// The literals of one half that are markup by themselves.
#[must_use]
pub fn of_words(words: &FormatFile, half: Half) -> Vec<String> {
    let tools = &words.tools;
    let templates: Vec<&String> = match half {
        Half::Reasoning => words.reasoning.thought.iter().chain(words.content.frame.iter()).collect(),
        Half::Tools => tools.block.iter().chain(&*tools.call).chain(&*tools.param).collect(),
    };
    let mut out = Vec::new();
    for template in templates {
        let Ok(template) = Template::parse(template) else { continue };
        for part in &template.parts {
            if let Part::Text(text) | Part::Optional(text) = part {
                out.extend(pieces(text));
            }
        }
    }
    if let Some(channels) = &words.channels {
        out.extend([&channels.start, &channels.body].into_iter().cloned());
        out.extend(channels.channel.iter().chain(&*channels.end).cloned());
    }
    out.retain(|mark| is_markup(mark));
    let mut seen = Vec::new();
    out.retain(|mark| {
        let fresh = !seen.contains(mark);
        seen.push(mark.clone());
        fresh
    });
    out
}

/// A literal split at white space and between tags.
fn pieces(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for word in text.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find("><") {
            out.push(rest[..=at].to_owned());
            rest = &rest[at + 1..];
        }
        out.push(rest.to_owned());
    }
    out
}

/// Whether a literal is markup by itself: a bracket with letters, not mere punctuation or a plain word.
fn is_markup(literal: &str) -> bool {
    let bracket = literal.contains(['<', '>', '[', ']', '|']) || literal.chars().any(|c| c == '\u{ff5c}');
    bracket && literal.chars().filter(|c| c.is_alphanumeric()).count() > 1
}

/// The text with each look-alike replaced by its plain form.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out: String = text.chars().map(plain_char).collect();
    for (entity, plain) in ENTITIES {
        if out.contains(entity) {
            out = out.replace(entity, plain);
        }
    }
    out.to_lowercase()
}

fn plain_char(c: char) -> char {
    ALIKE.iter().find(|(alike, _)| *alike == c).map_or(c, |(_, plain)| *plain)
}

/// A text that looks like a marker but is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookAlike {
    /// The marker as the parser reads it.
    pub mark: String,
    /// The text in its place.
    pub found: String,
    /// Its offset, in bytes.
    pub offset: usize,
    /// The difference, with code points.
    pub difference: String,
}

/// The look-alikes of those markers in `marks` that do not occur themselves.
#[must_use]
pub fn look_alikes(text: &str, marks: &[String]) -> Vec<LookAlike> {
    let folded = Folded::new(text);
    let missing = marks.iter().filter(|mark| !text.contains(mark.as_str()));
    let found = missing.filter_map(|mark| {
        let range = folded.find(&plain(mark))?;
        let found = &text[range.clone()];
        Some(LookAlike {
            mark: mark.clone(),
            found: found.to_owned(),
            offset: range.start,
            difference: difference(found, mark),
        })
    });
    found.collect()
}

/// A text in its plain form, with the origin of each character.
struct Folded {
    plain: String,
    /// For each byte of `plain`, the start of its character in the text, and at the end the text's length.
    from: Vec<usize>,
}

impl Folded {
    fn new(text: &str) -> Self {
        let (mut plain, mut from) = (String::with_capacity(text.len()), Vec::with_capacity(text.len() + 1));
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let entity = ENTITIES.iter().find(|(entity, _)| text[at..].starts_with(entity));
            let before = plain.len();
            match entity {
                Some((_, meant)) => plain.push_str(meant),
                None => plain.extend(plain_char(c).to_lowercase()),
            }
            from.resize(from.len() + plain.len() - before, at);
            at += entity.map_or(c.len_utf8(), |(entity, _)| entity.len());
        }
        from.push(text.len());
        Self { plain, from }
    }

    fn find(&self, wanted: &str) -> Option<std::ops::Range<usize>> {
        let at = self.plain.find(wanted).filter(|_| !wanted.is_empty())?;
        Some(*self.from.get(at)?..*self.from.get(at + wanted.len())?)
    }
}

/// Describes the first characters in which a text differs from a marker.
fn difference(found: &str, mark: &str) -> String {
    let mut pairs = found.chars().zip(mark.chars()).filter(|(a, b)| a != b);
    if found.chars().count() == mark.chars().count()
        && let Some((a, b)) = pairs.next()
    {
        if a.to_lowercase().eq(b.to_lowercase()) {
            return format!("`{found}` is spelled in another case than `{mark}`");
        }
        return format!("{} stands for {}", named(a), named(b));
    }
    let entity = ENTITIES.iter().find(|(entity, _)| found.contains(entity));
    entity
        .map_or_else(|| format!("`{found}` stands for `{mark}`"), |(entity, c)| format!("`{entity}` stands for `{c}`"))
}

/// A character with its code point.
#[must_use]
pub fn named(c: char) -> String {
    let point = u32::from(c);
    if c.is_control() || c.is_whitespace() { format!("U+{point:04X}") } else { format!("`{c}` (U+{point:04X})") }
}

#[cfg(test)]
mod tests {
    use unspool::{Registry, Setup};

    use super::*;

    fn marks(tools: &str) -> Vec<String> {
        let setup = Setup { tool_parser: Some(tools.to_owned()), ..Setup::default() };
        of_pair(&Registry::builtin().pair(&setup).expect("the parser is there"))
    }

    #[test]
    fn marks_are_the_literals_of_templates() {
        assert_eq!(marks("hermes"), ["<tool_call>", "</tool_call>"]);
        assert_eq!(marks("qwen3_coder")[..3], ["<tool_call>", "</tool_call>", "<function="]);
        assert!(marks("pythonic").is_empty() && marks("llama3_json").is_empty());
        assert!(marks("mistral").contains(&"[TOOL_CALLS]".to_owned()), "{:?}", marks("mistral"));
        assert!(marks("openai").contains(&"<|message|>".to_owned()), "{:?}", marks("openai"));
    }

    #[test]
    fn look_alikes_are_told_with_their_code_points() {
        let marks = marks("deepseek_v31");
        let text = "hm <|tool_calls_begin|><|tool_call_begin|>f<|tool_sep|>{}<|tool_call_end|><|tool_calls_end|>";
        let found = look_alikes(text, &marks);
        assert_eq!(found.len(), 5, "{found:?}");
        assert_eq!((found[0].offset, found[0].found.as_str()), (3, "<|tool_calls_begin|>"));
        assert_eq!(found[0].difference, "`|` (U+007C) stands for `｜` (U+FF5C)");
        let marks = ["<tool_call>".to_owned()];
        let one = |text: &str| look_alikes(text, &marks).pop().map(|found| (found.offset, found.difference));
        assert_eq!(one("é&lt;tool_call&gt;"), Some((2, "`&lt;` stands for `<`".to_owned())));
        let told = "`<TOOL_CALL>` is spelled in another case than `<tool_call>`".to_owned();
        assert_eq!(one("<TOOL_CALL>"), Some((0, told)));
        assert_eq!(one("<tool_call>"), None);
        assert_eq!(one("toolcall"), None);
    }
}
