//! Text that lags behind its ids, as a server gives it that looks for stop texts.

use crate::cuts::{Piece, Random};

/// The same tokens, each with as much text as a random hold-back of some characters lets out; the rest comes without ids.
pub(crate) fn lagging(tokens: &[Piece], random: &mut Random) -> Vec<Piece> {
    let most = [1, 2, 5, 40, 1000][random.below(5) as usize];
    let mut waiting = String::new();
    let mut pieces: Vec<Piece> = Vec::new();
    for token in tokens {
        waiting.push_str(token.text.as_deref().unwrap_or_default());
        let held = random.below(most + 1) as usize;
        let out = waiting.chars().count().saturating_sub(held);
        let end = waiting.char_indices().nth(out).map_or(waiting.len(), |(at, _)| at);
        let text = waiting.drain(..end).collect();
        pieces.push(Piece { text: Some(text), ids: token.ids.clone() });
    }
    while let Some(c) = waiting.chars().next() {
        let end = waiting.char_indices().nth(1 + random.below(most) as usize).map_or(waiting.len(), |(at, _)| at);
        pieces.push(Piece::text(&waiting[..end.max(c.len_utf8())]));
        waiting.drain(..end.max(c.len_utf8()));
    }
    pieces
}
