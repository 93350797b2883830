//! `console` (hidden): the unprivileged side, started by `serve` with its end of the door as standard input. Gives up its rights before anything else.

use std::path::Path;

use clap::Args;

use crate::{
    Outcome,
    config::{CommandArgs, DataArgs, KeepArgs, ListenArgs, LogArgs, ScriptArgs},
    import::NewReader,
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
    /// As whom captures start commands.
    #[command(flatten)]
    pub commands: CommandArgs,
    /// How long captures are kept.
    #[command(flatten)]
    pub keep: KeepArgs,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
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

/// Gives up all rights, and every file and system call that is not needed; then serves HTTP until it is told to stop.
///
/// # Errors
/// If rights remain, the store cannot be opened, or the address cannot be bound.
pub fn run(args: ConsoleArgs) -> Outcome {
    // Before anything is given up: afterwards this process may start no other.
    let reader = NewReader::start(Path::new("/proc/self/exe"), args.uid, args.gid);
    crate::launch::confine(args.uid, args.gid, args.supervisor)?;
    crate::logging::start(&args.log)?;
    let door = super::agent::door_on_stdin()?;
    // Before there is a thread: Landlock holds for the thread that asks for it, and for those that it starts.
    crate::launch::restrict_files(&args.data.directory()?, args.listen.listen.port())?;
    crate::launch::filter_system_calls()?;
    super::runtime()?.block_on(crate::server::run(&args, door, reader))
}
