//! Options of `trace-cmd report` that this verb does not have, and why.

use crate::verbs::foreign::Foreign;

const fn refused(option: &'static str, why: &'static str) -> Foreign {
    Foreign::refused(option, why)
}

const fn meaningless(option: &'static str, why: &'static str) -> Foreign {
    Foreign::meaningless(option, why)
}

const FILE: &str = "Name the capture by its id: `bathyscope report ID`; `bathyscope captures list` lists them, and `bathyscope captures \
    import FILE` stores the one of a file.";
const CPUS: &str = "Write -F '.*: CPU == 1', or conditions joined by ||.";
const RAW: &str = "Rows with their fields as numbers: `bathyscope export --format ndjson`, or `bathyscope query`.";
const INTERRUPTS: &str = "Write a condition on the flags of a row: `bathyscope query` has them as columns.";
const LATENCY: &str = "What calls took is ranked by --calls; rows have the form that trace-cmd prints without -l.";
const PROFILES: &str = "What calls took is ranked by --calls; where threads wait is told by the tool offcputime.";
const SAMPLES: &str = "Write a condition on samples, such as -F 'comm == \"nginx\"' or -F 'pid == 7'.";
const HEAD: &str = "`bathyscope captures show ID` tells what is known of a capture.";
const TIMES: &str =
    "Times are of the capture's clock; differences are computed by `bathyscope query`, such as with lag().";
const PLUGINS: &str = "there are no plugins: events print by the formats that the kernel gave";

/// All of them.
pub(in crate::verbs) const FOREIGN: &[Foreign] = &[
    refused("-i", FILE),
    refused("--input", FILE),
    refused("--cpu", CPUS),
    refused("--cpus", HEAD),
    refused("--first-event", HEAD),
    refused("--last-event", HEAD),
    refused("--stat", HEAD),
    refused("--uname", HEAD),
    refused("-e", HEAD),
    refused("-E", HEAD),
    refused("-f", "`bathyscope list functions` lists those of this kernel."),
    refused(
        "-P",
        "The kernel's formats of print are kept with each event: `bathyscope list SYSTEM:EVENT` shows the fields of one.",
    ),
    refused("-R", RAW),
    refused("-r", RAW),
    refused("--raw-ts", RAW),
    refused("-I", INTERRUPTS),
    refused("-S", INTERRUPTS),
    refused("-l", LATENCY),
    refused("-w", LATENCY),
    refused("-T", "A filter that is not understood is refused with its place."),
    refused("--profile", PROFILES),
    refused("-G", PROFILES),
    refused("-H", PROFILES),
    refused("--by-comm", PROFILES),
    refused("-t", "Times are printed with six digits; `bathyscope export --format csv` has nanoseconds."),
    refused("--ts-diff", TIMES),
    refused("--ts-offset", TIMES),
    refused("--ts2secs", TIMES),
    refused("--ts-check", "`bathyscope captures check ID` checks a capture."),
    refused("--check-events", "`bathyscope captures check ID` checks a capture."),
    refused("--align-ts", TIMES),
    refused("-V", "`bathyscope --version` tells the version."),
    refused("--version", "`bathyscope --version` tells the version."),
    refused("--verbose", "There is no log of reading a capture."),
    meaningless("-L", PLUGINS),
    meaningless("-N", PLUGINS),
    meaningless("-O", PLUGINS).with_value(),
    meaningless("--nodate", "rows have the capture's clock in any case"),
    // Of perf report.
    meaningless("--stdio2", "what is printed is text in any case"),
    meaningless("--header", "what is known of a capture is told by `bathyscope captures show ID`"),
    refused("--tui", "`bathyscope top` shows live samples with keys; stored ones are shown in the browser."),
    refused(
        "--fields",
        "Columns follow from --sort; -n adds the number of samples, --no-children leaves what was called out.",
    ),
    refused("--inverted", "Write -g caller or -g callee."),
    refused("--comms", SAMPLES),
    refused("--comm", SAMPLES),
    refused("--dsos", SAMPLES),
    refused("--dso", SAMPLES),
    refused("--symbols", SAMPLES),
    refused("--pid", SAMPLES),
    refused("--tid", SAMPLES),
    refused("--time", "Write --from TIME and --to TIME, such as --from 1.5s."),
];
