//! `serve`: the supervisor of agent and console.

use clap::Args;

use crate::{
    Outcome,
    config::{AgentRunArgs, CommandArgs, DataArgs, KeepArgs, ListenArgs, LogArgs, ScriptArgs},
};

/// What `serve` takes.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// Where and for whom to listen.
    #[command(flatten)]
    pub listen: ListenArgs,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
    /// How the agent is run.
    #[command(flatten)]
    pub agent: AgentRunArgs,
    /// Who may run scripts.
    #[command(flatten)]
    pub scripts: ScriptArgs,
    /// As whom captures start commands.
    #[command(flatten)]
    pub commands: CommandArgs,
    /// How long captures are kept.
    #[command(flatten)]
    pub keep: KeepArgs,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Runs agent and console until the console ends.
///
/// # Errors
/// If a child cannot be started.
pub fn run(args: ServeArgs) -> Outcome {
    // Whatever the shell had open beside the standard descriptors is for neither of the processes.
    bathyscope_agent::close_inherited();
    crate::logging::start(&args.log)?;
    crate::launch::supervise(&args)
}
