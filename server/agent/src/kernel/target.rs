//! Whose events are recorded: everybody's, a process's, a command's.

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
};

use bathyscope_protocol::{AgentError, AgentErrorKind, TargetState, WireTarget};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags},
};

use super::{command::Command, users::User};
use crate::error::{failed, refused};

/// The number of the first pid namespace, fixed in the kernel.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// A target, held: a process by its pidfd, so that its id cannot pass to another one unnoticed.
#[derive(Debug)]
pub(crate) enum Target {
    /// Everybody.
    System,
    /// A process that ran already.
    Process {
        /// Its id.
        pid: u32,
        /// Itself.
        pidfd: OwnedFd,
        /// With those that it forks.
        children: bool,
    },
    /// A program that is started for the capture.
    Command {
        /// Itself.
        command: Command,
        /// With those that it forks.
        children: bool,
    },
}

impl Target {
    /// Takes hold of a target; a command is forked and waits.
    pub(crate) fn take(wanted: &WireTarget, default_uid: u32) -> Result<Self, AgentError> {
        match wanted {
            WireTarget::System => Ok(Self::System),
            WireTarget::Process { pid, children } => {
                need_first_pid_namespace()?;
                Ok(Self::Process { pid: *pid, pidfd: open_process(*pid)?, children: *children })
            }
            WireTarget::Command { argv, user, children } => {
                need_first_pid_namespace()?;
                let user = choose_user(user.as_deref(), default_uid)?;
                Ok(Self::Command { command: Command::prepare(argv, user)?, children: *children })
            }
        }
    }

    /// The process that is the target when the capture begins.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::System => None,
            Self::Process { pid, .. } => Some(*pid),
            Self::Command { command, .. } => Some(command.pid()),
        }
    }

    /// Whether it is a program that is started for the capture.
    pub(crate) fn is_command(&self) -> bool {
        matches!(self, Self::Command { .. })
    }

    /// A descriptor that can be read when the process has ended.
    pub(crate) fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::System => None,
            Self::Process { pidfd, .. } => Some(pidfd.as_fd()),
            Self::Command { command, .. } => Some(command.pidfd()),
        }
    }

    /// Whether processes that it forks are recorded too.
    pub(crate) fn follows_children(&self) -> bool {
        matches!(self, Self::Process { children: true, .. } | Self::Command { children: true, .. })
    }

    /// The read ends of the command's standard output and standard error.
    pub(crate) fn outputs(&self) -> Option<(&OwnedFd, &OwnedFd)> {
        if let Self::Command { command, .. } = self { Some(command.outputs()) } else { None }
    }

    /// Lets a command run.
    pub(crate) fn release(&mut self) -> Result<(), AgentError> {
        if let Self::Command { command, .. } = self { command.release() } else { Ok(()) }
    }

    /// Ends a command that still runs.
    pub(crate) fn end(&mut self) {
        if let Self::Command { command, .. } = self {
            command.end();
        }
    }

    /// What became of it.
    pub(crate) fn state(&mut self) -> TargetState {
        match self {
            Self::System => TargetState::Running,
            Self::Process { pidfd, .. } => {
                let ended = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&Timespec::default()));
                if ended.is_ok_and(|ready| ready > 0) { TargetState::Gone } else { TargetState::Running }
            }
            Self::Command { command, .. } => command.state(),
        }
    }
}

/// The kernel's filters see ids of the first namespace, a person in a container sees others.
fn need_first_pid_namespace() -> Result<(), AgentError> {
    match std::fs::read_link("/proc/self/ns/pid") {
        Ok(link) if link.as_os_str() != FIRST_PID_NAMESPACE => Err(failed(
            AgentErrorKind::Unsupported,
            "choosing a process as target",
            "the agent runs in a pid namespace of its own, so its process ids are not the kernel's",
            "Give the agent the host's pid namespace (`--pid=host` in a container), or record the whole system.",
        )),
        _ => Ok(()),
    }
}

fn open_process(pid: u32) -> Result<OwnedFd, AgentError> {
    let doing = format!("looking for process {pid}");
    let missing = || {
        let why = "there is no such process (any more)";
        failed(AgentErrorKind::NotFound, &doing, why, "Choose one that runs.")
    };
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(missing)?;
    match rustix::process::pidfd_open(number, PidfdFlags::empty()) {
        Ok(pidfd) => Ok(pidfd),
        Err(Errno::SRCH) => Err(missing()),
        Err(Errno::INVAL | Errno::NOENT) => Err(not_a_process(pid, &doing)),
        Err(errno) => Err(refused(doing, &io::Error::from(errno), "")),
    }
}

fn not_a_process(pid: u32, doing: &str) -> AgentError {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tgid = status.lines().find_map(|line| line.strip_prefix("Tgid:")).map_or("", str::trim);
    let why = format!("{pid} is a thread, not a process");
    failed(AgentErrorKind::Invalid, doing, why, format!("Choose its process, {tgid}."))
}

/// The user of a command: the given one, or the one who started the supervisor. Root is only possible where that is
/// root too: the console must not be a way to more rights than the person who started it chose to lend.
fn choose_user(wanted: Option<&str>, default_uid: u32) -> Result<User, AgentError> {
    let name = wanted.map_or_else(|| default_uid.to_string(), str::to_owned);
    let doing = format!("looking for the user `{}`", bathyscope_capture::visible(name.as_bytes()));
    let user = User::find(&name).ok_or_else(|| {
        failed(AgentErrorKind::NotFound, &doing, "there is no such user", "Choose one that `getent passwd` lists.")
    })?;
    let own = rustix::process::geteuid();
    if user.uid == 0 && default_uid != 0 {
        let remedy = "Start Bathyscope from a root login instead of through sudo, or choose another user.";
        return Err(failed(AgentErrorKind::Denied, doing, "commands may not run as root here", remedy));
    }
    if !own.is_root() && user.uid != own.as_raw() {
        let remedy = "Run the agent as root, or leave the user out.";
        return Err(failed(AgentErrorKind::Denied, doing, "the agent may not change users", remedy));
    }
    Ok(user)
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "what is skipped is told")]
mod tests {
    use super::*;

    #[test]
    fn missing_processes_and_threads_are_told_in_words() {
        let process = |pid| Target::take(&WireTarget::Process { pid, children: false }, 0).unwrap_err();
        if need_first_pid_namespace().is_err() {
            println!("SKIPPED: process targets — the host's pid namespace");
            return;
        }
        assert_eq!(process(4_194_304).why, "there is no such process (any more)");
        let thread = std::thread::spawn(|| {
            let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
            Target::take(&WireTarget::Process { pid: tid, children: false }, 0).unwrap_err()
        });
        let error = thread.join().unwrap();
        assert_eq!(error.remedy, format!("Choose its process, {}.", std::process::id()));
    }

    #[test]
    fn root_is_only_lent_by_root() {
        assert_eq!(choose_user(Some("root"), 1000).unwrap_err().kind, AgentErrorKind::Denied);
        assert_eq!(choose_user(Some("0"), 1000).unwrap_err().kind, AgentErrorKind::Denied);
        assert_eq!(choose_user(Some("no-such-user-here"), 0).unwrap_err().kind, AgentErrorKind::NotFound);
    }
}
