//! The agent as a process: serves one console at a time until its supervisor ends.

use std::{
    convert::Infallible,
    io,
    os::fd::{AsFd as _, FromRawFd as _, OwnedFd, RawFd},
};

use bathyscope_protocol::{Connection, Door, ProtocolError};
use rustix::process::{DumpableBehavior, Pid, Signal};

use crate::{
    commands::CommandRights,
    compile::ScriptRights,
    kernel::{KernelBackend, do_what_the_filter_forbids, launcher, remember_caller, trace},
    rights,
    seccomp::{self, FilterError},
    session::{self, SessionEnd},
    simulated::{SimulatedBackend, Simulation},
    source::Backend,
};

/// How the agent is run.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// The user whose connections are served.
    pub console_uid: u32,
    /// As whom commands run; made-up ones always do.
    pub commands: CommandRights,
    /// What scripts may do; made-up ones always run.
    pub scripts: ScriptRights,
    /// Make up events instead of tracing.
    pub simulation: Option<Simulation>,
    /// The process that started this one; when it ends, so does the agent. None under a service manager, which ends the
    /// agent itself.
    pub supervisor: Option<u32>,
}

/// Why the agent could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The process cannot be set up.
    #[error("{doing}")]
    Process {
        /// What was being done.
        doing: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The supervisor has ended before the agent was ready.
    #[error("the supervisor has ended")]
    Orphaned,
}

/// Serves the consoles that come through `door`, one at a time. Returns only with an error; the agent ends when its
/// supervisor does, or by a signal.
///
/// # Errors
/// If the supervisor is gone.
pub fn run(door: &Door, options: &AgentOptions) -> Result<Infallible, RunError> {
    follow_supervisor(options.supervisor)?;
    confine(options)?;
    let mut backend = backend(options, KernelBackend::prepared);
    tracing::info!(simulated = backend.simulated(), "the agent is ready");
    loop {
        match door.accept() {
            Ok(connection) if may_connect(&connection, options.console_uid) => {
                tracing::debug!("the console has connected");
                report(&session::serve(&connection, backend.as_mut()));
            }
            Ok(_of_somebody_else) => {}
            // The console has ended, and the supervisor is about to end this process too.
            Err(ProtocolError::Closed) => loop {
                std::thread::park();
            },
            Err(error) => tracing::warn!(%error, "refused a message on the connection socket"),
        }
    }
}

/// Closes every descriptor beyond the standard ones. To be called before anything is opened.
pub fn close_inherited() {
    // SAFETY: this process has just begun and has opened nothing yet, so nothing owns what is closed.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// Takes over the descriptor `fd`, which this process inherited for itself alone. With it goes a note of what else was
/// inherited, for commands that run as the caller would run them. To be called before anything is opened.
///
/// # Errors
/// If it is not open.
pub fn take_inherited(fd: RawFd, options: &AgentOptions) -> Result<OwnedFd, RunError> {
    let failed = |source| RunError::Process { doing: "taking over the connection", source };
    // SAFETY: a number; that it is open is checked by the kernel.
    let found = unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    if fd < 0 || found < 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    // SAFETY: it is open, and nothing else in this process, which has just begun, knows its number.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    if options.commands == CommandRights::Caller {
        remember_caller(options.supervisor, fd.as_fd()).map_err(failed)?;
    }
    Ok(fd)
}

/// Serves the one console at the other end of `connection`, then returns.
///
/// # Errors
/// If the supervisor is gone.
pub fn run_on(connection: &Connection, options: &AgentOptions) -> Result<(), RunError> {
    follow_supervisor(options.supervisor)?;
    confine(options)?;
    report(&session::serve(connection, backend(options, KernelBackend::at_a_terminal).as_mut()));
    // What is in tracefs stays there when this process ends.
    trace::settle();
    Ok(())
}

/// Gives up what only commands need, which the launcher has from now on, and every system call that the agent does not make.
/// No thread exists yet.
fn confine(options: &AgentOptions) -> Result<(), RunError> {
    let failed = |doing| move |source| RunError::Process { doing, source };
    if options.simulation.is_none() {
        launcher::start(&options.commands).map_err(failed("starting the launcher of commands"))?;
    }
    rights::keep_listed().map_err(failed("giving up rights that are not needed"))?;
    if options.simulation.is_none() {
        do_what_the_filter_forbids();
    }
    match seccomp::install(&[seccomp::COMMON, seccomp::agent::AGENT], seccomp::agent::NEVER) {
        Ok(()) => Ok(()),
        // `doctor` tells it too.
        Err(error @ FilterError::Missing) => {
            tracing::warn!("{error}");
            Ok(())
        }
        Err(error) => {
            Err(RunError::Process { doing: "installing the agent's filter", source: io::Error::other(error) })
        }
    }
}

fn backend(options: &AgentOptions, prepare: fn(KernelBackend) -> KernelBackend) -> Box<dyn Backend> {
    match &options.simulation {
        Some(simulation) => Box::new(SimulatedBackend::new(simulation.clone())),
        None => Box::new(prepare(KernelBackend::new(options.commands.clone()).with_scripts(options.scripts))),
    }
}

fn report(end: &SessionEnd) {
    match end {
        SessionEnd::Closed => tracing::debug!("the console has closed its connection"),
        SessionEnd::Connection(source) => {
            let source: &dyn std::error::Error = source;
            tracing::warn!(source, "{end}; everything was detached");
        }
        end => tracing::warn!("{end}; everything was detached"),
    }
}

fn follow_supervisor(supervisor: Option<u32>) -> Result<(), RunError> {
    let failed = |doing| move |errno: rustix::io::Errno| RunError::Process { doing, source: errno.into() };
    // Nobody may attach a debugger to the agent or read its memory, not even its own user.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed("protecting the agent"))?;
    let Some(supervisor) = supervisor else { return Ok(()) };
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(failed("binding the agent to its supervisor"))?;
    let parent = rustix::process::getppid().map(|pid: Pid| pid.as_raw_nonzero().get().unsigned_abs());
    if parent == Some(supervisor) { Ok(()) } else { Err(RunError::Orphaned) }
}

/// Only the console's user is served; the kernel tells who made the connection.
fn may_connect(connection: &Connection, console_uid: u32) -> bool {
    match connection.peer() {
        Ok(peer) if peer.uid == console_uid => true,
        Ok(peer) => {
            tracing::warn!(uid = peer.uid, pid = peer.pid, "refused a connection of another user");
            false
        }
        Err(error) => {
            tracing::warn!(%error, "refused a connection of an unknown user");
            false
        }
    }
}
