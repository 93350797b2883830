//! Options of strace's that this verb does not have, and why.

use crate::cli::foreign::Foreign;

const fn ptrace(option: &'static str) -> Foreign {
    Foreign::refused(option, super::choice::NEEDS_PTRACE)
}

const fn other(option: &'static str, why: &'static str) -> Foreign {
    Foreign::refused(option, why)
}

const COLUMNS: &str = "The table has strace's usual columns; -S says what it is sorted by, and --json gives each call.";
const CONSTANTS: &str = "Numbers with names are written by their names; -e raw=CALLS writes all arguments as numbers.";

/// All of them.
pub(in crate::cli) const FOREIGN: &[Foreign] = &[
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
    other("-U", COLUMNS),
    other("--summary-columns", COLUMNS),
    other("-X", CONSTANTS),
    other("--const-print-style", CONSTANTS),
    other("-d", "What is logged is said by --log, such as --log debug."),
    other("--debug", "What is logged is said by --log, such as --log debug."),
    other("--absolute-timestamps", "Write -t, -tt or -ttt."),
    other("--timestamps", "Write -t, -tt or -ttt."),
    other("--strings-in-hex", "Write -x or -xx."),
    other("--secontext", "Security contexts are not read."),
    other("--tips", "There are examples in `bathyscope strace --help`."),
    other("--trace", "Write -e trace=CALLS."),
    other("--signal", "Write -e signal=SIGNALS."),
    other("--status", "Write -e status=failed or -e status=successful."),
    other("--abbrev", "Write -e abbrev=none or -v."),
    other("--raw", "Write -e raw=CALLS."),
    other("--read", "Write -e read=FDS."),
    other("--write", "Write -e write=FDS."),
    other("-V", "`bathyscope --version` tells the version."),
];
