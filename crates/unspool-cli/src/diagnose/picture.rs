//! Prints a diagnosis for people.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use unspool_check::diagnose::{Cause, Entry, Evidence, Outcome, Report};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// Number of ranks to show.
const RANKS: usize = 3;

/// The report as text.
pub(super) fn of(report: &Report) -> String {
    let mut out = String::new();
    let outputs = match report.input.outputs {
        1 => "1 output".to_owned(),
        n => format!("{n} outputs"),
    };
    let _ = writeln!(out, "input     {}, {outputs}\n", report.input.kind.words());
    for check in &report.checks {
        let (style, word) = match check.result {
            Outcome::Pass => (GOOD, "pass"),
            Outcome::Fail => (BAD, "fail"),
            Outcome::Unknown => (DIM, "?"),
        };
        let _ = writeln!(out, "{style}{word:4}{style:#}  {}: {}", check.check.words(), check.message);
        if check.result == Outcome::Fail {
            check.evidence.iter().for_each(|one| evidence(&mut out, one));
        }
    }
    ranking(&mut out, &report.ranking);
    let style = if report.has_findings() { BAD } else { GOOD };
    let verdict = &report.verdict;
    let _ = writeln!(out, "\n{style}verdict{style:#}   {}: {}", word(verdict.kind), verdict.message);
    if !verdict.flags.is_empty() {
        let _ = writeln!(out, "flags     {BOLD}{}{BOLD:#}", verdict.flags.join(" "));
    }
    if let Some(hint) = &verdict.hint {
        let _ = writeln!(out, "hint      {hint}");
    }
    out
}

fn word(cause: Cause) -> String {
    let word = serde_json::to_value(cause).ok().and_then(|word| word.as_str().map(str::to_owned));
    word.unwrap_or_default().replace('_', " ")
}

fn evidence(out: &mut String, one: &Evidence) {
    let mut place = one.place.clone();
    if let Some(line) = one.line {
        let _ = write!(place, ", line {line}");
    }
    if let Some(offset) = one.offset {
        let _ = write!(place, ", byte {offset}");
    }
    let _ = writeln!(out, "      {DIM}{place}{DIM:#}  {:?}", one.text);
}

/// The best entries; equivalent ones share a line.
fn ranking(out: &mut String, entries: &[Entry]) {
    let Some(_) = entries.first().filter(|best| best.calls > 0 || best.reasoning_parser.is_some()) else { return };
    let _ = writeln!(out, "\nhow the formats read it, the best first");
    let mut ranks: Vec<usize> = entries.iter().map(|entry| entry.rank).collect();
    ranks.dedup();
    for rank in ranks.into_iter().take(RANKS) {
        let alike: Vec<&Entry> = entries.iter().filter(|entry| entry.rank == rank).collect();
        let Some(first) = alike.first() else { continue };
        let name = |entry: &&Entry| {
            let tools = entry.tool_call_parser.as_deref();
            tools.or(entry.reasoning_parser.as_deref()).unwrap_or("no parser").to_owned()
        };
        let names: Vec<String> = alike.iter().map(name).collect();
        let thought = first.reasoning_parser.as_deref().filter(|_| first.tool_call_parser.is_some());
        let thought = thought.map(|name| format!(" with reasoning {name}")).unwrap_or_default();
        let more = if names.len() > 6 { format!(" and {} more", names.len() - 6) } else { String::new() };
        let shown = names.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            out,
            "  {rank:<4}{shown}{more}{thought}: {} of {} calls fit, {} repairs, {} marks left",
            first.valid_calls, first.calls, first.repairs, first.markup_left
        );
    }
}
