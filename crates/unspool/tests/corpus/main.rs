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

use report::Report;

/// One test, for most of the time goes into the pairs, which each process would compile for itself.
#[test]
fn every_case_passes_every_door() -> Result<(), Report> {
    report::check()
}

/// Prints the table of parsers when asked to; the test above does the judging.
#[test]
fn summary() {
    if std::env::var_os("UNSPOOL_SUMMARY").is_some() {
        report::summary();
    }
}
