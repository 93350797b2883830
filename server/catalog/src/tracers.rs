//! The tracers that ftrace knows, and what each is for.

/// A tracer of ftrace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracer<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it shows, a short phrase; empty for one that is not known.
    pub purpose: &'static str,
    /// Whether this kernel has it.
    pub available: bool,
    /// What the kernel is to be built with to have it; empty where it is always there or not known.
    pub option: &'static str,
}

/// Name, purpose, and the option that the kernel needs.
const KNOWN: [(&str, &str, &str); 15] = [
    ("function", "each call of a function", "CONFIG_FUNCTION_TRACER"),
    ("function_graph", "calls as a tree, with durations", "CONFIG_FUNCTION_GRAPH_TRACER"),
    ("irqsoff", "the longest time with interrupts off", "CONFIG_IRQSOFF_TRACER"),
    ("preemptoff", "the longest time without preemption", "CONFIG_PREEMPT_TRACER"),
    (
        "preemptirqsoff",
        "the longest time with interrupts off or without preemption",
        "CONFIG_IRQSOFF_TRACER and CONFIG_PREEMPT_TRACER",
    ),
    ("wakeup", "the longest wait of any task from waking to running", "CONFIG_SCHED_TRACER"),
    ("wakeup_rt", "the same for real-time tasks", "CONFIG_SCHED_TRACER"),
    ("wakeup_dl", "the same for tasks with deadlines", "CONFIG_SCHED_TRACER"),
    ("hwlat", "delays that hardware and firmware cause", "CONFIG_HWLAT_TRACER"),
    ("osnoise", "what keeps programs from a CPU", "CONFIG_OSNOISE_TRACER"),
    ("timerlat", "delays of timers, to the interrupt and to the thread", "CONFIG_TIMERLAT_TRACER"),
    ("blk", "the life of block requests", "CONFIG_BLK_DEV_IO_TRACE"),
    ("mmiotrace", "accesses to the memory of devices", "CONFIG_MMIOTRACE"),
    ("branch", "branches that were expected to go another way", "CONFIG_BRANCH_TRACER"),
    ("nop", "no tracer: only events", ""),
];

/// All tracers that are known, with whether they are in the text of `available_tracers`; then those that only it has.
pub fn tracers(available: &str) -> Vec<Tracer<'_>> {
    let here: Vec<&str> = available.split_ascii_whitespace().collect();
    let known = KNOWN.iter().map(|(name, purpose, option)| {
        // `branch` slows every kernel down that has it, so that hardly any has.
        Tracer { name, purpose, available: here.contains(name), option }
    });
    let known = known.filter(|tracer| tracer.available || tracer.name != "branch");
    let others = here.iter().filter(|name| KNOWN.iter().all(|(known, ..)| known != *name));
    let others = others.map(|name| Tracer { name, purpose: "", available: true, option: "" });
    known.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_listed_with_what_it_needs() {
        let all = tracers("timerlat osnoise hwlat mine nop\n");
        let here: Vec<&str> = all.iter().filter(|it| it.available).map(|it| it.name).collect();
        assert_eq!(here, ["hwlat", "osnoise", "timerlat", "nop", "mine"]);
        let function = all.iter().find(|it| it.name == "function").unwrap();
        assert_eq!((function.available, function.option), (false, "CONFIG_FUNCTION_TRACER"));
        assert!(all.iter().all(|it| it.name != "branch"));
        assert!(tracers("").iter().all(|it| !it.available && (it.name == "nop" || !it.option.is_empty())));
    }
}
