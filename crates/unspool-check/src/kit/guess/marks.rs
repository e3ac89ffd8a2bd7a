//! The markers around calls.

use std::ops::Range;

/// The markers around each call, and around all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outer {
    pub(super) open: String,
    pub(super) close: String,
    pub(super) between: Option<String>,
    pub(super) block: Option<(String, String)>,
}

/// The markers around the cores of some calls.
pub(super) fn around(text: &str, cores: &[Range<usize>]) -> Outer {
    let (Some(first), Some(last)) = (cores.first(), cores.last()) else { return Outer::default() };
    let open = &text[start_of_marks(text, first.start)..first.start];
    let close = &text[last.end..end_of_marks(text, last.end)];
    let gaps: Vec<&str> = cores.windows(2).map(|pair| &text[pair[0].end..pair[1].start]).collect();
    let Some(gap) = gaps.first() else {
        return single(open, close);
    };
    let own_open = common_suffix(open, gap);
    let own_close = common_prefix(close, gap);
    // The next call's opener must not count as this call's closer.
    let own_close = &own_close[..own_close.len().min(gap.len() - own_open.len())];
    let own_close = &own_close[..border(own_close, own_close.len())];
    let between = &gap[own_close.len()..gap.len() - own_open.len()];
    let block = (&open[..open.len() - own_open.len()], &close[own_close.len()..]);
    let has_block = !block.0.trim().is_empty() || !block.1.trim().is_empty();
    let (lead, own_open) = if has_block { (block.0, own_open.to_owned()) } else { ("", open.to_owned()) };
    Outer {
        open: own_open,
        close: own_close.to_owned(),
        between: Some(between.to_owned()).filter(|text| !text.trim().is_empty()),
        block: has_block.then(|| (lead.to_owned(), block.1.to_owned())),
    }
}

/// One call shows no block, except for a list of Python calls.
fn single(open: &str, close: &str) -> Outer {
    if let (Some(before), Some(behind)) = (open.strip_suffix('['), close.strip_prefix(")]")) {
        let block = (format!("{before}["), format!("]{behind}"));
        return Outer { close: ")".to_owned(), between: Some(", ".to_owned()), block: Some(block), ..Outer::default() };
    }
    Outer { open: open.to_owned(), close: close.to_owned(), ..Outer::default() }
}

/// The start of the markers before a position: tags, words in brackets, a fence, and attached words; including the
/// white space before the first.
fn start_of_marks(text: &str, at: usize) -> usize {
    let mut start = at;
    loop {
        let before = &text[..start];
        let trimmed = before.trim_end();
        let next = tag_before(trimmed).or_else(|| fence_before(trimmed)).or_else(|| glued_before(before));
        match next {
            Some(next) if next < start => start = next,
            _ => break,
        }
    }
    if start == at {
        return at;
    }
    let lead = text[..start].trim_end().len();
    if lead == 0 { start } else { lead }
}

/// The start of a tag, complete or open, at the end of a text.
fn tag_before(text: &str) -> Option<usize> {
    if text.ends_with(['>', ']']) {
        let opens = if text.ends_with('>') { '<' } else { '[' };
        let at = text.rfind(opens)?;
        let inner = &text[at + 1..text.len() - 1];
        // Words in brackets are a marker, sentences are not.
        return (inner.len() < 80
            && !inner.contains(['\n', '<', '>'])
            && !inner.trim().is_empty()
            && (opens == '<' || !inner.contains(' ')))
        .then_some(at);
    }
    if text.ends_with('[') {
        return Some(text.len() - 1);
    }
    // A tag that continues with the following text: `<do fn="`, `<function=`.
    let at = text.rfind('<')?;
    let open = &text[at..];
    (open.len() < 80 && !open.contains(['>', '\n']) && open.ends_with(['=', '"', '\'', ':', '/'])).then_some(at)
}

fn fence_before(text: &str) -> Option<usize> {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    text[line..].trim_start().starts_with("```").then(|| line + text[line..].find("```").unwrap_or(0))
}

/// A word that ends in a colon or a dot, directly after a marker or at the start of a line: `call:`, `functions.`.
fn glued_before(text: &str) -> Option<usize> {
    let word = text.strip_suffix([':', '.', '#', '@'])?;
    let start = word
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |at| at + word[at..].chars().next().map_or(1, char::len_utf8));
    // A word that ends in a dot without a marker before it ends a sentence.
    let marked = text[..start].ends_with(['>', ']'])
        || text.ends_with(':') && (text[..start].is_empty() || text[..start].ends_with('\n'));
    (marked && start < word.len()).then_some(start)
}

/// The end of the markers after a position.
fn end_of_marks(text: &str, at: usize) -> usize {
    let mut end = at;
    while let Some(next) = mark_behind(text, end) {
        end = next;
    }
    end
}

fn mark_behind(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let trimmed = rest.trim_start();
    let start = at + rest.len() - trimmed.len();
    let first = trimmed.chars().next()?;
    match first {
        ')' | ']' | '}' | '"' if start == at => Some(start + 1),
        ']' => Some(start + 1),
        '>' if start == at => Some(start + 1),
        '`' if trimmed.starts_with("```") => Some(start + 3),
        '/' if trimmed.starts_with("/>") => Some(start + 2),
        '<' | '[' => {
            let close = if first == '<' { '>' } else { ']' };
            let end = trimmed.find(close)?;
            let inner = &trimmed[1..end];
            (inner.len() < 80 && !inner.contains(['\n', ' ', '<']) && !inner.is_empty()).then_some(start + end + 1)
        }
        _ => None,
    }
}

fn common_suffix<'a>(a: &'a str, b: &str) -> &'a str {
    let same: usize = a.chars().rev().zip(b.chars().rev()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum();
    let start = a.len() - same;
    // It begins at the start of a marker.
    let at = (start..=a.len()).find(|at| a.is_char_boundary(*at) && begins_mark(a, *at)).unwrap_or(a.len());
    &a[at..]
}

fn begins_mark(text: &str, at: usize) -> bool {
    at == text.len()
        || at == 0
        || text[at..].starts_with(['<', '[', '\n', '`'])
        || text[..at].ends_with(['>', ']', '\n'])
}

fn common_prefix<'a>(a: &'a str, b: &str) -> &'a str {
    let same: usize = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum();
    &a[..border(a, same)]
}

/// The last position up to `most` after a marker.
fn border(text: &str, most: usize) -> usize {
    let ends = |at: &usize| {
        *at == 0
            || text.is_char_boundary(*at)
                && (text[..*at].ends_with(['>', ']', ')', '\n', '`', '}', '"']) || *at == text.len())
    };
    (0..=most).rev().find(ends).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, cores: &[&str]) -> Outer {
        let mut from = 0;
        let ranges: Vec<Range<usize>> = cores
            .iter()
            .map(|core| {
                let at = from + text[from..].find(core).expect("it is there");
                from = at + core.len();
                at..from
            })
            .collect();
        around(text, &ranges)
    }

    fn told(outer: &Outer) -> (&str, &str, Option<&str>, Option<(&str, &str)>) {
        let block = outer.block.as_ref().map(|(open, close)| (open.as_str(), close.as_str()));
        (&outer.open, &outer.close, outer.between.as_deref(), block)
    }

    #[test]
    fn one_call_keeps_its_marks() {
        assert_eq!(told(&of("Well.\n<go>\nCORE\n</go>\n", &["CORE"])), ("\n<go>\n", "\n</go>", None, None));
        assert_eq!(
            told(&of("<|a|><|b|>call:CORE<|e|><|f|>", &["CORE"])),
            ("<|a|><|b|>call:", "<|e|><|f|>", None, None)
        );
        assert_eq!(told(&of("I say <do fn=\"CORE</do> so.", &["CORE"])), (" <do fn=\"", "</do>", None, None));
        assert_eq!(told(&of("A sentence. CORE more", &["CORE"])), ("", "", None, None));
        assert_eq!(told(&of("[CORE)]", &["CORE"])), ("", ")", Some(", "), Some(("[", "]"))));
    }

    #[test]
    fn what_calls_have_in_common_is_each_ones() {
        let text = "<all><one>A</one><one>B</one></all>";
        assert_eq!(told(&of(text, &["A", "B"])), ("<one>", "</one>", None, Some(("<all>", "</all>"))));
        assert_eq!(told(&of("<c>\nA\n</c>\n<c>\nB\n</c>", &["A", "B"])), ("<c>\n", "\n</c>", None, None));
        assert_eq!(told(&of("[A), B)]", &["A", "B"])), ("", ")", Some(", "), Some(("[", "]"))));
        assert_eq!(told(&of("<all>A;B</all>", &["A", "B"])), ("", "", Some(";"), Some(("<all>", "</all>"))));
    }
}
