//! An agent for one verb, at the end of a socket pair.

use std::{
    ffi::OsString,
    os::fd::{AsFd as _, AsRawFd as _},
    path::Path,
    process::Child,
};

use bathyscope_agent::{CommandRights, Simulation};
use bathyscope_protocol::{AgentClient, ClientError, Connection};

use super::{Account, Workplace, confine::allow_urgent_threads, console_account, give_up_rights, this_binary};
use crate::{
    Failure,
    config::{LogArgs, Scripts},
};

/// An agent that serves this process alone and ends with it.
#[derive(Debug)]
pub struct OwnAgent {
    child: Child,
    connection: Option<Connection>,
}

impl OwnAgent {
    /// Starts one that runs neither scripts nor commands. Its log goes to standard error, from warnings up where `log` is not
    /// given.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(simulation: Option<&Simulation>, log: Option<&LogArgs>) -> Result<Self, Failure> {
        Self::begin(simulation, log, Scripts::Off, &CommandRights::Off, (None, &[]))
    }

    /// Starts one that runs scripts, as far as `scripts` says, and the command of whoever starts it.
    ///
    /// # Errors
    /// As [`OwnAgent::start`].
    pub fn start_for_scripts(
        simulation: Option<&Simulation>,
        log: Option<&LogArgs>,
        scripts: Scripts,
    ) -> Result<Self, Failure> {
        Self::begin(simulation, log, scripts, &CommandRights::Caller, (None, &[]))
    }

    /// Starts one that removes the place when it ends, if that is a directory of its own.
    ///
    /// # Errors
    /// As [`OwnAgent::start`].
    pub(crate) fn start_at(
        place: &Workplace,
        simulation: Option<&Simulation>,
        log: Option<&LogArgs>,
        scripts: Scripts,
    ) -> Result<Self, Failure> {
        Self::start_with(place, simulation, log, scripts, &[])
    }

    /// As [`OwnAgent::start_at`], with variables of the environment that are set, or removed, for commands.
    ///
    /// # Errors
    /// As [`OwnAgent::start`].
    pub(crate) fn start_with(
        place: &Workplace,
        simulation: Option<&Simulation>,
        log: Option<&LogArgs>,
        scripts: Scripts,
        environment: &[(OsString, Option<OsString>)],
    ) -> Result<Self, Failure> {
        Self::begin(simulation, log, scripts, &CommandRights::Caller, (place.own_directory(), environment))
    }

    fn begin(
        simulation: Option<&Simulation>,
        log: Option<&LogArgs>,
        scripts: Scripts,
        commands: &CommandRights,
        (remove, environment): (Option<&Path>, &[(OsString, Option<OsString>)]),
    ) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::because("starting an agent", error);
        let (ours, theirs) = Connection::pair().map_err(|error| Failure::because("starting an agent", error))?;
        let mut command = this_binary("agent");
        // The traced command runs there too.
        if let Ok(folder) = std::env::current_dir() {
            command.current_dir(folder).envs(std::env::vars_os());
        }
        for (name, value) in environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(["--on-fd", &theirs.as_fd().as_raw_fd().to_string()]);
        command.args(["--console-uid", &rustix::process::geteuid().as_raw().to_string()]);
        command.args(["--commands", &commands.to_string()]);
        command.args(["--supervisor", &std::process::id().to_string()]);
        scripts.pass_on(&mut command);
        if let Some(directory) = remove {
            command.arg("--remove-at-end").arg(directory);
        }
        if let Some(simulation) = simulation {
            command.arg(format!("--simulate={simulation}"));
        }
        match log {
            Some(log) => log.pass_on(&mut command),
            None => {
                command.args(["--log", "warn"]);
            }
        }
        // The child inherits it by its number, beside the standard descriptors, which a traced command gets. There is no
        // other thread yet that could start something meanwhile.
        rustix::io::fcntl_setfd(&theirs, rustix::io::FdFlags::empty()).map_err(|errno| failed(errno.into()))?;
        let child = command.spawn().map_err(failed)?;
        drop(theirs);
        Ok(Self { child, connection: Some(ours) })
    }

    /// Gives up every right of this process, so that it reads what the agent hands out without any; then greets the
    /// agent. To be called before any thread exists.
    ///
    /// # Errors
    /// If a right remains, or the agent does not answer.
    pub fn client(&mut self) -> Result<AgentClient, Failure> {
        let account = console_account(None, None)?;
        self.client_as(account.as_ref())
    }

    /// As [`OwnAgent::client`], as the owner of the place where the verb works.
    ///
    /// # Errors
    /// As [`OwnAgent::client`].
    pub(crate) fn client_at(&mut self, place: &Workplace) -> Result<AgentClient, Failure> {
        self.client_as(place.account())
    }

    fn client_as(&mut self, account: Option<&Account>) -> Result<AgentClient, Failure> {
        allow_urgent_threads();
        give_up_rights(account.map(|account| account.uid), account.map(|account| account.gid))?;
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
