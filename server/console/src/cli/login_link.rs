//! `login-link`: another link that logs in once.

use clap::{Args, ValueEnum};

use crate::{Failure, Outcome, config::DataArgs};

/// What `login-link` takes.
#[derive(Clone, Debug, Args)]
pub struct LoginLinkArgs {
    /// What the link's user may do
    #[arg(long, value_enum, default_value_t = RoleArg::Admin)]
    pub role: RoleArg,
    /// Where the running console keeps its captures.
    #[command(flatten)]
    pub data: DataArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Read captures
    Viewer,
    /// Also start, stop and delete own captures
    Operator,
    /// Everything
    Admin,
}

/// Prints the link.
///
/// # Errors
/// If no console runs on that directory.
pub fn run(args: LoginLinkArgs) -> Outcome {
    let _ = args;
    Err(Failure::new("`login-link` is not in this build yet"))
}
