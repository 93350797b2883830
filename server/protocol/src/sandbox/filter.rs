//! The system calls that a child has left. Those that the standard library makes on its way to an end, to tell where it was,
//! are refused; any other ends the child.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Flags of `clone` that a thread has and a process has not.
const THREAD: u64 = (libc::CLONE_THREAD | libc::CLONE_VM | libc::CLONE_SIGHAND) as u64;
/// The flags of `clone` that make namespaces.
pub const NAMESPACE_FLAGS: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// What every child may do: read and write what is open, ask for memory and the time, and end.
const ALLOWED: [libc::c_long; 23] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_sched_yield,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// What one with threads may do beside it: start and wait for them, and ask what an open file is.
const WITH_THREADS: [libc::c_long; 12] = [
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_getaffinity,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_clock_nanosleep,
    libc::SYS_geteuid,
    libc::SYS_getuid,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_getrusage,
];

/// What is asked for by what can do without: a child is told that there is no such call. So one that is out of memory ends as
/// that, and not for a file that its message would be made of.
const REFUSED: [libc::c_long; 6] = [
    libc::SYS_clone3,
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
];
/// The same by their old names.
#[cfg(target_arch = "x86_64")]
const REFUSED_OLD: [libc::c_long; 6] =
    [libc::SYS_open, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_readlink, libc::SYS_getcwd];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_OLD: [libc::c_long; 1] = [libc::SYS_getcwd];

/// Leaves this process with these calls.
pub(super) fn apply(threads: bool) -> io::Result<()> {
    let refused: Rules = REFUSED.into_iter().chain(REFUSED_OLD).map(|call| (call, Vec::new())).collect();
    // Of two filters the stricter answer counts: what is refused here is allowed below, so that it is not the end.
    let no_such_call = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    install(refused.clone(), SeccompAction::Allow, no_such_call)?;
    let mut rules = always()?;
    rules.extend(refused);
    if threads {
        rules.extend(WITH_THREADS.map(|call| (call, Vec::new())));
        rules.insert(libc::SYS_clone, vec![flags(0, THREAD | u64::from(NAMESPACE_FLAGS), THREAD)?]);
        rules.insert(libc::SYS_prctl, vec![equals(0, libc::PR_SET_NAME as u64)?]);
        // Its own limits, not those of another process.
        rules.insert(libc::SYS_prlimit64, vec![equals(0, 0)?]);
        #[cfg(target_arch = "x86_64")]
        rules.extend([libc::SYS_epoll_wait, libc::SYS_poll].map(|call| (call, Vec::new())));
    }
    install(rules, SeccompAction::KillProcess, SeccompAction::Allow)
}

fn always() -> io::Result<Rules> {
    let mut rules: Rules = ALLOWED.map(|call| (call, Vec::new())).into_iter().collect();
    // Not who is told by a signal that a file is ready.
    let about_descriptors = [libc::F_GETFD, libc::F_SETFD, libc::F_GETFL];
    let about_descriptors = about_descriptors.map(|command| equals(1, u64::from(command.unsigned_abs())));
    rules.insert(libc::SYS_fcntl, about_descriptors.into_iter().collect::<io::Result<_>>()?);
    // No memory that was written can be executed.
    let not_executable = flags(2, libc::PROT_EXEC as u64, 0)?;
    rules.insert(libc::SYS_mmap, vec![not_executable.clone()]);
    rules.insert(libc::SYS_mprotect, vec![not_executable]);
    // How it aborts, and no signal to others.
    let own = u64::from(std::process::id());
    let abort = SeccompRule::new(vec![condition(0, SeccompCmpOp::Eq, own)?, condition(2, SeccompCmpOp::Eq, ABORT)?]);
    rules.insert(libc::SYS_tgkill, vec![abort.map_err(broken)?]);
    Ok(rules)
}

const ABORT: u64 = libc::SIGABRT as u64;

fn condition(argument: u8, operation: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value).map_err(broken)
}

/// Of argument `argument`, the bits `mask` are `value`.
fn flags(argument: u8, mask: u64, value: u64) -> io::Result<SeccompRule> {
    SeccompRule::new(vec![condition(argument, SeccompCmpOp::MaskedEq(mask), value)?]).map_err(broken)
}

fn equals(argument: u8, value: u64) -> io::Result<SeccompRule> {
    SeccompRule::new(vec![condition(argument, SeccompCmpOp::Eq, value)?]).map_err(broken)
}

fn install(rules: Rules, others: SeccompAction, these: SeccompAction) -> io::Result<()> {
    let machine = TargetArch::try_from(std::env::consts::ARCH).map_err(broken)?;
    let program: BpfProgram =
        SeccompFilter::new(rules, others, these, machine).and_then(TryInto::try_into).map_err(broken)?;
    // Threads that exist already, such as those of a runtime, get it too.
    seccompiler::apply_filter_all_threads(&program).map_err(|error| match error {
        seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
        other => io::Error::other(other),
    })
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}
