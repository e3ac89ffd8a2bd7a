//! Output that is known in advance: cut where the request says, and paced.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use tokio::time::{Instant, sleep_until};

use unspool_text::Rng;

use super::{Piece, Pieces, StopReason, Tokens};
use crate::hash::fnv1a;
use crate::probability::{Candidate, TokenProbability, TokenWishes};
use crate::request::Sampling;

/// A complete output, token by token.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Script {
    pub(super) tokens: Vec<Token>,
    pub(super) stop: StopReason,
    pub(super) prompt_tokens: u64,
}

/// One token of a script; without an id only its text is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) id: Option<u32>,
}

impl Token {
    /// The token as a piece of output. A script has no probabilities, so requested ones are derived from the text, the
    /// same each time.
    fn played(self, wishes: TokenWishes) -> Tokens {
        let probabilities = match wishes.top {
            Some(most) => {
                let mut rng = Rng::new(fnv1a(self.text.as_bytes()));
                let logprob = -(rng.below(2000) as f64) / 1000.0;
                let chosen = Candidate::new((self.id, logprob), (&self.text, None), wishes);
                let others = if most > 0 { vec![chosen.clone()] } else { Vec::new() };
                vec![TokenProbability::new(chosen, others, wishes)]
            }
            None => Vec::new(),
        };
        Tokens { text: self.text, ids: self.id.into_iter().collect(), probabilities }
    }
}

impl Script {
    /// Plays the script at `rate` tokens per second (0: no limit), as far as the request allows.
    pub(super) fn play(mut self, sampling: &Sampling, rate: f64) -> Pieces {
        let (stopped_at, wishes) = (self.stop_at(&sampling.stop), sampling.wishes);
        if let Some(most) = sampling.max_tokens.and_then(|most| usize::try_from(most).ok())
            && self.tokens.len() > most
        {
            self.tokens.truncate(most);
            self.stop = StopReason::Length;
        }
        let at = stopped_at.filter(|_| self.stop == StopReason::Stop).map(Into::into);
        let usage = Piece::Usage { prompt: self.prompt_tokens, completion: self.tokens.len() as u64, cached: None };
        let ending = [Piece::Stopped { reason: self.stop, at }, usage];
        let start = Instant::now();
        let tokens = self.tokens.into_iter().enumerate().map(move |(number, token)| {
            let due = (rate > 0.0).then(|| start + Duration::from_secs_f64((number as f64 / rate).min(1e6)));
            (due, Piece::Tokens(token.played(wishes)))
        });
        let pieces = tokens.chain(ending.map(|piece| (None, piece)));
        stream::iter(pieces)
            .then(|(due, piece)| async move {
                if let Some(due) = due {
                    sleep_until(due).await;
                }
                Ok(piece)
            })
            .boxed()
    }

    /// Ends the script before the first stop sequence, and returns that sequence.
    fn stop_at(&mut self, stops: &[String]) -> Option<String> {
        let text: String = self.tokens.iter().map(|token| token.text.as_str()).collect();
        let found = stops.iter().filter_map(|stop| text.find(stop.as_str()).map(|at| (at, at + stop.len(), stop)));
        // The sequence that is complete first counts, as it would while the model writes.
        let (mut room, _, stop) = found.min_by_key(|(_, end, _)| *end)?;
        let mut kept = Vec::new();
        for mut token in std::mem::take(&mut self.tokens) {
            if room == 0 {
                break;
            }
            // A character boundary: the token's end, or the start of the stop sequence.
            token.text.truncate(room);
            room -= token.text.len();
            kept.push(token);
        }
        self.tokens = kept;
        self.stop = StopReason::Stop;
        Some(stop.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(texts: &[&str]) -> Script {
        let tokens = texts.iter().map(|text| Token { text: (*text).to_owned(), id: Some(7) }).collect();
        Script { tokens, stop: StopReason::Stop, prompt_tokens: 3 }
    }

    async fn played(script: Script, sampling: Sampling) -> (String, StopReason, Option<serde_json::Value>, u64) {
        let pieces: Vec<_> = script.play(&sampling, 0.0).collect().await;
        let (mut text, mut ending, mut count) = (String::new(), None, 0);
        for piece in pieces {
            match piece.expect("a script does not fail") {
                Piece::Tokens(tokens) => text.push_str(&tokens.text),
                Piece::Stopped { reason, at } => ending = Some((reason, at)),
                Piece::Usage { completion, .. } => count = completion,
                Piece::Prompt(_) | Piece::PromptProbabilities(_) | Piece::Native(_) => {}
            }
        }
        let (reason, at) = ending.expect("a script ends with a reason");
        (text, reason, at, count)
    }

    #[tokio::test]
    async fn length_and_stop_texts_cut_it_short() {
        let texts = ["One", " boat", ",", " two", " boats"];
        let sampling = Sampling { max_tokens: Some(2), ..Sampling::default() };
        assert_eq!(played(script(&texts), sampling).await, ("One boat".into(), StopReason::Length, None, 2));
        let sampling = Sampling { stop: vec!["boats".into(), "at, t".into()], ..Sampling::default() };
        let expected = ("One bo".into(), StopReason::Stop, Some("at, t".into()), 2);
        assert_eq!(played(script(&texts), sampling).await, expected);
        let sampling = Sampling { stop: vec!["at, t".into()], max_tokens: Some(1), ..Sampling::default() };
        assert_eq!(played(script(&texts), sampling).await, ("One".into(), StopReason::Length, None, 1));
        let sampling = Sampling { max_tokens: Some(5), ..Sampling::default() };
        assert_eq!(played(script(&texts), sampling).await, ("One boat, two boats".into(), StopReason::Stop, None, 5));
    }
}
