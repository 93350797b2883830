//! `trace`: a capture from the terminal.

use clap::Args;

use crate::{
    Failure, Outcome,
    config::{AgentRunArgs, DataArgs, LogArgs},
};

/// What `trace` takes.
#[derive(Clone, Debug, Args)]
pub struct TraceArgs {
    /// Tracepoint to record; repeatable
    #[arg(short, long = "event", value_name = "SYSTEM:EVENT")]
    pub events: Vec<String>,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
    /// How the agent is run.
    #[command(flatten)]
    pub agent: AgentRunArgs,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
}

/// Makes the capture and prints its rows.
///
/// # Errors
/// If it cannot be started.
pub fn run(args: TraceArgs) -> Outcome {
    let _ = args;
    Err(Failure::new("`trace` is not in this build yet"))
}
