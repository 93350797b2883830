//! `completions`: scripts for shells.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::Outcome;

/// What `completions` takes.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// None.
pub fn run(args: CompletionsArgs) -> Outcome {
    clap_complete::generate(args.shell, &mut super::Cli::command(), "bathyscope", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
