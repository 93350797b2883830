//! The agent as a process: listens for one console at a time until its supervisor ends.

use std::path::{Path, PathBuf};

use bathyscope_protocol::{Connection, Listener, ProtocolError};
use rustix::process::{DumpableBehavior, Pid, Signal};

use crate::{
    backend::Backend,
    compile::ScriptRights,
    kernel::{KernelBackend, trace},
    session::{self, SessionEnd},
    simulated::{SimulatedBackend, Simulation},
};

/// How the agent is run.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Where it listens, in a folder that only the console's user may enter.
    pub socket: PathBuf,
    /// The user who may connect, beside root.
    pub console_uid: u32,
    /// The user whom a command runs as where no other is asked for.
    pub command_uid: u32,
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
    /// The socket cannot be made or does not work.
    #[error("serving at {}", .path.display())]
    Socket {
        /// Where.
        path: PathBuf,
        /// Why.
        source: ProtocolError,
    },
    /// The process cannot be set up.
    #[error("{doing}")]
    Process {
        /// What was being done.
        doing: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The supervisor has ended before the agent was ready.
    #[error("the supervisor has ended")]
    Orphaned,
}

/// Runs the agent. Returns only with an error; it ends when its supervisor does, or by a signal.
///
/// # Errors
/// If the socket cannot be made, or the supervisor is gone.
pub fn run(options: &AgentOptions) -> Result<std::convert::Infallible, RunError> {
    follow_supervisor(options.supervisor)?;
    let trouble = |source| RunError::Socket { path: options.socket.clone(), source };
    // First of all, so that a console that is started at the same time finds it; it is answered when all is ready.
    let listener = listen(&options.socket).map_err(trouble)?;
    let mut backend = backend(options, KernelBackend::prepared);
    tracing::info!(simulated = backend.simulated(), "the agent is ready");
    loop {
        let connection = listener.accept().map_err(trouble)?;
        if may_connect(&connection, options.console_uid) {
            tracing::debug!("the console has connected");
            report(&session::serve(&connection, backend.as_mut()));
        }
    }
}

/// Serves the one console at the other end of `connection`, then returns.
///
/// # Errors
/// If the supervisor is gone.
pub fn run_on(connection: &Connection, options: &AgentOptions) -> Result<(), RunError> {
    follow_supervisor(options.supervisor)?;
    report(&session::serve(connection, backend(options, KernelBackend::at_a_terminal).as_mut()));
    // What is in tracefs stays there when this process ends.
    trace::settle();
    Ok(())
}

fn backend(options: &AgentOptions, prepare: fn(KernelBackend) -> KernelBackend) -> Box<dyn Backend> {
    match &options.simulation {
        Some(simulation) => Box::new(SimulatedBackend::new(simulation.clone())),
        None => Box::new(prepare(KernelBackend::new(options.command_uid).with_scripts(options.scripts))),
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

/// The directory decides who can reach the socket, and the kernel tells who did. The socket's own permissions are left
/// open and its owner alone: changing the owner by name, in a directory that the console's user can write, would be a
/// way to be given any other file.
fn listen(path: &Path) -> Result<Listener, ProtocolError> {
    let before = rustix::process::umask(rustix::fs::Mode::empty());
    let listener = Listener::bind(path);
    rustix::process::umask(before);
    listener
}

/// Only the console's user and root are served; the kernel tells who connected.
fn may_connect(connection: &Connection, console_uid: u32) -> bool {
    match connection.peer() {
        Ok(peer) if peer.uid == console_uid || peer.uid == 0 => true,
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
