//! An agent for one verb, at the end of a socket pair.

use std::{
    os::fd::{AsFd as _, OwnedFd},
    process::{Child, Stdio},
};

use bathyscope_agent::Simulation;
use bathyscope_protocol::{AgentClient, ClientError, Connection};

use super::{console_account, give_up_rights, invoking_uid, this_binary};
use crate::{Failure, cli::agent::Scripts, config::LogArgs};

/// An agent that serves this process alone and ends with it.
#[derive(Debug)]
pub struct OwnAgent {
    child: Child,
    connection: Option<Connection>,
}

impl OwnAgent {
    /// Starts one. Its log goes to standard error, from warnings up where `log` is not given.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(simulation: Option<&Simulation>, log: Option<&LogArgs>) -> Result<Self, Failure> {
        Self::start_for_scripts(simulation, log, Scripts::Off)
    }

    /// Starts one that runs scripts, as far as `scripts` says.
    ///
    /// # Errors
    /// As [`OwnAgent::start`].
    pub fn start_for_scripts(
        simulation: Option<&Simulation>,
        log: Option<&LogArgs>,
        scripts: Scripts,
    ) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::because("starting an agent", error);
        let (ours, theirs) = Connection::pair().map_err(|error| Failure::because("starting an agent", error))?;
        let mut command = this_binary("agent");
        // The traced command runs there too.
        if let Ok(folder) = std::env::current_dir() {
            command.current_dir(folder).envs(std::env::vars_os());
        }
        command.arg("--on-stdin");
        command.args(["--console-uid", &rustix::process::geteuid().as_raw().to_string()]);
        command.args(["--command-uid", &invoking_uid().to_string()]);
        command.args(["--supervisor", &std::process::id().to_string()]);
        scripts.pass_on(&mut command);
        if let Some(simulation) = simulation {
            command.arg(format!("--simulate={simulation}"));
        }
        match log {
            Some(log) => log.pass_on(&mut command),
            None => {
                command.args(["--log", "warn"]);
            }
        }
        let theirs: OwnedFd = theirs.as_fd().try_clone_to_owned().map_err(failed)?;
        let child = command.stdin(Stdio::from(theirs)).stdout(Stdio::null()).spawn().map_err(failed)?;
        Ok(Self { child, connection: Some(ours) })
    }

    /// Gives up every right of this process, so that it reads what the agent hands out without any; then greets the
    /// agent. To be called before any thread exists.
    ///
    /// # Errors
    /// If a right remains, or the agent does not answer.
    pub fn client(&mut self, user: Option<&str>) -> Result<AgentClient, Failure> {
        let account = console_account(user)?;
        give_up_rights(account.as_ref().map(|account| account.uid), account.as_ref().map(|account| account.gid))?;
        let connection = self.connection.take().ok_or_else(|| Failure::new("the agent was taken before"))?;
        AgentClient::over(connection).map_err(|error| agent_failure("greeting the agent", error))
    }
}

impl Drop for OwnAgent {
    /// It ends when its connection closes; a process that gave up its rights may not end it in another way.
    fn drop(&mut self) {
        self.connection = None;
        let _ended = self.child.wait();
    }
}

/// What the agent refused, for a person at a terminal.
pub(crate) fn agent_failure(doing: &str, error: ClientError) -> Failure {
    match error {
        ClientError::Refused(error) => Failure::new(format!("{}: {}", error.doing, error.why)).remedy(error.remedy),
        error => Failure::because(doing, error),
    }
}
