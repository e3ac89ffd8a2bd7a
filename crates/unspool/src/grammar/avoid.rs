//! Regular expressions for texts without certain literals.

use std::collections::BTreeMap;

use super::node::Avoid;

/// A trie of the possible continuations of a first character toward a literal.
#[derive(Debug, Default)]
struct Trie {
    next: BTreeMap<char, Trie>,
    /// A literal ends here, so the text must not get here.
    end: bool,
}

/// An expression for all texts without these literals, of any length.
///
/// If the first character of a literal recurs inside one, an exact expression would need an automaton. Such a literal
/// is truncated there, so that slightly more than the literal is excluded.
pub(super) fn expression(avoid: &Avoid) -> String {
    let (special, unit): (&[char], _) = if avoid.entities { (&['&'], "&(?:lt|gt|amp);") } else { (&[], "") };
    let plain = avoid.plain().into_iter().filter(|l| !l.contains(special));
    let root = Trie::new(&cut(&plain.collect::<Vec<_>>()));
    let mut firsts: Vec<char> = root.next.keys().copied().collect();
    firsts.extend(special);
    let units = if unit.is_empty() { String::new() } else { format!("|{unit}") };
    let character = if firsts.is_empty() { r"(?:.|\n)".to_owned() } else { class_without(&firsts) };
    let begun: Vec<String> = root.next.iter().filter(|(_, t)| !t.end).map(|(c, t)| begun(*c, t)).collect();
    if begun.is_empty() {
        return format!("(?:{character}{units})*");
    }
    let left: Vec<String> = root.next.iter().filter(|(_, t)| !t.end).map(|(c, t)| left(*c, t, &firsts)).collect();
    let begun = format!("(?:{})*", begun.join("|"));
    format!("(?:{character}|{begun}(?:{}{units}))*{begun}", left.join("|"))
}

/// Optional blanks after a bracket.
const BLANKS: &str = r"[ \t]*";

/// An expression for all texts in which no closer follows a `)`, with or without blanks between. The `special`
/// characters occur only in a `unit` of their own, such as escapes.
pub(super) fn behind_bracket(closers: &[String], special: &[char], unit: &str) -> String {
    if closers.is_empty() {
        return format!("(?:{}|{unit})*", class_without(special));
    }
    let trie = Trie::new(closers);
    let firsts: Vec<char> = special.iter().copied().chain([')']).collect();
    let character = class_without(&firsts);
    let begun: Vec<String> = trie.next.iter().filter(|(_, t)| !t.end).map(|(c, t)| begun(*c, t)).collect();
    let begun = format!(r"(?:\){BLANKS}(?:{})?)*", begun.join("|"));
    let over: Vec<char> = trie.next.keys().copied().chain(firsts.iter().copied()).chain([' ', '\t']).collect();
    let mut left: Vec<String> = trie.next.iter().filter(|(_, t)| !t.end).map(|(c, t)| left(*c, t, &firsts)).collect();
    left.push(class_without(&over));
    format!(r"(?:{character}|{begun}{unit}|{begun}\){BLANKS}(?:{}))*{begun}", left.join("|"))
}

/// A class of all characters but these.
fn class_without(characters: &[char]) -> String {
    format!("[^{}]", characters.iter().map(|c| in_class(*c)).collect::<String>())
}

/// An expression for one character that begins none of the literals.
pub(super) fn character(avoid: &Avoid) -> String {
    let firsts = firsts(avoid);
    if firsts.is_empty() { r"(?:.|\n)".to_owned() } else { format!("[^{firsts}]") }
}

/// The characters that begin literals, in the notation of a class.
pub(super) fn firsts(avoid: &Avoid) -> String {
    let mut firsts: Vec<char> = avoid.literals.iter().filter_map(|l| l.chars().next()).collect();
    if avoid.entities {
        firsts.push('&');
    }
    firsts.sort_unstable();
    firsts.dedup();
    firsts.into_iter().map(in_class).collect()
}

impl Trie {
    fn new(literals: &[String]) -> Self {
        let mut root = Self::default();
        for literal in literals {
            let mut at = &mut root;
            for c in literal.chars() {
                at = at.next.entry(c).or_default();
            }
            at.end = true;
        }
        root
    }
}

/// Any proper beginning of the literals below.
fn begun(c: char, trie: &Trie) -> String {
    let more: Vec<String> = trie.next.iter().filter(|(_, t)| !t.end).map(|(c, t)| begun(*c, t)).collect();
    let more = if more.is_empty() { String::new() } else { format!("(?:{})?", more.join("|")) };
    format!("{}{more}", escaped(c))
}

/// A proper beginning of the literals below, and a character that neither continues nor begins one.
fn left(c: char, trie: &Trie, firsts: &[char]) -> String {
    let closed: String = trie.next.keys().chain(firsts).map(|c| in_class(*c)).collect();
    let mut all = vec![format!("[^{closed}]")];
    all.extend(trie.next.iter().filter(|(_, t)| !t.end).map(|(c, t)| left(*c, t, firsts)));
    format!("{}(?:{})", escaped(c), all.join("|"))
}

/// The literals, each truncated before a character that begins one.
fn cut(literals: &[String]) -> Vec<String> {
    let firsts: Vec<char> = literals.iter().filter_map(|l| l.chars().next()).collect();
    let short = literals.iter().map(|literal| {
        let end = literal.char_indices().skip(1).find(|(_, c)| firsts.contains(c)).map_or(literal.len(), |(i, _)| i);
        literal[..end].to_owned()
    });
    Avoid::nothing().and(short).literals
}

/// A character in an expression.
pub(super) fn escaped(c: char) -> String {
    match c {
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\t' => r"\t".to_owned(),
        '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' | '/' => format!("\\{c}"),
        c => c.to_string(),
    }
}

/// A text in an expression.
pub(super) fn escaped_text(text: &str) -> String {
    text.chars().map(escaped).collect()
}

/// A character in a class.
fn in_class(c: char) -> String {
    if matches!(c, '\\' | ']' | '[' | '^' | '-' | '&' | '~') {
        return format!("\\{c}");
    }
    escaped(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(literals: &[&str], text: &str) -> bool {
        let pattern = format!("^(?:{})$", expression(&Avoid::nothing().and(literals.iter().copied())));
        fancy_regex::Regex::new(&pattern).unwrap().is_match(text).unwrap()
    }

    #[test]
    fn a_text_fits_if_it_has_none_of_the_literals() {
        let literals = ["</arg>", "</call>", "<arg>", "[x"];
        for good in ["", "a", "<", "<<", "</", "<ar<a", "</arg </b>", "[y]", "[<a[", "a\nb", "<[", "</a<arg"] {
            assert!(fits(&literals, good), "{good}");
        }
        for bad in ["</arg>", "x<arg>", "<<arg>", "</</arg>y", "[[x", "</a</call>", "<ar<arg>"] {
            assert!(!fits(&literals, bad), "{bad}");
        }
    }

    #[test]
    fn single_characters_are_left_out_of_the_class() {
        assert_eq!(expression(&Avoid::nothing().and(["<"])), "(?:[^<])*");
        assert!(!fits(&["<", "</a>"], "a<"));
        assert_eq!(expression(&Avoid::nothing()), r"(?:(?:.|\n))*");
    }

    #[test]
    fn a_literal_that_begins_again_inside_is_cut_there() {
        assert!(!fits(&["]<]m"], "a]<"));
        assert!(fits(&["]<]m"], "a]b"));
    }

    #[test]
    fn of_a_loose_tag_every_spelling_is_avoided() {
        let avoid = Avoid { loose: true, ..Avoid::nothing() }.and(["</call>", "<arg="]);
        let pattern = format!("^(?:{})$", expression(&avoid));
        let fits = |text: &str| fancy_regex::Regex::new(&pattern).unwrap().is_match(text).unwrap();
        for bad in ["</call>", "< /call>", "</ call>", "</call >", "<  / call>", "<arg =", "< arg=", "<\n\targ ="] {
            assert!(!fits(bad), "{bad}");
        }
        for good in ["a < b", "</b>", "<b>", "if (a<b)"] {
            assert!(fits(good), "{good}");
        }
    }

    #[test]
    fn a_closer_is_kept_from_behind_a_bracket() {
        let unit = r#"\\[nrt\\'"]"#;
        let inner = behind_bracket(&["<|end|>".to_owned()], &['\'', '\\', '\n'], unit);
        let pattern = format!("^(?:{inner})$");
        let fits = |text: &str| fancy_regex::Regex::new(&pattern).unwrap().is_match(text).unwrap();
        for good in [
            "",
            "a",
            "<|end|>",
            "f(x) <|en",
            "f(x)]<|end|>",
            "))",
            "()<|e)<|",
            ") \\n<|end|>",
            ")<|\\'<|end|>",
            ") x<|end|>",
            ")",
        ] {
            assert!(fits(good), "{good}");
        }
        for bad in [")<|end|>", "f(x)  <|end|>", "))<|end|>", ")<|e)<|end|>", ")\t<|end|>x", "it's", "\n", "\\x"] {
            assert!(!fits(bad), "{bad}");
        }
    }

    #[test]
    fn entities_are_the_only_way_to_say_markup() {
        let avoid = Avoid { entities: true, ..Avoid::nothing() }.and(["</p>"]);
        let pattern = format!("^(?:{})$", expression(&avoid));
        let fits = |text: &str| fancy_regex::Regex::new(&pattern).unwrap().is_match(text).unwrap();
        assert!(fits("a &lt; b &amp; c"));
        assert!(!fits("a &quot; b"));
        assert!(!fits("a & b"));
    }
}
