//! The process that makes commands: a fork of the agent from before it had a filter of system calls and gave up rights, both of
//! which a command would inherit.
//!
//! It does what a request over its own connection says, as far as the rights for commands allow that the agent was
//! started with; these it knows from the fork, and nobody tells it others. The agent alone has the other end. A command
//! becomes a child of the agent, which waits for it. The launcher exists only where commands are allowed, and ends with the
//! agent.

use std::{
    io,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd},
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use bathyscope_protocol::{AgentError, AgentErrorKind, Connection, ProtocolError, sandbox::close_all_but};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::{CALLER, DOING, Started, child::Parent};
use crate::{commands::CommandRights, error::failed, rights};

/// How long finding the user and the program, and forking, may take: both may be on file systems and in directories of users
/// far away.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most that the words of a command may have as a request: as much as those of the console's.
const MOST_BYTES: usize = 32 << 20;

/// What the agent asks for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    argv: Vec<String>,
    user: Option<String>,
}

/// What became of it. With a child come its two pipes, and those of its output where it does not print where the caller does.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
enum Reply {
    Started { pid: i32, program: String, leads: bool },
    Refused(AgentError),
}

/// The agent's end of the launcher.
#[derive(Debug)]
pub(crate) struct Launcher {
    connection: Mutex<Connection>,
}

static LAUNCHER: OnceLock<Launcher> = OnceLock::new();

/// The launcher of this process, if it has one.
pub(super) fn of_this_process() -> Option<&'static Launcher> {
    LAUNCHER.get()
}

/// Forks the launcher, where commands are allowed. To be called before a thread exists, a filter is installed and rights are
/// given up.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn start(commands: &CommandRights) -> io::Result<()> {
    if *commands == CommandRights::Off {
        return Ok(());
    }
    let (ours, theirs) = Connection::pair().map_err(io::Error::other)?;
    let agent = rustix::process::getpid();
    // SAFETY: there is no other thread yet, so the child has all that this process has, and no lock is held.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(ours);
            let ended = be(agent, &theirs, commands);
            let status = if let Err(error) = ended {
                tracing::error!(%error, "the launcher of commands has ended");
                1
            } else {
                0
            };
            // SAFETY: ends this process at once; what the agent would do at its end is the agent's to do.
            unsafe { libc::_exit(status) }
        }
        _launcher => {
            let _first = LAUNCHER.set(Launcher { connection: Mutex::new(ours) });
            Ok(())
        }
    }
}

/// The launcher itself, until the agent closes its end.
fn be(agent: Pid, connection: &Connection, commands: &CommandRights) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != Some(agent) {
        return Ok(());
    }
    keep_descriptors(connection.as_fd(), commands)?;
    if *commands != CommandRights::Caller {
        rights::keep_for_commands()?;
    }
    loop {
        let request = match connection.receive_large::<Request>(None, MOST_BYTES) {
            Ok(received) => received.message,
            Err(ProtocolError::Closed) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        let answered = match Started::new(&request.argv, request.user.as_deref(), commands, Parent::Ours) {
            Ok(started) => answer(connection, &started),
            Err(error) => connection.send(&Reply::Refused(error), &[], PATIENCE),
        };
        match answered {
            Ok(()) => {}
            Err(ProtocolError::Closed) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}

fn answer(connection: &Connection, started: &Started) -> Result<(), ProtocolError> {
    let Started { pid, program, go, verdict, outputs, leads } = started;
    let reply = Reply::Started { pid: pid.as_raw_nonzero().get(), program: program.clone(), leads: *leads };
    let outputs = outputs.iter().flat_map(|(stdout, stderr)| [stdout.as_fd(), stderr.as_fd()]);
    let ends: Vec<BorrowedFd<'_>> = [go.as_fd(), verdict.as_fd()].into_iter().chain(outputs).collect();
    connection.send(&reply, &ends, PATIENCE)
}

/// Closes what the agent has open and commands are not for: the connection to the console above all.
fn keep_descriptors(connection: BorrowedFd<'_>, commands: &CommandRights) -> io::Result<()> {
    let mut kept: Vec<RawFd> = match (commands, CALLER.get()) {
        (CommandRights::Caller, Some(caller)) => caller.descriptors.clone(),
        _ => {
            // The agent's standard input is the door. The numbers of all three stay taken.
            let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
            rustix::stdio::dup2_stdin(&null)?;
            rustix::stdio::dup2_stdout(&null)?;
            vec![0, 1]
        }
    };
    // For the log, in either case.
    kept.extend([2, connection.as_raw_fd()]);
    kept.sort_unstable();
    kept.dedup();
    // SAFETY: this process only waits for requests and has nothing else open that it uses.
    let _refused = unsafe { close_all_but(&kept, 0) };
    Ok(())
}

impl Launcher {
    /// Has a command made, which waits for its byte.
    pub(super) fn launch(&self, argv: &[String], user: Option<&str>) -> Result<Started, AgentError> {
        let request = Request { argv: argv.to_vec(), user: user.map(str::to_owned) };
        // One that panicked left no request half sent: each is one packet.
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = connection.send_large(&request, &[], MOST_BYTES, PATIENCE);
        let answered = asked.and_then(|()| connection.receive::<Reply>(Some(PATIENCE)));
        match answered {
            Ok((Reply::Started { pid, program, leads }, ends)) => started(pid, program, leads, ends),
            Ok((Reply::Refused(error), _none)) => Err(error),
            Err(ProtocolError::TooLarge) => {
                let remedy = "Start it with fewer or shorter words.";
                Err(failed(AgentErrorKind::Limit, DOING, "its words are longer than a request may be", remedy))
            }
            Err(error) => {
                let why = format!("the process that starts commands does not answer: {error}");
                Err(failed(AgentErrorKind::Internal, DOING, why, "Start Bathyscope again; its log says why."))
            }
        }
    }
}

fn started(pid: i32, program: String, leads: bool, ends: Vec<OwnedFd>) -> Result<Started, AgentError> {
    let mut ends = ends.into_iter();
    let (go, verdict, outputs) = (ends.next(), ends.next(), ends.next().zip(ends.next()));
    match (Pid::from_raw(pid), go, verdict) {
        (Some(pid), Some(go), Some(verdict)) if outputs.is_some() == leads => {
            Ok(Started { pid, program, go, verdict, outputs, leads })
        }
        _ => {
            let why = "the process that starts commands answered with something else";
            Err(failed(AgentErrorKind::Internal, DOING, why, "Start Bathyscope again."))
        }
    }
}
