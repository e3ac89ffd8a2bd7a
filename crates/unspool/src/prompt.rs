//! Where a reply begins, from what the prompt of this turn says about thinking.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use memchr::{memmem, memrchr};

use crate::flow::numbered::TrailId;
use crate::flow::state::{Place, State};
use crate::flow::tables::Tables;
use crate::format::file::StartState;
use crate::format::marker::Marker;
use crate::request::{Prompt, PromptToken};
use crate::setup::Vocabulary;

/// A prompt as text, and its tokens if they are known.
pub(crate) struct PromptText<'p> {
    pub(crate) text: Cow<'p, str>,
    tokens: Option<Vec<TokenAt>>,
}

/// A token and its position in the text.
struct TokenAt {
    at: usize,
    end: usize,
    id: u32,
}

/// The known facts about where a reply begins.
pub(crate) enum Known<'p> {
    Nothing,
    /// Its prompt.
    Prompt(PromptText<'p>),
    /// The thought has ended.
    Content,
    /// A thought is open.
    Reasoning,
}

impl<'p> Known<'p> {
    pub(crate) fn of(prompt: Prompt<'p>, vocabulary: &Vocabulary) -> Self {
        match prompt {
            Prompt::Unknown => Self::Nothing,
            Prompt::Content => Self::Content,
            Prompt::Reasoning => Self::Reasoning,
            Prompt::Text(text) => Self::Prompt(PromptText { text: text.into(), tokens: None }),
            Prompt::Tokens(tokens) => Self::Prompt(PromptText::new(tokens, vocabulary)),
            Prompt::Ids(ids) => Self::Prompt(PromptText::new(&tokens(ids, vocabulary), vocabulary)),
        }
    }
}

/// Placeholder for the text of a token whose bytes are unknown.
pub(crate) const SOME_TEXT: &str = "\u{fffd}";

/// The tokens of a prompt, with their bytes from the vocabulary.
pub(crate) fn tokens(ids: &[u32], vocabulary: &Vocabulary) -> Vec<PromptToken> {
    let special: HashMap<u32, &str> = vocabulary.special.iter().map(|(text, id)| (*id, text.as_str())).collect();
    let bytes = |id: u32| {
        let known = vocabulary.bytes.as_ref().and_then(|table| table.get(id));
        known.or_else(|| special.get(&id).map(|text| text.as_bytes())).unwrap_or(SOME_TEXT.as_bytes()).to_vec()
    };
    ids.iter().map(|&id| PromptToken { id, bytes: bytes(id) }).collect()
}

impl PromptText<'_> {
    fn new(tokens: &[PromptToken], vocabulary: &Vocabulary) -> Self {
        let texts = special_texts(tokens, vocabulary);
        let mut bytes = Vec::new();
        let mut places = Vec::with_capacity(tokens.len());
        for token in tokens {
            let at = bytes.len();
            bytes.extend_from_slice(texts.get(&token.id).map_or(&*token.bytes, |text| text.as_bytes()));
            places.push(TokenAt { at, end: bytes.len(), id: token.id });
        }
        match String::from_utf8(bytes) {
            Ok(text) => Self { text: text.into(), tokens: Some(places) },
            // Offsets would not match a repaired text; markers then count by text.
            Err(e) => Self { text: String::from_utf8_lossy(e.as_bytes()).into_owned().into(), tokens: None },
        }
    }
}

/// The texts of a prompt's special tokens. A client that decodes without them sends an empty or a different text for
/// each.
fn special_texts<'a>(tokens: &[PromptToken], vocabulary: &'a Vocabulary) -> HashMap<u32, &'a str> {
    let there: HashSet<u32> = tokens.iter().map(|token| token.id).collect();
    let mut texts: HashMap<u32, &str> = HashMap::new();
    for (text, id) in vocabulary.special.iter().filter(|(_, id)| there.contains(id)) {
        // Two texts for one id are the client's mistake; the choice must still be deterministic.
        texts.entry(*id).and_modify(|known| *known = (*known).min(text)).or_insert(text);
    }
    texts
}

/// The meaning of the newest thinking marker of this turn.
enum Said {
    Nothing,
    /// A thought is open: the text after its opener, and the index of its template.
    Open(String, usize),
    /// The thought has ended: the text after its closer.
    Closed(String, usize),
}

/// The state of a reply at its start, and whether the gate is already open.
pub(crate) fn start(tables: &Tables, vocabulary: &Vocabulary, known: &Known<'_>, off: bool) -> (State, bool) {
    if let Some(channels) = &tables.channels {
        return match known {
            Known::Nothing => channels.start(""),
            Known::Prompt(prompt) => channels.start(&prompt.text),
            // It is unknown whether the prompt has the answer's header; text without one is an answer too.
            Known::Content => (State::new(Place::Header), true),
            Known::Reasoning => (State::new(Place::ReasonFresh), false),
        };
    }
    let words = &tables.words;
    let said = match known {
        Known::Prompt(prompt) if words.has_thoughts => read(tables, vocabulary, prompt),
        Known::Content if words.has_thoughts => Said::Closed(String::new(), 0),
        Known::Reasoning if words.has_thoughts => Said::Open(String::new(), 0),
        _ => Said::Nothing,
    };
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

/// A reply that begins in a thought opened by the prompt.
fn open(tables: &Tables, behind: &str, thought: usize) -> State {
    let mut state = State::new(Place::ReasonFresh);
    state.opener_due = tables.words.into_content;
    state.strip = leftover(tables, &tables.thoughts[thought].0, behind);
    if !behind.trim().is_empty() && state.strip.is_none() && !is_trail(&tables.thoughts[thought].0, behind) {
        // The prompt has opened the thought itself.
        state.place = Place::Reason;
        state.fresh = false;
    }
    state
}

fn is_trail(marker: &Marker, behind: &str) -> bool {
    let all: String = marker.trail.iter().map(|s| &*s.text).collect();
    all.starts_with(behind)
}

/// White space that may still be stripped after a marker at the end of the prompt.
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

/// The newest thinking marker of a turn.
struct Newest {
    at: usize,
    end: usize,
    opens: bool,
    /// Index of the thought template.
    thought: usize,
}

fn read(tables: &Tables, vocabulary: &Vocabulary, prompt: &PromptText<'_>) -> Said {
    let Some(newest) = newest(tables, vocabulary, (prompt, turn(tables, prompt))) else { return Said::Nothing };
    let behind = prompt.text[newest.end..].to_owned();
    if newest.opens { Said::Open(behind, newest.thought) } else { Said::Closed(behind, newest.thought) }
}

/// Where this turn begins.
fn turn(tables: &Tables, prompt: &PromptText<'_>) -> usize {
    let mut turn = 0_usize;
    for header in &tables.words.turn {
        // A header that ends before the best one does not count.
        let from = (turn + 1).saturating_sub(header.len());
        if let Some(at) = last_of(&prompt.text.as_bytes()[from..], header.as_bytes()) {
            turn = turn.max(from + at + header.len());
        }
    }
    turn
}

/// The last position of a text. Searches backwards, because a turn's header is near the end.
fn last_of(text: &[u8], sought: &[u8]) -> Option<usize> {
    let first = *sought.first()?;
    let mut end = text.len().checked_sub(sought.len())? + 1;
    while let Some(at) = memrchr(first, &text[..end]) {
        if text[at..].starts_with(sought) {
            return Some(at);
        }
        end = at;
    }
    None
}

fn newest(tables: &Tables, vocabulary: &Vocabulary, (prompt, turn): (&PromptText<'_>, usize)) -> Option<Newest> {
    let mut newest: Option<Newest> = None;
    for (thought, (opener, closer)) in tables.thoughts.iter().enumerate() {
        for (marker, opens) in [(opener, true), (closer, false)] {
            let Some((at, end)) = last(prompt, marker, turn, vocabulary, tables.words.by_id) else { continue };
            if newest.as_ref().is_none_or(|best| at > best.at) {
                newest = Some(Newest { at, end, opens, thought });
            }
        }
    }
    newest
}

/// Whether one of these tokens is in this turn, after its newest thinking marker if it has one.
pub(crate) fn stands_behind_thinking(
    tables: &Tables,
    vocabulary: &Vocabulary,
    prompt: &PromptText<'_>,
    ids: &BTreeSet<u32>,
) -> bool {
    let turn = turn(tables, prompt);
    let from = newest(tables, vocabulary, (prompt, turn)).map_or(turn, |newest| newest.end);
    let mut tokens = prompt.tokens.iter().flatten().skip_while(|token| token.at < from);
    tokens.any(|token| ids.contains(&token.id))
}

/// The range of the last marker after `from`; as a token if it is one and tokens are known.
fn last(
    prompt: &PromptText<'_>,
    marker: &Marker,
    from: usize,
    vocabulary: &Vocabulary,
    by_id: bool,
) -> Option<(usize, usize)> {
    if marker.literal.is_empty() {
        return None;
    }
    let id = vocabulary.special.get(&marker.literal).filter(|_| by_id);
    if let (Some(tokens), Some(id)) = (&prompt.tokens, id) {
        let found = tokens.iter().rev().take_while(|token| token.at >= from).find(|token| token.id == *id);
        return found.map(|token| (token.at, token.end));
    }
    let at = from + memmem::rfind(&prompt.text.as_bytes()[from..], marker.literal.as_bytes())?;
    Some((at, at + marker.literal.len()))
}
