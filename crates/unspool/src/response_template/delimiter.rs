//! Openers and closers of a region: literals or a pattern, and the search for them in incomplete text.

use std::fmt;
use std::ops::Range;

use fancy_regex::{Regex, RegexBuilder};
use regex_automata::Anchored;
use regex_automata::MatchKind;
use regex_automata::dfa::Automaton;
use regex_automata::dfa::StartKind;
use regex_automata::dfa::dense::{self, DFA};
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};

use super::approximate::{from_python, wider};
use crate::limits::Limits;
use crate::scan::FirstBytes;

/// Maximum number of bytes before and after a match for look-around.
pub(super) const LOOK_AROUND: usize = 64;
/// Maximum number of backtracking steps for one match: a lazy value takes one per byte.
const MOST_BACKTRACKS: usize = 5_000_000;
/// Maximum memory of a pattern's automaton, in bytes.
const MOST_MEMORY: usize = 32 << 20;

/// Opener or closer of a region.
#[derive(Debug)]
pub(super) enum Delimiter {
    /// Literals, longest first.
    Literals { texts: Vec<String>, first: FirstBytes },
    /// A pattern.
    Pattern(Box<Pattern>),
}

/// A pattern of a template.
pub(super) struct Pattern {
    source: String,
    /// Decides how far a match may extend.
    dfa: DFA<Vec<u32>>,
    /// The automaton's pattern is the pattern itself.
    exact: bool,
    /// Finds the match at a position, and its captures.
    regex: Regex,
    /// Bytes that may begin a match; `None`: it may be empty.
    first: Option<FirstBytes>,
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.regex.as_str()).finish()
    }
}

/// The text to search for delimiters.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) text: &'a str,
    /// The end of the text before it.
    pub(super) before: &'a str,
    /// No text follows.
    pub(super) eof: bool,
    pub(super) limits: &'a Limits,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hit {
    Match(Range<usize>),
    /// A match may begin here; more text decides.
    Pending(usize),
    None,
}

/// The result at one position.
enum At {
    No,
    Pending,
    /// A match that ends here.
    Match(usize),
    /// A possible match exceeds the maximum length at this position: it is text.
    TooLong(usize),
}

/// The states of a failed attempt, by position. An attempt that reaches the same state at the same position fails as
/// well. So a run of white space before a marker that may begin with white space is read once, not once per byte.
#[derive(Default)]
struct Trail {
    from: usize,
    states: Vec<StateID>,
}

impl Trail {
    /// Shorter failed attempts are not recorded.
    const SHORTEST: usize = 8;

    fn meets(&self, at: usize, state: StateID) -> bool {
        at.checked_sub(self.from).and_then(|i| self.states.get(i)) == Some(&state)
    }
}

impl Delimiter {
    pub(super) fn literals(mut texts: Vec<String>) -> Self {
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        let first = FirstBytes::new(texts.iter().filter_map(|t| t.bytes().next()));
        Self::Literals { texts, first }
    }

    /// The first position at or after `from` where the delimiter is, or may be when more text comes.
    pub(super) fn find(&self, view: View<'_>, from: usize) -> Hit {
        let bytes = view.text.as_bytes();
        let first = match self {
            Self::Literals { first, .. } => Some(first),
            Self::Pattern(pattern) => pattern.first.as_ref(),
        };
        let mut at = from;
        let mut trail = Trail::default();
        loop {
            match first {
                Some(first) => match first.find(bytes, at) {
                    Some(found) => at = found,
                    None => return Hit::None,
                },
                None => {
                    while at < bytes.len() && !view.text.is_char_boundary(at) {
                        at += 1;
                    }
                }
            }
            let found = match self {
                Self::Literals { texts, .. } => literal_at(texts, view, at),
                Self::Pattern(pattern) => pattern.at(view, at, &mut trail),
            };
            match found {
                At::Match(end) => return Hit::Match(at..end),
                At::Pending => return Hit::Pending(at),
                At::TooLong(end) => at = next_border(view.text, end),
                At::No if at >= bytes.len() => return Hit::None,
                At::No => at += 1,
            }
        }
    }

    /// The named captures of a match.
    pub(super) fn captures(&self, view: View<'_>, at: &Range<usize>) -> Vec<(String, String)> {
        let Self::Pattern(pattern) = self else { return Vec::new() };
        let end = if pattern.exact { at.end } else { (at.end + LOOK_AROUND).min(view.text.len()) };
        let (window, start) = window(view, at.start, end);
        let Ok(Some(found)) = pattern.regex.captures_from_pos(window.as_str(), start) else { return Vec::new() };
        let names = pattern.regex.capture_names().flatten();
        names.filter_map(|name| Some((name.to_owned(), found.name(name)?.as_str().to_owned()))).collect()
    }

    /// Names of the groups.
    pub(super) fn groups(&self) -> Vec<String> {
        match self {
            Self::Literals { .. } => Vec::new(),
            Self::Pattern(pattern) => pattern.regex.capture_names().flatten().map(str::to_owned).collect(),
        }
    }

    /// Whether it may match the empty text.
    pub(super) fn may_be_empty(&self) -> bool {
        matches!(self, Self::Pattern(pattern) if pattern.first.is_none())
    }
}

fn literal_at(texts: &[String], view: View<'_>, at: usize) -> At {
    let rest = &view.text.as_bytes()[at..];
    for text in texts {
        if rest.starts_with(text.as_bytes()) {
            return At::Match(at + text.len());
        }
        if !view.eof && text.as_bytes().starts_with(rest) {
            return At::Pending;
        }
    }
    At::No
}

/// The text from `at` to `end` with preceding text, and the position of `at` in it.
fn window(view: View<'_>, at: usize, mut end: usize) -> (String, usize) {
    let from = next_border(view.text, at.saturating_sub(LOOK_AROUND));
    let more = next_border(view.before, view.before.len().saturating_sub(LOOK_AROUND.saturating_sub(at)));
    while !view.text.is_char_boundary(end) {
        end -= 1;
    }
    let before = view.before.get(more..).unwrap_or_default();
    (format!("{before}{}", view.text.get(from..end).unwrap_or_default()), before.len() + at - from)
}

/// The first character boundary at or after `at`.
pub(super) fn next_border(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// A pattern for complete texts: contents, anchors.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    build(&format!("(?s:{})", from_python(pattern)))
}

fn build(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).backtrack_limit(MOST_BACKTRACKS).build().map_err(|e| e.to_string())
}

fn automaton(pattern: &str, kind: MatchKind) -> Option<DFA<Vec<u32>>> {
    let config = dense::Config::new()
        .match_kind(kind)
        .start_kind(StartKind::Anchored)
        .dfa_size_limit(Some(MOST_MEMORY))
        .determinize_size_limit(Some(MOST_MEMORY));
    let syntax = syntax::Config::new().dot_matches_new_line(true);
    dense::Builder::new().configure(config).syntax(syntax).build(pattern).ok()
}

impl Pattern {
    /// The original pattern, in the syntax of the Rust engines.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let pattern = from_python(pattern);
        let regex = build(&format!("\\G(?s:{pattern})"))?;
        let exact = automaton(&pattern, MatchKind::LeftmostFirst);
        let is_exact = exact.is_some();
        let dfa = exact
            .or_else(|| automaton(&wider(&pattern), MatchKind::All))
            .ok_or("it needs more memory than a pattern may have, or uses what no pattern here can")?;
        let first = first_bytes(&dfa)?;
        Ok(Self { source: pattern, dfa, exact: is_exact, regex, first })
    }

    /// Matches at `at`.
    fn at(&self, view: View<'_>, at: usize, trail: &mut Trail) -> At {
        let bytes = view.text.as_bytes();
        let before = at.checked_sub(1).map_or(view.before.as_bytes().last(), |i| bytes.get(i)).copied();
        let Some(mut state) = start_state(&self.dfa, before) else { return At::No };
        let longest = view.limits.blank + view.limits.name;
        let limit = at + longest.min(bytes.len() - at);
        let mut states = Vec::new();
        let mut end = None;
        for (i, &byte) in bytes[at..limit].iter().enumerate() {
            state = self.dfa.next_state(state, byte);
            if self.dfa.is_special_state(state) {
                if self.dfa.is_match_state(state) {
                    end = Some(at + i);
                } else if self.dfa.is_dead_state(state) || self.dfa.is_quit_state(state) {
                    if end.is_none() && !states.is_empty() {
                        *trail = Trail { from: at + Trail::SHORTEST, states };
                    }
                    return self.decide(view, at, end, at + i);
                }
            }
            if end.is_none() && i >= Trail::SHORTEST {
                if trail.meets(at + i, state) {
                    return At::No;
                }
                states.push(state);
            }
        }
        if limit < bytes.len() {
            return if end.is_none() { At::TooLong(limit) } else { self.decide(view, at, end, limit) };
        }
        let ends_here = self.dfa.is_match_state(self.dfa.next_eoi_state(state));
        if ends_here && (view.eof || self.exact && self.cannot_go_on(state)) {
            return self.decide(view, at, Some(limit), limit);
        }
        if view.eof || self.exact && end.is_some() && self.is_over(state) {
            return self.decide(view, at, end, limit);
        }
        At::Pending
    }

    /// Decides after the automaton has read up to `stopped` and found a match that ends at `end`.
    fn decide(&self, view: View<'_>, at: usize, end: Option<usize>, stopped: usize) -> At {
        match end {
            None => At::No,
            Some(end) if self.exact => At::Match(end),
            Some(_) => self.confirm(view, at, stopped),
        }
    }

    /// The wider pattern stops at `stopped`: the pattern itself decides once all text for its look-around is there.
    fn confirm(&self, view: View<'_>, at: usize, stopped: usize) -> At {
        let seen = stopped + LOOK_AROUND;
        if seen > view.text.len() && !view.eof {
            return At::Pending;
        }
        let (window, start) = window(view, at, seen.min(view.text.len()));
        match self.regex.find_from_pos(window.as_str(), start) {
            Ok(Some(found)) if found.start() == start => At::Match(at + found.end() - start),
            _ => At::No,
        }
    }

    /// Whether the match that ends before the next byte does not depend on that byte.
    fn cannot_go_on(&self, state: StateID) -> bool {
        let is_last = |next: StateID| self.dfa.is_match_state(next) && self.is_over(next);
        (0..=u8::MAX).all(|byte| is_last(self.dfa.next_state(state, byte)))
    }

    /// Whether no byte continues from here.
    fn is_over(&self, state: StateID) -> bool {
        (0..=u8::MAX).all(|byte| self.dfa.is_dead_state(self.dfa.next_state(state, byte)))
    }
}

fn start_state(dfa: &DFA<Vec<u32>>, before: Option<u8>) -> Option<StateID> {
    dfa.start_state(&start::Config::new().look_behind(before).anchored(Anchored::Yes)).ok()
}

/// The bytes that may begin a match; `None` if a match may be empty.
fn first_bytes(dfa: &DFA<Vec<u32>>) -> Result<Option<FirstBytes>, String> {
    let mut first = [false; 256];
    for before in std::iter::once(None).chain((0..=u8::MAX).map(Some)) {
        let start = start_state(dfa, before).ok_or("its automaton has no start")?;
        if dfa.is_match_state(dfa.next_eoi_state(start)) {
            return Ok(None);
        }
        for byte in 0..=u8::MAX {
            let next = dfa.next_state(start, byte);
            if dfa.is_match_state(next) {
                return Ok(None);
            }
            first[usize::from(byte)] |= !dfa.is_dead_state(next);
        }
    }
    Ok(Some(FirstBytes::new((0..=u8::MAX).filter(|b| first[usize::from(*b)]))))
}
