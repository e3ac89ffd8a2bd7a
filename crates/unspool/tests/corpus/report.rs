//! Runs doors over all cases on all cores, and says compactly what failed.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::thread;

use crate::case::{CASES, Case};
use crate::compare::differences;
use crate::doors::{Door, canonical};
use crate::gate;
use crate::run::run;
use crate::same::cut_differences;
use crate::watch::Answer;

/// Failures that a report shows unless it is asked for all.
const SHOWN: usize = 60;
/// Characters of a failure that a report shows unless it is asked for all.
const LINE: usize = 300;
/// Room for deeply nested JSON in the comparison.
const STACK: usize = 64 << 20;

/// What is wrong with one case at one door: one line for each feed.
fn failures(case: &Case, door: Door) -> Vec<String> {
    let known = door.known();
    let mut found = Vec::new();
    for feed in door.feeds(case) {
        let shared = case.canonical[known as usize].get_or_init(|| run(case, &canonical(case, known)));
        let mut answer = run(case, &feed);
        if case.limit_ms().is_some() {
            answer = quickest(answer, || run(case, &feed));
        }
        let mut what = differences(case, known, &feed, &answer);
        what.extend(cut_differences(shared, &answer));
        if !what.is_empty() {
            found.push(format!("{} [{}]: {}", case.id, feed.label, what.join("; ")));
        }
    }
    found
}

/// A busy machine may stop a run for a while; the quickest of three tells the cost.
fn quickest(first: Answer, mut again: impl FnMut() -> Answer) -> Answer {
    let mut best = first;
    for _ in 0..2 {
        let next = again();
        if next.took < best.took {
            best = next;
        }
    }
    best
}

/// Runs `work` for every case, spread over the cores, and gives the results in the order of the cases.
fn for_all_cases<T: Send>(work: impl Fn(&Case) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    LazyLock::force(&CASES);
    let results = Mutex::new(Vec::new());
    let worker = || {
        while let Some((index, case)) = take(&next) {
            let result = work(case);
            results.lock().expect("no worker panics").push((index, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).expect("a thread");
        }
    });
    let mut results = results.into_inner().expect("no worker panics");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn take(next: &AtomicUsize) -> Option<(usize, &'static Case)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    CASES.get(index).map(|case| (index, case))
}

/// The failures of a door, as a test's result: shown as text.
pub(crate) struct Report(String);

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with one case at all doors and at the gate.
fn all_failures(case: &Case) -> Vec<String> {
    let mut found: Vec<String> = Door::ALL.iter().flat_map(|door| failures(case, *door)).collect();
    found.extend(gate::faults(case).into_iter().map(|fault| format!("{} [the gate]: {fault}", case.id)));
    found
}

/// Gives a list if a case does not pass a door.
pub(crate) fn check() -> Result<(), Report> {
    let all = for_all_cases(all_failures);
    let failed: Vec<Vec<String>> = all.into_iter().filter(|lines| !lines.is_empty()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let verbose = std::env::var_os("UNSPOOL_VERBOSE").is_some();
    let mut report = format!("{} of {} cases fail\n", failed.len(), CASES.len());
    let shown = if verbose { failed.len() } else { SHOWN };
    for lines in failed.iter().take(shown) {
        describe(lines, verbose, &mut report);
    }
    if failed.len() > shown {
        let _ = writeln!(report, "  … and {} more (UNSPOOL_VERBOSE=1 shows all)", failed.len() - shown);
    }
    Err(Report(report))
}

/// Writes the failures of one case: all of them, or the beginning of the first.
fn describe(lines: &[String], verbose: bool, report: &mut String) {
    if verbose {
        for line in lines {
            let _ = writeln!(report, "  {line}");
        }
    } else if let [first, others @ ..] = lines {
        let first: String = first.chars().take(LINE).collect();
        let more = if others.is_empty() { String::new() } else { format!(" (+{} cuts)", others.len()) };
        let _ = writeln!(report, "  {first}{more}");
    }
}

/// Prints, for each parser's name, how many of its cases pass all doors.
pub(crate) fn summary() {
    let passed = for_all_cases(|case| all_failures(case).is_empty());
    let mut table: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (case, passed) in CASES.iter().zip(&passed) {
        for (kind, name) in ["reasoning", "tools"].into_iter().zip(case.names()) {
            let Some(name) = name else { continue };
            let row = table.entry(format!("{kind:9} {name}")).or_default();
            row.0 += usize::from(*passed);
            row.1 += 1;
        }
    }
    let mut out = String::new();
    for (name, (passed, total)) in &table {
        let mark = if passed == total { "" } else { "   <--" };
        let _ = writeln!(out, "{name:36} {passed:4} / {total}{mark}");
    }
    let _ = writeln!(out, "{:36} {:4} / {}", "all cases", passed.iter().filter(|p| **p).count(), passed.len());
    let _ = std::io::stderr().write_all(out.as_bytes());
}
