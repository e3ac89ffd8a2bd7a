//! Errors on the command line, in this command's style: clap's errors with a position and a hint.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};
use unspool::suggest;

use crate::args::Cli;
use crate::failure::Failure;

/// Converts an error of clap. `None`: it is a requested page.
pub(crate) fn failure(error: &clap::Error) -> Option<Failure> {
    let found = Found { error };
    let (message, hint) = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return None;
        }
        ErrorKind::UnknownArgument => found.unknown_argument(),
        ErrorKind::InvalidSubcommand => found.unknown_command(),
        ErrorKind::InvalidValue => found.invalid_value(),
        ErrorKind::ValueValidation => found.unfit_value(),
        ErrorKind::NoEquals | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => found.missing_value(),
        ErrorKind::TooManyValues => found.too_many_values(),
        ErrorKind::ArgumentConflict => found.conflict(),
        ErrorKind::MissingRequiredArgument => found.missing_argument(),
        ErrorKind::MissingSubcommand => ("there is no command".to_owned(), all_commands()),
        ErrorKind::InvalidUtf8 => ("an argument is not UTF-8".to_owned(), "write names and values in UTF-8".to_owned()),
        _ => (first_line(error), found.see_help()),
    };
    Some(Failure::usage(message, hint))
}

/// An error with clap's context.
struct Found<'a> {
    error: &'a clap::Error,
}

impl Found<'_> {
    fn texts(&self, kind: ContextKind) -> Vec<&str> {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => vec![text],
            Some(ContextValue::Strings(texts)) => texts.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    fn text(&self, kind: ContextKind) -> &str {
        self.texts(kind).into_iter().next().unwrap_or_default()
    }

    /// The flag in question, without its value name.
    fn flag(&self) -> &str {
        let argument = self.text(ContextKind::InvalidArg);
        argument.split_whitespace().next().unwrap_or(argument)
    }

    /// The words between `unspool` and the argument, from the usage line.
    fn command(&self) -> Option<String> {
        let usage = match self.error.get(ContextKind::Usage) {
            Some(ContextValue::StyledStr(usage)) => usage.to_string(),
            _ => std::env::args().nth(1).map(|word| format!("unspool {word} ")).unwrap_or_default(),
        };
        let mut words = usage.split_whitespace().skip_while(|word| *word != "unspool").skip(1);
        words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).map(str::to_owned)
    }

    fn see_help(&self) -> String {
        match self.command() {
            Some(command) => format!("`unspool {command} --help` lists what is possible"),
            None => "`unspool --help` lists what is possible".to_owned(),
        }
    }

    fn unknown_argument(&self) -> (String, String) {
        let flag = self.flag();
        if !flag.starts_with('-') {
            return (format!("`{flag}` is an extra argument"), self.see_help());
        }
        let root = Cli::command();
        let command = self.command();
        let here = command.as_deref().and_then(|name| root.find_subcommand(name)).unwrap_or(&root);
        let place = command.map(|name| format!("`unspool {name}`")).unwrap_or_else(|| "`unspool`".to_owned());
        let wanted = flag.trim_start_matches('-');
        let flags: Vec<String> = flags(here).collect();
        let near: Vec<&str> = suggest::near(wanted, flags.iter().map(String::as_str));
        let dashed: Vec<String> = near.iter().map(|name| format!("--{name}")).collect();
        let dashed: Vec<&str> = dashed.iter().map(String::as_str).collect();
        (format!("{place} has no flag `{flag}`"), suggest::did_you_mean(&dashed).unwrap_or_else(|| self.see_help()))
    }

    fn unknown_command(&self) -> (String, String) {
        let word = self.text(ContextKind::InvalidSubcommand);
        let root = Cli::command();
        let near = suggest::near(word, root.get_subcommands().map(Command::get_name));
        (format!("there is no command `{word}`"), suggest::did_you_mean(&near).unwrap_or_else(all_commands))
    }

    /// A value that is not one of the possible ones, or no value; clap uses one kind for both.
    fn invalid_value(&self) -> (String, String) {
        let value = self.text(ContextKind::InvalidValue);
        let words = self.texts(ContextKind::ValidValue);
        if value.is_empty() && words.is_empty() {
            return self.missing_value();
        }
        let message = format!("{} is `{value}`, which is not a possible value", self.flag());
        let near = suggest::did_you_mean(&suggest::near(value, words.iter().copied()));
        let all = format!("it can be {}", words.join(", "));
        (message, near.map_or_else(|| all.clone(), |near| format!("{near} {all}")))
    }

    fn unfit_value(&self) -> (String, String) {
        let value = self.text(ContextKind::InvalidValue);
        let why = self.error.source().map(ToString::to_string).unwrap_or_default();
        // Some value parsers bring their own hint.
        let (why, own) = why.split_once('\n').unwrap_or((&why, ""));
        let hint = own.trim().strip_prefix("hint: ").map_or_else(|| self.takes(), str::to_owned);
        (format!("{} is `{value}`: {why}", self.flag()), hint)
    }

    fn missing_value(&self) -> (String, String) {
        (format!("{} has no value", self.flag()), self.takes())
    }

    fn too_many_values(&self) -> (String, String) {
        let value = self.text(ContextKind::InvalidValue);
        (format!("`{value}` is an extra value of {}", self.flag()), self.takes())
    }

    fn conflict(&self) -> (String, String) {
        let (first, others) = (self.flag(), self.texts(ContextKind::PriorArg));
        let other = others.first().and_then(|other| other.split_whitespace().next()).unwrap_or("another argument");
        if other == first || others.is_empty() {
            return (format!("{first} is given twice"), "give it once".to_owned());
        }
        (format!("{first} and {other} cannot be given together"), "leave out one of them".to_owned())
    }

    fn missing_argument(&self) -> (String, String) {
        let missing = self.texts(ContextKind::InvalidArg).join(" and ");
        (format!("{missing} is missing"), self.see_help())
    }

    /// What the flag takes: its value name, and the first sentence of its help.
    fn takes(&self) -> String {
        let root = Cli::command();
        let command = self.command();
        let here = command.as_deref().and_then(|name| root.find_subcommand(name)).unwrap_or(&root);
        let long = self.flag().trim_start_matches('-').split('=').next().unwrap_or_default();
        let Some(argument) = here.get_arguments().find(|argument| argument.get_long() == Some(long)) else {
            return self.see_help();
        };
        let value = argument.get_value_names().and_then(|names| names.first()).map_or("VALUE", |name| name.as_str());
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.split(['\n', ';']).next().unwrap_or_default().trim_end_matches('.').to_owned();
        format!("write --{long} {value}: {help}")
    }
}

/// The visible long flags of a command.
fn flags(command: &Command) -> impl Iterator<Item = String> + '_ {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    shown.filter_map(|argument| argument.get_long().map(str::to_owned)).chain(["help".to_owned()])
}

fn all_commands() -> String {
    let root = Cli::command();
    let names: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
    format!("the commands are {}", names.join(", "))
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}
