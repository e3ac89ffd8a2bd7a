//! A schema's patterns.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};

use super::avoid;
use super::node::Avoid;

/// The anchored pattern without any literal in its matches: no class in it has a character that begins one.
pub(super) fn without(pattern: &str, avoid: &Avoid) -> String {
    let padded = anchored(pattern, &avoid::character(avoid));
    let mut firsts: Vec<char> = avoid.plain().iter().filter_map(|l| l.chars().next()).collect();
    if avoid.entities {
        firsts.push('&');
    }
    match regex_syntax::Parser::new().parse(&padded) {
        Ok(hir) => format!("^(?:{})$", written(&hir, &firsts)),
        // An invalid pattern stays unchanged: the backend reports the error.
        Err(_) => pattern.to_owned(),
    }
}

/// Maximum length of a pattern to parse, because a class may expand to a thousand times its length.
const LONGEST: usize = 16 << 10;

/// Approximate size of an expanded pattern, in bytes.
pub(super) fn weight(pattern: &str) -> usize {
    if pattern.len() > LONGEST {
        return usize::MAX;
    }
    regex_syntax::Parser::new().parse(pattern).map_or(pattern.len(), |hir| length(&hir))
}

fn length(hir: &Hir) -> usize {
    const RANGE: usize = 12;
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => 2 * literal.0.len(),
        HirKind::Class(class) => RANGE * unicode(class).map_or(0, |class| class.ranges().len()),
        HirKind::Repetition(r) => RANGE + length(&r.sub),
        HirKind::Capture(c) => 4 + length(&c.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(|part| 1 + length(part)).sum(),
    }
}

/// A character of a JSON string as written: itself, or an escape.
const WRITTEN: &str = r#"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})"#;
/// Escapes of characters beyond ASCII.
const BEYOND_ASCII: &str =
    r"\\u(?:00[89a-fA-F][0-9a-fA-F]|0[1-9a-fA-F][0-9a-fA-F]{2}|[1-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})";

/// Converts a pattern for a value to one for the text between the quotes of a JSON string.
pub(super) fn in_json(pattern: &str) -> String {
    match regex_syntax::Parser::new().parse(&anchored(pattern, r"(?:.|\n)")) {
        Ok(hir) => format!("^(?:{})$", escaped_in_json(&hir)),
        Err(_) => pattern.to_owned(),
    }
}

/// A number of characters between the quotes of a JSON string; xgrammar's own bounds count the letters of an escape.
pub(super) fn length_in_json(least: u64, most: Option<u64>) -> String {
    let most = most.map(|m| m.to_string()).unwrap_or_default();
    format!("^{WRITTEN}{{{least},{most}}}$")
}

fn escaped_in_json(hir: &Hir) -> String {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let mut out = String::new();
            crate::json::write::string(&mut out, &String::from_utf8_lossy(&literal.0));
            avoid::escaped_text(&out[1..out.len() - 1])
        }
        HirKind::Class(class) => class_in_json(class),
        HirKind::Repetition(r) => format!("(?:{}){}", escaped_in_json(&r.sub), times(r)),
        HirKind::Capture(c) => format!("(?:{})", escaped_in_json(&c.sub)),
        HirKind::Concat(parts) => parts.iter().map(escaped_in_json).collect(),
        HirKind::Alternation(parts) => {
            format!("(?:{})", parts.iter().map(escaped_in_json).collect::<Vec<_>>().join("|"))
        }
        HirKind::Empty | HirKind::Look(_) => String::new(),
    }
}

/// A character of a class: itself if a JSON string allows it, else its escape.
fn class_in_json(class: &Class) -> String {
    let Some(class) = unicode(class) else { return "[]".to_owned() };
    let has = |c: char| class.ranges().iter().any(|r| r.start() <= c && c <= r.end());
    let mut plain = class.clone();
    let special = [('\0', '\x1f'), ('"', '"'), ('\\', '\\')].map(|(a, b)| ClassUnicodeRange::new(a, b));
    plain.difference(&ClassUnicode::new(special));
    let mut all = Vec::new();
    if !plain.ranges().is_empty() {
        all.push(ranges(&plain));
    }
    let escapes = [('"', r#"""#), ('\\', r"\\"), ('\n', "n"), ('\r', "r"), ('\t', "t"), ('\x08', "b"), ('\x0c', "f")];
    all.extend(escapes.iter().filter(|(c, _)| has(*c)).map(|(_, escape)| format!(r"\\{escape}")));
    if class.ranges().iter().any(|r| r.start() <= '\u{80}' && r.end() >= '\u{ffff}') {
        all.push(BEYOND_ASCII.to_owned());
    }
    format!("(?:{})", all.join("|"))
}

/// A pattern matches anywhere in a string; if it is not anchored, other text is allowed around it.
fn anchored(pattern: &str, character: &str) -> String {
    let (start, inner) = match pattern.strip_prefix('^') {
        Some(inner) => (String::new(), inner),
        None => (format!("{character}*"), pattern),
    };
    let is_end = inner.ends_with('$') && !inner.ends_with("\\$");
    match is_end.then(|| &inner[..inner.len() - 1]) {
        Some(inner) => format!("{start}(?:{inner})"),
        None => format!("{start}(?:{inner}){character}*"),
    }
}

/// The expression in basic syntax: classes, groups, repetitions.
fn written(hir: &Hir, firsts: &[char]) -> String {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => String::new(),
        HirKind::Literal(literal) => avoid::escaped_text(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => class_of(class, firsts),
        HirKind::Repetition(r) => {
            format!("(?:{}){}", written(&r.sub, firsts), times(r))
        }
        HirKind::Capture(c) => format!("(?:{})", written(&c.sub, firsts)),
        HirKind::Concat(parts) => parts.iter().map(|p| written(p, firsts)).collect(),
        HirKind::Alternation(parts) => {
            format!("(?:{})", parts.iter().map(|p| written(p, firsts)).collect::<Vec<_>>().join("|"))
        }
    }
}

/// The repetition operator.
fn times(r: &Repetition) -> String {
    let most = r.max.map(|m| m.to_string()).unwrap_or_default();
    match (r.min, r.max) {
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (least, _) => format!("{{{least},{most}}}"),
    }
}

fn unicode(class: &Class) -> Option<ClassUnicode> {
    match class {
        Class::Unicode(class) => Some(class.clone()),
        Class::Bytes(class) => class.to_unicode_class(),
    }
}

fn class_of(class: &Class, firsts: &[char]) -> String {
    let Some(mut class) = unicode(class) else { return "[]".to_owned() };
    let less: Vec<ClassUnicodeRange> = firsts.iter().map(|c| ClassUnicodeRange::new(*c, *c)).collect();
    class.difference(&ClassUnicode::new(less));
    ranges(&class)
}

fn ranges(class: &ClassUnicode) -> String {
    let ranges: String = class
        .ranges()
        .iter()
        .map(|r| match (r.start(), r.end()) {
            (a, b) if a == b => character(a),
            (a, b) => format!("{}-{}", character(a), character(b)),
        })
        .collect();
    format!("[{ranges}]")
}

fn character(c: char) -> String {
    match c {
        '\\' | ']' | '[' | '^' | '-' | '&' | '~' | '/' => format!("\\{c}"),
        c if c.is_alphanumeric() && c.is_ascii() => c.to_string(),
        c if c.is_ascii_graphic() => c.to_string(),
        c if u32::from(c) < 0x80 => format!("\\x{:02x}", u32::from(c)),
        c if u32::from(c) < 0x10000 => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_json_string_a_pattern_is_of_escapes_too() {
        let fits =
            |pattern: &str, text: &str| fancy_regex::Regex::new(&in_json(pattern)).unwrap().is_match(text).unwrap();
        for (pattern, good, bad) in [
            ("[0-9]", r#"a \" 5 \u00e9"#, r#"a " 5"#),
            ("^a.b$", r#"a\"b"#, "a\\b"),
            ("^\"x\"$", r#"\"x\""#, "\"x\""),
            ("^[^<]{2}$", r"\n\\", "<a"),
            ("^[a-f]+$", "fab", r"\u0061"),
        ] {
            assert!(fits(pattern, good), "{pattern} {good}");
            assert!(!fits(pattern, bad), "{pattern} {bad}");
        }
        let length = fancy_regex::Regex::new(&length_in_json(1, Some(2))).unwrap();
        assert!(
            length.is_match(r#"\"\u00e9"#).unwrap()
                && !length.is_match("abc").unwrap()
                && !length.is_match("").unwrap()
        );
    }

    #[test]
    fn a_pattern_keeps_what_it_says_and_loses_markup() {
        let avoid = Avoid::nothing().and(["</p>"]);
        let fits = |pattern: &str, text: &str| {
            fancy_regex::Regex::new(&without(pattern, &avoid)).unwrap().is_match(text).unwrap()
        };
        assert!(fits("^[A-Z]{2}-\\d+$", "GB-17"));
        assert!(!fits("^[A-Z]{2}-\\d+$", "GB-17x"));
        assert!(fits("berth", "the berth is free"));
        assert!(!fits("berth", "a <berth"));
        assert!(!fits("^.+$", "a<b"));
        assert!(fits("^(a|bc)?x$", "bcx"));
    }
}
