//! System calls of the agent.

use super::{
    Call::{self, Any, If},
    CallGroup,
    Condition::Is,
};

/// The flags of `clone` by which the C library forks.
const FORK: u32 = (libc::CLONE_CHILD_CLEARTID | libc::CLONE_CHILD_SETTID | libc::SIGCHLD) as u32;

/// What the agent needs beside [`super::COMMON`].
pub(crate) const AGENT: &[CallGroup] = &[
    CallGroup {
        reason: "programs, maps and links; samples, counters and probes",
        calls: &[Any(libc::SYS_bpf), Any(libc::SYS_perf_event_open), Any(libc::SYS_ioctl)],
    },
    CallGroup {
        reason: "rings, and the libraries of the name service, which are loaded when a user is first looked up",
        calls: &[Any(libc::SYS_mmap), Any(libc::SYS_mprotect)],
    },
    CallGroup {
        reason: "rings that are waited for, and times of reading",
        calls: &[
            Any(libc::SYS_epoll_create1),
            Any(libc::SYS_epoll_ctl),
            Any(libc::SYS_epoll_pwait),
            Any(libc::SYS_eventfd2),
            Any(libc::SYS_timerfd_create),
            Any(libc::SYS_timerfd_settime),
        ],
    },
    CallGroup {
        reason: "processes that are targets, and the end of commands that were started for a capture",
        calls: &[
            Any(libc::SYS_pidfd_open),
            Any(libc::SYS_pidfd_send_signal),
            Any(libc::SYS_kill),
            Any(libc::SYS_waitid),
            Any(libc::SYS_wait4),
            Any(libc::SYS_getpgid),
        ],
    },
    CallGroup { reason: "numbers of control groups", calls: &[Any(libc::SYS_name_to_handle_at)] },
    CallGroup {
        reason: "the name service, which asks others on this machine through local sockets",
        calls: &[
            If(libc::SYS_socket, &[Is(0, libc::AF_UNIX as u32)]),
            Any(libc::SYS_connect),
            Any(libc::SYS_sendto),
            Any(libc::SYS_recvfrom),
            Any(libc::SYS_setsockopt),
        ],
    },
    CallGroup {
        reason: "children that compile scripts: they are forked, give up what is left, and take a stricter filter",
        calls: &[
            If(libc::SYS_clone, &[Is(0, FORK)]),
            Any(libc::SYS_capset),
            If(libc::SYS_seccomp, &[Is(0, libc::SECCOMP_SET_MODE_FILTER)]),
            If(libc::SYS_prctl, &[Is(0, libc::PR_SET_PDEATHSIG as u32)]),
            If(libc::SYS_prctl, &[Is(0, libc::PR_SET_DUMPABLE as u32), Is(1, 0)]),
            If(libc::SYS_prctl, &[Is(0, libc::PR_CAP_AMBIENT as u32)]),
            If(libc::SYS_prctl, &[Is(0, libc::PR_SET_NO_NEW_PRIVS as u32)]),
        ],
    },
    CallGroup {
        reason: "which version of Landlock the kernel has, for `doctor`",
        calls: &[If(libc::SYS_landlock_create_ruleset, &[Is(2, 1)])],
    },
    CallGroup { reason: "older forms of the above, which the C library uses on x86_64", calls: OLDER },
];

#[cfg(target_arch = "x86_64")]
const OLDER: &[Call] = &[Any(libc::SYS_epoll_wait)];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[Call] = &[];

/// What ends the agent beside [`super::NEVER`]: to become somebody else, for which only the launcher of commands has the right.
/// Calls by which a child that compiles tries it too are on no list: they fail.
pub(crate) const NEVER: &[libc::c_long] = &[
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
];
