//! Shell completions and manual pages, from the same definitions as the help.

use std::io::{self, Write as _};

use clap::CommandFactory as _;
use clap_complete::Shell;
use unspool::suggest;

use crate::args::Cli;
use crate::failure::Failure;

/// Prints a completion script.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "unspool", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// Prints the manual page of the command or of a subcommand.
pub(crate) fn man(subcommand: Option<&str>) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let command = match subcommand {
        None => command,
        Some(name) => command.find_subcommand(name).cloned().ok_or_else(|| unknown(&command, name))?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(io::stdout().write_all(&page)?)
}

fn unknown(command: &clap::Command, name: &str) -> Failure {
    let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let hint = suggest::did_you_mean(&suggest::near(name, known.iter().copied()));
    Failure::usage(
        format!("`unspool` has no command `{name}`"),
        hint.unwrap_or_else(|| format!("the commands are {}", known.join(", "))),
    )
}
