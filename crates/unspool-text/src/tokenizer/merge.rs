//! Byte-pair merging by rank: of all neighbours that form an entry, those of the lowest rank are joined first, and the
//! leftmost of equal ones, until none remain.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Ranks of entries, which are also their ids.
pub(super) type Ranks = HashMap<Box<[u8]>, u32>;

const NONE: usize = usize::MAX;

/// The end of a part, and the indices of its neighbours.
#[derive(Clone, Copy)]
struct Part {
    end: usize,
    before: usize,
    after: usize,
    joined: bool,
}

/// Appends the ids of `piece`, in the time of a sort, even for pieces without boundaries. `None`: a byte has no entry.
pub(super) fn merge(ranks: &Ranks, piece: &[u8], out: &mut Vec<u32>) -> Option<()> {
    if piece.is_empty() {
        return Some(());
    }
    if let Some(id) = ranks.get(piece) {
        out.push(*id);
        return Some(());
    }
    // A part is identified by its start.
    let part = |at: usize| Part {
        end: at + 1,
        before: at.checked_sub(1).unwrap_or(NONE),
        after: if at + 1 < piece.len() { at + 1 } else { NONE },
        joined: false,
    };
    let mut parts: Vec<Part> = (0..piece.len()).map(part).collect();
    let mut pairs = BinaryHeap::new();
    for at in 0..piece.len() {
        offer(ranks, piece, &parts, at, &mut pairs);
    }
    while let Some(Reverse((_, at, end))) = pairs.pop() {
        let left = parts[at];
        // The pair is stale if one of its parts has changed since.
        if left.joined || left.after == NONE || parts[left.after].end != end {
            continue;
        }
        let right = parts[left.after];
        parts[left.after].joined = true;
        parts[at].end = right.end;
        parts[at].after = right.after;
        if right.after != NONE {
            parts[right.after].before = at;
        }
        offer(ranks, piece, &parts, at, &mut pairs);
        if left.before != NONE {
            offer(ranks, piece, &parts, left.before, &mut pairs);
        }
    }
    let mut at = 0;
    while at != NONE {
        out.push(*ranks.get(piece.get(at..parts[at].end)?)?);
        at = parts[at].after;
    }
    Some(())
}

/// Queues the pair of the part at `at` and the next one, if they can be joined.
fn offer(ranks: &Ranks, piece: &[u8], parts: &[Part], at: usize, pairs: &mut BinaryHeap<Reverse<(u32, usize, usize)>>) {
    let after = parts[at].after;
    if after == NONE {
        return;
    }
    let end = parts[after].end;
    if let Some(rank) = ranks.get(&piece[at..end]) {
        pairs.push(Reverse((*rank, at, end)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// The direct implementation of the rule.
    fn slowly(ranks: &Ranks, piece: &[u8]) -> Vec<u32> {
        let mut parts: Vec<Vec<u8>> = piece.iter().map(|byte| vec![*byte]).collect();
        loop {
            let pairs = parts.windows(2).enumerate();
            let best = pairs.filter_map(|(at, pair)| Some((*ranks.get(&*pair.concat())?, at))).min();
            let Some((_, at)) = best else { break };
            let right = parts.remove(at + 1);
            parts[at].extend(right);
        }
        parts.iter().map(|part| ranks[&**part]).collect()
    }

    #[test]
    fn merges_are_those_of_the_rule() {
        let entries = ["a", "b", "c", "ab", "ca", "aa", "bc", "abc", "aab", "caab", "abab", "cc", "aaaa"];
        let ranks: Ranks = entries.iter().zip(0..).map(|(text, rank)| (text.as_bytes().into(), rank)).collect();
        let mut rng = Rng::new(3);
        for length in 1..40 {
            let piece: Vec<u8> = (0..length).map(|_| b"abc"[rng.below(3)]).collect();
            let mut ids = Vec::new();
            assert_eq!(merge(&ranks, &piece, &mut ids), Some(()));
            let expected = if let Some(id) = ranks.get(&*piece) { vec![*id] } else { slowly(&ranks, &piece) };
            assert_eq!(ids, expected, "{}", String::from_utf8_lossy(&piece));
        }
        assert_eq!(merge(&ranks, b"abx", &mut Vec::new()), None);
    }

    #[test]
    fn a_long_piece_takes_no_square_of_time() {
        let entries = ["a", "aa", "aaaa", "aaaaaaaa"];
        let ranks: Ranks = entries.iter().zip(0..).map(|(text, rank)| (text.as_bytes().into(), rank)).collect();
        let mut ids = Vec::new();
        assert_eq!(merge(&ranks, &vec![b'a'; 1 << 18], &mut ids), Some(()));
        assert_eq!(ids.len(), 1 << 15);
    }
}
