//! The system calls that a child has left. Those that the standard library makes on its way to an end, to tell where it was,
//! are refused; any other ends the child.

use crate::seccomp::{
    Call::{self, Any, If},
    Condition::{Is, IsThisProcess, With, Without},
    Filter, FilterError, Outcome,
};

/// Flags of `clone` that a thread has and a process has not.
const THREAD: u32 = (libc::CLONE_THREAD | libc::CLONE_VM | libc::CLONE_SIGHAND) as u32;
/// The flags of `clone` that make namespaces.
pub const NAMESPACE_FLAGS: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;
const EXECUTABLE: u32 = libc::PROT_EXEC as u32;

/// What every child may do: read and write what is open, ask for memory and the time, and end.
const ALLOWED: &[Call] = &[
    Any(libc::SYS_read),
    Any(libc::SYS_write),
    Any(libc::SYS_readv),
    Any(libc::SYS_writev),
    Any(libc::SYS_close),
    // Not who is told by a signal that a file is ready.
    If(libc::SYS_fcntl, &[Is(1, libc::F_GETFD as u32)]),
    If(libc::SYS_fcntl, &[Is(1, libc::F_SETFD as u32)]),
    If(libc::SYS_fcntl, &[Is(1, libc::F_GETFL as u32)]),
    // No memory that was written can be executed.
    If(libc::SYS_mmap, &[Without(2, EXECUTABLE)]),
    If(libc::SYS_mprotect, &[Without(2, EXECUTABLE)]),
    Any(libc::SYS_brk),
    Any(libc::SYS_munmap),
    Any(libc::SYS_mremap),
    Any(libc::SYS_madvise),
    Any(libc::SYS_futex),
    Any(libc::SYS_clock_gettime),
    Any(libc::SYS_gettimeofday),
    Any(libc::SYS_getrandom),
    Any(libc::SYS_getpid),
    Any(libc::SYS_gettid),
    Any(libc::SYS_sched_yield),
    Any(libc::SYS_rt_sigreturn),
    Any(libc::SYS_rt_sigprocmask),
    Any(libc::SYS_rt_sigaction),
    Any(libc::SYS_sigaltstack),
    Any(libc::SYS_restart_syscall),
    // How it aborts, and no signal to others.
    If(libc::SYS_tgkill, &[IsThisProcess(0), Is(2, libc::SIGABRT as u32)]),
    Any(libc::SYS_exit),
    Any(libc::SYS_exit_group),
];

/// What one with threads may do beside it: start and wait for them, and ask what an open file is.
const WITH_THREADS: &[Call] = &[
    If(libc::SYS_clone, &[With(0, THREAD), Without(0, NAMESPACE_FLAGS)]),
    Any(libc::SYS_set_robust_list),
    Any(libc::SYS_rseq),
    Any(libc::SYS_sched_getaffinity),
    If(libc::SYS_prctl, &[Is(0, libc::PR_SET_NAME as u32)]),
    Any(libc::SYS_epoll_ctl),
    Any(libc::SYS_epoll_pwait),
    #[cfg(target_arch = "x86_64")]
    Any(libc::SYS_epoll_wait),
    #[cfg(target_arch = "x86_64")]
    Any(libc::SYS_poll),
    Any(libc::SYS_clock_nanosleep),
    Any(libc::SYS_geteuid),
    Any(libc::SYS_getuid),
    Any(libc::SYS_fstat),
    Any(libc::SYS_lseek),
    Any(libc::SYS_pread64),
    Any(libc::SYS_getrusage),
    // Its own limits, not those of another process.
    If(libc::SYS_prlimit64, &[Is(0, 0)]),
];

/// What is asked for by what can do without: a child is told that there is no such call. So one that is out of memory ends as
/// that, and not for a file that its message would be made of.
const REFUSED: &[Call] = &[
    Any(libc::SYS_clone3),
    Any(libc::SYS_openat),
    Any(libc::SYS_newfstatat),
    Any(libc::SYS_statx),
    Any(libc::SYS_readlinkat),
    Any(libc::SYS_faccessat),
    Any(libc::SYS_getcwd),
    // The same by their old names.
    #[cfg(target_arch = "x86_64")]
    Any(libc::SYS_open),
    #[cfg(target_arch = "x86_64")]
    Any(libc::SYS_stat),
    #[cfg(target_arch = "x86_64")]
    Any(libc::SYS_lstat),
    #[cfg(target_arch = "x86_64")]
    Any(libc::SYS_access),
    #[cfg(target_arch = "x86_64")]
    Any(libc::SYS_readlink),
];

/// Leaves this process with these calls.
pub(super) fn apply(threads: bool) -> Result<(), FilterError> {
    // Of two filters the stricter answer counts: what is refused here is allowed below, so that it is not the end.
    Filter::new(REFUSED.iter().copied(), Outcome::NoSuchCall, Outcome::Allowed)?.install(false)?;
    let of_threads = if threads { WITH_THREADS } else { &[] };
    let calls = [ALLOWED, REFUSED, of_threads].into_iter().flatten().copied();
    Filter::new(calls, Outcome::Allowed, Outcome::EndOfProcess)?.install(false)
}
