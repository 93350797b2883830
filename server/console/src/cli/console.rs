//! `console` (hidden): the unprivileged side, started by `serve`. Gives up its rights before anything else.

use std::path::PathBuf;

use clap::Args;

use crate::{
    Outcome,
    config::{DataArgs, KeepArgs, ListenArgs, LogArgs, ScriptArgs},
};

/// What the supervisor gives to the console.
#[derive(Clone, Debug, Args)]
pub struct ConsoleArgs {
    /// Where and for whom to listen.
    #[command(flatten)]
    pub listen: ListenArgs,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
    /// Who may run scripts.
    #[command(flatten)]
    pub scripts: ScriptArgs,
    /// How long captures are kept.
    #[command(flatten)]
    pub keep: KeepArgs,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
    /// Socket of the agent
    #[arg(long, value_name = "PATH")]
    pub agent_socket: PathBuf,
    /// User id to become
    #[arg(long, value_name = "UID")]
    pub uid: Option<u32>,
    /// Group id to become
    #[arg(long, value_name = "GID")]
    pub gid: Option<u32>,
    /// Process that started this one; the console ends with it
    #[arg(long, value_name = "PID")]
    pub supervisor: Option<u32>,
}

/// Gives up all rights, then serves HTTP until it is told to stop.
///
/// # Errors
/// If rights remain, the store cannot be opened, or the address cannot be bound.
pub fn run(args: ConsoleArgs) -> Outcome {
    crate::launch::confine(args.uid, args.gid, args.supervisor)?;
    crate::logging::start(&args.log)?;
    super::runtime()?.block_on(crate::server::run(&args))
}
