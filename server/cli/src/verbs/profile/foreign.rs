//! Options of `perf record` that this verb does not have, and why.

use crate::verbs::foreign::Foreign;

const fn refused(option: &'static str, why: &'static str) -> Foreign {
    Foreign::refused(option, why)
}

const fn meaningless(option: &'static str, why: &'static str) -> Foreign {
    Foreign::meaningless(option, why)
}

const REGISTERS: &str = "Registers of samples are not kept. --call-graph dwarf uses them to find the frames.";
const HARDWARE_TRACE: &str = "Traces of a CPU's auxiliary buffer (Intel PT, CoreSight) are not read.";
const ONE_CAPTURE: &str = "A run makes one capture, which any part of can be looked at by its range of time.";
const MODIFIER: &str = "Write the modifier behind the event: -e cycles:k for the kernel, -e cycles:u for programs.";
const BUILD_IDS: &str = "build ids come with the mappings in any case";
const IN_EACH_SAMPLE: &str = "each sample has it in any case";
const BY_ITSELF: &str = "buffers and their readers are set up by Bathyscope";

/// All of them.
pub(in crate::verbs) const FOREIGN: &[Foreign] = &[
    refused("-I", REGISTERS),
    refused("--intr-regs", REGISTERS),
    refused("--user-regs", REGISTERS),
    refused("-k", "Times are of the monotonic clock."),
    refused("--clockid", "Times are of the monotonic clock."),
    refused("-n", "Counts without samples: `bathyscope stat`."),
    refused("--no-samples", "Counts without samples: `bathyscope stat`."),
    refused("-s", "Counts by thread: `bathyscope stat --per-thread`. Each sample says its thread."),
    refused("--stat", "Counts by thread: `bathyscope stat --per-thread`. Each sample says its thread."),
    refused(
        "-q",
        "The summary is written to standard error, which can be redirected; the command's output is left alone.",
    ),
    refused(
        "--quiet",
        "The summary is written to standard error, which can be redirected; the command's output is left alone.",
    ),
    refused("-v", "Write --log debug."),
    refused("--verbose", "Write --log debug."),
    refused("-r", "The reader has the priority of this process: `chrt -f 10 bathyscope profile …`."),
    refused("--realtime", "The reader has the priority of this process: `chrt -f 10 bathyscope profile …`."),
    refused("-S", HARDWARE_TRACE),
    refused("--snapshot", HARDWARE_TRACE),
    refused("--aux-sample", HARDWARE_TRACE),
    refused("--all-kernel", MODIFIER),
    refused("--all-user", MODIFIER),
    refused("--control", "Sampling begins with the capture, and Ctrl-C or --duration ends it."),
    refused("--dry-run", "Without a capture nothing is checked; `bathyscope doctor` says what can be sampled here."),
    refused("--exclude-perf", "Threads are left out when a view is filtered: comm != \"bathyscope-agent\"."),
    refused("--max-size", "What a capture may store is limited by --bytes-per-second and by --duration."),
    refused(
        "--off-cpu",
        "Time off the CPU is told by the tool offcputime, and by `bathyscope profile -e sched:sched_switch`.",
    ),
    refused("--switch-events", "Switches are recorded by `bathyscope trace -e sched:sched_switch`."),
    refused("--overwrite", "A buffer that is full loses new samples, which are counted."),
    refused("--phys-data", "Physical addresses are not recorded."),
    refused("--data-page-size", "Sizes of pages are not recorded."),
    refused("--code-page-size", "Sizes of pages are not recorded."),
    refused("--transaction", "Flags of transactions are not recorded; -j in_tx records the branches in them."),
    refused("--namespaces", "Namespaces are not recorded; -G samples one control group."),
    refused("--all-cgroups", "The control group of a sample is not recorded; -G samples one."),
    refused("--strict-freq", "The kernel's own limit is told where it refuses a frequency; -F max takes it."),
    refused("--kcore", "Names of the kernel's functions come from its own list, instructions are not copied."),
    refused("--vmlinux", "Names of the kernel's functions come from its own list."),
    refused("--clang-path", "Programs are written in the language of `bathyscope trace`, and compiled without clang."),
    refused("--clang-opt", "Programs are written in the language of `bathyscope trace`, and compiled without clang."),
    refused("--debuginfod", "Debug information is read from this machine only."),
    refused("--switch-output", ONE_CAPTURE),
    refused("--switch-output-event", ONE_CAPTURE),
    refused("--switch-max-files", ONE_CAPTURE),
    refused("--timestamp-filename", ONE_CAPTURE),
    refused("--timestamp-boundary", ONE_CAPTURE),
    refused("--running-time", "Counters that take turns: `bathyscope stat` tells how long each ran."),
    refused("--group", "Write the group in braces: -e '{cycles,instructions}'."),
    meaningless("-R", "samples are kept whole; fields of a tracepoint are recorded by `bathyscope trace -e`"),
    meaningless(
        "--raw-samples",
        "samples are kept whole; fields of a tracepoint are recorded by `bathyscope trace -e`",
    ),
    meaningless("-T", IN_EACH_SAMPLE),
    meaningless("--timestamp", IN_EACH_SAMPLE),
    meaningless("-P", IN_EACH_SAMPLE),
    meaningless("--period", IN_EACH_SAMPLE),
    meaningless("--sample-cpu", IN_EACH_SAMPLE),
    meaningless("--sample-identifier", IN_EACH_SAMPLE),
    meaningless("-B", BUILD_IDS),
    meaningless("--no-buildid", BUILD_IDS),
    meaningless("-N", BUILD_IDS),
    meaningless("--no-buildid-cache", BUILD_IDS),
    meaningless("--buildid-all", BUILD_IDS),
    meaningless("--buildid-mmap", BUILD_IDS),
    meaningless("-z", "captures are always compressed"),
    meaningless("--compression-level", "captures are always compressed"),
    meaningless("-m", BY_ITSELF).with_value(),
    meaningless("--mmap-pages", BY_ITSELF).with_value(),
    meaningless("--mmap-flush", BY_ITSELF).with_value(),
    meaningless("--aio", BY_ITSELF),
    meaningless("--affinity", BY_ITSELF).with_value(),
    meaningless("--threads", BY_ITSELF),
    meaningless("--per-thread", BY_ITSELF),
    meaningless("--no-buffering", BY_ITSELF),
    meaningless("--num-thread-synthesize", BY_ITSELF).with_value(),
    meaningless("--synth", "processes that run already are in the capture in any case").with_value(),
    meaningless("--tail-synthesize", "processes that run already are in the capture in any case"),
    meaningless("--proc-map-timeout", "the mappings of processes are read without a limit of time").with_value(),
    meaningless("--no-bpf-event", "BPF programs are no part of a profile's samples"),
];
