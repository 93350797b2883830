//! `agent` (hidden): the privileged side, started by `serve` with its end of the door as standard input, or by a verb at a
//! terminal with a connection of its own.

use std::{os::fd::AsFd as _, path::PathBuf, process::ExitCode};

use bathyscope_agent::{AgentOptions, CommandRights, Simulation};
use bathyscope_protocol::{Connection, Door};
use clap::Args;

use crate::{
    Failure, Outcome,
    config::{LogArgs, Scripts},
};

/// What `agent` takes.
#[derive(Clone, Debug, Args)]
pub struct AgentArgs {
    /// Serve the one connection that is this descriptor, instead of those that the supervisor passes on
    #[arg(long, value_name = "FD")]
    pub on_fd: Option<i32>,
    /// A directory of the verb that started this one, which is removed in the end
    #[arg(long, value_name = "DIR", requires = "on_fd")]
    pub remove_at_end: Option<PathBuf>,
    /// User id of the console, the only one that is served
    #[arg(long, value_name = "UID")]
    pub console_uid: u32,
    /// As whom commands run that the console asks for: off, users by name or number, or as-root
    #[arg(long, value_name = "WHO", default_value_t)]
    pub commands: CommandRights,
    /// What scripts may do: nothing, observe (which is as much as to read all memory), or change what they observe
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Scripts::Off)]
    pub scripts: Scripts,
    /// Process that started this one; the agent ends with it
    #[arg(long, value_name = "PID")]
    pub supervisor: Option<u32>,
    /// Make up events instead of tracing. Options: rate=N,lose_every=N,seed=N
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub simulate: Option<Simulation>,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Serves one console at a time until the supervisor ends.
///
/// # Errors
/// If it cannot be set up.
pub fn run(args: AgentArgs) -> Outcome {
    let options = AgentOptions {
        console_uid: args.console_uid,
        commands: args.commands,
        scripts: args.scripts.into(),
        simulation: args.simulate,
        supervisor: args.supervisor,
    };
    let failed = |error| Failure::because("running the agent", error);
    // First of all, as it looks at what was open before.
    let inherited = args.on_fd.map(|fd| bathyscope_agent::take_inherited(fd, &options)).transpose().map_err(failed)?;
    crate::logging::start(&args.log)?;
    if let Some(socket) = inherited {
        let served = bathyscope_agent::run_on(&Connection::from(socket), &options).map_err(failed);
        // The verb has emptied it, but has no right to remove it.
        if let Some(directory) = &args.remove_at_end {
            let _gone_or_left_for_the_next = std::fs::remove_dir_all(directory);
        }
        return served.map(|()| ExitCode::SUCCESS);
    }
    let door = door_on_stdin()?;
    match bathyscope_agent::run(&door, &options).map_err(failed)? {}
}

/// The end of the door that the supervisor gave as standard input.
///
/// # Errors
/// If it is closed.
pub(super) fn door_on_stdin() -> Result<Door, Failure> {
    let stdin = std::io::stdin().as_fd().try_clone_to_owned();
    stdin.map(Door::from).map_err(|error| Failure::because("taking over the socket between console and agent", error))
}
