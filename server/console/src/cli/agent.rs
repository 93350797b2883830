//! `agent`: the privileged side.

use std::{os::fd::AsFd as _, path::PathBuf, process::ExitCode};

use bathyscope_agent::{AgentOptions, ScriptRights, Simulation};
use bathyscope_protocol::Connection;
use clap::{Args, ValueEnum};

use crate::{Failure, Outcome, config::LogArgs};

/// What `agent` takes.
#[derive(Clone, Debug, Args)]
pub struct AgentArgs {
    /// Socket to listen on, in a directory that only the console's user can enter
    #[arg(long, value_name = "PATH", required_unless_present = "on_stdin")]
    pub socket: Option<PathBuf>,
    /// Serve the one connection that is standard input
    #[arg(long, hide = true, conflicts_with = "socket")]
    pub on_stdin: bool,
    /// User id of the console, the only one that may connect beside root
    #[arg(long, value_name = "UID")]
    pub console_uid: u32,
    /// User id that traced commands run as where no other is asked for [default: who runs this]
    #[arg(long, value_name = "UID")]
    pub command_uid: Option<u32>,
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

/// What scripts may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scripts {
    /// None runs.
    Off,
    /// They observe.
    Observe,
    /// Those that ask for it may change what they observe.
    Change,
}

impl Scripts {
    /// Gives this to an agent that is started.
    pub fn pass_on(self, command: &mut std::process::Command) {
        let what = match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::Change => "change",
        };
        command.args(["--scripts", what]);
    }
}

impl From<Scripts> for ScriptRights {
    fn from(scripts: Scripts) -> Self {
        match scripts {
            Scripts::Off => Self::Off,
            Scripts::Observe => Self::Observe,
            Scripts::Change => Self::Change,
        }
    }
}

/// Serves one console at a time until the supervisor ends.
///
/// # Errors
/// If the socket cannot be made.
pub fn run(args: AgentArgs) -> Outcome {
    crate::logging::start(&args.log)?;
    let options = AgentOptions {
        socket: args.socket.unwrap_or_default(),
        console_uid: args.console_uid,
        command_uid: args.command_uid.unwrap_or_else(crate::launch::invoking_uid),
        scripts: args.scripts.into(),
        simulation: args.simulate,
        supervisor: args.supervisor,
    };
    let failed = |error| Failure::because("running the agent", error);
    if args.on_stdin {
        let stdin = std::io::stdin().as_fd().try_clone_to_owned();
        let stdin = stdin.map_err(|error| Failure::because("taking over the connection", error))?;
        bathyscope_agent::run_on(&Connection::from(stdin), &options).map_err(failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    match bathyscope_agent::run(&options).map_err(failed)? {}
}
