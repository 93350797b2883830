//! What can be observed on this host, found by trying each way for real, and undoing it at once.
//!
//! Version numbers say little: distributions patch, lock down and restrict. So each way is tried with the smallest
//! thing that uses it, and what the kernel answers is put into words with what to change.

mod confinement;
mod files;
mod instance;
mod programs;
mod records;
mod sampling;
mod verdict;

use bathyscope_protocol::{Capability, CapabilityState};

use verdict::{Rights, Verdict};

use crate::os::loader::Loader;

/// What the trials need.
struct Trial<'a> {
    loader: &'a Loader,
    rights: Rights,
    types: programs::KernelTypes,
}

type Attempt = fn(&mut Trial<'_>) -> Verdict;

/// Every way to observe, in the order to show: stable name, title, purpose, and how it is tried.
const WAYS: [(&str, &str, &str, Attempt); 23] = [
    ("tracefs", "tracefs", "the list of tracepoints and their fields", files::tracefs),
    ("tracepoint", "Tracepoints", "recording events of the kernel with their fields", programs::tracepoint),
    ("ring_buffer", "BPF ring buffer", "getting recorded events out of the kernel", programs::ring_buffer),
    ("run_time_stats", "BPF run-time statistics", "measuring what each probe costs", programs::run_time_stats),
    ("raw_tracepoint", "Raw tracepoints", "tracepoints with their unformatted arguments", programs::raw_tracepoint),
    ("btf", "Kernel type information (BTF)", "reading structures of the kernel by name", programs::btf),
    ("btf_tracepoint", "Typed raw tracepoints", "raw tracepoints with typed arguments", programs::btf_tracepoint),
    ("cpu_clock_sampling", "Sampling by timer", "profiles of where CPU time goes", sampling::cpu_clock),
    ("pmu", "Hardware counters", "profiles by CPU cycles, cache misses and the like", sampling::pmu),
    ("branch_records", "Branch records", "the branches before each sample, and stacks from them", records::branches),
    (
        "memory_events",
        "Events of memory",
        "samples that tell which memory answered an access, and how fast",
        records::memory,
    ),
    (
        "sideband_build_id",
        "Process history with build ids",
        "naming the functions of programs that have ended or been replaced",
        sampling::sideband_build_id,
    ),
    ("kallsyms", "Kernel symbols", "naming the kernel's functions in stacks", files::kallsyms),
    ("uprobe", "User probes", "tracing functions of programs and libraries", sampling::uprobe),
    (
        "uprobe_multi",
        "User probes in batches (uprobe_multi)",
        "tracing many functions of a program cheaply",
        programs::uprobe_multi,
    ),
    ("kprobe", "Kernel probes", "tracing nearly any function of the kernel", sampling::kprobe),
    (
        "kprobe_multi",
        "Kernel probes in batches (kprobe_multi)",
        "tracing many functions of the kernel cheaply",
        programs::kprobe_multi,
    ),
    ("fentry", "Function entry and exit (fentry)", "the cheapest way to trace a kernel function", programs::fentry),
    ("function", "Function tracer", "every call of chosen kernel functions, by ftrace", instance::function),
    ("function_graph", "Function graph", "the call tree of kernel functions with durations", instance::function_graph),
    (
        "lockdown",
        "No kernel lockdown",
        "a locked-down kernel hides its memory, and may refuse to be traced",
        files::lockdown,
    ),
    (
        "seccomp",
        "Filters of system calls (seccomp)",
        "limiting agent and console to the system calls that they need, even if one is compromised",
        confinement::seccomp,
    ),
    (
        "landlock",
        "Limits for files (Landlock)",
        "limiting the files that the console can open, even if it is compromised",
        confinement::landlock,
    ),
];

/// Stable name, title and purpose of every way, in the order to show.
pub(crate) fn ways() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    WAYS.iter().map(|(id, title, purpose, _attempt)| (*id, *title, *purpose))
}

/// Tries every way.
pub(crate) fn capabilities(loader: &Loader) -> Vec<Capability> {
    let mut trial = Trial { loader, rights: Rights::of_this_process(), types: programs::KernelTypes::default() };
    let attempt = |&(id, title, purpose, attempt): &(&str, &str, &str, Attempt)| {
        let verdict = attempt(&mut trial);
        Capability {
            id: id.to_owned(),
            title: title.to_owned(),
            purpose: purpose.to_owned(),
            state: verdict.state,
            finding: verdict.finding,
            remedy: if verdict.state == CapabilityState::Available { String::new() } else { verdict.remedy },
        }
    };
    WAYS.iter().map(attempt).collect()
}
