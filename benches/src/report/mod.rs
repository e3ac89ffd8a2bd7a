//! The tables, worst names first.

mod numbers;
mod rivals;

use std::fmt::Write as _;

use crate::messages::Kind;
use crate::report::numbers::{Scale, geometric, middle, shown, worst};
use crate::row::{Cell, Row, Task};
use crate::trial::Outcome;

/// All tables, as Markdown.
pub(crate) fn write(rows: &[Row], task: &Task<'_>, machine: &str) -> String {
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by(|a, b| worst_ratio(b, task).1.total_cmp(&worst_ratio(a, task).1));
    let mut out = String::new();
    let _ = writeln!(out, "{machine}\n");
    let _ = writeln!(out, "Each input has about {} tokens. {}\n", task.tokens, requests(task));
    let _ = writeln!(out, "{}\n", wrong(&rows, task));
    summary(&mut out, &rows, task);
    by_input(&mut out, &rows, task);
    let one = |cell: &Cell| shown(cell.unspool.one, Scale::Ratio(cell.floor.one));
    matrix(&mut out, &rows, task, "One token a delta, in times of the floor", one);
    let ns = |cell: &Cell| shown(cell.unspool.one, Scale::PerToken(cell.tokens));
    matrix(&mut out, &rows, task, "One token a delta, in ns a token", ns);
    let whole = |cell: &Cell| shown(cell.unspool.whole, Scale::Megabytes(cell.bytes));
    matrix(&mut out, &rows, task, "Whole texts, in MB/s", whole);
    rivals::write(&mut out, &rows, task);
    unsaid(&mut out, &rows, task);
    out
}

/// The cells of a row with their inputs' names and kinds.
fn cells<'a>(row: &'a Row, task: &'a Task<'_>) -> impl Iterator<Item = (&'static str, Kind, &'a Cell)> {
    task.inputs.iter().zip(&row.cells).filter_map(|(input, cell)| Some((input.name, input.kind, cell.as_ref().ok()?)))
}

fn ratio(cell: &Cell) -> f64 {
    Scale::Ratio(cell.floor.one).of(cell.unspool.one)
}

fn worst_ratio(row: &Row, task: &Task<'_>) -> (&'static str, f64) {
    worst(cells(row, task).map(|(name, _, cell)| (name, ratio(cell))))
}

/// The answers of unspool that are not the message; there must be none.
fn wrong(rows: &[&Row], task: &Task<'_>) -> String {
    let mut wrong = Vec::new();
    for row in rows {
        for (input, _, cell) in cells(row, task) {
            let all = [cell.unspool.one, cell.unspool.eight, cell.unspool.whole, cell.with_ids, cell.eight_with_ids];
            if all.iter().any(|outcome| !matches!(outcome, Outcome::Took(_, true))) {
                wrong.push(format!("{} on {input}", row.names.shown()));
            }
        }
    }
    if wrong.is_empty() {
        return "Every answer of unspool was the message, in every cut.".into();
    }
    format!("**Answers of unspool that were not the message (✗):** {}.", wrong.join("; "))
}

fn requests(task: &Task<'_>) -> String {
    let mut all = Vec::new();
    for count in [3, 10, 60] {
        let tools = task.tools.as_array().cloned().unwrap_or_default();
        let many: Vec<_> = tools.iter().cycle().take(count).enumerate().map(renamed).collect();
        let body = crate::names::body(&many.into());
        let took =
            crate::row::nanoseconds(|| drop(std::hint::black_box(unspool::Request::from_openai(&body))), task.patience);
        all.push(format!("{:.1} µs with {count} tools", took.as_secs_f64() * 1e6));
    }
    format!("`Request::from_openai` takes {}.", all.join(", "))
}

fn renamed((at, tool): (usize, &serde_json::Value)) -> serde_json::Value {
    let mut tool = tool.clone();
    let name = tool["function"]["name"].as_str().unwrap_or_default().to_owned();
    tool["function"]["name"] = format!("{name}_{at}").into();
    tool
}

/// One line for each pair.
fn summary(out: &mut String, rows: &[&Row], task: &Task<'_>) {
    heading(out, "Worst first");
    out.push_str(
        "*Ratio*: time by time of the floor, streamed; the worst input with one token a delta, then the geometric mean over all inputs \
         with one and eight tokens a delta, without and with ids. *ns*: geometric mean a token, one a delta. *whole*: MB/s, \
         the slowest input and the geometric mean, and the latter as a part of the floor's. *allocations* a token, one a delta: the most of any \
         input of text, and of any with long arguments. *parser*: ns to make one for a request, and with a prompt of \
         8 kB. *reply*: µs for request, parser and a whole turn of 8 kB.\n\n",
    );
    out.push_str(
        "| reasoning / tools | worst ratio | on | 1 | 8 | 1 + ids | 8 + ids | ns | whole, slowest | mean | of the floor | allocations: text | arguments | parser | + prompt | reply |\n\
         |---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let (on, most) = worst_ratio(row, task);
        let mean = |number: &dyn Fn(&Cell) -> f64| geometric(cells(row, task).map(|(_, _, cell)| number(cell)));
        let megabytes = |cell: &Cell| Scale::Megabytes(cell.bytes).of(cell.unspool.whole);
        let slowest = cells(row, task).map(|(_, _, cell)| megabytes(cell)).fold(f64::INFINITY, f64::min);
        let allocations = |kind: Kind| {
            let of_kind = cells(row, task).filter(|(_, own, _)| *own == kind);
            let most = of_kind.map(|(_, _, cell)| cell.allocations as f64 / cell.tokens as f64).reduce(f64::max);
            most.map_or("-".to_owned(), |most| format!("{most:.3}"))
        };
        let _ = writeln!(
            out,
            "| {} | {most:.1} | {on} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {slowest:.0} | {:.0} | {:.2} | {} | {} | {} | {} | {} |",
            row.names.shown(),
            mean(&ratio),
            mean(&|c| Scale::Ratio(c.floor.eight).of(c.unspool.eight)),
            mean(&|c| Scale::Ratio(c.floor.one).of(c.with_ids)),
            mean(&|c| Scale::Ratio(c.floor.eight).of(c.eight_with_ids)),
            mean(&|c| Scale::PerToken(c.tokens).of(c.unspool.one)),
            mean(&megabytes),
            mean(&|c| megabytes(c) / Scale::Megabytes(c.bytes).of(c.floor.whole)),
            allocations(Kind::Text),
            allocations(Kind::Arguments),
            row.request.parser.as_nanos(),
            row.request.prompted.as_nanos(),
            shown(row.request.unspool, Scale::Microseconds),
        );
    }
}

/// One line for each input.
fn by_input(out: &mut String, rows: &[&Row], task: &Task<'_>) {
    heading(out, "By input");
    out.push_str(
        "| input | bytes a token | floor, ns | ratio: mean | middle | worst | of | whole, MB/s: mean | slowest | of | the floor's mean |\n\
         |---|--:|--:|--:|--:|--:|---|--:|--:|---|--:|\n",
    );
    for (at, input) in task.inputs.iter().enumerate() {
        let said = || rows.iter().filter_map(|row| Some((row.names.shown(), row.cells[at].as_ref().ok()?)));
        let mean = |number: &dyn Fn(&Cell) -> f64| geometric(said().map(|(_, cell)| number(cell)));
        let (of, most) = worst(said().map(|(name, cell)| (name, ratio(cell))));
        let megabytes = |cell: &Cell| Scale::Megabytes(cell.bytes).of(cell.unspool.whole);
        let (slow, least) = worst(said().map(|(name, cell)| (name, -megabytes(cell))));
        let _ = writeln!(
            out,
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} | {most:.1} | {of} | {:.0} | {:.0} | {slow} | {:.0} |",
            input.name,
            mean(&|c| c.bytes as f64 / c.tokens as f64),
            mean(&|c| Scale::PerToken(c.tokens).of(c.floor.one)),
            mean(&ratio),
            middle(said().map(|(_, cell)| ratio(cell))),
            mean(&megabytes),
            -least,
            mean(&|c| Scale::Megabytes(c.bytes).of(c.floor.whole)),
        );
    }
}

/// Pairs by inputs.
fn matrix(out: &mut String, rows: &[&Row], task: &Task<'_>, title: &str, number: impl Fn(&Cell) -> String) {
    heading(out, title);
    let names: Vec<&str> = task.inputs.iter().map(|input| input.name).collect();
    let _ = writeln!(out, "| reasoning / tools | {} |\n|---|{}", names.join(" | "), "--:|".repeat(names.len()));
    for row in rows {
        let cells: Vec<String> = row.cells.iter().map(|cell| cell.as_ref().map_or("-".to_owned(), &number)).collect();
        let _ = writeln!(out, "| {} | {} |", row.names.shown(), cells.join(" | "));
    }
}

/// Why cells are empty.
fn unsaid(out: &mut String, rows: &[&Row], task: &Task<'_>) {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        for (input, cell) in task.inputs.iter().zip(&row.cells) {
            let Err(reason) = cell else { continue };
            let place = format!("{} ({})", row.names.shown(), input.name);
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, places)) => places.push(place),
                None => reasons.push((reason, vec![place])),
            }
        }
    }
    if reasons.is_empty() {
        return;
    }
    heading(out, "Empty cells");
    out.push_str("What a format cannot say:\n\n");
    for (reason, places) in reasons {
        let _ = writeln!(out, "- {reason}: {}", places.join(", "));
    }
}

fn heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n### {title}\n");
}
