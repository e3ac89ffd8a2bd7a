//! The tables beside other parsers.

use std::fmt::Write as _;

use super::numbers::{Scale, geometric, shown};
use super::{cells, heading};
use crate::row::{Cell, Row, Task, Times};
use crate::trial::Outcome;

/// Nothing, if no other parser was there.
pub(crate) fn write(out: &mut String, rows: &[&Row], task: &Task<'_>) {
    let known: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|row| {
            cells(row, task).any(|(_, _, cell)| cell.smg.one != Outcome::Missing || cell.dynamo.one != Outcome::Missing)
        })
        .collect();
    if known.is_empty() {
        return;
    }
    let one = |times: &Times, cell: &Cell| shown(times.one, Scale::PerToken(cell.tokens));
    table(out, &known, task, "Beside others: one token a delta, in ns a token", one);
    let whole = |times: &Times, cell: &Cell| shown(times.whole, Scale::Megabytes(cell.bytes));
    table(out, &known, task, "Beside others: whole texts, in MB/s", whole);
    means(out, &known, task);
}

fn table(out: &mut String, rows: &[&Row], task: &Task<'_>, title: &str, number: impl Fn(&Times, &Cell) -> String) {
    heading(out, title);
    out.push_str("unspool, smg, dynamo. `✗`: the answer was not the message, so the time is that of another task.\n\n");
    let names: Vec<&str> = task.inputs.iter().map(|input| input.name).collect();
    let _ = writeln!(out, "| reasoning / tools | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    for row in rows {
        let _ = write!(out, "| {} |", row.names.shown());
        for cell in &row.cells {
            let three = cell.as_ref().map(|cell| [&cell.unspool, &cell.smg, &cell.dynamo].map(|t| number(t, cell)));
            let _ = write!(out, " {} |", three.map_or("-".to_owned(), |three| three.join(", ")));
        }
        out.push('\n');
    }
}

/// How many times of unspool's time each takes, over the inputs that it answers rightly; and the whole reply with its request.
fn means(out: &mut String, rows: &[&Row], task: &Task<'_>) {
    heading(out, "Beside others: in all");
    out.push_str(
        "Geometric means of their time by ours over the inputs that they answer rightly (how many), one token a delta; and µs for \
         request, parser and a whole turn of 8 kB.\n\n\
         | reasoning / tools | smg | dynamo | reply: unspool | smg | dynamo |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let reply = [row.request.unspool, row.request.smg, row.request.dynamo].map(|o| shown(o, Scale::Microseconds));
        let (smg, dynamo) = (times_ours(row, task, |c| c.smg.one), times_ours(row, task, |c| c.dynamo.one));
        let _ = writeln!(out, "| {} | {smg} | {dynamo} | {} |", row.names.shown(), reply.join(" | "));
    }
}

fn times_ours(row: &Row, task: &Task<'_>, theirs: impl Fn(&Cell) -> Outcome) -> String {
    let right: Vec<f64> = cells(row, task)
        .filter(|(_, _, cell)| matches!(theirs(cell), Outcome::Took(_, true)))
        .map(|(_, _, cell)| Scale::Ratio(cell.unspool.one).of(theirs(cell)))
        .collect();
    let count = right.len();
    if count == 0 { "-".to_owned() } else { format!("{:.1} ({count})", geometric(right.into_iter())) }
}
