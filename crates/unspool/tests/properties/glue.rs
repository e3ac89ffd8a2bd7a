//! Texts glued from fragments of the corpus, with words between them that can be found again.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;

use crate::cuts::Piece;

/// First id of the tokens that spell single bytes.
pub(crate) const FIRST_BYTE_ID: u32 = 2_000_000;

/// The corpus as far as gluing needs it.
pub(crate) struct Source {
    pub(crate) names: Names,
    pub(crate) special: BTreeMap<String, u32>,
    pub(crate) tools: Value,
    pub(crate) config: Value,
    fragments: Vec<String>,
}

/// The two parsers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) reasoning: Option<String>,
    pub(crate) tools: Option<String>,
}

impl Names {
    fn has(&self, name: &str) -> bool {
        [&self.reasoning, &self.tools].into_iter().any(|half| half.as_deref() == Some(name))
    }
}

/// All cases, or those with one of the names in `UNSPOOL_NAMES`.
pub(crate) static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let folders = ["corpus", "cases"].map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name));
    let listed = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder of cases"));
    let mut files: Vec<_> = listed.map(|file| file.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).expect("a corpus file"));
    let mut sources: Vec<Source> = texts.flat_map(|text| text.lines().map(source).collect::<Vec<_>>()).collect();
    if let Ok(wanted) = std::env::var("UNSPOOL_NAMES") {
        sources.retain(|source| wanted.split(',').any(|name| source.names.has(name)));
    }
    assert!(!sources.is_empty(), "no case has a parser that UNSPOOL_NAMES asks for");
    sources
});

fn source(line: &str) -> Source {
    let case: Value = serde_json::from_str(line).expect("a case");
    let name = |field: &str| case[field].as_str().map(str::to_owned);
    Source {
        names: Names { reasoning: name("reasoning_parser"), tools: name("tool_parser") },
        special: serde_json::from_value(case["special_token_ids"].clone()).expect("ids by text"),
        tools: case["tools"].clone(),
        config: case.get("tokenizer_config").cloned().unwrap_or_default(),
        fragments: fragments(case["text"].as_str().expect("a text")),
    }
}

/// Cuts before openers and behind closers, and around white space: the places where something may go wrong.
fn fragments(text: &str) -> Vec<String> {
    let mut fragments: Vec<String> = Vec::new();
    let mut cut = true;
    for character in text.chars() {
        let opens = matches!(character, '<' | '[' | '{' | '(' | '"' | ' ' | '\n');
        match fragments.last_mut() {
            Some(last) if !cut && !opens => last.push(character),
            _ => fragments.push(character.to_string()),
        }
        cut = matches!(character, '>' | ']' | '}' | ')' | '\n' | ',' | ':');
    }
    fragments
}

/// One part of a glued text: some neighbouring fragments of a case, and whether a word stands behind them.
#[derive(Debug, Clone)]
struct Part {
    /// Whether the fragments are of the case that also gives the names.
    own: bool,
    source: prop::sample::Index,
    start: prop::sample::Index,
    length: usize,
    word: bool,
}

impl Part {
    fn text(&self, own: &Source) -> String {
        let source = if self.own { own } else { self.source.get(&SOURCES) };
        if source.fragments.is_empty() {
            return String::new();
        }
        let start = self.start.index(source.fragments.len());
        source.fragments.iter().skip(start).take(self.length).map(String::as_str).collect()
    }
}

/// A text, and the case whose names and vocabulary it is parsed with.
#[derive(Clone)]
pub(crate) struct Glued {
    pub(crate) names: Names,
    source: usize,
    parts: Vec<String>,
}

impl fmt::Display for Glued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Names { reasoning, tools } = &self.names;
        write!(f, "{reasoning:?} with {tools:?} over {:?}", self.text())
    }
}

impl fmt::Debug for Glued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Glued {
    pub(crate) fn source(&self) -> &'static Source {
        &SOURCES[self.source]
    }

    pub(crate) fn text(&self) -> String {
        self.parts.concat()
    }

    /// The words that were put between the fragments.
    pub(crate) fn words(&self) -> impl Iterator<Item = String> + '_ {
        (0..64).map(word).filter(|word| self.parts.contains(word))
    }

    /// The text as tokens: special tokens as their entries, everything else in threes of bytes.
    pub(crate) fn tokens(&self) -> Vec<Piece> {
        let text = self.text();
        let mut tokens = Vec::new();
        let mut rest = text.as_str();
        while let Some(character) = rest.chars().next() {
            let special = self.source().special.iter().find(|(special, _)| rest.starts_with(special.as_str()));
            let (length, ids) = match special {
                Some((special, id)) => (special.len(), vec![*id]),
                None => {
                    let bytes = &rest.as_bytes()[..character.len_utf8()];
                    (bytes.len(), bytes.iter().map(|byte| FIRST_BYTE_ID + u32::from(*byte)).collect())
                }
            };
            let (piece, after) = rest.split_at(length);
            let last = ids.len() - 1;
            tokens.extend(ids.into_iter().enumerate().map(|(index, id)| Piece {
                text: Some(if index == last { piece.to_owned() } else { String::new() }),
                ids: vec![id],
            }));
            rest = after;
        }
        tokens
    }
}

fn word(number: usize) -> String {
    format!("wq{number}x")
}

/// A glued text.
pub(crate) fn glued() -> impl Strategy<Value = Glued> {
    let part = (prop::bool::weighted(0.75), any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..14_usize)
        .prop_flat_map(|(own, source, start, length)| {
            prop::bool::weighted(0.4).prop_map(move |word| Part { own, source, start, length, word })
        });
    let foreign = prop::option::weighted(0.2, any::<prop::sample::Index>());
    (any::<prop::sample::Index>(), foreign, prop::collection::vec(part, 1..9)).prop_map(|(index, foreign, parts)| {
        let source = index.index(SOURCES.len());
        let mut names = SOURCES[source].names.clone();
        // Sometimes the reasoning half of another family.
        if let Some(other) = foreign.map(|other| other.get(&SOURCES)) {
            names.reasoning.clone_from(&other.names.reasoning);
        }
        let mut glued = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            glued.push(part.text(&SOURCES[source]));
            if part.word {
                glued.push(word(number));
            }
        }
        Glued { names, source, parts: glued }
    })
}

/// An output of the corpus with a word in every gap, or in some of them.
pub(crate) fn gapped() -> impl Strategy<Value = Glued> {
    let gaps = prop::collection::vec(prop::bool::weighted(0.5), 1..40);
    (any::<prop::sample::Index>(), any::<prop::sample::Index>(), gaps).prop_map(|(index, start, gaps)| {
        let source = index.index(SOURCES.len());
        let fragments = &SOURCES[source].fragments;
        let start = if fragments.is_empty() { 0 } else { start.index(fragments.len()) };
        // Half of them begin at the output's beginning.
        let start = if gaps.len() % 2 == 0 { 0 } else { start };
        let mut parts = Vec::new();
        for (number, gap) in gaps.iter().enumerate() {
            if *gap {
                parts.push(word(number));
            }
            parts.extend(fragments.get(start + number).cloned());
        }
        Glued { names: SOURCES[source].names.clone(), source, parts }
    })
}
