//! The command line.

use clap::{Parser, Subcommand};
use clap_complete::Shell;

/// Parses a language model's raw output into reasoning, content and tool calls
#[derive(Debug, Parser)]
#[command(name = "unspool", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  unspool parse --tool-call-parser hermes --tools tools.json output.txt
  unspool formats qwen3_coder
  unspool serve --reasoning-parser qwen3 --tool-call-parser qwen3_coder --enable-auto-tool-choice

Exit codes: 0 done, 1 reading or writing failed, 2 the command line or a file that it names is wrong.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Parse one raw output and show its parts
    #[command(after_help = crate::parse::EXAMPLES)]
    Parse(Box<crate::parse::Options>),

    /// Find out why tool calls or reasoning do not arrive
    #[command(after_help = crate::diagnose::EXAMPLES)]
    Diagnose(Box<crate::diagnose::Options>),

    /// List all formats, or show one in full
    #[command(after_help = crate::formats::EXAMPLES)]
    Formats(crate::formats::Options),

    /// Print the grammar that constrains a model to its format
    #[command(after_help = crate::grammar::EXAMPLES)]
    Grammar(Box<crate::grammar::Options>),

    /// Parse many outputs, delta by delta: JSON Lines in, JSON Lines out
    #[command(after_help = crate::stream::EXAMPLES, after_long_help = crate::stream::PROTOCOL)]
    Stream(crate::stream::Options),

    /// Serve the APIs of OpenAI and Anthropic in front of a backend with raw output
    #[command(after_help = crate::serve::EXAMPLES)]
    Serve(Box<crate::serve::Options>),

    /// Check a chat template against parsers
    #[command(after_help = crate::template::EXAMPLES)]
    Template {
        /// What to do
        #[command(subcommand)]
        action: crate::template::Action,
    },

    /// Draft a format file from sample output
    #[command(after_help = crate::kit::NEW_EXAMPLES)]
    New(crate::kit::NewOptions),

    /// Test format files: examples, laws, rendering, grammar
    #[command(after_help = crate::kit::TEST_EXAMPLES)]
    Test(crate::kit::TestOptions),

    /// Format format files
    #[command(after_help = crate::kit::FMT_EXAMPLES)]
    Fmt(crate::kit::FmtOptions),

    /// Write test cases of a format, for other implementations
    #[command(after_help = crate::kit::CASES_EXAMPLES)]
    Cases(crate::kit::CasesOptions),

    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  unspool completions bash > ~/.local/share/bash-completion/completions/unspool
  unspool completions zsh > ~/.zfunc/_unspool
  unspool completions fish > ~/.config/fish/completions/unspool.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },

    /// Print a manual page
    #[command(after_help = "\
Examples:
  unspool man | man -l -
  unspool man parse > unspool-parse.1")]
    Man {
        /// The command to describe; without it, `unspool` itself
        command: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
