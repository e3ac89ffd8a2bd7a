//! Errors that end the command: a message, a hint, an exit code.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use unspool::Error;

use anstyle::{AnsiColor, Style};

/// Style of the word `error`, as in clap.
const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Style of the word `hint`.
const HINT: Style = AnsiColor::Green.on_default();
/// Style of the word `warning`.
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Why the command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line, or a file that it names, is wrong.
    Usage { message: String, hint: Option<String> },
    /// Reading or writing failed.
    Io(String),
    /// The check found differences and has reported them.
    Differs,
    /// The reader of the output is gone; there is nothing to report.
    Closed,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: Some(hint.into()) }
    }

    /// Prints the error on standard error and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Usage { message, hint } => {
                tell(&picture(ERROR, "error", message, hint.as_deref()));
                ExitCode::from(2)
            }
            Self::Io(message) => {
                tell(&picture(ERROR, "error", message, None));
                ExitCode::FAILURE
            }
            Self::Differs => ExitCode::FAILURE,
            Self::Closed => ExitCode::SUCCESS,
        }
    }
}

/// Prints a warning.
pub(crate) fn warn(message: &str, hint: Option<&str>) {
    tell(&picture(WARNING, "warning", message, hint));
}

fn picture(style: Style, word: &str, message: &str, hint: Option<&str>) -> String {
    let mut out = format!("{style}{word}{style:#}: {message}\n");
    if let Some(hint) = hint {
        let _ = writeln!(out, "  {HINT}hint{HINT:#}: {hint}");
    }
    out
}

/// Writes to standard error. A failure to do so is ignored.
fn tell(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Usage { message: error.message, hint: error.hint }
    }
}

/// An error on standard output; errors of files name the file in their messages.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Io(format!("cannot write the output: {error}"))
        }
    }
}
