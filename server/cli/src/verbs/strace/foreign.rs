//! Options of strace's that this verb does not have, and why.

use bathyscope_commands::strace::NEEDS_PTRACE;

use crate::verbs::foreign::Foreign;

const fn ptrace(option: &'static str) -> Foreign {
    Foreign::refused(option, NEEDS_PTRACE)
}

const fn other(option: &'static str, why: &'static str) -> Foreign {
    Foreign::refused(option, why)
}

const NAMES: &str = "Processes are told by their ids; --json has the name of the thread that calls in each row.";

/// All of them.
pub(in crate::verbs) const FOREIGN: &[Foreign] = &[
    ptrace("-b"),
    ptrace("--detach-on"),
    ptrace("-D"),
    ptrace("--daemonize"),
    ptrace("--daemonized"),
    ptrace("--daemonised"),
    ptrace("-I"),
    ptrace("--interruptible"),
    ptrace("--seccomp-bpf"),
    ptrace("--inject"),
    ptrace("--fault"),
    ptrace("--kvm"),
    other("-O", "What tracing costs is measured while it runs, and said at the end."),
    other("--summary-syscall-overhead", "What tracing costs is measured while it runs, and said at the end."),
    other("-d", "What is logged is said by --log, such as --log debug."),
    other("--debug", "What is logged is said by --log, such as --log debug."),
    other("--secontext", "Security contexts are not read."),
    other("--tips", "There are examples in `bathyscope strace --help`."),
    other("-Y", NAMES),
    other("--decode-pids", NAMES),
    other("--decode-pid", NAMES),
    other("--pidns-translation", "Ids are those of the first pid namespace."),
    other("-V", "`bathyscope --version` tells the version."),
];
