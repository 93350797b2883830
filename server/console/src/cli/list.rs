//! `list`: tracepoints of the running kernel.

use clap::Args;

use crate::{Failure, Outcome};

/// What `list` takes.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// What to look for, such as `sched_switch` or `sched:*`; a full name lists its fields
    #[arg(value_name = "PATTERN")]
    pub pattern: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the tracepoints that match.
///
/// # Errors
/// If tracefs cannot be read.
pub fn run(args: ListArgs) -> Outcome {
    let _ = args;
    Err(Failure::new("`list` is not in this build yet"))
}
