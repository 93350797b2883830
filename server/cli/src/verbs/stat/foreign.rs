//! Options of `perf stat` that this verb does not have, and why.

use crate::verbs::foreign::Foreign;

const fn refused(option: &'static str, why: &'static str) -> Foreign {
    Foreign::refused(option, why)
}

const fn meaningless(option: &'static str, why: &'static str) -> Foreign {
    Foreign::meaningless(option, why)
}

const FILTER: &str = "Count hits that satisfy a condition with `bathyscope trace -e 'tracepoint:SYSTEM:EVENT /CONDITION/ \
    { @ = count(); }'`, or sample them with `bathyscope profile --filter`.";
const METRICS: &str = "Ratios are printed beside the counts they are made of; other metrics are not computed.";
const ORDER: &str = "Lines are made by event, by CPU (-A), by core (--per-core) or by thread (--per-thread).";
const MODIFIER: &str = "Write the modifier behind the event: -e cycles:k for the kernel, -e cycles:u for programs.";
const COMMANDS: &str = "Start such commands from the shell, before and after `bathyscope stat`.";
const RUNS: &str = "-r prints mean and deviation; --save keeps the capture of each run.";

/// All of them.
pub(in crate::verbs) const FOREIGN: &[Foreign] = &[
    refused("--filter", FILTER),
    refused("-M", METRICS),
    refused("--metrics", METRICS),
    refused("--metric-only", METRICS),
    refused("--metric-no-group", METRICS),
    refused("--metric-no-merge", METRICS),
    refused("-T", METRICS),
    refused("--transaction", METRICS),
    refused("--topdown", METRICS),
    refused("--td-level", METRICS),
    refused("--smi-cost", METRICS),
    refused("--iostat", METRICS),
    refused("--per-socket", ORDER),
    refused("--per-die", ORDER),
    refused("--per-node", ORDER),
    refused("--per-cache", ORDER),
    refused("--percore-show-thread", ORDER),
    refused("--for-each-cgroup", "-G counts in one control group; make a run for each."),
    refused("-g", "Write the group in braces: -e '{cycles,instructions}'."),
    refused("--group", "Write the group in braces: -e '{cycles,instructions}'."),
    refused("--all-kernel", MODIFIER),
    refused("--all-user", MODIFIER),
    refused("--cputype", "Write the unit before the event: -e cpu_core/cycles/."),
    refused("-n", "Without counters, `time COMMAND` tells how long a command takes."),
    refused("--null", "Without counters, `time COMMAND` tells how long a command takes."),
    refused("--pre", COMMANDS),
    refused("--post", COMMANDS),
    refused("-S", "Write `sync` before `bathyscope stat`."),
    refused("--sync", "Write `sync` before `bathyscope stat`."),
    refused("--table", RUNS),
    refused("-v", "Write --log debug."),
    refused("--verbose", "Write --log debug."),
    refused("--quiet", "Counts are written to standard error, which can be redirected; -o FILE writes them to a file."),
    refused(
        "--log-fd",
        "Counts are written to standard error; -o FILE writes them to a file, -o - to standard output.",
    ),
    refused("--append", "-o FILE writes a new file; -o - writes to standard output, which `>>` appends to a file."),
    refused("--control", "Counting begins with the capture, and Ctrl-C or --duration ends it."),
    refused("--interval-clear", "Intervals are printed one after the other."),
    refused("--interval-count", "--duration TIME ends the intervals."),
    refused("--no-csv-summary", "With -I and -x only intervals are printed."),
    refused("--summary", "Without -I the sums are printed; --save keeps the intervals with them."),
    meaningless("-B", "large numbers have thousands' separators in any case"),
    meaningless("--big-num", "large numbers have thousands' separators in any case"),
    meaningless("--scale", "counts of counters that took turns are scaled, and their share of the time is printed"),
    meaningless("--no-merge", "each event has its own line in any case"),
    meaningless("--hybrid-merge", "each event has its own line in any case"),
];
