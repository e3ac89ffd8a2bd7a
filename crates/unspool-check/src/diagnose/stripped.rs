//! Finds calls whose special tokens were removed (`skip_special_tokens`): only names and arguments remain.

use serde_json::Value;
use unspool::Half;
use unspool::format::file::FormatFile;
use unspool::format::template::{Part, Slot, Template};

use super::formats::Formats;
use crate::border;

/// A call without its markers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stripped {
    /// The possible tools halves.
    pub(super) names: Vec<String>,
    /// Its offset.
    pub(super) offset: usize,
    /// Its text.
    pub(super) text: String,
    /// A missing marker.
    pub(super) mark: String,
}

/// The text around the name of a call without special tokens.
#[derive(Debug, Clone)]
pub(super) struct Skeleton {
    before: String,
    between: String,
    mark: String,
    body: Slot,
}

/// The first call without its markers in a text. `tools` are the names of the functions; empty: unknown. `likely` is
/// the half that the model is known to write, because its calls may look like another's without their markers.
pub(super) fn find(formats: &Formats, text: &str, tools: &[String], likely: Option<&str>) -> Option<Stripped> {
    let mut best: Option<Stripped> = None;
    for known in formats.all(Half::Tools) {
        let mut own = known.skeletons.iter().filter(|own| !text.contains(&own.mark));
        let found = own.find_map(|own| place(text, own, tools).map(|place| (place, own.mark.clone())));
        let found = found.or_else(|| bare(text, &known.words).filter(|_| likely == Some(known.name.as_str())));
        let name = known.name.clone();
        let Some(((offset, length), mark)) = found else { continue };
        match &mut best {
            Some(known) if known.offset == offset => known.names.push(name),
            Some(known) if known.offset < offset => {}
            _ => {
                let text = text[offset..offset + length].to_owned();
                best = Some(Stripped { names: vec![name], offset, text, mark });
            }
        }
    }
    if let (Some(known), Some(likely)) = (&mut best, likely)
        && known.names.iter().any(|name| name == likely)
    {
        known.names = vec![likely.to_owned()];
    }
    best
}

/// Whether a tokenizer would remove this marker: bars or capitals in brackets.
pub(super) fn is_special(mark: &str) -> bool {
    let inner = mark.trim_matches(['<', '>', '[', ']', '/']);
    let bracket = mark.starts_with(['<', '[']) && mark.ends_with(['>', ']']);
    let bars = inner.contains(['|', '\u{ff5c}']);
    bracket && (bars || (mark.starts_with('[') && inner.chars().all(|c| c.is_ascii_uppercase() || c == '_')))
}

/// The skeletons of a format's calls, if they contain special tokens.
pub(super) fn skeletons(words: &FormatFile) -> Vec<Skeleton> {
    let id = words.ids.call.as_deref().filter(|id| id.contains('{')).unwrap_or("{name}");
    let templates = words.tools.call.iter().map(|call| call.replace("{id}", id));
    let grammar = words.grammar.calls.iter().cloned();
    templates.chain(grammar).filter_map(|text| skeleton(&Template::parse(&text).ok()?)).collect()
}

fn skeleton(template: &Template) -> Option<Skeleton> {
    let body = template.body().filter(|body| *body != Slot::Envelope && *body != Slot::Params)?;
    let (mut mark, mut sides, mut at) = (None, [String::new(), String::new()], 0);
    for part in &template.parts {
        match part {
            Part::Text(text) | Part::Optional(text) => {
                let (kept, gone) = without_special(text);
                mark = mark.or(gone);
                sides[at].push_str(&kept);
            }
            Part::Free(text) => sides[at].push_str(text),
            Part::Slot(Slot::Name) => at = 1,
            Part::Slot(slot) if *slot == body => break,
            Part::Slot(Slot::Index | Slot::Number) => sides[at].push('0'),
            _ => return None,
        }
    }
    let [before, between] = sides;
    // The text before it may be long; the last word is enough.
    let before = before.split_whitespace().last().unwrap_or_default().to_owned();
    (at == 1).then_some(Skeleton { before, between: between.trim().to_owned(), mark: mark?, body })
}

/// A text without its special tokens, and the first of them.
fn without_special(text: &str) -> (String, Option<String>) {
    let (mut out, mut first, mut rest) = (String::new(), None, text);
    while let Some(start) = rest.find(['<', '[']) {
        let close = if rest[start..].starts_with('<') { '>' } else { ']' };
        let Some(end) = rest[start..].find(close).map(|end| start + end + 1) else { break };
        let mark = &rest[start..end];
        if is_special(mark) {
            out.push_str(&rest[..start]);
            first.get_or_insert_with(|| mark.to_owned());
        } else {
            out.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    (out, first)
}

/// A match of a skeleton: offset and length.
fn place(text: &str, own: &Skeleton, tools: &[String]) -> Option<(usize, usize)> {
    let opens = if own.body == Slot::Kwargs { '(' } else { '{' };
    for (at, _) in text.match_indices(opens) {
        let head = text[..at].trim_end();
        let between = digits_as_zero(&own.between, head);
        let Some(head) = between.and_then(|length| head.get(..head.len() - length)) else { continue };
        let head = head.trim_end();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let start =
            head.rfind(|c: char| !is_name(c)).map_or(0, |i| i + head[i..].chars().next().map_or(1, char::len_utf8));
        let body = own.body != Slot::Json || is_object(&text[at..]);
        if let Some(start) = named(head, start, own, tools).filter(|_| body) {
            let length = text[start..].find('\n').unwrap_or(text.len() - start).min(200);
            return Some((start, border::floor(&text[start..], length)));
        }
    }
    None
}

/// The start of a call whose name ends a text; its last word begins at `start`.
fn named(head: &str, start: usize, own: &Skeleton, tools: &[String]) -> Option<usize> {
    let word = &head[start..];
    // After a marker it is a call of another format.
    let is_first = |at: usize| !head[..at].trim_end().ends_with(['>', ']']);
    let in_front = |at: usize| {
        let before = head[..at].trim_end();
        before.ends_with(&*own.before).then(|| before.len() - own.before.len()).filter(|at| is_first(*at))
    };
    if tools.is_empty() {
        let glued = word.strip_prefix(&*own.before).is_some_and(|name| !name.is_empty());
        // A word before a brace is common; alone it must be at the start of a line.
        let bare = own.before.is_empty() && own.between.is_empty();
        let at_line = head[..start].is_empty() || head[..start].ends_with('\n');
        return match glued {
            true => Some(start).filter(|at| is_first(*at) && !word.is_empty() && (!bare || at_line)),
            false => in_front(start).filter(|_| !word.is_empty()),
        };
    }
    let tool = tools.iter().filter(|tool| !tool.is_empty()).find(|tool| word.ends_with(tool.as_str()))?;
    let at = head.len() - tool.len();
    match own.before.is_empty() {
        true => Some(at).filter(|at| *at == start && is_first(*at)),
        false => in_front(at),
    }
}

/// Length of the end of `head` that equals `between`, in which `0` stands for any number; 0 if there is none.
fn digits_as_zero(between: &str, head: &str) -> Option<usize> {
    let mut rest = head;
    for wanted in between.chars().rev() {
        if wanted == '0' {
            let digits = rest.len() - rest.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            rest = rest.get(..rest.len() - digits).filter(|_| digits > 0)?;
        } else if wanted.is_whitespace() {
            rest = rest.trim_end();
        } else {
            rest = rest.trim_end_matches(char::is_whitespace).strip_suffix(wanted)?;
        }
    }
    Some(head.len() - rest.len())
}

/// Whether a text begins with a JSON object.
fn is_object(text: &str) -> bool {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.next().is_some_and(|value| value.is_ok_and(|value| value.is_object()))
}

/// The body of a call without the format's special tokens: an envelope, or a list of Python calls.
fn bare(text: &str, words: &FormatFile) -> Option<((usize, usize), String)> {
    let call = Template::parse(words.tools.call.first()?).ok()?;
    let block = words.tools.block.first().and_then(|block| Template::parse(block).ok());
    let first = |template: &Template| match template.parts.first() {
        Some(Part::Text(text)) => without_special(text).1,
        _ => None,
    };
    let mark = block.as_ref().and_then(first).or_else(|| first(&call)).filter(|mark| !text.contains(mark))?;
    let opens: &[char] = match call.body()? {
        Slot::Envelope => &['{', '['],
        Slot::Kwargs => &['['],
        _ => return None,
    };
    let at = text.find(opens)?;
    let names = || words.tools.envelope.name.iter().any(|name| text[at..].contains(&format!("\"{name}\"")));
    let fits = if call.body()? == Slot::Envelope { names() } else { text[at..].contains('(') };
    fits.then(|| ((at, border::floor(&text[at..], 200.min(text.len() - at))), mark))
}

#[cfg(test)]
mod tests {
    use unspool::{Registry, Setup};

    use super::*;

    fn found(text: &str, tools: &[&str], likely: Option<&str>) -> Option<(Vec<String>, usize, String)> {
        let tools: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let formats = Formats::new(Registry::builtin(), Setup::default());
        find(&formats, text, &tools, likely).map(|found| (found.names, found.offset, found.mark))
    }

    #[test]
    fn calls_without_their_marks_are_known() {
        let (names, offset, mark) =
            found("Let me look.functiontide\n```json\n{\"harbour\": \"Looe\"}\n```", &["tide"], None).expect("a call");
        assert_eq!((names[0].as_str(), offset, mark.as_str()), ("deepseek_v3", 12, "<｜tool▁call▁begin｜>"));
        let (names, ..) = found("functions.tide:0{\"harbour\": \"Looe\"}", &[], None).expect("a call");
        assert_eq!(names, ["kimi_k2"]);
        let (names, ..) =
            found("commentary to=functions.tide json{\"harbour\": \"Looe\"}", &["tide"], None).expect("a call");
        assert!(names.contains(&"openai".to_owned()), "{names:?}");
        let (names, ..) = found("call:tide{harbour:Looe}", &["tide"], None).expect("a call");
        assert!(names.contains(&"gemma4".to_owned()), "{names:?}");
        let (names, ..) = found("tide{\"harbour\": \"Looe\"}", &["tide"], Some("mistral")).expect("a call");
        assert_eq!(names, ["mistral"]);
        let (names, ..) = found("[tide(harbour='Looe')]", &["tide"], Some("lfm2")).expect("a call");
        assert_eq!(names, ["lfm2"]);
        let (names, ..) =
            found("[{\"name\": \"tide\", \"arguments\": {}}]", &["tide"], Some("granite")).expect("a call");
        assert_eq!(names, ["granite"]);
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "High water is at noon.",
            "struct Tide {\"a\": 1}",
            "Use {\"harbour\": \"Looe\"} for it.",
            "[TOOL_CALLS]tide{\"harbour\": \"Looe\"}",
            "<tool_call>\n{\"name\": \"tide\", \"arguments\": {}}\n</tool_call>",
        ] {
            assert_eq!(found(text, &["tide"], None), None, "{text}");
        }
        assert_eq!(found("fn main() { let x = tide{}; }", &[], None), None);
    }
}
