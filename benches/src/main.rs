//! Times unspool beside a copy, and beside other streaming parsers; makes the tables of RESULTS.md.
//!
//! `cargo run --release [--features rivals] -- [OPTIONS] [NAME…]`; `--help` lists the options.

mod answer;
mod args;
mod contest;
mod count;
mod machine;
mod messages;
mod names;
mod report;
#[cfg(feature = "rivals")]
mod rivals;
mod row;
mod section;
mod tokens;
mod trial;

use std::process::ExitCode;

use crate::args::Args;
use crate::count::Counting;
use crate::row::{Row, Task};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--help") {
        println!("{}", args::USAGE);
        return ExitCode::SUCCESS;
    }
    match Args::read(std::env::args().skip(1)).and_then(|args| run(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let rows: Vec<_> =
        names::all().into_iter().filter(|n| args.names.is_empty() || args.names.iter().any(|a| n.is(a))).collect();
    if rows.is_empty() {
        return Err(format!("no parser is named `{}`\nhint: `unspool formats` lists them", args.names.join("`, `")));
    }
    let task =
        Task { inputs: args.inputs.clone(), tokens: args.tokens, patience: args.patience, tools: messages::tools() };
    if let Some(each) = args.spin {
        rows.iter().for_each(|names| row::spin(names, &task, each));
        return Ok(());
    }
    let before = machine::load();
    let measured: Vec<Row> = rows
        .iter()
        .enumerate()
        .map(|(at, names)| {
            eprint!("\r{}/{} {:<60}", at + 1, rows.len(), names.shown());
            row::measure(names, &task)
        })
        .collect();
    eprintln!();
    let machine = format!("{}; load {before} before and {} after", machine::described(), machine::load());
    let report = report::write(&measured, &task, &format!("{machine}. Options: `{}`.", args.typed));
    match &args.section {
        Some(name) => section::replace(name, &report),
        None => {
            println!("{report}");
            Ok(())
        }
    }
}
