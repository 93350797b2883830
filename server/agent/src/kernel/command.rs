//! Starting the program of a capture, stopped before its first instruction.
//!
//! The child is forked when the capture is made, so that its process id can be put into the filters, and waits at a pipe
//! until the capture is enabled. It never runs a shell, keeps no descriptor of the agent's, and is the wanted user before it
//! touches a file.
//!
//! One that a console asked for is confined: pipes of the agent, an environment and a session of its own, no capability,
//! and no way to gain one. One of whoever started the agent at a terminal runs as that person's shell would run it.
//!
//! Neither is a fork of the agent itself, whose filter of system calls and few rights it would inherit: the `launcher` makes it.

mod child;
mod ended;
pub(crate) mod launcher;

use std::{
    ffi::CString,
    io,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
    sync::OnceLock,
    time::{Duration, Instant},
};

use bathyscope_protocol::{AgentError, AgentErrorKind, TargetState};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pipe::PipeFlags,
    process::{Pid, PidfdFlags, Resource, Rlimit, Signal},
};

use super::waiting::{self, Doing};
use crate::{
    commands::{CommandRights, User},
    error::{failed, refused},
};
use child::{ChildPlan, Manner, Parent, Step};
pub(crate) use ended::Used;

/// Where a program without a slash in its name is looked for, and the command's own `PATH`.
pub(crate) const COMMAND_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long executing a program may take before it counts as done; it only reads the file's head.
const EXEC_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take while the child gets no turn on a CPU.
const BUSY_TIMEOUT: Duration = Duration::from_secs(40);
/// How long a command may take to end itself after SIGTERM.
const TERM_TIMEOUT: Duration = Duration::from_secs(2);

/// A program that was started for a capture.
#[derive(Debug)]
pub(crate) struct Command {
    pid: u32,
    pidfd: OwnedFd,
    program: String,
    go: Option<OwnedFd>,
    verdict: Option<OwnedFd>,
    /// None where it prints where the caller does.
    outputs: Option<(OwnedFd, OwnedFd)>,
    /// Whether it leads a process group of its own.
    leads: bool,
    state: TargetState,
    used: Used,
}

fn pipe(doing: &str) -> Result<(OwnedFd, OwnedFd), AgentError> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|errno| refused(doing, &errno.into(), ""))
}

fn text(value: &str, doing: &str) -> Result<CString, AgentError> {
    CString::new(value).map_err(|_nul| failed(AgentErrorKind::Invalid, doing, "a word of it has a NUL byte", ""))
}

/// Finds the program: a name with a slash must be absolute, another one is looked up in [`COMMAND_PATH`].
/// For the caller at a terminal it is found as a shell finds it.
fn locate(program: &str, for_caller: bool) -> Result<CString, AgentError> {
    let doing = format!("looking for the program `{}`", bathyscope_capture::visible(program.as_bytes()));
    let executable = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        if !program.starts_with('/') && !for_caller {
            let remedy = "Give its whole path from `/`.";
            return Err(failed(AgentErrorKind::Invalid, doing, "the path is not absolute", remedy));
        }
        if !Path::new(program).exists() {
            return Err(failed(AgentErrorKind::NotFound, doing, "there is no such file", "Check the path."));
        }
        if !executable(Path::new(program)) {
            let remedy = "Choose a program, or make the file executable.";
            return Err(failed(AgentErrorKind::Invalid, doing, "it is not an executable file", remedy));
        }
        return text(program, &doing);
    }
    let own = if for_caller { std::env::var("PATH").ok() } else { None };
    let searched = own.as_deref().unwrap_or(COMMAND_PATH);
    let found = searched.split(':').map(|folder| Path::new(folder).join(program)).find(|path| executable(path));
    match found {
        Some(path) => CString::new(path.as_os_str().as_bytes())
            .map_err(|_nul| failed(AgentErrorKind::Invalid, doing, "it has a NUL byte", "")),
        None => {
            let why = format!("it is in none of {}", bathyscope_capture::visible(searched.as_bytes()));
            Err(failed(AgentErrorKind::NotFound, doing, why, "Give its whole path, or install it."))
        }
    }
}

/// What every command of the console gets: it knows nothing of who runs the agent.
fn clean_environment(user: &User, doing: &str) -> Result<Vec<CString>, AgentError> {
    let mut environment = vec![text(&format!("PATH={COMMAND_PATH}"), doing)?, c"LANG=C.UTF-8".to_owned()];
    environment.push(c"TERM=dumb".to_owned());
    for (name, value) in [("HOME", &user.home), ("USER", &user.name)] {
        environment.push(text(&format!("{name}={}", value.to_string_lossy()), doing)?);
    }
    Ok(environment)
}

/// That of whoever started this agent at a terminal, as a shell would give it to the command.
fn callers_environment() -> Vec<CString> {
    let line = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let line = [name.as_bytes(), b"=", value.as_bytes()].concat();
        // A variable of the environment has no NUL.
        CString::new(line).ok()
    };
    std::env::vars_os().filter_map(line).collect()
}

/// What commands get of whoever started the agent at a terminal.
#[derive(Debug)]
struct Caller {
    /// The process group that the terminal's signals reach; 0 where its leader is in none of the pid namespaces that are seen
    /// from here, as in containers that are entered from outside.
    process_group: libc::pid_t,
    /// The descriptors that came from there.
    descriptors: Vec<RawFd>,
}

static CALLER: OnceLock<Caller> = OnceLock::new();

/// Takes note of what the commands of the caller at a terminal get. To be called before anything is opened; `supervisor`
/// is the process that the person started, and `own` the descriptor that is not for commands.
///
/// # Errors
/// If the kernel does not tell.
pub(crate) fn remember_caller(supervisor: Option<u32>, own: BorrowedFd<'_>) -> io::Result<()> {
    let parent = supervisor.map_or(Ok(0), libc::pid_t::try_from).map_err(io::Error::other)?;
    // SAFETY: takes a number and gives one. rustix panics at the group 0.
    let process_group = unsafe { libc::getpgid(parent) };
    if process_group < 0 {
        return Err(io::Error::last_os_error());
    }
    let entries = std::fs::read_dir("/proc/self/fd")?;
    let open: Vec<RawFd> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    // What this process opened itself is closed when something is executed; so is what the caller wanted closed.
    let descriptors = open.into_iter().filter(|fd| *fd != own.as_raw_fd() && child::is_inherited(*fd)).collect();
    let _first = CALLER.set(Caller { process_group, descriptors });
    Ok(())
}

static OPEN_FILES_BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Lets the agent open as many files as it may: every attach point takes two. Commands are not given that on the way.
pub(crate) fn raise_open_files() {
    let before = rustix::process::getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: before.maximum, maximum: before.maximum };
    if before.current != before.maximum && rustix::process::setrlimit(Resource::Nofile, wanted).is_ok() {
        let _first = OPEN_FILES_BEFORE.set(before);
    }
}

fn open_files_before() -> Option<libc::rlimit> {
    let before = OPEN_FILES_BEFORE.get()?;
    let number = |limit: Option<u64>| limit.unwrap_or(libc::RLIM_INFINITY);
    Some(libc::rlimit { rlim_cur: number(before.current), rlim_max: number(before.maximum) })
}

/// The ends that the agent keeps, and the child's plan.
struct PreparedCommand {
    plan: ChildPlan,
    go: OwnedFd,
    verdict: OwnedFd,
    outputs: Option<(OwnedFd, OwnedFd)>,
    /// Held until the child has them.
    _childs: Vec<OwnedFd>,
}

/// A child that waits for its byte, and the ends that it is let go and heard by.
#[derive(Debug)]
struct Started {
    pid: Pid,
    program: String,
    go: OwnedFd,
    verdict: OwnedFd,
    outputs: Option<(OwnedFd, OwnedFd)>,
    /// Whether it leads a process group of its own.
    leads: bool,
}

impl Started {
    /// Forks it, as the user that `rights` give for the wanted one, as a child of `parent`.
    fn new(argv: &[String], wanted: Option<&str>, rights: &CommandRights, parent: Parent) -> Result<Self, AgentError> {
        let PreparedCommand { plan, go, verdict, outputs, _childs } =
            PreparedCommand::new(argv, rights.user(wanted)?, rights)?;
        let program = plan.program.to_string_lossy().into_owned();
        let pid = child::fork(&plan, parent).map_err(|error| refused(DOING, &error, ""))?;
        tracing::info!(program, uid = plan.user.as_ref().map(|user| user.uid), "a command is started");
        let leads = matches!(plan.manner, Manner::Confined { .. });
        Ok(Self { pid, program, go, verdict, outputs, leads })
    }
}

const DOING: &str = "starting the command";

impl PreparedCommand {
    /// For the user that `rights` give; none is the caller.
    fn new(argv: &[String], user: Option<User>, rights: &CommandRights) -> Result<Self, AgentError> {
        const DOING: &str = "preparing the command";
        let first = argv.first().ok_or_else(|| failed(AgentErrorKind::Invalid, DOING, "it has no words", ""))?;
        let for_caller = *rights == CommandRights::Caller;
        let (go_read, go) = pipe(DOING)?;
        let (verdict, verdict_write) = pipe(DOING)?;
        let mut kept = vec![go_read.as_raw_fd(), verdict_write.as_raw_fd()];
        let ends = (go_read.as_raw_fd(), verdict_write.as_raw_fd());
        let mut childs = vec![go_read, verdict_write];
        let (manner, environment, outputs) = match (&user, for_caller) {
            (_, true) => {
                let why = "it is not known who started the agent";
                let caller = CALLER.get().ok_or_else(|| failed(AgentErrorKind::Internal, DOING, why, ""))?;
                kept.extend(&caller.descriptors);
                (Manner::Caller { process_group: caller.process_group }, callers_environment(), None)
            }
            (Some(user), false) => {
                let ((stdout, stdout_write), (stderr, stderr_write)) = (pipe(DOING)?, pipe(DOING)?);
                let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
                let null = rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty())
                    .map_err(|errno| refused("opening /dev/null", &errno.into(), ""))?;
                for end in [&stdout, &stderr] {
                    rustix::io::ioctl_fionbio(end, true).map_err(|errno| refused(DOING, &errno.into(), ""))?;
                }
                let standard = [&null, &stdout_write, &stderr_write].map(|end| end.as_raw_fd());
                kept.extend(standard);
                childs.extend([null, stdout_write, stderr_write]);
                let home = user.home.clone();
                (Manner::Confined { standard, home }, clean_environment(user, DOING)?, Some((stdout, stderr)))
            }
            (None, false) => return Err(failed(AgentErrorKind::Denied, DOING, "it has no user", "")),
        };
        kept.sort_unstable();
        let plan = ChildPlan {
            program: locate(first, for_caller)?,
            arguments: argv.iter().map(|word| text(word, DOING)).collect::<Result<_, _>>()?,
            environment,
            change_user: rustix::process::geteuid().is_root(),
            user,
            manner,
            open_files: open_files_before(),
            go: ends.0,
            verdict: ends.1,
            kept,
        };
        Ok(Self { plan, go, verdict, outputs, _childs: childs })
    }
}

impl Command {
    /// Makes the child, as the user that `rights` give for the wanted one; it waits before its first instruction. Where there is
    /// a launcher, which decides by the rights that it was started with, that makes it.
    pub(crate) fn prepare(argv: &[String], wanted: Option<&str>, rights: &CommandRights) -> Result<Self, AgentError> {
        let Started { pid, program, go, verdict, outputs, leads } = match launcher::of_this_process() {
            Some(launcher) => launcher.launch(argv, wanted)?,
            None => Started::new(argv, wanted, rights, Parent::This)?,
        };
        // It is a child of this process and was not waited for, so that its number is still its own.
        let pidfd =
            rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| refused(DOING, &errno.into(), ""))?;
        Ok(Self {
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
            pidfd,
            program,
            go: Some(go),
            verdict: Some(verdict),
            outputs,
            leads,
            state: TargetState::Running,
            used: Used::default(),
        })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// A descriptor that can be read when it has ended.
    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// The read ends of its standard output and standard error, if they are not the caller's.
    pub(crate) fn outputs(&self) -> Option<(&OwnedFd, &OwnedFd)> {
        self.outputs.as_ref().map(|(stdout, stderr)| (stdout, stderr))
    }

    /// Lets it run, and waits until the program is executed or could not be.
    pub(crate) fn release(&mut self) -> Result<(), AgentError> {
        let doing = format!("running {}", self.program);
        let (Some(go), Some(verdict)) = (self.go.take(), self.verdict.take()) else {
            return Err(failed(AgentErrorKind::Invalid, doing, "it runs already", ""));
        };
        // If the child has failed before, this fails, and the verdict says why.
        let _sent = rustix::io::write(&go, &[1]);
        if let Err(why) = self.wait_for_verdict(&verdict) {
            return Err(failed(AgentErrorKind::Internal, doing, why, ""));
        }
        let mut bytes = [0_u8; 5];
        // Without waiting: that it was executed may be known otherwise, while a copy of the other end is still open.
        rustix::io::ioctl_fionbio(&verdict, true).map_err(|errno| refused(&doing, &errno.into(), ""))?;
        match rustix::io::read(&verdict, &mut bytes) {
            // The pipe was closed by the execution itself.
            Ok(0) | Err(rustix::io::Errno::AGAIN) => Ok(()),
            Ok(_some) => {
                let [step, errno @ ..] = bytes;
                let error = io::Error::from_raw_os_error(i32::from_ne_bytes(errno));
                Err(refused(doing, &error, Step::remedy(step)))
            }
            Err(errno) => Err(refused(doing, &errno.into(), "")),
        }
    }

    /// Waits until the program is executed, or the child has said why not; if neither comes, says what holds it up.
    fn wait_for_verdict(&self, verdict: &OwnedFd) -> Result<(), &'static str> {
        let begun = Instant::now();
        loop {
            // One that has ended has closed its end too, but somebody else may have that.
            if wait_readable(verdict, Instant::now() + EXEC_TIMEOUT) || wait_readable(&self.pidfd, Instant::now()) {
                return Ok(());
            }
            match waiting::doing(&format!("/proc/{}/stat", self.pid)) {
                _ if self.has_executed() => return Ok(()),
                Doing::IsGone => return Ok(()),
                Doing::IsStopped => return Err("somebody has stopped it before its first instruction"),
                Doing::Waits => return Err("its file system does not answer"),
                Doing::Runs if begun.elapsed() < BUSY_TIMEOUT => {}
                Doing::Runs => return Err("this machine is too busy to run it"),
            }
        }
    }

    /// Whether it is another program than the agent by now.
    fn has_executed(&self) -> bool {
        let executable = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
        executable(&self.pid.to_string()).is_some_and(|theirs| Some(theirs) != executable("self"))
    }

    /// Whether it still runs, or how it ended.
    pub(crate) fn state(&mut self) -> TargetState {
        if self.state == TargetState::Running
            && let Some(ended) = self.used.wait(self.pidfd.as_fd())
        {
            self.state = ended;
        }
        self.state
    }

    /// What it and those that it waited for have used, for whoever asks when it has ended.
    pub(crate) fn used(&self) -> &Used {
        &self.used
    }

    /// Ends it, if it still runs, with everything in its process group, if that is its own.
    pub(crate) fn end(&mut self) {
        // A child that was not released yet sees the end of this pipe and ends itself.
        self.go = None;
        for (signal, patience) in [(Signal::TERM, TERM_TIMEOUT), (Signal::KILL, TERM_TIMEOUT)] {
            if self.state() != TargetState::Running {
                return;
            }
            self.signal(signal);
            wait_readable(&self.pidfd, Instant::now() + patience);
        }
        let _last = self.state();
    }

    /// Neither its id nor its group can have been given to others: it has not been waited for.
    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // It may be gone by itself meanwhile.
            let _gone = match self.leads {
                true => rustix::process::kill_process_group(pid, signal),
                false => rustix::process::kill_process(pid, signal),
            };
        }
    }
}

impl Drop for Command {
    /// A command whose capture is gone would run unseen, with nobody to read what it prints.
    fn drop(&mut self) {
        self.end();
    }
}

fn wait_readable(fd: &OwnedFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&left)) {
            Ok(0) => return false,
            Ok(_ready) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_errno) => return false,
        }
    }
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "what is skipped is told")]
mod tests {
    use std::{fs::File, io::Read as _};

    use super::*;

    /// Those of the user of the tests.
    fn rights() -> CommandRights {
        let own = rustix::process::geteuid();
        if own.is_root() { CommandRights::AsRoot } else { CommandRights::Users(vec![own.as_raw()]) }
    }

    fn prepare(argv: &[&str]) -> Command {
        Command::prepare(&words(argv), None, &rights()).unwrap()
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn run(argv: &[&str]) -> (String, TargetState) {
        run_by(argv, None, &rights())
    }

    fn printed(command: &Command) -> String {
        let mut out = String::new();
        File::from(command.outputs().unwrap().0.try_clone().unwrap()).read_to_string(&mut out).unwrap();
        out
    }

    fn run_by(argv: &[&str], wanted: Option<&str>, rights: &CommandRights) -> (String, TargetState) {
        let mut command = Command::prepare(&words(argv), wanted, rights).unwrap();
        command.release().unwrap();
        assert!(wait_readable(&command.pidfd, Instant::now() + Duration::from_secs(20)));
        (printed(&command), command.state())
    }

    const DONE: TargetState = TargetState::Exited { code: Some(0), signal: None };

    #[test]
    fn a_command_waits_and_then_runs_with_a_clean_environment() {
        let mut command = prepare(&["env"]);
        let stat = std::fs::read_to_string(format!("/proc/{}/cmdline", command.pid())).unwrap();
        assert!(!stat.starts_with("env"), "not executed yet");
        assert_eq!(command.state(), TargetState::Running);
        command.release().unwrap();
        assert!(wait_readable(&command.pidfd, Instant::now() + Duration::from_secs(20)));
        let out = printed(&command);
        let mut names: Vec<&str> = out.lines().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["HOME", "LANG", "PATH", "TERM", "USER"]);
        assert_eq!(command.state(), DONE);
    }

    #[test]
    fn no_descriptor_of_the_agent_is_inherited() {
        let _leak = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
        let (out, state) = run(&["ls", "/proc/self/fd"]);
        // The fourth is the folder that `ls` reads.
        assert_eq!((out.split_whitespace().collect::<Vec<_>>(), state), (vec!["0", "1", "2", "3"], DONE));
    }

    #[test]
    fn p21_words_are_words_and_never_shell() {
        let (out, state) = run(&["echo", "$(id)", "; ls", "-n", "`x`", "*"]);
        assert_eq!((out.as_str(), state), ("$(id) ; ls -n `x` *\n", DONE));
    }

    #[test]
    fn it_runs_as_the_user_that_was_asked_for() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: commands of other users — root");
            return;
        }
        let what = ["grep", "-E", "^(Uid|Gid|Groups|CapInh|CapPrm|CapEff|CapBnd|CapAmb|SigBlk)", "/proc/self/status"];
        let (out, _state) = run_by(&what, Some("nobody"), &CommandRights::AsRoot);
        let fields: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
        let id = fields[0][1].to_owned();
        assert_ne!(id, "0");
        assert!(fields[0].iter().skip(1).all(|uid| *uid == id), "{out}");
        assert_eq!(fields[2], ["Groups:", fields[1][1]], "{out}");
        let zero = |field: &[&str]| u64::from_str_radix(field[1], 16) == Ok(0);
        assert!(fields.iter().skip(3).all(|field| zero(field)), "{out}");
    }

    #[test]
    fn p51_a_command_has_no_right_and_takes_none_even_as_root() {
        let what = ["grep", "-E", "^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs)", "/proc/self/status"];
        let (out, state) = run(&what);
        assert_eq!((out.lines().count(), state), (6, DONE), "{out}");
        let root = rustix::process::geteuid().is_root();
        for line in out.lines() {
            let (name, value) = line.split_once(":\t").unwrap();
            match name {
                "NoNewPrivs" => assert_eq!(value, "1"),
                // Who is not root cannot shrink it, and gains nothing by it.
                "CapBnd" if !root => {}
                name => assert_eq!(u64::from_str_radix(value, 16), Ok(0), "{name}"),
            }
        }
        let (out, _state) = run(&["cut", "-d", " ", "-f", "1,5,6,7", "/proc/self/stat"]);
        let numbers: Vec<&str> = out.split_whitespace().collect();
        assert_eq!((numbers[0], numbers[0], "0"), (numbers[1], numbers[2], numbers[3]), "a session without a terminal");
    }

    #[test]
    fn exit_codes_and_signals_are_told_apart() {
        assert_eq!(run(&["false"]).1, TargetState::Exited { code: Some(1), signal: None });
        let mut command = prepare(&["sleep", "1000"]);
        command.release().unwrap();
        command.end();
        assert_eq!(command.state(), TargetState::Exited { code: None, signal: Some(libc::SIGTERM) });
    }

    /// It takes no end, and neither does what it has started.
    #[test]
    fn p21_a_command_that_misbehaves_is_ended_with_what_it_started() {
        let script = "trap '' TERM INT HUP; (trap '' TERM; sleep 1000) & echo $!; printf '\\377\\376'; exec >&- 2>&-; \
            while :; do sleep 1000; done";
        let mut command = prepare(&["sh", "-c", script]);
        command.release().unwrap();
        let mut bytes = Vec::new();
        // It ends when the command closes it: what it has started has it too, so only the number is read.
        let mut out = File::from(command.outputs().unwrap().0.try_clone().unwrap());
        while !bytes.ends_with(&[0xff, 0xfe]) {
            let mut one = [0];
            match out.read(&mut one) {
                Ok(1) => bytes.push(one[0]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                other => panic!("{other:?}"),
            }
        }
        let child: i32 = String::from_utf8_lossy(&bytes).lines().next().unwrap().parse().unwrap();
        let begun = Instant::now();
        command.end();
        assert_eq!(command.state(), TargetState::Exited { code: None, signal: Some(libc::SIGKILL) });
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        let end = Instant::now() + Duration::from_secs(20);
        while waiting::doing(&format!("/proc/{child}/stat")) != Doing::IsGone {
            assert!(Instant::now() < end, "what it has started goes on");
            std::thread::yield_now();
        }
    }

    /// What holds a command up that does not run in time is told as it is.
    #[test]
    fn p21_whoever_holds_a_command_up_is_named() {
        let mut stopped = prepare(&["true"]);
        let stat = format!("/proc/{}/stat", stopped.pid());
        let end = Instant::now() + Duration::from_secs(20);
        // A process that was made just now may not lead its group yet.
        while waiting::doing(&stat) != Doing::IsStopped {
            stopped.signal(Signal::STOP);
            assert!(Instant::now() < end, "it stops");
        }
        let error = stopped.release().unwrap_err();
        assert!(error.why.contains("somebody has stopped it"), "{error:?}");
        // A copy of the end by which it tells is in somebody's hands.
        let mut executed = prepare(&["sleep", "1000"]);
        let (read, _held) = rustix::pipe::pipe().unwrap();
        executed.verdict = Some(read);
        executed.release().unwrap();
        assert_eq!(executed.state(), TargetState::Running);
    }

    #[test]
    fn a_command_that_was_never_released_ends_without_a_trace() {
        let command = prepare(&["sleep", "1000"]);
        let pid = command.pid();
        drop(command);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn what_cannot_run_is_refused_in_words() {
        let cases: [(&[&str], AgentErrorKind, &str); 5] = [
            (&["no-such-program-here"], AgentErrorKind::NotFound, "it is in none of"),
            (&["/no/such/program"], AgentErrorKind::NotFound, "there is no such file"),
            (&["bin/true"], AgentErrorKind::Invalid, "the path is not absolute"),
            (&["/etc/passwd"], AgentErrorKind::Invalid, "it is not an executable file"),
            (&["/tmp"], AgentErrorKind::Invalid, "it is not an executable file"),
        ];
        for (argv, kind, why) in cases {
            let error = Command::prepare(&words(argv), None, &rights()).unwrap_err();
            assert!(error.kind == kind && error.why.contains(why), "{argv:?}: {error:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = prepare(&[script.to_str().unwrap()]);
        let error = command.release().unwrap_err();
        assert_eq!((error.kind, error.why.as_str()), (AgentErrorKind::NotFound, "no such file or directory"));
    }
}
