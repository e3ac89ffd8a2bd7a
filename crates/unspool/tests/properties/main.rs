//! The laws over texts that no corpus holds: fragments of all formats, glued at random.
//!
//! `PROPTEST_CASES=10000` tries more texts; `UNSPOOL_NAMES=hermes,qwen3` keeps to the families of these names.

mod bytes;
#[path = "../shared/cuts.rs"]
mod cuts;
mod glue;
mod lag;
mod places;
#[path = "../shared/same.rs"]
mod same;
mod subject;
#[path = "../shared/watch.rs"]
mod watch;

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};
use unspool::limits::{Limit, Limits};
use unspool::{FinishReason, IncompleteCalls};

use bytes::Markup;
use cuts::{Piece, Random, characters, random_groups, random_text, text_of_mean};
use glue::{Glued, gapped, glued};
use lag::lagging;
use places::place_faults;
use same::cut_differences;
use subject::{Choice, Subject, Wish};
use watch::Answer;

/// No glued text is so long that a machine, however busy, needs this for it.
const TOO_LONG: Duration = Duration::from_secs(20);

/// Cases for each property; `PROPTEST_CASES` asks for more.
fn config() -> Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    Config { cases, failure_persistence: None, ..Config::default() }
}

fn must_be_same(one: &Answer, other: &Answer, how: &str, glued: &Glued) -> Result<(), TestCaseError> {
    let mut faults = cut_differences(one, other);
    faults.extend(other.faults.iter().cloned());
    prop_assert!(other.took < TOO_LONG, "{how}: took {:?}\n{glued}", other.took);
    prop_assert!(faults.is_empty(), "{how}: {}\n{glued}", faults.join("\n  "));
    Ok(())
}

/// Law 1 for text: any cut, and any save and restore, gives what the whole text gives.
fn text_cuts(glued: &Glued, wish: &Wish, finish: FinishReason) -> Result<(), TestCaseError> {
    let subject = Subject::new(glued, wish, finish);
    let text = glued.text();
    let whole = subject.run(&[Piece::text(&text)]);
    let misplaced = if subject.filters() { Vec::new() } else { place_faults(&whole, &text) };
    prop_assert!(misplaced.is_empty(), "{}\n{glued}", misplaced.join("\n  "));
    must_be_same(&whole, &subject.run(&characters(&text)), "character by character", glued)?;
    for number in 0..4 {
        let mut random = Random::new(&text, number);
        must_be_same(&whole, &subject.run(&random_text(&text, &mut random)), "in random cuts", glued)?;
    }
    let saved = text_of_mean(&text, 5, &mut Random::new(&text, 9));
    must_be_same(&whole, &subject.run_saved(&saved), "saved and restored", glued)
}

/// Law 1 for tokens, and law 5: the gate turns at the step that the end reports.
fn token_cuts(glued: &Glued, wish: &Wish, finish: FinishReason) -> Result<(), TestCaseError> {
    let subject = Subject::new(glued, wish, finish);
    let tokens = glued.tokens();
    let single = subject.run(&tokens);
    prop_assert_eq!(single.gate, single.finish.reasoning_end_token, "the gate\n{}", glued);
    let alone: Vec<Piece> = tokens.iter().map(|piece| Piece::ids(&piece.ids)).collect();
    let mut runs = vec![("ids alone", alone.clone()), ("saved and restored", tokens.clone())];
    for number in 0..3 {
        let mut random = Random::new(&glued.text(), number);
        runs.push(("text behind its ids", lagging(&tokens, &mut random)));
        let grouped = random_groups(&tokens, &mut random);
        runs.push(("text behind its ids, in groups", lagging(&grouped, &mut random)));
        runs.push(("in groups", random_groups(&tokens, &mut random)));
        runs.push(("ids in groups", random_groups(&alone, &mut random)));
    }
    for (how, pieces) in runs {
        let other = if how.starts_with("saved") || how.starts_with("text") && pieces.len() < 40 {
            subject.run_saved(&pieces)
        } else {
            subject.run(&pieces)
        };
        must_be_same(&single, &other, how, glued)?;
        prop_assert_eq!(single.finish.reasoning_tokens, other.finish.reasoning_tokens, "{}\n{}", how, glued);
        prop_assert_eq!(single.finish.reasoning_end_token, other.finish.reasoning_end_token, "{}\n{}", how, glued);
    }
    Ok(())
}

fn any_calls() -> impl Strategy<Value = IncompleteCalls> {
    prop_oneof![3 => Just(IncompleteCalls::Stream), 1 => Just(IncompleteCalls::Text), 1 => Just(IncompleteCalls::Drop)]
}

/// A request that asks for nothing.
fn without_wishes() -> Wish {
    Wish { calls: IncompleteCalls::Stream, choice: Choice::Auto, limits: Limits::default() }
}

/// A request that leaves nothing out: no limit that does.
fn any_plain_wish() -> impl Strategy<Value = Wish> {
    (any_calls(), any_limits()).prop_map(|(calls, limits)| {
        let usual = Limits::default();
        let limits = Limits { arguments: usual.arguments, diagnostics: usize::MAX, calls: usual.calls, ..limits };
        Wish { calls, choice: Choice::Auto, limits }
    })
}

fn any_wish() -> impl Strategy<Value = Wish> {
    let choice = prop_oneof![2 => Just(Choice::Auto), 1 => Just(Choice::Required), 1 => Just(Choice::Named)];
    (any_calls(), choice, any_limits()).prop_map(|(calls, choice, limits)| Wish { calls, choice, limits })
}

/// The usual limits, or some of them so small that nearly everything reaches them.
fn any_limits() -> impl Strategy<Value = Limits> {
    let small = proptest::array::uniform(proptest::option::weighted(0.6, 1_usize..=64));
    let drawn = small.prop_map(|values: [Option<usize>; Limits::NAMES.len()]| {
        let mut limits = Limits::default();
        for (name, value) in Limits::NAMES.iter().zip(values) {
            if let Some(value) = value {
                limits.set(&Limit::new(name, &value.to_string()).expect("a small number"));
            }
        }
        limits
    });
    prop_oneof![1 => Just(Limits::default()), 2 => drawn]
}

fn any_finish() -> impl Strategy<Value = FinishReason> {
    prop_oneof![Just(FinishReason::Stop), Just(FinishReason::Length)]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn cuts_of_text_change_nothing(glued in glued(), wish in any_wish(), finish in any_finish()) {
        text_cuts(&glued, &wish, finish)?;
    }

    #[test]
    fn cuts_of_tokens_change_nothing(glued in glued(), wish in any_wish(), finish in any_finish()) {
        token_cuts(&glued, &wish, finish)?;
    }

    /// Law 2 where it is simple: text without any marker is one field, byte for byte but for its outer white space.
    #[test]
    fn plain_text_is_kept_whole(glued in glued(), plain in "[a-zA-ZäßЖ語🍵 ,.!?\n]{0,80}") {
        let subject = Subject::new(&glued, &without_wishes(), FinishReason::Stop);
        let answer = subject.run(&random_text(&plain, &mut Random::new(&plain, 0)));
        prop_assume!(answer.refused.is_none());
        let (message, names) = (&answer.message, &glued.names);
        let kept = if message.content.is_empty() { &message.reasoning } else { &message.content };
        // A format that moves nothing into reasoning puts the opener that the prompt wrote in front.
        let kept = kept.strip_prefix("<think>").unwrap_or(kept);
        prop_assert_eq!(kept.trim(), plain.trim(), "{:?}", names);
        prop_assert!(message.content.is_empty() || message.reasoning.is_empty(), "{:?}", names);
        prop_assert!(message.tool_calls.is_empty(), "{:?}", names);
    }

    /// Law 2: all that came in, but for the format's markers, is somewhere in the answer.
    #[test]
    fn nothing_is_lost(glued in prop_oneof![glued(), gapped()], wish in any_plain_wish(), finish in any_finish()) {
        let subject = Subject::new(&glued, &wish, finish);
        let answer = subject.run(&[Piece::text(&glued.text())]);
        prop_assume!(answer.refused.is_none());
        let lost = Markup::of(&glued.names).lost(&glued, &answer.message);
        prop_assert!(lost.is_none(), "{} in {:#?}\n{}", lost.unwrap_or_default(), answer.message, glued);
    }
}
