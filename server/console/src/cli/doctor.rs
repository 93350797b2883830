//! `doctor`: what this host can trace, found by trying.

use clap::Args;

use crate::{Failure, Outcome};

/// What `doctor` takes.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Tries every way to observe this host and prints the findings.
///
/// # Errors
/// If no agent can be run.
pub fn run(args: DoctorArgs) -> Outcome {
    let _ = args;
    Err(Failure::new("`doctor` is not in this build yet"))
}
