//! Finds which bytes of a delta belong to which of its ids; [`crate::unaligned`] handles ids that come before their
//! text.
//!
//! If the tokens' bytes are unknown, only special tokens need an exact position, because thinking markers count by id.
//! The search goes in order. A position counts if there is text before it exactly when there are other tokens before
//! it, and likewise after it. If a backend omitted a special token's text, the text is restored at the position that
//! the ids show.

use crate::flow::tokens::Tokens;
use crate::plan::Plan;
use crate::special::Specials;

/// Receives tokens with their text.
pub(crate) trait TokenSink {
    /// The known facts about tokens.
    fn plan(&self) -> &Plan;

    /// Whether nothing has come yet.
    fn is_at_start(&self) -> bool;

    /// Takes the tokens of a delta whose text and ids came together; which text belongs to which token is unknown.
    fn together(&mut self, text: &str, ids: &[u32]);

    /// Takes ordinary tokens with unknown boundaries, and their text.
    fn ordinary(&mut self, text: &str, ids: &[u32]);

    /// Takes a token with its visible text.
    fn token(&mut self, id: u32, text: &str);

    /// Takes a special token; `shown` says whether its text is present or was omitted.
    fn special(&mut self, id: u32, shown: bool);
}

/// The destination of a parser's aligned tokens and their text.
pub(crate) struct Aligned<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) tokens: &'a mut Tokens,
    /// The text without hidden tokens and with restored ones.
    pub(crate) kept: &'a mut String,
}

impl TokenSink for Aligned<'_> {
    fn plan(&self) -> &Plan {
        self.plan
    }

    fn is_at_start(&self) -> bool {
        self.tokens.end == 0
    }

    /// Splits by the possible positions of the special tokens.
    fn together(&mut self, text: &str, ids: &[u32]) {
        let specials = &self.plan.special;
        let places = places(text, ids, specials);
        let (mut at, mut from, mut next) = (0, 0, 0);
        for (i, &id) in ids.iter().enumerate() {
            let Some(special) = specials.text(id) else { continue };
            let place = places[next];
            next += 1;
            let end = match place {
                Some(place) => place,
                // Left out by the backend: it stood behind the tokens before it.
                None => at + share(text, at, (i - from, &ids[i + 1..]), (specials, &places[next..])),
            };
            self.ordinary(&text[at..end], &ids[from..i]);
            from = i + 1;
            at = end + place.map_or(0, |_| special.text.len());
            self.special(id, place.is_some());
        }
        self.ordinary(&text[at..], &ids[from..]);
    }

    fn ordinary(&mut self, text: &str, ids: &[u32]) {
        ordinary(text, ids.len(), self.tokens);
        self.kept.push_str(text);
    }

    fn token(&mut self, id: u32, text: &str) {
        if self.plan.special.contains(id) {
            self.special(id, true);
        } else {
            self.tokens.push(text.len());
            self.kept.push_str(text);
        }
    }

    /// Restores omitted text if the format needs it.
    fn special(&mut self, id: u32, shown: bool) {
        let Some(special) = self.plan.special.text(id) else { return };
        if special.hidden || !shown && !special.used {
            self.tokens.push_hidden();
        } else {
            self.tokens.mark(self.tokens.end, id);
            self.tokens.push(special.text.len());
            self.kept.push_str(&special.text);
        }
    }
}

/// The position of each special token of the delta, in order; `None`: its text was omitted.
///
/// If every such text occurs exactly as often as its token, the order determines all. Otherwise some are spelled with
/// ordinary tokens, or were omitted, and [`best_places`] decides.
pub(crate) fn places(text: &str, ids: &[u32], specials: &Specials) -> Vec<Option<usize>> {
    let wanted: Vec<(usize, &str)> =
        ids.iter().enumerate().filter_map(|(i, id)| specials.text(*id).map(|s| (i, s.text.as_str()))).collect();
    if let Some(in_order) = in_order(text, &wanted, ids.len()) {
        return in_order;
    }
    let nodes: Vec<Node> = wanted
        .iter()
        .enumerate()
        .filter(|(_, (_, t))| !t.is_empty())
        .flat_map(|(special, (token, t))| {
            text.match_indices(t).map(move |(at, _)| Node { special, token: *token, at, end: at + t.len() })
        })
        .collect();
    /// Above this, comparing all chains takes too long.
    const MOST: usize = 512;
    if nodes.len() > MOST {
        return first_places(text, &wanted);
    }
    best_places(text, ids.len(), wanted.len(), &nodes)
}

/// The positions in order, if no text occurs more often than its token.
fn in_order(text: &str, wanted: &[(usize, &str)], count: usize) -> Option<Vec<Option<usize>>> {
    for (i, (_, t)) in wanted.iter().enumerate() {
        let seen_before = wanted[..i].iter().any(|(_, other)| other == t);
        if !seen_before && text.matches(t).count() != wanted.iter().filter(|(_, other)| other == t).count() {
            return None;
        }
    }
    let places = first_places(text, wanted);
    let mut at = 0;
    let mut token = 0;
    for ((index, t), place) in wanted.iter().zip(&places) {
        let place = (*place)?;
        if (*index == token) != (place == at) {
            return None;
        }
        (at, token) = (place + t.len(), index + 1);
    }
    ((token == count) == (at == text.len())).then_some(places)
}

fn first_places(text: &str, wanted: &[(usize, &str)]) -> Vec<Option<usize>> {
    let mut at = 0;
    wanted
        .iter()
        .map(|(_, t)| {
            let place = text[at..].find(t).map(|i| at + i).filter(|_| !t.is_empty());
            at = place.map_or(at, |p| p + t.len());
            place
        })
        .collect()
}

/// A possible position of a special token.
struct Node {
    special: usize,
    token: usize,
    at: usize,
    end: usize,
}

/// The chain of positions that omits the fewest tokens and spreads the text most evenly over the others.
fn best_places(text: &str, count: usize, specials: usize, nodes: &[Node]) -> Vec<Option<usize>> {
    const LEFT_OUT: f64 = 1e9;
    const ODD: f64 = 1e6;
    let mean = text.len() as f64 / count.max(1) as f64;
    let segment = |bytes: usize, tokens: usize| match (bytes, tokens) {
        (0, 0) => 0.0,
        (_, 0) => ODD * 10.0,
        (0, _) => ODD,
        (b, t) => (b as f64 - t as f64 * mean).powi(2) / t as f64,
    };
    let left_out = |between: usize| between as f64 * LEFT_OUT;
    let mut best: Vec<(f64, Option<usize>)> = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        let mut own = (left_out(node.special) + segment(node.at, node.token - node.special), None);
        for (j, before) in nodes[..i].iter().enumerate() {
            if before.special < node.special && before.end <= node.at {
                let between = node.special - before.special - 1;
                let tokens = node.token - before.token - 1 - between;
                let cost = best[j].0 + left_out(between) + segment(node.at - before.end, tokens);
                if cost < own.0 {
                    own = (cost, Some(j));
                }
            }
        }
        best.push(own);
    }
    let end = |i: usize| {
        let (node, between) = (&nodes[i], specials - nodes[i].special - 1);
        best[i].0 + left_out(between) + segment(text.len() - node.end, count - node.token - 1 - between)
    };
    let mut last = (0..nodes.len()).min_by(|a, b| end(*a).total_cmp(&end(*b)));
    let mut places = vec![None; specials];
    while let Some(i) = last {
        places[nodes[i].special] = Some(nodes[i].at);
        last = best[i].1;
    }
    places
}

/// The length of the text of the tokens before an omitted special token: their share of the text before the next
/// special token that is present.
fn share(
    text: &str,
    at: usize,
    (before, behind): (usize, &[u32]),
    (specials, places): (&Specials, &[Option<usize>]),
) -> usize {
    let next = places.iter().flatten().next();
    let rest = &text[at..next.copied().unwrap_or(text.len())];
    let mut left = places.iter().take_while(|p| p.is_none()).count() + usize::from(next.is_some());
    let mut others = 0;
    for id in behind {
        if specials.contains(*id) {
            left -= usize::from(left > 0);
            if left == 0 && next.is_some() {
                break;
            }
        } else {
            others += 1;
        }
    }
    let mut share = rest.len() * before / (before + others).max(1);
    while !rest.is_char_boundary(share) {
        share -= 1;
    }
    share
}

/// Adds tokens with unknown boundaries: they share the text.
pub(crate) fn ordinary(text: &str, count: usize, tokens: &mut Tokens) {
    if count == 0 {
        tokens.push_text(text.len());
        return;
    }
    let mut done = 0;
    for i in 1..=count {
        let to = text.len() * i / count;
        tokens.push(to - done);
        done = to;
    }
}
