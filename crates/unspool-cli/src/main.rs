//! The `unspool` command.

mod args;
mod extras;
mod failure;
mod files;
mod formats;
mod grammar;
mod names;
mod parse;
mod serve;
mod setup;
mod stream;
mod wire;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Parse(options) => parse::run(&options),
        Command::Formats(options) => formats::run(&options),
        Command::Grammar(options) => grammar::run(&options),
        Command::Stream(options) => stream::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Completions { shell } => extras::completions(shell),
        Command::Man { command } => extras::man(command.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
