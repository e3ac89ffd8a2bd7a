//! Texts cut as a vocabulary cuts them: o200k, and what a format writes around a message as entries of their own.

use std::collections::HashMap;

use unspool::{Delta, Vocabulary};

/// Ids of a format's own marks begin here, behind those of o200k.
const FIRST_MARK: u32 = 300_000;
/// Entries of a format's vocabulary that do not look like tags.
const OTHER_MARKS: [&str; 4] = ["]<]minimax[>[", "｜DSML｜", "<|\"|>", "<escape>"];

/// The marks of a format, by what it writes around a message that has none.
pub(crate) struct Marks(Vec<String>);

impl Marks {
    pub(crate) fn of(plain: &str) -> Self {
        let mut marks: Vec<String> = Vec::new();
        for (at, _) in plain.char_indices() {
            if let Some(len) = tag(&plain[at..]) {
                marks.push(plain[at..at + len].to_owned());
            }
        }
        marks.extend(OTHER_MARKS.iter().filter(|mark| plain.contains(**mark)).map(|mark| (*mark).to_owned()));
        marks.sort();
        marks.dedup();
        // The longest first, so that the first that fits is the right one.
        marks.sort_by_key(|mark| std::cmp::Reverse(mark.len()));
        Self(marks)
    }

    pub(crate) fn vocabulary(&self) -> Vocabulary {
        let special: HashMap<String, u32> = self.0.iter().cloned().zip(FIRST_MARK..).collect();
        Vocabulary { special, ..Vocabulary::default() }
    }

    /// The first mark in the text: where, how long, and its id.
    fn first(&self, text: &str) -> Option<(usize, usize, u32)> {
        let mark_at = |at: usize| {
            let mut marks = self.0.iter().zip(FIRST_MARK..);
            marks.find(|(mark, _)| text[at..].starts_with(mark.as_str())).map(|(mark, id)| (at, mark.len(), id))
        };
        text.char_indices().find_map(|(at, _)| mark_at(at))
    }
}

/// Length of the tag at the start: `<name>`, `</name>`, `<|name|>`, `<｜name｜>`, `[NAME]`.
fn tag(text: &str) -> Option<usize> {
    let (closer, inside): (char, fn(char) -> bool) = match text.chars().next()? {
        '<' => ('>', |c| c.is_ascii_alphanumeric() || "/|_:-｜▁".contains(c)),
        '[' => (']', |c| c.is_ascii_uppercase() || c == '_' || c == '/'),
        _ => return None,
    };
    let end = text[1..].find(|c| !inside(c)).map(|at| at + 1)?;
    (end > 1 && text[end..].starts_with(closer)).then_some(end + 1)
}

/// A text in tokens.
pub(crate) struct Tokens<'a> {
    text: &'a str,
    ids: Vec<u32>,
    /// Behind each token that ends with a whole character: its end in the text, and how many tokens there are up to here.
    borders: Vec<(usize, usize)>,
}

impl<'a> Tokens<'a> {
    pub(crate) fn of(text: &'a str, marks: &Marks) -> Self {
        let mut tokens = Self { text, ids: Vec::new(), borders: Vec::new() };
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let (plain, mark, id) = marks.first(rest).unwrap_or((rest.len(), 0, 0));
            tokens.plain(at, &rest[..plain]);
            at += plain + mark;
            if mark > 0 {
                tokens.ids.push(id);
                tokens.borders.push((at, tokens.ids.len()));
            }
        }
        tokens
    }

    fn plain(&mut self, start: usize, text: &str) {
        let bpe = tiktoken_rs::o200k_base_singleton();
        let mut end = start;
        for id in bpe.encode_ordinary(text) {
            end += bpe.decode_bytes(&[id]).expect("a token of this vocabulary").len();
            self.ids.push(id);
            // A character of several tokens comes with its last one, as servers send it.
            if self.text.is_char_boundary(end) {
                self.borders.push((end, self.ids.len()));
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.ids.len()
    }

    /// Deltas of this many tokens each.
    pub(crate) fn deltas(&self, each: usize, with_ids: bool) -> Vec<Delta<'_>> {
        let mut out = Vec::new();
        let mut from = (0, 0);
        for (at, border) in self.borders.iter().enumerate() {
            if border.1 - from.1 >= each || at + 1 == self.borders.len() {
                let ids = if with_ids { &self.ids[from.1..border.1] } else { &[] };
                out.push(Delta { text: Some(&self.text[from.0..border.0]), ids });
                from = *border;
            }
        }
        out
    }
}
