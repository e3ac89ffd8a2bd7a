//! The corpus door: every case of `corpus/*.jsonl` and `cases/*.jsonl` through every way to cut its output, compared as `corpus/README.md` says.
//!
//! `UNSPOOL_CASES=part` keeps the cases whose id contains the part (several, divided by commas, are alternatives),
//! `UNSPOOL_VERBOSE=1` shows every failure with both values in full, and `UNSPOOL_SUMMARY=1` prints how many cases of
//! each parser pass all doors.

mod case;
mod compare;
#[path = "../shared/cuts.rs"]
mod cuts;
mod doors;
mod gate;
mod json;
mod report;
mod run;
#[path = "../shared/same.rs"]
mod same;
#[path = "../shared/watch.rs"]
mod watch;

use doors::Door;
use report::Report;

#[test]
fn whole() -> Result<(), Report> {
    report::check(Door::Whole)
}

#[test]
fn per_character() -> Result<(), Report> {
    report::check(Door::PerCharacter)
}

#[test]
fn chunks_of_the_case() -> Result<(), Report> {
    report::check(Door::Chunks)
}

#[test]
fn random_text_cuts() -> Result<(), Report> {
    report::check(Door::RandomText)
}

#[test]
fn saved_after_every_text() -> Result<(), Report> {
    report::check(Door::SavedText)
}

#[test]
fn per_token() -> Result<(), Report> {
    report::check(Door::PerToken)
}

#[test]
fn random_token_groups() -> Result<(), Report> {
    report::check(Door::RandomTokens)
}

#[test]
fn ids_only() -> Result<(), Report> {
    report::check(Door::IdsOnly)
}

#[test]
fn ids_of_single_bytes() -> Result<(), Report> {
    report::check(Door::SingleBytes)
}

#[test]
fn saved_after_every_token() -> Result<(), Report> {
    report::check(Door::SavedTokens)
}

/// Prints the table of parsers when asked to; the doors above do the judging.
#[test]
fn summary() {
    if std::env::var_os("UNSPOOL_SUMMARY").is_some() {
        report::summary();
    }
}
