//! Whose made-up events are recorded, and the command that is made up.

use std::{
    io::{PipeReader, PipeWriter, Write as _},
    os::fd::{AsFd as _, BorrowedFd},
};

use bathyscope_capture::{Target, TextPattern};
use bathyscope_protocol::{AgentError, AgentErrorKind, CpuTime, TargetState};

use super::world::{self, COMMAND_PID, MadeProcess, PROCESSES, SHORT_LIVED_PID, process};
use crate::{
    clock::monotonic_ns,
    engine::{HeldTarget, unresolved},
    error::{failed, refused},
};

/// How long a command and the short-lived process run.
const LIFE_NS: u64 = 1_500_000_000;

/// Whose events are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MadeTarget {
    /// The process; none if several may be recorded.
    pub(super) pid: Option<u32>,
    /// Those that may be; none for all.
    pub(super) among: Option<Vec<u32>>,
    /// The threads that may be; none for all of those processes.
    pub(super) threads: Option<Vec<u32>>,
    /// The words of the command, if it is one.
    pub(super) argv: Option<Vec<String>>,
    /// Whether processes that it forks are recorded too.
    pub(super) children: bool,
    /// Whether it is a control group.
    pub(super) is_group: bool,
}

impl MadeTarget {
    pub(crate) fn of(wanted: &Target) -> Result<Self, AgentError> {
        let children = matches!(
            wanted.watched(),
            Target::Process { children: true, .. }
                | Target::Processes { children: true, .. }
                | Target::Command { children: true, .. }
        );
        Ok(Self { children, ..Self::chosen(wanted)? })
    }

    fn chosen(wanted: &Target) -> Result<Self, AgentError> {
        match wanted {
            Target::System => Ok(Self::default()),
            Target::Process { pid, .. } => Ok(Self::one(made_process(*pid)?, None)),
            Target::Processes { pids, .. } => {
                let among = pids.iter().map(|pid| made_process(*pid)).collect::<Result<_, _>>()?;
                Ok(Self { among: Some(among), ..Self::default() })
            }
            Target::Threads { tids, .. } => {
                let among = tids.iter().map(|tid| process_of_thread(*tid)).collect::<Result<_, _>>()?;
                Ok(Self { among: Some(among), threads: Some(tids.clone()), ..Self::default() })
            }
            Target::During { argv, of, .. } => Ok(Self { argv: Some(argv.clone()), ..Self::chosen(of)? }),
            Target::Command { argv, .. } => Ok(Self::one(COMMAND_PID, Some(argv.clone()))),
            Target::Unit { name } | Target::Container { name } => Err(unresolved(name)),
            Target::Cgroup { path } => {
                let below = format!("{}/", path.trim_end_matches('/'));
                let made = Self::some(|process| process.group == path || process.group.starts_with(&below));
                made.map(|made| Self { is_group: true, ..made }).ok_or_else(|| {
                    let doing =
                        format!("looking for the control group `{}`", bathyscope_capture::visible(path.as_bytes()));
                    failed(AgentErrorKind::NotFound, doing, "there is no such group", "Choose one that exists.")
                })
            }
            Target::User { user } => {
                let uid = match user.as_str() {
                    "root" | "0" => 0,
                    "user" | "1000" => 1000,
                    _ => {
                        let doing = format!("looking for the user `{}`", bathyscope_capture::visible(user.as_bytes()));
                        return Err(failed(
                            AgentErrorKind::NotFound,
                            doing,
                            "there is no such user",
                            "Choose user or root.",
                        ));
                    }
                };
                Ok(Self::some(|process| process.uid() == uid).unwrap_or_else(|| Self::one(0, None)))
            }
            Target::Comm { pattern } => {
                let pattern = TextPattern::new(pattern);
                let among = PROCESSES.iter().filter(|it| pattern.matches(it.comm)).map(|it| it.pid).collect();
                Ok(Self { among: Some(among), ..Self::default() })
            }
        }
    }

    /// The process of the command, if there is one.
    pub(super) fn executes(&self) -> Option<u32> {
        self.argv.as_ref().map(|_| COMMAND_PID)
    }

    fn one(pid: u32, argv: Option<Vec<String>>) -> Self {
        Self { pid: Some(pid), among: Some(vec![pid]), argv, ..Self::default() }
    }

    /// The processes for which `fits` holds, if there are any.
    fn some(fits: impl Fn(&MadeProcess) -> bool) -> Option<Self> {
        let among: Vec<u32> = PROCESSES.iter().filter(|it| fits(it)).map(|process| process.pid).collect();
        (!among.is_empty()).then(|| Self { among: Some(among), ..Self::default() })
    }

    /// Whether events of `pid` are recorded.
    pub(super) fn includes(&self, pid: u32) -> bool {
        self.among.as_ref().is_none_or(|among| among.contains(&pid))
    }

    /// Whether events of this thread of `pid` are recorded.
    pub(super) fn includes_thread(&self, pid: u32, tid: u32) -> bool {
        self.includes(pid) && self.threads.as_ref().is_none_or(|threads| threads.contains(&tid))
    }
}

/// A process that is made up, by its id.
fn made_process(pid: u32) -> Result<u32, AgentError> {
    process(pid).map(|_| pid).ok_or_else(|| {
        let doing = format!("looking for process {pid}");
        let why = "there is no such process (any more)";
        failed(AgentErrorKind::NotFound, doing, why, "Choose one that runs.")
    })
}

/// The made-up process of a thread, by the thread's id.
fn process_of_thread(tid: u32) -> Result<u32, AgentError> {
    world::process_of(tid).map(|process| process.pid).ok_or_else(|| {
        let doing = format!("looking for thread {tid}");
        let why = "there is no such thread (any more)";
        failed(AgentErrorKind::NotFound, doing, why, "Choose one that runs.")
    })
}

/// The pipes of a made-up command.
struct CommandPipes {
    read: [PipeReader; 2],
    /// Until the command has ended.
    write: Option<[PipeWriter; 2]>,
}

impl CommandPipes {
    fn make() -> std::io::Result<Self> {
        let (stdout_read, stdout) = std::io::pipe()?;
        let (stderr_read, stderr) = std::io::pipe()?;
        for end in [&stdout_read, &stderr_read] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        Ok(Self { read: [stdout_read, stderr_read], write: Some([stdout, stderr]) })
    }
}

/// A target with its made-up command.
pub(crate) struct SimulatedTarget {
    target: MadeTarget,
    pipes: Option<CommandPipes>,
    released_ns: Option<u64>,
    ended: TargetState,
}

impl SimulatedTarget {
    pub(crate) fn new(target: MadeTarget) -> Result<Self, AgentError> {
        let pipes = target.argv.as_ref().map(|_| CommandPipes::make()).transpose();
        let pipes = pipes.map_err(|error| refused("making a simulated capture", &error, ""))?;
        Ok(Self { target, pipes, released_ns: None, ended: TargetState::Running })
    }

    fn end_command(&mut self, code: Option<i32>, signal: Option<i32>) {
        if let Some([mut stdout, mut stderr]) = self.pipes.as_mut().and_then(|pipes| pipes.write.take()) {
            // The console may have gone.
            let _gone = stdout.write_all(b"simulated: done\n");
            let _gone = stderr.write_all(b"simulated: \x1b[31mno real warning\x1b[0m\n");
        }
        self.ended = TargetState::Exited { code, signal };
    }
}

impl HeldTarget for SimulatedTarget {
    fn pid(&self) -> Option<u32> {
        self.target.pid
    }

    fn output(&self, index: usize) -> Option<BorrowedFd<'_>> {
        self.pipes.as_ref()?.read.get(index).map(|read| read.as_fd())
    }

    fn release(&mut self) -> Result<(), AgentError> {
        self.released_ns = Some(monotonic_ns());
        let stdout = self.pipes.as_mut().and_then(|pipes| pipes.write.as_mut()).map(|[stdout, _stderr]| stdout);
        if let (Some(stdout), Some(argv)) = (stdout, &self.target.argv) {
            let _gone = stdout.write_all(format!("simulated run of {}\n", argv.join(" ")).as_bytes());
        }
        Ok(())
    }

    fn end(&mut self) {
        if self.state() == TargetState::Running && self.target.argv.is_some() {
            self.end_command(None, Some(15));
        }
    }

    /// A command that has ended closes its outputs.
    fn state(&mut self) -> TargetState {
        let lived_ns = self.released_ns.map_or(0, |start| monotonic_ns().saturating_sub(start));
        if self.ended == TargetState::Running && lived_ns >= LIFE_NS {
            match (self.target.executes(), self.target.pid) {
                (Some(_), _) => self.end_command(Some(0), None),
                (None, Some(SHORT_LIVED_PID)) => self.ended = TargetState::Gone,
                _ => {}
            }
        }
        self.ended
    }

    fn command_time(&self) -> Option<CpuTime> {
        None
    }
}
