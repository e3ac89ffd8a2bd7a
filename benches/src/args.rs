//! The command line.

use std::time::Duration;

use crate::messages::{INPUTS, Input};
use crate::trial::Patience;

pub(crate) const USAGE: &str = "\
usage: cargo run --release [--features rivals] -- [OPTIONS] [NAME…]

  NAME…             only pairs with one of these reasoning or tool parsers
  --input NAME      only this input; may be said again
  --tokens N        tokens of each input (1000)
  --long            measure ten times as long
  --spin SECONDS    only stream each input through unspool for so long, under a profiler
  --write SECTION   put the tables into this section of RESULTS.md instead of printing them";

/// What is asked for.
pub(crate) struct Args {
    /// Empty: all.
    pub(crate) names: Vec<String>,
    pub(crate) inputs: Vec<&'static Input>,
    pub(crate) tokens: usize,
    pub(crate) patience: Patience,
    pub(crate) section: Option<String>,
    /// Nothing is measured, only streamed for so long.
    pub(crate) spin: Option<Duration>,
    /// The arguments as they were typed.
    pub(crate) typed: String,
}

impl Args {
    /// Reads the arguments, or says what is wrong with them.
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let arguments: Vec<String> = arguments.collect();
        let quick = Patience { rounds: 3, each: Duration::from_millis(3) };
        let mut args = Self {
            names: Vec::new(),
            inputs: Vec::new(),
            tokens: 1_000,
            patience: quick,
            section: None,
            spin: None,
            typed: arguments.join(" "),
        };
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--input" => args.inputs.push(input(&value(&argument, rest.next())?)?),
                "--tokens" => args.tokens = number(&argument, rest.next())?,
                "--spin" => args.spin = Some(Duration::from_secs(number(&argument, rest.next())?)),
                "--long" => args.patience = Patience { rounds: 6, each: quick.each * 5 },
                "--write" => args.section = Some(value(&argument, rest.next())?),
                option if option.starts_with('-') => return Err(format!("`{option}` is no option\n\n{USAGE}")),
                _ => args.names.push(argument),
            }
        }
        if args.inputs.is_empty() {
            args.inputs = INPUTS.iter().collect();
        }
        Ok(args)
    }
}

fn value(option: &str, value: Option<String>) -> Result<String, String> {
    value.ok_or_else(|| format!("{option} needs a value\n\n{USAGE}"))
}

fn number<T: std::str::FromStr>(option: &str, text: Option<String>) -> Result<T, String> {
    let text = value(option, text)?;
    text.parse().map_err(|_| format!("{option}: `{text}` is no number"))
}

fn input(name: &str) -> Result<&'static Input, String> {
    let known = || INPUTS.iter().map(|i| i.name).collect::<Vec<_>>().join(", ");
    INPUTS
        .iter()
        .find(|i| i.name == name)
        .ok_or_else(|| format!("no input is named `{name}`\nhint: there are {}", known()))
}
