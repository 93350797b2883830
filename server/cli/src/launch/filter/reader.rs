//! The system calls of the reader: much less than what the console makes. The children that it forks have its filter too, until
//! they take their own, which is stricter: so what they do before that is here, and what they do with a file.

use bathyscope_agent::seccomp::{
    self,
    Call::{self, Any, If},
    CallGroup,
    Condition::{Is, With, Without},
};
use bathyscope_protocol::sandbox::NAMESPACE_FLAGS;

use super::installed;
use crate::Failure;

/// The flags of `clone` by which the C library forks.
const FORK: u32 = (libc::CLONE_CHILD_CLEARTID | libc::CLONE_CHILD_SETTID | libc::SIGCHLD) as u32;
const EXECUTABLE: u32 = libc::PROT_EXEC as u32;
/// Names for memory, which the C library and allocators give.
const PR_SET_VMA: u32 = 0x5356_4d41;

/// What the reader and its children need.
const READER: &[CallGroup] = &[
    CallGroup {
        reason: "the console's socket, those of children, and the pipes through which they get files",
        calls: &[
            Any(libc::SYS_read),
            Any(libc::SYS_readv),
            Any(libc::SYS_write),
            Any(libc::SYS_writev),
            Any(libc::SYS_recvfrom),
            // Not what connects by sending.
            If(libc::SYS_sendto, &[Without(3, libc::MSG_FASTOPEN as u32)]),
            Any(libc::SYS_close),
            Any(libc::SYS_close_range),
            Any(libc::SYS_dup),
            Any(libc::SYS_fcntl),
            Any(libc::SYS_pipe2),
            If(libc::SYS_socketpair, &[Is(0, libc::AF_UNIX as u32)]),
            Any(libc::SYS_shutdown),
            If(libc::SYS_ioctl, &[Is(1, libc::FIONBIO as u32)]),
            Any(libc::SYS_ppoll),
        ],
    },
    CallGroup {
        reason: "what `/proc` says of a child itself, which is all that Landlock lets it open",
        calls: &[Any(libc::SYS_openat), Any(libc::SYS_fstat), Any(libc::SYS_statx), Any(libc::SYS_lseek)],
    },
    CallGroup {
        reason: "memory, none of which becomes code",
        calls: &[
            If(libc::SYS_mmap, &[Without(2, EXECUTABLE)]),
            If(libc::SYS_mprotect, &[Without(2, EXECUTABLE)]),
            Any(libc::SYS_brk),
            Any(libc::SYS_munmap),
            Any(libc::SYS_mremap),
            Any(libc::SYS_madvise),
            If(libc::SYS_prctl, &[Is(0, PR_SET_VMA)]),
        ],
    },
    CallGroup {
        reason: "children: they are forked, ended and waited for",
        calls: &[
            If(libc::SYS_clone, &[Is(0, FORK)]),
            Any(libc::SYS_pidfd_open),
            If(libc::SYS_pidfd_send_signal, &[Is(1, libc::SIGKILL as u32)]),
            If(libc::SYS_kill, &[Is(1, libc::SIGKILL as u32)]),
            Any(libc::SYS_waitid),
            Any(libc::SYS_wait4),
        ],
    },
    CallGroup {
        reason: "what a child gives up before it takes its own filter",
        calls: &[
            Any(libc::SYS_capget),
            Any(libc::SYS_capset),
            If(libc::SYS_seccomp, &[Is(0, libc::SECCOMP_SET_MODE_FILTER)]),
            If(libc::SYS_prctl, &[Is(0, libc::PR_SET_PDEATHSIG as u32)]),
            If(libc::SYS_prctl, &[Is(0, libc::PR_SET_DUMPABLE as u32), Is(1, 0)]),
            If(libc::SYS_prctl, &[Is(0, libc::PR_CAP_AMBIENT as u32)]),
            If(libc::SYS_prctl, &[Is(0, libc::PR_SET_NO_NEW_PRIVS as u32)]),
            // Of itself only.
            If(libc::SYS_prlimit64, &[Is(0, 0)]),
            Any(libc::SYS_getrlimit),
            Any(libc::SYS_setrlimit),
            Any(libc::SYS_getppid),
        ],
    },
    CallGroup {
        reason: "a child's threads and runtime, and what the database in its memory asks",
        calls: &[
            If(libc::SYS_clone, &[With(0, libc::CLONE_THREAD as u32), Without(0, NAMESPACE_FLAGS)]),
            Any(libc::SYS_futex),
            Any(libc::SYS_set_robust_list),
            Any(libc::SYS_rseq),
            Any(libc::SYS_sched_yield),
            Any(libc::SYS_sched_getaffinity),
            If(libc::SYS_prctl, &[Is(0, libc::PR_SET_NAME as u32)]),
            Any(libc::SYS_epoll_create1),
            Any(libc::SYS_epoll_ctl),
            Any(libc::SYS_epoll_pwait),
            Any(libc::SYS_eventfd2),
            Any(libc::SYS_pread64),
            Any(libc::SYS_getuid),
            Any(libc::SYS_geteuid),
            Any(libc::SYS_getrusage),
            Any(libc::SYS_getrandom),
        ],
    },
    CallGroup {
        reason: "time, signals and the end",
        calls: &[
            Any(libc::SYS_clock_gettime),
            Any(libc::SYS_clock_nanosleep),
            Any(libc::SYS_gettimeofday),
            Any(libc::SYS_rt_sigaction),
            Any(libc::SYS_rt_sigprocmask),
            Any(libc::SYS_rt_sigreturn),
            Any(libc::SYS_sigaltstack),
            Any(libc::SYS_restart_syscall),
            Any(libc::SYS_getpid),
            Any(libc::SYS_gettid),
            // How a process aborts.
            If(libc::SYS_tgkill, &[Is(2, libc::SIGABRT as u32)]),
            Any(libc::SYS_exit),
            Any(libc::SYS_exit_group),
        ],
    },
    CallGroup { reason: "older forms of the above, which the C library uses on x86_64", calls: OLDER },
];

#[cfg(target_arch = "x86_64")]
const OLDER: &[Call] = &[
    Any(libc::SYS_open),
    Any(libc::SYS_poll),
    Any(libc::SYS_pipe),
    Any(libc::SYS_epoll_wait),
    // Only for the base of thread-local memory of a new thread.
    If(libc::SYS_arch_prctl, &[Is(0, 0x1002)]),
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[Call] = &[];

/// What ends the reader beside what ends all: what only the agent does, and to become somebody else. The calls by which a child
/// tries that too, as its parent might be root, are on no list: they fail.
const NEVER: &[libc::c_long] = &[
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
];

/// Lets this process, and the children that it forks, make the calls of the reader, and no other, for good.
///
/// # Errors
/// If the kernel refuses.
pub fn filter_system_calls_of_reader() -> Result<(), Failure> {
    installed("the process that reads files", seccomp::install(&[READER], NEVER))
}
