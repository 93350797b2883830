//! System calls that both processes make: those of the C library and of Rust's.

use bathyscope_protocol::sandbox::NAMESPACE_FLAGS;

use super::{
    Call::{self, Any, If},
    CallGroup,
    Condition::{Is, With, Without},
};

/// What both processes need.
pub const COMMON: &[CallGroup] = &[
    CallGroup {
        reason: "files and pipes by their descriptors",
        calls: &[
            Any(libc::SYS_read),
            Any(libc::SYS_readv),
            Any(libc::SYS_pread64),
            Any(libc::SYS_preadv),
            Any(libc::SYS_write),
            Any(libc::SYS_writev),
            Any(libc::SYS_pwrite64),
            Any(libc::SYS_lseek),
            Any(libc::SYS_close),
            Any(libc::SYS_close_range),
            Any(libc::SYS_dup),
            Any(libc::SYS_dup3),
            Any(libc::SYS_fcntl),
            Any(libc::SYS_pipe2),
            Any(libc::SYS_fstat),
            Any(libc::SYS_fstatfs),
            Any(libc::SYS_ftruncate),
            Any(libc::SYS_getdents64),
            Any(libc::SYS_flock),
            Any(libc::SYS_memfd_create),
        ],
    },
    CallGroup {
        reason: "files by name; which ones is a matter of users, and of Landlock in the console",
        calls: &[
            Any(libc::SYS_openat),
            Any(libc::SYS_openat2),
            Any(libc::SYS_newfstatat),
            Any(libc::SYS_statx),
            Any(libc::SYS_statfs),
            Any(libc::SYS_readlinkat),
            Any(libc::SYS_faccessat),
            Any(libc::SYS_faccessat2),
            Any(libc::SYS_getcwd),
            Any(libc::SYS_mkdirat),
            Any(libc::SYS_unlinkat),
            Any(libc::SYS_renameat),
            Any(libc::SYS_renameat2),
        ],
    },
    CallGroup {
        reason: "copies by std::io::copy",
        calls: &[Any(libc::SYS_copy_file_range), Any(libc::SYS_sendfile), Any(libc::SYS_splice)],
    },
    CallGroup {
        reason: "memory",
        calls: &[
            Any(libc::SYS_brk),
            Any(libc::SYS_munmap),
            Any(libc::SYS_mremap),
            Any(libc::SYS_madvise),
            Any(libc::SYS_mincore),
            Any(libc::SYS_msync),
            Any(libc::SYS_membarrier),
        ],
    },
    CallGroup {
        reason: "threads of this process, in its own namespaces; processes are not made",
        calls: &[
            If(libc::SYS_clone, &[With(0, libc::CLONE_THREAD as u32), Without(0, NAMESPACE_FLAGS)]),
            Any(libc::SYS_futex),
            Any(libc::SYS_set_robust_list),
            Any(libc::SYS_rseq),
            Any(libc::SYS_set_tid_address),
            Any(libc::SYS_exit),
            Any(libc::SYS_exit_group),
            Any(libc::SYS_sched_yield),
            Any(libc::SYS_sched_getaffinity),
            Any(libc::SYS_getcpu),
            If(libc::SYS_prctl, &[Is(0, libc::PR_SET_NAME as u32)]),
            If(libc::SYS_prctl, &[Is(0, libc::PR_GET_NAME as u32)]),
            If(libc::SYS_prctl, &[Is(0, PR_SET_VMA)]),
            If(libc::SYS_prctl, &[Is(0, PR_GET_AUXV)]),
        ],
    },
    CallGroup {
        reason: "signals: handlers, and those that a process sends itself when it aborts",
        calls: &[
            Any(libc::SYS_rt_sigaction),
            Any(libc::SYS_rt_sigprocmask),
            Any(libc::SYS_rt_sigreturn),
            Any(libc::SYS_sigaltstack),
            Any(libc::SYS_tgkill),
            Any(libc::SYS_restart_syscall),
        ],
    },
    CallGroup {
        reason: "waiting and time",
        calls: &[
            Any(libc::SYS_ppoll),
            Any(libc::SYS_nanosleep),
            Any(libc::SYS_clock_nanosleep),
            Any(libc::SYS_clock_gettime),
            Any(libc::SYS_clock_getres),
            Any(libc::SYS_gettimeofday),
        ],
    },
    CallGroup {
        reason: "who and where this process is, and what it may use",
        calls: &[
            Any(libc::SYS_getpid),
            Any(libc::SYS_gettid),
            Any(libc::SYS_getppid),
            Any(libc::SYS_getuid),
            Any(libc::SYS_geteuid),
            Any(libc::SYS_getgid),
            Any(libc::SYS_getegid),
            Any(libc::SYS_capget),
            Any(libc::SYS_uname),
            Any(libc::SYS_sysinfo),
            Any(libc::SYS_getrusage),
            Any(libc::SYS_getrandom),
            // Of itself only: those of others are a right of root.
            If(libc::SYS_prlimit64, &[Is(0, 0)]),
            Any(libc::SYS_getrlimit),
        ],
    },
    CallGroup {
        reason: "the connection of the two, and descriptors over it",
        calls: &[
            Any(libc::SYS_socketpair),
            // Not what connects by sending.
            If(libc::SYS_sendmsg, &[Without(2, libc::MSG_FASTOPEN as u32)]),
            Any(libc::SYS_recvmsg),
            Any(libc::SYS_getsockopt),
            Any(libc::SYS_getsockname),
            Any(libc::SYS_getpeername),
            Any(libc::SYS_shutdown),
        ],
    },
    CallGroup { reason: "older forms of the above, which the C library uses on x86_64", calls: OLDER },
];

/// Names for memory, which the C library and allocators give.
const PR_SET_VMA: u32 = 0x5356_4d41;

/// What the kernel told this process at its start, such as the size of pages (Linux 6.4).
const PR_GET_AUXV: u32 = 0x4155_5856;

#[cfg(target_arch = "x86_64")]
const OLDER: &[Call] = &[
    Any(libc::SYS_open),
    Any(libc::SYS_stat),
    Any(libc::SYS_lstat),
    Any(libc::SYS_access),
    Any(libc::SYS_readlink),
    Any(libc::SYS_mkdir),
    Any(libc::SYS_rmdir),
    Any(libc::SYS_unlink),
    Any(libc::SYS_rename),
    Any(libc::SYS_dup2),
    Any(libc::SYS_pipe),
    Any(libc::SYS_poll),
    Any(libc::SYS_time),
    // Only for the base of thread-local memory of a new thread.
    If(libc::SYS_arch_prctl, &[Is(0, 0x1002)]),
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[Call] = &[];
