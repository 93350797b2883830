//! What a hit costs where the kernel does not say: for ftrace, samples and counters no time is kept.
//!
//! That of samples is from the benchmark of costs (`tests/bench/cost.mjs`) on a virtual machine, whose timers cost an exit; the
//! others are what such things are known to take, and were not measured. Whoever shows them calls them estimates.

use bathyscope_capture::{CallGraph, ProfileSpec, TraceSpec};
use bathyscope_catalog::perf_events::{EventSource, PerfEvent};

/// An event of the kernel written into a buffer of ftrace.
const EVENT_NS: f64 = 250.0;
/// A function noted by the function tracer.
const FUNCTION_NS: f64 = 150.0;
/// One end of a call noted by `function_graph`.
const GRAPH_NS: f64 = 200.0;
/// A probe of a dynamic event, which is an exception or two.
const PROBE_NS: f64 = 1500.0;
/// A sample with stacks by frame pointers: the timer, the walk and the record. A machine of its own takes a third of it.
const SAMPLE_NS: f64 = 15_000.0;
/// What a sample without stacks takes.
const BARE_SAMPLE_NS: f64 = 10_000.0;
/// Copying a byte of the stack into a sample.
const STACK_BYTE_NS: f64 = 0.25;
/// Counting a tracepoint.
const COUNTED_TRACEPOINT_NS: f64 = 200.0;
/// Counting what the kernel counts anyway.
const COUNTED_SOFTWARE_NS: f64 = 50.0;
/// Counting an access to a byte, which is an exception.
const COUNTED_ACCESS_NS: f64 = 2000.0;

/// An event written by a trace, of whatever kind is likely to be most of them.
pub(crate) fn of_trace(trace: &TraceSpec) -> f64 {
    match trace.tracer.as_deref() {
        Some("function") => FUNCTION_NS,
        Some("function_graph") => GRAPH_NS,
        Some(_) => EVENT_NS,
        None if trace.events.is_empty() => PROBE_NS,
        None => EVENT_NS,
    }
}

/// A sample of a profile.
pub(crate) fn of_sample(profile: &ProfileSpec, stack_bytes: u32) -> f64 {
    let copied = match profile.call_graph {
        CallGraph::Dwarf => f64::from(stack_bytes) * STACK_BYTE_NS,
        CallGraph::FramePointer | CallGraph::Lbr => 0.0,
    };
    let walked = if profile.kernel_stacks || profile.user_stacks { SAMPLE_NS } else { BARE_SAMPLE_NS };
    walked + copied
}

/// One of what is counted. Counters of the hardware cost nothing while they count.
pub(crate) fn of_count(event: &PerfEvent) -> f64 {
    match &event.source {
        EventSource::Tracepoint(_) => COUNTED_TRACEPOINT_NS,
        EventSource::Breakpoint { .. } => COUNTED_ACCESS_NS,
        // What a clock counts are nanoseconds, which nobody counts one by one.
        EventSource::Fixed { .. } if event.is_clock() || event.is_hardware() => 0.0,
        EventSource::Fixed { .. } => COUNTED_SOFTWARE_NS,
        EventSource::Pmu { .. } | EventSource::Tool(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_catalog::perf_events::parse_event;

    use super::*;

    #[test]
    fn what_the_hardware_counts_is_free() {
        let cases =
            [("cycles", 0.0), ("r1a8", 0.0), ("L1-dcache-load-misses", 0.0), ("cpu-clock", 0.0), ("task-clock", 0.0)];
        for (event, expected) in cases {
            assert_eq!(of_count(&parse_event(event).unwrap()), expected, "{event}");
        }
        for event in ["page-faults", "context-switches", "sched:sched_switch", "mem:0x1000:rw"] {
            assert!(of_count(&parse_event(event).unwrap()) > 0.0, "{event}");
        }
    }
}
