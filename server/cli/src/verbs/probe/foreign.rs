//! Options of `perf probe` that this verb does not have, and why.

use crate::verbs::foreign::Foreign;

const fn refused(option: &'static str, why: &'static str) -> Foreign {
    Foreign::refused(option, why)
}

const DEBUG: &str = "Source lines are found in the probe builder in the browser, as `work.c:12`. `bathyscope probe -V FUNCTION` shows the \
    parameters of a function; places within it are written FUNCTION+OFFSET.";
const MODULE: &str = "Write the module before the function: -V MODULE:FUNCTION.";
const CACHE: &str = "Nothing is cached: functions and types are read from the running kernel and from the file.";

/// All of them.
pub(in crate::verbs) const FOREIGN: &[Foreign] = &[
    refused("-L", DEBUG),
    refused("--line", DEBUG),
    refused("-s", DEBUG),
    refused("--source", DEBUG),
    refused("--externs", DEBUG),
    refused("--range", DEBUG),
    refused("--no-inlines", DEBUG),
    refused("-D", "Write -n: it prints the lines for the kernel."),
    refused("--definition", "Write -n: it prints the lines for the kernel."),
    refused("-k", "Types come from the kernel's own type information (BTF)."),
    refused("--vmlinux", "Types come from the kernel's own type information (BTF)."),
    refused("-m", MODULE),
    refused("--module", MODULE),
    refused("-q", "Notes are written to standard error, which can be redirected."),
    refused("--quiet", "Notes are written to standard error, which can be redirected."),
    refused("-v", "What a definition becomes is printed by -n."),
    refused("--verbose", "What a definition becomes is printed by -n."),
    refused("--bootconfig", "Probes live with a capture, not from the kernel's start."),
    refused("--cache", CACHE),
    refused("--symfs", "Write the path of the file: -x FILE, and with -p PID through the root directory of a process."),
    refused("--target-ns", "Write -p PID: files are looked up through the root directory of that process."),
    refused("--filter", "Write the pattern behind --funcs: --funcs 'vfs_*'."),
    refused("--max-probes", "A definition names one place."),
    Foreign::meaningless("--demangle", "names are shown as the file has them, and understood in both forms"),
    Foreign::meaningless("--demangle-kernel", "names are shown as the kernel has them"),
];
