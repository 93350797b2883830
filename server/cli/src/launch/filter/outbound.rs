//! The system calls of the process that connects to others: what the C library resolves names with, and connections. Whom it may connect
//! to a filter cannot see: that is a matter of the list of hosts, and Landlock's of ports.

use bathyscope_agent::seccomp::{
    self,
    Call::{self, Any, If},
    CallGroup,
    Condition::{self, Is, With, Without},
};

use super::{MEMORY, NEVER, ONLY_STREAM, STREAM, WAITING, installed};
use crate::Failure;

/// A socket of packets, for name servers.
const DATAGRAM: Condition = With(1, libc::SOCK_DGRAM as u32);
const ONLY_DATAGRAM: Condition = Without(1, 0xf & !(libc::SOCK_DGRAM as u32));

/// What it needs beside what all do.
const OUTBOUND: &[CallGroup] = &[
    CallGroup {
        reason: "connections to others, and packets to name servers; nobody connects to it",
        calls: &[
            If(libc::SYS_socket, &[Is(0, libc::AF_INET as u32), STREAM, ONLY_STREAM]),
            If(libc::SYS_socket, &[Is(0, libc::AF_INET6 as u32), STREAM, ONLY_STREAM]),
            If(libc::SYS_socket, &[Is(0, libc::AF_INET as u32), DATAGRAM, ONLY_DATAGRAM]),
            If(libc::SYS_socket, &[Is(0, libc::AF_INET6 as u32), DATAGRAM, ONLY_DATAGRAM]),
            // Which addresses this host has, by which the C library orders those of others.
            If(libc::SYS_socket, &[Is(0, libc::AF_NETLINK as u32), Is(2, libc::NETLINK_ROUTE as u32)]),
            Any(libc::SYS_bind),
            Any(libc::SYS_connect),
            Any(libc::SYS_setsockopt),
            If(libc::SYS_sendto, &[Without(3, libc::MSG_FASTOPEN as u32)]),
            Any(libc::SYS_sendmmsg),
            Any(libc::SYS_recvfrom),
            If(libc::SYS_ioctl, &[Is(1, libc::FIONBIO as u32)]),
            If(libc::SYS_ioctl, &[Is(1, libc::FIONREAD as u32)]),
        ],
    },
    WAITING,
    MEMORY,
    CallGroup { reason: "older forms of the above, which the C library uses on x86_64", calls: OLDER },
];

#[cfg(target_arch = "x86_64")]
const OLDER: &[Call] = &[Any(libc::SYS_epoll_wait)];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[Call] = &[];

/// Lets this process make the calls of a process that connects to others, and no other, for good.
///
/// # Errors
/// If the kernel refuses.
pub fn filter_system_calls_of_outbound() -> Result<(), Failure> {
    installed("the process that connects to others", seccomp::install(&[seccomp::COMMON, OUTBOUND], NEVER))
}
