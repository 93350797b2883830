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
    to_the_end(super::runtime()?, crate::server::run(&args, door, reader))
}

/// Runs `serving`. What then still works on a thread that cannot be interrupted, such as reading a large file of symbols, ends
/// with the process: dropping the runtime would wait for it, until the supervisor kills this process and tells a failure.
fn to_the_end<T>(runtime: tokio::runtime::Runtime, serving: impl Future<Output = T>) -> T {
    let outcome = runtime.block_on(serving);
    runtime.shutdown_background();
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_waits_for_a_thread_that_still_works() {
        let (end, ended) = std::sync::mpsc::sync_channel::<()>(1);
        let serving = async move {
            tokio::task::spawn_blocking(move || ended.recv());
            7
        };
        assert_eq!(to_the_end(crate::cli::runtime().expect("a runtime"), serving), 7);
        drop(end);
    }
}
