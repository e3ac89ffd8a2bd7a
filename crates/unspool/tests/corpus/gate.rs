//! The gate is asked with ids alone; it must open with the token with which the parser leaves reasoning, for every case and
//! every grouping, and its bounds must be the same places of the output.

use unspool::{Bounds, Gate, Prompt};

use crate::case::Case;
use crate::cuts::{Piece, Random, random_groups};
use crate::doors::{Known, canonical};
use crate::run::run;

const GROUPINGS: u64 = 20;

/// What a gate said of one grouping: the step at which it opened, the bounds in the whole output, the thought's tokens.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    step: Option<i64>,
    bounds: Option<(i64, i64)>,
    reasoning: u64,
}

fn ask(mut gate: Gate, groups: &[Piece]) -> Said {
    let mut bounds = None;
    let mut before = 0;
    if gate.is_reasoning_end() {
        bounds = Some((0, 0));
    }
    for group in groups {
        let Bounds { grammar_start, constraint_start } = gate.advance(&group.ids);
        let len = i64::try_from(group.ids.len()).expect("a small group");
        if bounds.is_none() && constraint_start <= len {
            bounds = Some((before + grammar_start, before + constraint_start));
        }
        before += len;
    }
    let step = bounds.map(|(_, constraint)| constraint - 1);
    Said { step, bounds, reasoning: gate.finish() }
}

/// The faults of a case's gate; none if the case has no tokens or is refused.
pub(crate) fn faults(case: &Case) -> Vec<String> {
    let Ok(made) = case.made() else { return Vec::new() };
    if case.tokens.is_empty() {
        return Vec::new();
    }
    let finish = run(case, &canonical(case, Known::Ids)).finish;
    let tokens = case.prompt_tokens();
    let mut request = made.request.clone();
    // Whether reasoning is shown changes nothing about where it ends; only the bounds begin elsewhere.
    request.include_reasoning = None;
    let single: Vec<Piece> = case.tokens.iter().map(|token| Piece::ids(&[token.id])).collect();
    let gate = || made.byte_pair.gate(&request, Prompt::Tokens(&tokens));
    let Ok(first) = gate() else { return Vec::new() };
    let said = ask(first, &single);
    let mut found = Vec::new();
    if Some(said.reasoning) != finish.reasoning_tokens {
        found.push(format!("{} reasoning tokens, the parser has {:?}", said.reasoning, finish.reasoning_tokens));
    }
    // At the end of the output the parser may say that reasoning is over; an engine has no use for that.
    let last = i64::try_from(case.tokens.len()).expect("a short output") - 1;
    let by_end = said.step.is_none() && finish.reasoning_end_token == Some(last);
    if said.step != finish.reasoning_end_token && !by_end {
        found.push(format!("opens at {:?}, the parser at {:?}", said.step, finish.reasoning_end_token));
    }
    for number in 0..GROUPINGS {
        let groups = random_groups(&single, &mut Random::new(&case.id, number));
        let other = ask(gate().expect("a second gate"), &groups);
        if other != said {
            found.push(format!("grouping {number}: {other:?}, one by one {said:?}"));
        }
    }
    let ids: Vec<u32> = case.tokens.iter().map(|token| token.id).collect();
    let content = made.byte_pair.extract_content_ids(&request, Prompt::Tokens(&tokens), &ids).expect("a third gate");
    let expected = said.bounds.map_or(0, |(grammar, _)| ids.len() - usize::try_from(grammar).expect("in the output"));
    if content.len() != expected {
        found.push(format!("{} content ids, {expected} by the bounds", content.len()));
    }
    found
}
