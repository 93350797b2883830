//! The system calls that the console makes. What both processes make, and how filters are made, is the agent's
//! and the protocol's.

mod outbound;
mod reader;

use bathyscope_agent::seccomp::{
    self,
    Call::{self, Any, If},
    CallGroup,
    Condition::{self, Is, With, Without},
    FilterError,
};

pub use outbound::filter_system_calls_of_outbound;
pub use reader::filter_system_calls_of_reader;

use crate::Failure;

/// A socket of connections: another one could send to anybody without a connection.
const STREAM: Condition = With(1, libc::SOCK_STREAM as u32);
/// The other bits of a socket's type; above are flags.
const ONLY_STREAM: Condition = Without(1, 0xf & !(libc::SOCK_STREAM as u32));

const WAITING: CallGroup = CallGroup {
    reason: "the runtime's waiting",
    calls: &[
        Any(libc::SYS_epoll_create1),
        Any(libc::SYS_epoll_ctl),
        Any(libc::SYS_epoll_pwait),
        Any(libc::SYS_eventfd2),
    ],
};
const MEMORY: CallGroup = CallGroup {
    reason: "rings, files and memory; none of it becomes code",
    calls: &[
        If(libc::SYS_mmap, &[Without(2, libc::PROT_EXEC as u32)]),
        If(libc::SYS_mprotect, &[Without(2, libc::PROT_EXEC as u32)]),
    ],
};

/// What the console needs beside what both processes do.
const CONSOLE: &[CallGroup] = &[
    CallGroup {
        reason: "the listener and its connections, and the control socket; no connection is made to others",
        calls: &[
            If(libc::SYS_socket, &[Is(0, libc::AF_INET as u32), STREAM, ONLY_STREAM]),
            If(libc::SYS_socket, &[Is(0, libc::AF_INET6 as u32), STREAM, ONLY_STREAM]),
            If(libc::SYS_socket, &[Is(0, libc::AF_UNIX as u32), STREAM, ONLY_STREAM]),
            Any(libc::SYS_bind),
            Any(libc::SYS_listen),
            Any(libc::SYS_accept4),
            Any(libc::SYS_setsockopt),
            If(libc::SYS_sendto, &[Without(3, libc::MSG_FASTOPEN as u32)]),
            Any(libc::SYS_recvfrom),
            If(libc::SYS_ioctl, &[Is(1, libc::FIONBIO as u32)]),
        ],
    },
    WAITING,
    MEMORY,
    CallGroup {
        reason: "the database: what was written is on the disk, space is reserved, files have modes, and one of an older \
                 version is kept under another name",
        calls: &[
            Any(libc::SYS_fsync),
            Any(libc::SYS_fdatasync),
            Any(libc::SYS_fallocate),
            Any(libc::SYS_fadvise64),
            Any(libc::SYS_fchmod),
            Any(libc::SYS_fchmodat),
            Any(libc::SYS_pwritev),
            Any(libc::SYS_linkat),
        ],
    },
    CallGroup {
        reason: "the niceness of a thread, by itself, as far as the limit goes that the console was started with",
        calls: &[If(libc::SYS_setpriority, &[Is(0, libc::PRIO_PROCESS), Is(1, 0)])],
    },
    CallGroup { reason: "older forms of the above, which the C library uses on x86_64", calls: OLDER },
];

#[cfg(target_arch = "x86_64")]
const OLDER: &[Call] = &[Any(libc::SYS_epoll_wait), Any(libc::SYS_chmod)];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[Call] = &[];

/// What ends the console beside what ends both: what only the agent does, and to become somebody else.
const NEVER: &[libc::c_long] = &[
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_capset,
];

/// Lets this process make the calls of the console, and no other, for good. A kernel without filters is told of.
///
/// # Errors
/// If the kernel refuses.
pub fn filter_system_calls() -> Result<(), Failure> {
    installed("the console", seccomp::install(&[seccomp::COMMON, CONSOLE], NEVER))
}

/// What became of the filter of `whom`.
fn installed(whom: &str, done: Result<(), FilterError>) -> Result<(), Failure> {
    match done {
        Ok(()) => Ok(()),
        // `doctor` and the host page tell it too.
        Err(error @ FilterError::Missing) => {
            tracing::warn!("{error}");
            Ok(())
        }
        Err(error) => {
            Err(Failure::because(format!("taking from {whom} the system calls that it does not make"), error))
        }
    }
}
