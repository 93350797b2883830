//! Options of `trace-cmd record` that this verb does not have, and why.

use crate::verbs::foreign::Foreign;

const fn refused(option: &'static str, why: &'static str) -> Foreign {
    Foreign::refused(option, why)
}

const fn meaningless(option: &'static str, why: &'static str) -> Foreign {
    Foreign::meaningless(option, why)
}

const FUNCTIONS_OFF: &str = "A time is given with --duration TIME. In trace-cmd it leaves functions out, which are only traced \
    with -p here.";
const ONE_MACHINE: &str = "Captures are kept on this machine: `bathyscope export --format bathy` makes a file of one that another \
    machine imports.";
const PROFILES: &str =
    "What calls took is ranked by `bathyscope report --calls`; where threads wait is told by the tool offcputime.";
const QUIET: &str =
    "The summary is written to standard error, which can be redirected; the command's output is left alone.";

/// All of them.
pub(in crate::verbs) const FOREIGN: &[Foreign] = &[
    refused("-d", FUNCTIONS_OFF),
    refused("-D", FUNCTIONS_OFF),
    refused("-R", "Triggers of events are not set. -f FILTER records only hits that satisfy a condition."),
    refused(
        "-v",
        "Name only the events that are recorded; `bathyscope report -v -F EVENT` leaves rows out when they are printed.",
    ),
    refused(
        "-B",
        "Each capture has one tracing instance of its own. Run `bathyscope record` once more for a second one.",
    ),
    refused(
        "-M",
        "Functions and events are recorded on all CPUs; `bathyscope report -F '.*: CPU == 1'` prints those of one.",
    ),
    refused("-m", "What a capture may store is limited by --bytes-per-second and by --duration."),
    refused("-T", "Write -O stacktrace."),
    refused("--func-stack", "Write -O func_stack_trace."),
    refused(
        "-i",
        "An event that this kernel does not have is refused, so that a capture has all that was asked for. Leave it out.",
    ),
    refused(
        "-r",
        "Write `--high-priority`: what is recorded is then read with a niceness of -10. With a real-time priority: `chrt -f 10 bathyscope record …`.",
    ),
    refused("--module", "Write -l '*:mod:MODULE'."),
    refused("-q", QUIET),
    refused("--quiet", QUIET),
    refused("-N", ONE_MACHINE),
    refused("-V", ONE_MACHINE),
    refused("-t", ONE_MACHINE),
    refused("-A", ONE_MACHINE),
    refused("--proxy", ONE_MACHINE),
    refused("--tsync-interval", ONE_MACHINE),
    refused("--host", ONE_MACHINE),
    refused("-S", PROFILES),
    refused("-G", PROFILES),
    refused("-H", PROFILES),
    refused("--by-comm", PROFILES),
    refused("--tsc2nsec", "Times are nanoseconds of the clock of -C: mono, mono_raw or boot."),
    refused("--date", "Each capture knows its wall time; rows have the monotonic clock."),
    refused("--file-version", "`bathyscope export` lists the formats that can be written."),
    meaningless("--compression", "captures are always compressed").with_value(),
    meaningless("-s", "buffers are read as they fill, not at an interval").with_value(),
    meaningless("-k", "each capture has buffers of its own, and those of the machine are left alone"),
    meaningless("--temp", "nothing is written but the database").with_value(),
    meaningless("--cmdlines-size", "the names of all processes come from the capture's own history").with_value(),
    meaningless("--no-filter", "processes of Bathyscope are recorded like others"),
    meaningless("--proc-map", "the mappings of processes are recorded in any case"),
    meaningless("--poll", "buffers are read without waiting in any case"),
];
