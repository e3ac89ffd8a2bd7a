//! Where a reply begins: what the prompt of this turn says about thinking.

use memchr::memmem;

use crate::flow::numbered::TrailId;
use crate::flow::state::{Place, State};
use crate::flow::tables::Tables;
use crate::format::file::StartState;
use crate::format::marker::Marker;
use crate::request::{Prompt, PromptText};
use crate::setup::Vocabulary;

/// What the newest thinking marker of this turn says.
enum Said {
    Nothing,
    /// A thought is open; the text behind its opener, and which thought template.
    Open(String, usize),
    /// The thought is over; the text behind its closer.
    Closed(String, usize),
}

/// The state of a reply at its start, and whether the gate is open from there.
pub(crate) fn start(tables: &Tables, vocabulary: &Vocabulary, prompt: Prompt<'_>, off: bool) -> (State, bool) {
    if let Some(channels) = &tables.channels {
        return channels.start(prompt);
    }
    let words = &tables.words;
    let said = if words.has_thoughts { read(tables, vocabulary, prompt) } else { Said::Nothing };
    match said {
        Said::Open(behind, thought) => (open(tables, &behind, thought), false),
        Said::Closed(behind, thought) => {
            let place = if words.one_block { Place::After } else { Place::Content };
            let mut state = State::new(place);
            state.thought_done = true;
            state.strip = leftover(tables, &tables.thoughts[thought].1, &behind);
            (state, true)
        }
        Said::Nothing if off || !words.has_thoughts => (State::new(first_place(words.start, true)), true),
        Said::Nothing => {
            let mut state = State::new(first_place(words.start, false));
            state.opener_due = words.into_content && state.place.thinks();
            (state, false)
        }
    }
}

fn first_place(start: StartState, off: bool) -> Place {
    match start {
        StartState::Reasoning if off => Place::Wait,
        StartState::Reasoning => Place::ReasonFresh,
        StartState::Content => Place::Wait,
        StartState::Header => Place::Header,
    }
}

/// A reply that begins in a thought which the prompt opened.
fn open(tables: &Tables, behind: &str, thought: usize) -> State {
    let mut state = State::new(Place::ReasonFresh);
    state.opener_due = tables.words.into_content;
    state.strip = leftover(tables, &tables.thoughts[thought].0, behind);
    if !behind.trim().is_empty() && state.strip.is_none() && !is_trail(&tables.thoughts[thought].0, behind) {
        // The prompt has begun the thought itself.
        state.place = Place::Reason;
        state.fresh = false;
    }
    state
}

fn is_trail(marker: &Marker, behind: &str) -> bool {
    let all: String = marker.trail.iter().map(|s| &*s.text).collect();
    all.starts_with(behind)
}

/// What may still be stripped behind a marker that ends the prompt.
fn leftover(tables: &Tables, marker: &Marker, behind: &str) -> Option<(TrailId, usize)> {
    let trail = tables.trails.position(|t| *t == marker.trail)?;
    let mut rest = behind;
    for (i, strip) in marker.trail.iter().enumerate() {
        if rest.is_empty() {
            return Some((trail, i));
        }
        rest = rest.strip_prefix(&*strip.text).unwrap_or(rest);
    }
    None
}

fn read(tables: &Tables, vocabulary: &Vocabulary, prompt: Prompt<'_>) -> Said {
    let Some(prompt) = prompt.text() else { return Said::Nothing };
    let turn = tables
        .words
        .turn
        .iter()
        .filter_map(|t| memmem::rfind(prompt.text.as_bytes(), t.as_bytes()).map(|at| at + t.len()))
        .max()
        .unwrap_or(0);
    let mut newest: Option<(usize, Said)> = None;
    for (i, (opener, closer)) in tables.thoughts.iter().enumerate() {
        for (marker, opens) in [(opener, true), (closer, false)] {
            let Some(at) = last(&prompt, marker, turn, vocabulary, tables.words.by_id) else { continue };
            if newest.as_ref().is_none_or(|(best, _)| at > *best) {
                let behind = prompt.text[at + marker.literal.len()..].to_owned();
                newest = Some((at, if opens { Said::Open(behind, i) } else { Said::Closed(behind, i) }));
            }
        }
    }
    newest.map_or(Said::Nothing, |(_, said)| said)
}

/// The last place of a marker behind `from`; as a token if it is one and tokens are known.
fn last(prompt: &PromptText, marker: &Marker, from: usize, vocabulary: &Vocabulary, by_id: bool) -> Option<usize> {
    if marker.literal.is_empty() {
        return None;
    }
    let id = vocabulary.special.get(&marker.literal).filter(|_| by_id);
    if let (Some(tokens), Some(id)) = (&prompt.tokens, id) {
        return tokens.iter().rev().take_while(|(at, _)| *at >= from).find(|(_, t)| t == id).map(|(at, _)| *at);
    }
    memmem::rfind(&prompt.text.as_bytes()[from..], marker.literal.as_bytes()).map(|at| from + at)
}
