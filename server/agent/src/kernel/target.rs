//! Whose events are recorded: everybody's, a process's, a command's, a control group's, a user's, those of a name.

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
};

use bathyscope_bpf::probe::{CommPattern, TargetFilter};
use bathyscope_capture::Target;
use bathyscope_protocol::{AgentError, AgentErrorKind, CpuTime, TargetState};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags},
};

use super::command::Command;
use crate::{
    commands::{self, CommandRights},
    engine::{HeldTarget, unresolved},
    error::{failed, refused},
    os::cgroups::ControlGroup,
};

/// The number of the first pid namespace, fixed in the kernel.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
/// The number of the first namespace of control groups, fixed in the kernel.
const FIRST_CGROUP_NAMESPACE: &str = "cgroup:[4026531835]";

/// A process that ran already.
#[derive(Debug)]
pub(crate) struct Held {
    /// Its id.
    pid: u32,
    /// Itself.
    pidfd: OwnedFd,
}

/// A thread that ran already.
#[derive(Debug)]
pub(crate) struct HeldThread {
    /// Its id.
    pub(crate) tid: u32,
    /// Its process.
    pub(crate) pid: u32,
    /// Its process, whose end is the thread's too.
    pidfd: OwnedFd,
    /// Its `/proc/PID/task/TID/stat`, which cannot be read any more when it has ended, whoever has its id then.
    stat: std::fs::File,
}

impl HeldThread {
    fn hold(tid: u32) -> Result<Self, AgentError> {
        let doing = format!("looking for thread {tid}");
        let missing = || {
            let why = "there is no such thread (any more)";
            failed(
                AgentErrorKind::NotFound,
                &doing,
                why,
                "Choose one that runs: /proc/PID/task lists those of a process.",
            )
        };
        let status = std::fs::read_to_string(format!("/proc/{tid}/status")).map_err(|_gone| missing())?;
        let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse::<u32>().ok());
        let pid = pid.ok_or_else(missing)?;
        let pidfd = open_process(pid)?;
        let stat = std::fs::File::open(format!("/proc/{pid}/task/{tid}/stat")).map_err(|_gone| missing())?;
        Ok(Self { tid, pid, pidfd, stat })
    }

    fn has_ended(&self) -> bool {
        let mut text = [0; 256];
        let read = std::os::unix::fs::FileExt::read_at(&self.stat, &mut text, 0);
        let text = read.ok().and_then(|bytes| text.get(..bytes)).unwrap_or_default();
        super::waiting::state(&String::from_utf8_lossy(text)) == super::waiting::Doing::IsGone
    }
}

/// A target, held: a process by its pidfd, so that its id cannot pass to another one unnoticed.
#[derive(Debug)]
pub(crate) enum ResolvedTarget {
    /// Everybody.
    System,
    /// Processes that ran already.
    Processes {
        /// Each of them.
        held: Vec<Held>,
        /// With those that they fork.
        children: bool,
    },
    /// Threads that ran already.
    Threads {
        /// Each of them.
        held: Vec<HeldThread>,
        /// With what they start.
        children: bool,
    },
    /// A program that is started for the capture.
    Command {
        /// Itself.
        command: Command,
        /// With those that it forks.
        children: bool,
    },
    /// Others, for as long as a program runs that is started for the capture.
    During {
        /// The program.
        command: Command,
        /// Whose events.
        of: Box<ResolvedTarget>,
    },
    /// The processes of a control group and of those below it.
    Cgroup {
        /// Its path.
        path: String,
        /// Itself.
        group: ControlGroup,
    },
    /// A user's processes.
    User(u32),
    /// Threads of a name.
    Comm(CommPattern),
}

impl ResolvedTarget {
    /// Takes hold of a target; a command is forked and waits.
    pub(crate) fn take(wanted: &Target, rights: &CommandRights) -> Result<Self, AgentError> {
        match wanted {
            Target::System => Ok(Self::System),
            Target::Process { pid, children } => Self::hold(&[*pid], *children),
            Target::Processes { pids, children } => Self::hold(pids, *children),
            Target::Threads { tids, children } => {
                need_first_pid_namespace()?;
                let held = tids.iter().map(|tid| HeldThread::hold(*tid)).collect::<Result<_, AgentError>>()?;
                Ok(Self::Threads { held, children: *children })
            }
            Target::Command { argv, user, children } => {
                need_first_pid_namespace()?;
                let command = Command::prepare(argv, user.as_deref(), rights)?;
                Ok(Self::Command { command, children: *children })
            }
            Target::During { argv, user, of } => {
                // Whoever is to be watched is looked for first: a command that was made for nothing is none too many.
                let of = Box::new(Self::take(of, &CommandRights::Off)?);
                let command = Command::prepare(argv, user.as_deref(), rights)?;
                Ok(Self::During { command, of })
            }
            Target::Unit { name } | Target::Container { name } => Err(unresolved(name)),
            Target::Cgroup { path } => Ok(Self::Cgroup { path: path.clone(), group: find_group(path)? }),
            Target::User { user } => Ok(Self::User(commands::find(user)?.uid)),
            Target::Comm { pattern } => {
                let bad = || {
                    let why = format!("`{}` is longer than names are", bathyscope_capture::visible(pattern.as_bytes()));
                    failed(AgentErrorKind::Invalid, "choosing threads by name", why, "Names have at most 15 bytes.")
                };
                Ok(Self::Comm(CommPattern::new(pattern).ok_or_else(bad)?))
            }
        }
    }

    fn hold(pids: &[u32], children: bool) -> Result<Self, AgentError> {
        need_first_pid_namespace()?;
        let hold = |pid: &u32| Ok(Held { pid: *pid, pidfd: open_process(*pid)? });
        Ok(Self::Processes { held: pids.iter().map(hold).collect::<Result<_, AgentError>>()?, children })
    }

    /// The processes that are the target when the capture begins; none where others are, or everybody.
    pub(crate) fn pids(&self) -> Vec<u32> {
        match self {
            Self::Processes { held, .. } => held.iter().map(|held| held.pid).collect(),
            Self::Threads { held, .. } => {
                let mut pids: Vec<u32> = held.iter().map(|held| held.pid).collect();
                pids.sort_unstable();
                pids.dedup();
                pids
            }
            Self::Command { command, .. } => vec![command.pid()],
            Self::During { of, .. } => of.pids(),
            Self::System | Self::Cgroup { .. } | Self::User(_) | Self::Comm(_) => Vec::new(),
        }
    }

    /// The threads that were chosen; none where processes were, or everybody.
    pub(crate) fn threads(&self) -> &[HeldThread] {
        match self.watched() {
            Self::Threads { held, .. } => held,
            _ => &[],
        }
    }

    /// The process that is the target when the capture begins, if it is one.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self.pids().as_slice() {
            [pid] => Some(*pid),
            _ => None,
        }
    }

    /// The process of the program that was started for the capture.
    pub(crate) fn command_pid(&self) -> Option<u32> {
        self.command().map(Command::pid)
    }

    /// The program that was started for the capture.
    pub(crate) fn command(&self) -> Option<&Command> {
        match self {
            Self::Command { command, .. } | Self::During { command, .. } => Some(command),
            _ => None,
        }
    }

    /// Whose events are recorded, however long.
    pub(crate) fn watched(&self) -> &Self {
        if let Self::During { of, .. } = self { of } else { self }
    }

    /// What programs ask for.
    pub(crate) fn filter(&self) -> TargetFilter {
        match self {
            Self::System => TargetFilter::System,
            Self::Processes { children: true, .. } | Self::Command { children: true, .. } => TargetFilter::Targets,
            Self::Processes { held, .. } => match held.as_slice() {
                [one] => TargetFilter::Process(one.pid),
                _ => TargetFilter::Targets,
            },
            // Samples and counts do not ask: events of each thread make them.
            Self::Threads { .. } => TargetFilter::Threads,
            Self::Command { command, .. } => TargetFilter::Process(command.pid()),
            Self::During { of, .. } => of.filter(),
            Self::Cgroup { group, .. } => TargetFilter::Cgroup { id: group.id, level: group.level },
            Self::User(uid) => TargetFilter::User(*uid),
            Self::Comm(pattern) => TargetFilter::Comm(*pattern),
        }
    }

    /// The processes or threads that are put into the map of targets; none where programs do not ask it.
    pub(crate) fn mapped(&self) -> Vec<u32> {
        match self.filter() {
            TargetFilter::Targets => self.pids(),
            TargetFilter::Threads => self.threads().iter().map(|held| held.tid).collect(),
            _ => Vec::new(),
        }
    }

    /// Refuses targets that only programs in the kernel can tell from others, for captures that have none.
    ///
    /// # Errors
    /// If it is one; `what` says what is to be made, in words.
    pub(crate) fn must_be_known_by_thread(&self, what: &str) -> Result<(), AgentError> {
        if !matches!(self.watched(), Self::User(_) | Self::Comm(_)) {
            return Ok(());
        }
        let why = format!("{what} are made by thread or control group, not by user or by name");
        let remedy = "Choose a process, a command, a control group or the whole system; tracepoints, system calls, scripts \
            and profiles by time can be recorded by user and by name.";
        Err(failed(AgentErrorKind::Unsupported, "choosing the target", why, remedy))
    }

    /// Whether it is a program that is started for the capture, and nobody else.
    pub(crate) fn is_command(&self) -> bool {
        matches!(self, Self::Command { .. })
    }

    /// Descriptors that can be read when the processes have ended whose end ends the capture: then all of them can.
    pub(crate) fn pidfds(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Processes { held, .. } => held.iter().map(|held| held.pidfd.as_fd()).collect(),
            Self::Threads { held, .. } => held.iter().map(|held| held.pidfd.as_fd()).collect(),
            Self::Command { command, .. } | Self::During { command, .. } => vec![command.pidfd()],
            Self::System | Self::Cgroup { .. } | Self::User(_) | Self::Comm(_) => Vec::new(),
        }
    }

    /// Whether processes that it forks are recorded too.
    pub(crate) fn follows_children(&self) -> bool {
        matches!(
            self.watched(),
            Self::Processes { children: true, .. }
                | Self::Threads { children: true, .. }
                | Self::Command { children: true, .. }
        )
    }
}

impl HeldTarget for ResolvedTarget {
    fn pid(&self) -> Option<u32> {
        Self::pid(self)
    }

    fn output(&self, index: usize) -> Option<BorrowedFd<'_>> {
        let (stdout, stderr) = self.command().and_then(Command::outputs)?;
        match index {
            0 => Some(stdout.as_fd()),
            1 => Some(stderr.as_fd()),
            _ => None,
        }
    }

    fn release(&mut self) -> Result<(), AgentError> {
        match self {
            Self::Command { command, .. } | Self::During { command, .. } => command.release(),
            _ => Ok(()),
        }
    }

    fn end(&mut self) {
        if let Self::Command { command, .. } | Self::During { command, .. } = self {
            command.end();
        }
    }

    fn command_time(&self) -> Option<CpuTime> {
        self.command().and_then(|command| command.used().known())
    }

    fn state(&mut self) -> TargetState {
        match self {
            Self::System | Self::User(_) | Self::Comm(_) => TargetState::Running,
            // A group that was removed and made again is another one.
            Self::Cgroup { path, group } => match crate::os::cgroups::group(path) {
                Some(now) if now.id == group.id => TargetState::Running,
                _ => TargetState::Gone,
            },
            // They are the target until the last has ended.
            Self::Processes { held, .. } => {
                let ended = |held: &Held| {
                    poll(&mut [PollFd::new(&held.pidfd, PollFlags::IN)], Some(&Timespec::default()))
                        .is_ok_and(|ready| ready > 0)
                };
                if held.iter().all(ended) { TargetState::Gone } else { TargetState::Running }
            }
            Self::Threads { held, .. } => {
                if held.iter().all(HeldThread::has_ended) {
                    TargetState::Gone
                } else {
                    TargetState::Running
                }
            }
            // As long as it runs; what becomes meanwhile of those who are watched ends nothing.
            Self::During { command, .. } => command.state(),
            Self::Command { command, .. } => command.state(),
        }
    }
}

/// The threads that a process has now, at most so many.
pub(crate) fn threads(pid: u32, most: usize) -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task"))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).take(most).collect())
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

fn find_group(path: &str) -> Result<ControlGroup, AgentError> {
    let doing = format!("looking for the control group `{}`", bathyscope_capture::visible(path.as_bytes()));
    match std::fs::read_link("/proc/self/ns/cgroup") {
        Ok(link) if link.as_os_str() != FIRST_CGROUP_NAMESPACE => {
            let why = "the agent runs in a namespace of control groups of its own, so its paths are not the kernel's";
            let remedy = "Give the agent the host's (`--cgroupns=host` in a container), or choose another target.";
            return Err(failed(AgentErrorKind::Unsupported, doing, why, remedy));
        }
        _ => {}
    }
    crate::os::cgroups::group(path).ok_or_else(|| {
        let why = "there is no such group (any more) in the hierarchy of version 2";
        failed(AgentErrorKind::NotFound, doing, why, "`/proc/PID/cgroup` tells the group of a process, after `0::`.")
    })
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "what is skipped is told")]
mod tests {
    use super::*;

    #[test]
    fn missing_processes_and_threads_are_told_in_words() {
        let process =
            |pid| ResolvedTarget::take(&Target::Process { pid, children: false }, &CommandRights::Off).unwrap_err();
        if need_first_pid_namespace().is_err() {
            println!("SKIPPED: process targets — the host's pid namespace");
            return;
        }
        assert_eq!(process(4_194_304).why, "there is no such process (any more)");
        let thread = std::thread::spawn(|| {
            let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
            ResolvedTarget::take(&Target::Process { pid: tid, children: false }, &CommandRights::Off).unwrap_err()
        });
        let error = thread.join().unwrap();
        assert_eq!(error.remedy, format!("Choose its process, {}.", std::process::id()));
        let threads =
            |tid| ResolvedTarget::take(&Target::Threads { tids: vec![tid], children: false }, &CommandRights::Off);
        assert_eq!(threads(4_194_304).unwrap_err().why, "there is no such thread (any more)");
    }

    #[test]
    fn a_thread_is_held_until_it_ends() {
        if need_first_pid_namespace().is_err() {
            println!("SKIPPED: thread targets — the host's pid namespace");
            return;
        }
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let (end, ended) = std::sync::mpsc::sync_channel::<()>(1);
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
            let _told = ended.recv();
        });
        let wanted = Target::Threads { tids: vec![told.recv().unwrap()], children: false };
        let mut target = ResolvedTarget::take(&wanted, &CommandRights::Off).unwrap();
        assert_eq!((target.state(), target.pids()), (TargetState::Running, vec![std::process::id()]));
        end.send(()).unwrap();
        thread.join().unwrap();
        // Whoever joined it goes on a little before it is gone from the kernel's list.
        while target.state() == TargetState::Running {
            std::thread::yield_now();
        }
        assert_eq!(target.state(), TargetState::Gone);
    }
}
