//! The doors: which deltas a case's output comes in.

use crate::case::{Case, Token};
use crate::cuts::{Piece, Random, characters, random_groups, random_text, text_of_mean};

/// Random cuts for each case and kind.
const RANDOM_CUTS: u64 = 20;
/// Characters between saves in the text door, on average: a save costs far more than a delta.
const SAVED_MEAN: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Whole,
    PerCharacter,
    Chunks,
    RandomText,
    SavedText,
    PerToken,
    RandomTokens,
    IdsOnly,
    SingleBytes,
    SavedTokens,
}

/// What the deltas carry; all answers of one kind are the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Text,
    Ids,
}

/// How the prompt is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptForm {
    /// Its end, or nothing.
    Tail,
    /// All of it, as text.
    Text,
    Tokens,
}

/// One way to hand over a case's output.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(crate) label: String,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) prompt: PromptForm,
    /// Save and restore after every delta.
    pub(crate) saved: bool,
    /// Whether each delta is one token of the case, so that steps can be compared.
    pub(crate) token_steps: bool,
    /// Whether tokens count as the case counts them.
    pub(crate) counts: bool,
    /// Whether the bytes of each token are known.
    pub(crate) vocabulary: bool,
}

impl Feed {
    fn text(label: &str, pieces: Vec<Piece>) -> Self {
        let prompt = PromptForm::Text;
        Self {
            label: label.to_owned(),
            pieces,
            prompt,
            saved: false,
            token_steps: false,
            counts: true,
            vocabulary: false,
        }
    }

    fn tokens(label: &str, pieces: Vec<Piece>) -> Self {
        Self { prompt: PromptForm::Tokens, ..Self::text(label, pieces) }
    }

    fn ids(label: &str, pieces: Vec<Piece>) -> Self {
        Self { vocabulary: true, ..Self::tokens(label, pieces) }
    }
}

impl Door {
    pub(crate) const ALL: [Self; 10] = [
        Self::Whole,
        Self::PerCharacter,
        Self::Chunks,
        Self::RandomText,
        Self::SavedText,
        Self::PerToken,
        Self::RandomTokens,
        Self::IdsOnly,
        Self::SingleBytes,
        Self::SavedTokens,
    ];

    pub(crate) fn known(self) -> Known {
        match self {
            Self::Whole | Self::PerCharacter | Self::Chunks | Self::RandomText | Self::SavedText => Known::Text,
            _ => Known::Ids,
        }
    }

    pub(crate) fn feeds(self, case: &Case) -> Vec<Feed> {
        if self.known() == Known::Ids && case.tokens.is_empty() {
            return Vec::new();
        }
        let ids: Vec<u32> = case.tokens.iter().map(|token| token.id).collect();
        match self {
            Self::Whole => vec![canonical(case, Known::Text)],
            Self::PerCharacter => vec![Feed::text("per character", characters(case.output()))],
            Self::Chunks => chunks(case),
            Self::RandomText => random_text_feeds(case),
            Self::SavedText => {
                let pieces = text_of_mean(case.output(), SAVED_MEAN, &mut Random::new(&case.id, RANDOM_CUTS));
                saved(Feed::text("saved, text", pieces), case)
            }
            Self::PerToken => vec![canonical(case, Known::Ids)],
            Self::RandomTokens => random_token_feeds(case),
            Self::IdsOnly => ids_only(case, &ids),
            Self::SingleBytes => {
                let pieces = case.byte_ids().iter().map(|id| Piece::ids(&[*id])).collect();
                vec![Feed { counts: false, ..Feed::ids("single bytes", pieces) }]
            }
            Self::SavedTokens => saved(Feed::tokens("saved, per token", token_pieces(&case.tokens)), case),
        }
    }
}

/// The feed whose answer all others of its kind must equal.
pub(crate) fn canonical(case: &Case, known: Known) -> Feed {
    match known {
        Known::Text => Feed { prompt: PromptForm::Tail, ..Feed::text("whole", vec![Piece::text(case.output())]) },
        Known::Ids => Feed { token_steps: true, ..Feed::tokens("per token", token_pieces(&case.tokens)) },
    }
}

fn saved(feed: Feed, case: &Case) -> Vec<Feed> {
    if case.limit_ms().is_some() { Vec::new() } else { vec![Feed { saved: true, ..feed }] }
}

fn chunks(case: &Case) -> Vec<Feed> {
    [("chunks", &case.chunks), ("pieces", &case.pieces)]
        .into_iter()
        .filter(|(_, texts)| texts.concat() == case.output())
        .map(|(label, texts)| Feed::text(label, texts.iter().map(|text| Piece::text(text)).collect()))
        .collect()
}

fn random_text_feeds(case: &Case) -> Vec<Feed> {
    (0..RANDOM_CUTS)
        .map(|number| {
            let pieces = random_text(case.output(), &mut Random::new(&case.id, number));
            Feed::text(&format!("random text {number}"), pieces)
        })
        .collect()
}

fn random_token_feeds(case: &Case) -> Vec<Feed> {
    let pieces = token_pieces(&case.tokens);
    (0..RANDOM_CUTS)
        .map(|number| {
            let groups = random_groups(&pieces, &mut Random::new(&case.id, number));
            // Where one token of a group ends and the next begins, only the vocabulary tells.
            let known = number % 2 == 0;
            Feed { vocabulary: known, counts: known, ..Feed::tokens(&format!("random tokens {number}"), groups) }
        })
        .collect()
}

fn ids_only(case: &Case, ids: &[u32]) -> Vec<Feed> {
    let single: Vec<Piece> = ids.iter().map(|id| Piece::ids(&[*id])).collect();
    let groups = random_groups(&single, &mut Random::new(&case.id, 0));
    vec![
        Feed { token_steps: true, ..Feed::ids("ids, one by one", single) },
        Feed::ids("ids, in groups", groups),
        Feed::ids("ids, at once", vec![Piece::ids(ids)]),
    ]
}

/// Tokens with their text as a backend detokenises them: a character that several tokens share comes with the last.
fn token_pieces(tokens: &[Token]) -> Vec<Piece> {
    let mut held: Vec<u8> = Vec::new();
    let mut pieces = Vec::new();
    for token in tokens {
        held.extend_from_slice(&token.bytes);
        let complete = match std::str::from_utf8(&held) {
            Ok(_) => held.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = held.split_off(complete);
        let text = String::from_utf8(std::mem::replace(&mut held, rest)).expect("the valid part");
        pieces.push(Piece { text: Some(text), ids: vec![token.id] });
    }
    assert!(held.is_empty(), "a case's tokens end inside a character");
    pieces
}
