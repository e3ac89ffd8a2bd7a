//! `unspool serve`: the gateway.

use clap::Args;

use crate::failure::Failure;

pub(crate) const EXAMPLES: &str = "\
Examples:
  unspool serve --reasoning-parser qwen3 --tool-call-parser qwen3_coder --enable-auto-tool-choice";

/// The gateway's options.
#[derive(Debug, Args)]
pub(crate) struct Options {}

/// Serves until it is told to stop.
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn run(options: Options) -> Result<(), Failure> {
    let _ = options;
    Err(Failure::usage("this build has no gateway", "build `unspool` with the crate `unspool-server`"))
}
