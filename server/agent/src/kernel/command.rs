//! Starting the program of a capture, stopped before its first instruction.
//!
//! The child is forked when the capture is made, so that its process id can be put into the filters, and waits at a pipe
//! until the capture is enabled. It never runs a shell, keeps no descriptor of the agent's, and is the wanted user before it
//! touches a file. It has an environment of its own, except where the agent was started at a terminal for this command.

use std::{
    ffi::CString,
    io,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bathyscope_protocol::{AgentError, AgentErrorKind, TargetState};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pipe::PipeFlags,
    process::{Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions},
};

use super::users::User;
use crate::error::{failed, refused};

/// Where a program without a slash in its name is looked for, and the command's own `PATH`.
pub(crate) const COMMAND_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long executing a program may take before it counts as done; it only reads the file's head.
const EXEC_TIMEOUT: Duration = Duration::from_secs(10);
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
    outputs: (OwnedFd, OwnedFd),
    state: TargetState,
}

fn pipe(doing: &str) -> Result<(OwnedFd, OwnedFd), AgentError> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|errno| refused(doing, &errno.into(), ""))
}

fn text(value: &str, doing: &str) -> Result<CString, AgentError> {
    CString::new(value).map_err(|_nul| failed(AgentErrorKind::Invalid, doing, "a word of it has a NUL byte", ""))
}

/// Finds the program: a name with a slash must be absolute, another one is looked up in [`COMMAND_PATH`].
fn locate(program: &str, own_path: bool) -> Result<CString, AgentError> {
    let doing = format!("looking for the program `{}`", bathyscope_capture::visible(program.as_bytes()));
    let executable = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        if !program.starts_with('/') && !STAYS.load(Ordering::Relaxed) {
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
    let own = if own_path { std::env::var("PATH").ok() } else { None };
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
fn own_environment() -> Vec<CString> {
    let line = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let line = [name.as_bytes(), b"=", value.as_bytes()].concat();
        // A variable of the environment has no NUL.
        CString::new(line).ok()
    };
    std::env::vars_os().filter_map(line).collect()
}

/// Everything that the child needs, made before the fork: after it, nothing may be allocated.
struct Plan {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    user: User,
    change_user: bool,
    /// How many files it may open, if the agent has raised that for itself.
    open_files: Option<libc::rlimit>,
    /// Whether it runs in the folder in which the agent runs, and not in the user's home.
    stays: bool,
}

static STAYS: AtomicBool = AtomicBool::new(false);

/// Lets commands run in the folder in which this agent runs, and with its environment if they run as its user: as if
/// whoever started it at a terminal had started them.
pub(crate) fn run_in_own_folder() {
    STAYS.store(true, Ordering::Relaxed);
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

impl Plan {
    fn new(argv: &[String], user: User) -> Result<Self, AgentError> {
        let doing = "preparing the command";
        let first = argv.first().ok_or_else(|| failed(AgentErrorKind::Invalid, doing, "it has no words", ""))?;
        let stays = STAYS.load(Ordering::Relaxed);
        let own = stays && user.uid == rustix::process::geteuid().as_raw();
        Ok(Self {
            program: locate(first, own)?,
            arguments: argv.iter().map(|word| text(word, doing)).collect::<Result<_, _>>()?,
            environment: if own { own_environment() } else { clean_environment(&user, doing)? },
            change_user: user.uid != rustix::process::geteuid().as_raw() || rustix::process::geteuid().is_root(),
            user,
            open_files: open_files_before(),
            stays,
        })
    }
}

impl Command {
    /// Forks the child; it waits before its first instruction.
    pub(crate) fn prepare(argv: &[String], user: User) -> Result<Self, AgentError> {
        let doing = "starting the command";
        let plan = Plan::new(argv, user)?;
        let program = plan.program.to_string_lossy().into_owned();
        let (go_read, go_write) = pipe(doing)?;
        let (verdict_read, verdict_write) = pipe(doing)?;
        let (stdout_read, stdout_write) = pipe(doing)?;
        let (stderr_read, stderr_write) = pipe(doing)?;
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
        let null = rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty())
            .map_err(|errno| refused("opening /dev/null", &errno.into(), ""))?;
        let descriptors = ChildDescriptors {
            go: go_read.as_raw_fd(),
            verdict: verdict_write.as_raw_fd(),
            standard: [null.as_raw_fd(), stdout_write.as_raw_fd(), stderr_write.as_raw_fd()],
        };
        let pid = fork_child(&plan, &descriptors).map_err(|error| refused(doing, &error, ""))?;
        let pidfd =
            rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| refused(doing, &errno.into(), ""))?;
        for end in [&stdout_read, &stderr_read] {
            rustix::io::ioctl_fionbio(end, true).map_err(|errno| refused(doing, &errno.into(), ""))?;
        }
        Ok(Self {
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
            pidfd,
            program,
            go: Some(go_write),
            verdict: Some(verdict_read),
            outputs: (stdout_read, stderr_read),
            state: TargetState::Running,
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

    /// The read ends of its standard output and standard error.
    pub(crate) fn outputs(&self) -> (&OwnedFd, &OwnedFd) {
        (&self.outputs.0, &self.outputs.1)
    }

    /// Lets it run, and waits until the program is executed or could not be.
    pub(crate) fn release(&mut self) -> Result<(), AgentError> {
        let doing = format!("running {}", self.program);
        let (Some(go), Some(verdict)) = (self.go.take(), self.verdict.take()) else {
            return Err(failed(AgentErrorKind::Invalid, doing, "it runs already", ""));
        };
        // If the child has failed before, this fails, and the verdict says why.
        let _sent = rustix::io::write(&go, &[1]);
        let deadline = Instant::now() + EXEC_TIMEOUT;
        if !wait_readable(&verdict, deadline) {
            return Err(failed(AgentErrorKind::Internal, doing, "its file system does not answer", ""));
        }
        let mut bytes = [0_u8; 5];
        match rustix::io::read(&verdict, &mut bytes) {
            // The pipe was closed by the execution itself.
            Ok(0) => Ok(()),
            Ok(_some) => {
                let [step, errno @ ..] = bytes;
                let error = io::Error::from_raw_os_error(i32::from_ne_bytes(errno));
                Err(refused(doing, &error, Step::remedy(step)))
            }
            Err(errno) => Err(refused(doing, &errno.into(), "")),
        }
    }

    /// Whether it still runs, or how it ended.
    pub(crate) fn state(&mut self) -> TargetState {
        if self.state == TargetState::Running {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let id = WaitId::PidFd(self.pidfd.as_fd());
            if let Ok(Some(status)) = rustix::process::waitid(id, options) {
                self.state = TargetState::Exited { code: status.exit_status(), signal: status.terminating_signal() };
            }
        }
        self.state
    }

    /// Ends it and everything in its process group, if it still runs.
    pub(crate) fn end(&mut self) {
        // A child that was not released yet sees the end of this pipe and ends itself.
        self.go = None;
        for (signal, patience) in [(Signal::TERM, TERM_TIMEOUT), (Signal::KILL, TERM_TIMEOUT)] {
            if self.state() != TargetState::Running {
                return;
            }
            self.signal_group(signal);
            wait_readable(&self.pidfd, Instant::now() + patience);
        }
        let _last = self.state();
    }

    /// The group cannot have been given to others: its leader has not been waited for.
    fn signal_group(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // It may be gone by itself meanwhile.
            let _gone = rustix::process::kill_process_group(pid, signal);
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

/// What the child was doing when it failed; sent to the agent with the number of the error.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Step {
    Descriptors = 1,
    Groups,
    User,
    Execute,
}

impl Step {
    fn remedy(step: u8) -> &'static str {
        match step {
            step if step == Self::Groups as u8 || step == Self::User as u8 => {
                "The agent may not change to that user. Run it as root, or leave the user out."
            }
            step if step == Self::Execute as u8 => {
                "Check that the user may execute the file, and that the interpreter in its first line exists."
            }
            _ => "",
        }
    }
}

struct ChildDescriptors {
    go: RawFd,
    verdict: RawFd,
    standard: [RawFd; 3],
}

fn fork_child(plan: &Plan, descriptors: &ChildDescriptors) -> io::Result<Pid> {
    let pointers = |words: &[CString]| -> Vec<*const libc::c_char> {
        words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(&plan.arguments), pointers(&plan.environment));
    // All signals are blocked meanwhile, so that no handler of the agent's runs in the child.
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are places to write to; the first is filled before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
    }
    // SAFETY: other threads may exist, so the child may only make plain system calls on what was made before: see
    // `run_child`. It never returns from there.
    let pid = unsafe { libc::fork() };
    let error = io::Error::last_os_error();
    if pid == 0 {
        // SAFETY: this is the child; all pointers refer to memory that was made before the fork and ends in NUL or null.
        unsafe { run_child(plan, descriptors, arguments.as_ptr(), environment.as_ptr()) };
    }
    // SAFETY: `before` was filled by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    Pid::from_raw(pid).filter(|_| pid > 0).ok_or(error)
}

/// The child, between fork and exec.
///
/// # Safety
/// Only in a freshly forked child. `arguments` and `environment` end in null. It makes system calls only and neither
/// allocates, locks nor panics, as another thread may have held any lock at the time of the fork. System calls are
/// made directly where the C library's function would look for other threads.
unsafe fn run_child(
    plan: &Plan,
    descriptors: &ChildDescriptors,
    arguments: *const *const libc::c_char,
    environment: *const *const libc::c_char,
) -> ! {
    // SAFETY: system calls on memory that lives as long as the child, as promised by the caller.
    unsafe {
        libc::setpgid(0, 0);
        reset_signals();
        // The agent's own copies of both ends were inherited: without closing this one, its end would never be seen.
        close_all_but(descriptors);
        for (target, source) in (0..).zip(descriptors.standard) {
            if libc::dup2(source, target) < 0 {
                fail(descriptors, Step::Descriptors);
            }
        }
        if plan.change_user {
            become_user(plan, descriptors);
        }
        if let Some(limit) = &plan.open_files {
            libc::setrlimit(libc::RLIMIT_NOFILE, limit);
        }
        // After the change of user, which clears it.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        if !plan.stays && libc::chdir(plan.user.home.as_ptr()) != 0 {
            libc::chdir(c"/".as_ptr());
        }
        // Last of all, so that a capture of the command begins with its execution and not with this preparation.
        let mut byte = 0_u8;
        loop {
            match libc::read(descriptors.go, (&raw mut byte).cast(), 1) {
                1 => break,
                -1 if *libc::__errno_location() == libc::EINTR => {}
                _ => libc::_exit(126),
            }
        }
        libc::execve(plan.program.as_ptr(), arguments, environment);
        fail(descriptors, Step::Execute)
    }
}

/// Handlers and the mask of the agent are not for the command.
///
/// # Safety
/// As [`run_child`].
unsafe fn reset_signals() {
    // SAFETY: plain system calls on local memory.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Closes every inherited descriptor but those that the child needs, all of which are close-on-exec.
///
/// # Safety
/// As [`run_child`].
unsafe fn close_all_but(descriptors: &ChildDescriptors) {
    let [null, stdout, stderr] = descriptors.standard;
    let mut keep = [descriptors.go, descriptors.verdict, null, stdout, stderr];
    keep.sort_unstable();
    let mut from: libc::c_uint = 3;
    for fd in keep {
        let fd = fd.unsigned_abs();
        if fd > from {
            // SAFETY: a plain system call; nothing in the child uses the descriptors in between.
            unsafe { libc::syscall(libc::SYS_close_range, from, fd - 1, 0) };
        }
        from = from.max(fd.saturating_add(1));
    }
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, from, libc::c_uint::MAX, 0) };
}

/// # Safety
/// As [`run_child`].
unsafe fn become_user(plan: &Plan, descriptors: &ChildDescriptors) {
    let User { uid, gid, groups, .. } = &plan.user;
    // SAFETY: plain system calls; `groups` has as many numbers as the kernel is told. They are made directly, for the
    // C library's functions would wait for threads that the child does not have.
    unsafe {
        if libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) != 0
            || libc::syscall(libc::SYS_setresgid, *gid, *gid, *gid) != 0
        {
            fail(descriptors, Step::Groups);
        }
        if libc::syscall(libc::SYS_setresuid, *uid, *uid, *uid) != 0 {
            fail(descriptors, Step::User);
        }
    }
}

/// # Safety
/// As [`run_child`].
unsafe fn fail(descriptors: &ChildDescriptors, step: Step) -> ! {
    // SAFETY: errno is this thread's; the message is local memory of five bytes.
    unsafe {
        let [a, b, c, d] = (*libc::__errno_location()).to_ne_bytes();
        let message = [step as u8, a, b, c, d];
        libc::write(descriptors.verdict, message.as_ptr().cast(), message.len());
        libc::_exit(127)
    }
}

/// What an environment variable of the command is; for tests and documentation.
#[cfg(test)]
pub(crate) fn environment_of(user: User) -> Vec<CString> {
    Plan::new(&["/bin/true".to_owned()], user).map(|plan| plan.environment).unwrap_or_default()
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "what is skipped is told")]
mod tests {
    use std::{fs::File, io::Read as _};

    use super::*;

    fn me() -> User {
        User::of_uid(rustix::process::geteuid().as_raw()).unwrap()
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn run(argv: &[&str], user: User) -> (String, TargetState) {
        let mut command = Command::prepare(&words(argv), user).unwrap();
        command.release().unwrap();
        assert!(wait_readable(&command.pidfd, Instant::now() + Duration::from_secs(20)));
        let mut out = String::new();
        File::from(command.outputs().0.try_clone().unwrap()).read_to_string(&mut out).unwrap();
        (out, command.state())
    }

    const DONE: TargetState = TargetState::Exited { code: Some(0), signal: None };

    #[test]
    fn a_command_waits_and_then_runs_with_a_clean_environment() {
        let mut command = Command::prepare(&words(&["env"]), me()).unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{}/cmdline", command.pid())).unwrap();
        assert!(!stat.starts_with("env"), "not executed yet");
        assert_eq!(command.state(), TargetState::Running);
        command.release().unwrap();
        assert!(wait_readable(&command.pidfd, Instant::now() + Duration::from_secs(20)));
        let mut out = String::new();
        File::from(command.outputs().0.try_clone().unwrap()).read_to_string(&mut out).unwrap();
        let mut names: Vec<&str> = out.lines().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["HOME", "LANG", "PATH", "TERM", "USER"]);
        assert_eq!(command.state(), DONE);
        assert_eq!(environment_of(me()).len(), names.len());
    }

    #[test]
    fn no_descriptor_of_the_agent_is_inherited() {
        let _leak = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
        let (out, state) = run(&["ls", "/proc/self/fd"], me());
        // The fourth is the folder that `ls` reads.
        assert_eq!((out.split_whitespace().collect::<Vec<_>>(), state), (vec!["0", "1", "2", "3"], DONE));
    }

    #[test]
    fn words_are_words_and_never_shell() {
        let (out, state) = run(&["echo", "$(id)", "; ls", "-n", "`x`", "*"], me());
        assert_eq!((out.as_str(), state), ("$(id) ; ls -n `x` *\n", DONE));
    }

    #[test]
    fn it_runs_as_the_user_that_was_asked_for() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: commands of other users — root");
            return;
        }
        let nobody = User::find("nobody").unwrap();
        let (out, _state) = run(&["grep", "-E", "^(Uid|Gid|Groups|CapEff|CapPrm|SigBlk)", "/proc/self/status"], nobody);
        let fields: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
        let id = fields[0][1].to_owned();
        assert_ne!(id, "0");
        assert!(fields[0].iter().skip(1).all(|uid| *uid == id), "{out}");
        assert_eq!(fields[2], ["Groups:", fields[1][1]], "{out}");
        let zero = |field: &[&str]| u64::from_str_radix(field[1], 16) == Ok(0);
        assert!(fields.iter().skip(3).all(|field| zero(field)), "{out}");
    }

    #[test]
    fn exit_codes_and_signals_are_told_apart() {
        assert_eq!(run(&["false"], me()).1, TargetState::Exited { code: Some(1), signal: None });
        let mut command = Command::prepare(&words(&["sleep", "1000"]), me()).unwrap();
        command.release().unwrap();
        command.end();
        assert_eq!(command.state(), TargetState::Exited { code: None, signal: Some(libc::SIGTERM) });
    }

    #[test]
    fn a_command_that_was_never_released_ends_without_a_trace() {
        let command = Command::prepare(&words(&["sleep", "1000"]), me()).unwrap();
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
            let error = Command::prepare(&words(argv), me()).unwrap_err();
            assert!(error.kind == kind && error.why.contains(why), "{argv:?}: {error:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = Command::prepare(&words(&[script.to_str().unwrap()]), me()).unwrap();
        let error = command.release().unwrap_err();
        assert_eq!((error.kind, error.why.as_str()), (AgentErrorKind::NotFound, "no such file or directory"));
    }
}
