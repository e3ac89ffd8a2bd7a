//! The `unspool` command.

mod args;
mod config_file;
mod diagnose;
mod extras;
mod failure;
mod files;
mod formats;
mod grammar;
mod kit;
mod parse;
mod place;
mod progress;
mod serve;
mod setup;
mod stream;
mod template;
mod tools;
mod usage;
mod wire;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == unspool_text::sandbox::ARGUMENT) {
        let more = std::env::args_os().skip(2).map(|argument| argument.to_string_lossy().into_owned());
        return unspool_text::worker::run(more);
    }
    let arguments = match config_file::expand(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(failure) => return failure.report(),
    };
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => match usage::failure(&error) {
            Some(failure) => return failure.report(),
            None => return page(&error),
        },
    };
    let result = match cli.command {
        Command::Parse(options) => parse::run(&options),
        Command::Diagnose(options) => diagnose::run(&options),
        Command::Formats(options) => formats::run(&options),
        Command::Grammar(options) => grammar::run(&options),
        Command::Stream(options) => stream::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Template { action } => template::run(&action),
        Command::New(options) => kit::new(&options),
        Command::Test(options) => kit::test(&options),
        Command::Fmt(options) => kit::fmt(&options),
        Command::Cases(options) => kit::cases(&options),
        Command::Completions { shell } => extras::completions(shell),
        Command::Man { command } => extras::man(command.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints a requested page: help or the version.
fn page(page: &clap::Error) -> ExitCode {
    let code = u8::try_from(page.exit_code()).unwrap_or(1);
    match page.print().and_then(|()| io::stdout().flush()) {
        Ok(()) => ExitCode::from(code),
        Err(error) => Failure::from(error).report(),
    }
}
