//! Calls that say what descriptors are.

use std::collections::BTreeSet;

use super::table::definitions;
use crate::constants::Arch;

/// Calls that say what descriptors are, and what a process has of them: they are recorded wherever that is asked for, also if
/// they are not to be shown.
pub const OPENING: &[&str] = &[
    "open",
    "openat",
    "openat2",
    "creat",
    "dup",
    "dup2",
    "dup3",
    "fcntl",
    "close",
    "pipe",
    "pipe2",
    "socket",
    "socketpair",
    "bind",
    "connect",
    "accept",
    "accept4",
    "getsockname",
    "getpeername",
    "chdir",
    "fchdir",
    "fork",
    "vfork",
    "clone",
    "clone3",
    "execve",
    "execveat",
    "exit_group",
    "memfd_create",
    "epoll_create",
    "epoll_create1",
    "eventfd",
    "eventfd2",
    "timerfd_create",
    "signalfd",
    "signalfd4",
    "inotify_init",
    "inotify_init1",
    "pidfd_open",
    "perf_event_open",
    "io_uring_setup",
    "fcntl64",
    "open_by_handle_at",
    "mq_open",
    "close_range",
    "memfd_secret",
    "pidfd_getfd",
    "userfaultfd",
    "fanotify_init",
    "bpf",
    "renameat2",
    "renameat",
    "rename",
    "unlinkat",
    "unlink",
    "listen",
];

/// Their numbers, of all interfaces.
pub fn opening(arch: Arch) -> BTreeSet<i64> {
    definitions(arch).filter(|(_, call)| OPENING.contains(&call.name)).map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscalls::definition;

    #[test]
    fn all_of_them_are_calls() {
        let numbers = opening(Arch::X86_64);
        for name in OPENING {
            let known = |number: &i64| definition(Arch::X86_64, *number).is_some_and(|call| call.name == *name);
            assert!(numbers.iter().any(known), "{name}");
        }
    }
}
