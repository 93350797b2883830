//! The child between fork and exec: it makes system calls only.

use std::{ffi::CString, io, os::fd::RawFd};

use bathyscope_protocol::sandbox::{CAPABILITIES, close_all_but};
use rustix::process::Pid;

use crate::{commands::User, needs::Need};

/// How a command runs.
#[derive(Debug)]
pub(super) enum Manner {
    /// In a session of its own, with no other descriptor than these and no way to more rights.
    Confined {
        /// What becomes its standard input, output and error.
        standard: [RawFd; 3],
        /// The directory in which it runs.
        home: CString,
    },
    /// As if the caller had started it.
    Caller {
        /// Its process group; 0 where it cannot be seen from here.
        process_group: libc::pid_t,
    },
}

/// Whose child a fork becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parent {
    /// Of the process that forks.
    This,
    /// Of that process's own parent, which then waits for it and is told of its end.
    Ours,
}

impl Parent {
    fn flags(self) -> libc::c_int {
        let share = if self == Self::Ours { libc::CLONE_PARENT } else { 0 };
        libc::SIGCHLD | share
    }
}

/// Everything that the child needs, made before the fork: after it, nothing may be allocated.
pub(super) struct ChildPlan {
    pub(super) program: CString,
    pub(super) arguments: Vec<CString>,
    pub(super) environment: Vec<CString>,
    /// Whom it becomes; none for whoever runs the agent.
    pub(super) user: Option<User>,
    /// Whether the agent may change users.
    pub(super) change_user: bool,
    pub(super) manner: Manner,
    /// How many files it may open, if the agent has raised that for itself.
    pub(super) open_files: Option<libc::rlimit>,
    /// Where a byte comes when it may run.
    pub(super) go: RawFd,
    /// Where it says why it could not run.
    pub(super) verdict: RawFd,
    /// Every descriptor that stays open, in ascending order; the two above are closed by the execution.
    pub(super) kept: Vec<RawFd>,
}

/// What the child was doing when it failed; sent to the agent with the number of the error.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Step {
    Descriptors = 1,
    Groups,
    User,
    Rights,
    Execute,
}

impl Step {
    /// What helps where it failed.
    pub(super) fn remedy(step: u8) -> String {
        match step {
            step if step == Self::Groups as u8 || step == Self::User as u8 => {
                format!("{} Or leave the user out.", Need::Users.remedy())
            }
            step if step == Self::Rights as u8 => {
                "The agent cannot take its rights from the command. Give it CAP_SETPCAP, or let commands run as a user."
                    .to_owned()
            }
            step if step == Self::Execute as u8 => {
                "Check that the user may execute the file, and that the interpreter in its first line exists."
                    .to_owned()
            }
            _ => String::new(),
        }
    }
}

/// Whether a descriptor is open and stays so when something is executed.
pub(super) fn is_inherited(fd: RawFd) -> bool {
    // SAFETY: asks for the flags of a descriptor by its number; nothing is opened, kept or closed.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    flags >= 0 && flags & libc::FD_CLOEXEC == 0
}

/// Forks the child, which waits for its byte and then executes the program.
pub(super) fn fork(plan: &ChildPlan, parent: Parent) -> io::Result<Pid> {
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
    // `run`. It never returns from there. It has a copy of the memory and of the stack, as no flag shares them; no pointer is
    // given to the kernel. The C library's function takes no flags.
    let pid = unsafe { libc::syscall(libc::SYS_clone, parent.flags(), 0, 0, 0, 0) };
    let error = io::Error::last_os_error();
    if pid == 0 {
        // SAFETY: this is the child; all pointers refer to memory that was made before the fork and ends in NUL or null,
        // and `before` was filled by the call above.
        unsafe { run(plan, arguments.as_ptr(), environment.as_ptr(), before.as_ptr()) };
    }
    // SAFETY: `before` was filled by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw).ok_or(error)
}

/// The child, between fork and exec.
///
/// # Safety
/// Only in a freshly forked child. `arguments` and `environment` end in null. It makes system calls only and neither
/// allocates, locks nor panics, as another thread may have held any lock at the time of the fork. System calls are
/// made directly where the C library's function would look for other threads.
unsafe fn run(
    plan: &ChildPlan,
    arguments: *const *const libc::c_char,
    environment: *const *const libc::c_char,
    mask: *const libc::sigset_t,
) -> ! {
    // SAFETY: system calls on memory that lives as long as the child, as promised by the caller.
    unsafe {
        match &plan.manner {
            Manner::Confined { standard, home } => {
                libc::setsid();
                reset_signals();
                let _refused = close_all_but(&plan.kept, 3);
                for (target, source) in (0..).zip(*standard) {
                    if libc::dup2(source, target) < 0 {
                        fail(plan, Step::Descriptors);
                    }
                }
                drop_bounding_set(plan);
                if plan.change_user {
                    become_user(plan);
                }
                drop_rights(plan);
                if libc::chdir(home.as_ptr()) != 0 {
                    libc::chdir(c"/".as_ptr());
                }
            }
            Manner::Caller { process_group } => {
                // Fails only if the caller has ended, whose terminal has nothing to say then. A group that cannot be seen from
                // here cannot be joined: the command stays in the agent's then, and 0 would make one of its own.
                if *process_group > 0 {
                    libc::setpgid(0, *process_group);
                }
                // What the caller ignores stays ignored, except what the agent's own runtime ignores.
                libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut());
                let _refused = close_all_but(&plan.kept, 0);
                if plan.change_user {
                    become_user(plan);
                }
            }
        }
        if let Some(limit) = &plan.open_files {
            libc::setrlimit(libc::RLIMIT_NOFILE, limit);
        }
        // After the change of user, which clears it.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        // Last of all, so that a capture of the command begins with its execution and not with this preparation.
        let mut byte = 0_u8;
        loop {
            match libc::read(plan.go, (&raw mut byte).cast(), 1) {
                1 => break,
                -1 if *libc::__errno_location() == libc::EINTR => {}
                _ => libc::_exit(126),
            }
        }
        libc::execve(plan.program.as_ptr(), arguments, environment);
        fail(plan, Step::Execute)
    }
}

/// Handlers and the mask of the agent are not for the command.
///
/// # Safety
/// As [`run`].
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

/// Leaves nothing that executing a file could bring back. Root must lose it; to others it means nothing, as they take no
/// new rights.
///
/// # Safety
/// As [`run`].
unsafe fn drop_bounding_set(plan: &ChildPlan) {
    let is_root = plan.user.as_ref().is_none_or(|user| user.uid == 0);
    for number in 0..libc::c_ulong::from(CAPABILITIES) {
        // SAFETY: plain system calls.
        unsafe {
            if libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) == 0 {
                continue;
            }
            // The kernel knows no further one.
            if *libc::__errno_location() == libc::EINVAL {
                return;
            }
            if is_root {
                fail(plan, Step::Rights);
            }
        }
    }
}

/// Gives up every capability and the ways to get one.
///
/// # Safety
/// As [`run`].
unsafe fn drop_rights(plan: &ChildPlan) {
    /// `_LINUX_CAPABILITY_VERSION_3`.
    const VERSION: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION, 0];
    let none = [0_u32; 6];
    // SAFETY: plain system calls; `header` and `none` have the shapes of the kernel's structs of this version.
    unsafe {
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) != 0
            || libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
        {
            fail(plan, Step::Rights);
        }
    }
}

/// # Safety
/// As [`run`].
unsafe fn become_user(plan: &ChildPlan) {
    let Some(User { uid, gid, groups, .. }) = &plan.user else { return };
    // SAFETY: plain system calls; `groups` has as many numbers as the kernel is told. They are made directly, for the
    // C library's functions would wait for threads that the child does not have.
    unsafe {
        if libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) != 0
            || libc::syscall(libc::SYS_setresgid, *gid, *gid, *gid) != 0
        {
            fail(plan, Step::Groups);
        }
        if libc::syscall(libc::SYS_setresuid, *uid, *uid, *uid) != 0 {
            fail(plan, Step::User);
        }
    }
}

/// # Safety
/// As [`run`].
unsafe fn fail(plan: &ChildPlan, step: Step) -> ! {
    // SAFETY: errno is this thread's; the message is local memory of five bytes.
    unsafe {
        let [a, b, c, d] = (*libc::__errno_location()).to_ne_bytes();
        let message = [step as u8, a, b, c, d];
        libc::write(plan.verdict, message.as_ptr().cast(), message.len());
        libc::_exit(127)
    }
}
