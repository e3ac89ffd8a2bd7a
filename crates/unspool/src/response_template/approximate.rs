//! Patterns for an automaton.
//!
//! Only an automaton knows whether a pattern may still match when more text comes, and automata support neither
//! look-around nor back-references. A pattern with these gets a wider one in addition, which matches wherever the
//! pattern may: look-around is removed, and a reference matches anything.

/// Converts Python's pattern syntax to that of the Rust engines.
pub(super) fn from_python(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(i) = rest.find('\\') {
        out.push_str(&rest[..i]);
        let escaped = rest[i + 1..].chars().next();
        match escaped {
            Some('Z') => out.push_str("\\z"),
            Some(c) => {
                out.push('\\');
                out.push(c);
            }
            None => out.push('\\'),
        }
        rest = &rest[i + 1 + escaped.map_or(0, char::len_utf8)..];
    }
    out.push_str(rest);
    out
}

/// Matches whatever a reference may match.
const ANYTHING: &str = "(?s:.*?)";

/// A pattern without look-around, word boundaries and back-references that matches wherever `pattern` does.
pub(super) fn wider(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let taken = if let Some(group) = ["(?=", "(?!", "(?<=", "(?<!"].iter().find(|g| rest.starts_with(**g)) {
            out.push_str("(?:)");
            group_len(rest, group.len())
        } else if rest.starts_with("(?P=") {
            out.push_str(ANYTHING);
            group_len(rest, 4)
        } else if rest.starts_with("(?>") {
            out.push_str("(?:");
            3
        } else if c == '[' {
            let len = class_len(rest);
            out.push_str(&rest[..len]);
            len
        } else if c == '\\' {
            copy_escape(rest, &mut out)
        } else {
            out.push(c);
            c.len_utf8()
        };
        rest = &rest[taken.min(rest.len())..];
    }
    out
}

/// Copies an escape if it consumes text; returns its length.
fn copy_escape(rest: &str, out: &mut String) -> usize {
    let Some(c) = rest[1..].chars().next() else {
        out.push('\\');
        return 1;
    };
    let len = 1 + c.len_utf8();
    match c {
        'b' | 'B' | 'A' | 'z' | 'Z' | 'G' => out.push_str("(?:)"),
        '1'..='9' => {
            out.push_str(ANYTHING);
            return len + rest[len..].bytes().take_while(u8::is_ascii_digit).count();
        }
        'k' | 'g' if rest[len..].starts_with(['<', '\'', '{']) => {
            out.push_str(ANYTHING);
            let end = rest[len + 1..].find(['>', '\'', '}']).map_or(rest.len(), |i| len + 1 + i + 1);
            return end;
        }
        _ => out.push_str(&rest[..len]),
    }
    len
}

/// Length of the group that begins at the start of `rest`; `opened` bytes of it are its opener.
fn group_len(rest: &str, opened: usize) -> usize {
    let mut depth = 1_usize;
    let mut at = opened;
    while let Some(c) = rest[at..].chars().next() {
        at += match c {
            '\\' => 1 + rest[at + 1..].chars().next().map_or(0, char::len_utf8),
            '[' => class_len(&rest[at..]),
            _ => c.len_utf8(),
        };
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Length of the character class that begins at the start of `rest`.
fn class_len(rest: &str) -> usize {
    let body = rest[1..].strip_prefix('^').unwrap_or(&rest[1..]);
    let mut at = rest.len() - body.len();
    let first = at;
    while let Some(c) = rest[at..].chars().next() {
        if c == ']' && at > first {
            return at + 1;
        }
        at += match c {
            '\\' => 1 + rest[at + 1..].chars().next().map_or(0, char::len_utf8),
            _ => c.len_utf8(),
        };
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_automaton_cannot_do_is_left_out() {
        for (pattern, expected) in [
            (r"<use fn=(?P<fn>[\w.]+)>", r"<use fn=(?P<fn>[\w.]+)>"),
            (r"a(?=b(c)[)])d", "a(?:)d"),
            (r"(?<!x\))<a>", "(?:)<a>"),
            (r"<(\w+)>x</\1>", r"<(\w+)>x</(?s:.*?)>"),
            (r"(?P<q>['])x(?P=q)", r"(?P<q>['])x(?s:.*?)"),
            (r"\bend\b\\b", r"(?:)end(?:)\\b"),
            (r"[]\]b]\(", r"[]\]b]\("),
            (r"(?>ab)\k<q>c", "(?:ab)(?s:.*?)c"),
        ] {
            assert_eq!(wider(pattern), expected, "{pattern}");
        }
        assert_eq!(from_python(r"a\Z\\Z"), r"a\z\\Z");
        for broken in ["(?=", "[", "[^", "\\", "(?P=", r"\k<"] {
            let _ = wider(broken);
        }
    }
}
