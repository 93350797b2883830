//! `agent`: the privileged side.

use std::path::PathBuf;

use clap::Args;

use crate::{Failure, Outcome, config::LogArgs};

/// What `agent` takes.
#[derive(Clone, Debug, Args)]
pub struct AgentArgs {
    /// Socket to listen on, in a directory that only the console's user can enter
    #[arg(long, value_name = "PATH")]
    pub socket: PathBuf,
    /// User id of the console, the only one that may connect beside root
    #[arg(long, value_name = "UID")]
    pub console_uid: u32,
    /// Make up events instead of tracing
    #[arg(long)]
    pub simulate: bool,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Serves one console at a time until the supervisor ends.
///
/// # Errors
/// If the socket cannot be made.
pub fn run(args: AgentArgs) -> Outcome {
    let _ = args;
    Err(Failure::new("`agent` is not in this build yet"))
}
