//! A format's markup, and a check whether a text contains any.

use std::ops::Range;

use crate::call_header::{Advance, Cursor, Program};
use crate::format::file::Container;
use crate::format::template::{Part, Slot};
use crate::limits::Limits;
use crate::scan::{Literal, Match, blanks};

/// Literals that a text must not contain.
#[derive(Debug, Default)]
pub(crate) struct Literals {
    list: Vec<Literal>,
    loose: bool,
}

impl Literals {
    /// No literals yet. `loose`: blanks are allowed inside their tags.
    pub(crate) fn new(loose: bool) -> Self {
        Self { list: Vec::new(), loose }
    }

    /// Adds literals; ignores empty ones.
    pub(crate) fn add(&mut self, texts: impl IntoIterator<Item = impl AsRef<str>>) {
        for text in texts {
            let text = text.as_ref().trim();
            if !text.is_empty() && self.list.iter().all(|l| l.text() != text) {
                self.list.push(Literal::new(text, self.loose));
            }
        }
    }

    /// The literals.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(Literal::text)
    }

    /// The first literal that begins in `text`; it may end in the text `after` it.
    pub(crate) fn within(&self, text: &str, after: &str) -> Option<&str> {
        let longest = self.list.iter().map(Literal::longest).max().unwrap_or(0);
        let joined = joined(text, after, longest);
        let bytes = joined.as_bytes();
        (0..text.len())
            .find_map(|at| self.list.iter().find(|l| matches!(l.at(&bytes[at..]), Match::Full(_))))
            .map(Literal::text)
    }
}

/// `text` and as much of the following text as can belong to a literal or header that begins in `text`.
fn joined(text: &str, after: &str, most: usize) -> String {
    let most = after.len().min(most);
    let end = (0..=most).rev().find(|i| after.is_char_boundary(*i)).unwrap_or(0);
    format!("{text}{}", &after[..end])
}

/// The beginning of a call whose literal alone is not markup.
#[derive(Debug)]
pub(crate) struct HeaderPattern {
    header: Program,
    body: Option<Slot>,
    container: Container,
    /// It counts only if nothing precedes it.
    only_at_start: bool,
}

impl HeaderPattern {
    /// The header of calls with these parts up to the body.
    pub(crate) fn new(parts: &[Part], body: Option<Slot>, loose: bool) -> Self {
        Self { header: Program::new(parts, loose), body, container: Container::default(), only_at_start: false }
    }

    /// Sets the JSON container of an envelope.
    pub(crate) fn container(mut self, container: Container) -> Self {
        self.container = container;
        self
    }

    /// Sets whether it counts only if nothing precedes it.
    pub(crate) fn only_at_start(mut self, only: bool) -> Self {
        self.only_at_start = only;
        self
    }

    /// Whether a call may begin in `text`, and possibly continue in the text `after` it.
    pub(crate) fn begins_in(&self, text: &str, after: &str, limits: &Limits) -> bool {
        let joined = joined(text, after, limits.header);
        let places = if self.only_at_start { blanks(text.as_bytes())..text.len() } else { 0..text.len() };
        self.places(places, &joined).any(|at| self.fits(&joined, at, limits))
    }

    fn places<'a>(&self, range: Range<usize>, joined: &'a str) -> impl Iterator<Item = usize> + use<'a> {
        let most = if self.only_at_start { 1 } else { usize::MAX };
        range.filter(|at| joined.is_char_boundary(*at)).take(most)
    }

    fn fits(&self, joined: &str, at: usize, limits: &Limits) -> bool {
        let rest = &joined[at..];
        // A repeated opener counts once.
        if let Some(opener) = self.header.first_literal()
            && let Match::Full(n) = opener.at(rest.as_bytes())
        {
            let again = n + blanks(&rest.as_bytes()[n..]);
            if matches!(opener.at(&rest.as_bytes()[again..]), Match::Full(_)) {
                return self.fits(joined, at + again, limits);
            }
        }
        let mut cursor = Cursor::at(0);
        if cursor.advance(&self.header, rest, true, limits) != Advance::Accept {
            return false;
        }
        let body = &rest.as_bytes()[cursor.pos..];
        let first = body.get(blanks(body)).copied();
        match (self.body, self.container) {
            (Some(Slot::Envelope), Container::Object) | (Some(Slot::Json), _) => first == Some(b'{'),
            (Some(Slot::Envelope), Container::Array) => first == Some(b'['),
            (Some(Slot::Envelope), Container::Either) => matches!(first, Some(b'{' | b'[')),
            _ => true,
        }
    }
}

/// Whether JSON in `text` may be a call if calls have no marker: it has one of `keys`. `more`: calls follow, so JSON
/// that `text` leaves open would swallow them.
pub(crate) fn json_may_call(text: &str, keys: &[String], more: bool) -> bool {
    let mut at = 0;
    while let Some(start) = next_json(text, at, more) {
        let end = end_of_json(&text[start..]).map(|end| start + end);
        let json = &text[start..end.unwrap_or(text.len())];
        if json.contains("\\u") || keys.iter().any(|key| json.contains(&format!("\"{key}\""))) {
            return true;
        }
        match end {
            Some(end) => at = end,
            None => return more,
        }
    }
    false
}

/// The next position at or after `from` where a JSON object or list begins.
fn next_json(text: &str, from: usize, more: bool) -> Option<usize> {
    let brackets = text[from..].bytes().enumerate().filter(|(_, b)| matches!(b, b'{' | b'['));
    brackets.map(|(i, _)| from + i).find(|at| begins_json(&text[*at..], more))
}

/// Whether a JSON object or list begins with `text`.
fn begins_json(text: &str, more: bool) -> bool {
    let Some(inside) = text.strip_prefix(['{', '[']) else { return false };
    match inside.trim_start().bytes().next() {
        None => more,
        Some(b'"') => true,
        Some(b'}') => text.starts_with('{'),
        Some(next) => {
            text.starts_with('[') && matches!(next, b'{' | b'[' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
        }
    }
}

/// The position where the first brackets of `text` close; those inside strings do not count.
fn end_of_json(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::marker::is_markup;
    use crate::format::template::Template;

    #[test]
    fn a_literal_may_end_in_what_follows() {
        let mut literals = Literals::new(false);
        literals.add(["</a>", ""]);
        assert_eq!(literals.within("x</", "a>"), Some("</a>"));
        assert_eq!(literals.within("x</", "</a>"), None);
        assert_eq!(literals.within("x", "</a>"), None);
    }

    #[test]
    fn a_bracket_is_an_opening_only_with_its_head() {
        let block = Template::parse("[{calls}]").unwrap();
        let call = Template::parse("{name}({kwargs})").unwrap();
        assert!(!is_markup(block.first_literal().unwrap()));
        let parts = [&block.parts[..1], &call.parts[..2]].concat();
        let opening = HeaderPattern::new(&parts, call.body(), false).only_at_start(true);
        assert!(opening.begins_in(" [tide(x", "", &Limits::default()));
        assert!(!opening.begins_in("[1] See tide(x)", "", &Limits::default()));
        assert!(!opening.begins_in("As in [tide(x)]", "", &Limits::default()));
    }

    #[test]
    fn a_plain_word_is_an_opening_only_before_its_body() {
        let call = Template::parse("functools{envelope}").unwrap();
        let opening = HeaderPattern::new(&call.parts[..1], call.body(), false).container(Container::Array);
        assert!(opening.begins_in("import functools", "[{", &Limits::default()));
        assert!(!opening.begins_in("import functools, then [x]", "", &Limits::default()));
    }

    #[test]
    fn json_without_the_keys_is_no_call() {
        let keys = ["name".to_owned()];
        assert!(json_may_call("Take {\"name\": 1}", &keys, false));
        assert!(!json_may_call("Take {\"depth\": 1} or {x}", &keys, false));
        assert!(!json_may_call("[1] Take {\"depth\": 1} as \"name\".", &keys, true));
        assert!(json_may_call("Take {\"depth\": 1", &keys, true));
        assert!(json_may_call("Take [\"depth\"", &keys, true));
        assert!(json_may_call("Take [ ", &keys, true));
        assert!(!json_may_call("fn main() { run(); }", &keys, true));
    }
}
