//! Bodies of calls with tags: parameters with their names in tags, and nested elements.

use fancy_regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::{Calls, Core, Found};

/// A tag with the key in an attribute, possibly with further attributes.
const BY_ATTRIBUTE: &str = r#"(?s)<(?<tag>[\w:.|-]+)\s+(?<attr>[\w-]+)="(?<key>[^"<>]+)"(?<more>(?:\s+[\w-]+="[^"<>]*")*)>(?<value>.*?)</\k<tag>>"#;
/// A tag with the key after an equals sign.
const BY_EQUALS: &str = r#"(?s)<(?<tag>[\w:.|-]+)=(?<key>[^<>"=\s]+)>(?<value>.*?)</\k<tag>>"#;
/// A tag around the key, and one around the value.
const BY_PAIR: &str =
    r"(?s)<(?<tag>[\w:.|-]+)>(?<key>[A-Za-z_][\w.-]*)</\k<tag>>(?<gap>\s*)<(?<vtag>[\w:.|-]+)>(?<value>.*?)</\k<vtag>>";
/// A tag that is the key.
const ELEMENT: &str = r"(?s)<(?<key>[A-Za-z_][\w-]*)>(?<value>.*?)</\k<key>>";
/// The text around the name before the first parameter.
const HEADS: [&str; 4] = [
    r#"<[\w:.|-]+\s+[\w-]+="(?<name>[^"<>]+)"\s*>\s*$"#,
    r#"<[\w:.|-]+=(?<name>[^<>"=\s]+)>\s*$"#,
    r"<(?<tag>[\w:.|-]+)>(?<name>[A-Za-z_][\w.-]*)</\k<tag>>\s*$",
    r"[>\]:\n](?<name>[A-Za-z_][\w.-]*)\s*$",
];

/// One parameter in the text.
struct Param {
    start: usize,
    end: usize,
    key: String,
    value: String,
    template: String,
}

/// Flat parameters.
pub(super) fn params(text: &str) -> Option<Calls> {
    [BY_ATTRIBUTE, BY_EQUALS, BY_PAIR].into_iter().find_map(|pattern| {
        let regex = Regex::new(pattern).ok()?;
        let mut all: Vec<Param> = regex.captures_iter(text).flatten().filter_map(|found| param(text, &found)).collect();
        // The call's own tag looks like a parameter that contains the others.
        let mut inner: Vec<Param> = Vec::new();
        for outer in all.iter().filter(|outer| outer.value.contains('<')) {
            let from = outer.end - outer.value.len();
            let within = Regex::new(pattern).ok()?;
            let start = text[outer.start..outer.end].find(&outer.value).map_or(from, |at| outer.start + at);
            inner.extend(within.captures_iter(outer.value.as_str()).flatten().filter_map(|found| {
                let own = param(&outer.value, &found)?;
                Some(Param { start: own.start + start, end: own.end + start, ..own })
            }));
        }
        if pattern == BY_PAIR && !are_pairs(&all) {
            return None;
        }
        all.retain(|outer| !inner.iter().any(|own| own.start >= outer.start && own.end <= outer.end));
        all.extend(inner);
        all.sort_by_key(|own| own.start);
        grouped(text, all, ("{params}", "parameters in tags"))
    })
}

/// Whether pairs of tags are keys and values rather than elements: all are alike, and there are several, or the tag
/// names say so.
fn are_pairs(all: &[Param]) -> bool {
    let Some(first) = all.first() else { return false };
    let template = first.template.to_lowercase();
    let (key, value) = template.split_once("{key}").unwrap_or_default();
    let says = ["key", "name", "param", "<k>"].iter().any(|word| key.contains(word)) && value.contains("v");
    all.iter().all(|own| own.template == first.template) && (all.len() > 1 || says)
}

/// A parameter and its template.
fn param(text: &str, found: &Captures<'_, str>) -> Option<Param> {
    let whole = found.get(0)?;
    let (key, value) = (found.name("key")?, found.name("value")?);
    let mut template = String::new();
    let mut at = whole.start();
    let mut parts = vec![(key.start()..key.end(), "{key}".to_owned())];
    for (range, slot) in
        found.name("more").map(|more| attributes(text, more.start(), more.as_str())).unwrap_or_default()
    {
        parts.push((range, slot));
    }
    let framing = framing(value.as_str());
    let inner = value.start() + framing.0.len()..value.end() - framing.1.len();
    parts.push((inner, "{value}".to_owned()));
    for (range, slot) in parts {
        template.push_str(&text[at..range.start]);
        template.push_str(&slot);
        at = range.end;
    }
    template.push_str(&text[at..whole.end()]);
    Some(Param {
        start: whole.start(),
        end: whole.end(),
        key: key.as_str().to_owned(),
        value: value.as_str().to_owned(),
        template,
    })
}

/// Further attributes with the value's type.
fn attributes(text: &str, start: usize, more: &str) -> Vec<(std::ops::Range<usize>, String)> {
    let mut out = Vec::new();
    let mut at = start;
    for part in more.split_inclusive('"').collect::<Vec<_>>().chunks(2) {
        let [head, value] = part else { break };
        let inner = at + head.len()..at + head.len() + value.len() - 1;
        let slot = match &text[inner.clone()] {
            "true" | "false" => Some("{string}"),
            "string" | "number" | "integer" | "boolean" | "object" | "array" | "null" => Some("{type}"),
            _ => None,
        };
        out.extend(slot.map(|slot| (inner, slot.to_owned())));
        at += head.len() + value.len();
    }
    out
}

/// White space around a value that belongs to the tags: a line break on both sides.
fn framing(value: &str) -> (&'static str, &'static str) {
    if value.len() > 1 && value.starts_with('\n') && value.ends_with('\n') { ("\n", "\n") } else { ("", "") }
}

/// Consecutive parameters, with the call's name before the first.
fn grouped(text: &str, all: Vec<Param>, (slot, syntax): (&str, &'static str)) -> Option<Calls> {
    let heads: Vec<Regex> = HEADS.iter().filter_map(|head| Regex::new(head).ok()).collect();
    let mut out: Option<Calls> = None;
    let mut groups: Vec<Vec<Param>> = Vec::new();
    for own in all {
        match groups.last_mut().and_then(|group| group.last()) {
            Some(last) if text[last.end..own.start].trim().is_empty() => groups.last_mut()?.push(own),
            _ => groups.push(vec![own]),
        }
    }
    for group in groups {
        let (first, last) = (group.first()?, group.last()?);
        let before = &text[..first.start];
        let found = heads.iter().find_map(|head| head.captures(before).ok().flatten());
        let Some(name) = found.as_ref().and_then(|found| found.name("name")) else { continue };
        // White space after a parameter belongs to it, so that the next one or the closer may follow.
        let gap = match group.get(1) {
            Some(second) => &text[first.end..second.start],
            None => {
                let rest = &text[last.end..];
                &rest[..rest.len() - rest.trim_start().len()]
            }
        };
        let end = last.end + if text[last.end..].starts_with(gap) { gap.len() } else { 0 };
        let param = format!("{}{gap}", first.template);
        let template = format!("{{name}}{}{slot}", &text[name.end()..first.start]);
        let calls = out.get_or_insert_with(|| Calls {
            core: Core { template: template.clone(), param: Some(param.clone()), string: Vec::new(), syntax },
            found: Vec::new(),
        });
        let arguments: Map<String, Value> =
            group.iter().map(|own| (own.key.clone(), Value::from(own.value.trim_matches('\n')))).collect();
        if calls.core.template == template {
            calls.found.push(Found { at: name.start()..end, name: name.as_str().to_owned(), arguments });
        }
    }
    out
}

/// Nested elements: the tag is the key.
pub(super) fn elements(text: &str) -> Option<Calls> {
    let regex = Regex::new(ELEMENT).ok()?;
    let mut all = Vec::new();
    let mut places = vec![(0, text.to_owned())];
    // The outermost elements may be the call's own, or around all calls, so the inner ones are examined too.
    for _ in 0..3 {
        let mut deeper = Vec::new();
        for (base, part) in &places {
            for found in regex.captures_iter(part.as_str()).flatten() {
                let (Some(whole), Some(key), Some(value)) = (found.get(0), found.name("key"), found.name("value"))
                else {
                    continue;
                };
                let at = base + whole.start();
                let head = &text[..at];
                let is_first =
                    HEADS.iter().filter_map(|head| Regex::new(head).ok()).any(|r| r.is_match(head).unwrap_or(false));
                let follows = all
                    .last()
                    .is_some_and(|last: &Param| text.get(last.end..at).is_some_and(|gap| gap.trim().is_empty()));
                if is_first || follows {
                    all.push(Param {
                        start: at,
                        end: base + whole.end(),
                        key: key.as_str().to_owned(),
                        value: value.as_str().to_owned(),
                        template: "<{key}>{value}</{key}>".to_owned(),
                    });
                } else {
                    deeper.push((base + value.start(), value.as_str().to_owned()));
                }
            }
        }
        if !all.is_empty() {
            break;
        }
        // The contents of tags that are not elements.
        places = deeper;
    }
    let mut calls = grouped(text, all, ("{elements}", "nested elements"))?;
    // Elements may have white space between them.
    calls.core.param = Some("<{key}>{value}</{key}>".to_owned());
    Some(calls)
}
